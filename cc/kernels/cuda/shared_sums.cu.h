// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// How the sums of tensor cores leave a block of threads: through shared memory,
// so that threads write them in the order of the result's memory.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_SHARED_SUMS_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_SHARED_SUMS_CU_H_

#include "cc/kernels/cuda/device.cu.h"

namespace blocksparse {
namespace cuda {

template <typename Config>
struct SharedSums {
  // One number apart from line to line: neighbours along either side are in
  // different banks.
  static constexpr int kPitch = Config::kRight + 1;
  static constexpr size_t kBytes =
      (sizeof(float) * Config::kLeft * kPitch + 15) / 16 * 16;

  // A 16 x 8 tile's fragment of this lane (SumOf in cc/testing/cuda_fragments.h
  // has its places), `left` and `right` being the tile's first ones.
  template <typename Sums>
  static __device__ __forceinline__ void PutTile(int left, int right,
                                                 const Sums& sums, int first) {
    float* shared = reinterpret_cast<float*>(SharedMemory());
    const int lane = ThreadIndex() % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      shared[(left + i / 2 * 8 + lane / 4) * kPitch + right + lane % 4 * 2 +
             i % 2] = sums[first + i];
    }
  }

  // When all are put: calls finish(left, right, sum) for each sum, by threads
  // in the order that `finish` writes them.
  template <typename Finish>
  static __device__ __forceinline__ void ForEach(const Finish& finish) {
    const float* shared = reinterpret_cast<const float*>(SharedMemory());
    SyncThreads();
    for (int i = ThreadIndex(); i < Config::kLeft * Config::kRight;
         i += Config::kThreads) {
      const bool left_first = finish.left_first();
      const int left = left_first ? i % Config::kLeft : i / Config::kRight;
      const int right = left_first ? i / Config::kLeft : i % Config::kRight;
      finish(left, right, shared[left * kPitch + right]);
    }
  }
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_SHARED_SUMS_CU_H_
