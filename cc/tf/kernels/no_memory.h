// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Memory of the host that C++ asks for, and may not get.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_NO_MEMORY_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_NO_MEMORY_H_

#include <new>
#include <stdexcept>

#include "tensorflow/core/platform/errors.h"

namespace blocksparse {

// What `compute` returns, or an error if there is no memory for its tables:
// plans, and what they are carried out by, grow with layouts and images.
template <typename Compute>
absl::Status CatchNoMemory(const Compute& compute) {
  try {
    return compute();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return tensorflow::errors::ResourceExhausted(
      "no memory for the tables of a product; split the batch");
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_NO_MEMORY_H_
