// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A view of a packed layout: which blocks of a weight exist.
//
//   [output_splits (Kb+1) | input_index (nnz) |
//    input_splits (Cb+1) | output_index (nnz) | block_id (nnz)]
//
// The first two parts are the forward view: for each of the Kb output blocks
// its input blocks, ascending. The last three are the transposed one, with
// each block's place among the blocks. A layout does not own its memory.
#ifndef TF_BLOCKSPARSE_CC_LAYOUT_LAYOUT_H_
#define TF_BLOCKSPARSE_CC_LAYOUT_LAYOUT_H_

#include <cstdint>
#include <string>

namespace blocksparse {

// One direction of a layout: the blocks of each target block.
struct LayoutView {
  int64_t targets = 0;  // blocks along the side that is written
  int64_t sources = 0;  // blocks along the side that is read
  int64_t nnz = 0;
  const int32_t* splits = nullptr;    // [targets + 1]
  const int32_t* index = nullptr;     // [nnz] source block of each entry
  const int32_t* block_id = nullptr;  // [nnz], or null: entry e is block e
};

// Which block an entry of a view is. static: see convert.h.
static inline int64_t BlockId(const LayoutView& view, int64_t entry) {
  return view.block_id == nullptr ? entry : view.block_id[entry];
}

struct Layout {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int32_t block_inputs = 0;   // rows of a block
  int32_t block_outputs = 0;  // columns of a block
  int64_t nnz = 0;
  LayoutView forward;     // targets are output blocks
  LayoutView transposed;  // targets are input blocks
};

// The largest side of a block.
constexpr int32_t kMaxBlockSize = 256;

// Reads the parts of `packed` (`length` numbers; null to leave the views empty)
// and checks all that can be
// checked without reading it: sizes, block sizes and the length. nnz is -1 to
// be inferred from the length. Returns an empty string, or what is wrong: what
// was got, what is expected, what to do.
std::string ParseLayout(const int32_t* packed, int64_t length, int64_t inputs,
                        int64_t outputs, int64_t block_inputs,
                        int64_t block_outputs, int64_t nnz, Layout* layout);

// Checks every number a product reads through `view`: splits rise from 0 to
// nnz, indices are in range and ascend within a target, block ids are in
// range. `what` names the view in the message. Empty string, or what is wrong.
std::string ValidateView(const LayoutView& view, const char* what);

// Checks both views, and that they name the same blocks: then the transposed
// view names every block exactly once, and a kernel that walks it writes all.
// Empty string, or what is wrong.
std::string ValidateViews(const Layout& layout);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_LAYOUT_LAYOUT_H_
