// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The bands of random convolutions against the definition, pixel by pixel.
#include "cc/kernels/cpu/conv_bands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cc/base/round_up.h"

namespace blocksparse {
namespace {

struct BandsCase {
  ConvGeometry geometry;
  bool adjoint = false;
  bool split_dilation = false;
  int64_t images = 1;
  int64_t size[kSpatial];  // where they are cut
  int64_t rows = 1;        // of a tile
};

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t operator()(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_() % (to - from + 1));
  }

 private:
  std::mt19937 random_;  // the same numbers everywhere
};

BandsCase RandomCase(Draw* draw) {
  BandsCase test;
  ConvGeometry& g = test.geometry;
  g.batch = 1;
  for (int i = static_cast<int>((*draw)(0, 2)); i < kSpatial; ++i) {
    g.fine[i] = (*draw)(0, 9);
    g.coarse[i] = (*draw)(0, 9);
    g.kernel[i] = (*draw)(1, 5);
    g.strides[i] = (*draw)(1, 6);
    g.dilations[i] = (*draw)(1, 6);
    g.padding[i] = (*draw)(-4, 12);
  }
  if ((*draw)(0, 9) == 0) {
    // A line with taps so far apart that neither a remainder nor a plane is
    // shared.
    for (int i = 0; i < kSpatial - 1; ++i) {
      g.fine[i] = std::min<int64_t>(g.fine[i], 2);
      g.coarse[i] = std::min<int64_t>(g.coarse[i], 2);
    }
    constexpr int kLast = kSpatial - 1;
    g.fine[kLast] = (*draw)(0, 400);
    g.coarse[kLast] = (*draw)(0, 400);
    g.dilations[kLast] = (*draw)(50, 90);
    g.padding[kLast] += (*draw)(-1, 3) * g.dilations[kLast];
  }
  test.adjoint = (*draw)(0, 1);
  test.split_dilation = (*draw)(0, 1);
  test.images = (*draw)(1, 3);
  test.rows = (*draw)(1, 9);
  return test;
}

std::string ToString(const BandsCase& test) {
  std::ostringstream stream;
  for (int i = 0; i < kSpatial; ++i) {
    const ConvGeometry& g = test.geometry;
    stream << "fine " << g.fine[i] << " coarse " << g.coarse[i] << " kernel "
           << g.kernel[i] << " stride " << g.strides[i] << " dilation "
           << g.dilations[i] << " padding " << g.padding[i] << " cut "
           << test.size[i] << "; ";
  }
  stream << "adjoint " << test.adjoint << " split " << test.split_dilation
         << " images " << test.images << " rows " << test.rows;
  return stream.str();
}

// The source pixel that a tap of a target pixel reads, or -1.
int64_t SourceOf(const BandsCase& test, int64_t target, int64_t tap) {
  const ConvGeometry& g = test.geometry;
  int64_t along[kSpatial];
  int64_t taps[kSpatial];
  for (int i = kSpatial - 1; i >= 0; --i) {
    const int64_t size = test.adjoint ? g.fine[i] : g.coarse[i];
    along[i] = target % size;
    target /= size;
    taps[i] = tap % g.kernel[i];
    tap /= g.kernel[i];
  }
  int64_t source = 0;
  for (int i = 0; i < kSpatial; ++i) {
    const int64_t distance = taps[i] * g.dilations[i] - g.padding[i];
    const int64_t size = test.adjoint ? g.coarse[i] : g.fine[i];
    int64_t at = along[i] * g.strides[i] + distance;
    if (test.adjoint) {
      at = along[i] - distance;
      if (at % g.strides[i] != 0) return -1;
      at /= g.strides[i];
    }
    if (at < 0 || at >= size) return -1;
    source = source * size + at;
  }
  return source;
}

// One phase of a band: its tiles lie within it, its taps read what they should,
// and `met` counts the pixels of its tiles, [target][image].
void CheckPhase(const BandsCase& test, const ConvBands& bands, int64_t band,
                int64_t phase, const std::vector<int64_t>& sources,
                std::vector<int>* met) {
  const int64_t cells = bands.cells(band);
  std::vector<int64_t> targets;
  std::vector<int64_t> tiles;
  bands.Targets(band, phase, &targets);
  bands.Tiles(band, phase, test.rows, &tiles);
  const std::vector<ConvTap> taps = bands.Taps(band, phase);
  const int64_t positions = static_cast<int64_t>(targets.size());
  ASSERT_EQ(positions, bands.positions(band));
  ASSERT_LE(positions, bands.most_positions());
  // What conv.cc makes room for.
  ASSERT_LE(static_cast<int64_t>(tiles.size()),
            CeilDiv(bands.most_positions() * bands.images(), test.rows));
  int64_t covered = 0;
  for (const int64_t tile : tiles) {
    ASSERT_GE(tile, covered);
    ASSERT_LT(tile, positions * test.images);
    covered = tile + test.rows;
    for (int64_t cell = tile; cell < covered; ++cell) {
      const int64_t position = cell / test.images;
      if (position >= positions || targets[position] < 0) continue;
      ++(*met)[targets[position] * test.images + cell % test.images];
    }
  }
  std::vector<int64_t> offsets(test.geometry.taps(), -1);
  int64_t last = -1;
  for (const ConvTap& tap : taps) {
    ASSERT_GT(tap.tap, last);
    last = tap.tap;
    ASSERT_LT(tap.tap, test.geometry.taps());
    ASSERT_EQ(tap.offset % test.images, 0);
    offsets[tap.tap] = tap.offset / test.images;
    // Where a tile begins, there is a cell; its end may lie beyond all cells.
    ASSERT_GE(tap.offset, 0);
    ASSERT_LE(offsets[tap.tap] + positions, cells);
  }
  for (int64_t position = 0; position < positions; ++position) {
    if (targets[position] < 0) continue;
    for (size_t t = 0; t < offsets.size(); ++t) {
      const int64_t expected =
          SourceOf(test, targets[position], static_cast<int64_t>(t));
      const int64_t got = offsets[t] < 0 ? -1 : sources[position + offsets[t]];
      ASSERT_EQ(got, expected)
          << "band " << band << " phase " << phase << " target "
          << targets[position] << " tap " << t;
    }
  }
}

void CheckBands(BandsCase test, Draw* draw) {
  const ConvGeometry& g = test.geometry;
  ConvBands bands(g, test.adjoint, test.split_dilation);
  for (int i = 0; i < kSpatial; ++i) {
    test.size[i] = (*draw)(1, std::max<int64_t>(1, bands.count(i)));
    if ((*draw)(0, 1)) test.size[i] = bands.count(i);
  }
  SCOPED_TRACE(ToString(test));
  bands.Cut(test.images, test.size);
  const int64_t pixels = test.adjoint ? g.fine_pixels() : g.coarse_pixels();
  std::vector<int> met(pixels * test.images);
  std::vector<int64_t> sources;
  for (int64_t band = 0; band < bands.bands(); ++band) {
    bands.Sources(band, &sources);
    ASSERT_EQ(static_cast<int64_t>(sources.size()), bands.cells(band));
    ASSERT_LE(bands.cells(band), bands.most_cells());
    for (int64_t phase = 0; phase < bands.phases(band); ++phase) {
      CheckPhase(test, bands, band, phase, sources, &met);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(std::count(met.begin(), met.end(), 1),
            static_cast<int64_t>(met.size()));
}

TEST(ConvBandsTest, HoldEveryPixelOnceAndWhatItsTapsRead) {
  Draw draw(1);
  int checked = 0;
  while (checked < 6000 && !HasFailure()) {
    const BandsCase test = RandomCase(&draw);
    const ConvGeometry& g = test.geometry;
    // There must be something to compute.
    if ((test.adjoint ? g.fine_pixels() : g.coarse_pixels()) == 0) continue;
    CheckBands(test, &draw);
    ++checked;
  }
}

}  // namespace
}  // namespace blocksparse
