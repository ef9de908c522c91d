// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/xla/base_op.h"

#include <cstdlib>

#include "cc/tf/xla/host_call.h"
#include "cc/tf/xla/host_kernel.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/public/version.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"

namespace blocksparse {

using tensorflow::OpKernelConstruction;
using tensorflow::Tensor;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernelContext;
using tensorflow::errors::InvalidArgument;

namespace {

// Whether the dense product is asked for where the op's kernel could be called.
absl::Status ReadVariable(bool* dense) {
  const char* wanted = std::getenv("TF_BLOCKSPARSE_XLA_DENSE");
  const std::string value = wanted == nullptr ? "" : wanted;
  *dense = value == "1";
  if (value.empty() || value == "0" || value == "1") return absl::OkStatus();
  return InvalidArgument("TF_BLOCKSPARSE_XLA_DENSE is \"", value,
                         "\", expected 0 or 1; set it to one of them or unset "
                         "it");
}

}  // namespace

BaseXlaOp::BaseXlaOp(OpKernelConstruction* ctx) : XlaOpKernel(ctx) {
  OP_REQUIRES_OK(ctx, ctx->GetAttr("inputs", &inputs_));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("outputs", &outputs_));
  OP_REQUIRES_OK(ctx, ctx->GetAttr("gate_count", &gate_count_));
  bool dense;
  OP_REQUIRES_OK(ctx, ReadVariable(&dense));
  calls_host_ = !dense && HasHostCall() &&
                ctx->device_type() == tensorflow::DEVICE_CPU_XLA_JIT;
}

void BaseXlaOp::Compile(XlaOpKernelContext* ctx) {
  std::vector<TensorShape> shapes;
  OP_REQUIRES_OK(ctx, InferShapes(ctx, &shapes));
  OP_REQUIRES_OK(ctx, calls_host_ ? EmitCall(ctx, shapes) : Emit(ctx, shapes));
}

absl::Status BaseXlaOp::InferShapes(XlaOpKernelContext* ctx,
                                    std::vector<TensorShape>* shapes) const {
  const tensorflow::OpRegistrationData* op;
  TF_RETURN_IF_ERROR(tensorflow::OpRegistry::Global()->LookUp(def().op(), &op));
  std::vector<tensorflow::PartialTensorShape> input_shapes;
  for (int i = 0; i < ctx->num_inputs(); ++i) {
    input_shapes.push_back(ctx->InputShape(i));
  }
  std::vector<const Tensor*> values(input_shapes.size(), nullptr);
  // The one input whose numbers shapes depend on.
  Tensor out_spatial;
  const int last = ctx->num_inputs() - 1;
  if (op->op_def.input_arg(op->op_def.input_arg_size() - 1).name() ==
      "out_spatial") {
    std::vector<int64_t> sizes;
    TF_RETURN_IF_ERROR(ctx->ConstantInputAsIntVector(last, &sizes));
    out_spatial = Tensor(tensorflow::DT_INT32,
                         TensorShape({static_cast<int64_t>(sizes.size())}));
    for (size_t i = 0; i < sizes.size(); ++i) {
      out_spatial.flat<int32_t>()(i) = static_cast<int32_t>(sizes[i]);
    }
    values[last] = &out_spatial;
  }
  tensorflow::shape_inference::InferenceContext inference(
      TF_GRAPH_DEF_VERSION, def(), op->op_def, input_shapes, values, {}, {});
  TF_RETURN_IF_ERROR(inference.construction_status());
  TF_RETURN_IF_ERROR(inference.Run(op->shape_inference_fn));
  for (int i = 0; i < ctx->num_outputs(); ++i) {
    tensorflow::TensorShapeProto proto;
    inference.ShapeHandleToProto(inference.output(i), &proto);
    TensorShape shape;
    TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(proto, &shape));
    shapes->push_back(shape);
  }
  return absl::OkStatus();
}

absl::Status BaseXlaOp::EmitCall(XlaOpKernelContext* ctx,
                                 const std::vector<TensorShape>& shapes) const {
  // Our kernels read and write row by row, XLA would choose among orders.
  std::vector<xla::XlaOp> operands;
  std::vector<xla::Shape> operand_shapes;
  for (int i = 0; i < ctx->num_inputs(); ++i) {
    operands.push_back(ctx->Input(i));
    TF_ASSIGN_OR_RETURN(xla::Shape shape, ctx->InputXlaShape(i));
    xla::LayoutUtil::SetToDefaultLayout(&shape);
    operand_shapes.push_back(shape);
  }
  std::vector<xla::Shape> result_shapes(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeToXLAShape(
        ctx->expected_output_dtype(i), shapes[i], &result_shapes[i]));
  }
  const xla::XlaOp results = xla::CustomCallWithLayout(
      ctx->builder(), kHostCall, operands,
      xla::ShapeUtil::MakeTupleShape(result_shapes), operand_shapes,
      HostCallConfig(EncodeNode(def())), /*has_side_effect=*/false,
      /*output_operand_aliasing=*/{}, /*literal=*/nullptr,
      xla::CustomCallSchedule::SCHEDULE_NONE,
      xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
  for (size_t i = 0; i < shapes.size(); ++i) {
    ctx->SetOutput(i, xla::GetTupleElement(results, i));
  }
  return absl::OkStatus();
}

xla::XlaOp BaseXlaOp::Weight(XlaOpKernelContext* ctx, int64_t layout_taps,
                             int64_t block_taps) const {
  return ScatterBlocks(GatedBlocks(ctx->Input(1), Gate(ctx)), ctx->Input(2),
                       WeightOf(ctx->InputShape(1), layout_taps, block_taps));
}

void BaseXlaOp::SetBlocks(XlaOpKernelContext* ctx, xla::XlaOp weight,
                          const TensorShape& blocks, int64_t layout_taps,
                          int64_t block_taps) const {
  const xla::XlaOp gathered = GatherBlocks(
      weight, ctx->Input(2), WeightOf(blocks, layout_taps, block_taps));
  ctx->SetOutput(
      0, xla::ConvertElementType(
             GatedBlocks(xla::Reshape(gathered, blocks.dim_sizes()), Gate(ctx)),
             ctx->output_xla_type(0)));
}

WeightShape BaseXlaOp::WeightOf(const TensorShape& blocks, int64_t layout_taps,
                                int64_t block_taps) const {
  WeightShape shape;
  shape.inputs = inputs_;
  shape.outputs = outputs_;
  shape.layout_taps = layout_taps;
  shape.block_taps = block_taps;
  shape.nnz = blocks.dim_size(0);
  shape.block_inputs = blocks.dim_size(blocks.dims() - 2);
  shape.block_outputs = blocks.dim_size(blocks.dims() - 1);
  return shape;
}

xla::XlaOp BaseXlaOp::Gate(XlaOpKernelContext* ctx) const {
  return gate_count_ == 0 ? xla::XlaOp() : ctx->Input(3);
}

}  // namespace blocksparse
