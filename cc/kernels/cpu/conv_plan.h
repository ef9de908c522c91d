// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What planning and running a convolution share.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_PLAN_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "cc/kernels/cpu/conv_bands.h"
#include "cc/kernels/cpu/conv_table.h"
#include "cc/kernels/problem.h"

namespace blocksparse {

// The first task of a problem: what all its tasks share.
ConvTask FirstConvTask(const ConvProblem& problem);

// Elements of the panel from one feature, or register of features, to the next.
int64_t ConvPanelStride(const ConvBands& bands, const ConvKernel& kernel);

struct ConvScratch {
  size_t zeros = 0;  // of everyone
  size_t panel = 0;
  size_t sums = 0;
  size_t staging = 0;
  size_t WorkerBytes() const { return panel + sums + staging; }
};

ConvScratch ConvScratchOf(const ConvTask& task, const ConvKernel& kernel,
                          const ConvBands& bands);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_CONV_PLAN_H_
