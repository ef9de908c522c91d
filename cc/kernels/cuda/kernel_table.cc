// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/kernel_table.h"

namespace blocksparse {
namespace cuda {
namespace {

struct Tables {
  Tables() {
    AddFloat16Kernels(&matmul, &sampled);
    AddBFloat16Kernels(&matmul, &sampled);
    AddTf32Kernels(&matmul, &sampled);
    AddVectorKernels(&matmul, &sampled);
    AddElementKernels(&matmul, &sampled);
  }

  std::vector<MatmulKernel> matmul;
  std::vector<SampledMatmulKernel> sampled;
};

const Tables& AllTables() {
  static const Tables* const tables = new Tables();
  return *tables;
}

constexpr int64_t kBytesAtOnce = 16;

bool IsAligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % kBytesAtOnce == 0;
}

// Whether loads of 16 bytes never reach from one block, or from one line of an
// operand, into the next, nor beyond the last feature.
bool HasPieces(Dtype dtype, const Layout& layout, bool features_first,
               int64_t rows) {
  const int64_t piece = kBytesAtOnce / SizeOf(dtype);
  return layout.block_inputs % piece == 0 &&
         layout.block_outputs % piece == 0 && layout.inputs % piece == 0 &&
         layout.outputs % piece == 0 && (!features_first || rows % piece == 0);
}

// What asks for a device, or a user's consent.
bool IsAllowed(Path path, Dtype dtype, const Device& device) {
  if (path != Path::kTensor) return true;
  return device.capability >= 80 &&
         (dtype != Dtype::kFloat32 || device.tensor_float_32);
}

}  // namespace

const std::vector<MatmulKernel>& MatmulKernels() { return AllTables().matmul; }

const std::vector<SampledMatmulKernel>& SampledMatmulKernels() {
  return AllTables().sampled;
}

bool Takes(const MatmulKernel& kernel, const MatmulProblem& problem,
           const Device& device) {
  if (kernel.x_dtype != problem.x_dtype ||
      kernel.blocks_dtype != problem.blocks_dtype ||
      !IsAllowed(kernel.path, problem.x_dtype, device)) {
    return false;
  }
  if (kernel.path == Path::kElements) return true;
  if (kernel.path == Path::kTensor &&
      // A gate multiplies in the type of sums, which tensor cores' operands are
      // not of.
      (problem.gate != nullptr || kernel.left_along == problem.features_first ||
       kernel.right_along != problem.transpose)) {
    return false;
  }
  return IsAligned(problem.x) && IsAligned(problem.blocks) &&
         HasPieces(problem.x_dtype, problem.layout, problem.features_first,
                   problem.rows);
}

bool Takes(const SampledMatmulKernel& kernel,
           const SampledMatmulProblem& problem, const Device& device) {
  if (kernel.x_dtype != problem.x_dtype ||
      kernel.blocks_dtype != problem.blocks_dtype ||
      !IsAllowed(kernel.path, problem.x_dtype, device)) {
    return false;
  }
  if (kernel.path == Path::kElements) return true;
  if (kernel.path == Path::kTensor &&
      kernel.left_along != problem.features_first) {
    return false;
  }
  return IsAligned(problem.a) && IsAligned(problem.b) &&
         HasPieces(problem.x_dtype, problem.layout, problem.features_first,
                   problem.rows);
}

}  // namespace cuda
}  // namespace blocksparse
