// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "cc/kernels/cuda/kernel_table.h"
#include "cc/kernels/cuda/matmul.h"
#include "cc/kernels/cuda/plan.h"

namespace blocksparse {
namespace cuda {

std::string PlanSampledMatmul(const SampledMatmulProblem& problem,
                              const Device& device, SampledMatmulPlan* plan) {
  const SampledMatmulKernel* kernel = Choose(
      SampledMatmulKernels(), problem, device, problem.layout.block_outputs);
  if (kernel == nullptr) {
    return NoKernel("sampled_matmul", problem.x_dtype, problem.blocks_dtype,
                    problem.layout);
  }
  return PlanSampledMatmulWith(*kernel, problem, device, plan);
}

std::string PlanSampledMatmulWith(const SampledMatmulKernel& kernel,
                                  const SampledMatmulProblem& problem,
                                  const Device& device,
                                  SampledMatmulPlan* plan) {
  *plan = SampledMatmulPlan();
  plan->kernel = &kernel;
  const LayoutView& view = problem.layout.forward;
  const std::vector<SampledTask> tasks =
      CutSampledTasks(view.splits, view.targets, problem.layout.block_inputs,
                      problem.layout.block_outputs, kernel.left, kernel.right);
  plan->task_count = static_cast<int64_t>(tasks.size());
  Append(tasks.data(), plan->task_count, &plan->table);
  plan->index_begin = Append(view.index, view.nnz, &plan->table);
  plan->parts_begin = PartsBegin(plan->table);
  plan->scratch_bytes = plan->parts_begin;
  return CutPasses(problem.rows, device, kernel, plan);
}

std::string RunSampledMatmul(const SampledMatmulProblem& problem,
                             const SampledMatmulPlan& plan, void* scratch,
                             void* stream) {
  const Layout& layout = problem.layout;
  const auto* table = static_cast<const int32_t*>(scratch);
  SampledMatmulArguments arguments;
  FillSampledArguments(problem, plan, scratch, &arguments);
  arguments.rows = problem.rows;
  arguments.inputs = layout.inputs;
  arguments.outputs = layout.outputs;
  arguments.block_inputs = DivisorOf(layout.block_inputs);
  arguments.features_first = problem.features_first;
  arguments.a = problem.a;
  arguments.b = problem.b;
  arguments.tasks = reinterpret_cast<const SampledTask*>(table);
  arguments.index = table + plan.index_begin;
  if (plan.task_count == 0) return std::string();  // no blocks
  return LaunchTiles(*plan.kernel, arguments, plan,
                     plan.passes * plan.task_count,
                     plan.passes > 1 ? plan.task_count : 0, scratch, stream);
}

}  // namespace cuda
}  // namespace blocksparse
