// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The layout of a convolution's weight. If its blocks have all taps, it is that
// of a matrix. If every tap has blocks of its own, it is that of a matrix with
// as many rows of blocks as (input blocks * taps), of which row c * taps + t is
// tap t of input block c.
#ifndef TF_BLOCKSPARSE_CC_LAYOUT_CONV_LAYOUT_H_
#define TF_BLOCKSPARSE_CC_LAYOUT_CONV_LAYOUT_H_

#include <cstdint>
#include <string>

#include "cc/layout/layout.h"

namespace blocksparse {

// ParseLayout for a layout that tells `taps` taps apart: 1 if they share their
// blocks. layout->inputs are the rows of the matrix, those beyond the edge of
// `inputs` with them.
std::string ParseConvLayout(const int32_t* packed, int64_t length,
                            int64_t inputs, int64_t outputs, int64_t taps,
                            int64_t block_inputs, int64_t block_outputs,
                            int64_t nnz, Layout* layout);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_LAYOUT_CONV_LAYOUT_H_
