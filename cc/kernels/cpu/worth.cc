// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/worth.h"

#include <algorithm>

namespace blocksparse {

int WorthwhileThreads(double multiply_adds, double elements, int threads) {
  // What a core of today does in a microsecond: multiply-adds in the caches,
  // and reads or writes of elements of memory.
  constexpr double kFmas = 50e3;
  constexpr double kElements = 5e3;
  const double microseconds = multiply_adds / kFmas + elements / kElements;
  // Waking a thread takes 15-17 us; below three times that the caller alone
  // is as quick, and leaves the thread to others.
  constexpr double kPerThread = 25;
  const double worthwhile = microseconds / kPerThread;
  return worthwhile < 2
             ? 1
             : static_cast<int>(std::min<double>(threads, worthwhile));
}

int WorthwhileThreads(const Layout& layout, int64_t rows, int threads) {
  const double weights = static_cast<double>(layout.nnz) * layout.block_inputs *
                         layout.block_outputs;
  const double n = static_cast<double>(rows);
  return WorthwhileThreads(
      weights * n,
      weights + n * static_cast<double>(layout.inputs + layout.outputs),
      threads);
}

int64_t TasksFor(int threads) {
  // An eighth of a thread's share is what it may have to wait for at the end.
  constexpr int64_t kTasksPerThread = 8;
  return threads == 1 ? 1 : kTasksPerThread * threads;
}

}  // namespace blocksparse
