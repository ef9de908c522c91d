// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// How the pixels of a convolution are cut and laid out so that it becomes a
// sum of products with shifted rows.
//
// The source pixels (of x) that a box of target pixels (of y) needs are copied,
// feature by feature, to a panel. Its cells stand as the pixels do, zeros for
// padding included,
//
//   cell = (((plane * depth + d) * height + h) * width + w) * images + image
//
// so that the way from a target pixel's cell to that of a tap's source pixel is
// the same for all target pixels. A strided convolution has a plane for each
// remainder of its source pixels by the strides. A transposed one has one
// plane, and a phase for each remainder of its target pixels, of which each
// sees other taps.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_BANDS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_BANDS_H_

#include <cstdint>
#include <vector>

#include "cc/layout/conv_geometry.h"

namespace blocksparse {

// A tap along one spatial dimension: its source pixel is
// (step + shift) * source_step + planes[plane], `step` counting target pixels.
struct ConvAxisTap {
  int plane = -1;  // -1: all its source pixels are padding
  int64_t shift = 0;
};

// The target pixels of one remainder along one dimension.
struct ConvAxisPhase {
  int64_t first = 0;
  int64_t count = 0;
  std::vector<ConvAxisTap> taps;
};

struct ConvAxis {
  ConvAxis(const ConvGeometry& geometry, int dimension, bool adjoint);

  int64_t target_size;
  int64_t target_step;  // between the pixels of a phase
  int64_t source_size;
  int64_t source_step;  // between the pixels of a plane
  std::vector<int64_t> planes;
  std::vector<ConvAxisPhase> phases;
  int64_t count = 0;   // of the phase with most target pixels
  int64_t lowest = 0;  // shift of all taps
  int64_t range = 0;   // of their shifts above it
  // Cells at the ends of count + range that are zeros in every plane.
  int64_t zeros_before = 0;
  int64_t zeros_after = 0;
};

// A tap of the kernel that has pixels to read in a phase.
struct ConvTap {
  int64_t tap;
  int64_t offset;  // in cells, from the cell of a target pixel
};

// How an image is cut into bands, and how a band's panel is laid out.
class ConvBands {
 public:
  ConvBands(const ConvGeometry& geometry, bool adjoint);

  // Puts `images` beside each other, and cuts them into bands of `size` target
  // pixels of a phase along each dimension, at most the axis's count.
  void Cut(int64_t images, const int64_t (&size)[kSpatial]);

  const ConvAxis& axis(int dimension) const { return axes_[dimension]; }
  int64_t images() const { return images_; }
  int64_t size(int dimension) const { return size_[dimension]; }
  int64_t bands() const { return bands_[0] * bands_[1] * bands_[2]; }
  // Cells of the panel, and of target pixels, of one image.
  int64_t cells() const { return cells_; }
  int64_t positions() const { return positions_; }
  int64_t phases() const {
    int64_t phases = 1;
    for (const ConvAxis& axis : axes_) {
      phases *= static_cast<int64_t>(axis.phases.size());
    }
    return phases;
  }

  // The taps of a phase, in the order of the kernel; offsets count all images.
  std::vector<ConvTap> Taps(int64_t phase) const;
  // The source pixel of each cell of an image, or -1.
  void Sources(int64_t band, std::vector<int64_t>* pixels) const;
  // The target pixel of each cell from the band's first one on, or -1.
  void Targets(int64_t band, int64_t phase, std::vector<int64_t>* pixels) const;
  // The first cells, all images counted, of tiles of `rows` cells that cover
  // all target pixels.
  void Tiles(int64_t band, int64_t phase, int64_t rows,
             std::vector<int64_t>* cells) const;

 private:
  // A band's first target pixel along each dimension, and how many it has.
  struct Box {
    int64_t first[kSpatial];
    int64_t size[kSpatial];
  };
  Box BoxOf(int64_t band) const;
  // The same for the pixels of a phase, whose indices along each dimension are
  // written to `phases`.
  Box BoxOf(int64_t band, int64_t phase, int64_t (*phases)[kSpatial]) const;

  std::vector<ConvAxis> axes_;
  int64_t images_ = 1;
  int64_t size_[kSpatial] = {};
  int64_t bands_[kSpatial] = {};
  int64_t pitch_[kSpatial] = {};  // cells from one pixel to the next
  int64_t plane_cells_ = 0;
  int64_t cells_ = 0;
  int64_t positions_ = 0;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_BANDS_H_
