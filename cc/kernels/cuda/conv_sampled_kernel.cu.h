// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The derivative of a convolution for its blocks, for one kind of operands and
// one tile: a sampled product whose rows are the coarse pixels of a pass, its
// left side what these meet on the fine side, tap by tap of each block.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_SAMPLED_KERNEL_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_SAMPLED_KERNEL_CU_H_

#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/conv_arguments.h"
#include "cc/kernels/cuda/conv_kernel.cu.h"
#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/sampled_matmul_kernel.cu.h"
#include "cc/kernels/cuda/tile.cu.h"

namespace blocksparse {
namespace cuda {

// A coarse pixel. From the first one of a pass to another it is a few
// multiplications, without a division.
struct CoarsePixel {
  uint32_t at[kSpatial];
  uint32_t image;

  static __device__ __forceinline__ CoarsePixel
  Of(const ConvSampledArguments& p, int64_t row) {
    CoarsePixel first = {};
    // Less than 2^32, as all pixels of a side are.
    return first.Ahead(p, static_cast<uint32_t>(row));
  }

  // Sums of a coordinate and of the rows of a pass are less than 2^32.
  __device__ __forceinline__ CoarsePixel Ahead(const ConvSampledArguments& p,
                                               uint32_t rows) const {
    CoarsePixel ahead;
    uint32_t carry = rows;
#pragma unroll
    for (int d = kSpatial - 1; d >= 0; --d) {
      const uint32_t sum = at[d] + carry;
      carry = DivideUnsigned(sum, p.coarse_size[d]);
      ahead.at[d] = sum - carry * p.coarse_size[d].value;
    }
    ahead.image = image + carry;
    return ahead;
  }
};

// What is at a left side of a task: a block's number on the fine side.
struct SampledSide {
  ConvEntry entry;
  int32_t tap;      // of the block's
  int32_t within;   // the block, along the fine side's features
  int64_t feature;  // of the fine side

  __device__ __forceinline__ bool Find(const ConvSampledArguments& p,
                                       const SampledTask& task, int side) {
    const int32_t place = task.first + side;
    const int32_t unit = Divide(place, p.fine_block);
    const int32_t count = Divide(unit, p.block_taps);
    if (task.begin + count >= task.end) return false;
    entry = p.entries[task.begin + count];
    tap = unit - count * p.block_taps.value;
    within = place - unit * p.fine_block.value;
    feature = int64_t{entry.source} * p.fine_block.value + within;
    return true;
  }
};

// The fine side: [row, left].
template <typename T_>
struct ConvSampledLeft {
  using T = T_;

  const ConvSampledArguments& p;
  const SampledTask& task;
  const Pass& pass;
  const CoarsePixel& first;  // of the pass

  __device__ __forceinline__ const T* base() const {
    return static_cast<const T*>(p.a);
  }
  __device__ __forceinline__ bool along() const {
    return p.fine.features_first;
  }
  template <typename Sum>
  __device__ __forceinline__ const T* At(int depth, int side,
                                         Sum* scale) const {
    *scale = 1;
    SampledSide found;
    if (pass.begin + depth >= pass.end || !found.Find(p, task, side) ||
        found.feature >= p.fine.features) {
      return nullptr;
    }
    const ConvTap tap = p.taps[found.entry.tap + found.tap];
    const CoarsePixel coarse = first.Ahead(p, depth);
    uint32_t at[kSpatial];
    bool inside = true;
#pragma unroll
    for (int d = 0; d < kSpatial; ++d) {
      const int64_t fine =
          int64_t{coarse.at[d]} * p.strides[d] - p.padding[d] + tap.shift[d];
      inside = inside && fine >= 0 && fine < p.fine.size[d];
      at[d] = static_cast<uint32_t>(fine);
    }
    if (!inside) return nullptr;
    return base() +
           PlaceOf(p.fine, coarse.image, PixelAt(p.fine, at), found.feature);
  }
};

// The coarse side: [row, right].
template <typename T_>
struct ConvSampledRight {
  using T = T_;

  const ConvSampledArguments& p;
  const SampledTask& task;
  const Pass& pass;
  const CoarsePixel& first;

  __device__ __forceinline__ const T* base() const {
    return static_cast<const T*>(p.b);
  }
  __device__ __forceinline__ bool along() const {
    return p.coarse.features_first;
  }
  template <typename Sum>
  __device__ __forceinline__ const T* At(int depth, int side,
                                         Sum* scale) const {
    *scale = 1;
    const int64_t row = pass.begin + depth;
    const int32_t within = task.offset + side;
    const int64_t feature = int64_t{task.target} * p.coarse_block + within;
    if (row >= pass.end || within >= p.coarse_block ||
        feature >= p.coarse.features) {
      return nullptr;
    }
    if (!p.coarse.features_first) {
      return base() + row * p.coarse.features + feature;
    }
    const CoarsePixel coarse = first.Ahead(p, depth);
    return base() + PlaceOf(p.coarse, coarse.image,
                            PixelAt(p.coarse, coarse.at), feature);
  }
};

// Sums on their way to the blocks, as SampledFinish.
template <typename T, typename Sum>
struct ConvSampledFinish {
  const ConvSampledArguments& p;
  const SampledTask& task;
  Sum* parts;
  int32_t right_size;

  __device__ __forceinline__ bool left_first() const {
    return parts == nullptr && p.transpose;
  }

  __device__ __forceinline__ void operator()(int left, int right,
                                             Sum sum) const {
    if (parts != nullptr) {
      parts[left * right_size + right] = sum;
      return;
    }
    const int32_t coarse = task.offset + right;
    SampledSide found;
    if (coarse >= p.coarse_block || !found.Find(p, task, left)) return;
    const Sum gate = p.gate == nullptr ? 1 : p.gate[found.entry.block];
    const bool counts =
        gate != 0 && found.feature < p.fine.features &&
        int64_t{task.target} * p.coarse_block + coarse < p.coarse.features;
    const int32_t row = p.transpose ? coarse : found.within;
    const int32_t column = p.transpose ? found.within : coarse;
    const int64_t matrix =
        int64_t{found.entry.block} * p.block_taps.value + found.tap;
    const int64_t size = int64_t{p.fine_block.value} * p.coarse_block;
    static_cast<T*>(p.blocks)[matrix * size + row * p.block_outputs + column] =
        FromSum<T>(counts ? gate * sum : Sum(0));
  }
};

template <typename Config, typename Blocks>
__global__ void __launch_bounds__(Config::kThreads, Config::kBlocksTogether)
    ConvSampledTiles(const ConvSampledArguments p) {
  using T = typename Config::Left;
  const SampledTask task = p.tasks[BlockIndex() % p.task_count];
  const Pass pass(p, BlockIndex() / p.task_count);
  const CoarsePixel first = CoarsePixel::Of(p, pass.begin);
  Tile<Config> tile;
  tile.Accumulate(ConvSampledLeft<T>{p, task, pass, first},
                  ConvSampledRight<T>{p, task, pass, first},
                  static_cast<int>(pass.end - pass.begin));
  FinishPass<Config, ConvSampledFinish<Blocks, typename Config::Sum>>(&tile, p,
                                                                      task);
}

template <typename Config, typename Blocks>
__global__ void __launch_bounds__(Config::kThreads)
    JoinConvSampledPasses(const ConvSampledArguments p) {
  JoinPasses<Config, ConvSampledFinish<Blocks, typename Config::Sum>>(p);
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_SAMPLED_KERNEL_CU_H_
