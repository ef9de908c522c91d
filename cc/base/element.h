// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// One element of an array whose type is known at run time.
#ifndef TF_BLOCKSPARSE_CC_BASE_ELEMENT_H_
#define TF_BLOCKSPARSE_CC_BASE_ELEMENT_H_

#include <cstdint>

#include "cc/base/convert.h"
#include "cc/base/dtype.h"

namespace blocksparse {

inline double LoadElement(const void* data, Dtype dtype, int64_t i) {
  switch (dtype) {
    case Dtype::kFloat32:
      return static_cast<const float*>(data)[i];
    case Dtype::kFloat64:
      return static_cast<const double*>(data)[i];
    case Dtype::kBFloat16:
      return Widen(static_cast<const BFloat16*>(data)[i]);
    default:
      return Widen(static_cast<const Float16*>(data)[i]);
  }
}

// Rounds to float first where the type is of 16 bits, as kernels do.
inline void StoreElement(double value, void* data, Dtype dtype, int64_t i) {
  switch (dtype) {
    case Dtype::kFloat32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    case Dtype::kFloat64:
      static_cast<double*>(data)[i] = value;
      return;
    case Dtype::kBFloat16:
      Narrow(static_cast<float>(value), static_cast<BFloat16*>(data) + i);
      return;
    default:
      Narrow(static_cast<float>(value), static_cast<Float16*>(data) + i);
  }
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BASE_ELEMENT_H_
