// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions as plain loops with double accumulators: the oracle.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_CONV_H_
#define TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_CONV_H_

#include "cc/kernels/problem.h"

namespace blocksparse {

void ReferenceConv(const ConvProblem& problem);
void ReferenceConvSampled(const ConvSampledProblem& problem);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_CONV_H_
