// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/instantiate.cu.h"

namespace blocksparse {
namespace cuda {

void AddBFloat16Kernels(std::vector<MatmulKernel>* matmul,
                        std::vector<SampledMatmulKernel>* sampled) {
  BLOCKSPARSE_TENSOR_ROWS(BFloat16, bf16, 8);
  BLOCKSPARSE_TENSOR_ROWS(BFloat16, bf16, 16);
  BLOCKSPARSE_TENSOR_ROWS(BFloat16, bf16, 32);
  BLOCKSPARSE_TENSOR_ROWS(BFloat16, bf16, 64);
}

}  // namespace cuda
}  // namespace blocksparse
