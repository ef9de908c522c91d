// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/conv_base.h"
#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/kernels/epilogue.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::TensorShape;

class ConvFusedOp : public ConvBaseOp {
 public:
  explicit ConvFusedOp(OpKernelConstruction* ctx) : ConvBaseOp(ctx) {
    OP_REQUIRES_OK(ctx, epilogue_.Read(ctx));
  }

  void Compute(OpKernelContext* ctx) override {
    ConvProblem problem;
    TensorShape y_shape;
    OP_REQUIRES_OK(ctx, ReadProblem(ctx, &problem, &y_shape));
    OP_REQUIRES_OK(ctx, epilogue_.Prepare(ctx, after_gate(), y_features(),
                                          y_shape, &problem));
    OP_REQUIRES_OK(ctx, Run(ctx, problem));
  }

 private:
  Epilogue epilogue_;
};

#define REGISTER_ON(DEVICE, TX, TB)                       \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>ConvFused")   \
                              .Device(tensorflow::DEVICE) \
                              .TypeConstraint<TX>("Tx")   \
                              .TypeConstraint<TB>("Tb")   \
                              .HostMemory("layout")       \
                              .HostMemory("out_spatial"), \
                          ConvFusedOp);
#define REGISTER_CONV_FUSED(TX, TB) \
  BLOCKSPARSE_FOR_EACH_DEVICE(REGISTER_ON, TX, TB)
BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER_CONV_FUSED)
#undef REGISTER_CONV_FUSED
#undef REGISTER_ON

}  // namespace
}  // namespace blocksparse
