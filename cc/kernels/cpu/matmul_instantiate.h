// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Builds the matmul rows of kernels.inc for one instruction set: the file that
// includes this names it, see vector.h.
#include "cc/kernels/cpu/matmul_outputs.h"
#include "cc/kernels/cpu/matmul_rows.h"
#include "cc/kernels/cpu/table_columns.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// Rows of a MATMUL_OUTPUTS task: more than FewRows of matmul.cc ever gives it.
constexpr int kOutputsRows = 16;

#define MATMUL_ROWS(isa, x, blocks, outputs, registers, tile) \
  {"matmul_rows_" #x "_" #blocks "_" #tile "_" #isa,          \
   MatmulFamily::kRows,                                       \
   kIsa,                                                      \
   kDtype<x>,                                                 \
   kDtype<blocks>,                                            \
   kTileRows<Compute<x>, registers>,                          \
   outputs,                                                   \
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
   0,                                         \
   kFullLanes<Compute<x>>,                    \
   sizeof(Compute<x>),                        \
   PackOutputs<x>,                            \
   MatmulOutputs<x, blocks>},
#define SAMPLED_MATMUL(isa, x, blocks, inputs, registers, tile)
#define CONV_OUTPUTS(isa, x, blocks, pixels, registers, tile)
extern const MatmulKernel kMatmulKernels[];
extern const int kMatmulKernelCount;
// constexpr: nothing of an instruction set may run when the library is loaded.
constexpr MatmulKernel kMatmulKernels[] = {
#include "cc/kernels/cpu/kernels.inc"
};
const int kMatmulKernelCount = sizeof(kMatmulKernels) / sizeof(MatmulKernel);
#undef MATMUL_ROWS
#undef MATMUL_OUTPUTS
#undef CONV_OUTPUTS
#undef SAMPLED_MATMUL

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse
