// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What CUDA tells of the GPU that this thread uses.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_FIND_DEVICE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_FIND_DEVICE_H_

#include <string>

#include "cc/kernels/cuda/matmul.h"

namespace blocksparse {
namespace cuda {

// Fills in all but tensor_float_32. Empty string, or the driver's words.
std::string FindDevice(Device* device);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_FIND_DEVICE_H_
