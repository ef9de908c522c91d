// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What OpKernels on rows of features do: features lie along one axis, all
// others are rows.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_ROWS_OP_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_ROWS_OP_H_

#include <cstdint>

#include "cc/tf/kernels/base_op.h"

namespace blocksparse {

class RowsOp : public BaseOp {
 public:
  explicit RowsOp(tensorflow::OpKernelConstruction* ctx);

 protected:
  // Checks that `tensor` has `features` along the feature axis; counts the
  // elements along all other axes.
  absl::Status CountRows(const tensorflow::Tensor& tensor, const char* name,
                         int64_t features, int64_t* rows) const;

  // The shape of `tensor` with `features` along the feature axis.
  absl::Status ReplaceFeatures(const tensorflow::Tensor& tensor,
                               int64_t features,
                               tensorflow::TensorShape* shape) const;

  std::string Axes() const override;

  bool features_first() const { return feature_axis_ == 0; }

 private:
  int FeatureDim(const tensorflow::Tensor& tensor) const {
    return features_first() ? 0 : tensor.dims() - 1;
  }

  int64_t feature_axis_ = -1;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_ROWS_OP_H_
