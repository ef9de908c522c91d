// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/conv_tasks.h"

#include <algorithm>

#include "cc/kernels/cuda/plan.h"

namespace blocksparse {
namespace cuda {
namespace {

// Tasks of a phase and a target block, as those of matmul: parts are of equal
// work, first of its entries, then of the taps of each.
void CutTarget(ConvTask whole, int32_t target_block, int32_t right,
               int64_t longest, ConvTasks* cut) {
  const int64_t entries = whole.end - whole.begin;
  const int64_t taps = whole.taps.value;
  const int64_t wanted = PartsOf(entries * taps, longest);
  const int64_t of_entries = std::min(wanted, std::max<int64_t>(1, entries));
  const int64_t of_taps = std::min(taps, wanted / of_entries);
  const int64_t parts = of_entries * of_taps;
  for (int32_t offset = 0; offset < target_block; offset += right) {
    if (parts > 1) {
      cut->splits.push_back({whole.phase, whole.target, offset, cut->parts,
                             static_cast<int32_t>(parts)});
    }
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t e = i / of_taps, t = i % of_taps;
      const int64_t tap = taps * t / of_taps;
      ConvTask task = whole;
      task.offset = offset;
      task.begin += static_cast<int32_t>(entries * e / of_entries);
      task.end =
          whole.begin + static_cast<int32_t>(entries * (e + 1) / of_entries);
      task.first_tap += static_cast<int32_t>(tap);
      task.taps =
          DivisorOf(static_cast<int32_t>(taps * (t + 1) / of_taps - tap));
      task.part = parts > 1 ? cut->parts++ : -1;
      cut->tasks.push_back(task);
    }
  }
}

}  // namespace

ConvTasks CutConvTasks(const ConvPhases& phases, const ConvEntries& entries,
                       int32_t target_block, int32_t right, int64_t longest) {
  ConvTasks cut;
  for (size_t phase = 0; phase < phases.phases.size(); ++phase) {
    for (int64_t target = 0; target < entries.targets; ++target) {
      const int64_t bucket = entries.BucketOf(phase, target);
      ConvTask task = {};
      task.phase = static_cast<int32_t>(phase);
      task.target = static_cast<int32_t>(target);
      task.begin = entries.splits[bucket];
      task.end = entries.splits[bucket + 1];
      // Entries with a tap of their own know its place among all.
      if (!entries.by_phase) {
        task.first_tap = phases.splits[phase];
        task.taps = DivisorOf(phases.TapsOf(phase));
      }
      CutTarget(task, target_block, right, longest, &cut);
    }
  }
  // Long ones first, as in matmul.cc.
  std::stable_sort(cut.tasks.begin(), cut.tasks.end(),
                   [](const ConvTask& a, const ConvTask& b) {
                     return int64_t{a.end - a.begin} * a.taps.value >
                            int64_t{b.end - b.begin} * b.taps.value;
                   });
  return cut;
}

}  // namespace cuda
}  // namespace blocksparse
