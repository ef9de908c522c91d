// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/kernels/base_op.h"

#include <string>

#include "cc/kernels/cpu/matmul.h"
#include "cc/layout/conv_layout.h"
#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/kernels/pool.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::errors::InvalidArgument;

BaseOp::BaseOp(OpKernelConstruction* ctx) : OpKernel(ctx) {
  OP_REQUIRES_OK(ctx, ctx->GetAttr("inputs", &inputs_));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("outputs", &outputs_));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("gate_count", &gate_count_));
  // Graphs may be built without shape functions, so all is checked here again.
  OP_REQUIRES(ctx, gate_count_ == 0 || gate_count_ == 1,
              InvalidArgument("got ", gate_count_,
                              " gates, expected 0 or 1; multiply them"));
  bool gate_gradient;
  OP_REQUIRES_OK(ctx, ctx->GetAttr("gate_gradient", &gate_gradient));
  gate_is_mask_ = !gate_gradient;
  tensorflow::DataType dtype;
  OP_REQUIRES_OK(ctx, ctx->GetAttr("Tx", &dtype));
  x_dtype_ = ToDtype(dtype);
  OP_REQUIRES_OK(ctx, ctx->GetAttr("Tb", &dtype));
  blocks_dtype_ = ToDtype(dtype);
  on_gpu_ = ctx->device_type() == tensorflow::DEVICE_GPU;
  std::string error;
  OP_REQUIRES(ctx, MaxIsa(&isa_, &error), InvalidArgument(error));
}

absl::Status BaseOp::ReadLayout(OpKernelContext* ctx, int index, int64_t taps,
                                int64_t block_inputs, int64_t block_outputs,
                                int64_t nnz, Layout* layout) const {
  const Tensor& packed = ctx->input(index);
  if (packed.dims() != 1) {
    return InvalidArgument("layout has shape ", packed.shape().DebugString(),
                           ", expected a vector as BlockLayout.packed is");
  }
  return ToStatus(ParseConvLayout(packed.flat<int32_t>().data(),
                                  packed.NumElements(), inputs_, outputs_, taps,
                                  block_inputs, block_outputs, nnz, layout));
}

absl::Status BaseOp::ReadBlockSize(OpKernelConstruction* ctx,
                                   std::vector<int64_t>* block_size) {
  TF_RETURN_IF_ERROR(ctx->GetAttr("block_size", block_size));
  if (block_size->size() == 2) return absl::OkStatus();
  return InvalidArgument("block_size has ", block_size->size(),
                         " numbers, expected (b_in, b_out)");
}

absl::Status BaseOp::ToStatus(const std::string& error) {
  return error.empty() ? absl::OkStatus() : InvalidArgument(error);
}

absl::Status BaseOp::ReadGate(OpKernelContext* ctx, int index, int64_t nnz,
                              const float** gate) const {
  *gate = nullptr;
  if (gate_count_ == 0) return absl::OkStatus();
  const Tensor& tensor = ctx->input(index);
  if (tensor.dims() != 1 || tensor.NumElements() != nnz) {
    return InvalidArgument("gate has shape ", tensor.shape().DebugString(),
                           ", expected [", nnz, "], one number for each block");
  }
  *gate = tensor.flat<float>().data();
  return absl::OkStatus();
}

absl::Status BaseOp::NoKernel(const Layout& layout) const {
  return tensorflow::errors::Unimplemented(
      "no kernel for x of ", NameOf(x_dtype_), " and blocks of ",
      NameOf(blocks_dtype_), " (block size (", layout.block_inputs, ", ",
      layout.block_outputs, "), ", Axes(), ", device CPU, instruction set ",
      NameOf(isa_), "); cast one of them");
}

Executor BaseOp::PoolOf(OpKernelContext* ctx) { return PoolOfDevice(ctx); }

absl::Status BaseOp::AllocateScratch(OpKernelContext* ctx, size_t bytes,
                                     Tensor* holder, void** scratch) {
  *scratch = nullptr;
  if (bytes == 0) return absl::OkStatus();
  TensorShape shape;
  TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(
      {static_cast<int64_t>(bytes + kScratchAlignment)}, &shape));
  TF_RETURN_IF_ERROR(ctx->allocate_temp(tensorflow::DT_UINT8, shape, holder));
  const auto address =
      reinterpret_cast<uintptr_t>(holder->flat<uint8_t>().data());
  *scratch = reinterpret_cast<void*>(AlignScratch(address));
  return absl::OkStatus();
}

}  // namespace blocksparse
