// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// As kernel_cases.h, of convolutions.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_KERNEL_CASES_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_KERNEL_CASES_H_

#include <cstddef>
#include <vector>

#include "cc/kernels/cuda/config.h"
#include "cc/testing/conv_shapes.h"

namespace blocksparse {
namespace cuda {

// Of all shapes, every so many-th for the kernel at a place of its table,
// beginning with another one than its neighbours do, so that all kernels
// together take all shapes.
std::vector<ConvShape> ConvShapesOf(Path path, size_t place);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_CONV_KERNEL_CASES_H_
