// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/layout/layout.h"

#include <gtest/gtest.h>

#include "cc/layout/partition.h"
#include "cc/testing/packed_layout.h"

namespace blocksparse {
namespace {

const LayoutKind& Kind(const std::string& name) {
  for (const LayoutKind& kind : LayoutKinds()) {
    if (kind.name == name) return kind;
  }
  throw std::invalid_argument(name);
}

TEST(ParseLayoutTest, FindsThePartsOfBothViews) {
  // Blocks (0, 0), (2, 0), (1, 1) of a 3 x 2 grid.
  const int32_t packed[] = {0, 2, 3, 0, 2, 1, 0, 1, 2, 3, 0, 1, 0, 0, 2, 1};
  Layout layout;
  ASSERT_EQ(ParseLayout(packed, 16, 11, 8, 4, 4, -1, &layout), "");
  EXPECT_EQ(layout.nnz, 3);
  EXPECT_EQ(layout.forward.targets, 2);
  EXPECT_EQ(layout.transposed.targets, 3);
  EXPECT_EQ(layout.forward.index[1], 2);
  EXPECT_EQ(layout.transposed.index[1], 1);
  EXPECT_EQ(BlockId(layout.transposed, 1), 2);
  EXPECT_EQ(BlockId(layout.forward, 1), 1);
  EXPECT_EQ(ValidateViews(layout), "");
}

struct BadSize {
  int64_t length, inputs, outputs, block_inputs, block_outputs, nnz;
  const char* message;
};

TEST(ParseLayoutTest, RefusesSizesThatDoNotFit) {
  const BadSize sizes[] = {
      {16, 0, 8, 4, 4, 3, "inputs and outputs are 0 and 8"},
      {16, 12, -1, 4, 4, 3, "expected 1 to"},
      {16, int64_t{1} << 32, 8, 4, 4, 3, "expected 1 to"},
      {16, 12, 8, 0, 4, 3, "block size is (0, 4)"},
      {16, 12, 8, 4, 257, 3, "expected 1 to 256"},
      {15, 12, 8, 4, 4, -1, "layout has 15 numbers, expected 7 + 3 nnz"},
      {0, 12, 8, 4, 4, -1, "layout has 0 numbers"},
      {16, 12, 8, 4, 4, 4, "expected 19 for 4 blocks"},
      {16, 12, 8, 8, 4, 3, "expected 15 for 3 blocks"},
  };
  const int32_t packed[16] = {};
  for (const BadSize& size : sizes) {
    Layout layout;
    EXPECT_NE(
        ParseLayout(packed, size.length, size.inputs, size.outputs,
                    size.block_inputs, size.block_outputs, size.nnz, &layout)
            .find(size.message),
        std::string::npos)
        << size.message;
  }
}

TEST(ValidateViewsTest, AcceptsAllKinds) {
  for (const LayoutKind& kind : LayoutKinds()) {
    const PackedLayout packed(kind, 39, 28, 4, 8);
    EXPECT_EQ(ValidateViews(packed.layout()), "") << kind.name;
  }
}

// Whatever single number of a layout is changed, and to whatever: it is found.
TEST(ValidateViewsTest, FindsEveryWrongNumber) {
  const PackedLayout good(Kind("random"), 40, 48, 4, 8);
  for (size_t i = 0; i < good.packed().size(); ++i) {
    for (const int32_t delta : {-1000000, -1, 1, 1000000}) {
      std::vector<int32_t> packed = good.packed();
      packed[i] += delta;
      Layout layout;
      ASSERT_EQ(
          ParseLayout(packed.data(), packed.size(), 40, 48, 4, 8, -1, &layout),
          "");
      EXPECT_NE(ValidateViews(layout), "") << i << " " << delta;
    }
  }
}

TEST(PartBeginTest, CutsIntoEqualWork) {
  for (const LayoutKind& kind : LayoutKinds()) {
    const PackedLayout packed(kind, 400, 480, 4, 4);
    const LayoutView view = packed.layout().forward;
    for (const int64_t parts : {1, 2, 3, 7, 16, 500}) {
      EXPECT_EQ(PartBegin(view, 0, parts), 0);
      EXPECT_EQ(PartBegin(view, parts, parts), view.targets);
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t begin = PartBegin(view, part, parts);
        const int64_t end = PartBegin(view, part + 1, parts);
        ASSERT_LE(begin, end);
        // A target cannot be cut: one more than the share, at most.
        const int64_t work =
            view.splits[end] - view.splits[begin] + end - begin;
        const int64_t share = (view.nnz + view.targets) / parts + 1;
        EXPECT_LE(work, share + view.sources + 1) << kind.name;
      }
    }
  }
}

}  // namespace
}  // namespace blocksparse
