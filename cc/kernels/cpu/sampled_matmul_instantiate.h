// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Builds the sampled matmul rows of kernels.inc for one instruction set: the
// file that includes this names it, see vector.h.
#include "cc/kernels/cpu/sampled_join.h"
#include "cc/kernels/cpu/sampled_matmul_kernel.h"
#include "cc/kernels/cpu/table_columns.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

#define MATMUL_ROWS(isa, x, blocks, outputs, registers, tile)
#define MATMUL_OUTPUTS(isa, x, blocks)
#define SAMPLED_MATMUL(isa, x, blocks, inputs, registers, tile) \
  {"sampled_matmul_" #x "_" #blocks "_" #tile "_" #isa,         \
   kIsa,                                                        \
   kDtype<x>,                                                   \
   kDtype<blocks>,                                              \
   sizeof(Compute<x>),                                          \
   PaddedColumns<Compute<x>>,                                   \
   PackB<x>,                                                    \
   SampledMatmul<x, blocks, inputs, registers>,                 \
   JoinParts<x, blocks>},
#define CONV_OUTPUTS(isa, x, blocks, pixels, registers, tile)
extern const SampledMatmulKernel kSampledMatmulKernels[];
extern const int kSampledMatmulKernelCount;
// constexpr: nothing of an instruction set may run when the library is loaded.
constexpr SampledMatmulKernel kSampledMatmulKernels[] = {
#include "cc/kernels/cpu/kernels.inc"
};
const int kSampledMatmulKernelCount =
    sizeof(kSampledMatmulKernels) / sizeof(SampledMatmulKernel);
#undef MATMUL_ROWS
#undef MATMUL_OUTPUTS
#undef CONV_OUTPUTS
#undef SAMPLED_MATMUL

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse
