// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Which pixels a convolution brings together. Its fine side has a pixel for
// each step of a tap, its coarse side one for each stride:
//
//   fine = coarse * stride + tap * dilation - padding
//
// in each spatial dimension. Pixels outside of the fine side are 0.
#ifndef TF_BLOCKSPARSE_CC_LAYOUT_CONV_GEOMETRY_H_
#define TF_BLOCKSPARSE_CC_LAYOUT_CONV_GEOMETRY_H_

#include <cstdint>

namespace blocksparse {

// Spatial dimensions; where there are fewer, the first ones are 1.
constexpr int kSpatial = 3;

struct ConvGeometry {
  int64_t batch = 0;
  int64_t fine[kSpatial] = {1, 1, 1};
  int64_t coarse[kSpatial] = {1, 1, 1};
  int64_t kernel[kSpatial] = {1, 1, 1};
  int64_t strides[kSpatial] = {1, 1, 1};
  int64_t dilations[kSpatial] = {1, 1, 1};
  int64_t padding[kSpatial] = {0, 0, 0};  // before the first pixel

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_LAYOUT_CONV_GEOMETRY_H_
