// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What plans of all products share.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_PLAN_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_PLAN_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "cc/base/message.h"
#include "cc/base/round_up.h"
#include "cc/kernels/cuda/arguments.h"
#include "cc/kernels/cuda/kernel_table.h"
#include "cc/kernels/cuda/matmul.h"

namespace blocksparse {
namespace cuda {

// Blocks of threads that keep a GPU busy: as many as it runs at once, by
// registers and shared memory of config.h, so that no multiprocessor waits for
// the last ones of another for long.
inline int64_t BlocksToFill(const Device& device) {
  return int64_t{4} * device.multiprocessors;
}

// The depth that a task has at most, or half as much again: its share of what
// keeps the GPU busy, of products of `depth` numbers by `tiles` tiles in all.
// Below the least one, a part of a tile costs more to write and to add up than
// it gains: its sums are as much memory as so much of x, in 16 bits.
inline int64_t LongestDepth(int64_t depth, int64_t tiles,
                            const Device& device) {
  constexpr int64_t kLeastDepth = 512;
  // A task counts its depth in 32 bits.
  constexpr int64_t kMostDepth = std::numeric_limits<int32_t>::max() / 2;
  return std::min(std::max(kLeastDepth, depth * tiles / BlocksToFill(device)),
                  kMostDepth);
}

// In how many parts a task is cut. To the nearest: one that is a little longer
// is better than one more.
inline int64_t PartsOf(int64_t length, int64_t longest) {
  return std::max<int64_t>(1, (length + longest / 2) / longest);
}

// A sampled product's tasks: for each target of `splits` one for each `left`
// numbers that its entries have, `side` of each, one after the other, and for
// each `right` of its features.
inline std::vector<SampledTask> CutSampledTasks(const int32_t* splits,
                                                int64_t targets, int64_t side,
                                                int32_t target_block,
                                                int32_t left, int32_t right) {
  std::vector<SampledTask> tasks;
  for (int64_t k = 0; k < targets; ++k) {
    const int64_t numbers = int64_t{splits[k + 1] - splits[k]} * side;
    for (int64_t number = 0; number < numbers; number += left) {
      const int64_t entry = splits[k] + number / side;
      for (int32_t offset = 0; offset < target_block; offset += right) {
        tasks.push_back({static_cast<int32_t>(k), offset,
                         static_cast<int32_t>(entry), splits[k + 1],
                         static_cast<int32_t>(number % side)});
      }
    }
  }
  return tasks;
}

// Whether a grid of `tiles` times `tasks` blocks of threads can be launched.
inline std::string CheckGrid(int64_t tiles, int64_t tasks) {
  if (tasks == 0 || tiles <= std::numeric_limits<int32_t>::max() / tasks) {
    return std::string();
  }
  return Message("the product has ", tiles, " times ", tasks,
                 " tiles, expected less than 2^31; cut the rows in parts");
}

// Cuts the rows of a sampled product in passes where `plan->task_count` tiles
// alone do not keep the GPU busy; takes scratch for what they leave.
template <typename Plan, typename Kernel>
std::string CutPasses(int64_t rows, const Device& device, const Kernel& kernel,
                      Plan* plan) {
  // Fewer rows cost more to add up than they gain, as in LongestDepth; more
  // are cut, as a pass counts them in 32 bits.
  constexpr int64_t kLeastRows = 512;
  constexpr int64_t kMostRows = int64_t{1} << 20;
  // A multiple of every kernel's depth of a step.
  constexpr int64_t kRowsTogether = 64;
  if (plan->task_count == 0) return std::string();
  const int64_t fill = CeilDiv(BlocksToFill(device), plan->task_count);
  const int64_t passes = std::max(std::min(fill, CeilDiv(rows, kLeastRows)),
                                  CeilDiv(rows, kMostRows));
  plan->pass_rows =
      RoundUp(CeilDiv(rows, std::max<int64_t>(1, passes)), kRowsTogether);
  // Without rows there is a pass as well: it writes zeros.
  plan->passes = rows == 0 ? 1 : CeilDiv(rows, plan->pass_rows);
  if (plan->passes > 1) {
    plan->scratch_bytes += plan->passes * plan->task_count * kernel.left *
                           kernel.right * kernel.sum_size;
  }
  return CheckGrid(plan->passes, plan->task_count);
}

// Where parts begin: behind the table, in the scratch.
inline size_t PartsBegin(const std::vector<int32_t>& table) {
  return RoundUp(static_cast<int64_t>(table.size() * sizeof(int32_t)),
                 kScratchAlignment);
}

// What the arguments of a product that makes y are, whatever its rows.
template <typename Problem, typename Plan, typename Arguments>
void FillArguments(const Problem& problem, const Plan& plan, void* scratch,
                   Arguments* arguments) {
  const Layout& layout = problem.layout;
  const bool transpose = problem.transpose;
  arguments->source_block =
      DivisorOf(transpose ? layout.block_outputs : layout.block_inputs);
  arguments->target_block =
      transpose ? layout.block_inputs : layout.block_outputs;
  arguments->block_outputs = layout.block_outputs;
  arguments->transpose = transpose;
  arguments->x = problem.x;
  arguments->blocks = problem.blocks;
  arguments->gate = problem.gate;
  arguments->bias = problem.bias;
  arguments->activation = problem.activation;
  arguments->y = problem.y;
  arguments->preactivation = problem.preactivation;
  arguments->parts = static_cast<char*>(scratch) + plan.parts_begin;
  arguments->task_count = static_cast<int32_t>(plan.task_count);
  arguments->row_tiles = static_cast<int32_t>(plan.row_tiles);
}

// The same of a sampled product, which makes blocks.
template <typename Problem, typename Plan, typename Arguments>
void FillSampledArguments(const Problem& problem, const Plan& plan,
                          void* scratch, Arguments* arguments) {
  arguments->block_outputs = problem.layout.block_outputs;
  arguments->gate = problem.gate;
  arguments->blocks = problem.blocks;
  arguments->parts = plan.passes > 1
                         ? static_cast<char*>(scratch) + plan.parts_begin
                         : nullptr;
  arguments->task_count = static_cast<int32_t>(plan.task_count);
  arguments->passes = static_cast<int32_t>(plan.passes);
  arguments->pass_rows = plan.pass_rows;
}

// Copies a plan's table, then launches its tiles and, if there are parts, what
// adds them up.
template <typename Kernel, typename Arguments, typename Plan>
std::string LaunchTiles(const Kernel& kernel, const Arguments& arguments,
                        const Plan& plan, int64_t tiles, int64_t joined,
                        void* scratch, void* stream) {
  std::string error =
      CopyTable(plan.table.data(), plan.table.size(), scratch, stream);
  if (error.empty()) error = kernel.run(arguments, tiles, stream);
  if (error.empty() && joined > 0) {
    error = kernel.join(arguments, joined, stream);
  }
  return error;
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
    if (kernel.path == Path::kHopper && !device.hopper) continue;
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
