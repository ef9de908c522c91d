// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The emulator does what the PTX ISA says, and finds what it says it finds.
#include "cc/testing/cuda_emulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cc/testing/cuda_fragments.h"

namespace blocksparse {
namespace emulator {
namespace {

constexpr Order kOrders[] = {Order::kTogether, Order::kAhead};

std::string RunIn(Order order, int threads, size_t shared_bytes,
                  const std::function<void()>& body) {
  Use({order, ""});
  return Emulate(1, threads, shared_bytes, body);
}

// Four matrices of which every element is its number, loaded by a warp.
template <int kCount, bool kTransposed>
void ExpectLoads() {
  uint32_t loaded[32][kCount];
  const auto body = [&] {
    auto* numbers = reinterpret_cast<uint16_t*>(cuda::SharedMemory());
    const int lane = cuda::ThreadIndex();
    for (int i = 0; i < 8; ++i) numbers[lane * 8 + i] = lane * 8 + i;
    cuda::SyncWarp();
    cuda::LoadMatrices<kCount, kTransposed>(numbers + lane * 8, loaded[lane]);
  };
  for (const Order order : kOrders) {
    ASSERT_EQ(RunIn(order, 32, 512, body), "");
    for (int lane = 0; lane < 32; ++lane) {
      for (int m = 0; m < kCount; ++m) {
        const int first = kTransposed ? lane % 4 * 16 + lane / 4 : lane * 2;
        const int second = first + (kTransposed ? 8 : 1);
        EXPECT_EQ(loaded[lane][m] & 0xffff, m * 64u + first);
        EXPECT_EQ(loaded[lane][m] >> 16, m * 64u + second);
      }
    }
  }
}

TEST(LoadMatricesTest, LoadsOneTwoAndFour) {
  ExpectLoads<1, false>();
  ExpectLoads<2, false>();
  ExpectLoads<4, false>();
  ExpectLoads<1, true>();
  ExpectLoads<2, true>();
  ExpectLoads<4, true>();
}

uint32_t Bits(float value, Float16) {
  Float16 result;
  Narrow(value, &result);
  return result.bits;
}
uint32_t Bits(float value, BFloat16) {
  BFloat16 result;
  Narrow(value, &result);
  return result.bits;
}

// Every product of an element of the left with one of the right matrix, alone.
template <typename T>
void ExpectMultiplies16() {
  for (int depth = 0; depth < 16; ++depth) {
    float sums[32][4];
    const auto body = [&] {
      const int lane = cuda::ThreadIndex();
      uint32_t left[4] = {}, right[2] = {};
      for (int i = 0; i < 8; ++i) {
        const Place place = LeftOf16(lane, i);
        const float value = place.column == depth ? place.row + 1 : 0;
        left[i / 2] |= Bits(value, T()) << (i % 2 * 16);
      }
      for (int i = 0; i < 4; ++i) {
        const Place place = RightOf16(lane, i);
        const float value = place.row == depth ? place.column - 3 : 0;
        right[i / 2] |= Bits(value, T()) << (i % 2 * 16);
      }
      for (float& sum : sums[lane]) sum = 0.5f;
      cuda::MultiplyAdd<T>(left, right, sums[lane]);
    };
    ASSERT_EQ(RunIn(Order::kTogether, 32, 0, body), "");
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const Place place = SumOf(lane, i);
        EXPECT_EQ(sums[lane][i], 0.5f + (place.row + 1) * (place.column - 3));
      }
    }
  }
}

TEST(MultiplyAddTest, MultipliesFloat16) { ExpectMultiplies16<Float16>(); }

TEST(MultiplyAddTest, MultipliesBFloat16) { ExpectMultiplies16<BFloat16>(); }

TEST(MultiplyAddTest, MultipliesTf32) {
  float sums[32][4];
  const auto body = [&] {
    const int lane = cuda::ThreadIndex();
    uint32_t left[4], right[2];
    for (int i = 0; i < 4; ++i) {
      const Place place = LeftOfTf32(lane, i);
      left[i] = cuda::ToTf32(place.row - 2.0f * place.column);
    }
    for (int i = 0; i < 2; ++i) {
      const Place place = RightOfTf32(lane, i);
      right[i] = cuda::ToTf32(3.0f * place.row + place.column);
    }
    for (float& sum : sums[lane]) sum = 1;
    cuda::MultiplyAdd<cuda::Tf32>(left, right, sums[lane]);
  };
  ASSERT_EQ(RunIn(Order::kAhead, 32, 0, body), "");
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const Place place = SumOf(lane, i);
      float expected = 1;
      for (int d = 0; d < 8; ++d) {
        expected += (place.row - 2.0f * d) * (3.0f * d + place.column);
      }
      EXPECT_EQ(sums[lane][i], expected);
    }
  }
}

TEST(ToTf32Test, RoundsToTenBits) {
  EXPECT_EQ(BitsToFloat(cuda::ToTf32(1 + std::ldexp(1.0f, -11))),
            1 + std::ldexp(1.0f, -10));
  EXPECT_EQ(BitsToFloat(cuda::ToTf32(1 + std::ldexp(1.0f, -12))), 1.0f);
  EXPECT_TRUE(std::isinf(BitsToFloat(cuda::ToTf32(INFINITY))));
}

TEST(ShuffleTest, ExchangesLanes) {
  float got[64];
  const auto body = [&] {
    const int thread = cuda::ThreadIndex();
    got[thread] = cuda::ShuffleXor(static_cast<float>(thread), 5);
  };
  for (const Order order : kOrders) {
    ASSERT_EQ(RunIn(order, 64, 0, body), "");
    for (int thread = 0; thread < 64; ++thread) {
      EXPECT_EQ(got[thread], thread ^ 5);
    }
  }
}

TEST(CopyTest, ArrivesAtTheWaitForItsGroup) {
  alignas(16) const float source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float first = 0, second = 0, third = 0, zero = 1;
  const auto body = [&] {
    auto* shared = reinterpret_cast<float*>(cuda::SharedMemory());
    const bool reads = cuda::ThreadIndex() == 0;
    if (reads) cuda::CopyAsync16(shared, source, true);
    cuda::CommitCopies();
    if (reads) {
      cuda::CopyAsync16(shared + 4, source + 4, true);
      cuda::CopyAsync16(shared + 8, source, false);
    }
    cuda::CommitCopies();
    if (reads) first = shared[1];
    cuda::WaitCopies<1>();
    if (reads) {
      second = shared[1];
      third = shared[4];
    }
    cuda::WaitCopies<0>();
    if (reads) {
      third += shared[5];
      zero = shared[11];
    }
  };
  ASSERT_EQ(RunIn(Order::kTogether, 32, 48, body), "");
  EXPECT_TRUE(std::isnan(first));
  EXPECT_EQ(second, 2);
  EXPECT_TRUE(std::isnan(third));
  EXPECT_EQ(zero, 0);
  ASSERT_EQ(RunIn(Order::kAhead, 32, 48, body), "");
  EXPECT_EQ(first, 2);
  EXPECT_EQ(third, 11);
}

// Sums up 8 numbers that the other warp has copied, with two buffers.
void DoubleBuffered(const float* source, float* sums) {
  auto* shared = reinterpret_cast<float*>(cuda::SharedMemory());
  const int thread = cuda::ThreadIndex();
  const int other = (thread + 32) % 64;
  cuda::CopyAsync16(shared + thread * 4, source + thread * 4, true);
  cuda::CommitCopies();
  float sum = 0;
  for (int step = 0; step < 8; ++step) {
    cuda::WaitCopies<0>();
    cuda::SyncThreads();
    if (step < 7) {
      cuda::CopyAsync16(shared + ((step + 1) % 2 * 64 + thread) * 4,
                        source + ((step + 1) * 64 + thread) * 4, true);
    }
    cuda::CommitCopies();
    sum += shared[(step % 2 * 64 + other) * 4];
  }
  sums[thread] = sum;
}

// Whether all is right in both orders.
bool IsRight(const std::string& removed) {
  alignas(16) float source[8 * 64 * 4];
  for (int i = 0; i < 8 * 64 * 4; ++i) source[i] = static_cast<float>(i / 4);
  for (const Order order : kOrders) {
    float sums[64];
    Use({order, removed});
    if (!Emulate(1, 64, 2 * 64 * 16, [&] {
           DoubleBuffered(source, sums);
         }).empty()) {
      return false;
    }
    for (int thread = 0; thread < 64; ++thread) {
      const int other = (thread + 32) % 64;
      if (sums[thread] != 8 * other + 64 * 28) return false;
    }
  }
  return true;
}

TEST(PlantedFaultTest, AMissingBarrierOrWaitIsFound) {
  ASSERT_TRUE(IsRight(""));
  const std::vector<std::string> sites = Sites();
  EXPECT_EQ(sites.size(), 2u);
  for (const std::string& site : sites) EXPECT_FALSE(IsRight(site)) << site;
}

TEST(DivergenceTest, IsAnError) {
  const std::function<void()> bodies[] = {
      [] {
        if (cuda::ThreadIndex() < 40) cuda::SyncThreads();
      },
      [] {
        if (cuda::ThreadIndex() % 32 < 31) cuda::SyncWarp();
      },
      [] {
        if (cuda::ThreadIndex() % 2 == 0) {
          cuda::SyncWarp();
        } else {
          cuda::ShuffleXor(0, 1);
        }
      },
      [] {
        if (cuda::ThreadIndex() == 0) {
          cuda::SyncThreads();
        } else {
          cuda::SyncWarp();
        }
      },
  };
  for (const Order order : kOrders) {
    for (const auto& body : bodies) {
      EXPECT_NE(RunIn(order, 64, 0, body).find("diverge"), std::string::npos);
    }
    // And nothing of it is left behind.
    EXPECT_EQ(RunIn(order, 64, 0, [] { cuda::SyncThreads(); }), "");
  }
}

TEST(AlignmentTest, IsChecked) {
  alignas(16) const float source[8] = {};
  const std::function<void()> bodies[] = {
      [&] { cuda::CopyAsync16(cuda::SharedMemory(), source + 1, true); },
      [&] { cuda::CopyAsync16(cuda::SharedMemory() + 4, source, true); },
      [&] {
        uint32_t fragments[1];
        cuda::LoadMatrices<1, false>(cuda::SharedMemory() + 8, fragments);
      },
      [&] {
        float vector[4];
        cuda::LoadVector(source + 2, vector);
      },
  };
  for (const auto& body : bodies) {
    EXPECT_NE(RunIn(Order::kTogether, 32, 512, body).find("not aligned"),
              std::string::npos);
  }
}

TEST(SharedMemoryDeathTest, EndsAtItsEnd) {
  const auto body = [] {
    volatile unsigned char* shared = cuda::SharedMemory();
    shared[512 + cuda::ThreadIndex()] = 1;
  };
  EXPECT_DEATH(RunIn(Order::kTogether, 32, 512, body), "");
}

TEST(EmulateTest, RefusesWhatCannotBeLaunched) {
  const auto body = [] {};
  EXPECT_NE(Emulate(0, 32, 0, body), "");
  EXPECT_NE(Emulate(1, 33, 0, body), "");
  EXPECT_NE(Emulate(1, 2048, 0, body), "");
}

}  // namespace
}  // namespace emulator
}  // namespace blocksparse
