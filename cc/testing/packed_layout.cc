// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/packed_layout.h"

#include <stdexcept>

namespace blocksparse {
namespace {

// A fixed draw for each block, in [0, 100).
int64_t Draw(int64_t c, int64_t k) {
  uint64_t hash = (c + 1) * 0x9e3779b97f4a7c15u ^ (k + 7) * 0xbf58476d1ce4e5b9u;
  hash ^= hash >> 29;
  hash *= 0x94d049bb133111ebu;
  return static_cast<int64_t>((hash >> 33) % 100);
}

}  // namespace

const std::vector<LayoutKind>& LayoutKinds() {
  static const auto* const kinds = new std::vector<LayoutKind>{
      {"empty_row", [](int64_t c, int64_t k, int64_t,
                       int64_t) { return c != 1 && Draw(c, k) < 60; }},
      {"empty_column", [](int64_t c, int64_t k, int64_t,
                          int64_t) { return k != 1 && Draw(c, k) < 60; }},
      {"none", [](int64_t, int64_t, int64_t, int64_t) { return false; }},
      {"one", [](int64_t c, int64_t k, int64_t cs,
                 int64_t ks) { return c == cs - 1 && k == ks - 1; }},
      {"full", [](int64_t, int64_t, int64_t, int64_t) { return true; }},
      {"diagonal",
       [](int64_t c, int64_t k, int64_t cs, int64_t ks) {
         return c * ks / cs == k || k * cs / ks == c;
       }},
      {"random",
       [](int64_t c, int64_t k, int64_t, int64_t) { return Draw(c, k) < 30; }},
      {"skewed", [](int64_t c, int64_t k, int64_t,
                    int64_t) { return Draw(c, k) < (k == 0 ? 100 : 10); }},
  };
  return *kinds;
}

PackedLayout::PackedLayout(const LayoutKind& kind, int64_t inputs,
                           int64_t outputs, int32_t block_inputs,
                           int32_t block_outputs)
    : inputs_(inputs),
      outputs_(outputs),
      block_inputs_(block_inputs),
      block_outputs_(block_outputs) {
  const int64_t cs = (inputs + block_inputs - 1) / block_inputs;
  const int64_t ks = (outputs + block_outputs - 1) / block_outputs;
  std::vector<int32_t> input_index;
  std::vector<std::vector<int32_t>> output_index(cs);
  std::vector<std::vector<int32_t>> block_id(cs);
  packed_.push_back(0);
  for (int64_t k = 0; k < ks; ++k) {
    for (int64_t c = 0; c < cs; ++c) {
      if (!kind.has(c, k, cs, ks)) continue;
      output_index[c].push_back(static_cast<int32_t>(k));
      block_id[c].push_back(static_cast<int32_t>(input_index.size()));
      input_index.push_back(static_cast<int32_t>(c));
    }
    packed_.push_back(static_cast<int32_t>(input_index.size()));
  }
  packed_.insert(packed_.end(), input_index.begin(), input_index.end());
  packed_.push_back(0);
  int32_t split = 0;
  for (const auto& row : output_index) {
    split += static_cast<int32_t>(row.size());
    packed_.push_back(split);
  }
  for (const auto& row : output_index) {
    packed_.insert(packed_.end(), row.begin(), row.end());
  }
  for (const auto& row : block_id) {
    packed_.insert(packed_.end(), row.begin(), row.end());
  }
}

Layout PackedLayout::layout() const {
  Layout layout;
  std::string error =
      ParseLayout(packed_.data(), static_cast<int64_t>(packed_.size()), inputs_,
                  outputs_, block_inputs_, block_outputs_, -1, &layout);
  if (error.empty()) error = ValidateViews(layout);
  if (!error.empty()) throw std::logic_error(error);
  return layout;
}

}  // namespace blocksparse
