// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/platform/errors.h"
#include "xla/hlo/builder/xla_builder.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernelContext;
using tensorflow::errors::InvalidArgument;
using xla::XlaOp;

constexpr const char* kNames[] = {"variable", "m", "v"};
constexpr int kVariables = 3;

// Element by element: XLA makes one loop of it, as our kernel is one.
class ApplyAdamXlaOp : public tensorflow::XlaOpKernel {
 public:
  explicit ApplyAdamXlaOp(OpKernelConstruction* ctx) : XlaOpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("T", &dtype_));
  }

  void Compile(XlaOpKernelContext* ctx) override {
    XlaOp values[kVariables];
    OP_REQUIRES_OK(ctx, Read(ctx, values));
    const XlaOp gradient = ctx->Input(3);
    const XlaOp alpha = ctx->Input(4);
    const XlaOp first = ctx->Input(5);
    const XlaOp second = ctx->Input(6);
    const XlaOp epsilon = ctx->Input(7);
    XlaOp w = values[0];
    XlaOp m = values[1];
    XlaOp v = values[2];
    m = m + (gradient - m) * first;
    v = v + (gradient * gradient - v) * second;
    w = w - m * alpha / (xla::Sqrt(v) + epsilon);
    OP_REQUIRES_OK(ctx, ctx->AssignVariable(0, dtype_, w));
    OP_REQUIRES_OK(ctx, ctx->AssignVariable(1, dtype_, m));
    OP_REQUIRES_OK(ctx, ctx->AssignVariable(2, dtype_, v));
  }

 private:
  absl::Status Read(XlaOpKernelContext* ctx,
                    XlaOp (&values)[kVariables]) const {
    const TensorShape gradient = ctx->InputShape(3);
    tensorflow::XlaResource* resources[kVariables];
    for (int i = 0; i < kVariables; ++i) {
      TensorShape shape;
      TF_RETURN_IF_ERROR(ctx->GetResourceInput(i, &resources[i]));
      TF_RETURN_IF_ERROR(ctx->ReadVariableInput(i, dtype_, &shape, &values[i]));
      if (shape != gradient) {
        return InvalidArgument(
            kNames[i], " has shape ", shape.DebugString(),
            ", expected that of gradient: ", gradient.DebugString());
      }
    }
    if (resources[0] == resources[1] || resources[1] == resources[2] ||
        resources[2] == resources[0]) {
      return InvalidArgument("variable, m and v are not three variables");
    }
    for (int i = 4; i < ctx->num_inputs(); ++i) {
      if (ctx->InputShape(i).dims() != 0) {
        return InvalidArgument("input ", i, " has shape ",
                               ctx->InputShape(i).DebugString(),
                               ", expected a scalar");
      }
    }
    return absl::OkStatus();
  }

  tensorflow::DataType dtype_ = tensorflow::DT_FLOAT;
};

#define REGISTER_ON(DEVICE, T)                            \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>ApplyAdam")   \
                              .Device(tensorflow::DEVICE) \
                              .TypeConstraint<T>("T"),    \
                          ApplyAdamXlaOp);
REGISTER_ON(DEVICE_CPU_XLA_JIT, float)
REGISTER_ON(DEVICE_CPU_XLA_JIT, double)
REGISTER_ON(DEVICE_GPU_XLA_JIT, float)
REGISTER_ON(DEVICE_GPU_XLA_JIT, double)
#undef REGISTER_ON

}  // namespace
}  // namespace blocksparse
