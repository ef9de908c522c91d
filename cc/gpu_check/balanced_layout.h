// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Layouts of what is timed.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_BALANCED_LAYOUT_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_BALANCED_LAYOUT_H_

#include <cstdint>

#include "cc/testing/packed_layout.h"

namespace blocksparse {
namespace cuda {

// As many blocks for every output block, at random places.
PackedLayout BalancedLayout(int64_t inputs, int64_t outputs, int32_t block_size,
                            double density, uint64_t seed);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_BALANCED_LAYOUT_H_
