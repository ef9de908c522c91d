// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Every lane and register of the layouts against the figures of the PTX ISA.
#include "cc/testing/cuda_fragments.h"

#include <gtest/gtest.h>

namespace blocksparse {
namespace emulator {
namespace {

// A row of one of the figures of the PTX ISA ("MMA .m16n8k16 fragment layout
// for matrix A" and so on): the lane of the row's first element, and the
// fragment's first element there, in the left and in the right half.
struct FigureRow {
  int lane;
  int left;
  int right;
};

constexpr FigureRow kLeftOf16[16] = {
    {0, 0, 4},  {4, 0, 4},  {8, 0, 4},  {12, 0, 4}, {16, 0, 4}, {20, 0, 4},
    {24, 0, 4}, {28, 0, 4}, {0, 2, 6},  {4, 2, 6},  {8, 2, 6},  {12, 2, 6},
    {16, 2, 6}, {20, 2, 6}, {24, 2, 6}, {28, 2, 6}};

TEST(FragmentsTest, LeftOf16IsAsInTheFigure) {
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      const FigureRow& figure = kLeftOf16[row];
      const int lane = figure.lane + column % 8 / 2;
      const int i = (column < 8 ? figure.left : figure.right) + column % 2;
      const Place place = LeftOf16(lane, i);
      EXPECT_EQ(place.row, row) << lane << " " << i;
      EXPECT_EQ(place.column, column) << lane << " " << i;
    }
  }
}

// Lanes down the first column of the figure for matrix B; the next column
// begins 4 lanes further.
TEST(FragmentsTest, RightOf16IsAsInTheFigure) {
  constexpr int kLanes[16] = {0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3};
  constexpr int kElements[16] = {0, 1, 0, 1, 0, 1, 0, 1,
                                 2, 3, 2, 3, 2, 3, 2, 3};
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const Place place = RightOf16(kLanes[row] + 4 * column, kElements[row]);
      EXPECT_EQ(place.row, row);
      EXPECT_EQ(place.column, column);
    }
  }
}

TEST(FragmentsTest, LeftOfTf32IsAsInTheFigure) {
  constexpr int kFirstLane[16] = {0, 4, 8, 12, 16, 20, 24, 28,
                                  0, 4, 8, 12, 16, 20, 24, 28};
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const int i = (row < 8 ? 0 : 1) + (column < 4 ? 0 : 2);
      const Place place = LeftOfTf32(kFirstLane[row] + column % 4, i);
      EXPECT_EQ(place.row, row);
      EXPECT_EQ(place.column, column);
    }
  }
}

TEST(FragmentsTest, RightOfTf32IsAsInTheFigure) {
  constexpr int kLanes[8] = {0, 1, 2, 3, 0, 1, 2, 3};
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      const Place place =
          RightOfTf32(kLanes[row] + 4 * column, row < 4 ? 0 : 1);
      EXPECT_EQ(place.row, row);
      EXPECT_EQ(place.column, column);
    }
  }
}

TEST(FragmentsTest, SumsAreAsInTheFigure) {
  constexpr int kFirstLane[16] = {0, 4, 8, 12, 16, 20, 24, 28,
                                  0, 4, 8, 12, 16, 20, 24, 28};
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      const int i = (row < 8 ? 0 : 2) + column % 2;
      const Place place = SumOf(kFirstLane[row] + column / 2, i);
      EXPECT_EQ(place.row, row);
      EXPECT_EQ(place.column, column);
    }
  }
}

// The figure of wgmma's matrix D: warp w has rows 16 w to 16 w + 15, of which
// these are the lanes of the first two columns; d4 is 8 columns from d0.
TEST(FragmentsTest, SumsOfAGroupAreAsInTheFigure) {
  constexpr int kFirstLane[16] = {0, 4, 8, 12, 16, 20, 24, 28,
                                  0, 4, 8, 12, 16, 20, 24, 28};
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 256; ++column) {
      const int i = column / 8 * 4 + (row < 8 ? 0 : 2) + column % 2;
      const Place place = GroupSumOf(kFirstLane[row] + column % 8 / 2, i);
      EXPECT_EQ(place.row, row);
      EXPECT_EQ(place.column, column);
    }
  }
}

TEST(FragmentsTest, LanesLoadRowsOfMatrices) {
  // Lanes of the figure of ldmatrix: four to a row, two elements to a lane.
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 2; ++i) {
      const Place place = LoadedBy(lane, i, false);
      EXPECT_EQ(place.row * 8 + place.column, 2 * lane + i);
      const Place transposed = LoadedBy(lane, i, true);
      EXPECT_EQ(transposed.row, place.column);
      EXPECT_EQ(transposed.column, place.row);
    }
  }
}

}  // namespace
}  // namespace emulator
}  // namespace blocksparse
