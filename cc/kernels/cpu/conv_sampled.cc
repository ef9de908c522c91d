// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "cc/base/round_up.h"
#include "cc/kernels/conv_product.h"
#include "cc/kernels/cpu/conv.h"
#include "cc/kernels/cpu/conv_table.h"
#include "cc/kernels/cpu/sampled_parts.h"
#include "cc/kernels/cpu/worth.h"

namespace blocksparse {
namespace {

// Cells that taps of a group may be apart: each is multiplied for all of the
// group, a sixteenth of what they do anyway.
int64_t MostExtra(const ConvSampledTask& task) {
  return task.positions / (16 * task.images) * task.images;
}

// The task of a problem, as far as all its tasks share it.
ConvSampledTask FirstTask(const ConvSampledProblem& problem,
                          const ConvBands& bands) {
  const ConvGeometry& geometry = problem.geometry;
  ConvSampledTask task;
  task.problem = &problem;
  task.kernel_taps = geometry.taps();
  task.images = bands.images();
  task.positions = bands.most_positions() * bands.images();
  ConvSide& fine = problem.adjoint ? task.b : task.a;
  ConvSide& coarse = problem.adjoint ? task.a : task.b;
  fine.pixels = problem.fine;
  fine.image_pixels = geometry.fine_pixels();
  fine.cells = bands.most_cells();
  coarse.pixels = problem.coarse;
  coarse.image_pixels = geometry.coarse_pixels();
  coarse.cells = bands.most_positions();
  task.a.features = problem.inputs;
  task.b.features = problem.outputs;
  task.a.block = problem.layout.block_inputs;
  task.b.block = problem.layout.block_outputs;
  task.b_margin = problem.adjoint ? 0 : MostExtra(task);
  task.b_panel_cells = task.b.cells * task.images + 2 * task.b_margin;
  return task;
}

// The taps in groups whose outputs are read from cells that are not far apart.
std::vector<ConvTapGroup> GroupTaps(const ConvSampledTask& task,
                                    const std::vector<ConvTap>& taps,
                                    const std::vector<ConvTap>& dead) {
  std::vector<ConvTapGroup> groups;
  for (size_t i = 0; i < taps.size(); ++i) {
    const int64_t extra =
        groups.empty() ? 0 : taps[i].offset - groups.back().taps[0].offset;
    if (groups.empty() || (!task.problem->adjoint && extra > MostExtra(task))) {
      groups.push_back({&taps[i], 0, 0, true});
    } else {
      groups.back().extra = extra;
    }
    ++groups.back().count;
  }
  if (!dead.empty()) {
    groups.push_back(
        {dead.data(), static_cast<int64_t>(dead.size()), 0, false});
  }
  return groups;
}

struct Scratch {
  int64_t passes = 0;  // bands of some images
  int64_t parts = 0;
  size_t zeros = 0;
  size_t partial = 0;
  size_t b_panel = 0;  // of each worker that has a part of its own
  size_t a_panel = 0;  // of each worker
};

Scratch ScratchOf(const ConvSampledProblem& problem,
                  const ConvSampledKernel& kernel, const ConvBands& bands) {
  const ConvSampledTask task = FirstTask(problem, bands);
  const size_t size = kernel.compute_size;
  const int64_t block = task.a.block;
  const int64_t strip_blocks =
      std::min(ConvStripBlocks(block), CeilDiv(task.a.features, block));
  const ConvSampledPadding padding = kernel.padding(block, task.b.block);
  Scratch scratch;
  scratch.zeros = AlignScratch(SizeOf(problem.x_dtype) *
                               std::max(task.a.features, task.b.features));
  scratch.b_panel = AlignScratch(size * CeilDiv(task.b.features, task.b.block) *
                                 padding.outputs * task.b_panel_cells);
  scratch.a_panel = AlignScratch(size * strip_blocks * padding.inputs *
                                 task.a.cells * task.images);
  const int64_t batch = problem.geometry.batch;
  scratch.passes = bands.bands() * CeilDiv(batch, bands.images());
  const size_t sums = size * problem.layout.nnz * block * task.b.block *
                      (problem.shared_taps ? task.kernel_taps : 1);
  scratch.parts = SampledPartsFor(
      scratch.passes, batch * problem.geometry.coarse_pixels(), sums);
  if (scratch.parts > 1 ||
      (scratch.passes > 1 &&
       SizeOf(problem.blocks_dtype) != kernel.compute_size)) {
    scratch.partial = AlignScratch(scratch.parts * sums);
  }
  return scratch;
}

// Bands whose outputs fill about half of a second-level cache, and their inputs
// not much more, or twice what those of a single pixel do, of images that share
// registers; more images where that is not yet so.
void CutToFit(const ConvSampledProblem& problem,
              const ConvSampledKernel& kernel, ConvBands* bands) {
  constexpr size_t kOutputBytes = 1 << 20;
  constexpr size_t kInputBytes = 2 << 20;
  int64_t size[kSpatial];
  for (int i = 0; i < kSpatial; ++i) {
    size[i] = std::max<int64_t>(1, bands->count(i));
  }
  const Layout& layout = problem.layout;
  int64_t images =
      kernel.padding(layout.block_inputs, layout.block_outputs).images;
  bands->Cut(images, {1, 1, 1});
  const Scratch least = ScratchOf(problem, kernel, *bands);
  const size_t outputs = std::max(kOutputBytes, 2 * least.b_panel);
  const size_t inputs = std::max(kInputBytes, 2 * least.a_panel);
  const auto fits = [&](size_t share) {
    bands->Cut(images, size);
    const Scratch scratch = ScratchOf(problem, kernel, *bands);
    return scratch.b_panel <= outputs / share &&
           scratch.a_panel <= inputs / share;
  };
  while (!fits(1) && bands->CutFiner(&size)) {
  }
  while (images < problem.geometry.batch && fits(2)) images *= 2;
  fits(1);
}

}  // namespace

ConvSampledPlan PlanConvSampled(const ConvSampledProblem& problem, int threads,
                                Isa isa) {
  ConvSampledPlan plan;
  if (IsProduct(problem)) {
    plan.product = PlanSampledMatmul(AsSampledMatmul(problem), threads, isa);
    plan.scratch_bytes = plan.product.scratch_bytes;
    return plan;
  }
  const KernelList<ConvSampledKernel> all = ConvSampledKernels();
  for (const ConvSampledKernel* k = all.begin;
       k != all.end && plan.kernel == nullptr; ++k) {
    if (k->isa <= isa && k->x_dtype == problem.x_dtype &&
        k->blocks_dtype == problem.blocks_dtype) {
      plan.kernel = k;
    }
  }
  if (plan.kernel == nullptr) return plan;
  ConvBands bands(problem.geometry, /*adjoint=*/false,
                  /*split_dilation=*/false);
  CutToFit(problem, *plan.kernel, &bands);
  plan.bands = {std::move(bands)};
  const double batch = static_cast<double>(problem.geometry.batch);
  const double fine =
      batch * static_cast<double>(problem.geometry.fine_pixels());
  const double coarse =
      batch * static_cast<double>(problem.geometry.coarse_pixels());
  const double weights = static_cast<double>(problem.layout.nnz) *
                         problem.layout.block_inputs *
                         problem.layout.block_outputs *
                         (problem.shared_taps ? problem.geometry.taps() : 1);
  plan.threads = WorthwhileThreads(
      weights * coarse,
      weights + (problem.adjoint ? coarse : fine) * problem.inputs +
          (problem.adjoint ? fine : coarse) * problem.outputs,
      threads);
  const Scratch scratch = ScratchOf(problem, *plan.kernel, plan.bands[0]);
  plan.scratch_bytes =
      scratch.zeros + scratch.partial +
      SampledPanels(scratch.parts, plan.threads) * scratch.b_panel +
      plan.threads * scratch.a_panel;
  return plan;
}

void RunConvSampled(const ConvSampledProblem& problem,
                    const ConvSampledPlan& plan, const Executor& executor,
                    void* scratch) {
  if (plan.kernel == nullptr) {
    RunSampledMatmul(AsSampledMatmul(problem), plan.product, executor, scratch);
    return;
  }
  const ConvSampledKernel& kernel = *plan.kernel;
  const ConvBands& bands = plan.bands[0];
  const Scratch sizes = ScratchOf(problem, kernel, bands);
  Executor limited = executor;
  limited.threads = plan.threads;
  char* const zeros = static_cast<char*>(scratch);
  char* const partial = zeros + sizes.zeros;
  char* const b_panels = partial + sizes.partial;
  char* const a_panels =
      b_panels + SampledPanels(sizes.parts, plan.threads) * sizes.b_panel;
  std::memset(zeros, 0, sizes.zeros);

  ConvSampledTask task = FirstTask(problem, bands);
  std::vector<ConvTap> taps = bands.Taps(0, 0);
  std::vector<ConvTap> dead;
  for (int64_t t = 0, i = 0; t < task.kernel_taps; ++t) {
    // Taps are in the order of the kernel.
    const bool live = i < static_cast<int64_t>(taps.size()) && taps[i].tap == t;
    if (live) {
      ++i;
    } else {
      dead.push_back({t, 0});
    }
  }
  std::sort(taps.begin(), taps.end(), [](const ConvTap& a, const ConvTap& b) {
    return a.offset < b.offset;
  });
  const std::vector<ConvTapGroup> groups = GroupTaps(task, taps, dead);
  task.groups = groups.data();
  task.group_count = static_cast<int64_t>(groups.size());
  task.zeros = zeros;
  task.joined = sizes.parts > 1;
  const int64_t output_blocks = CeilDiv(task.b.features, task.b.block);
  const int64_t pairs =
      CeilDiv(task.a.features, task.a.block) * task.group_count;
  const int64_t image_groups = CeilDiv(problem.geometry.batch, bands.images());

  SampledJoin join;
  join.layout = &problem.layout;
  join.copies = problem.shared_taps ? task.kernel_taps : 1;
  join.taps = problem.shared_taps ? 1 : task.kernel_taps;
  join.inputs = problem.inputs;
  join.gate = problem.gate;
  join.partial = partial;
  join.parts = sizes.parts;
  join.blocks = problem.blocks;
  RunPasses(limited, sizes.passes, sizes.parts, [&](const SampledPass& pass) {
    const int64_t band = pass.pass / image_groups;
    std::vector<int64_t> sources;
    std::vector<int64_t> targets;
    bands.Sources(band, &sources);
    bands.Targets(band, 0, &targets);
    ConvSampledTask shared = task;
    (problem.adjoint ? shared.b : shared.a).source = sources.data();
    (problem.adjoint ? shared.a : shared.b).source = targets.data();
    shared.image = pass.pass % image_groups * task.images;
    shared.present =
        std::min(task.images, problem.geometry.batch - shared.image);
    shared.first_pass = pass.first;
    shared.last_pass = !task.joined && pass.pass + 1 == sizes.passes;
    shared.b_panel = b_panels + pass.worker * sizes.b_panel;
    shared.partial =
        sizes.partial == 0
            ? problem.blocks
            : partial + pass.part * join.elements() * kernel.compute_size;
    const int64_t tasks = TasksFor(pass.executor.threads);
    ParallelFor(pass.executor, tasks, [&](int64_t i, int) {
      ConvSampledTask t = shared;
      t.begin = output_blocks * i / tasks;
      t.end = output_blocks * (i + 1) / tasks;
      kernel.pack(t);
    });
    std::vector<int64_t> strips(pass.executor.threads, -1);
    ParallelFor(pass.executor, tasks, [&](int64_t i, int worker) {
      ConvSampledTask t = shared;
      t.a_panel = a_panels + (pass.worker + worker) * sizes.a_panel;
      t.strip = &strips[worker];
      t.begin = pairs * i / tasks;
      t.end = pairs * (i + 1) / tasks;
      kernel.run(t);
    });
  });
  if (sizes.parts > 1) RunJoin(limited, join, kernel.join);
}

}  // namespace blocksparse
