// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/cuda_emulator.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cc/base/message.h"
#include "cc/testing/fiber.h"
#include "cc/testing/guarded_buffer.h"

namespace blocksparse {
namespace emulator {
namespace {

constexpr int kWarp = 32;

using Exchange = void (*)(void* const (&operands)[kWarp]);

struct Copy {
  void* to;
  const void* from;
  int valid;
};

void Arrive(const Copy& copy) {
  std::memset(copy.to, 0, 16);
  if (copy.valid > 0) std::memcpy(copy.to, copy.from, copy.valid);
}

// The address of a block's shared memory: a multiple of 128, as CUDA has it
// begin, and of no more.
constexpr uint32_t kSharedBegin = 3 * 128;

enum class State { kReady, kAtBarrier, kInExchange, kWaiting, kEnded };

struct Thread {
  Fiber fiber;
  State state = State::kEnded;
  Exchange exchange = nullptr;
  void* operand = nullptr;
  const std::function<bool()>* condition = nullptr;
  std::vector<Copy> started;                 // and not committed
  std::vector<std::vector<Copy>> committed;  // the oldest first
};

// What ends a block from outside of its threads, in an exchange or a condition.
struct GivenUp {};

// Where the source has a barrier or a wait.
struct Site {
  const char* function;
  const char* file;
  int line;
  bool removed;
};

// The block that runs, and what is kept for the next one.
class Block {
 public:
  std::string Run(int64_t index, int threads, size_t shared_bytes,
                  const std::function<void()>& body);

  int thread_index() const { return current_; }
  int64_t index() const { return index_; }
  int64_t run() const { return run_; }
  unsigned char* shared() const {
    return static_cast<unsigned char*>(shared_->data());
  }
  size_t shared_bytes() const { return shared_->bytes(); }
  Thread& thread() { return *threads_[current_]; }

  void Wait(State state) {
    thread().state = state;
    thread().fiber.Yield();
  }
  [[noreturn]] void Fail(const std::string& what) {
    error_ = Message(what, " (thread ", current_, " of block ", index_, ")");
    if (!in_fiber_) throw GivenUp();
    for (;;) thread().fiber.Yield();
  }

 private:
  void RunToEnd();
  bool RunWarp(int warp);
  bool RunLanes(int warp);
  bool ExchangeIn(int warp);
  bool PassBarrier();
  std::string Stuck() const;

  std::vector<std::unique_ptr<Thread>> threads_;
  std::unique_ptr<GuardedBuffer> shared_;
  int count_ = 0;
  int current_ = 0;
  bool in_fiber_ = false;
  int64_t index_ = 0;
  int64_t run_ = 0;
  std::string error_;
};

Settings used;
std::vector<Site> sites;
Block block;

std::string Block::Run(int64_t index, int threads, size_t shared_bytes,
                       const std::function<void()>& body) {
  index_ = index;
  ++run_;
  count_ = threads;
  error_.clear();
  shared_ = std::make_unique<GuardedBuffer>(shared_bytes);
  while (static_cast<int>(threads_.size()) < threads) {
    threads_.push_back(std::make_unique<Thread>());
  }
  for (int t = 0; t < threads; ++t) {
    threads_[t]->fiber.Start(&body);
    threads_[t]->state = State::kReady;
    threads_[t]->started.clear();
    threads_[t]->committed.clear();
  }
  try {
    RunToEnd();
  } catch (const GivenUp&) {
  }
  return error_.empty() ? Stuck() : error_;
}

void Block::RunToEnd() {
  const int warps = count_ / kWarp;
  for (bool moved = true; moved && error_.empty();) {
    moved = false;
    for (int w = 0; w < warps && error_.empty(); ++w) {
      if (used.order == Order::kTogether) {
        moved |= RunWarp(w);
      } else {
        while (error_.empty() && RunWarp(warps - 1 - w)) moved = true;
      }
    }
    if (!moved && error_.empty()) moved = PassBarrier();
  }
}

// Goes on until every lane waits. Whether any lane could.
bool Block::RunWarp(int warp) { return ExchangeIn(warp) | RunLanes(warp); }

bool Block::RunLanes(int warp) {
  bool moved = false;
  for (int i = 0; i < kWarp && error_.empty(); ++i) {
    const int lane = used.order == Order::kTogether ? i : kWarp - 1 - i;
    current_ = warp * kWarp + lane;
    if (thread().state == State::kWaiting && (*thread().condition)()) {
      thread().state = State::kReady;
    }
    if (thread().state != State::kReady) continue;
    in_fiber_ = true;
    thread().fiber.Resume();
    in_fiber_ = false;
    if (thread().fiber.ended()) thread().state = State::kEnded;
    moved = true;
  }
  return moved;
}

// If every lane has come to the same one.
bool Block::ExchangeIn(int warp) {
  void* operands[kWarp];
  const auto* lanes = &threads_[warp * kWarp];
  for (int lane = 0; lane < kWarp; ++lane) {
    if (lanes[lane]->state != State::kInExchange) return false;
    if (lanes[lane]->exchange != lanes[0]->exchange) return false;
    operands[lane] = lanes[lane]->operand;
  }
  current_ = warp * kWarp;
  lanes[0]->exchange(operands);
  for (int lane = 0; lane < kWarp; ++lane) lanes[lane]->state = State::kReady;
  return true;
}

bool Block::PassBarrier() {
  for (int t = 0; t < count_; ++t) {
    if (threads_[t]->state != State::kAtBarrier) return false;
  }
  for (int t = 0; t < count_; ++t) threads_[t]->state = State::kReady;
  return true;
}

// Why nobody can go on; empty if all have ended.
std::string Block::Stuck() const {
  int ended = 0, at_barrier = 0, waiting = 0;
  for (int t = 0; t < count_; ++t) {
    ended += threads_[t]->state == State::kEnded;
    at_barrier += threads_[t]->state == State::kAtBarrier;
    waiting += threads_[t]->state == State::kWaiting;
  }
  if (ended == count_) return std::string();
  return Message("threads diverge in block ", index_, ": of ", count_, ", ",
                 at_barrier, " wait at a barrier, ",
                 count_ - ended - at_barrier - waiting,
                 " in an exchange of their warp, ", waiting, " for copies, ",
                 ended, " have ended");
}

std::string NameOf(const Site& site) {
  return Message(site.function, " ", site.file, ":", site.line);
}

}  // namespace

void Use(const Settings& settings) {
  used = settings;
  sites.clear();
}

std::vector<std::string> Sites() {
  std::vector<std::string> names;
  for (const Site& site : sites) names.push_back(NameOf(site));
  return names;
}

std::string Emulate(int64_t blocks, int threads, size_t shared_bytes,
                    const std::function<void()>& body) {
  if (blocks < 1 || threads < 1 || threads > 1024 || threads % kWarp != 0 ||
      shared_bytes % 16 != 0) {
    return Message("cannot launch ", blocks, " blocks of ", threads,
                   " threads with ", shared_bytes, " bytes of shared memory");
  }
  std::string error;
  for (int64_t b = 0; b < blocks && error.empty(); ++b) {
    error = block.Run(b, threads, shared_bytes, body);
  }
  return error;
}

void Fail(const std::string& what) { block.Fail(what); }

bool IsRemoved(const char* function, const char* file, int line) {
  for (const Site& site : sites) {
    if (site.function == function && site.file == file && site.line == line) {
      return site.removed;
    }
  }
  sites.push_back({function, file, line, false});
  Site& site = sites.back();
  site.removed = NameOf(site) == used.removed;
  return site.removed;
}

void WaitForBlock() { block.Wait(State::kAtBarrier); }

void WaitForWarp(void (*exchange)(void* const (&operands)[32]), void* operand) {
  block.thread().exchange = exchange;
  block.thread().operand = operand;
  block.Wait(State::kInExchange);
}

void WaitUntil(const std::function<bool()>& condition) {
  if (condition()) return;
  block.thread().condition = &condition;
  block.Wait(State::kWaiting);
}

int64_t Run() { return block.run(); }

bool IsLate() { return used.order == Order::kTogether; }

unsigned char* SharedAt(uint32_t address, size_t bytes) {
  if (address < kSharedBegin ||
      address - kSharedBegin + bytes > block.shared_bytes()) {
    Fail(Message("there is no shared memory at ", address));
  }
  return block.shared() + (address - kSharedBegin);
}

void StartCopy(void* to, const void* from, int valid) {
  const Copy copy = {to, from, valid};
  if (used.order == Order::kAhead) {
    Arrive(copy);
  } else {
    block.thread().started.push_back(copy);
  }
}

void CommitCopies() {
  block.thread().committed.push_back(std::move(block.thread().started));
  block.thread().started.clear();
}

void FinishCopies(int pending) {
  auto& groups = block.thread().committed;
  const size_t finished =
      groups.size() - std::min<size_t>(pending, groups.size());
  for (size_t i = 0; i < finished; ++i) {
    for (const Copy& copy : groups[i]) Arrive(copy);
  }
  groups.erase(groups.begin(), groups.begin() + finished);
}

void CheckAligned(const void* address, size_t bytes, const char* what) {
  if (reinterpret_cast<uintptr_t>(address) % bytes == 0) return;
  Fail(Message(what, " is not aligned to ", bytes, " bytes"));
}

}  // namespace emulator

namespace cuda {

int ThreadIndex() { return emulator::block.thread_index(); }

int32_t BlockIndex() { return static_cast<int32_t>(emulator::block.index()); }

unsigned char* SharedMemory() { return emulator::block.shared(); }

uint32_t SharedAddress(const void* shared) {
  return emulator::kSharedBegin +
         static_cast<uint32_t>(static_cast<const unsigned char*>(shared) -
                               SharedMemory());
}

}  // namespace cuda
}  // namespace blocksparse
