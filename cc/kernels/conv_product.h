// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions whose one tap meets every pixel are products of all pixels.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CONV_PRODUCT_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CONV_PRODUCT_H_

#include "cc/kernels/problem.h"

namespace blocksparse {

// Whether AsMatmul and AsSampledMatmul may be used.
template <typename Problem>
bool IsProduct(const Problem& problem) {
  const ConvGeometry& geometry = problem.geometry;
  bool same = geometry.taps() == 1 && !problem.features_first;
  for (int i = 0; i < kSpatial; ++i) {
    same = same && geometry.strides[i] == 1 && geometry.padding[i] == 0 &&
           geometry.fine[i] == geometry.coarse[i];
  }
  return same;
}

MatmulProblem AsMatmul(const ConvProblem& problem);
SampledMatmulProblem AsSampledMatmul(const ConvSampledProblem& problem);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CONV_PRODUCT_H_
