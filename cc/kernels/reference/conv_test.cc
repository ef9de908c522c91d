// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The oracle against numbers computed by hand.
#include "cc/kernels/reference/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace blocksparse {
namespace {

using Floats = std::vector<float>;

// A weight of 3 inputs and 2 outputs in blocks of 2 x 1, of two taps. Input
// blocks (0, 1) and (2, beyond the edge).
//
//            tap 0    tap 1
//   input 0   1  .     3  .
//   input 1   2  .     4  .
//   input 2   .  5     .  6
const int32_t kSharedPacked[] = {0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 0, 1};
const float kSharedBlocks[] = {1, 2, 3, 4, 5, NAN, 6, NAN};

// Rows (0, tap 0), (0, tap 1), (1, tap 0), (1, tap 1). Tap 0 of the second
// output is left out.
//
//            tap 0    tap 1
//   input 0   1  .     3  .
//   input 1   2  .     4  .
//   input 2   .  .     .  6
const int32_t kPerTapPacked[] = {0, 2, 3, 0, 1, 3, 0, 1, 2,
                                 2, 3, 0, 0, 1, 0, 1, 2};
const float kPerTapBlocks[] = {1, 2, 3, 4, 6, NAN};

// In two dimensions, of which one has a kernel of 2, a stride of 2 and a
// padding of 1: coarse pixel o sees the fine ones 2 o - 1 and 2 o.
template <typename Problem>
Problem Make(bool shared_taps) {
  Problem p;
  p.shared_taps = shared_taps;
  p.inputs = 3;
  p.outputs = 2;
  const std::string error =
      shared_taps ? ParseLayout(kSharedPacked, 12, 3, 2, 2, 1, 2, &p.layout)
                  : ParseLayout(kPerTapPacked, 17, 8, 2, 2, 1, 3, &p.layout);
  EXPECT_EQ(error, "");
  EXPECT_EQ(ValidateViews(p.layout), "");
  p.geometry.batch = 1;
  p.geometry.fine[1] = 4;
  p.geometry.coarse[1] = 3;
  p.geometry.kernel[1] = 2;
  p.geometry.strides[1] = 2;
  p.geometry.padding[1] = 1;
  return p;
}

// Of 4 fine pixels, 3 features each.
const float kFine[] = {1, 0, 1, 10, 0, 1, 100, 1, 1, 1000, 0, -1};
// Of 3 coarse pixels, 2 features each.
const float kCoarse[] = {1, 1, 10, 2, 100, 3};

ConvProblem Product(bool shared_taps, const float* x, Floats* y) {
  ConvProblem p = Make<ConvProblem>(shared_taps);
  p.x = x;
  p.blocks = shared_taps ? kSharedBlocks : kPerTapBlocks;
  p.y = y->data();
  return p;
}

TEST(ReferenceConvTest, Convolves) {
  Floats y(6, NAN);
  ReferenceConv(Product(true, kFine, &y));
  // The first pixel has only tap 1, the last one only tap 0.
  EXPECT_EQ(y, (Floats{3, 6, 10 + 304, 5 + 6, 1000, -5}));
  ReferenceConv(Product(false, kFine, &y));
  EXPECT_EQ(y, (Floats{3, 6, 10 + 304, 6, 1000, 0}));
}

TEST(ReferenceConvTest, ConvolvesBackwards) {
  Floats y(12, NAN);
  ConvProblem p = Product(true, kCoarse, &y);
  p.adjoint = true;
  p.transpose = true;
  ReferenceConv(p);
  EXPECT_EQ(y, (Floats{3, 4, 6, 10, 20, 10, 30, 40, 12, 100, 200, 15}));
}

TEST(ReferenceConvTest, TakesTransposedWeightsOnTheFineSide) {
  // The fine side has the outputs here: features of pixels, features first.
  const float x[] = {1, 10, 100, 1000, 1, 2, 3, 4};
  Floats y(9, NAN);
  ConvProblem p = Product(false, x, &y);
  p.transpose = true;
  p.features_first = true;
  ReferenceConv(p);
  EXPECT_EQ(y, (Floats{3, 310, 1000, 4, 420, 2000, 6, 18, 0}));
}

TEST(ReferenceConvTest, TakesGateBiasAndActivation) {
  const float gate[] = {2, 0};
  const float bias[] = {-7, 0.5};
  Floats y(6, NAN);
  Floats z(6, NAN);
  ConvProblem p = Product(true, kFine, &y);
  p.gate = gate;
  p.bias = bias;
  p.activation = Activation::kRelu;
  p.preactivation = z.data();
  ReferenceConv(p);
  EXPECT_EQ(z, (Floats{-1, 0.5, 621, 0.5, 1993, 0.5}));
  EXPECT_EQ(y, (Floats{0, 0.5, 621, 0.5, 1993, 0.5}));
}

TEST(ReferenceConvTest, WritesPixelsThatSeeNone) {
  const float bias[] = {1, 2};
  Floats y(6, NAN);
  ConvProblem p = Product(true, kFine, &y);
  p.geometry.padding[1] = 9;
  p.bias = bias;
  ReferenceConv(p);
  EXPECT_EQ(y, (Floats{1, 2, 1, 2, 1, 2}));
}

TEST(ReferenceConvTest, CountsTapsRowByRow) {
  // A kernel of 2 x 2 that is not square in dilations, on 3 x 4 pixels.
  const int32_t packed[] = {0, 1, 0, 0, 1, 0, 0};
  const float blocks[] = {1, 10, 100, 1000};
  const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3};
  Floats y(2, NAN);
  ConvProblem p;
  ASSERT_EQ(ParseLayout(packed, 7, 1, 1, 1, 1, 1, &p.layout), "");
  p.inputs = p.outputs = 1;
  p.geometry = {1,         {1, 3, 4}, {1, 1, 2}, {1, 2, 2},
                {1, 1, 1}, {1, 2, 2}, {0, 0, 0}};
  p.x = x;
  p.blocks = blocks;
  p.y = y.data();
  ReferenceConv(p);
  EXPECT_EQ(y, (Floats{2931, 3142}));
}

TEST(ReferenceConvSampledTest, MultipliesWhereBlocksAre) {
  Floats blocks(8, NAN);
  ConvSampledProblem p = Make<ConvSampledProblem>(true);
  p.fine = kFine;
  p.coarse = kCoarse;
  p.blocks = blocks.data();
  ReferenceConvSampled(p);
  EXPECT_EQ(blocks,
            (Floats{100 + 100000, 0, 1 + 1000, 10, 2 - 3, 0, 1 + 2, 0}));
  const float gate[] = {1, 0, 2};
  p = Make<ConvSampledProblem>(false);
  p.fine = kFine;
  p.coarse = kCoarse;
  p.gate = gate;
  blocks.assign(6, NAN);
  p.blocks = blocks.data();
  ReferenceConvSampled(p);
  EXPECT_EQ(blocks, (Floats{100100, 0, 0, 0, 6, 0}));
}

TEST(ReferenceConvSampledTest, MultipliesBackwards) {
  // Fine has the 2 outputs and coarse the 3 inputs.
  const float fine[] = {1, 1, 10, 2, 100, 3, 1000, 4};
  const float coarse[] = {1, 0, 1, 2, 0, 1, 3, 1, -1};
  Floats blocks(8, NAN);
  ConvSampledProblem p = Make<ConvSampledProblem>(true);
  p.adjoint = true;
  p.fine = fine;
  p.coarse = coarse;
  p.blocks = blocks.data();
  ReferenceConvSampled(p);
  EXPECT_EQ(blocks, (Floats{20 + 3000, 1000, 1 + 200, 0, 2 - 4, 0, 1 + 3, 0}));
}

}  // namespace
}  // namespace blocksparse
