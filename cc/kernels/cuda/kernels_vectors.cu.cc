// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/instantiate.cu.h"

namespace blocksparse {
namespace cuda {

void AddVectorKernels(std::vector<MatmulKernel>* matmul,
                      std::vector<SampledMatmulKernel>* sampled) {
#define ROWS(RIGHT)                                                         \
  BLOCKSPARSE_PLAIN_ROWS(Path::kVectors, "vectors", float, f32, float, f32, \
                         RIGHT)
  ROWS(8);
  ROWS(16);
  ROWS(32);
  ROWS(64);
#undef ROWS
}

}  // namespace cuda
}  // namespace blocksparse
