// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Makes rows of the tables of convolutions' kernels, for conv_*.cu.cc.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_INSTANTIATE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_INSTANTIATE_CU_H_

#include "cc/kernels/cuda/conv_kernel.cu.h"
#include "cc/kernels/cuda/conv_sampled_kernel.cu.h"
#include "cc/kernels/cuda/conv_table.h"
#include "cc/kernels/cuda/instantiate.cu.h"

namespace blocksparse {
namespace cuda {

template <typename Config>
ConvKernel ConvRow(const char* name) {
  auto row =
      DescribedRow<ConvKernel, Config>(name, DtypeOf<typename Config::Right>());
  row.run = [](const ConvArguments& arguments, int64_t blocks, void* stream) {
    return Launch(ConvTiles<Config>, blocks, Config::kThreads,
                  ConvShared<Config>::kBytes, stream, arguments);
  };
  row.join = [](const ConvArguments& arguments, int64_t blocks, void* stream) {
    return Launch(JoinConvParts<Config>, blocks, Config::kThreads,
                  TilePixels<Config>::kSharedBytes, stream, arguments);
  };
  row.fill = [](const ConvFillArguments& arguments, int64_t blocks,
                void* stream) {
    return Launch(FillConv<typename Config::Left, typename Config::Sum>, blocks,
                  kFillThreads, 0, stream, arguments);
  };
  return row;
}

template <typename Config, typename Blocks>
ConvSampledKernel ConvSampledRow(const char* name) {
  auto row = DescribedRow<ConvSampledKernel, Config>(name, DtypeOf<Blocks>());
  row.run = [](const ConvSampledArguments& arguments, int64_t blocks,
               void* stream) {
    return Launch(ConvSampledTiles<Config, Blocks>, blocks, Config::kThreads,
                  Tile<Config>::kSharedBytes, stream, arguments);
  };
  row.join = [](const ConvSampledArguments& arguments, int64_t blocks,
                void* stream) {
    return Launch(JoinConvSampledPasses<Config, Blocks>, blocks,
                  Config::kThreads, 0, stream, arguments);
  };
  return row;
}

// Rows of tensor cores for one width of tiles: W and its transpose.
#define BLOCKSPARSE_TENSOR_CONV_ROWS(T, TYPE, RIGHT)                          \
  conv->push_back(                                                            \
      ConvRow<Config<T, T, Path::kTensor, kMatmulLeft, RIGHT, true, false>>(  \
          "conv_tensor_" #TYPE "_128x" #RIGHT "_forward"));                   \
  conv->push_back(                                                            \
      ConvRow<Config<T, T, Path::kTensor, kMatmulLeft, RIGHT, true, true>>(   \
          "conv_tensor_" #TYPE "_128x" #RIGHT "_transpose"));                 \
  sampled->push_back(                                                         \
      ConvSampledRow<                                                         \
          Config<T, T, Path::kTensor, kSampledLeft, RIGHT, false, false>, T>( \
          "conv_sampled_tensor_" #TYPE "_64x" #RIGHT))

// Rows of multiply-adds, for any axes and either direction.
#define BLOCKSPARSE_PLAIN_CONV_ROWS(PATH, PATH_NAME, TX, X, TB, B, RIGHT) \
  conv->push_back(ConvRow<Config<TX, TB, PATH, kMatmulLeft, RIGHT>>(      \
      "conv_" PATH_NAME "_" #X "_" #B "_128x" #RIGHT));                   \
  sampled->push_back(                                                     \
      ConvSampledRow<Config<TX, TX, PATH, kSampledLeft, RIGHT>, TB>(      \
          "conv_sampled_" PATH_NAME "_" #X "_" #B "_64x" #RIGHT))

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_INSTANTIATE_CU_H_
