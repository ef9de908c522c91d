// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Between blocks and the dense weight that they are part of, for XLA.
//
// XLA clamps or ignores indices that are out of range: a layout that is wrong
// gives a wrong weight, and neither an error nor a wild read.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_WEIGHT_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_WEIGHT_H_

#include <cstdint>

#include "xla/hlo/builder/xla_builder.h"

namespace blocksparse {

struct WeightShape {
  int64_t inputs = 0;
  int64_t outputs = 0;
  // One of them is 1: a layout tells taps apart, or blocks have all of them.
  int64_t layout_taps = 1;
  int64_t block_taps = 1;
  int64_t nnz = 0;
  int64_t block_inputs = 0;
  int64_t block_outputs = 0;

  int64_t taps() const { return layout_taps * block_taps; }
  int64_t input_blocks() const {
    return (inputs + block_inputs - 1) / block_inputs;
  }
  int64_t output_blocks() const {
    return (outputs + block_outputs - 1) / block_outputs;
  }
  int64_t rows() const { return input_blocks() * layout_taps; }
};

xla::PrimitiveType TypeOf(xla::XlaOp op);

// float64 for itself, float32 for all others: what sums are made in.
xla::PrimitiveType WideType(xla::PrimitiveType type);

// `gate[w] * blocks[w]` of a gate that may be no op, in the wide type if there
// is one. Blocks whose gate is 0 are 0, whatever they hold.
xla::XlaOp GatedBlocks(xla::XlaOp blocks, xla::XlaOp gate);

// The weight `[taps, inputs, outputs]`, 0 where there is no block.
xla::XlaOp ScatterBlocks(xla::XlaOp blocks, xla::XlaOp layout,
                         const WeightShape& shape);

// The blocks of such a weight, with 0 beyond its edges:
// `[nnz, block_taps, block_inputs, block_outputs]`.
xla::XlaOp GatherBlocks(xla::XlaOp weight, xla::XlaOp layout,
                        const WeightShape& shape);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_WEIGHT_H_
