// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// `conv` for one kind of operands and one tile: a product whose rows are the
// target pixels of a phase, and whose depth are the features of x that its taps
// bring, tap by tap of each block.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_KERNEL_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_KERNEL_CU_H_

#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/conv_arguments.h"
#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/output.cu.h"
#include "cc/kernels/cuda/tile.cu.h"

namespace blocksparse {
namespace cuda {

// The place of a pixel's feature. `at` are its coordinates.
__device__ __forceinline__ int64_t PlaceOf(const ConvSide& side, uint32_t image,
                                           uint32_t pixel, int64_t feature) {
  return side.features_first
             ? (image * side.features + feature) * side.pixels + pixel
             : (int64_t{image} * side.pixels + pixel) * side.features + feature;
}

__device__ __forceinline__ uint32_t PixelAt(const ConvSide& side,
                                            const uint32_t (&at)[kSpatial]) {
  return (at[0] * side.size[1] + at[1]) * side.size[2] + at[2];
}

// Where a row of a tile begins to read x: coordinates to which a tap adds its
// shift. Those below 0 are large numbers, those that no tap brings back into
// the image are the largest of int32.
struct alignas(16) SourcePixel {
  uint32_t at[kSpatial];
  uint32_t image;
};

// The pixels of a tile's rows, in shared memory: found once, for all steps.
template <typename Config>
class TilePixels {
 public:
  static constexpr size_t kSharedBytes =
      Config::kLeft * (sizeof(SourcePixel) + sizeof(uint32_t));

  __device__ __forceinline__ TilePixels(unsigned char* shared)
      : sources_(reinterpret_cast<SourcePixel*>(shared)),
        targets_(reinterpret_cast<uint32_t*>(sources_ + Config::kLeft)) {}

  // A barrier has to follow. False if there is no such row, for all threads
  // alike.
  __device__ __forceinline__ bool Find(const ConvArguments& p,
                                       const ConvPhase& phase,
                                       int64_t first_row) {
    const int64_t rows = p.batch * phase.count[0] * phase.count[1] *
                         static_cast<int64_t>(phase.count[2]);
    if (first_row >= rows) return false;
    for (int side = ThreadIndex(); side < Config::kLeft;
         side += Config::kThreads) {
      SourcePixel source;
      uint32_t target = kNowhere;
      if (first_row + side < rows) {
        // Less than 2^32, as all pixels of a side are.
        auto row = static_cast<uint32_t>(first_row + side);
        uint32_t pitch = 1;
        target = 0;
#pragma unroll
        for (int d = kSpatial - 1; d >= 0; --d) {
          const auto count = static_cast<uint32_t>(phase.count[d]);
          const uint32_t i = row % count;
          row /= count;
          const int64_t at = int64_t{i} * p.source_step[d] + phase.lowest[d];
          source.at[d] = static_cast<uint32_t>(at < kBeyond ? at : kBeyond);
          target += (phase.first[d] + i * p.target_step[d]) * pitch;
          pitch *= p.target.size[d];
        }
        source.image = row;
      } else {
#pragma unroll
        for (uint32_t& at : source.at) at = kBeyond;
        source.image = 0;
      }
      sources_[side] = source;
      targets_[side] = target;
    }
    return true;
  }

  __device__ __forceinline__ SourcePixel source(int side) const {
    return sources_[side];
  }

  // Where rows are in y, as MatmulRows.
  struct Rows {
    using Arguments = ConvArguments;

    const ConvArguments& p;
    const TilePixels& pixels;

    __device__ __forceinline__ bool features_first() const {
      return p.target.features_first;
    }
    __device__ __forceinline__ int64_t At(int left, int64_t feature) const {
      const uint32_t pixel = pixels.targets_[left];
      if (pixel == kNowhere) return -1;
      return PlaceOf(p.target, pixels.sources_[left].image, pixel, feature);
    }
  };

 private:
  static constexpr uint32_t kNowhere = 0xffffffffu;  // no image has as many
  static constexpr int64_t kBeyond = 0x7fffffff;

  SourcePixel* sources_;
  uint32_t* targets_;
};

// What is at a depth of a task.
struct ConvDepth {
  using Arguments = ConvArguments;
  using Task = ConvTask;

  int64_t block;    // which matrix of `blocks`
  int64_t feature;  // of x
  int32_t within;   // its place in the block
  float gate;
  ConvTap tap;

  // As that of matmul.
  __device__ __forceinline__ bool Find(const ConvArguments& p,
                                       const ConvTask& task, int depth) {
    const int32_t unit = Divide(depth, p.source_block);
    const int32_t count = Divide(unit, task.taps);
    if (task.begin + count >= task.end) return false;
    within = depth - unit * p.source_block.value;
    const ConvEntry entry = p.entries[task.begin + count];
    feature = int64_t{entry.source} * p.source_block.value + within;
    gate = p.gate == nullptr ? 1 : p.gate[entry.block];
    tap = p.taps[task.first_tap + entry.tap + unit - count * task.taps.value];
    block = int64_t{entry.block} * p.block_taps;
    if (p.block_taps > 1) block += tap.number;
    return feature < p.source.features && gate != 0;
  }
};

// x: [depth, pixel].
template <typename T_, typename Pixels>
struct ConvLeft {
  using T = T_;

  const ConvArguments& p;
  const ConvTask& task;
  const Pixels& pixels;

  __device__ __forceinline__ const T* base() const {
    return static_cast<const T*>(p.x);
  }
  __device__ __forceinline__ bool along() const {
    return !p.source.features_first;
  }
  template <typename Sum>
  __device__ __forceinline__ const T* At(int depth, int side,
                                         Sum* scale) const {
    *scale = 1;
    ConvDepth found;
    if (!found.Find(p, task, depth)) return nullptr;
    const SourcePixel pixel = pixels.source(side);
    uint32_t at[kSpatial];
    bool inside = true;
#pragma unroll
    for (int d = 0; d < kSpatial; ++d) {
      at[d] = pixel.at[d] + found.tap.shift[d];
      inside = inside && at[d] < p.source.size[d];
    }
    if (!inside) return nullptr;
    return base() +
           PlaceOf(p.source, pixel.image, PixelAt(p.source, at), found.feature);
  }
};

template <typename Config>
struct ConvShared {
  // Pixels lie behind the tile, whose shared memory is used again for sums.
  static constexpr size_t kPixelsBegin =
      (Tile<Config>::kSharedBytes + 15) / 16 * 16;
  static constexpr size_t kBytes =
      kPixelsBegin + TilePixels<Config>::kSharedBytes;
  static_assert(kBytes <= 48 * 1024, "what a block has unasked");
};

template <typename Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksTogether)
    ConvTiles(const ConvArguments p) {
  using Pixels = TilePixels<Config>;
  const TilePlace place(p);
  const ConvTask task = p.tasks[place.task];
  Pixels pixels(SharedMemory() + ConvShared<Config>::kPixelsBegin);
  if (!pixels.Find(p, p.phases[task.phase],
                   int64_t{place.row_tile} * Config::kLeft)) {
    return;
  }
  SyncThreads();
  Tile<Config> tile;
  tile.Accumulate(
      ConvLeft<typename Config::Left, Pixels>{p, task, pixels},
      BlocksRight<typename Config::Right, ConvDepth>{p, task},
      (task.end - task.begin) * task.taps.value * p.source_block.value);
  FinishTask<Config>(&tile, p, task, place.row_tile,
                     typename Pixels::Rows{p, pixels});
}

// Adds up the parts of split tiles, as JoinMatmulParts.
template <typename Config>
__global__ void __launch_bounds__(Config::kThreads)
    JoinConvParts(const ConvArguments p) {
  using Pixels = TilePixels<Config>;
  const ConvSplit split = p.splits[BlockIndex() / p.row_tiles];
  const int32_t row_tile = BlockIndex() % p.row_tiles;
  Pixels pixels(SharedMemory());
  if (!pixels.Find(p, p.phases[split.phase],
                   int64_t{row_tile} * Config::kLeft)) {
    return;
  }
  SyncThreads();
  JoinSplit<Config>(p, split, row_tile, typename Pixels::Rows{p, pixels});
}

// Pixels that no tap meets have bias and activation alone. All of y gets them
// ahead of the tiles, which write over the others.
template <typename T, typename Sum>
__global__ void __launch_bounds__(kFillThreads)
    FillConv(const ConvFillArguments p) {
  for (int64_t at = int64_t{BlockIndex()} * kFillThreads + ThreadIndex();
       at < p.size; at += p.threads) {
    const int64_t feature =
        (p.target.features_first ? at / p.target.pixels : at) %
        p.target.features;
    StoreOutput<T>(p, feature, at, Sum(0));
  }
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_KERNEL_CU_H_
