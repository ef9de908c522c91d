// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// As ArrayRef.h beside it.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_LLVM_SMALL_VECTOR_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_LLVM_SMALL_VECTOR_H_

#include "absl/container/inlined_vector.h"

namespace llvm {
template <class T, unsigned size = 1>
using SmallVector = absl::InlinedVector<T, size>;
}  // namespace llvm

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_LLVM_SMALL_VECTOR_H_
