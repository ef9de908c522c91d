// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The tile that a Config asks for: sums of products of two operands, made by
// one block of threads.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_TILE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_TILE_CU_H_

#include <cstdint>

#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/plain_tile.cu.h"
#include "cc/kernels/cuda/tensor_tile.cu.h"

namespace blocksparse {
namespace cuda {

template <typename Config, bool kTensor = Config::kTensor>
struct TileOf {
  using type = PlainTile<Config>;
};
template <typename Config>
struct TileOf<Config, true> {
  using type = TensorTile<Config>;
};
template <typename Config>
using Tile = typename TileOf<Config>::type;

// Adds up the parts of a tile that blocks of threads have left, the first one
// first, and finishes the sums.
template <typename Config, typename Finish>
__device__ __forceinline__ void JoinParts(const typename Config::Sum* parts,
                                          int32_t count, int64_t stride,
                                          const Finish& finish) {
  for (int i = ThreadIndex(); i < Config::kLeft * Config::kRight;
       i += Config::kThreads) {
    typename Config::Sum sum = 0;
    for (int32_t part = 0; part < count; ++part) {
      sum += parts[part * stride + i];
    }
    finish(i / Config::kRight, i % Config::kRight, sum);
  }
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_TILE_CU_H_
