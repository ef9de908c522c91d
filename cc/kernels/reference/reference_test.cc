// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The oracle against numbers computed by hand.
#include "cc/kernels/reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace blocksparse {
namespace {

// A weight of 3 x 4 with blocks of 2 x 2: (0, 0) and (1, 1), the second with
// one row beyond the edge.
//
//   1 2 . .
//   3 4 . .
//   . . 5 6
const int32_t kPacked[] = {0, 1, 2, 0, 1, 0, 1, 2, 0, 1, 0, 1};
const float kBlocks[] = {1, 2, 3, 4, 5, 6, NAN, NAN};

Layout TestLayout() {
  Layout layout;
  EXPECT_EQ(ParseLayout(kPacked, 12, 3, 4, 2, 2, 2, &layout), "");
  EXPECT_EQ(ValidateViews(layout), "");
  return layout;
}

TEST(ReferenceMatmulTest, Multiplies) {
  const float x[] = {1, 10, 100, 0, 1, 2};
  std::vector<float> y(8, NAN);
  MatmulProblem p;
  p.layout = TestLayout();
  p.rows = 2;
  p.x = x;
  p.blocks = kBlocks;
  p.y = y.data();
  ReferenceMatmul(p);
  EXPECT_EQ(y, (std::vector<float>{31, 42, 500, 600, 3, 4, 10, 12}));
}

TEST(ReferenceMatmulTest, TakesTransposeGateBiasAndFeaturesFirst) {
  // Four features of one row and of another, side by side.
  const float x[] = {1, 0, 10, 1, 100, 0, 1000, -1};
  const float gate[] = {2, -1};
  const float bias[] = {1, 0, -1};
  std::vector<float> y(6, NAN);
  std::vector<float> z(6, NAN);
  MatmulProblem p;
  p.layout = TestLayout();
  p.transpose = true;
  p.features_first = true;
  p.rows = 2;
  p.x = x;
  p.blocks = kBlocks;
  p.gate = gate;
  p.bias = bias;
  p.activation = Activation::kRelu;
  p.y = y.data();
  p.preactivation = z.data();
  ReferenceMatmul(p);
  EXPECT_EQ(z, (std::vector<float>{43, 5, 86, 8, -6501, 5}));
  EXPECT_EQ(y, (std::vector<float>{43, 5, 86, 8, 0, 5}));
}

TEST(ReferenceSampledMatmulTest, MultipliesWhereBlocksAre) {
  const float a[] = {1, 2, 3, 4, 5, 6};
  const float b[] = {1, 10, 100, 1000, 2, 20, 200, 2000};
  const float gate[] = {1, 0.5};
  std::vector<float> blocks(8, NAN);
  SampledMatmulProblem p;
  p.layout = TestLayout();
  p.rows = 2;
  p.a = a;
  p.b = b;
  p.gate = gate;
  p.blocks = blocks.data();
  ReferenceSampledMatmul(p);
  EXPECT_EQ(blocks, (std::vector<float>{9, 90, 12, 120, 750, 7500, 0, 0}));
}

}  // namespace
}  // namespace blocksparse
