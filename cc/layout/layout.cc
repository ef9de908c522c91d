// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/layout/layout.h"

#include <limits>

#include "cc/base/message.h"
#include "cc/base/round_up.h"

namespace blocksparse {

std::string ParseLayout(const int32_t* packed, int64_t length, int64_t inputs,
                        int64_t outputs, int64_t block_inputs,
                        int64_t block_outputs, int64_t nnz, Layout* layout) {
  constexpr int64_t kMaxFeatures = std::numeric_limits<int32_t>::max();
  if (inputs < 1 || inputs > kMaxFeatures || outputs < 1 ||
      outputs > kMaxFeatures) {
    return Message("inputs and outputs are ", inputs, " and ", outputs,
                   ", expected 1 to ", kMaxFeatures,
                   " each; pass the shape the layout was made for");
  }
  if (block_inputs < 1 || block_inputs > kMaxBlockSize || block_outputs < 1 ||
      block_outputs > kMaxBlockSize) {
    return Message("block size is (", block_inputs, ", ", block_outputs,
                   "), expected 1 to ", kMaxBlockSize,
                   " each; pass the block size the layout was made for");
  }
  const int64_t input_blocks = CeilDiv(inputs, block_inputs);
  const int64_t output_blocks = CeilDiv(outputs, block_outputs);
  const int64_t head = input_blocks + output_blocks + 2;
  const bool fits = length >= head && (length - head) % 3 == 0;
  const int64_t found = fits ? (length - head) / 3 : -1;
  if (!fits || (nnz >= 0 && nnz != found)) {
    std::string expected = nnz >= 0
                               ? Message(static_cast<uint64_t>(head) +
                                             3 * static_cast<uint64_t>(nnz),
                                         " for ", nnz, " blocks")
                               : Message(head, " + 3 nnz");
    return Message("layout has ", length, " numbers, expected ", expected,
                   " of size (", block_inputs, ", ", block_outputs,
                   ") in a weight of ", inputs, " x ", outputs,
                   "; pass the packed layout that belongs to these blocks");
  }
  nnz = found;
  layout->inputs = inputs;
  layout->outputs = outputs;
  layout->block_inputs = static_cast<int32_t>(block_inputs);
  layout->block_outputs = static_cast<int32_t>(block_outputs);
  layout->nnz = nnz;
  if (packed == nullptr) return std::string();
  const int32_t* part = packed;
  layout->forward = {
      output_blocks, input_blocks, nnz, part, part + output_blocks + 1,
      nullptr};
  part += output_blocks + 1 + nnz;
  layout->transposed = {
      input_blocks, output_blocks,           nnz,
      part,         part + input_blocks + 1, part + input_blocks + 1 + nnz};
  return std::string();
}

std::string ValidateView(const LayoutView& view, const char* what) {
  int64_t previous = 0;
  bool rises = view.splits[0] == 0 && view.splits[view.targets] == view.nnz;
  for (int64_t t = 0; t <= view.targets; ++t) {
    rises &= view.splits[t] >= previous;
    previous = view.splits[t];
  }
  if (!rises) {
    return Message("the splits of the layout's ", what,
                   " do not rise from 0 to ", view.nnz,
                   "; expected a packed layout as BlockLayout.packed makes it");
  }
  // Without branches, so that the compiler makes vectors of it.
  bool in_range = true;
  for (int64_t e = 0; e < view.nnz; ++e) {
    in_range &= static_cast<uint32_t>(view.index[e]) <
                static_cast<uint64_t>(view.sources);
  }
  if (view.block_id != nullptr) {
    for (int64_t e = 0; e < view.nnz; ++e) {
      in_range &= static_cast<uint32_t>(view.block_id[e]) <
                  static_cast<uint64_t>(view.nnz);
    }
  }
  if (!in_range) {
    return Message("the layout's ", what, " names a block outside its ",
                   view.targets, " x ", view.sources, " grid or its ", view.nnz,
                   " blocks; expected a packed layout as BlockLayout.packed "
                   "makes it");
  }
  bool ascends = true;
  for (int64_t t = 0; t < view.targets; ++t) {
    for (int64_t e = view.splits[t] + 1; e < view.splits[t + 1]; ++e) {
      ascends &= view.index[e - 1] < view.index[e];
    }
  }
  if (!ascends) {
    return Message("the layout's ", what,
                   " does not ascend within a row of blocks; expected a packed "
                   "layout as BlockLayout.packed makes it");
  }
  return std::string();
}

std::string ValidateViews(const Layout& layout) {
  std::string error = ValidateView(layout.forward, "forward view");
  if (error.empty()) {
    error = ValidateView(layout.transposed, "transposed view");
  }
  if (!error.empty()) return error;
  const LayoutView& forward = layout.forward;
  const LayoutView& transposed = layout.transposed;
  bool agrees = true;
  for (int64_t c = 0; c < transposed.targets; ++c) {
    for (int64_t e = transposed.splits[c]; e < transposed.splits[c + 1]; ++e) {
      const int32_t block = transposed.block_id[e];
      const int32_t k = transposed.index[e];
      agrees &= (forward.index[block] == c) & (forward.splits[k] <= block) &
                (block < forward.splits[k + 1]);
    }
  }
  if (!agrees) {
    return Message(
        "the layout's two views name different blocks; expected a packed "
        "layout as BlockLayout.packed makes it");
  }
  return std::string();
}

}  // namespace blocksparse
