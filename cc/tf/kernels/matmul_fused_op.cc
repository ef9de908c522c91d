// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <string>

#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/kernels/matmul_base.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;

struct NamedActivation {
  const char* name;
  Activation activation;
};

constexpr NamedActivation kActivations[] = {
    {"none", Activation::kNone}, {"relu", Activation::kRelu},
    {"gelu", Activation::kGelu}, {"silu", Activation::kSilu},
    {"tanh", Activation::kTanh}, {"sigmoid", Activation::kSigmoid},
};

class MatmulFusedOp : public MatmulBaseOp {
 public:
  explicit MatmulFusedOp(OpKernelConstruction* ctx) : MatmulBaseOp(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("bias_count", &bias_count_));
    OP_REQUIRES(ctx, bias_count_ == 0 || bias_count_ == 1,
                InvalidArgument("got ", bias_count_,
                                " biases, expected 0 or 1; add them"));
    OP_REQUIRES_OK(ctx,
                   ctx->GetAttr("save_preactivation", &save_preactivation_));
    std::string name;  // the op accepts no name that is not in the table
    OP_REQUIRES_OK(ctx, ctx->GetAttr("activation", &name));
    for (const NamedActivation& candidate : kActivations) {
      if (name == candidate.name) activation_ = candidate.activation;
    }
  }

  void Compute(OpKernelContext* ctx) override {
    MatmulProblem problem;
    TensorShape y_shape;
    OP_REQUIRES_OK(ctx, ReadProblem(ctx, &problem, &y_shape));
    if (bias_count_ == 1) {
      const Tensor& bias = ctx->input(after_gate());
      OP_REQUIRES(ctx, bias.dims() == 1 && bias.NumElements() == y_features(),
                  InvalidArgument("bias has shape ", bias.shape().DebugString(),
                                  ", expected [", y_features(),
                                  "], one number for each feature of y"));
      problem.bias = bias.data();
    }
    problem.activation = activation_;
    Tensor* y = nullptr;
    OP_REQUIRES_OK(ctx, ctx->allocate_output(0, y_shape, &y));
    problem.y = y->data();
    Tensor* z = nullptr;
    OP_REQUIRES_OK(
        ctx, ctx->allocate_output(
                 1, save_preactivation_ ? y_shape : TensorShape({0}), &z));
    if (save_preactivation_) problem.preactivation = z->data();
    OP_REQUIRES_OK(ctx, Run(ctx, problem));
  }

 private:
  int bias_count_ = 0;
  bool save_preactivation_ = false;
  Activation activation_ = Activation::kNone;
};

#define REGISTER_MATMUL_FUSED(TX, TB)                         \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>MatmulFused")     \
                              .Device(tensorflow::DEVICE_CPU) \
                              .TypeConstraint<TX>("Tx")       \
                              .TypeConstraint<TB>("Tb")       \
                              .HostMemory("layout"),          \
                          MatmulFusedOp);
BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER_MATMUL_FUSED)
#undef REGISTER_MATMUL_FUSED

}  // namespace
}  // namespace blocksparse
