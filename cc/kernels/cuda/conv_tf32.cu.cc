// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/conv_instantiate.cu.h"

namespace blocksparse {
namespace cuda {

void AddTf32ConvKernels(std::vector<ConvKernel>* conv,
                        std::vector<ConvSampledKernel>* sampled) {
  BLOCKSPARSE_TENSOR_CONV_ROWS(float, tf32, 8);
  BLOCKSPARSE_TENSOR_CONV_ROWS(float, tf32, 16);
  BLOCKSPARSE_TENSOR_CONV_ROWS(float, tf32, 32);
  BLOCKSPARSE_TENSOR_CONV_ROWS(float, tf32, 64);
}

}  // namespace cuda
}  // namespace blocksparse
