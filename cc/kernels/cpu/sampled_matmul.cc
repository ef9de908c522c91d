// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cc/base/round_up.h"
#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/matmul.h"
#include "cc/kernels/cpu/sampled_parts.h"
#include "cc/kernels/cpu/worth.h"
#include "cc/layout/partition.h"

namespace blocksparse {
namespace {

const SampledMatmulKernel* Choose(const SampledMatmulProblem& problem,
                                  Isa isa) {
  const KernelList<SampledMatmulKernel> all = SampledMatmulKernels();
  for (const SampledMatmulKernel* k = all.begin; k != all.end; ++k) {
    if (k->isa <= isa && k->x_dtype == problem.x_dtype &&
        k->blocks_dtype == problem.blocks_dtype) {
      return k;
    }
  }
  return nullptr;
}

struct Scratch {
  int64_t pass_rows = 0;
  int64_t passes = 0;
  int64_t parts = 0;
  size_t a_panel = 0;  // of each worker
  size_t b_panel = 0;  // of each worker that has a part of its own
  size_t partial = 0;
};

Scratch ScratchOf(const SampledMatmulProblem& problem,
                  const SampledMatmulKernel& kernel) {
  const Layout& layout = problem.layout;
  const int64_t b_columns =
      layout.forward.targets * kernel.padded(layout.block_outputs);
  // Rows of a pass: as many as keep b's panels in a second-level cache of 1 to
  // 2 MiB, but enough that adding a pass's sums to the last one's is little
  // beside computing them.
  constexpr int64_t kPanelBytes = 1 << 20;
  constexpr int64_t kFewest = 128;
  constexpr int64_t kMost = 1024;
  const int64_t fitting = kPanelBytes / (b_columns * kernel.compute_size);
  const int64_t limit =
      std::min(kMost, std::max(kFewest, fitting / kFewest * kFewest));
  Scratch scratch;
  // Passes of equal length, of whole registers of rows, as many in each part.
  const int64_t fewest = std::max<int64_t>(1, CeilDiv(problem.rows, limit));
  const size_t sums = size_t(layout.nnz) * layout.block_inputs *
                      layout.block_outputs * kernel.compute_size;
  scratch.parts = SampledPartsFor(fewest, problem.rows, sums);
  const int64_t passes = RoundUp(fewest, scratch.parts);
  scratch.pass_rows =
      std::max<int64_t>(1, RoundUp(CeilDiv(problem.rows, passes), kMaxFold));
  scratch.passes =
      std::max<int64_t>(1, CeilDiv(problem.rows, scratch.pass_rows));
  // Rounding may have spared a pass.
  scratch.parts = std::min(scratch.parts, scratch.passes);
  const size_t row_bytes = kernel.compute_size * scratch.pass_rows;
  scratch.a_panel = AlignScratch(
      row_bytes *
      std::max<int64_t>(kStripFeatures, kernel.padded(layout.block_inputs)));
  scratch.b_panel = AlignScratch(row_bytes * b_columns);
  if (scratch.parts > 1 ||
      (scratch.passes > 1 &&
       SizeOf(problem.blocks_dtype) != kernel.compute_size)) {
    scratch.partial = AlignScratch(scratch.parts * sums);
  }
  return scratch;
}

}  // namespace

SampledMatmulPlan PlanSampledMatmul(const SampledMatmulProblem& problem,
                                    int threads, Isa isa) {
  const SampledMatmulKernel* kernel = Choose(problem, isa);
  if (kernel == nullptr) return SampledMatmulPlan();
  return PlanSampledMatmulWith(*kernel, problem, threads);
}

SampledMatmulPlan PlanSampledMatmulWith(const SampledMatmulKernel& kernel,
                                        const SampledMatmulProblem& problem,
                                        int threads) {
  SampledMatmulPlan plan;
  plan.kernel = &kernel;
  plan.threads = WorthwhileThreads(problem.layout, problem.rows, threads);
  const Scratch scratch = ScratchOf(problem, kernel);
  plan.scratch_bytes =
      plan.threads * scratch.a_panel +
      SampledPanels(scratch.parts, plan.threads) * scratch.b_panel +
      scratch.partial;
  return plan;
}

void RunSampledMatmul(const SampledMatmulProblem& problem,
                      const SampledMatmulPlan& plan, const Executor& executor,
                      void* scratch) {
  const SampledMatmulKernel& kernel = *plan.kernel;
  const Scratch sizes = ScratchOf(problem, kernel);
  Executor limited = executor;
  limited.threads = plan.threads;
  char* const a_panels = static_cast<char*>(scratch);
  char* const b_panels = a_panels + plan.threads * sizes.a_panel;
  char* const partial =
      b_panels + SampledPanels(sizes.parts, plan.threads) * sizes.b_panel;
  const Layout& layout = problem.layout;

  SampledJoin join;
  join.layout = &layout;
  join.inputs = layout.inputs;
  join.gate = problem.gate;
  join.partial = partial;
  join.parts = sizes.parts;
  join.blocks = problem.blocks;
  RunPasses(limited, sizes.passes, sizes.parts, [&](const SampledPass& pass) {
    SampledMatmulTask task;
    task.problem = &problem;
    task.row = pass.pass * sizes.pass_rows;
    task.rows = std::min(sizes.pass_rows, problem.rows - task.row);
    task.first_pass = pass.first;
    task.joined = sizes.parts > 1;
    task.last_pass = !task.joined && pass.pass + 1 == sizes.passes;
    task.b_panel = b_panels + pass.worker * sizes.b_panel;
    task.partial = sizes.partial == 0 ? problem.blocks
                                      : partial + pass.part * join.elements() *
                                                      kernel.compute_size;
    const int64_t tasks = TasksFor(pass.executor.threads);
    ParallelFor(pass.executor, tasks, [&](int64_t i, int) {
      SampledMatmulTask t = task;
      t.begin = layout.forward.targets * i / tasks;
      t.end = layout.forward.targets * (i + 1) / tasks;
      kernel.pack(t);
    });
    ParallelFor(pass.executor, tasks, [&](int64_t i, int worker) {
      SampledMatmulTask t = task;
      t.a_panel = a_panels + (pass.worker + worker) * sizes.a_panel;
      t.begin = PartBegin(layout.transposed, i, tasks);
      t.end = PartBegin(layout.transposed, i + 1, tasks);
      kernel.run(t);
    });
  });
  if (sizes.parts > 1) RunJoin(limited, join, kernel.join);
}

}  // namespace blocksparse
