// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/conv_base.h"
#include "cc/tf/kernels/dtypes.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

class ConvOp : public ConvBaseOp {
 public:
  using ConvBaseOp::ConvBaseOp;

  void Compute(OpKernelContext* ctx) override {
    ConvProblem problem;
    TensorShape y_shape;
    OP_REQUIRES_OK(ctx, ReadProblem(ctx, &problem, &y_shape));
    Tensor* y = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, y_shape, &y));
    problem.y = y->data();
    OP_REQUIRES_OK(ctx, Run(ctx, problem));
  }
};

#define REGISTER_ON(DEVICE, TX, TB)                       \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>Conv")        \
                              .Device(tensorflow::DEVICE) \
                              .TypeConstraint<TX>("Tx")   \
                              .TypeConstraint<TB>("Tb")   \
                              .HostMemory("layout")       \
                              .HostMemory("out_spatial"), \
                          ConvOp);
#define REGISTER_CONV(TX, TB) BLOCKSPARSE_FOR_EACH_DEVICE(REGISTER_ON, TX, TB)
BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER_CONV)
#undef REGISTER_CONV
#undef REGISTER_ON

}  // namespace
}  // namespace blocksparse
