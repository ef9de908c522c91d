// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/conv_table.h"

#include "cc/kernels/cuda/takes.h"

namespace blocksparse {
namespace cuda {
namespace {

struct Tables {
  Tables() {
    AddFloat16ConvKernels(&conv, &sampled);
    AddBFloat16ConvKernels(&conv, &sampled);
    AddTf32ConvKernels(&conv, &sampled);
    AddVectorConvKernels(&conv, &sampled);
    AddElementConvKernels(&conv, &sampled);
  }

  std::vector<ConvKernel> conv;
  std::vector<ConvSampledKernel> sampled;
};

const Tables& AllTables() {
  static const Tables* const tables = new Tables();
  return *tables;
}

}  // namespace

const std::vector<ConvKernel>& ConvKernels() { return AllTables().conv; }

const std::vector<ConvSampledKernel>& ConvSampledKernels() {
  return AllTables().sampled;
}

bool Takes(const ConvKernel& kernel, const ConvProblem& problem,
           const Device& device) {
  if (!HasTypes(kernel, problem, device)) return false;
  if (kernel.path == Path::kElements) return true;
  // With features first, pixels that lie beside each other may be anywhere in
  // x, and not begin at a multiple of 16 bytes.
  if (problem.features_first || (IsOfTensorCores(kernel.path) &&
                                 kernel.right_along != problem.transpose)) {
    return false;
  }
  return TakesGate(kernel.path, problem) && IsAligned(problem.x) &&
         IsAligned(problem.blocks) &&
         HasPieces(problem.x_dtype, problem.layout, problem.inputs);
}

bool Takes(const ConvSampledKernel& kernel, const ConvSampledProblem& problem,
           const Device& device) {
  if (!HasTypes(kernel, problem, device)) return false;
  if (kernel.path == Path::kElements) return true;
  return !problem.features_first && IsAligned(problem.fine) &&
         IsAligned(problem.coarse) &&
         HasPieces(problem.x_dtype, problem.layout, problem.inputs);
}

}  // namespace cuda
}  // namespace blocksparse
