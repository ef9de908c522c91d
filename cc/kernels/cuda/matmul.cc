// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/matmul.h"

#include <algorithm>

#include "cc/base/round_up.h"
#include "cc/kernels/cuda/kernel_table.h"
#include "cc/kernels/cuda/plan.h"

namespace blocksparse {
namespace cuda {
namespace {

struct Tasks {
  std::vector<MatmulTask> tasks;
  std::vector<Split> splits;
  int32_t parts = 0;
};

// A task for each target and each `right` outputs of it, or several of equal
// work, of about `long_task` entries.
Tasks CutTasks(const LayoutView& view, int32_t target_block, int32_t right,
               int64_t long_task) {
  Tasks cut;
  for (int64_t t = 0; t < view.targets; ++t) {
    const auto target = static_cast<int32_t>(t);
    const int64_t begin = view.splits[t];
    const int64_t count = view.splits[t + 1] - begin;
    const int64_t parts = PartsOf(count, long_task);
    for (int32_t offset = 0; offset < target_block; offset += right) {
      if (parts > 1) {
        cut.splits.push_back(
            {target, offset, cut.parts, static_cast<int32_t>(parts)});
      }
      for (int64_t i = 0; i < parts; ++i) {
        cut.tasks.push_back(
            {target, offset, static_cast<int32_t>(begin + count * i / parts),
             static_cast<int32_t>(begin + count * (i + 1) / parts),
             parts > 1 ? cut.parts++ : -1});
      }
    }
  }
  // Long ones first, so that the last ones to end are short.
  std::stable_sort(cut.tasks.begin(), cut.tasks.end(),
                   [](const MatmulTask& a, const MatmulTask& b) {
                     return a.end - a.begin > b.end - b.begin;
                   });
  return cut;
}

}  // namespace

std::string PlanMatmul(const MatmulProblem& problem, const Device& device,
                       MatmulPlan* plan) {
  const Layout& layout = problem.layout;
  const MatmulKernel* kernel =
      Choose(MatmulKernels(), problem, device,
             problem.transpose ? layout.block_inputs : layout.block_outputs);
  if (kernel == nullptr) {
    return NoKernel("matmul", problem.x_dtype, problem.blocks_dtype, layout);
  }
  return PlanMatmulWith(*kernel, problem, device, plan);
}

std::string PlanMatmulWith(const MatmulKernel& kernel,
                           const MatmulProblem& problem, const Device& device,
                           MatmulPlan* plan) {
  const Layout& layout = problem.layout;
  const LayoutView& view =
      problem.transpose ? layout.transposed : layout.forward;
  const int32_t source_block =
      problem.transpose ? layout.block_outputs : layout.block_inputs;
  const int32_t target_block =
      problem.transpose ? layout.block_inputs : layout.block_outputs;
  *plan = MatmulPlan();
  plan->kernel = &kernel;
  plan->row_tiles = CeilDiv(problem.rows, kernel.left);
  const int64_t tiles = plan->row_tiles * CeilDiv(target_block, kernel.right);
  const int64_t longest = LongestDepth(view.nnz * source_block, tiles, device);
  const Tasks cut =
      CutTasks(view, target_block, kernel.right, longest / source_block);
  plan->task_count = static_cast<int64_t>(cut.tasks.size());
  plan->split_count = static_cast<int64_t>(cut.splits.size());
  Append(cut.tasks.data(), plan->task_count, &plan->table);
  plan->splits_begin =
      Append(cut.splits.data(), plan->split_count, &plan->table);
  plan->index_begin = Append(view.index, view.nnz, &plan->table);
  plan->block_id_begin = Append(
      view.block_id, view.block_id == nullptr ? 0 : view.nnz, &plan->table);
  plan->parts_begin = PartsBegin(plan->table);
  plan->scratch_bytes = plan->parts_begin + cut.parts * plan->row_tiles *
                                                kernel.left * kernel.right *
                                                kernel.sum_size;
  return CheckGrid(plan->row_tiles, plan->task_count);
}

std::string RunMatmul(const MatmulProblem& problem, const MatmulPlan& plan,
                      void* scratch, void* stream) {
  const Layout& layout = problem.layout;
  const bool transpose = problem.transpose;
  const auto* table = static_cast<const int32_t*>(scratch);
  MatmulArguments arguments;
  FillArguments(problem, plan, scratch, &arguments);
  arguments.rows = problem.rows;
  arguments.nnz = layout.nnz;
  arguments.source_features = transpose ? layout.outputs : layout.inputs;
  arguments.target_features = transpose ? layout.inputs : layout.outputs;
  arguments.features_first = problem.features_first;
  arguments.tasks = reinterpret_cast<const MatmulTask*>(table);
  arguments.splits = reinterpret_cast<const Split*>(table + plan.splits_begin);
  arguments.index = table + plan.index_begin;
  arguments.block_id = transpose ? table + plan.block_id_begin : nullptr;
  if (plan.row_tiles == 0) return std::string();  // no rows, nothing to do
  return LaunchTiles(*plan.kernel, arguments, plan,
                     plan.row_tiles * plan.task_count,
                     plan.row_tiles * plan.split_count, scratch, stream);
}

}  // namespace cuda
}  // namespace blocksparse
