// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What takes every pair of types, every block size, any alignment and features
// first.
#include "cc/kernels/cuda/conv_instantiate.cu.h"

namespace blocksparse {
namespace cuda {

void AddElementConvKernels(std::vector<ConvKernel>* conv,
                           std::vector<ConvSampledKernel>* sampled) {
#define ROWS(TX, X, TB, B)                                                   \
  BLOCKSPARSE_PLAIN_CONV_ROWS(Path::kElements, "elements", TX, X, TB, B, 8); \
  BLOCKSPARSE_PLAIN_CONV_ROWS(Path::kElements, "elements", TX, X, TB, B, 32)
  BLOCKSPARSE_FOR_EACH_PAIR(ROWS);
#undef ROWS
}

}  // namespace cuda
}  // namespace blocksparse
