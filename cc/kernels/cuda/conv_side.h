// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A side of a convolution's geometry as kernels are told of it.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_SIDE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_SIDE_H_

#include "cc/kernels/cuda/conv_arguments.h"

namespace blocksparse {
namespace cuda {

inline ConvSide SideOf(const int64_t (&size)[kSpatial], int64_t features,
                       bool features_first) {
  ConvSide side;
  side.pixels = 1;
  for (int i = 0; i < kSpatial; ++i) {
    side.size[i] = static_cast<uint32_t>(size[i]);
    side.pixels *= side.size[i];
  }
  side.features = features;
  side.features_first = features_first;
  return side;
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_CONV_SIDE_H_
