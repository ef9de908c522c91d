// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/kernel_table.h"

#include "cc/kernels/cuda/takes.h"

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

// With features first, whether a line of an operand is such pieces.
template <typename Problem>
bool HasPiecesOfRows(const Problem& problem) {
  return !problem.features_first ||
         problem.rows % PieceOf(problem.x_dtype) == 0;
}

}  // namespace

const std::vector<MatmulKernel>& MatmulKernels() { return AllTables().matmul; }

const std::vector<SampledMatmulKernel>& SampledMatmulKernels() {
  return AllTables().sampled;
}

bool Takes(const MatmulKernel& kernel, const MatmulProblem& problem,
           const Device& device) {
  if (!HasTypes(kernel, problem, device)) return false;
  if (kernel.path == Path::kElements) return true;
  if (kernel.path == Path::kTensor &&
      // A gate multiplies in the type of sums, which tensor cores' operands are
      // not of.
      (problem.gate != nullptr || kernel.left_along == problem.features_first ||
       kernel.right_along != problem.transpose)) {
    return false;
  }
  return IsAligned(problem.x) && IsAligned(problem.blocks) &&
         HasPieces(problem.x_dtype, problem.layout, problem.layout.inputs) &&
         HasPiecesOfRows(problem);
}

bool Takes(const SampledMatmulKernel& kernel,
           const SampledMatmulProblem& problem, const Device& device) {
  if (!HasTypes(kernel, problem, device)) return false;
  if (kernel.path == Path::kElements) return true;
  if (kernel.path == Path::kTensor &&
      kernel.left_along != problem.features_first) {
    return false;
  }
  return IsAligned(problem.a) && IsAligned(problem.b) &&
         HasPieces(problem.x_dtype, problem.layout, problem.layout.inputs) &&
         HasPiecesOfRows(problem);
}

}  // namespace cuda
}  // namespace blocksparse
