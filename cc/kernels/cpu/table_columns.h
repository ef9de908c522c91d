// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The columns of kernels.inc as types and values, for one instruction set.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_TABLE_COLUMNS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_TABLE_COLUMNS_H_

#include "cc/kernels/cpu/vector.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// The names of the table's columns, as types and as values.
using f32 = float;
using f64 = double;
using bf16 = BFloat16;
using f16 = Float16;

template <typename Stored>
constexpr Dtype kDtype = std::is_same_v<Stored, float>      ? Dtype::kFloat32
                         : std::is_same_v<Stored, double>   ? Dtype::kFloat64
                         : std::is_same_v<Stored, BFloat16> ? Dtype::kBFloat16
                                                            : Dtype::kFloat16;

#if defined(BLOCKSPARSE_NEON)
constexpr Isa kIsa = Isa::kNeon;
#else
constexpr Isa kIsa = BLOCKSPARSE_VECTOR_BYTES == 64   ? Isa::kAvx512
                     : BLOCKSPARSE_VECTOR_BYTES == 32 ? Isa::kAvx2
                                                      : Isa::kPortable;
#endif

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_TABLE_COLUMNS_H_
