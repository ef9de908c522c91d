// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/sampled_parts.h"

#include <atomic>
#include <vector>

#include "cc/testing/threads.h"
#include "gtest/gtest.h"

namespace blocksparse {
namespace {

TEST(SampledPartsForTest, CountsByPassesRowsAndMemory) {
  struct {
    int64_t passes;
    int64_t rows;
    size_t bytes;
    int64_t parts;
  } const cases[] = {
      {0, 0, 100, 1},          {1, 100000, 100, 1},     {4, 700, 100, 1},
      {4, 800, 100, 2},        {4, 100000, 100, 4},     {7, 100000, 100, 4},
      {1000, 100000, 100, 16}, {8, 100000, 4 << 20, 2}, {8, 100000, 1 << 30, 1},
      {8, 100000, 0, 8},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(SampledPartsFor(c.passes, c.rows, c.bytes), c.parts)
        << c.passes << " passes, " << c.rows << " rows, " << c.bytes
        << " bytes";
  }
}

TEST(RunPassesTest, RunsEachPassOnceInTheOrderOfItsPart) {
  for (const int threads : {1, 2, 3, 5}) {
    for (const int64_t parts : {1, 2, 4}) {
      constexpr int64_t kPasses = 7;
      std::vector<std::vector<int64_t>> seen(parts);
      std::vector<std::atomic<int>> busy(threads);
      std::atomic<bool> right{true};
      RunPasses(Threads(threads), kPasses, parts, [&](const SampledPass& pass) {
        const int last = pass.worker + pass.executor.threads;
        right =
            right && last <= threads && pass.first == seen[pass.part].empty();
        for (int w = pass.worker; w < last; ++w)
          right = right && ++busy[w] == 1;
        seen[pass.part].push_back(pass.pass);
        for (int w = pass.worker; w < last; ++w) --busy[w];
      });
      EXPECT_TRUE(right) << threads << " threads, " << parts << " parts";
      int64_t next = 0;
      for (const auto& passes : seen) {
        for (const int64_t pass : passes) EXPECT_EQ(pass, next++);
      }
      EXPECT_EQ(next, kPasses);
    }
  }
}

}  // namespace
}  // namespace blocksparse
