// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/fiber.h"

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__x86_64__)
// Keeps the registers that a function must keep on the stack that is left, and
// takes those of the other stack. swapcontext asks the kernel to keep the
// signal mask besides, which takes a hundred times as long.
extern "C" void BlocksparseSwitchStack(void** left_top, void* entered_top);
asm(R"(
.text
.globl BlocksparseSwitchStack
.hidden BlocksparseSwitchStack
.type BlocksparseSwitchStack, @function
BlocksparseSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size BlocksparseSwitchStack, .-BlocksparseSwitchStack
)");
#endif

namespace blocksparse {
namespace {

// Whose body is entered.
Fiber* entered = nullptr;

}  // namespace

Fiber::Fiber() : stack_(kStackBytes) {}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  if (own_state_ != nullptr) __tsan_destroy_fiber(own_state_);
#endif
}

void Fiber::Start(const std::function<void()>* body) {
  body_ = body;
  ended_ = false;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack_.data(), stack_.bytes());
  own_fake_stack_ = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  if (own_state_ != nullptr) __tsan_destroy_fiber(own_state_);
  own_state_ = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__)
  // Six registers, and where to return to: a multiple of 16, as the stack of a
  // function begins 8 after one.
  auto* top = reinterpret_cast<uint64_t*>(static_cast<char*>(stack_.data()) +
                                          stack_.bytes() - 16);
  top[0] = reinterpret_cast<uint64_t>(&Fiber::Enter);
  top[1] = 0;
  for (int i = 1; i <= 6; ++i) top[-i] = 0;
  own_top_ = top - 6;
#else
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_.data();
  own_.uc_stack.ss_size = stack_.bytes();
  own_.uc_link = nullptr;
  makecontext(&own_, &Fiber::Enter, 0);
#endif
}

void Fiber::Enter() {
  Fiber* self = entered;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->caller_stack_,
                                  &self->caller_stack_bytes_);
#endif
  (*self->body_)();
  self->ended_ = true;
  self->Yield();
}

void Fiber::Resume() {
  entered = this;
#if defined(__SANITIZE_ADDRESS__)
  void* caller_fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&caller_fake_stack, stack_.data(),
                                 stack_.bytes());
#endif
#if defined(__SANITIZE_THREAD__)
  caller_state_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_state_, 0);
#endif
  SwitchIn();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(caller_fake_stack, nullptr, nullptr);
#endif
}

void Fiber::Yield() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&own_fake_stack_, caller_stack_,
                                 caller_stack_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(caller_state_, 0);
#endif
  SwitchOut();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(own_fake_stack_, &caller_stack_,
                                  &caller_stack_bytes_);
#endif
}

void Fiber::SwitchIn() {
#if defined(__x86_64__)
  BlocksparseSwitchStack(&caller_top_, own_top_);
#else
  swapcontext(&caller_, &own_);
#endif
}

void Fiber::SwitchOut() {
#if defined(__x86_64__)
  BlocksparseSwitchStack(&own_top_, caller_top_);
#else
  swapcontext(&own_, &caller_);
#endif
}

}  // namespace blocksparse
