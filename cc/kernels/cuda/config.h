// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The choices that are made when a kernel is compiled.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONFIG_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONFIG_H_

#include <cstddef>
#include <type_traits>

#include "cc/base/dtype.h"

namespace blocksparse {
namespace cuda {

// How operands are loaded and multiplied.
enum class Path {
  kElements,  // one by one, whatever their types and places; multiply-adds
  kVectors,   // 16 bytes at once; multiply-adds
  kTensor,    // 16 bytes at once, asynchronously; tensor cores
  kHopper,    // boxes, by a unit of their own; tensor cores of a warpgroup
};

// Every kernel makes tiles of sums: of a left operand [depth, left] and a right
// one [depth, right], summed up along the depth. The left side of `matmul` is
// rows of x, its right side outputs, its depth inputs. That of `sampled_matmul`
// is inputs, outputs, rows.
template <typename Left_, typename Right_, Path kPath_, int kLeft_, int kRight_,
          bool kLeftAlong_ = false, bool kRightAlong_ = false>
struct Config {
  using Left = Left_;    // elements of the left operand
  using Right = Right_;  // and of the right one
  using Sum = std::conditional_t<std::is_same_v<Left_, double>, double, float>;

  static_assert(kPath_ == Path::kElements || std::is_same_v<Left_, Right_>,
                "pieces of 16 bytes hold as many elements of either operand");

  static constexpr Path kPath = kPath_;
  static constexpr int kLeft = kLeft_;
  static constexpr int kRight = kRight_;
  // Whether memory goes on along the depth, not along the side. Only the
  // fragments of tensor cores have to know when they are compiled.
  static constexpr bool kLeftAlong = kLeftAlong_;
  static constexpr bool kRightAlong = kRightAlong_;

  // Four warps: a thread has at most 64 sums.
  static constexpr int kThreads = 128;
  // Blocks of threads that share a multiprocessor, by the stages below in its
  // shared memory; where every element has an address of its own, by these. The
  // compiler may take as many registers as that leaves.
  static constexpr bool kTensor = kPath == Path::kTensor;
  static constexpr bool kHopper = kPath == Path::kHopper;
  static constexpr int kBlocksTogether =
      kPath == Path::kElements || kHopper ? 2 : (kRight >= 64 ? 3 : 4);
  // Elements loaded at once.
  static constexpr int kVector =
      kPath == Path::kElements ? 1 : 16 / static_cast<int>(sizeof(Left));
  // A step's depth. Of a tensor core's operand, 64 bytes of a line, so that a
  // warp reads whole sectors; of boxes, the 128 bytes of a line that are
  // swizzled; else, what a thread can hold on its way.
  static constexpr int kDepth =
      kHopper ? 128 / static_cast<int>(sizeof(Left))
              : (kTensor ? 64 / static_cast<int>(sizeof(Left))
                         : (kPath == Path::kVectors ? 16 : 8));
  // Steps in shared memory: of tensor cores' operands, one is multiplied while
  // two arrive. Of boxes, 96 KiB: two blocks of threads leave the rest of a
  // multiprocessor's 228 KiB to its first-level cache.
  static constexpr int kStages =
      kHopper ? (kRight > 64 ? 3 : 4) : (kTensor ? 3 : 2);
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONFIG_H_
