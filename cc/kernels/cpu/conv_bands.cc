// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/conv_bands.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "cc/base/round_up.h"

namespace blocksparse {
namespace {

int64_t FloorDiv(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -CeilDiv(-a, b);
}

// One of `sizes` numbers, that the last dimension runs through first.
int64_t Along(int64_t index, const int64_t (&sizes)[kSpatial], int dimension) {
  for (int i = kSpatial - 1; i > dimension; --i) index /= sizes[i];
  return index % sizes[dimension];
}

// Images that the pixels along a dimension fall into by their remainder.
int64_t Remainders(const ConvGeometry& geometry, int dimension) {
  const int64_t dilation = geometry.dilations[dimension];
  const int64_t remainders =
      dilation / std::gcd(dilation, geometry.strides[dimension]);
  // Each has a list of its taps. Wider dilations, of which there are few, are
  // slow where they reach far beyond the second-level cache.
  constexpr int64_t kMost = 64;
  return geometry.kernel[dimension] == 1 || remainders > kMost ? 1 : remainders;
}

// Cells of a row of `size` pixels, from its first one to that of the next row:
// the zeros at its end are those before the next one, but each target pixel
// has a cell of its own.
int64_t RowCells(const ConvAxis& axis, int64_t size, bool whole) {
  const int64_t common =
      whole ? std::min(axis.zeros_before, axis.zeros_after) : 0;
  return std::max(size, size + axis.range - common);
}

}  // namespace

ConvAxis::ConvAxis(const ConvGeometry& geometry, int dimension, bool adjoint,
                   int64_t remainder, int64_t remainders) {
  const int64_t stride = geometry.strides[dimension];
  const int64_t fine = geometry.fine[dimension];
  const int64_t coarse = geometry.coarse[dimension];
  target_size = adjoint ? fine : coarse;
  source_size = adjoint ? coarse : fine;
  // The coarse pixels of a remainder are so many steps apart, the fine ones
  // that their taps meet strides times as many.
  target_step = (adjoint ? stride : 1) * remainders;
  source_step = (adjoint ? 1 : stride) * remainders;
  int64_t highest = std::numeric_limits<int64_t>::min();
  lowest = std::numeric_limits<int64_t>::max();
  const int64_t begin = adjoint ? 0 : remainder;
  const int64_t end = adjoint ? target_step : remainder + 1;
  for (int64_t first = begin; first < std::min(end, target_size); ++first) {
    ConvAxisPhase phase;
    phase.first = first;
    phase.count = CeilDiv(target_size - first, target_step);
    // Of a target pixel that no tap meets, the first image takes care.
    int64_t image = 0;
    for (int64_t t = 0; t < geometry.kernel[dimension]; ++t) {
      const int64_t distance =
          t * geometry.dilations[dimension] - geometry.padding[dimension];
      int64_t source = first * stride + distance;
      if (adjoint) {
        const int64_t fine_distance = first - distance;
        source = FloorDiv(fine_distance, stride);
        if (source * stride != fine_distance) continue;
      }
      const int64_t shift = FloorDiv(source, source_step);
      const int64_t plane = source - shift * source_step;
      if (adjoint) image = plane;
      const int64_t last = source + (phase.count - 1) * source_step;
      if (source >= source_size || last < 0) continue;
      const auto found = std::find(planes.begin(), planes.end(), plane);
      phase.taps.push_back(
          {t, static_cast<int>(found - planes.begin()), shift});
      // Kept if the phase is: all its taps meet the same image.
      if (found == planes.end() && (!adjoint || plane == remainder)) {
        planes.push_back(plane);
      }
    }
    if (adjoint && image != remainder) continue;
    for (const ConvAxisTap& tap : phase.taps) {
      lowest = std::min(lowest, tap.shift);
      highest = std::max(highest, tap.shift);
    }
    count = std::max(count, phase.count);
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
  const int64_t pixels =
      CeilDiv(std::max<int64_t>(0, source_size - plane), source_step);
  zeros_after =
      std::min(cells, std::max<int64_t>(0, cells - (pixels - lowest)));
}

ConvBands::ConvBands(const ConvGeometry& geometry, bool adjoint,
                     bool split_dilation) {
  for (int i = 0; i < kSpatial; ++i) {
    kernel_[i] = geometry.kernel[i];
    const int64_t remainders = split_dilation ? Remainders(geometry, i) : 1;
    for (int64_t remainder = 0; remainder < remainders; ++remainder) {
      ConvAxis axis(geometry, i, adjoint, remainder, remainders);
      if (!axis.phases.empty()) axes_[i].push_back(std::move(axis));
    }
  }
}

int64_t ConvBands::count(int dimension) const {
  int64_t most = 0;
  for (const ConvAxis& axis : axes_[dimension]) {
    most = std::max(most, axis.count);
  }
  return most;
}

int64_t ConvBands::range(int dimension) const {
  int64_t most = 0;
  for (const ConvAxis& axis : axes_[dimension]) {
    most = std::max(most, axis.range);
  }
  return most;
}

void ConvBands::Cut(int64_t images, const int64_t (&size)[kSpatial]) {
  images_ = images;
  most_ = Grid();
  int64_t planes = 1;
  int64_t step = 1;
  for (int i = kSpatial - 1; i >= 0; --i) {
    size_[i] = size[i];
    boxes_[i] = CeilDiv(count(i), size_[i]);
    size_t axis_planes = 0;
    int64_t row = 1;
    for (const ConvAxis& axis : axes_[i]) {
      axis_planes = std::max(axis_planes, axis.planes.size());
      row = std::max(row, RowCells(axis, size_[i], boxes_[i] == 1));
    }
    planes *= static_cast<int64_t>(axis_planes);
    most_.plane_cells += (size_[i] + range(i) - 1) * step;
    most_.positions += (size_[i] - 1) * step;
    step *= row;
  }
  most_.cells = planes * most_.plane_cells;
}

int64_t ConvBands::bands() const {
  int64_t bands = 1;
  for (int i = 0; i < kSpatial; ++i) {
    bands *= boxes_[i] * static_cast<int64_t>(axes_[i].size());
  }
  return bands;
}

const ConvAxis& ConvBands::axis(int64_t band, int dimension) const {
  int64_t sizes[kSpatial];
  for (int i = 0; i < kSpatial; ++i) {
    sizes[i] = static_cast<int64_t>(axes_[i].size());
  }
  const int64_t remainder = band / (boxes_[0] * boxes_[1] * boxes_[2]);
  return axes_[dimension][Along(remainder, sizes, dimension)];
}

const ConvAxisPhase& ConvBands::phase(int64_t band, int64_t phase,
                                      int dimension) const {
  int64_t sizes[kSpatial];
  for (int i = 0; i < kSpatial; ++i) {
    sizes[i] = static_cast<int64_t>(axis(band, i).phases.size());
  }
  return axis(band, dimension).phases[Along(phase, sizes, dimension)];
}

int64_t ConvBands::phases(int64_t band) const {
  int64_t phases = 1;
  for (int i = 0; i < kSpatial; ++i) {
    phases *= static_cast<int64_t>(axis(band, i).phases.size());
  }
  return phases;
}

ConvBands::Box ConvBands::BoxOf(int64_t band) const {
  const int64_t index = band % (boxes_[0] * boxes_[1] * boxes_[2]);
  Box box;
  for (int i = 0; i < kSpatial; ++i) {
    box.first[i] = Along(index, boxes_, i) * size_[i];
    box.size[i] = std::min(size_[i], axis(band, i).count - box.first[i]);
  }
  return box;
}

ConvBands::Box ConvBands::BoxOf(int64_t band, int64_t phase_index) const {
  Box box = BoxOf(band);
  for (int i = 0; i < kSpatial; ++i) {
    const int64_t count = phase(band, phase_index, i).count;
    box.size[i] = std::min(box.size[i], count - box.first[i]);
  }
  return box;
}

ConvBands::Grid ConvBands::GridOf(int64_t band) const {
  Grid grid;
  int64_t planes = 1;
  int64_t step = 1;
  for (int i = kSpatial - 1; i >= 0; --i) {
    const ConvAxis& along = axis(band, i);
    planes *= static_cast<int64_t>(along.planes.size());
    grid.pitch[i] = step;
    grid.plane_cells += (size_[i] + along.range - 1) * step;
    grid.positions += (size_[i] - 1) * step;
    step *= RowCells(along, size_[i], boxes_[i] == 1);
  }
  grid.cells = planes * grid.plane_cells;
  return grid;
}

std::vector<ConvTap> ConvBands::Taps(int64_t band, int64_t phase_index) const {
  const Grid grid = GridOf(band);
  std::vector<ConvTap> taps = {{0, 0}};
  std::vector<int64_t> planes = {0};
  for (int i = 0; i < kSpatial; ++i) {
    const ConvAxis& along = axis(band, i);
    std::vector<ConvTap> longer;
    std::vector<int64_t> longer_planes;
    for (size_t j = 0; j < taps.size(); ++j) {
      for (const ConvAxisTap& tap : phase(band, phase_index, i).taps) {
        longer.push_back(
            {taps[j].tap * kernel_[i] + tap.tap,
             taps[j].offset + (tap.shift - along.lowest) * grid.pitch[i]});
        longer_planes.push_back(
            planes[j] * static_cast<int64_t>(along.planes.size()) + tap.plane);
      }
    }
    taps = std::move(longer);
    planes = std::move(longer_planes);
  }
  for (size_t j = 0; j < taps.size(); ++j) {
    taps[j].offset = (taps[j].offset + planes[j] * grid.plane_cells) * images_;
  }
  return taps;
}

void ConvBands::Sources(int64_t band, std::vector<int64_t>* pixels) const {
  const Box box = BoxOf(band);
  const Grid grid = GridOf(band);
  const ConvAxis& depths = axis(band, 0);
  const ConvAxis& heights = axis(band, 1);
  const ConvAxis& widths = axis(band, 2);
  pixels->assign(grid.cells, -1);
  // The source pixel of a cell along one dimension, or -1 if it is padding.
  const auto source = [&box](const ConvAxis& along, int i, int64_t cell,
                             int64_t plane) -> int64_t {
    const int64_t pixel =
        (box.first[i] + cell + along.lowest) * along.source_step + plane;
    return pixel >= 0 && pixel < along.source_size ? pixel : -1;
  };
  int64_t* first = pixels->data();
  for (const int64_t depth_plane : depths.planes) {
    for (const int64_t height_plane : heights.planes) {
      for (const int64_t width_plane : widths.planes) {
        for (int64_t d = 0; d < box.size[0] + depths.range; ++d) {
          const int64_t depth = source(depths, 0, d, depth_plane);
          if (depth < 0) continue;
          for (int64_t h = 0; h < box.size[1] + heights.range; ++h) {
            const int64_t height = source(heights, 1, h, height_plane);
            if (height < 0) continue;
            const int64_t row =
                (depth * heights.source_size + height) * widths.source_size;
            int64_t* const cells =
                first + d * grid.pitch[0] + h * grid.pitch[1];
            for (int64_t w = 0; w < box.size[2] + widths.range; ++w) {
              const int64_t width = source(widths, 2, w, width_plane);
              if (width >= 0) cells[w] = row + width;
            }
          }
        }
        first += grid.plane_cells;
      }
    }
  }
}

void ConvBands::Targets(int64_t band, int64_t phase_index,
                        std::vector<int64_t>* pixels) const {
  const Box box = BoxOf(band, phase_index);
  const Grid grid = GridOf(band);
  pixels->assign(grid.positions, -1);
  int64_t first[kSpatial];
  int64_t step[kSpatial];
  int64_t size[kSpatial];
  for (int i = 0; i < kSpatial; ++i) {
    const ConvAxis& along = axis(band, i);
    step[i] = along.target_step;
    size[i] = along.target_size;
    first[i] = phase(band, phase_index, i).first + box.first[i] * step[i];
  }
  for (int64_t d = 0; d < box.size[0]; ++d) {
    for (int64_t h = 0; h < box.size[1]; ++h) {
      const int64_t row =
          ((first[0] + d * step[0]) * size[1] + first[1] + h * step[1]) *
          size[2];
      int64_t* const cells =
          pixels->data() + d * grid.pitch[0] + h * grid.pitch[1];
      for (int64_t w = 0; w < box.size[2]; ++w) {
        cells[w] = row + first[2] + w * step[2];
      }
    }
  }
}

void ConvBands::Tiles(int64_t band, int64_t phase_index, int64_t rows,
                      std::vector<int64_t>* cells) const {
  const Box box = BoxOf(band, phase_index);
  const Grid grid = GridOf(band);
  cells->clear();
  if (box.size[2] <= 0) return;
  int64_t covered = 0;
  for (int64_t d = 0; d < box.size[0]; ++d) {
    for (int64_t h = 0; h < box.size[1]; ++h) {
      const int64_t first = (d * grid.pitch[0] + h * grid.pitch[1]) * images_;
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
