// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/clock.h"

#include <algorithm>
#include <vector>

namespace blocksparse {
namespace cuda {
namespace {

// Samples end after so long, or when there are so many.
constexpr double kSeconds = 30e-3;
constexpr size_t kMostSamples = 25;
// No cache holds so much, and copying it takes longer than starting to.
constexpr int64_t kLeastBytes = int64_t{256} << 20;

}  // namespace

Clock::Clock(const DeviceFacts& facts, int samples)
    : other_(std::min(std::max(4 * facts.cache_bytes, kLeastBytes),
                      facts.memory_bytes / 8)),
      samples_(samples) {}

Timed Clock::Time(const std::function<void()>& run) {
  for (int i = 0; i < 2; ++i) run();
  Wait();
  std::vector<double> seconds;
  double sum = 0;
  while (static_cast<int>(seconds.size()) < samples_ ||
         (sum < kSeconds && seconds.size() < kMostSamples)) {
    // While it is written the host puts the rest on the stream, without gaps.
    FillBytes(other_.data(), 0, other_.bytes());
    stopwatch_.Start();
    run();
    stopwatch_.Stop();
    seconds.push_back(stopwatch_.Seconds());
    sum += seconds.back();
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds[0],
          static_cast<int>(seconds.size())};
}

double Clock::CopyBandwidth() {
  const size_t half = other_.bytes() / 2;
  const DeviceMemory to(half);
  const Timed timed = Time([&] { CopyWithin(to.data(), other_.data(), half); });
  return 2.0 * half / timed.median;
}

}  // namespace cuda
}  // namespace blocksparse
