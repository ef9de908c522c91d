// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What fused ops do after their product: bias, activation, the second output.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_EPILOGUE_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_EPILOGUE_H_

#include <cstdint>

#include "cc/kernels/problem.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace blocksparse {

class Epilogue {
 public:
  // Reads the attributes.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx);

  // For any problem with an epilogue: reads the bias, if there is one, at
  // input bias_index, allocates outputs 0 and 1 and fills in the problem.
  template <typename Problem>
  absl::Status Prepare(tensorflow::OpKernelContext* ctx, int bias_index,
                       int64_t y_features,
                       const tensorflow::TensorShape& y_shape,
                       Problem* problem) const {
    problem->activation = activation_;
    TF_RETURN_IF_ERROR(ReadBias(ctx, bias_index, y_features, &problem->bias));
    return Allocate(ctx, y_shape, &problem->y, &problem->preactivation);
  }

  int bias_count() const { return bias_count_; }

 private:
  absl::Status ReadBias(tensorflow::OpKernelContext* ctx, int index,
                        int64_t y_features, const void** bias) const;
  absl::Status Allocate(tensorflow::OpKernelContext* ctx,
                        const tensorflow::TensorShape& y_shape, void** y,
                        void** preactivation) const;

  int bias_count_ = 0;
  bool save_preactivation_ = false;
  Activation activation_ = Activation::kNone;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_EPILOGUE_H_
