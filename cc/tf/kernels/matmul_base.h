// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What the plain and the fused product share.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_MATMUL_BASE_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_MATMUL_BASE_H_

#include "cc/kernels/problem.h"
#include "cc/tf/kernels/rows_op.h"

namespace blocksparse {

class MatmulBaseOp : public RowsOp {
 public:
  explicit MatmulBaseOp(tensorflow::OpKernelConstruction* ctx);

 protected:
  // Inputs 0 to 2 are x, blocks and layout, then come the gate and the rest.
  int after_gate() const { return 3 + gate_count(); }
  int64_t y_features() const { return transpose_ ? inputs() : outputs(); }

  // Checks inputs up to the gate and fills in all of a problem but its
  // outputs, bias and activation.
  absl::Status ReadProblem(tensorflow::OpKernelContext* ctx,
                           MatmulProblem* problem,
                           tensorflow::TensorShape* y_shape) const;

  // Computes on the device's threads. All pointers must be set.
  absl::Status Run(tensorflow::OpKernelContext* ctx,
                   const MatmulProblem& problem) const;

 private:
  bool transpose_ = false;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_MATMUL_BASE_H_
