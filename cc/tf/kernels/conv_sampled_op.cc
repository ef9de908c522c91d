// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "cc/kernels/cpu/conv.h"
#include "cc/kernels/problem.h"
#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/kernels/gpu.h"
#include "cc/tf/kernels/pixels_op.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;

class ConvSampledOp : public PixelsOp {
 public:
  explicit ConvSampledOp(OpKernelConstruction* ctx) : PixelsOp(ctx) {
    OP_REQUIRES_OK(ctx, ReadBlockSize(ctx, &block_size_));
  }

  void Compute(OpKernelContext* ctx) override {
    ConvSampledProblem problem;
    OP_REQUIRES_OK(ctx, ReadProblem(ctx, &problem));
    std::vector<int64_t> sizes{problem.layout.nnz, block_size_[0],
                               block_size_[1]};
    if (conv().shared_taps) sizes.insert(sizes.begin() + 1, conv().taps);
    TensorShape shape;
    OP_REQUIRES_OK(ctx, TensorShape::BuildTensorShape(sizes, &shape));
    Tensor* blocks = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, shape, &blocks));
    problem.blocks = blocks->data();
    OP_REQUIRES_OK(ctx, Run(ctx, problem, blocks->TotalBytes()));
  }

 private:
  absl::Status ReadProblem(OpKernelContext* ctx,
                           ConvSampledProblem* problem) const {
    const Tensor& fine = ctx->input(0);
    const Tensor& coarse = ctx->input(1);
    Side fine_side;
    Side coarse_side;
    TF_RETURN_IF_ERROR(ReadSide(
        fine, "fine", conv().adjoint ? outputs() : inputs(), &fine_side));
    TF_RETURN_IF_ERROR(ReadSide(
        coarse, "coarse", conv().adjoint ? inputs() : outputs(), &coarse_side));
    if (fine_side.batch != coarse_side.batch) {
      return InvalidArgument("fine has shape ", fine.shape().DebugString(),
                             " and coarse ", coarse.shape().DebugString(),
                             ", expected the same batch along axis 0");
    }
    Layout& layout = problem->layout;
    TF_RETURN_IF_ERROR(ReadLayout(ctx, 2, conv().layout_taps(), block_size_[0],
                                  block_size_[1], /*nnz=*/-1, &layout));
    TF_RETURN_IF_ERROR(ToStatus(ValidateViews(layout)));
    TF_RETURN_IF_ERROR(ReadGate(ctx, 3, layout.nnz, &problem->gate));
    TF_RETURN_IF_ERROR(SetGeometry(fine_side, coarse_side, problem));
    problem->fine = fine.data();
    problem->coarse = coarse.data();
    return absl::OkStatus();
  }

  absl::Status Run(OpKernelContext* ctx, const ConvSampledProblem& problem,
                   size_t blocks_bytes) const {
    if (problem.layout.nnz == 0) return absl::OkStatus();
#ifdef TF_BLOCKSPARSE_CUDA
    // Zeros, too, are for the GPU to write.
    if (on_gpu()) return RunOnGpu(ctx, problem);
#endif
    const ConvGeometry& geometry = problem.geometry;
    if (geometry.batch == 0 || geometry.coarse_pixels() == 0) {
      std::memset(problem.blocks, 0, blocks_bytes);
      return absl::OkStatus();
    }
    return PlanAndRun(ctx, problem, PlanConvSampled, RunConvSampled);
  }

  std::vector<int64_t> block_size_;
};

#define REGISTER_ON(DEVICE, TX, TB)                       \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>ConvSampled") \
                              .Device(tensorflow::DEVICE) \
                              .TypeConstraint<TX>("Tx")   \
                              .TypeConstraint<TB>("Tb")   \
                              .HostMemory("layout"),      \
                          ConvSampledOp);
#define REGISTER_CONV_SAMPLED(TX, TB) \
  BLOCKSPARSE_FOR_EACH_DEVICE(REGISTER_ON, TX, TB)
BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER_CONV_SAMPLED)
#undef REGISTER_CONV_SAMPLED
#undef REGISTER_ON

}  // namespace
}  // namespace blocksparse
