// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/xla/weight.h"

#include <vector>

#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/shape_util.h"

namespace blocksparse {
namespace {

using xla::XlaOp;

// What a scatter does with an old and a new number: it takes the new one.
xla::XlaComputation Replace(xla::XlaBuilder* builder, xla::PrimitiveType type) {
  auto inner = builder->CreateSubBuilder("replace");
  const xla::Shape scalar = xla::ShapeUtil::MakeShape(type, {});
  xla::Parameter(inner.get(), 0, scalar, "old");
  xla::Parameter(inner.get(), 1, scalar, "new_number");
  return inner->BuildAndNoteError();
}

// Part of the packed layout, which is
// [output_splits | input_index | input_splits | output_index | block_id].
XlaOp Part(XlaOp layout, int64_t begin, int64_t size) {
  return xla::SliceInDim(layout, begin, begin + size, /*stride=*/1,
                         /*dimno=*/0);
}

// Row and column of each block, `[nnz, 2]`.
XlaOp Places(XlaOp layout, const WeightShape& shape) {
  const int64_t nnz = shape.nnz;
  const int64_t input_index = shape.output_blocks() + 1;
  const int64_t output_index = input_index + nnz + shape.rows() + 1;
  // The transposed view names each block's column, in an order of its own.
  xla::ScatterDimensionNumbers numbers;
  numbers.add_inserted_window_dims(0);
  numbers.add_scatter_dims_to_operand_dims(0);
  numbers.set_index_vector_dim(1);
  const XlaOp columns = xla::Scatter(
      xla::Zeros(layout.builder(), xla::ShapeUtil::MakeShape(xla::S32, {nnz})),
      Part(layout, output_index + nnz, nnz), Part(layout, output_index, nnz),
      Replace(layout.builder(), xla::S32), numbers);
  return xla::ConcatInDim(
      layout.builder(),
      {xla::Reshape(Part(layout, input_index, nnz), {nnz, 1}),
       xla::Reshape(columns, {nnz, 1})},
      /*dimension=*/1);
}

// Sizes of the weight as a grid of blocks, and with each side of a block next
// to the one that counts blocks.
std::vector<int64_t> GridSizes(const WeightShape& shape) {
  return {shape.rows(), shape.output_blocks(), shape.block_taps,
          shape.block_inputs, shape.block_outputs};
}

std::vector<int64_t> SplitSizes(const WeightShape& shape) {
  return {shape.layout_taps,  shape.block_taps,      shape.input_blocks(),
          shape.block_inputs, shape.output_blocks(), shape.block_outputs};
}

}  // namespace

xla::PrimitiveType WideType(xla::PrimitiveType type) {
  return type == xla::F64 ? xla::F64 : xla::F32;
}

xla::PrimitiveType TypeOf(XlaOp op) {
  const auto shape = op.builder()->GetShape(op);
  // Of what has failed, all that follows fails, too.
  return shape.ok() ? shape->element_type() : xla::F32;
}

XlaOp GatedBlocks(XlaOp blocks, XlaOp gate) {
  const auto shape = blocks.builder()->GetShape(blocks);
  if (!gate.valid() || !shape.ok()) return blocks;
  const xla::PrimitiveType wide = WideType(shape->element_type());
  const XlaOp products = xla::Mul(xla::ConvertElementType(blocks, wide),
                                  xla::ConvertElementType(gate, wide),
                                  /*broadcast_dimensions=*/{0});
  const XlaOp open = xla::BroadcastInDim(xla::Ne(gate, xla::ZerosLike(gate)),
                                         shape->dimensions(), {0});
  return xla::Select(open, products, xla::ZerosLike(products));
}

XlaOp ScatterBlocks(XlaOp blocks, XlaOp layout, const WeightShape& shape) {
  xla::XlaBuilder* builder = blocks.builder();
  const xla::PrimitiveType type = TypeOf(blocks);
  XlaOp grid =
      xla::Zeros(builder, xla::ShapeUtil::MakeShape(type, GridSizes(shape)));
  if (shape.nnz > 0) {
    xla::ScatterDimensionNumbers numbers;
    for (int axis : {1, 2, 3}) numbers.add_update_window_dims(axis);
    for (int axis : {0, 1}) {
      numbers.add_inserted_window_dims(axis);
      numbers.add_scatter_dims_to_operand_dims(axis);
    }
    numbers.set_index_vector_dim(1);
    blocks = xla::Reshape(blocks, {shape.nnz, shape.block_taps,
                                   shape.block_inputs, shape.block_outputs});
    grid = xla::Scatter(grid, Places(layout, shape), blocks,
                        Replace(builder, type), numbers);
  }
  grid = xla::Reshape(
      grid, {shape.input_blocks(), shape.layout_taps, shape.output_blocks(),
             shape.block_taps, shape.block_inputs, shape.block_outputs});
  grid = xla::Transpose(grid, {1, 3, 0, 4, 2, 5});
  grid = xla::Reshape(grid,
                      {shape.taps(), shape.input_blocks() * shape.block_inputs,
                       shape.output_blocks() * shape.block_outputs});
  return xla::Slice(grid, {0, 0, 0},
                    {shape.taps(), shape.inputs, shape.outputs}, {1, 1, 1});
}

XlaOp GatherBlocks(XlaOp weight, XlaOp layout, const WeightShape& shape) {
  const std::vector<int64_t> sizes = {shape.nnz, shape.block_taps,
                                      shape.block_inputs, shape.block_outputs};
  const XlaOp zero = xla::Zero(weight.builder(), TypeOf(weight));
  if (shape.nnz == 0) return xla::Broadcast(zero, sizes);
  weight =
      xla::PadInDim(weight, zero, 1, 0,
                    shape.input_blocks() * shape.block_inputs - shape.inputs);
  weight = xla::PadInDim(
      weight, zero, 2, 0,
      shape.output_blocks() * shape.block_outputs - shape.outputs);
  weight = xla::Reshape(weight, SplitSizes(shape));
  weight = xla::Transpose(weight, {2, 0, 4, 1, 3, 5});
  weight = xla::Reshape(weight, GridSizes(shape));
  xla::GatherDimensionNumbers numbers;
  for (int axis : {1, 2, 3}) numbers.add_offset_dims(axis);
  for (int axis : {0, 1}) {
    numbers.add_collapsed_slice_dims(axis);
    numbers.add_start_index_map(axis);
  }
  numbers.set_index_vector_dim(1);
  return xla::Gather(weight, Places(layout, shape), numbers,
                     {1, 1, sizes[1], sizes[2], sizes[3]});
}

}  // namespace blocksparse
