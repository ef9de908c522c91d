// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The emulator's boxes, barriers and products of a warpgroup do what the PTX
// ISA says, and find what they say they find.
#include "cc/testing/cuda_hopper.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cc/testing/cuda_fragments.h"

namespace blocksparse {
namespace emulator {
namespace {

constexpr Order kOrders[] = {Order::kTogether, Order::kAhead};
// Of shared memory, by its address: 384 is the first byte.
constexpr uint32_t kBox = 1024, kOther = kBox + 8192, kBarrier = kOther + 8192;
constexpr size_t kSharedBytes = kBarrier + 16 - 384;

std::string RunIn(Order order, int threads, const std::function<void()>& body) {
  Use({order, ""});
  return Emulate(1, threads, kSharedBytes, body);
}

// Figure 157 of the PTX ISA, "K major 128B swizzling", in pieces of 16 bytes:
// which piece of its line is at each place of 8 lines.
constexpr int kSwizzle[8][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6},
    {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4},
    {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
    {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};

TEST(SwizzleTest, IsAsInTheFigure) {
  for (uint32_t line = 0; line < 16; ++line) {
    for (uint32_t place = 0; place < 8; ++place) {
      const uint32_t piece = kSwizzle[line % 8][place];
      EXPECT_EQ(SwizzledAddress(kBox + line * 128 + piece * 16 + 6),
                kBox + line * 128 + place * 16 + 6);
    }
  }
}

TEST(DescriptionTest, HasTheFieldsOfTheTable) {
  const MatrixDescription matrix =
      DescriptionOf(0x4006004000080123ull | uint64_t{5} << 49);
  EXPECT_EQ(matrix.address, 0x1230u);
  EXPECT_EQ(matrix.leading, 0x80u);
  EXPECT_EQ(matrix.stride, 0x400u);
  EXPECT_EQ(matrix.base_offset, 3 | 5);
  EXPECT_EQ(matrix.swizzle, 1);
}

// The canonical layouts without their swizzle, in elements, as the manual has
// them for other swizzles: K-major ((8,2),(4,4)):((8,64),(1,4)) and the like.
TEST(AddressTest, FollowsTheCanonicalLayouts) {
  const MatrixDescription matrix = {1024, 8192, 2048, 0, 1};
  const auto offset = [&](bool k_major, int side, int depth) {
    // The swizzle is its own inverse: it does not change bits 7 to 9.
    return static_cast<int>(
               SwizzledAddress(AddressOf(matrix, k_major, side, depth)) -
               1024) /
           2;
  };
  EXPECT_EQ(offset(true, 0, 1), 1);
  EXPECT_EQ(offset(true, 0, 8), 8);
  EXPECT_EQ(offset(true, 1, 0), 64);
  EXPECT_EQ(offset(true, 8, 0), 1024);  // the stride
  EXPECT_EQ(offset(false, 1, 0), 1);
  EXPECT_EQ(offset(false, 8, 0), 8);
  EXPECT_EQ(offset(false, 64, 0), 4096);  // the leading offset
  EXPECT_EQ(offset(false, 0, 1), 64);
  EXPECT_EQ(offset(false, 0, 8), 1024);
}

// 100 lines of 72 numbers, each its number.
struct Matrix {
  Matrix() : numbers(100 * 72 + 8) {
    auto address = reinterpret_cast<uintptr_t>(numbers.data());
    first = numbers.data() + (16 - address % 16) % 16 / 2;
    for (int i = 0; i < 100 * 72; ++i) first[i] = static_cast<uint16_t>(i + 1);
    map = {first, 100, 72};
  }
  std::vector<uint16_t> numbers;
  uint16_t* first;
  cuda::TensorMap map;
};

TEST(BoxTest, IsSwizzledAndZeroBeyondTheEdges) {
  const Matrix matrix;
  for (const Order order : kOrders) {
    std::vector<uint16_t> box(64 * 64);
    const std::string error = RunIn(order, 32, [&] {
      if (cuda::ThreadIndex() == 0) {
        cuda::InitBarrier(kBarrier, 1);
        cuda::ArriveExpecting(kBarrier, 8192);
        cuda::CopyBox(kBox, matrix.map, 24, 70, kBarrier);
      }
      cuda::SyncThreads();
      cuda::WaitBarrier(kBarrier, 0);
      std::memcpy(box.data(), SharedAt(kBox, 8192), 8192);
    });
    ASSERT_EQ(error, "");
    for (int line = 0; line < 64; ++line) {
      for (int i = 0; i < 64; ++i) {
        const int at = line * 64 + kSwizzle[line % 8][i / 8] * 8 + i % 8;
        const bool inside = 70 + line < 100 && 24 + i < 72;
        ASSERT_EQ(box[at], inside ? (70 + line) * 72 + 24 + i + 1 : 0);
      }
    }
  }
}

TEST(BoxTest, ArrivesWhenItIsWaitedForOrAtOnce) {
  const Matrix matrix;
  for (const Order order : kOrders) {
    uint16_t seen = 0;
    const std::string error = RunIn(order, 32, [&] {
      if (cuda::ThreadIndex() != 0) return;
      cuda::InitBarrier(kBarrier, 1);
      cuda::ArriveExpecting(kBarrier, 8192);
      cuda::CopyBox(kBox, matrix.map, 0, 0, kBarrier);
      std::memcpy(&seen, SharedAt(kBox, 2), 2);
    });
    ASSERT_EQ(error, "");
    EXPECT_EQ(seen, order == Order::kAhead ? 1 : 0xffff);
  }
}

TEST(BarrierTest, FindsWhatNeverEnds) {
  for (const Order order : kOrders) {
    EXPECT_NE(RunIn(order, 32, [] { cuda::WaitBarrier(kBarrier, 0); })
                  .find("not begun"),
              std::string::npos);
    for (const uint32_t bytes : {8191u, 8193u}) {
      const Matrix matrix;
      const std::string error = RunIn(order, 32, [&] {
        if (cuda::ThreadIndex() == 0) {
          cuda::InitBarrier(kBarrier, 1);
          cuda::ArriveExpecting(kBarrier, bytes);
          cuda::CopyBox(kBox, matrix.map, 0, 0, kBarrier);
        }
        cuda::SyncThreads();
        cuda::WaitBarrier(kBarrier, 0);
      });
      EXPECT_NE(error.find("32 for copies"), std::string::npos) << error;
    }
  }
}

TEST(BoxTest, FindsWhatIsMisalignedOrOutOfRange) {
  const Matrix matrix;
  const auto copy_to = [&](uint32_t shared) {
    return RunIn(Order::kAhead, 32, [&, shared] {
      cuda::InitBarrier(kBarrier, 1);
      cuda::CopyBox(shared, matrix.map, 0, 0, kBarrier);
    });
  };
  EXPECT_NE(copy_to(kBox + 512).find("not aligned"), std::string::npos);
  EXPECT_NE(copy_to(kBarrier + 1024).find("no shared memory"),
            std::string::npos);
  cuda::TensorMap map;
  struct {
    const void* base;
    int64_t lines;
    int64_t length;
  } view = {matrix.first + 1, 8, 8};
  EXPECT_NE(cuda::MakeTensorMap(view, &map), "");
  view = {matrix.first, 8, 12};
  EXPECT_NE(cuda::MakeTensorMap(view, &map), "");
  view = {matrix.first, 0, 8};
  EXPECT_NE(cuda::MakeTensorMap(view, &map), "");
}

// Element (i, d) of the left matrix at d == depth is i + 1, of the right one
// i - 3, all others are 0: in one box each, stored as a copy would.
template <bool kLeftAlong, bool kRightAlong>
void ExpectMultiplies(Order order, int depth, bool wait) {
  constexpr int kCount = 32;  // of 64 to the right
  float sums[128][kCount];
  const auto descriptor = [](uint32_t address) {
    return address >> 4 | uint64_t{8192 >> 4} << 16 | uint64_t{64} << 32 |
           uint64_t{1} << 62;
  };
  const std::string error = RunIn(order, 128, [&] {
    const int thread = cuda::ThreadIndex();
    if (thread == 0) std::memset(SharedAt(kBox, 16384), 0, 16384);
    cuda::SyncThreads();
    const int side = thread % 64;
    const bool left = thread < 64;
    const bool along = left ? kLeftAlong : kRightAlong;
    Float16 number;
    Narrow(left ? side + 1.0f : side - 3.0f, &number);
    const uint32_t at = along ? side * 128 + depth * 2 : depth * 128 + side * 2;
    std::memcpy(SharedAt(SwizzledAddress((left ? kBox : kOther) + at), 2),
                &number, 2);
    for (float& sum : sums[thread]) sum = 0.5f;
    cuda::SyncThreads();
    const auto at_depth = [&](uint32_t box, bool lines_along) {
      const int sixteen = depth / 16;
      return descriptor(box + sixteen * (lines_along ? 32 : 2048));
    };
    cuda::StartMultiply<Float16, kLeftAlong, kRightAlong>(
        at_depth(kBox, kLeftAlong), at_depth(kOther, kRightAlong),
        sums[thread]);
    cuda::CommitMultiplies();
    if (wait) cuda::WaitMultiplies<0>();
  });
  ASSERT_EQ(error, "");
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < kCount; ++i) {
      const Place place = GroupSumOf(thread % 32, i);
      const int row = thread / 32 * 16 + place.row;
      const bool made = wait || order == Order::kAhead;
      ASSERT_EQ(sums[thread][i],
                0.5f + (made ? (row + 1) * (place.column - 3) : 0));
    }
  }
}

TEST(StartMultiplyTest, MultipliesByAllAxesAtAllDepths) {
  for (const Order order : kOrders) {
    for (int depth = 0; depth < 64; ++depth) {
      ExpectMultiplies<true, true>(order, depth, true);
      ExpectMultiplies<true, false>(order, depth, true);
      ExpectMultiplies<false, true>(order, depth, true);
      ExpectMultiplies<false, false>(order, depth, true);
    }
    ExpectMultiplies<true, false>(order, 3, false);
  }
}

TEST(StartMultiplyTest, RefusesOtherDescriptors) {
  const auto multiply = [](uint64_t differing, uint64_t swizzle) {
    return RunIn(Order::kAhead, 32, [=] {
      float sums[32] = {};
      const uint64_t left =
          kBox >> 4 | swizzle << 62 | (cuda::ThreadIndex() == 5) * differing;
      cuda::StartMultiply<BFloat16, true, true>(
          left, kBox >> 4 | uint64_t{1} << 62, sums);
    });
  };
  EXPECT_EQ(multiply(0, 1), "");
  EXPECT_NE(multiply(1, 1).find("differ"), std::string::npos);
  EXPECT_NE(multiply(0, 2).find("swizzle"), std::string::npos);
}

}  // namespace
}  // namespace emulator
}  // namespace blocksparse
