// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/matmul.h"

#include <algorithm>
#include <vector>

#include "cc/base/round_up.h"
#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/worth.h"
#include "cc/layout/partition.h"

namespace blocksparse {
namespace {

// Rows up to which a product is quicker with vectors of weights, which are read
// once, than with a tile of rows that is mostly empty. Measured with float32
// and AVX-512 at 4096 x 4096, 90 % sparse: forward with full registers 8 rows
// take what a tile takes, with halves of them 4; transposed 3, since pairs of
// rows read the weights again. Other instruction sets and dtypes are assumed to
// be alike, in registers.
int FewRows(const MatmulProblem& problem, int lanes) {
  const int block = problem.layout.block_outputs;
  if (block < std::max(1, lanes / 4)) return 0;
  if (problem.transpose) return 3;
  return block >= lanes ? lanes / 2 : lanes / 4;
}

// The time of `rows` rows that begin with tiles of a kernel, in rows of a full
// tile. What fills no tile is left to a tile of one register, or to few rows.
int64_t TileCost(const MatmulProblem& problem, const MatmulKernel& kernel,
                 int64_t rows) {
  const int64_t full = std::max<int64_t>(1, rows / kernel.rows) * kernel.rows;
  const int64_t rest = rows - full;
  if (rest <= 0) return full;
  if (rest <= std::min(kFewRowsAtOnce, FewRows(problem, kernel.lanes))) {
    // Reading the weights once more for up to 4 rows takes what 10 of 16 rows
    // do; for 5 to 8 rows, what 15 do: nothing is won.
    return full + kernel.lanes * 5 / 8;
  }
  return full + RoundUp(rest, kernel.lanes);
}

// Whether blocks are copied, widened and gated, before they are multiplied.
bool IsStaged(const MatmulProblem& problem, const MatmulKernel& kernel) {
  return problem.gate != nullptr ||
         (kernel.family == MatmulFamily::kRows &&
          SizeOf(problem.blocks_dtype) != kernel.compute_size);
}

// What a row costs in a tile of this kernel, in hundredths of what it costs in
// the best one. With fewer than 16 sums under way, as when a block has fewer
// outputs than the tile, loads or the latency of multiply-adds are in the way;
// a tile narrower than the block loads more for each sum; and blocks that have
// to be widened or gated are so once for each tile. Measured with AVX-512, 64 x
// 4096 x 4096, 90 % sparse, in per cent of the FMA peak with tiles of 8 x 32
// and 4 x 64: blocks of 4 43 and 56; float32 16 79 and 77, 64 81 and 73;
// bfloat16 16 74 and 79, 64 70 and 73. 16 rows of blocks of 8 take 0.69 ms in a
// tile of 16 x 16 (8 sums), 32 rows 0.81 ms in one of 8 x 32.
int RowCost(const MatmulProblem& problem, const MatmulKernel& kernel) {
  const Layout& layout = problem.layout;
  const int block =
      problem.transpose ? layout.block_inputs : layout.block_outputs;
  const int registers = kernel.rows / kernel.lanes;
  const int sums = std::min(kernel.outputs, block) * registers;
  int cost = 100;
  if (sums < 8) {
    cost = 230;
  } else if (sums < 16 && kernel.outputs > block) {
    cost = kernel.rows == kernel.lanes ? 170 : 130;
  } else if (registers > 2 && kernel.outputs < block) {
    cost = 105;
  }
  if (IsStaged(problem, kernel)) cost += 32 * kernel.lanes / kernel.rows;
  return cost;
}

// The kernel to begin `rows` rows with. Few of them are for the family that has
// weights in vectors. Of the other one's tiles, the largest of the best is
// chosen for as many rows as fill it; for fewer rows, the one that takes the
// least time; of equals, the first row of the table.
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
    if (chosen != nullptr) {
      const int cost = RowCost(problem, *k);
      const int chosen_cost = RowCost(problem, *chosen);
      const bool full = rows >= std::max(k->rows, chosen->rows);
      const bool better =
          full ? cost < chosen_cost ||
                     (cost == chosen_cost && k->rows > chosen->rows)
               : TileCost(problem, *k, rows) * cost <
                     TileCost(problem, *chosen, rows) * chosen_cost;
      if (!better) continue;
    }
    chosen = k;
  }
  return chosen;
}

// What one worker needs to run a kernel.
struct Scratch {
  size_t inputs = 0;
  size_t tile = 0;
  size_t staging = 0;
  size_t Bytes() const { return inputs + tile + staging; }
};

// 64 inputs of 32 rows, and their weights for 128 outputs, fit the first-level
// cache. (For 32 to 128 inputs the speed is the same, for 256 less.)
constexpr int kInputsAtOnce = 64;
constexpr int kWeightsAtOnce = 64 * 128;

// Blocks of as many inputs, ahead of which the next ones are fetched.
int BlocksAtOnce(const MatmulTask& task) {
  return std::max(1, std::min(kMaxChunk, kInputsAtOnce / task.source_block));
}

// Weights that are read once need not stay in a cache: the more of them before
// the sums are stored, the better. Few rows read them once if one pair of
// vectors takes all outputs and one step all rows, see matmul_outputs.h.
int ChunkBlocks(const MatmulTask& task, const MatmulKernel& kernel,
                int64_t rows) {
  const bool read_once =
      task.problem->transpose ||
      (task.target_block <= 2 * kernel.lanes && rows <= kFewRowsAtOnce);
  if (kernel.family == MatmulFamily::kOutputs && read_once &&
      !IsStaged(*task.problem, kernel)) {
    return kMaxChunk;
  }
  return BlocksAtOnce(task);
}

// Transposed, a group of outputs reads whole rows of a block once and in order:
// cutting them loses 5 % with blocks of 128 and 256, where it gains 0 and 16 %
// forward.
int PieceInputs(const MatmulTask& task) {
  if (task.problem->transpose) return task.source_block;
  return std::min(kInputsAtOnce, kWeightsAtOnce / task.target_block);
}

Scratch ScratchOf(const MatmulKernel& kernel, const MatmulTask& task) {
  const MatmulProblem& problem = *task.problem;
  const size_t size = kernel.compute_size;
  Scratch scratch;
  const bool rows_family = kernel.family == MatmulFamily::kRows;
  const bool in_place = !rows_family && !problem.features_first &&
                        SizeOf(problem.x_dtype) == kernel.compute_size;
  if (!in_place) {
    scratch.inputs = AlignScratch(size * task.source_features * kernel.rows);
  }
  // Of the family of rows a second one, that is written meanwhile.
  const int64_t tile = rows_family
                           ? 2 * task.target_block * int64_t{task.tile_targets}
                           : RoundUp(task.target_block, kernel.lanes);
  scratch.tile = AlignScratch(size * tile * kernel.rows);
  if (IsStaged(problem, kernel)) {
    scratch.staging = AlignScratch(size * task.chunk * task.source_block *
                                   static_cast<size_t>(task.target_block));
  }
  return scratch;
}

MatmulTask FirstTask(const MatmulProblem& problem, const MatmulKernel& kernel,
                     int64_t rows) {
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
  task.ahead = BlocksAtOnce(task);
  task.chunk = ChunkBlocks(task, kernel, rows);
  task.piece = PieceInputs(task);
  // Lines of y that are written as a whole need not be fetched twice.
  task.tile_targets =
      std::max<int>(1, kCacheLine / static_cast<int>(SizeOf(problem.x_dtype)) /
                           task.target_block);
  return task;
}

// A range of rows from `row` on, cut into tiles of rows and parts of targets.
void RunRange(const MatmulPlan::Range& range, int64_t row,
              const MatmulProblem& problem, const Executor& executor,
              char* scratch) {
  const MatmulKernel& kernel = *range.kernel;
  const MatmulTask task = FirstTask(problem, kernel, range.rows);
  const Scratch sizes = ScratchOf(kernel, task);
  const int64_t tiles = CeilDiv(range.rows, kernel.rows);
  if (tiles == 0) return;
  const int64_t parts =
      std::min(CeilDiv(TasksFor(executor.threads), tiles), task.view.targets);
  // Which tile a worker's packed inputs are of.
  std::vector<int64_t> packed(executor.threads, -1);
  const int64_t tasks = tiles * parts;
  ParallelFor(executor, tasks, [&](int64_t index, int worker) {
    const int64_t tile = index / parts;
    const int64_t part = index % parts;
    char* own = scratch + worker * sizes.Bytes();
    MatmulTask t = task;
    t.row = row + tile * kernel.rows;
    t.rows = std::min<int64_t>(kernel.rows, row + range.rows - t.row);
    if ((tile + 1) * parts < OwnTasksEnd(executor, tasks, worker)) {
      t.next_rows =
          std::min<int64_t>(kernel.rows, row + range.rows - t.row - t.rows);
    }
    t.target_begin = PartBegin(t.view, part, parts);
    t.target_end = PartBegin(t.view, part + 1, parts);
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

void AddRange(const MatmulProblem& problem, const MatmulKernel& kernel,
              int64_t rows, MatmulPlan* plan) {
  plan->ranges[plan->range_count++] = {&kernel, rows};
  const MatmulTask task = FirstTask(problem, kernel, rows);
  const size_t bytes = ScratchOf(kernel, task).Bytes();
  plan->scratch_bytes = std::max(plan->scratch_bytes, plan->threads * bytes);
}

}  // namespace

MatmulPlan PlanMatmul(const MatmulProblem& problem, int threads, Isa isa) {
  MatmulPlan plan;
  plan.threads = WorthwhileThreads(problem.layout, problem.rows, threads);
  int64_t left = problem.rows;
  do {
    const MatmulKernel* kernel = Choose(problem, left, isa);
    if (kernel == nullptr) return plan;
    const bool last = plan.range_count + 1 == MatmulPlan::kMaxRanges;
    const int64_t full = left / kernel->rows * kernel->rows;
    const int64_t rows = last || full == 0 ? left : full;
    AddRange(problem, *kernel, rows, &plan);
    left -= rows;
  } while (left > 0);
  return plan;
}

MatmulPlan PlanMatmulWith(const MatmulKernel& kernel,
                          const MatmulProblem& problem, int threads) {
  MatmulPlan plan;
  plan.threads = WorthwhileThreads(problem.layout, problem.rows, threads);
  AddRange(problem, kernel, problem.rows, &plan);
  return plan;
}

void RunMatmul(const MatmulProblem& problem, const MatmulPlan& plan,
               const Executor& executor, void* scratch) {
  Executor limited = executor;
  limited.threads = plan.threads;
  int64_t row = 0;
  for (int i = 0; i < plan.range_count; ++i) {
    RunRange(plan.ranges[i], row, problem, limited,
             static_cast<char*>(scratch));
    row += plan.ranges[i].rows;
  }
}

}  // namespace blocksparse
