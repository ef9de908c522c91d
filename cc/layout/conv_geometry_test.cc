// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/layout/conv_geometry.h"

#include <gtest/gtest.h>

#include "cc/layout/conv_layout.h"
#include "cc/testing/packed_layout.h"

namespace blocksparse {
namespace {

constexpr auto kValid = ConvPadding::kValid;
constexpr auto kSame = ConvPadding::kSame;
constexpr auto kExplicit = ConvPadding::kExplicit;
constexpr int64_t kMax = kMaxConvSize;

ConvAttributes Line(int64_t kernel, int64_t stride, int64_t dilation,
                    ConvPadding padding = kValid,
                    std::vector<int64_t> explicit_paddings = {}) {
  return {{kernel}, {stride}, {dilation}, padding, explicit_paddings};
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Bad {
  ConvAttributes attributes;
  const char* message;
};

TEST(CheckConvAttributesTest, RefusesWhatIsNoConvolution) {
  const std::vector<int64_t> one(1, 1), two(2, 1), four(4, 1);
  const Bad cases[] = {
      {{{}, {}, {}, kValid, {}}, "kernel_size is [], expected 1 to 3 sizes"},
      {{four, four, four, kValid, {}}, "kernel_size is [1, 1, 1, 1]"},
      {{{3, 0}, two, two, kValid, {}}, "kernel_size is [3, 0]"},
      {{{-3, -3}, two, two, kValid, {}}, "kernel_size is [-3, -3]"},
      {{{256, 257}, two, two, kValid, {}}, "at most 65536 taps"},
      {{{kMax, kMax}, two, two, kValid, {}}, "at most 65536 taps"},
      {{two, one, two, kValid, {}}, "strides is [1], expected 2 numbers"},
      {{two, {1, 0}, two, kValid, {}}, "strides is [1, 0]"},
      {{one, {kMax + 1}, one, kValid, {}}, "from 1 to 2147483647"},
      {{two, two, {}, kValid, {}}, "dilations is [], expected 2 numbers"},
      {{one, one, {INT64_MIN}, kValid, {}}, "dilations is [-92"},
      {Line(3, 1, kMax), "(kernel_size - 1) * dilations of at most"},
      {Line(3, 1, 1, kSame, {1, 1}), "expected none with this padding"},
      {Line(3, 1, 1, kExplicit), "explicit_paddings is [], expected 2"},
      {Line(3, 1, 1, kExplicit, {1, kMax + 1}), "expected 2 numbers from"},
      {Line(3, 1, 1, kExplicit, {INT64_MIN, 1}), "expected 2 numbers from"},
  };
  for (const Bad& bad : cases) {
    const std::string error = CheckConvAttributes(bad.attributes);
    EXPECT_TRUE(Has(error, bad.message)) << error << "; " << bad.message;
  }
  EXPECT_EQ(CheckConvAttributes(Line(65536, kMax, 1)), "");
  EXPECT_EQ(CheckConvAttributes(Line(2, 1, kMax, kExplicit, {-kMax, kMax})),
            "");
}

struct Sizes {
  ConvAttributes attributes;
  int64_t fine;
  int64_t coarse;
  int64_t padding;
};

TEST(ConvGeometryTest, DerivesSizesAndPadding) {
  const Sizes cases[] = {
      {Line(1, 1, 1), 7, 7, 0},
      {Line(3, 1, 1), 7, 5, 0},
      {Line(3, 2, 1), 7, 3, 0},
      {Line(3, 2, 1), 8, 3, 0},
      {Line(3, 1, 3), 7, 1, 0},
      {Line(3, 2, 3), 9, 2, 0},
      {Line(8, 1, 1), 7, 0, 0},
      {Line(20, 3, 5), 7, 0, 0},
      {Line(3, 1, 1), 0, 0, 0},
      {Line(2, 5, 1), 7, 2, 0},
      {Line(1, kMax, 1), kMax, 1, 0},
      {Line(2, 1, kMax), kMax, 0, 0},
      {Line(3, 1, 1, kSame), 7, 7, 1},
      {Line(3, 2, 1, kSame), 7, 4, 1},
      {Line(3, 2, 1, kSame), 8, 4, 0},  // one zero, after
      {Line(4, 1, 1, kSame), 7, 7, 1},  // one before, two after
      {Line(3, 1, 2, kSame), 7, 7, 2},
      {Line(2, 5, 1, kSame), 7, 2, 0},
      {Line(1, 3, 1, kSame), 7, 3, 0},
      {Line(9, 1, 1, kSame), 1, 1, 4},
      {Line(3, 1, 1, kSame), 0, 0, 1},
      {Line(2, 1, kMax, kSame), kMax, kMax, kMax / 2},
      {Line(3, 1, 1, kExplicit, {1, 1}), 7, 7, 1},
      {Line(3, 2, 1, kExplicit, {2, 0}), 7, 4, 2},  // causal
      {Line(3, 2, 2, kExplicit, {0, 4}), 7, 4, 0},
      {Line(3, 1, 1, kExplicit, {-2, -1}), 7, 2, -2},
      {Line(3, 1, 1, kExplicit, {-kMax, 0}), 7, 0, -kMax},
      {Line(3, 1, 1, kExplicit, {2, 0}), 0, 0, 2},
      {Line(3, 1, 1, kExplicit, {2, 1}), 0, 1, 2},
      {Line(1, 3, 1, kExplicit, {kMax, kMax}), kMax, kMax, kMax},
  };
  int row = 0;
  for (const Sizes& sizes : cases) {
    ASSERT_EQ(CheckConvAttributes(sizes.attributes), "") << row;
    int64_t coarse = -1;
    ASSERT_EQ(DeriveCoarseSize(sizes.attributes, 0, sizes.fine, &coarse), "")
        << row;
    EXPECT_EQ(coarse, sizes.coarse) << row;
    ConvGeometry geometry;
    ASSERT_EQ(MakeConvGeometry(sizes.attributes, 1, {sizes.fine}, {coarse},
                               &geometry),
              "")
        << row;
    EXPECT_EQ(geometry.padding[2], sizes.padding) << row;
    ++row;
  }
}

// By the definition: o is a coarse pixel if all its taps are fine ones.
TEST(ConvGeometryTest, ValidKeepsEveryTapInside) {
  for (int64_t fine = 0; fine < 12; ++fine) {
    for (int64_t kernel = 1; kernel < 5; ++kernel) {
      for (int64_t stride = 1; stride < 4; ++stride) {
        for (int64_t dilation = 1; dilation < 4; ++dilation) {
          int64_t expected = 0;
          while (expected * stride + (kernel - 1) * dilation < fine) ++expected;
          int64_t coarse = -1;
          ASSERT_EQ(DeriveCoarseSize(Line(kernel, stride, dilation), 0, fine,
                                     &coarse),
                    "");
          EXPECT_EQ(coarse, expected);
        }
      }
    }
  }
}

TEST(ConvGeometryTest, PutsFewerDimensionsBehindOnes) {
  const ConvAttributes attributes{
      {3, 5}, {1, 2}, {2, 1}, kExplicit, {4, 0, 1, 2}};
  ConvGeometry geometry;
  ASSERT_EQ(MakeConvGeometry(attributes, 6, {7, 8}, {9, 10}, &geometry), "");
  EXPECT_EQ(geometry.batch, 6);
  EXPECT_EQ(geometry.taps(), 15);
  EXPECT_EQ(geometry.fine_pixels(), 56);
  EXPECT_EQ(geometry.coarse_pixels(), 90);
  const ConvGeometry expected{6,         {1, 7, 8}, {1, 9, 10}, {1, 3, 5},
                              {1, 1, 2}, {1, 2, 1}, {0, 4, 1}};
  for (int i = 0; i < kSpatial; ++i) {
    EXPECT_EQ(geometry.fine[i], expected.fine[i]);
    EXPECT_EQ(geometry.coarse[i], expected.coarse[i]);
    EXPECT_EQ(geometry.kernel[i], expected.kernel[i]);
    EXPECT_EQ(geometry.strides[i], expected.strides[i]);
    EXPECT_EQ(geometry.dilations[i], expected.dilations[i]);
    EXPECT_EQ(geometry.padding[i], expected.padding[i]);
  }
}

TEST(ConvGeometryTest, RefusesSizesOutOfRange) {
  const ConvAttributes line = Line(3, 1, 1);
  const ConvAttributes square{{3, 3}, {1, 1}, {1, 1}, kValid, {}};
  int64_t coarse;
  for (const int64_t fine : {int64_t{-1}, kMax + 1, INT64_MAX, INT64_MIN}) {
    EXPECT_TRUE(
        Has(DeriveCoarseSize(line, 0, fine, &coarse), "the fine side has"));
  }
  EXPECT_TRUE(Has(DeriveCoarseSize(Line(1, 1, 1, kExplicit, {kMax, kMax}), 0,
                                   kMax, &coarse),
                  "the coarse side has"));
  ConvGeometry geometry;
  const auto make = [&](const ConvAttributes& attributes, int64_t batch,
                        const std::vector<int64_t>& fine,
                        const std::vector<int64_t>& coarse) {
    return MakeConvGeometry(attributes, batch, fine, coarse, &geometry);
  };
  EXPECT_EQ(make(square, 0, {0, 0}, {0, 0}), "");
  EXPECT_EQ(make(square, 1, {65536, 65535}, {kMax, 2}), "");
  EXPECT_TRUE(Has(make(line, -1, {3}, {1}), "a batch of -1"));
  EXPECT_TRUE(Has(make(line, kMax + 1, {3}, {1}), "a batch of 2147483648"));
  EXPECT_TRUE(Has(make(line, 1, {-3}, {1}), "spatial sizes [-3]"));
  EXPECT_TRUE(Has(make(line, 1, {3}, {INT64_MAX}), "the coarse side"));
  EXPECT_TRUE(Has(make(square, 1, {65536, 65536}, {1, 1}), "pixels"));
  // No pixels, but the step from one image to the next is huge.
  EXPECT_TRUE(Has(make(square, 0, {kMax, kMax}, {1, 1}), "pixels"));
  EXPECT_TRUE(Has(make(square, kMax, {1, 0}, {kMax, 0}), "pixels"));
  EXPECT_TRUE(Has(make(Line(1, kMax, 1, kSame), 1, {3}, {kMax}),
                  "sizes that belong to each other"));
}

TEST(ParseConvLayoutTest, CountsTapsAsRows) {
  // 3 blocks of inputs, the last of which has 1 row, times 4 taps.
  const PackedLayout packed(LayoutKinds()[6], 3 * 4 * 4, 10, 4, 5);
  const auto parse = [&](int64_t inputs, int64_t taps, int64_t block_inputs,
                         Layout* layout) {
    return ParseConvLayout(packed.packed().data(), packed.packed().size(),
                           inputs, 10, taps, block_inputs, 5, -1, layout);
  };
  Layout layout;
  ASSERT_EQ(parse(9, 4, 4, &layout), "");
  EXPECT_EQ(layout.inputs, 48);
  EXPECT_EQ(layout.transposed.targets, 12);
  EXPECT_EQ(ValidateViews(layout), "");
  ASSERT_EQ(parse(48, 1, 4, &layout), "");
  EXPECT_EQ(layout.inputs, 48);
  EXPECT_TRUE(Has(parse(9, 65536, 4, &layout), "blocks for 65536 taps"));
  EXPECT_TRUE(Has(parse(kMax, 65536, 256, &layout), "blocks for 65536 taps"));
  EXPECT_TRUE(
      Has(parse(INT64_MAX, 4, 4, &layout), "inputs and outputs are 92"));
  EXPECT_TRUE(Has(parse(9, 4, 0, &layout), "block size is (0, 5)"));
  EXPECT_TRUE(Has(parse(9, 4, INT64_MIN, &layout), "block size is (-92"));
}

}  // namespace
}  // namespace blocksparse
