// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What the plain and the fused convolution share.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_CONV_BASE_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_CONV_BASE_H_

#include "cc/kernels/problem.h"
#include "cc/tf/kernels/pixels_op.h"

namespace blocksparse {

class ConvBaseOp : public PixelsOp {
 public:
  explicit ConvBaseOp(tensorflow::OpKernelConstruction* ctx);

 protected:
  // Inputs 0 to 2 are x, blocks and layout, then come the gate and the rest.
  int after_gate() const { return 3 + gate_count(); }
  int64_t y_features() const { return transpose_ ? inputs() : outputs(); }

  // Checks inputs up to the gate and out_spatial, which is the last one, and
  // fills in all of a problem but its outputs, bias and activation.
  absl::Status ReadProblem(tensorflow::OpKernelContext* ctx,
                           ConvProblem* problem,
                           tensorflow::TensorShape* y_shape) const;

  // Computes on the device's threads. All pointers must be set.
  absl::Status Run(tensorflow::OpKernelContext* ctx,
                   const ConvProblem& problem) const;

 private:
  // Reads the blocks, their layout and the gate.
  absl::Status ReadWeight(tensorflow::OpKernelContext* ctx,
                          ConvProblem* problem) const;
  // The spatial sizes of y: as asked for, or derived from those of x.
  absl::Status ReadOutSpatial(tensorflow::OpKernelContext* ctx,
                              const std::vector<int64_t>& x_spatial,
                              std::vector<int64_t>* y_spatial) const;
  absl::Status ShapeOf(const Side& y, tensorflow::TensorShape* shape) const;

  bool transpose_ = false;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_CONV_BASE_H_
