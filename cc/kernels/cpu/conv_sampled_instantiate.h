// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Builds a sampled convolution for each row of sampled products of kernels.inc,
// for one instruction set: the file that includes this names it, see vector.h.
#include "cc/kernels/cpu/conv_sampled_kernel.h"
#include "cc/kernels/cpu/sampled_join.h"
#include "cc/kernels/cpu/table_columns.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

#define MATMUL_ROWS(isa, x, blocks, outputs, registers, tile)
#define MATMUL_OUTPUTS(isa, x, blocks)
#define SAMPLED_MATMUL(isa, x, blocks, inputs, registers, tile) \
  {"conv_sampled_" #x "_" #blocks "_" #tile "_" #isa,           \
   kIsa,                                                        \
   kDtype<x>,                                                   \
   kDtype<blocks>,                                              \
   sizeof(Compute<x>),                                          \
   PaddingOf<Compute<x>>,                                       \
   PackConvOutputs<x>,                                          \
   ConvSampled<x, blocks, inputs, registers>,                   \
   JoinParts<x, blocks>},
#define CONV_OUTPUTS(isa, x, blocks, pixels, registers, tile)
extern const ConvSampledKernel kConvSampledKernels[];
extern const int kConvSampledKernelCount;
// constexpr: nothing of an instruction set may run when the library is loaded.
constexpr ConvSampledKernel kConvSampledKernels[] = {
#include "cc/kernels/cpu/kernels.inc"
};
const int kConvSampledKernelCount =
    sizeof(kConvSampledKernels) / sizeof(ConvSampledKernel);
#undef MATMUL_ROWS
#undef MATMUL_OUTPUTS
#undef CONV_OUTPUTS
#undef SAMPLED_MATMUL

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse
