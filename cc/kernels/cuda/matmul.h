// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Block-sparse products on a GPU: pick a kernel, say how much memory of the
// GPU it needs, run it. For hosts: neither CUDA's headers nor its compiler are
// needed. The layout of a problem lies in host memory and must have passed
// ParseLayout and, for the view that is read, ValidateView; all other memory is
// the GPU's.
//
// Functions return an empty string, or what is wrong: what was got, what is
// expected, what to do.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_MATMUL_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_MATMUL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/kernels/problem.h"

namespace blocksparse {
namespace cuda {

// Scratch handed to a Run function must start at a multiple of this.
constexpr size_t kScratchAlignment = 256;

// What is to be known of a GPU.
struct Device {
  int capability = 0;  // 80 for compute capability 8.0
  int multiprocessors = 0;
  // Whether products of float32 may be made of TF32.
  bool tensor_float_32 = false;
  // Whether to choose kernels for compute capability 9.0 alone, which have not
  // been run on a GPU so far.
  bool hopper = false;
};

struct MatmulKernel;  // see kernel_table.h
struct SampledMatmulKernel;

// A plan holds what a kernel reads of the layout, so the layout may go.
struct MatmulPlan {
  const MatmulKernel* kernel = nullptr;
  // Tasks, splits, indices and numbers of blocks, to be copied to the GPU.
  std::vector<int32_t> table;
  int64_t task_count = 0;
  int64_t split_count = 0;
  int64_t row_tiles = 0;
  int64_t splits_begin = 0;  // in the table; tasks are its first numbers
  int64_t index_begin = 0;
  int64_t block_id_begin = 0;
  size_t parts_begin = 0;    // in the scratch, whose begin is the table
  size_t scratch_bytes = 0;  // of the GPU
};

std::string PlanMatmul(const MatmulProblem& problem, const Device& device,
                       MatmulPlan* plan);
// The same with a given kernel, which must take the problem.
std::string PlanMatmulWith(const MatmulKernel& kernel,
                           const MatmulProblem& problem, const Device& device,
                           MatmulPlan* plan);
// `stream` is a cudaStream_t. Nothing waits for the result.
std::string RunMatmul(const MatmulProblem& problem, const MatmulPlan& plan,
                      void* scratch, void* stream);

struct SampledMatmulPlan {
  const SampledMatmulKernel* kernel = nullptr;
  std::vector<int32_t> table;  // tasks and indices
  int64_t task_count = 0;
  int64_t passes = 0;
  int64_t pass_rows = 0;
  int64_t index_begin = 0;
  size_t parts_begin = 0;
  size_t scratch_bytes = 0;
};

// All blocks are written if both views of the layout have passed ValidateViews.
std::string PlanSampledMatmul(const SampledMatmulProblem& problem,
                              const Device& device, SampledMatmulPlan* plan);
std::string PlanSampledMatmulWith(const SampledMatmulKernel& kernel,
                                  const SampledMatmulProblem& problem,
                                  const Device& device,
                                  SampledMatmulPlan* plan);
std::string RunSampledMatmul(const SampledMatmulProblem& problem,
                             const SampledMatmulPlan& plan, void* scratch,
                             void* stream);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_MATMUL_H_
