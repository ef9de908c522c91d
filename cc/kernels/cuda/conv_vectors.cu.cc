// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/conv_instantiate.cu.h"

namespace blocksparse {
namespace cuda {

void AddVectorConvKernels(std::vector<ConvKernel>* conv,
                          std::vector<ConvSampledKernel>* sampled) {
#define ROWS(RIGHT)                                                         \
  BLOCKSPARSE_PLAIN_CONV_ROWS(Path::kVectors, "vectors", float, f32, float, \
                              f32, RIGHT)
  ROWS(8);
  ROWS(16);
  ROWS(32);
  ROWS(64);
#undef ROWS
}

}  // namespace cuda
}  // namespace blocksparse
