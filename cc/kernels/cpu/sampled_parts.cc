// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/sampled_parts.h"

#include <algorithm>

#include "cc/kernels/cpu/worth.h"
#include "cc/layout/partition.h"

namespace blocksparse {

int64_t SampledPartsFor(int64_t passes, int64_t rows, size_t bytes) {
  // A weight's multiply-adds take about rows / 20 cycles per register of
  // weights, reading a part's sum from another core's cache about 10: joining
  // is at most a few hundredths.
  constexpr int64_t kRowsPerPart = 384;
  // Sums of all parts come from the caches when they are joined.
  constexpr size_t kBytes = 8 << 20;
  // More threads than that share passes.
  constexpr int64_t kMost = 16;
  const int64_t fitting =
      static_cast<int64_t>(kBytes / std::max<size_t>(1, bytes));
  const int64_t most = std::min({passes, rows / kRowsPerPart, fitting, kMost});
  // A power of two, which usual numbers of threads divide.
  int64_t parts = 1;
  while (2 * parts <= most) parts *= 2;
  return parts;
}

int64_t SampledPanels(int64_t parts, int threads) {
  return parts >= threads ? threads : 1;
}

void RunPasses(const Executor& executor, int64_t passes, int64_t parts,
               const std::function<void(const SampledPass&)>& body) {
  const auto run = [&](int64_t part, const Executor& who, int worker) {
    const int64_t begin = passes * part / parts;
    const int64_t end = passes * (part + 1) / parts;
    for (int64_t pass = begin; pass < end; ++pass) {
      body({pass, part, pass == begin, who, worker});
    }
  };
  if (SampledPanels(parts, executor.threads) > 1) {
    const Executor alone;
    ParallelFor(executor, parts,
                [&](int64_t part, int worker) { run(part, alone, worker); });
  } else {
    for (int64_t part = 0; part < parts; ++part) run(part, executor, 0);
  }
}

void RunJoin(const Executor& executor, const SampledJoin& all,
             void (*join)(const SampledJoin&)) {
  const LayoutView& view = all.layout->forward;
  const int64_t tasks = TasksFor(executor.threads);
  ParallelFor(executor, tasks, [&](int64_t task, int) {
    SampledJoin some = all;
    some.begin = PartBegin(view, task, tasks);
    some.end = PartBegin(view, task + 1, tasks);
    join(some);
  });
}

}  // namespace blocksparse
