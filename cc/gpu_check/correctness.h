// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Every kernel of the tables on its cases, against float64 on the host.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_CORRECTNESS_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_CORRECTNESS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "cc/kernels/cuda/matmul.h"

namespace blocksparse {
namespace cuda {

struct CorrectnessOptions {
  uint64_t seed = 1;  // of operands, and of the order of cases
  // Every so many-th of a kernel's cases.
  int step = 1;
  // After which each kernel has one case only. All kernels share the time, what
  // one leaves being the next ones'.
  double seconds = std::numeric_limits<double>::infinity();
  // Only kernels whose name has this in it.
  std::string only;
  // The kernel, or "chosen ...", whose results get a wrong byte, which has to
  // be found.
  std::string plant;
};

// What was found of a kernel, or of those that are chosen for two types.
struct KernelReport {
  std::string kernel;
  int64_t cases = 0;
  int64_t left_out = 0;  // at most: some of them it might not have taken
  std::string failure;   // of the first case that failed; empty if none did
};

// Calls `report` for each kernel that the device can run. What the device
// throws ends it, as nothing runs after that: the kernel's name is in front.
void CheckKernels(const Device& device, const CorrectnessOptions& options,
                  const std::function<void(const KernelReport&)>& report);

// How often it will call `report`, at most.
int64_t CountKernels(const CorrectnessOptions& options);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_CORRECTNESS_H_
