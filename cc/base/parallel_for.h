// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Runs independent tasks on threads that belong to somebody else.
#ifndef TF_BLOCKSPARSE_CC_BASE_PARALLEL_FOR_H_
#define TF_BLOCKSPARSE_CC_BASE_PARALLEL_FOR_H_

#include <cstdint>
#include <functional>

namespace blocksparse {

// Where closures may run. The default runs everything in the caller.
struct Executor {
  // Workers that may run at once, the caller included.
  int threads = 1;
  // Runs a closure some time, on any thread; unused when threads is 1.
  std::function<void(std::function<void()>)> schedule;
};

// Calls body(task, worker) once for every task in [0, tasks) and returns when
// all calls have returned. Each of the executor's workers starts with its own
// contiguous range of tasks, so neighbours share a worker's caches, and takes
// from the fullest other range when its own is empty. worker is in
// [0, executor.threads) and no two calls run at once with the same worker.
// The caller works too, and never waits for a closure that has not started:
// it is safe on a thread of the same, busy pool.
void ParallelFor(const Executor& executor, int64_t tasks,
                 const std::function<void(int64_t task, int worker)>& body);

// Where the tasks end that ParallelFor lets a worker begin with.
int64_t OwnTasksEnd(const Executor& executor, int64_t tasks, int worker);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BASE_PARALLEL_FOR_H_
