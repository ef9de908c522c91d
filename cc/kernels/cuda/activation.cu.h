// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What happens to a finished sum: bias, activation, rounding.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_ACTIVATION_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_ACTIVATION_CU_H_

#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/problem.h"

namespace blocksparse {
namespace cuda {

template <typename Sum>
__device__ __forceinline__ Sum Sigmoid(Sum z) {
  // Of -|z|, so that nothing overflows and small results keep their digits.
  const Sum e = Exp(z < 0 ? z : -z);
  return (z < 0 ? e : Sum(1)) / (e + Sum(1));
}

template <typename Sum>
__device__ __forceinline__ Sum Activate(Sum z, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return z < 0 ? Sum(0) : z;  // not max: NaN stays NaN
    case Activation::kGelu:
      return Sum(0.5) * z * Erfc(-z * Sum(0.70710678118654752440));
    case Activation::kSilu:
      return z * Sigmoid(z);
    case Activation::kTanh:
      return Tanh(z);
    case Activation::kSigmoid:
      return Sigmoid(z);
    default:
      return z;
  }
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_ACTIVATION_CU_H_
