// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A function with a stack of its own, that can be left and entered again.
#ifndef TF_BLOCKSPARSE_CC_TESTING_FIBER_H_
#define TF_BLOCKSPARSE_CC_TESTING_FIBER_H_

#include <cstddef>
#include <functional>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include "cc/testing/guarded_buffer.h"

namespace blocksparse {

// One thread of the program uses it: whoever resumes a fiber is also who it
// yields to. A body may be given up half-way, by Start or by the destructor;
// nothing on its stack is destroyed then.
class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next Resume begins with the body. `body` must outlive the fiber's run.
  void Start(const std::function<void()>* body);
  // Runs until the body yields or ends.
  void Resume();
  // For the body: returns to Resume, and from here with the next one.
  void Yield();
  bool ended() const { return ended_; }

 private:
  // Enough for a kernel's arrays, with AddressSanitizer's room around them.
  static constexpr size_t kStackBytes = 128 * 1024;

  static void Enter();
  void SwitchIn();
  void SwitchOut();

  GuardedBuffer stack_;
  const std::function<void()>* body_ = nullptr;
  bool ended_ = true;
#if defined(__x86_64__)
  void* own_top_ = nullptr;
  void* caller_top_ = nullptr;
#else
  ucontext_t own_;
  ucontext_t caller_;
#endif
#if defined(__SANITIZE_ADDRESS__)
  void* own_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* own_state_ = nullptr;
  void* caller_state_ = nullptr;
#endif
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_FIBER_H_
