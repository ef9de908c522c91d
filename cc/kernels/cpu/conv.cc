// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/conv.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cc/base/round_up.h"
#include "cc/kernels/cpu/conv_product.h"
#include "cc/kernels/cpu/conv_table.h"
#include "cc/kernels/cpu/worth.h"
#include "cc/layout/partition.h"

namespace blocksparse {
namespace {

// The first task of a problem: what all its tasks share.
ConvTask FirstTask(const ConvProblem& problem) {
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
  const ConvGeometry& geometry = problem.geometry;
  const int64_t fine = geometry.fine[0] * geometry.fine[1] * geometry.fine[2];
  const int64_t coarse =
      geometry.coarse[0] * geometry.coarse[1] * geometry.coarse[2];
  task.source_pixels = problem.adjoint ? coarse : fine;
  task.target_pixels = problem.adjoint ? fine : coarse;
  return task;
}

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

// Elements of the panel from one feature to the next: an odd number of cache
// lines, since features that are a power of two apart share few places of a
// cache. A tile may reach beyond the last cell.
int64_t PanelStride(const ConvBands& bands, const ConvKernel& kernel) {
  const int64_t line = kCacheLine / kernel.compute_size;
  const int64_t cells = bands.most_cells() * bands.images() + kernel.pixels;
  if (kernel.family == ConvFamily::kOutputs) return (cells | 1) * kernel.lanes;
  return (CeilDiv(cells, line) | 1) * line;
}

// Elements of a panel, or more than any memory has.
int64_t PanelSize(const ConvTask& task, const ConvBands& bands,
                  const ConvKernel& kernel) {
  constexpr int64_t kMost = int64_t{1} << 50;
  const int64_t features_beside =
      kernel.family == ConvFamily::kOutputs ? kernel.lanes : 1;
  const int64_t registers = CeilDiv(task.source_features, features_beside);
  const int64_t stride = PanelStride(bands, kernel);
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

struct Scratch {
  size_t zeros = 0;  // of everyone
  size_t panel = 0;
  size_t sums = 0;
  size_t staging = 0;
  size_t WorkerBytes() const { return panel + sums + staging; }
};

Scratch ScratchOf(const ConvTask& task, const ConvKernel& kernel,
                  const ConvBands& bands) {
  const ConvProblem& problem = *task.problem;
  const size_t size = kernel.compute_size;
  Scratch scratch;
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

// Cuts images into as large bands as fit the second-level cache, beside
// weights.
void CutToFit(const ConvTask& task, const ConvKernel& kernel, int64_t images,
              ConvBands* bands) {
  constexpr int64_t kPanelBytes = 768 << 10;
  // Bands whose pixels are mostly those that they share with others are worse
  // than ones that don't fit, up to this size or
  // twice that of a single pixel's band.
  constexpr int64_t kMostBytes = 16 << 20;
  constexpr int64_t kMostShared = 3;
  const auto cut_to = [&](const int64_t (&size)[kSpatial]) {
    bands->Cut(images, size);
    const Scratch scratch = ScratchOf(task, kernel, *bands);
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

// Where the pixels of all tiles are in y, or -1.
void TilePixels(const ConvTask& task, const std::vector<int64_t>& target,
                const std::vector<int64_t>& tiles, int rows,
                std::vector<int64_t>* pixels) {
  const int64_t step = task.problem->features_first ? 1 : task.target_features;
  const int64_t image_step = task.target_pixels * task.target_features;
  const int64_t positions = static_cast<int64_t>(target.size());
  pixels->clear();
  for (const int64_t tile : tiles) {
    int64_t position = tile / task.images;
    int64_t image = tile % task.images;
    for (int i = 0; i < rows; ++i) {
      const int64_t pixel = position < positions ? target[position] : -1;
      pixels->push_back(pixel < 0 || image >= task.present
                            ? -1
                            : (task.image + image) * image_step + pixel * step);
      if (++image == task.images) {
        image = 0;
        ++position;
      }
    }
  }
}

// Copies the task's features of the first pixel to all those that are not in
// the first tile.
void RepeatPixel(const ConvTask& task, const std::vector<int64_t>& pixels,
                 int tile_pixels) {
  const ConvProblem& problem = *task.problem;
  const int64_t size = static_cast<int64_t>(SizeOf(problem.x_dtype));
  const int64_t first = task.target_begin * task.target_block;
  const int64_t end =
      std::min(task.target_end * task.target_block, task.target_features);
  for (void* const to : {problem.y, problem.preactivation}) {
    if (to == nullptr) continue;
    char* const features = static_cast<char*>(to) + first * size;
    const char* const from = features + pixels[0] * size;
    for (size_t i = tile_pixels; i < pixels.size(); ++i) {
      if (pixels[i] < 0) continue;
      std::memcpy(features + pixels[i] * size, from, (end - first) * size);
    }
  }
}

// Tells a task which pixels the same worker takes after it: about those of band
// `next` of all image groups, since bands share the pixels at their edges.
void SetNext(int64_t next, const ConvBands& bands, ConvTask* task) {
  const ConvProblem& problem = *task->problem;
  const int64_t image = next / bands.bands() * bands.images();
  const int64_t images =
      std::min(bands.images(), problem.geometry.batch - image);
  const int64_t band = next % bands.bands();
  const int64_t size = static_cast<int64_t>(SizeOf(problem.x_dtype));
  const int64_t x_image = task->source_pixels * task->source_features * size;
  const int64_t y_image = task->target_pixels * task->target_features * size;
  task->next_x_bytes = images * x_image / bands.bands();
  task->next_y_bytes = images * y_image / bands.bands();
  task->next_x = static_cast<const char*>(problem.x) + image * x_image +
                 band * task->next_x_bytes;
  task->next_y = static_cast<const char*>(problem.y) + image * y_image +
                 band * task->next_y_bytes;
}

// What a cell of a tile costs beside one of the best, or 0 if the kernel can't
// take the problem. Measured with float32 and AVX-512, 3 x 3, at 115 to 1150
// inputs an output: vectors of outputs compute a little quicker than vectors of
// pixels, but wait longer for the lines they write. Tiles with too few sums
// under way, and those of one register, are as slow as for products, see
// RowCost of matmul.cc.
double Slowness(const ConvTask& task, const ConvKernel& kernel) {
  const ConvProblem& problem = *task.problem;
  if (kernel.family == ConvFamily::kOutputs) {
    if (problem.features_first || task.source_block % kernel.lanes != 0 ||
        task.target_block % kernel.outputs != 0) {
      return 0;
    }
    constexpr double kWaitInputs = 15;
    const double inputs = static_cast<double>(task.view.nnz) *
                          task.source_block / task.target_blocks *
                          (problem.shared_taps ? task.kernel_taps : 1);
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
  const double copy = kernel.family == ConvFamily::kOutputs ? 4 : 11;
  const double tiles = CountTiles(bands, kernel.pixels) * kernel.pixels;
  const double cells = static_cast<double>(bands.cells(0) * bands.images());
  // Phases share the taps.
  const double weights = WeightsOf(task) / static_cast<double>(bands.phases(0));
  const double band = tiles * weights * Slowness(task, kernel) +
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
  const double coarse = static_cast<double>(
      geometry.coarse[0] * geometry.coarse[1] * geometry.coarse[2]);
  const double batch = static_cast<double>(geometry.batch);
  const double elements =
      WeightsOf(task) +
      batch * (static_cast<double>(task.source_pixels) * task.source_features +
               static_cast<double>(task.target_pixels) * task.target_features);
  plan->threads =
      WorthwhileThreads(WeightsOf(task) * batch * coarse, elements, threads);
  const Scratch scratch = ScratchOf(task, *plan->kernel, plan->bands[0]);
  plan->scratch_bytes = scratch.zeros + plan->threads * scratch.WorkerBytes();
}

}  // namespace

ConvPlan PlanConvWith(const ConvKernel& kernel, const ConvProblem& problem,
                      int threads) {
  ConvPlan plan;
  const ConvTask task = FirstTask(problem);
  if (Slowness(task, kernel) == 0) return plan;
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
  const ConvTask task = FirstTask(problem);
  std::vector<ConvBands> bands = BandsOf(problem);
  const KernelList<ConvKernel> all = ConvKernels();
  Choice best;
  for (const ConvKernel* k = all.begin; k != all.end; ++k) {
    if (k->isa > isa || k->x_dtype != problem.x_dtype ||
        k->blocks_dtype != problem.blocks_dtype) {
      continue;
    }
    if (plan.kernel != nullptr && k->isa != plan.kernel->isa) break;
    if (Slowness(task, *k) == 0) continue;
    const Choice choice = ChooseBands(task, *k, &bands);
    if (plan.kernel == nullptr || choice.cost < best.cost) {
      best = choice;
      plan.kernel = k;
    }
  }
  if (plan.kernel != nullptr) FinishPlan(task, best, threads, &plan);
  return plan;
}

void RunConv(const ConvProblem& problem, const ConvPlan& plan,
             const Executor& executor, void* scratch) {
  if (plan.kernel == nullptr) {
    RunMatmul(AsMatmul(problem), plan.product, executor, scratch);
    return;
  }
  const ConvKernel& kernel = *plan.kernel;
  const ConvBands& bands = plan.bands[0];
  const ConvTask task = FirstTask(problem);
  const Scratch sizes = ScratchOf(task, kernel, bands);
  Executor limited = executor;
  limited.threads = plan.threads;
  char* const memory = static_cast<char*>(scratch);
  std::memset(memory, 0, sizes.zeros);

  // What a worker knows of the band in its panel.
  struct Worker {
    int64_t image_group = -1;
    int64_t band = -1;
    std::vector<int64_t> source;
  };
  std::vector<Worker> workers(plan.threads);
  const int64_t image_groups = CeilDiv(problem.geometry.batch, bands.images());
  const int64_t all_bands = image_groups * bands.bands();
  const int64_t parts =
      std::min(CeilDiv(TasksFor(plan.threads), all_bands), task.target_blocks);
  ParallelFor(limited, all_bands * parts, [&](int64_t index, int number) {
    const int64_t image_group = index / parts / bands.bands();
    const int64_t band = index / parts % bands.bands();
    const int64_t part = index % parts;
    Worker& worker = workers[number];
    char* const own = memory + sizes.zeros + number * sizes.WorkerBytes();
    ConvTask t = task;
    t.zeros = memory;
    t.panel = own;
    t.sums = own + sizes.panel;
    if (sizes.staging != 0) t.staging = own + sizes.panel + sizes.sums;
    t.panel_stride = PanelStride(bands, kernel);
    if (kernel.family == ConvFamily::kOutputs) {
      t.cell_stride = kernel.lanes;
      t.block_stride = t.source_block / kernel.lanes * t.panel_stride;
      t.transpose_staged = problem.transpose;
    } else {
      t.cell_stride = 1;
      t.block_stride = t.source_block * t.panel_stride;
    }
    t.target_begin = task.target_blocks * part / parts;
    t.target_end = task.target_blocks * (part + 1) / parts;
    t.images = bands.images();
    t.image = image_group * t.images;
    t.present = std::min(t.images, problem.geometry.batch - t.image);
    if (index - part + parts <
        OwnTasksEnd(limited, all_bands * parts, number)) {
      SetNext(index / parts + 1, bands, &t);
    }
    t.cells = bands.cells(band);
    if (worker.band != band) bands.Sources(band, &worker.source);
    t.source = worker.source.data();
    if (worker.band != band || worker.image_group != image_group) {
      kernel.pack(t);
    }
    worker.band = band;
    worker.image_group = image_group;
    std::vector<int64_t> target;
    std::vector<int64_t> tiles;
    std::vector<int64_t> pixels;
    std::vector<int64_t> offsets(problem.shared_taps ? 0 : task.kernel_taps,
                                 -1);
    for (int64_t i = 0; i < bands.phases(band); ++i) {
      bands.Tiles(band, i, kernel.pixels, &tiles);
      if (tiles.empty()) continue;
      bands.Targets(band, i, &target);
      TilePixels(t, target, tiles, kernel.pixels, &pixels);
      const std::vector<ConvTap> taps = bands.Taps(band, i);
      for (const ConvTap& tap : taps) {
        if (!problem.shared_taps) offsets[tap.tap] = tap.offset;
      }
      t.taps = taps.data();
      t.tap_count = static_cast<int64_t>(taps.size());
      t.tap_offsets = offsets.data();
      t.pixels = pixels.data();
      t.tiles = tiles.data();
      // Without taps all pixels are alike, as are three of four in the
      // derivative of a 1 x 1 convolution with strides of 2.
      const bool alike = taps.empty() && !problem.features_first;
      t.tile_count = alike ? 1 : static_cast<int64_t>(tiles.size());
      kernel.run(t);
      if (alike) RepeatPixel(t, pixels, kernel.pixels);
      for (const ConvTap& tap : taps) {
        if (!problem.shared_taps) offsets[tap.tap] = -1;
      }
    }
  });
}

}  // namespace blocksparse
