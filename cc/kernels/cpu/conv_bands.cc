// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/conv_bands.h"

#include <algorithm>
#include <limits>

#include "cc/base/round_up.h"

namespace blocksparse {
namespace {

int64_t FloorDiv(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -CeilDiv(-a, b);
}

// The number along one dimension, of `sizes` numbers, that the last ones run
// through first.
void Split(int64_t index, const int64_t (&sizes)[kSpatial],
           int64_t (*parts)[kSpatial]) {
  for (int i = kSpatial - 1; i >= 0; --i) {
    (*parts)[i] = index % sizes[i];
    index /= sizes[i];
  }
}

}  // namespace

ConvAxis::ConvAxis(const ConvGeometry& geometry, int dimension, bool adjoint) {
  const int64_t stride = geometry.strides[dimension];
  const int64_t fine = geometry.fine[dimension];
  const int64_t coarse = geometry.coarse[dimension];
  target_size = adjoint ? fine : coarse;
  target_step = adjoint ? stride : 1;
  source_size = adjoint ? coarse : fine;
  source_step = adjoint ? 1 : stride;
  count = CeilDiv(target_size, target_step);
  int64_t highest = std::numeric_limits<int64_t>::min();
  lowest = std::numeric_limits<int64_t>::max();
  for (int64_t first = 0; first < std::min(target_step, target_size); ++first) {
    ConvAxisPhase phase;
    phase.first = first;
    phase.count = CeilDiv(target_size - first, target_step);
    for (int64_t t = 0; t < geometry.kernel[dimension]; ++t) {
      const int64_t distance =
          t * geometry.dilations[dimension] - geometry.padding[dimension];
      const int64_t from = adjoint ? first - distance : distance;
      ConvAxisTap tap;
      tap.shift = FloorDiv(from, stride);
      const int64_t plane = from - tap.shift * stride;
      const int64_t begin = tap.shift * source_step + (adjoint ? 0 : plane);
      const int64_t end = begin + (phase.count - 1) * source_step;
      // A transposed convolution's taps meet every stride-th target pixel.
      if ((!adjoint || plane == 0) && begin < source_size && end >= 0) {
        const auto found = std::find(planes.begin(), planes.end(), plane);
        tap.plane = static_cast<int>(found - planes.begin());
        if (found == planes.end()) planes.push_back(plane);
        lowest = std::min(lowest, tap.shift);
        highest = std::max(highest, tap.shift);
      }
      phase.taps.push_back(tap);
    }
    phases.push_back(phase);
  }
  if (planes.empty()) {
    lowest = 0;
    return;
  }
  range = highest - lowest;
  const int64_t cells = count + range;
  zeros_before = std::min(cells, std::max<int64_t>(0, -lowest));
  const int64_t plane = *std::min_element(planes.begin(), planes.end());
  const int64_t end =
      CeilDiv(std::max<int64_t>(0, source_size - plane), source_step) - lowest;
  zeros_after = std::min(cells, std::max<int64_t>(0, cells - end));
}

ConvBands::ConvBands(const ConvGeometry& geometry, bool adjoint) {
  for (int i = 0; i < kSpatial; ++i) axes_.emplace_back(geometry, i, adjoint);
}

void ConvBands::Cut(int64_t images, const int64_t (&size)[kSpatial]) {
  images_ = images;
  int64_t planes = 1;
  int64_t step = 1;
  plane_cells_ = 1;
  positions_ = 1;
  for (int i = kSpatial - 1; i >= 0; --i) {
    const ConvAxis& axis = axes_[i];
    size_[i] = size[i];
    bands_[i] = CeilDiv(axis.count, size_[i]);
    planes *= static_cast<int64_t>(axis.planes.size());
    const int64_t extent = size_[i] + axis.range;
    pitch_[i] = step;
    plane_cells_ += (extent - 1) * step;
    positions_ += (size_[i] - 1) * step;
    // The zeros at the end of a row are those before the next one, but each
    // target pixel has a cell of its own.
    const int64_t common = std::min(axis.zeros_before, axis.zeros_after);
    step *= std::max(size_[i], extent - (bands_[i] == 1 ? common : 0));
  }
  cells_ = planes * plane_cells_;
}

ConvBands::Box ConvBands::BoxOf(int64_t band) const {
  int64_t place[kSpatial];
  Split(band, bands_, &place);
  Box box;
  for (int i = 0; i < kSpatial; ++i) {
    box.first[i] = place[i] * size_[i];
    box.size[i] = std::min(size_[i], axes_[i].count - box.first[i]);
  }
  return box;
}

ConvBands::Box ConvBands::BoxOf(int64_t band, int64_t phase,
                                int64_t (*phases)[kSpatial]) const {
  int64_t sizes[kSpatial];
  for (int i = 0; i < kSpatial; ++i) {
    sizes[i] = static_cast<int64_t>(axes_[i].phases.size());
  }
  Split(phase, sizes, phases);
  Box box = BoxOf(band);
  for (int i = 0; i < kSpatial; ++i) {
    const int64_t count = axes_[i].phases[(*phases)[i]].count;
    box.size[i] = std::min(box.size[i], count - box.first[i]);
  }
  return box;
}

std::vector<ConvTap> ConvBands::Taps(int64_t phase) const {
  int64_t phases[kSpatial];
  BoxOf(0, phase, &phases);
  const auto along = [&](int i) -> const std::vector<ConvAxisTap>& {
    return axes_[i].phases[phases[i]].taps;
  };
  std::vector<ConvTap> taps;
  int64_t number = -1;
  for (const ConvAxisTap& depth : along(0)) {
    for (const ConvAxisTap& height : along(1)) {
      for (const ConvAxisTap& width : along(2)) {
        ++number;
        const ConvAxisTap* const tap[kSpatial] = {&depth, &height, &width};
        int64_t plane = 0;
        int64_t offset = 0;
        bool live = true;
        for (int i = 0; i < kSpatial; ++i) {
          live &= tap[i]->plane >= 0;
          plane = plane * static_cast<int64_t>(axes_[i].planes.size()) +
                  tap[i]->plane;
          offset += (tap[i]->shift - axes_[i].lowest) * pitch_[i];
        }
        if (live) {
          taps.push_back({number, (plane * plane_cells_ + offset) * images_});
        }
      }
    }
  }
  return taps;
}

void ConvBands::Sources(int64_t band, std::vector<int64_t>* pixels) const {
  const Box box = BoxOf(band);
  pixels->assign(cells_, -1);
  // The source pixel of a cell along one dimension; outside of x if it is
  // padding.
  const auto source = [&](int i, int64_t cell, int64_t plane) {
    return (box.first[i] + cell + axes_[i].lowest) * axes_[i].source_step +
           plane;
  };
  const auto inside = [&](int i, int64_t pixel) {
    return pixel >= 0 && pixel < axes_[i].source_size;
  };
  int64_t* first = pixels->data();
  for (const int64_t depth_plane : axes_[0].planes) {
    for (const int64_t height_plane : axes_[1].planes) {
      for (const int64_t width_plane : axes_[2].planes) {
        for (int64_t d = 0; d < box.size[0] + axes_[0].range; ++d) {
          const int64_t depth = source(0, d, depth_plane);
          if (!inside(0, depth)) continue;
          for (int64_t h = 0; h < box.size[1] + axes_[1].range; ++h) {
            const int64_t height = source(1, h, height_plane);
            if (!inside(1, height)) continue;
            const int64_t row =
                (depth * axes_[1].source_size + height) * axes_[2].source_size;
            int64_t* const cells = first + d * pitch_[0] + h * pitch_[1];
            for (int64_t w = 0; w < box.size[2] + axes_[2].range; ++w) {
              const int64_t width = source(2, w, width_plane);
              if (inside(2, width)) cells[w] = row + width;
            }
          }
        }
        first += plane_cells_;
      }
    }
  }
}

void ConvBands::Targets(int64_t band, int64_t phase,
                        std::vector<int64_t>* pixels) const {
  int64_t phases[kSpatial];
  const Box box = BoxOf(band, phase, &phases);
  pixels->assign(positions_, -1);
  const auto target = [&](int i, int64_t step) {
    return axes_[i].phases[phases[i]].first +
           (box.first[i] + step) * axes_[i].target_step;
  };
  for (int64_t d = 0; d < box.size[0]; ++d) {
    for (int64_t h = 0; h < box.size[1]; ++h) {
      const int64_t row = (target(0, d) * axes_[1].target_size + target(1, h)) *
                          axes_[2].target_size;
      int64_t* const cells = pixels->data() + d * pitch_[0] + h * pitch_[1];
      for (int64_t w = 0; w < box.size[2]; ++w) cells[w] = row + target(2, w);
    }
  }
}

void ConvBands::Tiles(int64_t band, int64_t phase, int64_t rows,
                      std::vector<int64_t>* cells) const {
  int64_t phases[kSpatial];
  const Box box = BoxOf(band, phase, &phases);
  cells->clear();
  if (box.size[2] <= 0) return;
  int64_t covered = 0;
  for (int64_t d = 0; d < box.size[0]; ++d) {
    for (int64_t h = 0; h < box.size[1]; ++h) {
      const int64_t first = (d * pitch_[0] + h * pitch_[1]) * images_;
      const int64_t end = first + box.size[2] * images_;
      for (int64_t cell = std::max(first, covered); cell < end;
           cell = covered) {
        cells->push_back(cell);
        covered = cell + rows;
      }
    }
  }
}

}  // namespace blocksparse
