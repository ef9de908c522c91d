// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cc/base/round_up.h"
#include "cc/kernels/cuda/kernel_table.h"
#include "cc/kernels/cuda/matmul.h"
#include "cc/kernels/cuda/plan.h"

namespace blocksparse {
namespace cuda {
namespace {

// Fewer rows than these in a pass cost more to add up than they gain, as in
// matmul.cc; more are cut, as a pass counts them in 32 bits.
constexpr int64_t kLeastRows = 512;
constexpr int64_t kMostRows = int64_t{1} << 20;
// A multiple of every kernel's depth of a step.
constexpr int64_t kRowsTogether = 32;

// A task for each `left` inputs that the blocks of an output block have, one
// after the other, and each `right` outputs of it.
std::vector<SampledTask> CutTasks(const Layout& layout, int32_t left,
                                  int32_t right) {
  std::vector<SampledTask> tasks;
  const LayoutView& view = layout.forward;
  for (int64_t k = 0; k < view.targets; ++k) {
    const int64_t inputs =
        int64_t{view.splits[k + 1] - view.splits[k]} * layout.block_inputs;
    for (int64_t input = 0; input < inputs; input += left) {
      const int64_t entry = view.splits[k] + input / layout.block_inputs;
      for (int32_t offset = 0; offset < layout.block_outputs; offset += right) {
        tasks.push_back({static_cast<int32_t>(k), offset,
                         static_cast<int32_t>(entry), view.splits[k + 1],
                         static_cast<int32_t>(input % layout.block_inputs)});
      }
    }
  }
  return tasks;
}

}  // namespace

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
  const std::vector<SampledTask> tasks =
      CutTasks(problem.layout, kernel.left, kernel.right);
  plan->task_count = static_cast<int64_t>(tasks.size());
  Append(tasks.data(), plan->task_count, &plan->table);
  plan->index_begin =
      Append(problem.layout.forward.index, problem.layout.nnz, &plan->table);
  plan->parts_begin =
      RoundUp(static_cast<int64_t>(plan->table.size() * sizeof(int32_t)),
              kScratchAlignment);
  plan->scratch_bytes = plan->parts_begin;
  if (tasks.empty()) return std::string();
  // Rows are cut where tiles alone do not keep the GPU busy.
  const int64_t fill = CeilDiv(BlocksToFill(device), plan->task_count);
  const int64_t passes =
      std::max(std::min(fill, CeilDiv(problem.rows, kLeastRows)),
               CeilDiv(problem.rows, kMostRows));
  plan->pass_rows = RoundUp(CeilDiv(problem.rows, std::max<int64_t>(1, passes)),
                            kRowsTogether);
  // Without rows there is a pass as well: it writes zeros.
  plan->passes = problem.rows == 0 ? 1 : CeilDiv(problem.rows, plan->pass_rows);
  if (plan->passes > 1) {
    plan->scratch_bytes += plan->passes * plan->task_count * kernel.left *
                           kernel.right * kernel.sum_size;
  }
  return CheckGrid(plan->passes, plan->task_count);
}

std::string RunSampledMatmul(const SampledMatmulProblem& problem,
                             const SampledMatmulPlan& plan, void* scratch,
                             void* stream) {
  const Layout& layout = problem.layout;
  const auto* table = static_cast<const int32_t*>(scratch);
  SampledMatmulArguments arguments;
  arguments.rows = problem.rows;
  arguments.inputs = layout.inputs;
  arguments.outputs = layout.outputs;
  arguments.block_inputs = DivisorOf(layout.block_inputs);
  arguments.block_outputs = layout.block_outputs;
  arguments.features_first = problem.features_first;
  arguments.a = problem.a;
  arguments.b = problem.b;
  arguments.gate = problem.gate;
  arguments.blocks = problem.blocks;
  arguments.tasks = reinterpret_cast<const SampledTask*>(table);
  arguments.index = table + plan.index_begin;
  arguments.parts = plan.passes > 1
                        ? static_cast<char*>(scratch) + plan.parts_begin
                        : nullptr;
  arguments.task_count = static_cast<int32_t>(plan.task_count);
  arguments.passes = static_cast<int32_t>(plan.passes);
  arguments.pass_rows = plan.pass_rows;
  if (plan.task_count == 0) return std::string();  // no blocks
  std::string error =
      CopyTable(plan.table.data(), plan.table.size(), scratch, stream);
  if (error.empty()) {
    error = plan.kernel->run(arguments, plan.passes * plan.task_count, stream);
  }
  if (error.empty() && plan.passes > 1) {
    error = plan.kernel->join(arguments, plan.task_count, stream);
  }
  return error;
}

}  // namespace cuda
}  // namespace blocksparse
