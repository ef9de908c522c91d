// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Memory that ends, and begins, where a page ends: one element too far is a
// crash. The contents are as far from the end as they must be, and no nearer
// to any alignment than their elements.
#ifndef TF_BLOCKSPARSE_CC_TESTING_GUARDED_BUFFER_H_
#define TF_BLOCKSPARSE_CC_TESTING_GUARDED_BUFFER_H_

#include <cstddef>

namespace blocksparse {

class GuardedBuffer {
 public:
  // Filled with bytes 0xff: NaN in every floating-point type.
  explicit GuardedBuffer(size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // Whether the bytes between the page's begin and data() are as they were.
  bool FrontIntact() const;

 private:
  size_t bytes_;
  size_t mapped_;
  size_t page_;
  unsigned char* base_;
  unsigned char* data_;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_GUARDED_BUFFER_H_
