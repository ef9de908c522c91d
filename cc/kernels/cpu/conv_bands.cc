// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/conv_bands.h"

#include <algorithm>
#include <numeric>

#include "cc/base/round_up.h"

namespace blocksparse {
namespace {

int64_t FloorDiv(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -CeilDiv(-a, b);
}

int64_t Modulo(int64_t a, int64_t b) { return a - FloorDiv(a, b) * b; }

void SortOnce(std::vector<int64_t>* numbers) {
  std::sort(numbers->begin(), numbers->end());
  numbers->erase(std::unique(numbers->begin(), numbers->end()), numbers->end());
}

// The first target pixel of a phase, a tap that meets it, or -1, and the source
// pixel that the tap reads for it.
struct Meeting {
  int64_t first;
  int64_t tap;
  int64_t source;
};

// From the source pixel of a tap to the target pixel, or back.
int64_t Distance(const ConvGeometry& geometry, int dimension, int64_t tap) {
  return tap * geometry.dilations[dimension] - geometry.padding[dimension];
}

// Of the coarse pixels of a remainder: every tap meets them all.
std::vector<Meeting> CoarseMeetings(const ConvGeometry& geometry, int dimension,
                                    int64_t remainder) {
  std::vector<Meeting> meetings;
  if (remainder >= geometry.coarse[dimension]) return meetings;
  for (int64_t t = 0; t < geometry.kernel[dimension]; ++t) {
    meetings.push_back({remainder, t,
                        remainder * geometry.strides[dimension] +
                            Distance(geometry, dimension, t)});
  }
  return meetings;
}

// Of the fine pixels whose source pixels have a remainder: a tap meets one in
// `step`. All taps that meet one read the same remainder.
std::vector<Meeting> FineMeetings(const ConvGeometry& geometry, int dimension,
                                  int64_t remainder, int64_t step) {
  const int64_t stride = geometry.strides[dimension];
  const int64_t size = geometry.fine[dimension];
  std::vector<Meeting> meetings;
  // Of pixels that no tap meets, the first remainder takes care.
  std::vector<bool> met(remainder == 0 ? std::min(stride, size) : 0);
  for (int64_t t = 0; t < geometry.kernel[dimension]; ++t) {
    const int64_t distance = Distance(geometry, dimension, t);
    const int64_t first = Modulo(distance + remainder * stride, step);
    if (first < size)
      meetings.push_back({first, t, (first - distance) / stride});
    const size_t place = Modulo(distance, stride);
    if (place < met.size()) met[place] = true;
  }
  for (int64_t first = 0; !met.empty() && first < std::min(step, size);
       ++first) {
    if (!met[first % stride]) meetings.push_back({first, -1, 0});
  }
  std::stable_sort(
      meetings.begin(), meetings.end(),
      [](const Meeting& a, const Meeting& b) { return a.first < b.first; });
  return meetings;
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
  // Each has a list of its taps. Wider dilations have few pixels between which
  // taps could share: see ConvAxis::Place.
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
  std::vector<int64_t> sources;
  for (const Meeting& meeting :
       adjoint ? FineMeetings(geometry, dimension, remainder, target_step)
               : CoarseMeetings(geometry, dimension, remainder)) {
    if (phases.empty() || phases.back().first != meeting.first) {
      phases.emplace_back();
      phases.back().first = meeting.first;
      phases.back().count = CeilDiv(target_size - meeting.first, target_step);
      count = std::max(count, phases.back().count);
    }
    const int64_t last =
        meeting.source + (phases.back().count - 1) * source_step;
    if (meeting.tap < 0 || meeting.source >= source_size || last < 0) continue;
    phases.back().taps.push_back({meeting.tap, 0, 0});
    sources.push_back(meeting.source);
  }
  if (!sources.empty()) Place(sources);
}

void ConvAxis::Place(const std::vector<int64_t>& sources) {
  const auto shift_of = [&](int64_t source) {
    return FloorDiv(source, source_step);
  };
  lowest = shift_of(*std::min_element(sources.begin(), sources.end()));
  range = shift_of(*std::max_element(sources.begin(), sources.end())) - lowest;
  for (const int64_t source : sources) {
    planes.push_back(source - shift_of(source) * source_step);
  }
  SortOnce(&planes);
  // A panel of mostly pixels that no tap reads might fit into no memory. With a
  // plane for each source pixel there are none.
  constexpr int64_t kMostGaps = 16;
  const bool apart = static_cast<int64_t>(planes.size()) * range >
                     kMostGaps * static_cast<int64_t>(sources.size());
  if (apart) {
    lowest = range = 0;
    planes = sources;
    SortOnce(&planes);
  }
  const int64_t* source = sources.data();
  for (ConvAxisPhase& phase : phases) {
    for (ConvAxisTap& tap : phase.taps) {
      tap.shift = apart ? 0 : shift_of(*source);
      const int64_t plane = *source++ - tap.shift * source_step;
      tap.plane = std::lower_bound(planes.begin(), planes.end(), plane) -
                  planes.begin();
    }
  }
  if (apart) return;
  const int64_t cells = count + range;
  zeros_before = std::min(cells, std::max<int64_t>(0, -lowest));
  const int64_t pixels =
      CeilDiv(std::max<int64_t>(0, source_size - planes.front()), source_step);
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

bool ConvBands::CutFiner(int64_t (*size)[kSpatial]) const {
  int64_t (&sizes)[kSpatial] = *size;
  int cut = kSpatial - 1;
  for (int i = 0; i < kSpatial; ++i) {
    if (sizes[i] > sizes[cut]) cut = i;
  }
  for (int i = kSpatial - 1; i >= 0; --i) {
    if (sizes[i] > 4 * (range(i) + 1)) cut = i;
  }
  if (sizes[cut] <= 1) return false;
  // A part more, or an eighth of many: each is looked at.
  const int64_t parts = CeilDiv(count(cut), sizes[cut]);
  sizes[cut] =
      std::min(sizes[cut] - 1, CeilDiv(count(cut), parts + 1 + parts / 8));
  return true;
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
