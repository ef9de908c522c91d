// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// In place of LLVM's, which headers of TensorFlow 2.19 include and which it
// does not ship. For declarations only: nothing here calls what takes one.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_LLVM_ARRAY_REF_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_LLVM_ARRAY_REF_H_

#include "absl/types/span.h"

namespace llvm {
template <class T>
using ArrayRef = absl::Span<const T>;
}  // namespace llvm

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_LLVM_ARRAY_REF_H_
