// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/conv_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/base/round_up.h"
#include "cc/kernels/conv_product.h"
#include "cc/kernels/cpu/conv.h"
#include "cc/kernels/cpu/worth.h"

namespace blocksparse {
namespace {

// Bands of all pixels and, if there are dilations, of those of one remainder:
// these have taps side by side, but may be small.
std::vector<ConvBands> BandsOf(const ConvProblem& problem) {
  const ConvGeometry& geometry = problem.geometry;
  bool dilated = false;
  for (int i = 0; i < kSpatial; ++i) {
    dilated |= geometry.dilations[i] > 1 && geometry.kernel[i] > 1;
  }
  std::vector<ConvBands> all;
  for (const bool split : {false, true}) {
    if (dilated || !split) {
      all.emplace_back(geometry, problem.adjoint, split);
    }
  }
  return all;
}

// Elements of a panel, or more than any memory has.
int64_t PanelSize(const ConvTask& task, const ConvBands& bands,
                  const ConvKernel& kernel) {
  constexpr int64_t kMost = int64_t{1} << 50;
  const int64_t features_beside =
      kernel.family == ConvFamily::kOutputs ? kernel.lanes : 1;
  const int64_t registers = CeilDiv(task.source_features, features_beside);
  const int64_t stride = ConvPanelStride(bands, kernel);
  return registers > kMost / stride ? kMost : registers * stride;
}

// Whether blocks are copied, widened, gated or transposed before they are
// multiplied.
bool IsStaged(const ConvProblem& problem, const ConvKernel& kernel) {
  return problem.gate != nullptr ||
         SizeOf(problem.blocks_dtype) != kernel.compute_size ||
         (kernel.family == ConvFamily::kOutputs && problem.transpose);
}

// About as many tiles as all phases of the first band have.
double CountTiles(const ConvBands& bands, int pixels) {
  // The others have as many, but for those of a pixel more or fewer.
  constexpr int64_t kMostCounted = 64;
  const int64_t phases = bands.phases(0);
  const int64_t counted = std::min(phases, kMostCounted);
  std::vector<int64_t> cells;
  int64_t tiles = 0;
  for (int64_t phase = 0; phase < counted; ++phase) {
    bands.Tiles(0, phase, pixels, &cells);
    tiles += static_cast<int64_t>(cells.size());
  }
  return static_cast<double>(tiles) * static_cast<double>(phases) /
         static_cast<double>(counted);
}

// Tiles of a band whose sums are kept at a time, at most: one, if a target
// block's taps all fit into a chunk. A tile begins behind the last one's end.
int64_t KeptTiles(const ConvTask& task, const ConvBands& bands,
                  const ConvKernel& kernel) {
  const int64_t taps = task.tile_targets * task.kernel_taps *
                       CeilDiv(task.source_features, task.source_block);
  if (taps <= ConvChunkBlocks(task.source_block)) return 1;
  return CeilDiv(bands.most_positions() * bands.images(), kernel.pixels);
}

}  // namespace

ConvTask FirstConvTask(const ConvProblem& problem) {
  const Layout& layout = problem.layout;
  ConvTask task;
  task.problem = &problem;
  task.view = problem.transpose ? layout.transposed : layout.forward;
  task.source_features = problem.transpose ? problem.outputs : problem.inputs;
  task.target_features = problem.transpose ? problem.inputs : problem.outputs;
  task.source_block =
      problem.transpose ? layout.block_outputs : layout.block_inputs;
  task.target_block =
      problem.transpose ? layout.block_inputs : layout.block_outputs;
  task.target_blocks = CeilDiv(task.target_features, task.target_block);
  task.tile_targets =
      std::max<int>(1, kCacheLine / static_cast<int>(SizeOf(problem.x_dtype)) /
                           task.target_block);
  task.kernel_taps = problem.geometry.taps();
  const int64_t fine = problem.geometry.fine_pixels();
  const int64_t coarse = problem.geometry.coarse_pixels();
  task.source_pixels = problem.adjoint ? coarse : fine;
  task.target_pixels = problem.adjoint ? fine : coarse;
  return task;
}

// An odd number of cache lines, since features that are a power of two apart
// share few places of a cache. A tile may reach beyond the last cell.
int64_t ConvPanelStride(const ConvBands& bands, const ConvKernel& kernel) {
  const int64_t line = kCacheLine / kernel.compute_size;
  const int64_t cells = bands.most_cells() * bands.images() + kernel.pixels;
  if (kernel.family == ConvFamily::kOutputs) return (cells | 1) * kernel.lanes;
  return (CeilDiv(cells, line) | 1) * line;
}

ConvScratch ConvScratchOf(const ConvTask& task, const ConvKernel& kernel,
                          const ConvBands& bands) {
  const ConvProblem& problem = *task.problem;
  const size_t size = kernel.compute_size;
  ConvScratch scratch;
  scratch.zeros = AlignScratch(SizeOf(problem.x_dtype) * task.source_features);
  scratch.panel = AlignScratch(size * PanelSize(task, bands, kernel));
  // Two at least: one is written while the next is computed.
  scratch.sums =
      AlignScratch(size * std::max<int64_t>(2, KeptTiles(task, bands, kernel)) *
                   kernel.pixels * ConvTileFeatures(task, kernel.lanes));
  if (IsStaged(problem, kernel)) {
    scratch.staging = AlignScratch(size * ConvChunkBlocks(task.source_block) *
                                   task.source_block *
                                   static_cast<size_t>(task.target_block));
  }
  return scratch;
}

namespace {

// Cuts images into as large bands as fit the second-level cache, beside
// weights.
void CutToFit(const ConvTask& task, const ConvKernel& kernel, int64_t images,
              ConvBands* bands) {
  constexpr int64_t kPanelBytes = 768 << 10;
  // Bands whose pixels are mostly those that they share with others are worse
  // than ones that don't fit, up to this size or twice that of a single pixel's
  // band.
  constexpr int64_t kMostBytes = 16 << 20;
  constexpr int64_t kMostShared = 3;
  const auto cut_to = [&](const int64_t (&size)[kSpatial]) {
    bands->Cut(images, size);
    const ConvScratch scratch = ConvScratchOf(task, kernel, *bands);
    return static_cast<int64_t>(scratch.panel + scratch.sums);
  };
  int64_t size[kSpatial];
  for (int i = 0; i < kSpatial; ++i) size[i] = bands->count(i);
  if (cut_to(size) <= kPanelBytes) return;
  const int64_t most_bytes = std::max(kMostBytes, 2 * cut_to({1, 1, 1}));
  for (;;) {
    const int64_t bytes = cut_to(size);
    if (bytes <= kPanelBytes) return;
    double shared = 1;
    for (int i = 0; i < kSpatial; ++i) {
      shared *= 1 + static_cast<double>(bands->range(i)) / size[i];
    }
    if (bytes <= most_bytes && shared > kMostShared) return;
    if (!bands->CutFiner(&size)) return;
  }
}

// Whether a kernel takes the problem.
bool Takes(const ConvKernel& kernel, const ConvTask& task) {
  return kernel.family != ConvFamily::kOutputs ||
         (!task.problem->features_first &&
          task.source_block % kernel.lanes == 0 &&
          task.target_block % kernel.outputs == 0);
}

// What a cell of a tile costs beside one of the best, if an output has so many
// inputs. Vectors of outputs compute as quickly as vectors of pixels, but wait
// for the lines they write: measured with float32 and AVX-512 at 27 to 108
// inputs, for as long as 4 inputs take. Tiles with too few sums under way, and
// those of one register, are as slow as for products, see RowCost of matmul.cc.
double Slowness(const ConvTask& task, const ConvKernel& kernel, double inputs) {
  if (kernel.family == ConvFamily::kOutputs) {
    constexpr double kWaitInputs = 4;
    return 1 + kWaitInputs / std::max(1.0, inputs);
  }
  const int registers = kernel.pixels / kernel.lanes;
  const int sums = std::min<int>(kernel.outputs, task.target_block) * registers;
  if (sums < 8) return 2.3;
  if (sums < 16) return 1.3;
  return registers == 2 ? 1 : 1.1;
}

// Multiply-adds of all weights with one pixel.
double WeightsOf(const ConvTask& task) {
  const double blocks = static_cast<double>(task.view.nnz) * task.source_block *
                        task.target_block;
  return blocks * (task.problem->shared_taps ? task.kernel_taps : 1);
}

// Images beside each other: more fill tiles better where rows are short.
constexpr int64_t kMostImages = 16;

// The time of all bands in multiply-adds: of the tiles' cells, and of the
// copies of pixels to panels.
double Cost(const ConvTask& task, const ConvKernel& kernel,
            const ConvBands& bands) {
  // A copy of a pixel's feature takes as long as so many multiply-adds of one
  // in a register: transposed, a third of a cycle, in which 11 are done.
  // A copy of a pixel's feature takes as long as so many multiply-adds of one
  // in a register: transposed, a third of a cycle, in which 11 are done.
  const double copy = kernel.family == ConvFamily::kOutputs ? 4 : 11;
  const double tiles = CountTiles(bands, kernel.pixels) * kernel.pixels;
  const double cells = static_cast<double>(bands.cells(0) * bands.images());
  // Phases share the taps.
  const double weights = WeightsOf(task) / static_cast<double>(bands.phases(0));
  const double inputs =
      weights / (static_cast<double>(task.target_blocks) * task.target_block);
  const double band = tiles * weights * Slowness(task, kernel, inputs) +
                      cells * static_cast<double>(task.source_features) * copy;
  return band * static_cast<double>(
                    bands.bands() *
                    CeilDiv(task.problem->geometry.batch, bands.images()));
}

// One of several bands, how many images they have beside each other, and what
// that costs.
struct Choice {
  ConvBands* bands = nullptr;
  int64_t images = 1;
  double cost = 0;
};

// The best choice for a kernel.
Choice ChooseBands(const ConvTask& task, const ConvKernel& kernel,
                   std::vector<ConvBands>* all) {
  Choice best;
  for (ConvBands& bands : *all) {
    for (int64_t images = 1; images <= kMostImages; images *= 2) {
      if (images > 1 && images > task.problem->geometry.batch) break;
      CutToFit(task, kernel, images, &bands);
      const double cost = Cost(task, kernel, bands);
      if (best.bands == nullptr || cost < best.cost) {
        best = {&bands, images, cost};
      }
    }
  }
  return best;
}

// Bands, threads and scratch of a plan whose kernel is chosen.
void FinishPlan(const ConvTask& task, const Choice& choice, int threads,
                ConvPlan* plan) {
  CutToFit(task, *plan->kernel, choice.images, choice.bands);
  plan->bands = {std::move(*choice.bands)};
  const ConvGeometry& geometry = task.problem->geometry;
  const double coarse = static_cast<double>(geometry.coarse_pixels());
  const double batch = static_cast<double>(geometry.batch);
  const double elements =
      WeightsOf(task) +
      batch * (static_cast<double>(task.source_pixels) * task.source_features +
               static_cast<double>(task.target_pixels) * task.target_features);
  plan->threads =
      WorthwhileThreads(WeightsOf(task) * batch * coarse, elements, threads);
  const ConvScratch scratch =
      ConvScratchOf(task, *plan->kernel, plan->bands[0]);
  plan->scratch_bytes = scratch.zeros + plan->threads * scratch.WorkerBytes();
}

}  // namespace

ConvPlan PlanConvWith(const ConvKernel& kernel, const ConvProblem& problem,
                      int threads) {
  ConvPlan plan;
  const ConvTask task = FirstConvTask(problem);
  if (!Takes(kernel, task)) return plan;
  std::vector<ConvBands> bands = BandsOf(problem);
  plan.kernel = &kernel;
  FinishPlan(task, ChooseBands(task, kernel, &bands), threads, &plan);
  return plan;
}

ConvPlan PlanConv(const ConvProblem& problem, int threads, Isa isa) {
  ConvPlan plan;
  if (IsProduct(problem)) {
    plan.product = PlanMatmul(AsMatmul(problem), threads, isa);
    plan.scratch_bytes = plan.product.scratch_bytes;
    return plan;
  }
  const ConvTask task = FirstConvTask(problem);
  std::vector<ConvBands> bands = BandsOf(problem);
  const KernelList<ConvKernel> all = ConvKernels();
  Choice best;
  for (const ConvKernel* k = all.begin; k != all.end; ++k) {
    if (k->isa > isa || k->x_dtype != problem.x_dtype ||
        k->blocks_dtype != problem.blocks_dtype) {
      continue;
    }
    if (plan.kernel != nullptr && k->isa != plan.kernel->isa) break;
    if (!Takes(*k, task)) continue;
    const Choice choice = ChooseBands(task, *k, &bands);
    if (plan.kernel == nullptr || choice.cost < best.cost) {
      best = choice;
      plan.kernel = k;
    }
  }
  if (plan.kernel != nullptr) FinishPlan(task, best, threads, &plan);
  return plan;
}

}  // namespace blocksparse
