// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cc/base/round_up.h"
#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/matmul.h"
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
  size_t a_panel = 0;
  size_t b_panel = 0;
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
  // Passes of equal length, of whole registers of rows.
  const int64_t passes = std::max<int64_t>(1, CeilDiv(problem.rows, limit));
  scratch.pass_rows = RoundUp(CeilDiv(problem.rows, passes), kMaxFold);
  const size_t row_bytes = kernel.compute_size * scratch.pass_rows;
  scratch.a_panel = AlignScratch(
      row_bytes *
      std::max<int64_t>(kStripFeatures, kernel.padded(layout.block_inputs)));
  scratch.b_panel = AlignScratch(row_bytes * b_columns);
  if (passes > 1 && SizeOf(problem.blocks_dtype) != kernel.compute_size) {
    scratch.partial = AlignScratch(size_t(layout.nnz) * layout.block_inputs *
                                   layout.block_outputs * kernel.compute_size);
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
      plan.threads * scratch.a_panel + scratch.b_panel + scratch.partial;
  return plan;
}

void RunSampledMatmul(const SampledMatmulProblem& problem,
                      const SampledMatmulPlan& plan, const Executor& executor,
                      void* scratch) {
  const SampledMatmulKernel& kernel = *plan.kernel;
  const Scratch sizes = ScratchOf(problem, kernel);
  Executor limited = executor;
  limited.threads = plan.threads;
  const int64_t parts = TasksFor(plan.threads);

  SampledMatmulTask task;
  task.problem = &problem;
  char* memory = static_cast<char*>(scratch);
  task.b_panel = memory + plan.threads * sizes.a_panel;
  task.partial = sizes.partial == 0
                     ? problem.blocks
                     : static_cast<char*>(task.b_panel) + sizes.b_panel;
  const int64_t blocks = problem.layout.forward.targets;
  do {
    task.rows = std::min(sizes.pass_rows, problem.rows - task.row);
    task.last_pass = task.row + task.rows == problem.rows;
    ParallelFor(limited, parts, [&](int64_t part, int) {
      SampledMatmulTask t = task;
      t.begin = blocks * part / parts;
      t.end = blocks * (part + 1) / parts;
      kernel.pack(t);
    });
    ParallelFor(limited, parts, [&](int64_t part, int worker) {
      SampledMatmulTask t = task;
      t.a_panel = memory + worker * sizes.a_panel;
      t.begin = PartBegin(problem.layout.transposed, part, parts);
      t.end = PartBegin(problem.layout.transposed, part + 1, parts);
      kernel.run(t);
    });
    task.row += task.rows;
    task.first_pass = false;
  } while (task.row < problem.rows);
}

}  // namespace blocksparse
