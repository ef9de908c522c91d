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
#include <string>
#include <vector>

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
  int64_t fine_pixels() const { return fine[0] * fine[1] * fine[2]; }
  int64_t coarse_pixels() const { return coarse[0] * coarse[1] * coarse[2]; }
};

// VALID: the fine side has every pixel of every tap. SAME: as many coarse
// pixels as strides fit into the fine side, zeros shared out to both ends.
enum class ConvPadding { kValid, kSame, kExplicit };

// What an op says of its geometry, in 1 to 3 dimensions.
struct ConvAttributes {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  ConvPadding padding = ConvPadding::kValid;
  // Before and after each dimension if kExplicit, else empty. Negative ones
  // leave pixels out.
  std::vector<int64_t> explicit_paddings;

  int rank() const { return static_cast<int>(kernel_size.size()); }
};

// Of every size, stride, padding and reach of a kernel. With it and the next
// ones no product of a geometry overflows, nor one of pixels and features.
constexpr int64_t kMaxConvSize = (int64_t{1} << 31) - 1;
constexpr int64_t kMaxTaps = int64_t{1} << 16;
// Of one side, over the whole batch.
constexpr int64_t kMaxConvPixels = (int64_t{1} << 32) - 1;

// Each of these returns an empty string, or what is wrong: what was got, what
// is expected, what to do. All but the first expect what the first accepts.
std::string CheckConvAttributes(const ConvAttributes& attributes);

// How many pixels the coarse side has in one dimension if nobody says.
std::string DeriveCoarseSize(const ConvAttributes& attributes, int dimension,
                             int64_t fine, int64_t* coarse);

// `fine` and `coarse` have a size for each dimension of the attributes.
std::string MakeConvGeometry(const ConvAttributes& attributes, int64_t batch,
                             const std::vector<int64_t>& fine,
                             const std::vector<int64_t>& coarse,
                             ConvGeometry* geometry);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_LAYOUT_CONV_GEOMETRY_H_
