// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace blocksparse {

GuardedBuffer::GuardedBuffer(size_t bytes)
    : bytes_(bytes), page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
  const size_t pages = (bytes + page_ - 1) / page_ + 1;
  mapped_ = (pages + 2) * page_;
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<unsigned char*>(memory);
  std::memset(base_, 0xff, mapped_);
  mprotect(base_, page_, PROT_NONE);
  mprotect(base_ + mapped_ - page_, page_, PROT_NONE);
  data_ = base_ + mapped_ - page_ - bytes;
}

GuardedBuffer::~GuardedBuffer() { munmap(base_, mapped_); }

bool GuardedBuffer::FrontIntact() const {
  for (const unsigned char* at = base_ + page_; at < data_; ++at) {
    if (*at != 0xff) return false;
  }
  return true;
}

}  // namespace blocksparse
