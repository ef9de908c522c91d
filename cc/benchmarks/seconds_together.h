// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Times threads that do the same at the same time.
#ifndef TF_BLOCKSPARSE_CC_BENCHMARKS_SECONDS_TOGETHER_H_
#define TF_BLOCKSPARSE_CC_BENCHMARKS_SECONDS_TOGETHER_H_

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace blocksparse {

// Seconds until body(index) has returned for each index in [0, threads), each
// on a thread of its own, 0 on the caller's. None starts before all are there.
template <typename Body>
double SecondsTogether(int threads, const Body& body) {
  std::atomic<int> waiting{threads};
  const auto run = [&](int index) {
    --waiting;
    while (waiting > 0) {
    }
    body(index);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
  while (waiting > 1) {
  }
  const auto start = std::chrono::steady_clock::now();
  run(0);
  for (std::thread& thread : others) thread.join();
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  return seconds.count();
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BENCHMARKS_SECONDS_TOGETHER_H_
