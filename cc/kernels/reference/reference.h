// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The products as plain loops with double accumulators: the oracle.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_REFERENCE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_REFERENCE_H_

#include "cc/kernels/problem.h"

namespace blocksparse {

void ReferenceMatmul(const MatmulProblem& problem);
void ReferenceSampledMatmul(const SampledMatmulProblem& problem);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_REFERENCE_REFERENCE_H_
