// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/conv.h"

#include <algorithm>
#include <vector>

#include "cc/base/message.h"
#include "cc/base/round_up.h"
#include "cc/kernels/conv_product.h"
#include "cc/kernels/cuda/conv_phases.h"
#include "cc/kernels/cuda/conv_side.h"
#include "cc/kernels/cuda/conv_table.h"
#include "cc/kernels/cuda/conv_tasks.h"
#include "cc/kernels/cuda/plan.h"

namespace blocksparse {
namespace cuda {
namespace {

// Tasks are kept in memory, a few for each phase and target block.
constexpr int64_t kMostTasks = int64_t{1} << 24;

// What is x, and what is y.
ConvSide SourceOf(const ConvProblem& p) {
  return SideOf(p.adjoint ? p.geometry.coarse : p.geometry.fine,
                p.transpose ? p.outputs : p.inputs, p.features_first);
}

ConvSide TargetOf(const ConvProblem& p) {
  return SideOf(p.adjoint ? p.geometry.fine : p.geometry.coarse,
                p.transpose ? p.inputs : p.outputs, p.features_first);
}

int32_t SourceBlock(const ConvProblem& p) {
  return p.transpose ? p.layout.block_outputs : p.layout.block_inputs;
}

int32_t TargetBlock(const ConvProblem& p) {
  return p.transpose ? p.layout.block_inputs : p.layout.block_outputs;
}

// Products of numbers that a target's numbers are sums of, in all.
int64_t DepthOf(const ConvPhases& phases, const ConvEntries& entries,
                int32_t source_block) {
  const auto taps = static_cast<int64_t>(phases.taps.size());
  return static_cast<int64_t>(entries.entries.size()) *
         (entries.by_phase ? 1 : taps) * source_block;
}

std::string Fill(const ConvArguments& conv, const ConvKernel& kernel,
                 void* stream) {
  // Each thread of a block writes some numbers, and more if there are so many
  // that blocks would not do.
  constexpr int64_t kNumbersOfBlock = 4096;
  constexpr int64_t kMostBlocks = 1 << 20;
  ConvFillArguments arguments;
  arguments.target = conv.target;
  arguments.size = conv.batch * conv.target.pixels * conv.target.features;
  arguments.bias = conv.bias;
  arguments.activation = conv.activation;
  arguments.y = conv.y;
  arguments.preactivation = conv.preactivation;
  const int64_t blocks =
      std::min(CeilDiv(arguments.size, kNumbersOfBlock), kMostBlocks);
  arguments.threads = blocks * kFillThreads;
  return kernel.fill(arguments, blocks, stream);
}

}  // namespace

std::string PlanConv(const ConvProblem& problem, const Device& device,
                     ConvPlan* plan) {
  *plan = ConvPlan();
  if (IsProduct(problem)) {
    const std::string error =
        PlanMatmul(AsMatmul(problem), device, &plan->product);
    plan->scratch_bytes = plan->product.scratch_bytes;
    return error;
  }
  const ConvKernel* kernel =
      Choose(ConvKernels(), problem, device, TargetBlock(problem));
  if (kernel == nullptr) {
    return NoKernel("conv", problem.x_dtype, problem.blocks_dtype,
                    problem.layout);
  }
  return PlanConvWith(*kernel, problem, device, plan);
}

std::string PlanConvWith(const ConvKernel& kernel, const ConvProblem& problem,
                         const Device& device, ConvPlan* plan) {
  *plan = ConvPlan();
  plan->kernel = &kernel;
  const ConvSide target = TargetOf(problem);
  const int32_t target_block = TargetBlock(problem);
  const int64_t right_tiles = CeilDiv(target_block, kernel.right);
  const ConvPhases phases = PhasesOf(problem.geometry, problem.adjoint);
  const int64_t tiles_of_targets =
      CeilDiv(target.features, target_block) * right_tiles;
  const auto phase_count = static_cast<int64_t>(phases.phases.size());
  if (phase_count > kMostTasks / tiles_of_targets) {
    return Message("the convolution has ", phase_count,
                   " kinds of pixels of y, each with other taps, times ",
                   tiles_of_targets, " tiles of features, expected at most ",
                   kMostTasks, " in all; use smaller strides");
  }
  int64_t most_pixels = 0, pixels = 0;
  for (const ConvPhase& phase : phases.phases) {
    most_pixels = std::max(most_pixels, ConvPhases::PixelsOf(phase));
    pixels += ConvPhases::PixelsOf(phase);
  }
  plan->row_tiles = CeilDiv(problem.geometry.batch * most_pixels, kernel.left);
  plan->fill = problem.geometry.batch > 0 && pixels < int64_t{target.pixels};
  const ConvEntries entries =
      EntriesOf(problem.layout, problem.transpose,
                problem.shared_taps ? 1 : problem.geometry.taps(), phases);
  const int32_t source_block = SourceBlock(problem);
  const int64_t longest = LongestDepth(DepthOf(phases, entries, source_block),
                                       plan->row_tiles * right_tiles, device) /
                          source_block;
  const ConvTasks cut =
      CutConvTasks(phases, entries, target_block, kernel.right, longest);
  plan->task_count = static_cast<int64_t>(cut.tasks.size());
  plan->split_count = static_cast<int64_t>(cut.splits.size());
  // Taps come first, where they are aligned.
  Append(phases.taps.data(), phases.taps.size(), &plan->table);
  plan->phases_begin = Append(phases.phases.data(), phase_count, &plan->table);
  plan->tasks_begin = Append(cut.tasks.data(), plan->task_count, &plan->table);
  plan->splits_begin =
      Append(cut.splits.data(), plan->split_count, &plan->table);
  plan->entries_begin =
      Append(entries.entries.data(), entries.entries.size(), &plan->table);
  plan->parts_begin = PartsBegin(plan->table);
  plan->scratch_bytes = plan->parts_begin + cut.parts * plan->row_tiles *
                                                kernel.left * kernel.right *
                                                kernel.sum_size;
  for (int i = 0; i < kSpatial; ++i) {
    plan->source_step[i] = phases.source_step[i];
    plan->target_step[i] = phases.target_step[i];
  }
  return CheckGrid(plan->row_tiles, plan->task_count);
}

std::string RunConv(const ConvProblem& problem, const ConvPlan& plan,
                    void* scratch, void* stream) {
  if (plan.kernel == nullptr) {
    return RunMatmul(AsMatmul(problem), plan.product, scratch, stream);
  }
  const auto* table = static_cast<const int32_t*>(scratch);
  ConvArguments arguments;
  FillArguments(problem, plan, scratch, &arguments);
  arguments.batch = problem.geometry.batch;
  arguments.source = SourceOf(problem);
  arguments.target = TargetOf(problem);
  arguments.target_features = arguments.target.features;
  for (int i = 0; i < kSpatial; ++i) {
    arguments.source_step[i] = plan.source_step[i];
    arguments.target_step[i] = plan.target_step[i];
  }
  arguments.block_taps =
      problem.shared_taps ? static_cast<int32_t>(problem.geometry.taps()) : 1;
  arguments.taps = reinterpret_cast<const ConvTap*>(table);
  arguments.phases =
      reinterpret_cast<const ConvPhase*>(table + plan.phases_begin);
  arguments.tasks = reinterpret_cast<const ConvTask*>(table + plan.tasks_begin);
  arguments.splits =
      reinterpret_cast<const ConvSplit*>(table + plan.splits_begin);
  arguments.entries =
      reinterpret_cast<const ConvEntry*>(table + plan.entries_begin);
  if (plan.fill) {
    const std::string error = Fill(arguments, *plan.kernel, stream);
    if (!error.empty()) return error;
  }
  if (plan.row_tiles == 0) return std::string();
  return LaunchTiles(*plan.kernel, arguments, plan,
                     plan.row_tiles * plan.task_count,
                     plan.row_tiles * plan.split_count, scratch, stream);
}

}  // namespace cuda
}  // namespace blocksparse
