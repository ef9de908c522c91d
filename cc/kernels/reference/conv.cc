// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/reference/conv.h"

#include <vector>

#include "cc/base/element.h"
#include "cc/kernels/reference/activate.h"

namespace blocksparse {
namespace {

// Place of an element in a tensor stored either way.
struct Side {
  int64_t pixels;
  int64_t features;
  bool features_first;

  int64_t At(int64_t image, int64_t pixel, int64_t feature) const {
    return features_first ? (image * features + feature) * pixels + pixel
                          : (image * pixels + pixel) * features + feature;
  }
};

struct Weight {
  int64_t tap;
  int64_t input;
  int64_t output;
  double gate;
  int64_t place;  // among the numbers of all blocks
};

// Calls body(weight) for each weight that exists and whose gate is not 0;
// padded entries are passed over. For both kinds of problem.
template <typename Problem, typename Body>
void ForEachWeight(const Problem& p, const Body& body) {
  const Layout& layout = p.layout;
  const int64_t taps = p.geometry.taps();
  const int64_t taps_of_block = p.shared_taps ? taps : 1;
  const int64_t taps_of_layout = p.shared_taps ? 1 : taps;
  for (int64_t k = 0; k < layout.forward.targets; ++k) {
    for (int64_t w = layout.forward.splits[k]; w < layout.forward.splits[k + 1];
         ++w) {
      const int64_t row = layout.forward.index[w];
      const int64_t c = row / taps_of_layout;
      int64_t place = w * taps_of_block * layout.block_inputs *
                      int64_t{layout.block_outputs};
      for (int64_t t = 0; t < taps_of_block; ++t) {
        for (int64_t i = 0; i < layout.block_inputs; ++i) {
          for (int64_t j = 0; j < layout.block_outputs; ++j, ++place) {
            const Weight weight{t + row % taps_of_layout,
                                c * layout.block_inputs + i,
                                k * layout.block_outputs + j,
                                p.gate == nullptr ? 1.0 : p.gate[w], place};
            if (weight.input >= p.inputs || weight.output >= p.outputs ||
                weight.gate == 0) {
              continue;
            }
            body(weight);
          }
        }
      }
    }
  }
}

// The fine pixel under a tap of a coarse one, or -1 outside of all.
int64_t FinePixel(const ConvGeometry& g, int64_t coarse, int64_t tap) {
  int64_t fine = 0;
  int64_t stride = 1;
  for (int i = kSpatial - 1; i >= 0; --i) {
    const int64_t at = coarse % g.coarse[i] * g.strides[i] +
                       tap % g.kernel[i] * g.dilations[i] - g.padding[i];
    if (at < 0 || at >= g.fine[i]) return -1;
    fine += at * stride;
    stride *= g.fine[i];
    coarse /= g.coarse[i];
    tap /= g.kernel[i];
  }
  return fine;
}

struct Pair {
  int64_t fine;
  int64_t coarse;
};

// The pixels that each tap joins.
std::vector<std::vector<Pair>> PairsOfTaps(const ConvGeometry& g) {
  std::vector<std::vector<Pair>> pairs(g.taps());
  for (int64_t tap = 0; tap < g.taps(); ++tap) {
    for (int64_t coarse = 0; coarse < g.coarse_pixels(); ++coarse) {
      const int64_t fine = FinePixel(g, coarse, tap);
      if (fine >= 0) pairs[tap].push_back({fine, coarse});
    }
  }
  return pairs;
}

}  // namespace

void ReferenceConv(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const Side x{p.adjoint ? g.coarse_pixels() : g.fine_pixels(),
               p.transpose ? p.outputs : p.inputs, p.features_first};
  const Side y{p.adjoint ? g.fine_pixels() : g.coarse_pixels(),
               p.transpose ? p.inputs : p.outputs, p.features_first};
  const std::vector<std::vector<Pair>> pairs = PairsOfTaps(g);
  std::vector<double> z(g.batch * y.pixels * y.features, 0.0);
  ForEachWeight(p, [&](const Weight& w) {
    const double weight =
        w.gate * LoadElement(p.blocks, p.blocks_dtype, w.place);
    const int64_t source = p.transpose ? w.output : w.input;
    const int64_t target = p.transpose ? w.input : w.output;
    for (int64_t image = 0; image < g.batch; ++image) {
      for (const Pair& pair : pairs[w.tap]) {
        const int64_t from = p.adjoint ? pair.coarse : pair.fine;
        const int64_t to = p.adjoint ? pair.fine : pair.coarse;
        z[y.At(image, to, target)] +=
            weight * LoadElement(p.x, p.x_dtype, x.At(image, from, source));
      }
    }
  });
  for (int64_t image = 0; image < g.batch; ++image) {
    for (int64_t pixel = 0; pixel < y.pixels; ++pixel) {
      for (int64_t feature = 0; feature < y.features; ++feature) {
        const int64_t at = y.At(image, pixel, feature);
        double value = z[at];
        if (p.bias != nullptr) value += LoadElement(p.bias, p.x_dtype, feature);
        if (p.preactivation != nullptr) {
          StoreElement(value, p.preactivation, p.x_dtype, at);
        }
        StoreElement(Activate(value, p.activation), p.y, p.x_dtype, at);
      }
    }
  }
}

void ReferenceConvSampled(const ConvSampledProblem& p) {
  const ConvGeometry& g = p.geometry;
  const Side fine_side{g.fine_pixels(), p.adjoint ? p.outputs : p.inputs,
                       p.features_first};
  const Side coarse_side{g.coarse_pixels(), p.adjoint ? p.inputs : p.outputs,
                         p.features_first};
  const std::vector<std::vector<Pair>> pairs = PairsOfTaps(g);
  const int64_t size = p.layout.nnz * (p.shared_taps ? g.taps() : 1) *
                       p.layout.block_inputs * p.layout.block_outputs;
  for (int64_t i = 0; i < size; ++i) {
    StoreElement(0, p.blocks, p.blocks_dtype, i);
  }
  ForEachWeight(p, [&](const Weight& w) {
    const int64_t fine_feature = p.adjoint ? w.output : w.input;
    const int64_t coarse_feature = p.adjoint ? w.input : w.output;
    double sum = 0;
    for (int64_t image = 0; image < g.batch; ++image) {
      for (const Pair& pair : pairs[w.tap]) {
        sum += LoadElement(p.fine, p.x_dtype,
                           fine_side.At(image, pair.fine, fine_feature)) *
               LoadElement(p.coarse, p.x_dtype,
                           coarse_side.At(image, pair.coarse, coarse_feature));
      }
    }
    StoreElement(w.gate * sum, p.blocks, p.blocks_dtype, w.place);
  });
}

}  // namespace blocksparse
