// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Memory that begins as aligned as a GPU's, and ends at a guard page.
#ifndef TF_BLOCKSPARSE_CC_TESTING_DEVICE_MEMORY_H_
#define TF_BLOCKSPARSE_CC_TESTING_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/round_up.h"
#include "cc/testing/guarded_buffer.h"

namespace blocksparse {

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes)
      : buffer_(RoundUp(static_cast<int64_t>(bytes), kAlignment)) {}
  void* data() const { return buffer_.data(); }

 private:
  // As cudaMalloc and TensorFlow's allocators have it.
  static constexpr int64_t kAlignment = 256;

  GuardedBuffer buffer_;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_DEVICE_MEMORY_H_
