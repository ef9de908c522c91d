// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/matmul.h"

#include <algorithm>
#include <vector>

#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/worth.h"
#include "cc/layout/partition.h"

namespace blocksparse {
namespace {

size_t Align(size_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment *
         kScratchAlignment;
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rows up to which a product is quicker with vectors of weights, which are read
// once, than with a tile of rows that is mostly empty. Measured with float32
// and AVX-512 at 4096 x 4096, 90 % sparse: forward with full registers 8 rows
// take what a tile takes, with halves of them 4; transposed 3, since pairs of
// rows read the weights again. Other instruction sets and dtypes are assumed to
// be alike, in registers.
int64_t FewRows(const MatmulProblem& problem, int lanes) {
  const int block = problem.layout.block_outputs;
  if (block % std::max(1, lanes / 4) != 0) return 0;
  if (problem.transpose) return 3;
  return block % lanes == 0 ? lanes / 2 : lanes / 4;
}

// The kernel for `rows` rows. For few of them, weights are read once by the
// family that has them in vectors; it takes over from a mostly empty tile of
// the other one.
const MatmulKernel* Choose(const MatmulProblem& problem, int64_t rows,
                           Isa isa) {
  const KernelList<MatmulKernel> all = MatmulKernels();
  const MatmulKernel* chosen = nullptr;
  for (const MatmulKernel* k = all.begin; k != all.end; ++k) {
    if (k->isa > isa || k->x_dtype != problem.x_dtype ||
        k->blocks_dtype != problem.blocks_dtype) {
      continue;
    }
    if (chosen != nullptr && k->isa != chosen->isa) break;
    const bool takes_few = k->family == MatmulFamily::kOutputs;
    if (takes_few != (rows <= FewRows(problem, k->lanes))) continue;
    // Of the tiles, the smallest that holds all rows, else the largest.
    if (chosen == nullptr ||
        (rows <= k->rows ? chosen->rows < rows || k->rows < chosen->rows
                         : chosen->rows < k->rows)) {
      chosen = k;
    }
  }
  return chosen;
}

// Scratch of one kernel: what a worker has, and what all share.
struct Scratch {
  size_t inputs = 0;
  size_t tile = 0;
  size_t staging = 0;
  size_t Bytes() const { return inputs + tile + staging; }
};

int ChunkBlocks(const MatmulTask& task) {
  // 64 inputs of 32 rows and their weights fit the first-level cache.
  constexpr int kInputs = 64;
  return std::max(1, std::min(kMaxChunk, kInputs / task.source_block));
}

Scratch ScratchOf(const MatmulKernel& kernel, const MatmulTask& task) {
  const MatmulProblem& problem = *task.problem;
  const size_t size = kernel.compute_size;
  Scratch scratch;
  const bool rows_family = kernel.family == MatmulFamily::kRows;
  const bool in_place = !rows_family && !problem.features_first &&
                        SizeOf(problem.x_dtype) == kernel.compute_size;
  if (!in_place) {
    scratch.inputs = Align(size * task.source_features * kernel.rows);
  }
  const int64_t block = CeilDiv(task.target_block, kernel.lanes) * kernel.lanes;
  scratch.tile = Align(size * block * kernel.rows);
  if (problem.gate != nullptr ||
      (rows_family && SizeOf(problem.blocks_dtype) != kernel.compute_size)) {
    scratch.staging = Align(size * task.chunk * task.source_block *
                            static_cast<size_t>(task.target_block));
  }
  return scratch;
}

MatmulTask FirstTask(const MatmulProblem& problem) {
  const Layout& layout = problem.layout;
  MatmulTask task;
  task.problem = &problem;
  task.view = problem.transpose ? layout.transposed : layout.forward;
  task.source_features = problem.transpose ? layout.outputs : layout.inputs;
  task.target_features = problem.transpose ? layout.inputs : layout.outputs;
  task.source_block =
      problem.transpose ? layout.block_outputs : layout.block_inputs;
  task.target_block =
      problem.transpose ? layout.block_inputs : layout.block_outputs;
  task.chunk = ChunkBlocks(task);
  return task;
}

// A kernel over a range of rows, cut into tiles of rows and parts of targets.
struct Segment {
  const MatmulKernel* kernel;
  int64_t row;
  int64_t rows;
  int64_t tiles;
  int64_t parts;
};

void RunSegment(const Segment& segment, MatmulTask task,
                const Executor& executor, char* scratch) {
  const MatmulKernel& kernel = *segment.kernel;
  const Scratch sizes = ScratchOf(kernel, task);
  // Which tile a worker's packed inputs are of.
  std::vector<int64_t> packed(executor.threads, -1);
  ParallelFor(
      executor, segment.tiles * segment.parts, [&](int64_t index, int worker) {
        const int64_t tile = index / segment.parts;
        const int64_t part = index % segment.parts;
        char* own = scratch + worker * sizes.Bytes();
        MatmulTask t = task;
        t.row = segment.row + tile * kernel.rows;
        t.rows =
            std::min<int64_t>(kernel.rows, segment.row + segment.rows - t.row);
        t.target_begin = PartBegin(t.view, part, segment.parts);
        t.target_end = PartBegin(t.view, part + 1, segment.parts);
        t.tile = own + sizes.inputs;
        if (sizes.staging != 0) t.staging = own + sizes.inputs + sizes.tile;
        if (sizes.inputs == 0) {
          t.inputs = const_cast<char*>(static_cast<const char*>(t.problem->x)) +
                     t.row * t.source_features * SizeOf(t.problem->x_dtype);
        } else {
          t.inputs = own;
          if (packed[worker] != tile) kernel.pack(t);
          packed[worker] = tile;
        }
        kernel.run(t);
      });
}

MatmulPlan MakePlan(const MatmulKernel& kernel, const MatmulKernel& tail,
                    const MatmulProblem& problem, int threads) {
  MatmulPlan plan;
  plan.kernel = &kernel;
  plan.tail_kernel = &tail;
  plan.kernel_name = kernel.name;
  plan.threads = WorthwhileThreads(problem.layout, problem.rows, threads);
  const MatmulTask task = FirstTask(problem);
  plan.scratch_bytes = plan.threads * std::max(ScratchOf(kernel, task).Bytes(),
                                               ScratchOf(tail, task).Bytes());
  return plan;
}

}  // namespace

MatmulPlan PlanMatmul(const MatmulProblem& problem, int threads, Isa isa) {
  const MatmulKernel* kernel = Choose(problem, problem.rows, isa);
  if (kernel == nullptr) return MatmulPlan();
  const int64_t rest = problem.rows % kernel->rows;
  const MatmulKernel* tail = problem.rows > kernel->rows && rest > 0
                                 ? Choose(problem, rest, isa)
                                 : kernel;
  return MakePlan(*kernel, *tail, problem, threads);
}

MatmulPlan PlanMatmulWith(const MatmulKernel& kernel,
                          const MatmulProblem& problem, int threads) {
  return MakePlan(kernel, kernel, problem, threads);
}

void RunMatmul(const MatmulProblem& problem, const MatmulPlan& plan,
               const Executor& executor, void* scratch) {
  const MatmulTask task = FirstTask(problem);
  Executor limited = executor;
  limited.threads = plan.threads;
  const int64_t tile_rows = plan.kernel->rows;
  // A tail that the same kernel takes is just its last tile.
  const int64_t tail =
      plan.tail_kernel == plan.kernel ? 0 : problem.rows % tile_rows;
  const auto run = [&](const MatmulKernel* kernel, int64_t row, int64_t rows) {
    if (rows == 0) return;
    const int64_t tiles = CeilDiv(rows, kernel->rows);
    // Enough tasks that the last ones to end are small.
    constexpr int64_t kTasksPerThread = 8;
    const int64_t wanted =
        plan.threads == 1 ? 1 : kTasksPerThread * plan.threads;
    const int64_t parts = std::min(CeilDiv(wanted, tiles), task.view.targets);
    RunSegment({kernel, row, rows, tiles, std::max<int64_t>(1, parts)}, task,
               limited, static_cast<char*>(scratch));
  };
  run(plan.kernel, 0, problem.rows - tail);
  run(plan.tail_kernel, problem.rows - tail, tail);
}

}  // namespace blocksparse
