// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The kernels there are: a row for each, made by kernels_*.cu.cc.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_KERNEL_TABLE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_KERNEL_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/kernels/cuda/arguments.h"
#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/matmul.h"

namespace blocksparse {
namespace cuda {

// What a row says of its Config, and the launches of its two kernels: the
// product, and the sum of its parts.
template <typename Arguments>
struct KernelRow {
  const char* name;
  Path path;
  Dtype x_dtype;
  Dtype blocks_dtype;
  int left;
  int right;
  // Of tensor cores' operands.
  bool left_along;
  bool right_along;
  int sum_size;
  std::string (*run)(const Arguments& arguments, int64_t blocks, void* stream);
  std::string (*join)(const Arguments& arguments, int64_t blocks, void* stream);
};

struct MatmulKernel : KernelRow<MatmulArguments> {};
struct SampledMatmulKernel : KernelRow<SampledMatmulArguments> {};

// Best first: those of one GPU alone, tensor cores, vectors, elements; of each,
// tiles grow.
const std::vector<MatmulKernel>& MatmulKernels();
const std::vector<SampledMatmulKernel>& SampledMatmulKernels();

// Whether a kernel computes a problem on a device: types, axes, alignment, and
// what the device has.
bool Takes(const MatmulKernel& kernel, const MatmulProblem& problem,
           const Device& device);
bool Takes(const SampledMatmulKernel& kernel,
           const SampledMatmulProblem& problem, const Device& device);

// Copies a plan's table to the GPU, on the stream.
std::string CopyTable(const int32_t* table, size_t count, void* device,
                      void* stream);

// Each file's rows.
void AddHopperKernels(std::vector<MatmulKernel>* matmul,
                      std::vector<SampledMatmulKernel>* sampled);
void AddFloat16Kernels(std::vector<MatmulKernel>* matmul,
                       std::vector<SampledMatmulKernel>* sampled);
void AddBFloat16Kernels(std::vector<MatmulKernel>* matmul,
                        std::vector<SampledMatmulKernel>* sampled);
void AddTf32Kernels(std::vector<MatmulKernel>* matmul,
                    std::vector<SampledMatmulKernel>* sampled);
void AddVectorKernels(std::vector<MatmulKernel>* matmul,
                      std::vector<SampledMatmulKernel>* sampled);
void AddElementKernels(std::vector<MatmulKernel>* matmul,
                       std::vector<SampledMatmulKernel>* sampled);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_KERNEL_TABLE_H_
