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
// sees other taps. Of a dilated one, the pixels that share a remainder by the
// dilation are an image of their own, without dilation.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_BANDS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_BANDS_H_

#include <cstdint>
#include <vector>

#include "cc/layout/conv_geometry.h"

namespace blocksparse {

// A tap along one spatial dimension that has pixels to read: its source pixel
// is (step + shift) * source_step + planes[plane], `step` counting the target
// pixels of a phase.
struct ConvAxisTap {
  int64_t tap = 0;
  int plane = 0;
  int64_t shift = 0;
};

// The target pixels of one remainder along one dimension.
struct ConvAxisPhase {
  int64_t first = 0;
  int64_t count = 0;
  std::vector<ConvAxisTap> taps;
};

// The pixels of one remainder by the dilation along one dimension; all of them
// if `remainders` is 1.
struct ConvAxis {
  ConvAxis(const ConvGeometry& geometry, int dimension, bool adjoint,
           int64_t remainder, int64_t remainders);

  int64_t target_size;
  int64_t target_step;  // between the pixels of a phase
  int64_t source_size;
  int64_t source_step;          // between the pixels of a plane
  std::vector<int64_t> planes;  // their first pixels, ascending
  std::vector<ConvAxisPhase> phases;
  int64_t count = 0;   // of the phase with most target pixels
  int64_t lowest = 0;  // shift of all taps
  int64_t range = 0;   // of their shifts above it
  // Cells at the ends of count + range that are zeros in every plane.
  int64_t zeros_before = 0;
  int64_t zeros_after = 0;

 private:
  // Gives the phases' taps their planes and shifts; `sources` has the source
  // pixels that they read for the first target pixel, one for each tap.
  void Place(const std::vector<int64_t>& sources);
};

// A tap of the kernel that has pixels to read in a phase.
struct ConvTap {
  int64_t tap;
  int64_t offset;  // in cells, from the cell of a target pixel
};

// How an image is cut into bands, and how a band's panel is laid out.
class ConvBands {
 public:
  // With `split_dilation`, bands hold pixels of one remainder by the dilations.
  ConvBands(const ConvGeometry& geometry, bool adjoint, bool split_dilation);

  // Target pixels of a phase along a dimension, at most.
  int64_t count(int dimension) const;
  // How far the taps of a target pixel are apart, in target pixels, at most.
  int64_t range(int dimension) const;

  // Puts `images` beside each other, and cuts them into bands of `size` target
  // pixels of a phase along each dimension, at most count(dimension).
  void Cut(int64_t images, const int64_t (&size)[kSpatial]);
  // Makes `size` smaller along the outermost dimension that has enough pixels
  // beside those that bands share, or else along the longest; false if a band
  // is a pixel already.
  bool CutFiner(int64_t (*size)[kSpatial]) const;

  int64_t images() const { return images_; }
  int64_t bands() const;
  // Cells of any band's panel, and from its first target pixel to its last one,
  // of one image, at most.
  int64_t most_cells() const { return most_.cells; }
  int64_t most_positions() const { return most_.positions; }

  // The same of one band.
  int64_t cells(int64_t band) const { return GridOf(band).cells; }
  int64_t positions(int64_t band) const { return GridOf(band).positions; }
  int64_t phases(int64_t band) const;
  // The taps of a phase, in the order of the kernel; offsets count all images.
  std::vector<ConvTap> Taps(int64_t band, int64_t phase) const;
  // The source pixel of each cell of an image, or -1.
  void Sources(int64_t band, std::vector<int64_t>* pixels) const;
  // The target pixel of each cell from the band's first one on, or -1.
  void Targets(int64_t band, int64_t phase, std::vector<int64_t>* pixels) const;
  // The first cells, all images counted, of tiles of `rows` cells that cover
  // all target pixels.
  void Tiles(int64_t band, int64_t phase, int64_t rows,
             std::vector<int64_t>* cells) const;

 private:
  // How the cells of a panel lie.
  struct Grid {
    int64_t pitch[kSpatial];  // cells from one pixel to the next
    int64_t plane_cells = 1;
    int64_t cells = 0;
    int64_t positions = 1;
  };
  // A band's first target pixel along each dimension, and how many it has;
  // none, if that is not above 0.
  struct Box {
    int64_t first[kSpatial];
    int64_t size[kSpatial];
  };

  // What a band and a phase of it are along a dimension.
  const ConvAxis& axis(int64_t band, int dimension) const;
  const ConvAxisPhase& phase(int64_t band, int64_t phase, int dimension) const;
  Box BoxOf(int64_t band) const;
  Box BoxOf(int64_t band, int64_t phase) const;
  Grid GridOf(int64_t band) const;

  std::vector<ConvAxis> axes_[kSpatial];  // one for each remainder
  int64_t kernel_[kSpatial];
  int64_t images_ = 1;
  int64_t size_[kSpatial] = {};
  int64_t boxes_[kSpatial] = {};
  Grid most_;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_BANDS_H_
