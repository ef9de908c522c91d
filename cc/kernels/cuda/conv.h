// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Block-sparse convolutions on a GPU, as the products of matmul.h: plan on the
// host, run on a stream. The layout of a problem lies in host memory and must
// have passed ParseConvLayout and, for the view that is read, ValidateView or,
// for a sampled one, ValidateViews.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/kernels/cuda/matmul.h"
#include "cc/kernels/problem.h"

namespace blocksparse {
namespace cuda {

struct ConvKernel;  // see conv_table.h
struct ConvSampledKernel;

struct ConvPlan {
  const ConvKernel* kernel = nullptr;  // null: a product
  MatmulPlan product;                  // of all pixels, see conv_product.h
  // Taps, phases, tasks, splits and entries, to be copied to the GPU.
  std::vector<int32_t> table;
  int64_t task_count = 0;
  int64_t split_count = 0;
  int64_t row_tiles = 0;               // of the phase that has most
  bool fill = false;                   // y has pixels that no tap meets
  int32_t source_step[kSpatial] = {};  // see ConvArguments
  int32_t target_step[kSpatial] = {};
  int64_t phases_begin = 0;  // in the table; taps are its first numbers
  int64_t tasks_begin = 0;
  int64_t splits_begin = 0;
  int64_t entries_begin = 0;
  size_t parts_begin = 0;  // in the scratch, whose begin is the table
  size_t scratch_bytes = 0;
};

std::string PlanConv(const ConvProblem& problem, const Device& device,
                     ConvPlan* plan);
std::string RunConv(const ConvProblem& problem, const ConvPlan& plan,
                    void* scratch, void* stream);

struct ConvSampledPlan {
  const ConvSampledKernel* kernel = nullptr;  // null: a product
  SampledMatmulPlan product;
  std::vector<int32_t> table;  // taps, tasks and entries
  int64_t task_count = 0;
  int64_t passes = 0;
  int64_t pass_rows = 0;  // pixels of the coarse side
  int64_t tasks_begin = 0;
  int64_t entries_begin = 0;
  size_t parts_begin = 0;
  size_t scratch_bytes = 0;
};

std::string PlanConvSampled(const ConvSampledProblem& problem,
                            const Device& device, ConvSampledPlan* plan);
std::string RunConvSampled(const ConvSampledProblem& problem,
                           const ConvSampledPlan& plan, void* scratch,
                           void* stream);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_H_
