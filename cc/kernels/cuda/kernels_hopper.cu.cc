// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// 16-bit blocks of multiples of 64 on GPUs of compute capability 9.0. There are
// none unless they are compiled for it (cc/bazel/cuda.bzl), or emulated.
#include "cc/kernels/cuda/instantiate.cu.h"

#if defined(TF_BLOCKSPARSE_SM90A) || defined(TF_BLOCKSPARSE_CUDA_EMULATOR)

#include "cc/kernels/cuda/hopper_kernel.cu.h"

namespace blocksparse {
namespace cuda {
namespace {

// Copies from a product's operands, then its kernel.
template <typename Config, typename Arguments>
std::string LaunchHopper(void (*kernel)(HopperArguments<Arguments>),
                         const Arguments& arguments, int64_t blocks,
                         void* stream) {
  using T = typename Config::Left;
  const TensorViews views = ViewsOf(arguments, std::is_same_v<T, BFloat16>);
  HopperArguments<Arguments> p;
  p.arguments = arguments;
  std::string error = MakeTensorMap(views.left, &p.left);
  if (error.empty()) error = MakeTensorMap(views.right, &p.right);
  if (!error.empty()) return error;
  return Launch(kernel, blocks, Config::kThreads,
                HopperTile<Config>::kSharedBytes, stream, p);
}

template <typename Config>
MatmulKernel HopperMatmulRow(const char* name) {
  using T = typename Config::Left;
  auto row = DescribedRow<MatmulKernel, Config>(name, DtypeOf<T>());
  row.run = [](const MatmulArguments& arguments, int64_t blocks, void* stream) {
    return LaunchHopper<Config>(HopperMatmulTiles<Config>, arguments, blocks,
                                stream);
  };
  row.join = [](const MatmulArguments& arguments, int64_t blocks,
                void* stream) {
    return Launch(JoinMatmulParts<Config>, blocks, Config::kThreads, 0, stream,
                  arguments);
  };
  return row;
}

template <typename Config>
SampledMatmulKernel HopperSampledMatmulRow(const char* name) {
  using T = typename Config::Left;
  auto row = DescribedRow<SampledMatmulKernel, Config>(name, DtypeOf<T>());
  row.run = [](const SampledMatmulArguments& arguments, int64_t blocks,
               void* stream) {
    return LaunchHopper<Config>(HopperSampledMatmulTiles<Config>, arguments,
                                blocks, stream);
  };
  row.join = [](const SampledMatmulArguments& arguments, int64_t blocks,
                void* stream) {
    return Launch(JoinSampledMatmulPasses<Config, T>, blocks, Config::kThreads,
                  0, stream, arguments);
  };
  return row;
}

template <typename T, int kLeft, int kRight, bool kLeftAlong, bool kRightAlong>
using Hopper =
    Config<T, T, Path::kHopper, kLeft, kRight, kLeftAlong, kRightAlong>;

#define ROWS(T, TYPE, RIGHT)                                                \
  matmul->push_back(                                                        \
      HopperMatmulRow<Hopper<T, kMatmulLeft, RIGHT, true, false>>(          \
          "matmul_hopper_" #TYPE "_128x" #RIGHT "_rows_forward"));          \
  matmul->push_back(                                                        \
      HopperMatmulRow<Hopper<T, kMatmulLeft, RIGHT, true, true>>(           \
          "matmul_hopper_" #TYPE "_128x" #RIGHT "_rows_transpose"));        \
  matmul->push_back(                                                        \
      HopperMatmulRow<Hopper<T, kMatmulLeft, RIGHT, false, false>>(         \
          "matmul_hopper_" #TYPE "_128x" #RIGHT "_features_forward"));      \
  matmul->push_back(                                                        \
      HopperMatmulRow<Hopper<T, kMatmulLeft, RIGHT, false, true>>(          \
          "matmul_hopper_" #TYPE "_128x" #RIGHT "_features_transpose"));    \
  sampled->push_back(                                                       \
      HopperSampledMatmulRow<Hopper<T, kSampledLeft, RIGHT, false, false>>( \
          "sampled_matmul_hopper_" #TYPE "_64x" #RIGHT "_rows"));           \
  sampled->push_back(                                                       \
      HopperSampledMatmulRow<Hopper<T, kSampledLeft, RIGHT, true, true>>(   \
          "sampled_matmul_hopper_" #TYPE "_64x" #RIGHT "_features"))

}  // namespace

void AddHopperKernels(std::vector<MatmulKernel>* matmul,
                      std::vector<SampledMatmulKernel>* sampled) {
  ROWS(Float16, f16, 64);
  ROWS(Float16, f16, 128);
  ROWS(BFloat16, bf16, 64);
  ROWS(BFloat16, bf16, 128);
}

#undef ROWS

}  // namespace cuda
}  // namespace blocksparse

#else

namespace blocksparse {
namespace cuda {

void AddHopperKernels(std::vector<MatmulKernel>*,
                      std::vector<SampledMatmulKernel>*) {}

}  // namespace cuda
}  // namespace blocksparse

#endif
