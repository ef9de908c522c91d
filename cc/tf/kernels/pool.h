// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The device's threads, for work inside of one op.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_POOL_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_POOL_H_

#include <functional>
#include <utility>

#include "cc/base/parallel_for.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/lib/core/threadpool.h"

namespace blocksparse {

inline Executor PoolOfDevice(tensorflow::OpKernelContext* ctx) {
  const auto* pool = ctx->device()->tensorflow_cpu_worker_threads();
  Executor executor;
  executor.threads = pool->num_threads;
  executor.schedule = [workers = pool->workers](std::function<void()> closure) {
    workers->Schedule(std::move(closure));
  };
  return executor;
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_POOL_H_
