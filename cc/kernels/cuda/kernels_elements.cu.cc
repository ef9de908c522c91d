// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What takes every pair of types, every block size and any alignment.
#include "cc/kernels/cuda/instantiate.cu.h"

namespace blocksparse {
namespace cuda {

void AddElementKernels(std::vector<MatmulKernel>* matmul,
                       std::vector<SampledMatmulKernel>* sampled) {
#define ROWS(TX, X, TB, B)                                              \
  BLOCKSPARSE_PLAIN_ROWS(Path::kElements, "elements", TX, X, TB, B, 8); \
  BLOCKSPARSE_PLAIN_ROWS(Path::kElements, "elements", TX, X, TB, B, 32)
  BLOCKSPARSE_FOR_EACH_PAIR(ROWS);
#undef ROWS
}

}  // namespace cuda
}  // namespace blocksparse
