// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Layouts for tests: the kinds that go wrong first, packed.
#ifndef TF_BLOCKSPARSE_CC_TESTING_PACKED_LAYOUT_H_
#define TF_BLOCKSPARSE_CC_TESTING_PACKED_LAYOUT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cc/layout/layout.h"

namespace blocksparse {

struct LayoutKind {
  std::string name;
  // Whether block (input block, output block) of a grid exists.
  std::function<bool(int64_t c, int64_t k, int64_t input_blocks,
                     int64_t output_blocks)>
      has;
};

// Empty row, empty column, none, one, full, diagonal, random, skewed 10:1.
const std::vector<LayoutKind>& LayoutKinds();

// Owns what a Layout points at.
class PackedLayout {
 public:
  PackedLayout(const LayoutKind& kind, int64_t inputs, int64_t outputs,
               int32_t block_inputs, int32_t block_outputs);

  Layout layout() const;
  const std::vector<int32_t>& packed() const { return packed_; }

 private:
  int64_t inputs_;
  int64_t outputs_;
  int32_t block_inputs_;
  int32_t block_outputs_;
  std::vector<int32_t> packed_;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_PACKED_LAYOUT_H_
