// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/gpu.h"

#include <string>

#include "cc/kernels/cuda/conv.h"
#include "cc/kernels/cuda/find_device.h"
#include "cc/kernels/cuda/matmul.h"
#include "cc/tf/kernels/no_memory.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/tensor_float_32_utils.h"
#include "xla/stream_executor/stream.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

absl::Status Unimplemented(const std::string& error) {
  return error.empty() ? absl::OkStatus()
                       : tensorflow::errors::Unimplemented(error);
}

// What the driver says is no fault of the caller's.
absl::Status Internal(const std::string& error) {
  return error.empty() ? absl::OkStatus() : tensorflow::errors::Internal(error);
}

template <typename Problem, typename Plan>
absl::Status PlanAndRun(OpKernelContext* ctx, const Problem& problem,
                        std::string (*plan)(const Problem&, const cuda::Device&,
                                            Plan*),
                        std::string (*run)(const Problem&, const Plan&, void*,
                                           void*)) {
  cuda::Device device;
  device.tensor_float_32 = tsl::tensor_float_32_execution_enabled();
  TF_RETURN_IF_ERROR(Internal(cuda::FindDevice(&device)));
  return CatchNoMemory([&]() -> absl::Status {
    Plan made;
    TF_RETURN_IF_ERROR(Unimplemented(plan(problem, device, &made)));
    // TensorFlow's memory of a GPU begins at multiples of 256 bytes. It may be
    // given back while the kernel still runs: who gets it next is later on the
    // same stream.
    Tensor scratch;
    TensorShape shape;
    TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(
        {static_cast<int64_t>(made.scratch_bytes)}, &shape));
    TF_RETURN_IF_ERROR(
        ctx->allocate_temp(tensorflow::DT_UINT8, shape, &scratch));
    void* const stream =
        ctx->op_device_context()->stream()->platform_specific_handle().stream;
    return Internal(run(problem, made, scratch.data(), stream));
  });
}

}  // namespace

absl::Status RunOnGpu(OpKernelContext* ctx, const MatmulProblem& problem) {
  return PlanAndRun(ctx, problem, cuda::PlanMatmul, cuda::RunMatmul);
}

absl::Status RunOnGpu(OpKernelContext* ctx,
                      const SampledMatmulProblem& problem) {
  return PlanAndRun(ctx, problem, cuda::PlanSampledMatmul,
                    cuda::RunSampledMatmul);
}

absl::Status RunOnGpu(OpKernelContext* ctx, const ConvProblem& problem) {
  return PlanAndRun(ctx, problem, cuda::PlanConv, cuda::RunConv);
}

absl::Status RunOnGpu(OpKernelContext* ctx, const ConvSampledProblem& problem) {
  return PlanAndRun(ctx, problem, cuda::PlanConvSampled, cuda::RunConvSampled);
}

}  // namespace blocksparse
