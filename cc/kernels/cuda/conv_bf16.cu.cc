// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/conv_instantiate.cu.h"

namespace blocksparse {
namespace cuda {

void AddBFloat16ConvKernels(std::vector<ConvKernel>* conv,
                            std::vector<ConvSampledKernel>* sampled) {
  BLOCKSPARSE_TENSOR_CONV_ROWS(BFloat16, bf16, 8);
  BLOCKSPARSE_TENSOR_CONV_ROWS(BFloat16, bf16, 16);
  BLOCKSPARSE_TENSOR_CONV_ROWS(BFloat16, bf16, 32);
  BLOCKSPARSE_TENSOR_CONV_ROWS(BFloat16, bf16, 64);
}

}  // namespace cuda
}  // namespace blocksparse
