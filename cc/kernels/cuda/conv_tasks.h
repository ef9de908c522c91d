// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// How the work of a convolution is cut.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_TASKS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_TASKS_H_

#include <cstdint>
#include <vector>

#include "cc/kernels/cuda/conv_arguments.h"
#include "cc/kernels/cuda/conv_phases.h"

namespace blocksparse {
namespace cuda {

struct ConvTasks {
  std::vector<ConvTask> tasks;
  std::vector<ConvSplit> splits;
  int32_t parts = 0;
};

// A task for each phase, target block and `right` of its features, or several
// of equal work, of about `longest` taps of blocks.
ConvTasks CutConvTasks(const ConvPhases& phases, const ConvEntries& entries,
                       int32_t target_block, int32_t right, int64_t longest);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_TASKS_H_
