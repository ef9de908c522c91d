// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Shape checks that the ops share. Each names what it got, what it
// expected and what to do.
#ifndef TF_BLOCKSPARSE_CC_TF_OPS_SHAPES_H_
#define TF_BLOCKSPARSE_CC_TF_OPS_SHAPES_H_

#include <cstdint>

#include "tensorflow/core/framework/shape_inference.h"

namespace blocksparse {

using tensorflow::shape_inference::DimensionHandle;
using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

// The attributes every op has.
struct ShapeAttributes {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t gate_count = 0;
  int64_t layout_taps = 1;  // that a layout tells apart, see ParseConvLayout
};

absl::Status ReadAttributes(InferenceContext* c, ShapeAttributes* attributes);

// Of ops on rows of features.
absl::Status ReadFeatureAxis(InferenceContext* c, int64_t* feature_axis);

// Checks that input `index` has `features` along the feature axis. *rows is
// its shape with that dimension replaced by `new_features`.
absl::Status ReplaceFeatures(InferenceContext* c, int index, const char* name,
                             int64_t feature_axis, int64_t features,
                             int64_t new_features, ShapeHandle* rows);

// Checks blocks, layout and, at gate_index if there is one, gate against each
// other, as far as their shapes are known. `blocks` is [nnz, b_in, b_out].
absl::Status CheckWeight(InferenceContext* c, ShapeHandle blocks,
                         int layout_index, int gate_index,
                         const ShapeAttributes& attributes);

// The [nnz, b_in, b_out] of an op that makes blocks, by its block_size. Checks
// layout and gate.
absl::Status MakeBlocks(InferenceContext* c, int layout_index, int gate_index,
                        const ShapeAttributes& attributes, ShapeHandle* blocks);

// The shape function of y = x W: checks all inputs, sets output 0.
absl::Status MatmulShape(InferenceContext* c);

// What a fused op has besides: checks the bias, if there is one, at
// bias_index, and sets output 1. Output 0, of y_features, is set.
absl::Status AddFusedShape(InferenceContext* c, int bias_index,
                           int64_t y_features);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_OPS_SHAPES_H_
