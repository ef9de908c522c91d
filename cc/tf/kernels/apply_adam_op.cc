// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include "cc/base/isa.h"
#include "cc/kernels/cpu/adam.h"
#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/kernels/pool.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/mutex.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::Var;
using tensorflow::errors::FailedPrecondition;
using tensorflow::errors::InvalidArgument;

constexpr const char* kNames[] = {"variable", "m", "v"};
constexpr int kVariables = 3;

class ApplyAdamOp : public tensorflow::OpKernel {
 public:
  explicit ApplyAdamOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
    tensorflow::DataType dtype;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("T", &dtype));
    dtype_ = ToDtype(dtype);
    std::string error;
    OP_REQUIRES(ctx, MaxIsa(&isa_, &error), InvalidArgument(error));
  }

  void Compute(OpKernelContext* ctx) override {
    tensorflow::core::RefCountPtr<Var> variables[kVariables];
    for (int i = 0; i < kVariables; ++i) {
      OP_REQUIRES(
          ctx, ctx->input(i).NumElements() == 1,
          InvalidArgument(kNames[i], " has ", ctx->input(i).NumElements(),
                          " handles, expected one; pass a variable"));
      OP_REQUIRES_OK(
          ctx, tensorflow::LookupResource(
                   ctx, tensorflow::HandleFromInput(ctx, i), &variables[i]));
    }
    // In order of address, so that no two updates wait for each other.
    tensorflow::mutex* mutexes[kVariables];
    for (int i = 0; i < kVariables; ++i) mutexes[i] = variables[i]->mu();
    std::sort(mutexes, mutexes + kVariables);
    OP_REQUIRES(
        ctx, std::unique(mutexes, mutexes + kVariables) == mutexes + kVariables,
        InvalidArgument("variable, m and v are not three variables"));
    tensorflow::mutex_lock first(*mutexes[0]);
    tensorflow::mutex_lock second(*mutexes[1]);
    tensorflow::mutex_lock third(*mutexes[2]);
    AdamProblem problem;
    OP_REQUIRES_OK(ctx, ReadNumbers(ctx, &problem));
    Tensor results[kVariables];
    const void** from[] = {&problem.old_w, &problem.old_m, &problem.old_v};
    void** to[] = {&problem.w, &problem.m, &problem.v};
    for (int i = 0; i < kVariables; ++i) {
      OP_REQUIRES_OK(ctx, Check(ctx, i, *variables[i]));
    }
    for (int i = 0; i < kVariables; ++i) {
      const Tensor& old = *variables[i]->tensor();
      // Who has read the variable, and not used it yet, is to keep what it was.
      if (old.RefCountIsOne()) {
        results[i] = old;
      } else {
        OP_REQUIRES_OK(
            ctx, ctx->allocate_temp(old.dtype(), old.shape(), &results[i]));
      }
      *from[i] = old.data();
      *to[i] = results[i].data();
    }
    RunAdam(problem, isa_, PoolOfDevice(ctx));
    for (int i = 0; i < kVariables; ++i) *variables[i]->tensor() = results[i];
  }

 private:
  absl::Status ReadNumbers(OpKernelContext* ctx, AdamProblem* problem) const {
    problem->dtype = dtype_;
    problem->size = ctx->input(3).NumElements();
    problem->gradient = ctx->input(3).data();
    double* numbers[] = {&problem->alpha, &problem->first, &problem->second,
                         &problem->epsilon};
    for (int i = 0; i < 4; ++i) {
      const Tensor& number = ctx->input(4 + i);
      if (number.dims() != 0) {
        return InvalidArgument("input ", 4 + i, " has shape ",
                               number.shape().DebugString(),
                               ", expected a scalar");
      }
      *numbers[i] = dtype_ == Dtype::kFloat64 ? number.scalar<double>()()
                                              : number.scalar<float>()();
    }
    return absl::OkStatus();
  }

  static absl::Status Check(OpKernelContext* ctx, int i, Var& variable) {
    if (!variable.is_initialized) {
      return FailedPrecondition(kNames[i],
                                " has no value, expected an initialized one");
    }
    const Tensor& gradient = ctx->input(3);
    const Tensor& tensor = *variable.tensor();
    if (tensor.dtype() != gradient.dtype() ||
        tensor.shape() != gradient.shape()) {
      return InvalidArgument(kNames[i], " has type ",
                             tensorflow::DataTypeString(tensor.dtype()),
                             " and shape ", tensor.shape().DebugString(),
                             ", expected those of gradient: ",
                             tensorflow::DataTypeString(gradient.dtype()), " ",
                             gradient.shape().DebugString());
    }
    return absl::OkStatus();
  }

  Dtype dtype_ = Dtype::kFloat32;
  Isa isa_ = Isa::kPortable;
};

#define REGISTER_APPLY_ADAM(T)                                \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>ApplyAdam")       \
                              .Device(tensorflow::DEVICE_CPU) \
                              .TypeConstraint<T>("T"),        \
                          ApplyAdamOp);
REGISTER_APPLY_ADAM(float)
REGISTER_APPLY_ADAM(double)
#undef REGISTER_APPLY_ADAM

}  // namespace
}  // namespace blocksparse
