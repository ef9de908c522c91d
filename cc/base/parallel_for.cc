// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace blocksparse {
namespace {

int WorkersFor(const Executor& executor, int64_t tasks) {
  return static_cast<int>(
      std::max<int64_t>(1, std::min<int64_t>(executor.threads, tasks)));
}

// Where a worker's own tasks begin, and the ones of the worker before it end.
int64_t OwnTasksBegin(int64_t tasks, int worker, int workers) {
  return tasks * worker / workers;
}

// Ranges of different workers on different cache lines.
struct alignas(64) Range {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

// Outlives the call: a closure may start after all tasks are done.
struct Job {
  Job(int64_t task_count, int workers,
      const std::function<void(int64_t, int)>* task_body)
      : tasks(task_count), ranges(workers), body(task_body) {
    for (int w = 0; w < workers; ++w) {
      ranges[w].next = OwnTasksBegin(tasks, w, workers);
      ranges[w].end = OwnTasksBegin(tasks, w + 1, workers);
    }
  }

  int64_t tasks;
  std::vector<Range> ranges;
  // Only followed by a worker that has claimed a task, so while the caller of
  // ParallelFor still waits.
  const std::function<void(int64_t, int)>* body;
  std::atomic<int64_t> done{0};
  std::mutex mutex;
  std::condition_variable all_done;
  std::exception_ptr thrown;  // the first one, by any task

  // A thread that belongs to somebody else must not see what a task throws.
  void Run(int64_t task, int worker) {
    try {
      (*body)(task, worker);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  }

  // Takes tasks of range r until it is empty; returns how many.
  int64_t Drain(int r, int worker) {
    Range& range = ranges[r];
    int64_t count = 0;
    // The load keeps an exhausted counter from growing without bound.
    while (range.next.load(std::memory_order_relaxed) < range.end) {
      const int64_t task = range.next.fetch_add(1, std::memory_order_relaxed);
      if (task >= range.end) break;
      Run(task, worker);
      ++count;
    }
    return count;
  }

  int FullestRange() const {
    int fullest = 0;
    int64_t most = 0;
    for (size_t r = 0; r < ranges.size(); ++r) {
      const int64_t left =
          ranges[r].end - ranges[r].next.load(std::memory_order_relaxed);
      if (left > most) {
        most = left;
        fullest = static_cast<int>(r);
      }
    }
    return most > 0 ? fullest : -1;
  }

  void Work(int worker) {
    int64_t count = Drain(worker, worker);
    for (int r = FullestRange(); r >= 0; r = FullestRange()) {
      Range& range = ranges[r];
      // One task at a time: its owner may be about to take the rest.
      const int64_t task = range.next.fetch_add(1, std::memory_order_relaxed);
      if (task >= range.end) continue;
      Run(task, worker);
      ++count;
    }
    if (count > 0 && done.fetch_add(count) + count == tasks) {
      std::lock_guard<std::mutex> lock(mutex);
      all_done.notify_all();
    }
  }

  void Wait() {
    // Workers end within a task of each other, usually sooner than a sleep
    // and a wake-up would take.
    constexpr auto kWakeUp = std::chrono::microseconds(15);
    const auto start = std::chrono::steady_clock::now();
    do {
      if (done.load() == tasks) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } while (std::chrono::steady_clock::now() - start < kWakeUp);
    std::unique_lock<std::mutex> lock(mutex);
    all_done.wait(lock, [this] { return done.load() == tasks; });
  }
};

}  // namespace

void ParallelFor(const Executor& executor, int64_t tasks,
                 const std::function<void(int64_t, int)>& body) {
  const int workers = WorkersFor(executor, tasks);
  if (workers == 1) {
    for (int64_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  auto job = std::make_shared<Job>(tasks, workers, &body);
  try {
    for (int worker = 1; worker < workers; ++worker) {
      executor.schedule([job, worker] { job->Work(worker); });
    }
  } catch (const std::bad_alloc&) {
    // The workers that are there, the caller among them, take all tasks.
  }
  job->Work(0);
  job->Wait();
  // After all calls; of what several threw, the first.
  if (job->thrown) std::rethrow_exception(job->thrown);
}

int64_t OwnTasksEnd(const Executor& executor, int64_t tasks, int worker) {
  return OwnTasksBegin(tasks, worker + 1, WorkersFor(executor, tasks));
}

}  // namespace blocksparse
