// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/layout/conv_layout.h"

#include "cc/base/message.h"
#include "cc/base/round_up.h"

namespace blocksparse {

std::string ParseConvLayout(const int32_t* packed, int64_t length,
                            int64_t inputs, int64_t outputs, int64_t taps,
                            int64_t block_inputs, int64_t block_outputs,
                            int64_t nnz, Layout* layout) {
  // What is out of range is for ParseLayout to refuse, by its name.
  if (taps == 1 || inputs < 1 || inputs > INT32_MAX || block_inputs < 1 ||
      block_inputs > kMaxBlockSize) {
    return ParseLayout(packed, length, inputs, outputs, block_inputs,
                       block_outputs, nnz, layout);
  }
  const int64_t rows = RoundUp(inputs, block_inputs) * taps;
  std::string error = ParseLayout(packed, length, rows, outputs, block_inputs,
                                  block_outputs, nnz, layout);
  if (error.empty()) return error;
  return Message(error, " (", inputs, " inputs in blocks of ", block_inputs,
                 ", each with its own blocks for ", taps, " taps)");
}

}  // namespace blocksparse
