// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Builds a convolution for each row of matmul tiles of kernels.inc, for one
// instruction set: the file that includes this names it, see vector.h.
#include "cc/kernels/cpu/conv_kernel.h"
#include "cc/kernels/cpu/table_columns.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

#define MATMUL_ROWS(isa, x, blocks, outputs, registers, tile) \
  {"conv_" #x "_" #blocks "_" #tile "_" #isa,                 \
   kIsa,                                                      \
   kDtype<x>,                                                 \
   kDtype<blocks>,                                            \
   kTileRows<Compute<x>, registers>,                          \
   outputs,                                                   \
   kFullLanes<Compute<x>>,                                    \
   sizeof(Compute<x>),                                        \
   PackConv<x>,                                               \
   ConvPixels<x, blocks, outputs, registers>},
#define MATMUL_OUTPUTS(isa, x, blocks)
#define SAMPLED_MATMUL(isa, x, blocks, inputs, registers, tile)
extern const ConvKernel kConvKernels[];
extern const int kConvKernelCount;
// constexpr: nothing of an instruction set may run when the library is loaded.
constexpr ConvKernel kConvKernels[] = {
#include "cc/kernels/cpu/kernels.inc"
};
const int kConvKernelCount = sizeof(kConvKernels) / sizeof(ConvKernel);
#undef MATMUL_ROWS
#undef MATMUL_OUTPUTS
#undef SAMPLED_MATMUL

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse
