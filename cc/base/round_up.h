// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Integer division that rounds up.
#ifndef TF_BLOCKSPARSE_CC_BASE_ROUND_UP_H_
#define TF_BLOCKSPARSE_CC_BASE_ROUND_UP_H_

#include <cstdint>

namespace blocksparse {

// For a >= 0 and b > 0; a may be as large as its type allows.
inline int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

// The least multiple of b that is at least a.
inline int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BASE_ROUND_UP_H_
