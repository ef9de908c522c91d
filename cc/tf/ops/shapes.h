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
  int64_t feature_axis = -1;
  int64_t gate_count = 0;
};

absl::Status ReadAttributes(InferenceContext* c, ShapeAttributes* attributes);

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

// The shape function of y = x W: checks all inputs, sets output 0.
absl::Status MatmulShape(InferenceContext* c);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_OPS_SHAPES_H_
