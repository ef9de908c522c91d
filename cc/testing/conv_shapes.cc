// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/conv_shapes.h"

#include <iterator>
#include <random>
#include <stdexcept>
#include <string>

namespace blocksparse {
namespace {

constexpr ConvBlockSize kBlockSizes[] = {
    {1, 1},   {2, 2},   {3, 3},   {4, 4},   {5, 7},   {8, 8}, {8, 16},
    {16, 16}, {20, 12}, {32, 32}, {17, 15}, {64, 24}, {4, 8}};

}  // namespace

ConvGeometry Geometry(const Convolution& c) {
  std::string error = CheckConvAttributes(c.attributes);
  std::vector<int64_t> coarse = c.coarse;
  for (int i = static_cast<int>(coarse.size());
       error.empty() && i < c.attributes.rank(); ++i) {
    coarse.push_back(0);
    error = DeriveCoarseSize(c.attributes, i, c.fine[i], &coarse[i]);
  }
  ConvGeometry geometry;
  if (error.empty()) {
    error = MakeConvGeometry(c.attributes, c.batch, c.fine, coarse, &geometry);
  }
  if (!error.empty()) throw std::logic_error(error);
  return geometry;
}

const std::vector<Convolution>& Convolutions() {
  constexpr auto kValid = ConvPadding::kValid;
  constexpr auto kSame = ConvPadding::kSame;
  constexpr auto kExplicit = ConvPadding::kExplicit;
  static const auto* const convolutions = new std::vector<Convolution>{
      // A product of each pixel.
      {{{1, 1}, {1, 1}, {1, 1}, kValid, {}}, {5, 7}},
      {{{1, 1}, {2, 3}, {1, 1}, kSame, {}}, {5, 7}},
      {{{1}, {1}, {1}, kExplicit, {1, 2}}, {9}},
      // One dimension: plain, causal, all of a line in one pixel.
      {{{3}, {1}, {1}, kValid, {}}, {37}},
      {{{4}, {1}, {3}, kExplicit, {9, 0}}, {21}, {}, 3},
      {{{11}, {1}, {1}, kValid, {}}, {11}, {}, 5},
      // Two, with strides, dilations and both, sides of different lengths.
      {{{3, 3}, {1, 1}, {1, 1}, kSame, {}}, {9, 19}},
      {{{3, 3}, {2, 2}, {1, 1}, kSame, {}}, {8, 8}, {}, 3},
      {{{3, 3}, {2, 2}, {1, 1}, kSame, {}}, {7, 9}, {}, 1},
      {{{3, 2}, {1, 1}, {2, 5}, kSame, {}}, {8, 11}},
      {{{3, 2}, {2, 3}, {3, 2}, kValid, {}}, {11, 13}},
      {{{2, 5}, {3, 1}, {1, 2}, kExplicit, {1, 0, 3, 4}}, {6, 10}},
      {{{3, 3}, {1, 1}, {1, 1}, kValid, {}}, {4, 70}, {}, 1},
      // Three.
      {{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}, kSame, {}}, {4, 3, 5}},
      {{{2, 1, 3}, {2, 1, 2}, {1, 1, 2}, kValid, {}}, {5, 2, 9}},
      // Fine pixels that no tap reaches: between strides, and at the end.
      {{{2, 2}, {3, 4}, {1, 1}, kValid, {}}, {9, 12}},
      {{{3}, {2}, {1}, kValid, {}}, {20}, {5}},
      // Coarse pixels that reach few of the fine ones, or none.
      {{{3}, {2}, {1}, kValid, {}}, {7}, {12}},
      {{{5, 5}, {1, 1}, {1, 1}, kSame, {}}, {2, 3}},
      {{{2, 3}, {1, 1}, {9, 9}, kExplicit, {7, 7, 8, 8}}, {3, 4}},
      {{{3, 3}, {1, 1}, {1, 1}, kExplicit, {50, 0, 0, 0}}, {6, 6}, {6, 4}},
      // Pixels left out.
      {{{3, 3}, {1, 1}, {1, 1}, kExplicit, {-2, -1, 1, -3}}, {8, 9}},
      // No pixels on one side, or on both.
      {{{3}, {1}, {1}, kExplicit, {2, 3}}, {0}},
      {{{5, 5}, {1, 1}, {1, 1}, kValid, {}}, {4, 9}},
      {{{3}, {1}, {1}, kValid, {}}, {5}, {}, 0},
  };
  return *convolutions;
}

std::vector<ConvShape> ConvShapes() {
  std::vector<ConvShape> shapes;
  int turn = 0;
  for (const LayoutKind& kind : LayoutKinds()) {
    for (const Convolution& convolution : Convolutions()) {
      for (int side = 0; side < 4; ++side) {
        const ConvBlockSize& block = kBlockSizes[turn % std::size(kBlockSizes)];
        // One more or fewer than a multiple of the block, now and then.
        ConvShape shape{&kind,
                        block.inputs * 3 - (turn % 3 == 1),
                        block.outputs * 2 - (turn % 5 == 1),
                        block.inputs,
                        block.outputs,
                        Geometry(convolution)};
        shape.adjoint = side & 1;
        shape.transpose = side & 2;
        shape.shared_taps = turn / 4 % 2;
        shape.features_first = turn / 4 % 3 == 0;
        shape.gate = static_cast<GateKind>(turn / 4 % 7 % 3);
        shape.bias = turn / 4 % 5 < 3;
        shape.preactivation = turn / 4 % 5 == 0;
        shape.activation =
            turn % 4 == 0 ? Activation::kRelu : Activation::kNone;
        shapes.push_back(shape);
        ++turn;
      }
      ++turn;
    }
  }
  return shapes;
}

std::vector<ConvShape> KernelConvShapes() {
  constexpr auto kValid = ConvPadding::kValid;
  constexpr auto kSame = ConvPadding::kSame;
  constexpr auto kExplicit = ConvPadding::kExplicit;
  const Convolution convolutions[] = {
      {{{3, 3}, {1, 1}, {1, 1}, kSame, {}}, {5, 13}, {}, 3},
      // More images than stand beside each other.
      {{{3}, {1}, {1}, kSame, {}}, {3}, {}, 37},
      {{{2, 3}, {1, 1}, {1, 1}, kSame, {}}, {2, 2}, {}, 19},
      // A dilation's remainders, beside strides with factors in common or not.
      {{{3, 2}, {4, 3}, {5, 5}, kSame, {}}, {17, 14}, {}, 2},
      {{{3, 3}, {2, 4}, {4, 2}, kExplicit, {5, 3, -1, 6}}, {9, 11}, {}, 1},
      {{{4}, {1}, {5}, kExplicit, {15, 0}}, {23}, {}, 5},
      {{{3}, {1}, {70}, kSame, {}}, {150}, {}, 1},
      {{{2, 2}, {3, 4}, {1, 1}, kValid, {}}, {9, 12}, {}, 3},
      {{{2, 3, 2}, {1, 2, 1}, {1, 1, 3}, kSame, {}}, {3, 4, 5}, {}, 2},
  };
  // Whole registers of every instruction set, of some, and parts of them.
  constexpr ConvBlockSize kBlocks[] = {{32, 32}, {16, 16}, {16, 64}, {8, 32},
                                       {64, 16}, {20, 12}, {3, 5}};
  std::vector<ConvShape> shapes;
  int turn = 0;
  for (const ConvBlockSize& block : kBlocks) {
    for (const Convolution& convolution : convolutions) {
      for (int side = 0; side < 4; ++side, ++turn) {
        // Partial last blocks on both sides, but now and then.
        ConvShape shape{&LayoutKinds()[turn % LayoutKinds().size()],
                        block.inputs * 3 - (turn % 3 > 0),
                        block.outputs * 3 - (turn % 5 > 0) * (turn % 3),
                        block.inputs,
                        block.outputs,
                        Geometry(convolution)};
        shape.adjoint = side & 1;
        shape.transpose = side & 2;
        shape.shared_taps = turn / 4 % 2;
        shape.features_first = turn / 4 % 5 == 4;
        shape.gate = static_cast<GateKind>(turn % 3);
        shape.bias = turn % 5 < 3;
        shape.preactivation = turn % 4 == 1;
        shape.activation = turn % 7 < 3 ? Activation::kRelu : Activation::kNone;
        shapes.push_back(shape);
      }
    }
  }
  // So many taps for a target that they are multiplied in several chunks.
  const Convolution few{{{3, 2}, {1, 2}, {2, 1}, kSame, {}}, {4, 9}, {}, 3};
  for (int side = 0; side < 8; ++side) {
    ConvShape shape{&LayoutKinds()[side % 2 == 0 ? 4 : 1],
                    320 - side / 4,
                    95 + side % 3,
                    32,
                    32,
                    Geometry(few)};
    shape.adjoint = side & 1;
    shape.transpose = side & 2;
    shape.shared_taps = side & 4;
    shape.gate = GateKind::kMixed;
    shape.bias = shape.preactivation = true;
    shapes.push_back(shape);
  }
  return shapes;
}

std::vector<ConvShape> RandomConvShapes() {
  std::vector<ConvShape> shapes;
  std::mt19937 random;  // the same numbers everywhere
  const auto draw = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random() % (to - from + 1));
  };
  for (int i = 0; i < 300; ++i) {
    ConvGeometry g;
    g.batch = draw(1, 3);
    for (int d = static_cast<int>(draw(0, 2)); d < kSpatial; ++d) {
      g.fine[d] = draw(0, 9);
      g.coarse[d] = draw(0, 9);
      g.kernel[d] = draw(1, 4);
      g.strides[d] = draw(1, 5);
      g.dilations[d] = draw(1, 4);
      g.padding[d] = draw(-3, 6);
    }
    const ConvBlockSize& block = kBlockSizes[i % 7];
    ConvShape shape{&LayoutKinds()[i % 8],
                    draw(1, 3 * block.inputs),
                    draw(1, 3 * block.outputs),
                    block.inputs,
                    block.outputs,
                    g};
    shape.shared_taps = draw(0, 1);
    shape.adjoint = draw(0, 1);
    shape.transpose = draw(0, 1);
    shape.features_first = draw(0, 1);
    shape.gate = static_cast<GateKind>(draw(0, 2));
    shape.bias = draw(0, 1);
    shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace blocksparse
