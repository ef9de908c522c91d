// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The tile that a Config asks for: sums of products of two operands, made by
// one block of threads.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_TILE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_TILE_CU_H_

#include "cc/kernels/cuda/config.h"
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

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_TILE_CU_H_
