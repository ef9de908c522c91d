// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/conv.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cc/base/round_up.h"
#include "cc/kernels/conv_product.h"
#include "cc/kernels/cpu/conv_plan.h"
#include "cc/kernels/cpu/worth.h"

namespace blocksparse {
namespace {

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

// The features of x that have blocks, by the view that is multiplied: nobody
// has validated the other one.
std::vector<FeatureRange> UsedFeatures(const ConvTask& task) {
  const bool by_row = !task.problem->shared_taps && !task.problem->transpose;
  const int64_t taps = by_row ? task.kernel_taps : 1;
  std::vector<bool> has_blocks(
      CeilDiv(task.source_features, task.source_block));
  for (int64_t e = 0; e < task.view.nnz; ++e) {
    has_blocks[task.view.index[e] / taps] = true;
  }
  std::vector<FeatureRange> used;
  for (size_t block = 0; block < has_blocks.size(); ++block) {
    if (!has_blocks[block]) continue;
    const int64_t begin = static_cast<int64_t>(block) * task.source_block;
    const int64_t end =
        std::min(begin + task.source_block, task.source_features);
    if (!used.empty() && used.back().end == begin) {
      used.back().end = end;
    } else {
      used.push_back({begin, end});
    }
  }
  return used;
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
  const int64_t y_image = task->target_pixels * task->target_features * size;
  task->next_y_bytes = images * y_image / bands.bands();
  task->next_y = static_cast<const char*>(problem.y) + image * y_image +
                 band * task->next_y_bytes;
  if (task->used_count == 0) return;
  const int64_t pixels = images * task->source_pixels / bands.bands();
  const int64_t pixel = task->source_features * size;
  task->next_x = static_cast<const char*>(problem.x) +
                 (image * task->source_pixels + band * pixels) * pixel;
  // Of each pixel what lies between the first used feature and the last one.
  const int64_t first = task->used[0].begin * size;
  const int64_t end = task->used[task->used_count - 1].end * size;
  if (problem.features_first || end - first == pixel) {
    task->next_x_rows = 1;
    task->next_x_bytes = pixels * pixel;
  } else {
    task->next_x = static_cast<const char*>(task->next_x) + first;
    task->next_x_stride = pixel;
    task->next_x_rows = pixels;
    task->next_x_bytes = end - first;
  }
}

}  // namespace

void RunConv(const ConvProblem& problem, const ConvPlan& plan,
             const Executor& executor, void* scratch) {
  if (plan.kernel == nullptr) {
    RunMatmul(AsMatmul(problem), plan.product, executor, scratch);
    return;
  }
  const ConvKernel& kernel = *plan.kernel;
  const ConvBands& bands = plan.bands[0];
  ConvTask task = FirstConvTask(problem);
  const ConvScratch sizes = ConvScratchOf(task, kernel, bands);
  const std::vector<FeatureRange> used = UsedFeatures(task);
  task.used = used.data();
  task.used_count = static_cast<int64_t>(used.size());
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
    t.panel_stride = ConvPanelStride(bands, kernel);
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
