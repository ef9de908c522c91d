// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Builds a convolution for each row of kernels.inc that is one or can be, for
// one instruction set: the file that includes this names it, see vector.h.
#include "cc/kernels/cpu/conv_outputs.h"
#include "cc/kernels/cpu/conv_rows.h"
#include "cc/kernels/cpu/table_columns.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

#define MATMUL_ROWS(isa, x, blocks, outputs, registers, tile) \
  {"conv_rows_" #x "_" #blocks "_" #tile "_" #isa,            \
   ConvFamily::kRows,                                         \
   kIsa,                                                      \
   kDtype<x>,                                                 \
   kDtype<blocks>,                                            \
   kTileRows<Compute<x>, registers>,                          \
   outputs,                                                   \
   kFullLanes<Compute<x>>,                                    \
   sizeof(Compute<x>),                                        \
   PackConv<x>,                                               \
   ConvPixels<x, blocks, outputs, registers>},
#define CONV_OUTPUTS(isa, x, blocks, pixels, registers, tile) \
  {"conv_outputs_" #x "_" #blocks "_" #tile "_" #isa,         \
   ConvFamily::kOutputs,                                      \
   kIsa,                                                      \
   kDtype<x>,                                                 \
   kDtype<blocks>,                                            \
   pixels,                                                    \
   registers * kFullLanes<Compute<x>>,                        \
   kFullLanes<Compute<x>>,                                    \
   sizeof(Compute<x>),                                        \
   PackPixels<x>,                                             \
   ConvOutputs<x, blocks, pixels, registers>},
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
#undef CONV_OUTPUTS
#undef SAMPLED_MATMUL

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse
