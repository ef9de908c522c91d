// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Makes rows of the tables of kernels, for kernels_*.cu.cc.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_INSTANTIATE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_INSTANTIATE_CU_H_

#include "cc/kernels/cuda/kernel_table.h"
#include "cc/kernels/cuda/matmul_kernel.cu.h"
#include "cc/kernels/cuda/sampled_matmul_kernel.cu.h"

namespace blocksparse {
namespace cuda {

template <typename T>
constexpr Dtype DtypeOf();
template <>
constexpr Dtype DtypeOf<float>() {
  return Dtype::kFloat32;
}
template <>
constexpr Dtype DtypeOf<double>() {
  return Dtype::kFloat64;
}
template <>
constexpr Dtype DtypeOf<BFloat16>() {
  return Dtype::kBFloat16;
}
template <>
constexpr Dtype DtypeOf<Float16>() {
  return Dtype::kFloat16;
}

// A tile of many rows of x reads the blocks seldom; one of 64 inputs fits the
// few blocks that an output has.
constexpr int kMatmulLeft = 128;
constexpr int kSampledLeft = 64;

// A row without its launches.
template <typename Row, typename Config>
Row DescribedRow(const char* name, Dtype blocks_dtype) {
  Row row;
  row.name = name;
  row.path = Config::kPath;
  row.x_dtype = DtypeOf<typename Config::Left>();
  row.blocks_dtype = blocks_dtype;
  row.left = Config::kLeft;
  row.right = Config::kRight;
  row.left_along = Config::kLeftAlong;
  row.right_along = Config::kRightAlong;
  row.sum_size = sizeof(typename Config::Sum);
  return row;
}

template <typename Config>
MatmulKernel MatmulRow(const char* name) {
  auto row = DescribedRow<MatmulKernel, Config>(
      name, DtypeOf<typename Config::Right>());
  row.run = [](const MatmulArguments& arguments, int64_t blocks, void* stream) {
    return Launch(MatmulTiles<Config>, blocks, Config::kThreads,
                  Tile<Config>::kSharedBytes, stream, arguments);
  };
  row.join = [](const MatmulArguments& arguments, int64_t blocks,
                void* stream) {
    return Launch(JoinMatmulParts<Config>, blocks, Config::kThreads, 0, stream,
                  arguments);
  };
  return row;
}

template <typename Config, typename Blocks>
SampledMatmulKernel SampledMatmulRow(const char* name) {
  auto row = DescribedRow<SampledMatmulKernel, Config>(name, DtypeOf<Blocks>());
  row.run = [](const SampledMatmulArguments& arguments, int64_t blocks,
               void* stream) {
    return Launch(SampledMatmulTiles<Config, Blocks>, blocks, Config::kThreads,
                  Tile<Config>::kSharedBytes, stream, arguments);
  };
  row.join = [](const SampledMatmulArguments& arguments, int64_t blocks,
                void* stream) {
    return Launch(JoinSampledMatmulPasses<Config, Blocks>, blocks,
                  Config::kThreads, 0, stream, arguments);
  };
  return row;
}

// Rows of tensor cores for one width of tiles: x of rows and of features first,
// W and its transpose.
#define BLOCKSPARSE_TENSOR_ROWS(T, TYPE, RIGHT)                                \
  matmul->push_back(                                                           \
      MatmulRow<Config<T, T, Path::kTensor, kMatmulLeft, RIGHT, true, false>>( \
          "matmul_tensor_" #TYPE "_128x" #RIGHT "_rows_forward"));             \
  matmul->push_back(                                                           \
      MatmulRow<Config<T, T, Path::kTensor, kMatmulLeft, RIGHT, true, true>>(  \
          "matmul_tensor_" #TYPE "_128x" #RIGHT "_rows_transpose"));           \
  matmul->push_back(                                                           \
      MatmulRow<                                                               \
          Config<T, T, Path::kTensor, kMatmulLeft, RIGHT, false, false>>(      \
          "matmul_tensor_" #TYPE "_128x" #RIGHT "_features_forward"));         \
  matmul->push_back(                                                           \
      MatmulRow<Config<T, T, Path::kTensor, kMatmulLeft, RIGHT, false, true>>( \
          "matmul_tensor_" #TYPE "_128x" #RIGHT "_features_transpose"));       \
  sampled->push_back(                                                          \
      SampledMatmulRow<                                                        \
          Config<T, T, Path::kTensor, kSampledLeft, RIGHT, false, false>, T>(  \
          "sampled_matmul_tensor_" #TYPE "_64x" #RIGHT "_rows"));              \
  sampled->push_back(                                                          \
      SampledMatmulRow<                                                        \
          Config<T, T, Path::kTensor, kSampledLeft, RIGHT, true, true>, T>(    \
          "sampled_matmul_tensor_" #TYPE "_64x" #RIGHT "_features"))

// Calls ROWS for every pair of types of x and of blocks that an op takes.
#define BLOCKSPARSE_FOR_EACH_PAIR(ROWS) \
  ROWS(float, f32, float, f32);         \
  ROWS(double, f64, double, f64);       \
  ROWS(BFloat16, bf16, BFloat16, bf16); \
  ROWS(Float16, f16, Float16, f16);     \
  ROWS(float, f32, BFloat16, bf16);     \
  ROWS(float, f32, Float16, f16)

// Rows of multiply-adds, for any axes and either direction.
#define BLOCKSPARSE_PLAIN_ROWS(PATH, PATH_NAME, TX, X, TB, B, RIGHT)     \
  matmul->push_back(MatmulRow<Config<TX, TB, PATH, kMatmulLeft, RIGHT>>( \
      "matmul_" PATH_NAME "_" #X "_" #B "_128x" #RIGHT));                \
  sampled->push_back(                                                    \
      SampledMatmulRow<Config<TX, TX, PATH, kSampledLeft, RIGHT>, TB>(   \
          "sampled_matmul_" PATH_NAME "_" #X "_" #B "_64x" #RIGHT))

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_INSTANTIATE_CU_H_
