// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/balanced_layout.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cc/base/round_up.h"
#include "cc/gpu_check/numbers.h"

namespace blocksparse {
namespace cuda {

PackedLayout BalancedLayout(int64_t inputs, int64_t outputs, int32_t block_size,
                            double density, uint64_t seed) {
  const int64_t rows = CeilDiv(inputs, block_size);
  const int64_t columns = CeilDiv(outputs, block_size);
  const int64_t count =
      std::max<int64_t>(1, static_cast<int64_t>(std::lround(density * rows)));
  std::vector<char> mask(rows * columns);
  std::vector<int64_t> order(rows);
  for (int64_t c = 0; c < rows; ++c) order[c] = c;
  Draws draws(seed);
  for (int64_t k = 0; k < columns; ++k) {
    for (int64_t i = 0; i < count; ++i) {
      std::swap(order[i], order[i + draws.Below(rows - i)]);
      mask[order[i] * columns + k] = 1;
    }
  }
  const LayoutKind kind = {"balanced",
                           [&](int64_t c, int64_t k, int64_t, int64_t) -> bool {
                             return mask[c * columns + k];
                           }};
  return PackedLayout(kind, inputs, outputs, block_size, block_size);
}

}  // namespace cuda
}  // namespace blocksparse
