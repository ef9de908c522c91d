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
  void* memory =
      mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<unsigned char*>(memory);
  if (mprotect(base_ + page_, pages * page_, PROT_READ | PROT_WRITE) != 0) {
    munmap(base_, mapped_);
    throw std::bad_alloc();
  }
  std::memset(base_ + page_, 0xff, pages * page_);
  data_ = base_ + mapped_ - page_ - bytes;
}

GuardedBuffer::~GuardedBuffer() { munmap(base_, mapped_); }

bool GuardedBuffer::FrontIntact() const {
  // At least a page. All bytes are as the first if each is as the next.
  const unsigned char* front = base_ + page_;
  return *front == 0xff &&
         std::memcmp(front, front + 1, data_ - front - 1) == 0;
}

}  // namespace blocksparse
