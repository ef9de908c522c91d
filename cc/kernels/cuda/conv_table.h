// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The kernels of convolutions there are: a row for each, made by conv_*.cu.cc.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_TABLE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_TABLE_H_

#include <string>
#include <vector>

#include "cc/kernels/cuda/conv.h"
#include "cc/kernels/cuda/conv_arguments.h"
#include "cc/kernels/cuda/kernel_table.h"

namespace blocksparse {
namespace cuda {

struct ConvKernel : KernelRow<ConvArguments> {
  // What gives pixels that no tap meets their values.
  std::string (*fill)(const ConvFillArguments& arguments, int64_t blocks,
                      void* stream);
};
struct ConvSampledKernel : KernelRow<ConvSampledArguments> {};

// In the order of MatmulKernels.
const std::vector<ConvKernel>& ConvKernels();
const std::vector<ConvSampledKernel>& ConvSampledKernels();

bool Takes(const ConvKernel& kernel, const ConvProblem& problem,
           const Device& device);
bool Takes(const ConvSampledKernel& kernel, const ConvSampledProblem& problem,
           const Device& device);

// Plans with a given kernel, which must take the problem, also where it is a
// product.
std::string PlanConvWith(const ConvKernel& kernel, const ConvProblem& problem,
                         const Device& device, ConvPlan* plan);
std::string PlanConvSampledWith(const ConvSampledKernel& kernel,
                                const ConvSampledProblem& problem,
                                const Device& device, ConvSampledPlan* plan);

// Each file's rows.
void AddFloat16ConvKernels(std::vector<ConvKernel>* conv,
                           std::vector<ConvSampledKernel>* sampled);
void AddBFloat16ConvKernels(std::vector<ConvKernel>* conv,
                            std::vector<ConvSampledKernel>* sampled);
void AddTf32ConvKernels(std::vector<ConvKernel>* conv,
                        std::vector<ConvSampledKernel>* sampled);
void AddVectorConvKernels(std::vector<ConvKernel>* conv,
                          std::vector<ConvSampledKernel>* sampled);
void AddElementConvKernels(std::vector<ConvKernel>* conv,
                           std::vector<ConvSampledKernel>* sampled);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_TABLE_H_
