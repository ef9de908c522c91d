// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/kernels/matmul_base.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

class MatmulOp : public MatmulBaseOp {
 public:
  using MatmulBaseOp::MatmulBaseOp;

  void Compute(OpKernelContext* ctx) override {
    MatmulProblem problem;
    TensorShape y_shape;
    OP_REQUIRES_OK(ctx, ReadProblem(ctx, &problem, &y_shape));
    Tensor* y = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, y_shape, &y));
    problem.y = y->data();
    OP_REQUIRES_OK(ctx, Run(ctx, problem));
  }
};

#define REGISTER_ON(DEVICE, TX, TB)                       \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>Matmul")      \
                              .Device(tensorflow::DEVICE) \
                              .TypeConstraint<TX>("Tx")   \
                              .TypeConstraint<TB>("Tb")   \
                              .HostMemory("layout"),      \
                          MatmulOp);
#define REGISTER_MATMUL(TX, TB) BLOCKSPARSE_FOR_EACH_DEVICE(REGISTER_ON, TX, TB)
BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER_MATMUL)
#undef REGISTER_MATMUL
#undef REGISTER_ON

}  // namespace
}  // namespace blocksparse
