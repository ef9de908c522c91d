// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// An executor that needs no pool.
#ifndef TF_BLOCKSPARSE_CC_TESTING_THREADS_H_
#define TF_BLOCKSPARSE_CC_TESTING_THREADS_H_

#include <functional>
#include <thread>
#include <utility>

#include "cc/base/parallel_for.h"

namespace blocksparse {

// Runs closures on threads of its own, one each.
inline Executor Threads(int threads) {
  Executor executor;
  executor.threads = threads;
  executor.schedule = [](std::function<void()> closure) {
    std::thread(std::move(closure)).detach();
  };
  return executor;
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_THREADS_H_
