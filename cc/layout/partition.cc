// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/layout/partition.h"

namespace blocksparse {

int64_t PartBegin(const LayoutView& view, int64_t part, int64_t parts) {
  const int64_t cost = view.nnz + view.targets;
  const int64_t before = cost / parts * part + cost % parts * part / parts;
  int64_t low = 0;
  int64_t high = view.targets;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (view.splits[middle] + middle < before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace blocksparse
