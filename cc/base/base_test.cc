// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "cc/base/convert.h"
#include "cc/base/isa.h"
#include "cc/base/parallel_for.h"

namespace blocksparse {
namespace {

TEST(ConvertTest, EveryFloat16SurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half{static_cast<uint16_t>(bits)};
    const float wide = Widen(half);
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(wide), fraction != 0);
      EXPECT_EQ(std::isinf(wide), fraction == 0);
    } else {
      const double magnitude = exponent == 0
                                   ? std::ldexp(fraction, -24)
                                   : std::ldexp(1024 + fraction, exponent - 25);
      EXPECT_EQ(wide, (bits & 0x8000) ? -magnitude : magnitude);
    }
    Float16 back;
    Narrow(wide, &back);
    if (std::isnan(wide)) continue;
    EXPECT_EQ(back.bits, bits);
  }
}

TEST(ConvertTest, RoundsToNearestEven) {
  // Halfway between two neighbours, and a little to either side of it.
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = Widen(Float16{static_cast<uint16_t>(bits)});
    const float high = Widen(Float16{static_cast<uint16_t>(bits + 1)});
    const float middle = low + (high - low) / 2;
    Float16 got;
    Narrow(middle, &got);
    EXPECT_EQ(got.bits, bits + (bits & 1));
    Narrow(std::nextafter(middle, 0.0f), &got);
    EXPECT_EQ(got.bits, bits);
    Narrow(std::nextafter(middle, 1e9f), &got);
    EXPECT_EQ(got.bits, bits + 1);
  }
  for (uint32_t bits = 0x100; bits < 0x7f7f; ++bits) {
    const float middle = BitsToFloat((bits << 16) + 0x8000);
    BFloat16 got;
    Narrow(middle, &got);
    EXPECT_EQ(got.bits, bits + (bits & 1));
    Narrow(BitsToFloat((bits << 16) + 0x7fff), &got);
    EXPECT_EQ(got.bits, bits);
    Narrow(BitsToFloat((bits << 16) + 0x8001), &got);
    EXPECT_EQ(got.bits, bits + 1);
  }
}

TEST(ConvertTest, KeepsWhatIsNoNumber) {
  for (const float value : {NAN, -NAN, INFINITY, -INFINITY, 1e38f, -1e38f}) {
    Float16 half;
    Narrow(value, &half);
    BFloat16 brain;
    Narrow(value, &brain);
    EXPECT_EQ(std::isnan(Widen(half)), std::isnan(value));
    EXPECT_EQ(std::isnan(Widen(brain)), std::isnan(value));
    if (std::isnan(value)) continue;
    EXPECT_EQ(Widen(half), std::copysign(INFINITY, value));
    EXPECT_EQ(std::signbit(Widen(brain)), std::signbit(value));
  }
}

TEST(IsaTest, IsLoweredByTheEnvironment) {
  std::string error;
  Isa isa;
  for (const Isa known : kIsas) {
    const char* const name = NameOf(known);
    setenv("TF_BLOCKSPARSE_MAX_ISA", name, 1);
    Isa limit;
    ASSERT_TRUE(ParseIsa(name, &limit));
    EXPECT_EQ(limit, known);
    ASSERT_TRUE(MaxIsa(&isa, &error));
    EXPECT_EQ(isa, std::min(limit, DetectIsa()));
  }
  setenv("TF_BLOCKSPARSE_MAX_ISA", "sse9", 1);
  EXPECT_FALSE(MaxIsa(&isa, &error));
  EXPECT_NE(error.find("\"sse9\", expected one of portable"),
            std::string::npos);
  EXPECT_NE(error.find("; set it to one of them or unset it"),
            std::string::npos);
  unsetenv("TF_BLOCKSPARSE_MAX_ISA");
  ASSERT_TRUE(MaxIsa(&isa, &error));
  EXPECT_EQ(isa, DetectIsa());
}

// A pool like TensorFlow's: few threads, closures in order.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
  }
  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void Schedule(std::function<void()> closure) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(closure));
    }
    changed_.notify_one();
  }

 private:
  void Loop() {
    while (true) {
      std::function<void()> closure;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (queue_.empty()) return;
        closure = std::move(queue_.front());
        queue_.erase(queue_.begin());
      }
      closure();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> queue_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

TEST(ParallelForTest, RunsEveryTaskOnceAndNoWorkerTwice) {
  Pool pool(3);
  for (const int threads : {1, 2, 3, 7}) {
    for (const int64_t tasks : {0, 1, 2, 5, 64, 1000}) {
      Executor executor;
      executor.threads = threads;
      executor.schedule = [&](std::function<void()> closure) {
        pool.Schedule(std::move(closure));
      };
      std::vector<std::atomic<int>> runs(tasks);
      std::vector<std::atomic<int>> busy(threads);
      std::atomic<bool> overlap{false};
      ParallelFor(executor, tasks, [&](int64_t task, int worker) {
        if (busy[worker].fetch_add(1) != 0) overlap = true;
        runs[task].fetch_add(1);
        busy[worker].fetch_sub(1);
      });
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
      EXPECT_FALSE(overlap);
    }
  }
}

TEST(ParallelForTest, EndsOnAPoolWhoseThreadsAllCallIt) {
  std::atomic<int64_t> done{0};
  {
    Pool pool(2);
    Executor executor;
    executor.threads = 4;
    executor.schedule = [&](std::function<void()> closure) {
      pool.Schedule(std::move(closure));
    };
    // More callers than threads: each waits for tasks that only itself, or a
    // closure behind the other callers, can run.
    for (int caller = 0; caller < 8; ++caller) {
      pool.Schedule([&, executor] {
        ParallelFor(executor, 100, [&](int64_t, int) { done.fetch_add(1); });
      });
    }
  }
  EXPECT_EQ(done.load(), 800);
}

TEST(ParallelForTest, ThrowsInTheCallerWhatATaskThrows) {
  Pool pool(3);
  for (const int threads : {1, 2, 7}) {
    Executor executor;
    executor.threads = threads;
    executor.schedule = [&](std::function<void()> closure) {
      pool.Schedule(std::move(closure));
    };
    for (const int64_t culprit : {0, 50, 99}) {
      const auto body = [&](int64_t task, int) {
        if (task == culprit) throw std::bad_alloc();
      };
      EXPECT_THROW(ParallelFor(executor, 100, body), std::bad_alloc);
    }
  }
}

TEST(ParallelForTest, DoesAllInTheCallerIfNothingCanBeScheduled) {
  Executor executor;
  executor.threads = 3;
  executor.schedule = [](const std::function<void()>&) {
    throw std::bad_alloc();
  };
  std::vector<int> runs(100);
  ParallelFor(executor, 100, [&](int64_t task, int) { ++runs[task]; });
  EXPECT_EQ(runs, std::vector<int>(100, 1));
}

}  // namespace
}  // namespace blocksparse
