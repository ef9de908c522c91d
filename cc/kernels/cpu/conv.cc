// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/conv.h"

#include <algorithm>
#include <cstring>
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

// Elements of the panel from one feature to the next: an odd number of cache
// lines, since features that are a power of two apart share few places of a
// cache. A tile may reach beyond the last cell.
int64_t PanelStride(const ConvBands& bands, const ConvKernel& kernel) {
  const int64_t line = kCacheLine / kernel.compute_size;
  const int64_t cells = bands.cells() * bands.images() + kernel.pixels;
  if (kernel.family == ConvFamily::kOutputs) return (cells | 1) * kernel.lanes;
  return (CeilDiv(cells, line) | 1) * line;
}

// Elements of a panel.
int64_t PanelSize(const ConvTask& task, const ConvBands& bands,
                  const ConvKernel& kernel) {
  const int64_t features_beside =
      kernel.family == ConvFamily::kOutputs ? kernel.lanes : 1;
  return PanelStride(bands, kernel) *
         CeilDiv(task.source_features, features_beside);
}

// Whether blocks are copied, widened, gated or transposed before they are
// multiplied.
bool IsStaged(const ConvProblem& problem, const ConvKernel& kernel) {
  return problem.gate != nullptr ||
         SizeOf(problem.blocks_dtype) != kernel.compute_size ||
         (kernel.family == ConvFamily::kOutputs && problem.transpose);
}

struct Scratch {
  size_t zeros = 0;  // of everyone
  size_t panel = 0;
  size_t sums = 0;
  size_t staging = 0;
  size_t WorkerBytes() const { return panel + sums + staging; }
};

Scratch ScratchOf(const ConvTask& task, const ConvKernel& kernel,
                  const ConvBands& bands, int64_t tiles) {
  const ConvProblem& problem = *task.problem;
  const size_t size = kernel.compute_size;
  Scratch scratch;
  scratch.zeros = AlignScratch(SizeOf(problem.x_dtype) * task.source_features);
  scratch.panel = AlignScratch(size * PanelSize(task, bands, kernel));
  // Two at least: one is written while the next is computed.
  scratch.sums =
      AlignScratch(size * std::max<int64_t>(2, tiles) * kernel.pixels *
                   ConvTileFeatures(task, kernel.lanes));
  if (IsStaged(problem, kernel)) {
    scratch.staging = AlignScratch(size * ConvChunkBlocks(task.source_block) *
                                   task.source_block *
                                   static_cast<size_t>(task.target_block));
  }
  return scratch;
}

// What the tiles of all bands cost, in cells.
int64_t Cells(const ConvBands& bands, int64_t batch, int64_t rows,
              int64_t* most_tiles) {
  std::vector<int64_t> tiles;
  int64_t cells = 0;
  *most_tiles = 0;
  for (int64_t phase = 0; phase < bands.phases(); ++phase) {
    bands.Tiles(0, phase, rows, &tiles);
    cells += static_cast<int64_t>(tiles.size()) * rows;
    *most_tiles =
        std::max<int64_t>(*most_tiles, static_cast<int64_t>(tiles.size()));
  }
  return cells * bands.bands() * CeilDiv(batch, bands.images());
}

// Cuts images into as large bands as fit the second-level cache, beside
// weights.
void CutToFit(const ConvTask& task, const ConvKernel& kernel, int64_t images,
              ConvBands* bands) {
  constexpr int64_t kPanelBytes = 768 << 10;
  int64_t size[kSpatial];
  for (int i = 0; i < kSpatial; ++i) size[i] = bands->axis(i).count;
  for (;;) {
    bands->Cut(images, size);
    const int64_t bytes = PanelSize(task, *bands, kernel) * kernel.compute_size;
    if (bytes <= kPanelBytes) return;
    // The outermost dimension that has enough pixels beside those that bands
    // share, or else the longest.
    int cut = kSpatial - 1;
    for (int i = 0; i < kSpatial; ++i) {
      if (size[i] > size[cut]) cut = i;
    }
    for (int i = kSpatial - 1; i >= 0; --i) {
      if (size[i] > 4 * (bands->axis(i).range + 1)) cut = i;
    }
    if (size[cut] == 1) return;
    const int64_t parts = CeilDiv(bands->axis(cut).count, size[cut]) + 1;
    int64_t cut_size = CeilDiv(bands->axis(cut).count, parts);
    size[cut] = std::min(size[cut] - 1, cut_size);
  }
}

// Where the pixels of all tiles are in y, or -1.
void TilePixels(const ConvTask& task, const ConvBands& bands,
                const std::vector<int64_t>& target,
                const std::vector<int64_t>& tiles, int rows,
                std::vector<int64_t>* pixels) {
  const int64_t step = task.problem->features_first ? 1 : task.target_features;
  const int64_t image_step = task.target_pixels * task.target_features;
  pixels->clear();
  for (const int64_t tile : tiles) {
    int64_t position = tile / task.images;
    int64_t image = tile % task.images;
    for (int i = 0; i < rows; ++i) {
      const int64_t pixel =
          position < bands.positions() ? target[position] : -1;
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

}  // namespace

ConvPlan PlanConv(const ConvProblem& problem, int threads, Isa isa) {
  ConvPlan plan;
  if (IsProduct(problem)) {
    plan.product = PlanMatmul(AsMatmul(problem), threads, isa);
    plan.scratch_bytes = plan.product.scratch_bytes;
    return plan;
  }
  const ConvTask task = FirstTask(problem);
  const KernelList<ConvKernel> all = ConvKernels();
  double best = 0;
  for (const ConvKernel* k = all.begin; k != all.end; ++k) {
    if (k->isa > isa || k->x_dtype != problem.x_dtype ||
        k->blocks_dtype != problem.blocks_dtype) {
      continue;
    }
    if (plan.kernel != nullptr && k->isa != plan.kernel->isa) break;
    const double slow = Slowness(task, *k);
    if (slow == 0) continue;
    for (int64_t images = 1; images <= 16; images *= 2) {
      if (images > 1 && images > problem.geometry.batch) break;
      ConvBands bands(problem.geometry, problem.adjoint);
      CutToFit(task, *k, images, &bands);
      int64_t tiles;
      const double cost =
          slow * Cells(bands, problem.geometry.batch, k->pixels, &tiles);
      if (plan.kernel == nullptr || cost < best) {
        best = cost;
        plan.kernel = k;
        plan.bands = {bands};
        plan.tiles = tiles;
      }
    }
  }
  if (plan.kernel == nullptr) return plan;
  const int64_t pixels = problem.geometry.batch * task.target_pixels;
  plan.threads = WorthwhileThreads(problem.layout, pixels, threads);
  const Scratch scratch =
      ScratchOf(task, *plan.kernel, plan.bands[0], plan.tiles);
  plan.scratch_bytes = scratch.zeros + plan.threads * scratch.WorkerBytes();
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
  const Scratch sizes = ScratchOf(task, kernel, bands, plan.tiles);
  Executor limited = executor;
  limited.threads = plan.threads;
  char* const memory = static_cast<char*>(scratch);
  std::memset(memory, 0, sizes.zeros);

  // What a worker knows of the band in its panel.
  struct Worker {
    int64_t band = -1;
    int64_t image_band = -1;
    std::vector<int64_t> source;
  };
  struct Phase {
    std::vector<ConvTap> taps;
    std::vector<int64_t> offsets;
  };
  std::vector<Phase> phases(bands.phases());
  for (int64_t i = 0; i < bands.phases(); ++i) {
    Phase& phase = phases[i];
    phase.taps = bands.Taps(i);
    phase.offsets.assign(task.kernel_taps, -1);
    for (const ConvTap& tap : phase.taps) phase.offsets[tap.tap] = tap.offset;
  }
  std::vector<Worker> workers(plan.threads);
  const int64_t image_groups = CeilDiv(problem.geometry.batch, bands.images());
  const int64_t all_bands = image_groups * bands.bands();
  const int64_t parts =
      std::min(CeilDiv(TasksFor(plan.threads), all_bands), task.target_blocks);
  ParallelFor(limited, all_bands * parts, [&](int64_t index, int number) {
    const int64_t band = index / parts;
    const int64_t part = index % parts;
    const int64_t image_band = band % bands.bands();
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
    t.image = band / bands.bands() * t.images;
    t.present = std::min(t.images, problem.geometry.batch - t.image);
    if ((band + 1) * parts < OwnTasksEnd(limited, all_bands * parts, number)) {
      // Roughly: bands share the pixels at their edges.
      const int64_t size = static_cast<int64_t>(SizeOf(problem.x_dtype));
      const int64_t image = (band + 1) / bands.bands() * t.images;
      const int64_t images = std::min(t.images, problem.geometry.batch - image);
      const int64_t place = (band + 1) % bands.bands();
      const int64_t x_image = task.source_pixels * task.source_features * size;
      const int64_t y_image = task.target_pixels * task.target_features * size;
      t.next_x_bytes = images * x_image / bands.bands();
      t.next_y_bytes = images * y_image / bands.bands();
      t.next_x = static_cast<const char*>(problem.x) + image * x_image +
                 place * t.next_x_bytes;
      t.next_y = static_cast<const char*>(problem.y) + image * y_image +
                 place * t.next_y_bytes;
    }
    t.cells = bands.cells();
    if (worker.image_band != image_band) {
      bands.Sources(image_band, &worker.source);
      worker.image_band = image_band;
    }
    t.source = worker.source.data();
    if (worker.band != band) kernel.pack(t);
    worker.band = band;
    std::vector<int64_t> target;
    std::vector<int64_t> tiles;
    std::vector<int64_t> pixels;
    for (int64_t i = 0; i < bands.phases(); ++i) {
      bands.Targets(image_band, i, &target);
      bands.Tiles(image_band, i, kernel.pixels, &tiles);
      t.taps = phases[i].taps.data();
      t.tap_count = static_cast<int64_t>(phases[i].taps.size());
      t.tap_offsets = phases[i].offsets.data();
      TilePixels(t, bands, target, tiles, kernel.pixels, &pixels);
      t.pixels = pixels.data();
      t.tiles = tiles.data();
      t.tile_count = static_cast<int64_t>(tiles.size());
      kernel.run(t);
    }
  });
}

}  // namespace blocksparse
