// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "cc/kernels/conv_product.h"
#include "cc/kernels/cuda/conv.h"
#include "cc/kernels/cuda/conv_phases.h"
#include "cc/kernels/cuda/conv_side.h"
#include "cc/kernels/cuda/conv_table.h"
#include "cc/kernels/cuda/plan.h"

namespace blocksparse {
namespace cuda {
namespace {

// With `adjoint`, the fine side has the outputs.
int32_t FineBlock(const ConvSampledProblem& p) {
  return p.adjoint ? p.layout.block_outputs : p.layout.block_inputs;
}

int32_t CoarseBlock(const ConvSampledProblem& p) {
  return p.adjoint ? p.layout.block_inputs : p.layout.block_outputs;
}

// That a block has.
int32_t BlockTaps(const ConvSampledProblem& p) {
  return p.shared_taps ? static_cast<int32_t>(p.geometry.taps()) : 1;
}

int64_t Rows(const ConvSampledProblem& p) {
  return p.geometry.batch * p.geometry.coarse_pixels();
}

}  // namespace

std::string PlanConvSampled(const ConvSampledProblem& problem,
                            const Device& device, ConvSampledPlan* plan) {
  *plan = ConvSampledPlan();
  if (IsProduct(problem)) {
    const std::string error =
        PlanSampledMatmul(AsSampledMatmul(problem), device, &plan->product);
    plan->scratch_bytes = plan->product.scratch_bytes;
    return error;
  }
  const ConvSampledKernel* kernel =
      Choose(ConvSampledKernels(), problem, device, CoarseBlock(problem));
  if (kernel == nullptr) {
    return NoKernel("conv_sampled", problem.x_dtype, problem.blocks_dtype,
                    problem.layout);
  }
  return PlanConvSampledWith(*kernel, problem, device, plan);
}

std::string PlanConvSampledWith(const ConvSampledKernel& kernel,
                                const ConvSampledProblem& problem,
                                const Device& device, ConvSampledPlan* plan) {
  *plan = ConvSampledPlan();
  plan->kernel = &kernel;
  const ConvPhases phases = AllTaps(problem.geometry);
  const ConvEntries entries =
      EntriesOf(problem.layout, problem.adjoint,
                problem.shared_taps ? 1 : problem.geometry.taps(), phases);
  const std::vector<SampledTask> tasks =
      CutSampledTasks(entries.splits.data(), entries.targets,
                      int64_t{FineBlock(problem)} * BlockTaps(problem),
                      CoarseBlock(problem), kernel.left, kernel.right);
  plan->task_count = static_cast<int64_t>(tasks.size());
  // Taps come first, where they are aligned.
  Append(phases.taps.data(), phases.taps.size(), &plan->table);
  plan->tasks_begin = Append(tasks.data(), plan->task_count, &plan->table);
  plan->entries_begin =
      Append(entries.entries.data(), entries.entries.size(), &plan->table);
  plan->parts_begin = PartsBegin(plan->table);
  plan->scratch_bytes = plan->parts_begin;
  return CutPasses(Rows(problem), device, kernel, plan);
}

std::string RunConvSampled(const ConvSampledProblem& problem,
                           const ConvSampledPlan& plan, void* scratch,
                           void* stream) {
  if (plan.kernel == nullptr) {
    return RunSampledMatmul(AsSampledMatmul(problem), plan.product, scratch,
                            stream);
  }
  const ConvGeometry& geometry = problem.geometry;
  const auto* table = static_cast<const int32_t*>(scratch);
  ConvSampledArguments arguments;
  FillSampledArguments(problem, plan, scratch, &arguments);
  arguments.rows = Rows(problem);
  arguments.fine =
      SideOf(geometry.fine, problem.adjoint ? problem.outputs : problem.inputs,
             problem.features_first);
  arguments.coarse = SideOf(geometry.coarse,
                            problem.adjoint ? problem.inputs : problem.outputs,
                            problem.features_first);
  for (int i = 0; i < kSpatial; ++i) {
    // Without pixels nothing is divided.
    arguments.coarse_size[i] = DivisorOf(
        static_cast<int32_t>(std::max<int64_t>(1, geometry.coarse[i])));
    arguments.strides[i] = static_cast<int32_t>(geometry.strides[i]);
    arguments.padding[i] = static_cast<int32_t>(geometry.padding[i]);
  }
  arguments.fine_block = DivisorOf(FineBlock(problem));
  arguments.coarse_block = CoarseBlock(problem);
  arguments.block_taps = DivisorOf(BlockTaps(problem));
  arguments.transpose = problem.adjoint;
  arguments.a = problem.fine;
  arguments.b = problem.coarse;
  arguments.taps = reinterpret_cast<const ConvTap*>(table);
  arguments.tasks =
      reinterpret_cast<const SampledTask*>(table + plan.tasks_begin);
  arguments.entries =
      reinterpret_cast<const ConvEntry*>(table + plan.entries_begin);
  if (plan.task_count == 0) return std::string();  // no blocks
  return LaunchTiles(*plan.kernel, arguments, plan,
                     plan.passes * plan.task_count,
                     plan.passes > 1 ? plan.task_count : 0, scratch, stream);
}

}  // namespace cuda
}  // namespace blocksparse
