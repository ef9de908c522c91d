// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What the reference products do with a sum.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_ACTIVATE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_ACTIVATE_H_

#include <cmath>

#include "cc/kernels/problem.h"

namespace blocksparse {

inline double Activate(double z, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return z < 0 ? 0 : z;
    case Activation::kGelu:
      return 0.5 * z * std::erfc(-z * std::sqrt(0.5));
    case Activation::kSilu:
      return z / (1 + std::exp(-z));
    case Activation::kTanh:
      return std::tanh(z);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-z));
    default:
      return z;
  }
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_ACTIVATE_H_
