// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What plans of all products share.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_PLAN_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_PLAN_H_

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cc/base/message.h"
#include "cc/kernels/cuda/matmul.h"

namespace blocksparse {
namespace cuda {

// Blocks of threads that keep a GPU busy: as many as it runs at once, by
// registers and shared memory of config.h, so that no multiprocessor waits for
// the last ones of another for long.
inline int64_t BlocksToFill(const Device& device) {
  return int64_t{4} * device.multiprocessors;
}

// Of the first path that takes a problem, the narrowest tile that a target
// block fits, or the widest there is. Null if nothing takes it.
template <typename Kernel, typename Problem>
const Kernel* Choose(const std::vector<Kernel>& kernels, const Problem& problem,
                     const Device& device, int32_t target_block) {
  const Kernel* chosen = nullptr;
  for (const Kernel& kernel : kernels) {
    if (chosen != nullptr &&
        (kernel.path != chosen->path || chosen->right >= target_block)) {
      break;
    }
    if (Takes(kernel, problem, device)) chosen = &kernel;
  }
  return chosen;
}

inline std::string NoKernel(const char* product, Dtype x, Dtype blocks,
                            const Layout& layout) {
  return Message("no ", product, " kernel for x of ", NameOf(x),
                 " and blocks of ", NameOf(blocks), " (block size (",
                 layout.block_inputs, ", ", layout.block_outputs,
                 "), device GPU); cast one of them");
}

// Whether a grid of `tiles` times `tasks` blocks of threads can be launched.
inline std::string CheckGrid(int64_t tiles, int64_t tasks) {
  if (tasks == 0 || tiles <= std::numeric_limits<int32_t>::max() / tasks) {
    return std::string();
  }
  return Message("the product has ", tiles, " times ", tasks,
                 " tiles, expected less than 2^31; cut the rows in parts");
}

// Adds numbers, or structs of int32, to the end of a table; says where they
// begin.
template <typename T>
int64_t Append(const T* items, int64_t count, std::vector<int32_t>* table) {
  static_assert(sizeof(T) % sizeof(int32_t) == 0, "made of int32");
  const auto begin = static_cast<int64_t>(table->size());
  if (count == 0) return begin;
  table->resize(begin + count * sizeof(T) / sizeof(int32_t));
  std::memcpy(table->data() + begin, items, count * sizeof(T));
  return begin;
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_PLAN_H_
