// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Products and convolutions on the GPU of an OpKernel's context.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_GPU_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_GPU_H_

#include "cc/kernels/problem.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace blocksparse {

// Puts a problem whose memory, but for its layout, is the GPU's on the stream
// of the context, with scratch from its allocator.
absl::Status RunOnGpu(tensorflow::OpKernelContext* ctx,
                      const MatmulProblem& problem);
absl::Status RunOnGpu(tensorflow::OpKernelContext* ctx,
                      const SampledMatmulProblem& problem);
absl::Status RunOnGpu(tensorflow::OpKernelContext* ctx,
                      const ConvProblem& problem);
absl::Status RunOnGpu(tensorflow::OpKernelContext* ctx,
                      const ConvSampledProblem& problem);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_GPU_H_
