// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/kernel_table.h"

#include "cc/kernels/cuda/hopper.h"
#include "cc/kernels/cuda/takes.h"

namespace blocksparse {
namespace cuda {
namespace {

struct Tables {
  Tables() {
    AddHopperKernels(&matmul, &sampled);
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

// Whether there is something to cut boxes from, blocks are made of whole ones,
// as many to the right as a tile has, and coordinates are int32.
template <typename Kernel, typename Problem>
bool HasBoxes(const Kernel& kernel, const Problem& problem,
              int32_t target_block) {
  const Layout& layout = problem.layout;
  return layout.nnz > 0 && problem.rows > 0 &&
         layout.block_inputs % kBoxSide == 0 &&
         layout.block_outputs % kBoxSide == 0 &&
         target_block % kernel.right == 0 &&
         problem.rows < kMostCoordinates - kernel.left &&
         layout.inputs < kMostCoordinates &&
         layout.outputs < kMostCoordinates &&
         (layout.nnz + 1) * layout.block_inputs < kMostCoordinates;
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
  const Layout& layout = problem.layout;
  const bool transpose = problem.transpose;
  if (kernel.path == Path::kHopper &&
      // What blocks have beyond the last feature of x is not copied as zeros.
      (!HasBoxes(kernel, problem,
                 transpose ? layout.block_inputs : layout.block_outputs) ||
       (transpose ? layout.outputs % layout.block_outputs
                  : layout.inputs % layout.block_inputs) != 0)) {
    return false;
  }
  if (IsOfTensorCores(kernel.path) &&
      (kernel.left_along == problem.features_first ||
       kernel.right_along != problem.transpose)) {
    return false;
  }
  return TakesGate(kernel.path, problem) && IsAligned(problem.x) &&
         IsAligned(problem.blocks) &&
         HasPieces(problem.x_dtype, problem.layout, problem.layout.inputs) &&
         HasPiecesOfRows(problem);
}

bool Takes(const SampledMatmulKernel& kernel,
           const SampledMatmulProblem& problem, const Device& device) {
  if (!HasTypes(kernel, problem, device)) return false;
  if (kernel.path == Path::kElements) return true;
  if (kernel.path == Path::kHopper &&
      !HasBoxes(kernel, problem, problem.layout.block_outputs)) {
    return false;
  }
  if (IsOfTensorCores(kernel.path) &&
      kernel.left_along != problem.features_first) {
    return false;
  }
  return IsAligned(problem.a) && IsAligned(problem.b) &&
         HasPieces(problem.x_dtype, problem.layout, problem.layout.inputs) &&
         HasPiecesOfRows(problem);
}

}  // namespace cuda
}  // namespace blocksparse
