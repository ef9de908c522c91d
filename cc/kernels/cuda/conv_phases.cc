// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/conv_phases.h"

#include <algorithm>
#include <map>

#include "cc/base/round_up.h"

namespace blocksparse {
namespace cuda {
namespace {

// A tap along one dimension.
struct AxisTap {
  int32_t tap;
  int64_t offset;  // of its source pixel from i * source_step
};

struct AxisPhase {
  int64_t first = 0;
  int64_t count = 0;
  int64_t lowest = 0;  // offset
  std::vector<AxisTap> taps;
};

// Whether one of `count` target pixels has a source pixel.
bool Meets(int64_t count, int64_t offset, int64_t step, int64_t size) {
  const int64_t i = offset < 0 ? CeilDiv(-offset, step) : 0;
  return i < count && i * step + offset < size;
}

std::vector<AxisPhase> AxisPhases(const ConvGeometry& g, int dimension,
                                  bool adjoint) {
  const int64_t stride = g.strides[dimension];
  const int64_t targets = adjoint ? g.fine[dimension] : g.coarse[dimension];
  const int64_t sources = adjoint ? g.coarse[dimension] : g.fine[dimension];
  std::map<int64_t, AxisPhase> phases;  // by their first pixel
  for (int64_t tap = 0; tap < g.kernel[dimension]; ++tap) {
    const int64_t distance =
        tap * g.dilations[dimension] - g.padding[dimension];
    int64_t first = 0, offset = distance, count = targets;
    if (adjoint) {
      // fine = coarse * stride + distance.
      first = (distance % stride + stride) % stride;
      offset = (first - distance) / stride;
      count = first < targets ? CeilDiv(targets - first, stride) : 0;
    }
    if (!Meets(count, offset, adjoint ? 1 : stride, sources)) continue;
    AxisPhase& phase = phases[first];
    phase.lowest = phase.taps.empty() ? offset : std::min(phase.lowest, offset);
    phase.first = first;
    phase.count = count;
    phase.taps.push_back({static_cast<int32_t>(tap), offset});
  }
  std::vector<AxisPhase> found;
  for (const auto& item : phases) found.push_back(item.second);
  return found;
}

}  // namespace

ConvPhases PhasesOf(const ConvGeometry& g, bool adjoint) {
  std::vector<AxisPhase> axes[kSpatial];
  ConvPhases all;
  for (int i = 0; i < kSpatial; ++i) {
    axes[i] = AxisPhases(g, i, adjoint);
    const auto stride = static_cast<int32_t>(g.strides[i]);
    all.source_step[i] = adjoint ? 1 : stride;
    all.target_step[i] = adjoint ? stride : 1;
  }
  for (const AxisPhase& a : axes[0]) {
    for (const AxisPhase& b : axes[1]) {
      for (const AxisPhase& c : axes[2]) {
        const AxisPhase* const parts[kSpatial] = {&a, &b, &c};
        ConvPhase phase;
        for (int i = 0; i < kSpatial; ++i) {
          // Taps that meet a pixel are less than 2^31 away from it.
          phase.first[i] = static_cast<int32_t>(parts[i]->first);
          phase.count[i] = static_cast<int32_t>(parts[i]->count);
          phase.lowest[i] = static_cast<int32_t>(parts[i]->lowest);
        }
        all.phases.push_back(phase);
        for (const AxisTap& s : a.taps) {
          for (const AxisTap& t : b.taps) {
            for (const AxisTap& u : c.taps) {
              all.taps.push_back(
                  {{static_cast<int32_t>(s.offset - a.lowest),
                    static_cast<int32_t>(t.offset - b.lowest),
                    static_cast<int32_t>(u.offset - c.lowest)},
                   static_cast<int32_t>(
                       (s.tap * g.kernel[1] + t.tap) * g.kernel[2] + u.tap)});
            }
          }
        }
        all.splits.push_back(static_cast<int32_t>(all.taps.size()));
      }
    }
  }
  return all;
}

ConvPhases AllTaps(const ConvGeometry& g) {
  ConvPhases all;
  all.phases.resize(1);
  for (int64_t tap = 0; tap < g.taps(); ++tap) {
    ConvTap found;
    found.number = static_cast<int32_t>(tap);
    int64_t rest = tap;
    for (int i = kSpatial - 1; i >= 0; --i) {
      found.shift[i] =
          static_cast<int32_t>(rest % g.kernel[i] * g.dilations[i]);
      rest /= g.kernel[i];
    }
    all.taps.push_back(found);
  }
  all.splits.push_back(static_cast<int32_t>(g.taps()));
  return all;
}

ConvEntries EntriesOf(const Layout& layout, bool transpose, int64_t layout_taps,
                      const ConvPhases& phases) {
  const LayoutView& view = transpose ? layout.transposed : layout.forward;
  ConvEntries all;
  all.by_phase = layout_taps > 1;
  all.targets = transpose ? view.targets / layout_taps : view.targets;
  // Of each tap of the layout, its phase and its place in the phases; -1 if it
  // is in none.
  std::vector<int32_t> phase_of(layout_taps, all.by_phase ? -1 : 0);
  std::vector<int32_t> place_of(layout_taps, 0);
  for (size_t phase = 0; all.by_phase && phase < phases.phases.size();
       ++phase) {
    for (int32_t i = phases.splits[phase]; i < phases.splits[phase + 1]; ++i) {
      phase_of[phases.taps[i].number] = static_cast<int32_t>(phase);
      place_of[phases.taps[i].number] = i;
    }
  }
  // Calls body(bucket, entry) for each entry that counts, target by target.
  const auto for_each = [&](const auto& body) {
    for (int64_t row = 0; row < view.targets; ++row) {
      for (int64_t e = view.splits[row]; e < view.splits[row + 1]; ++e) {
        const int64_t tap = (transpose ? row : view.index[e]) % layout_taps;
        if (phase_of[tap] < 0) continue;
        const int64_t target = transpose ? row / layout_taps : row;
        const int64_t source =
            transpose ? view.index[e] : view.index[e] / layout_taps;
        body(all.BucketOf(phase_of[tap], target),
             ConvEntry{static_cast<int32_t>(source),
                       static_cast<int32_t>(BlockId(view, e)), place_of[tap]});
      }
    }
  };
  const int64_t buckets =
      all.by_phase ? static_cast<int64_t>(phases.phases.size()) * all.targets
                   : all.targets;
  all.splits.assign(buckets + 1, 0);
  for_each([&](int64_t bucket, const ConvEntry&) { ++all.splits[bucket + 1]; });
  for (int64_t i = 0; i < buckets; ++i) all.splits[i + 1] += all.splits[i];
  all.entries.resize(all.splits[buckets]);
  std::vector<int32_t> next(all.splits.begin(), all.splits.end() - 1);
  for_each([&](int64_t bucket, const ConvEntry& entry) {
    all.entries[next[bucket]++] = entry;
  });
  return all;
}

}  // namespace cuda
}  // namespace blocksparse
