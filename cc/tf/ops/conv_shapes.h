// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Shape checks that the ops of convolutions share.
#ifndef TF_BLOCKSPARSE_CC_TF_OPS_CONV_SHAPES_H_
#define TF_BLOCKSPARSE_CC_TF_OPS_CONV_SHAPES_H_

#include <vector>

#include "cc/tf/conv_attributes.h"
#include "cc/tf/ops/shapes.h"

namespace blocksparse {

struct ConvShapeAttributes : ShapeAttributes {
  ConvOpAttributes conv;
};

absl::Status ReadAttributes(InferenceContext* c,
                            ConvShapeAttributes* attributes);

// The shape of x, y, fine or coarse, apart.
struct ConvSide {
  DimensionHandle batch;
  std::vector<DimensionHandle> spatial;
};

// Checks that input `index` has the dimensions and the features.
absl::Status SplitSide(InferenceContext* c, int index, const char* name,
                       const ConvOpAttributes& conv, int64_t features,
                       ConvSide* side);

// Checks the sizes of both sides, if all are known.
absl::Status CheckGeometry(InferenceContext* c, const ConvOpAttributes& conv,
                           const ConvSide& fine, const ConvSide& coarse);

// The shape function of Conv, and of ConvFused but for what that has besides:
// checks all inputs, sets output 0. The last input is out_spatial.
absl::Status ConvShape(InferenceContext* c);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_OPS_CONV_SHAPES_H_
