// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Element types as the kernels see them: storage only, no
// arithmetic.
#ifndef TF_BLOCKSPARSE_CC_BASE_DTYPE_H_
#define TF_BLOCKSPARSE_CC_BASE_DTYPE_H_

#include <cstdint>

namespace blocksparse {

// 16-bit types are plain bits here; kernels widen them to float to compute.
struct BFloat16 {
  uint16_t bits;
};
struct Float16 {
  uint16_t bits;
};

enum class Dtype { kFloat32, kFloat64, kBFloat16, kFloat16 };

// static: see convert.h.
static inline int64_t SizeOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return 4;
    case Dtype::kFloat64:
      return 8;
    default:
      return 2;
  }
}

static inline const char* NameOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return "f32";
    case Dtype::kFloat64:
      return "f64";
    case Dtype::kBFloat16:
      return "bf16";
    default:
      return "f16";
  }
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BASE_DTYPE_H_
