// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What kernels of all products ask of a problem.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_TAKES_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_TAKES_H_

#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/matmul.h"
#include "cc/layout/layout.h"

namespace blocksparse {
namespace cuda {

constexpr int64_t kBytesAtOnce = 16;

inline bool IsAligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % kBytesAtOnce == 0;
}

// Elements that are loaded at once.
inline int64_t PieceOf(Dtype dtype) { return kBytesAtOnce / SizeOf(dtype); }

// Whether loads of 16 bytes never reach from one block, or from one row's
// features, into the next, nor beyond the last feature.
inline bool HasPieces(Dtype dtype, const Layout& layout, int64_t inputs) {
  const int64_t piece = PieceOf(dtype);
  return layout.block_inputs % piece == 0 &&
         layout.block_outputs % piece == 0 && inputs % piece == 0 &&
         layout.outputs % piece == 0;
}

// Whether the path multiplies operands as they are, and has to know their axes
// when it is compiled.
inline bool IsOfTensorCores(Path path) {
  return path == Path::kTensor || path == Path::kHopper;
}

// Whether the path multiplies blocks by their gate. A gate is of the type of
// sums, which tensor cores' operands are not of; a mask only chooses.
template <typename Problem>
bool TakesGate(Path path, const Problem& problem) {
  return problem.gate == nullptr || problem.gate_is_mask ||
         !IsOfTensorCores(path);
}

// What asks for a device, or a user's consent.
inline bool IsAllowed(Path path, Dtype dtype, const Device& device) {
  if (path == Path::kHopper) return device.capability == 90;
  if (path != Path::kTensor) return true;
  return device.capability >= 80 &&
         (dtype != Dtype::kFloat32 || device.tensor_float_32);
}

// Whether a kernel is of a problem's types, and the device is one for it.
template <typename Kernel, typename Problem>
bool HasTypes(const Kernel& kernel, const Problem& problem,
              const Device& device) {
  return kernel.x_dtype == problem.x_dtype &&
         kernel.blocks_dtype == problem.blocks_dtype &&
         IsAllowed(kernel.path, problem.x_dtype, device);
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_TAKES_H_
