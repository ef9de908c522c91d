// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Builds the rows of kernels.inc for one instruction set: the file that
// includes this names it, see vector.h.
#include "cc/kernels/cpu/matmul_outputs.h"
#include "cc/kernels/cpu/matmul_rows.h"
#include "cc/kernels/cpu/sampled_matmul_kernel.h"

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

constexpr Isa kIsa = BLOCKSPARSE_VECTOR_BYTES == 64   ? Isa::kAvx512
                     : BLOCKSPARSE_VECTOR_BYTES == 32 ? Isa::kAvx2
                                                      : Isa::kPortable;

// Rows that MATMUL_OUTPUTS takes at a time: beyond, MATMUL_ROWS is as quick.
constexpr int kOutputsRows = 16;

#define MATMUL_ROWS(isa, x, blocks, outputs, registers, tile) \
  {"matmul_rows_" #x "_" #blocks "_" #tile "_" #isa,          \
   MatmulFamily::kRows,                                       \
   kIsa,                                                      \
   kDtype<x>,                                                 \
   kDtype<blocks>,                                            \
   kTileRows<Compute<x>, registers>,                          \
   kFullLanes<Compute<x>>,                                    \
   sizeof(Compute<x>),                                        \
   PackRows<x, registers>,                                    \
   MatmulRows<x, blocks, outputs, registers>},
#define MATMUL_OUTPUTS(isa, x, blocks)        \
  {"matmul_outputs_" #x "_" #blocks "_" #isa, \
   MatmulFamily::kOutputs,                    \
   kIsa,                                      \
   kDtype<x>,                                 \
   kDtype<blocks>,                            \
   kOutputsRows,                              \
   kFullLanes<Compute<x>>,                    \
   sizeof(Compute<x>),                        \
   PackOutputs<x>,                            \
   MatmulOutputs<x, blocks>},
#define SAMPLED_MATMUL(isa, x, blocks, inputs, registers, tile)
extern const MatmulKernel kMatmulKernels[];
extern const int kMatmulKernelCount;
const MatmulKernel kMatmulKernels[] = {
#include "cc/kernels/cpu/kernels.inc"
};
const int kMatmulKernelCount = sizeof(kMatmulKernels) / sizeof(MatmulKernel);
#undef MATMUL_ROWS
#undef MATMUL_OUTPUTS
#undef SAMPLED_MATMUL

#define MATMUL_ROWS(isa, x, blocks, outputs, registers, tile)
#define MATMUL_OUTPUTS(isa, x, blocks)
#define SAMPLED_MATMUL(isa, x, blocks, inputs, registers, tile) \
  {"sampled_matmul_" #x "_" #blocks "_" #tile "_" #isa,         \
   kIsa,                                                        \
   kDtype<x>,                                                   \
   kDtype<blocks>,                                              \
   sizeof(Compute<x>),                                          \
   PaddedColumns<Compute<x>>,                                   \
   PackA<x>,                                                    \
   PackB<x>,                                                    \
   SampledMatmul<x, blocks, inputs, registers>},
extern const SampledMatmulKernel kSampledMatmulKernels[];
extern const int kSampledMatmulKernelCount;
const SampledMatmulKernel kSampledMatmulKernels[] = {
#include "cc/kernels/cpu/kernels.inc"
};
const int kSampledMatmulKernelCount =
    sizeof(kSampledMatmulKernels) / sizeof(SampledMatmulKernel);
#undef MATMUL_ROWS
#undef MATMUL_OUTPUTS
#undef SAMPLED_MATMUL

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse
