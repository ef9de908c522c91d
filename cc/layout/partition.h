// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Cuts a layout into ranges of targets with about equal work.
#ifndef TF_BLOCKSPARSE_CC_LAYOUT_PARTITION_H_
#define TF_BLOCKSPARSE_CC_LAYOUT_PARTITION_H_

#include <cstdint>

#include "cc/layout/layout.h"

namespace blocksparse {

// Where part `part` of `parts` begins, in [0, view.targets]; part `parts`
// begins where the last one ends. A target costs its blocks and one more, for
// what has to be done even without blocks.
int64_t PartBegin(const LayoutView& view, int64_t part, int64_t parts);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_LAYOUT_PARTITION_H_
