// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What OpKernels on pixels do: images of one to three dimensions, with features
// before or behind, and the geometry between two sides of them.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_PIXELS_OP_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_PIXELS_OP_H_

#include <cstdint>
#include <vector>

#include "cc/tf/conv_attributes.h"
#include "cc/tf/kernels/base_op.h"

namespace blocksparse {

class PixelsOp : public BaseOp {
 public:
  explicit PixelsOp(tensorflow::OpKernelConstruction* ctx);

 protected:
  struct Side {
    int64_t batch = 0;
    std::vector<int64_t> spatial;
  };

  // Checks that `tensor` has the dimensions and the features.
  absl::Status ReadSide(const tensorflow::Tensor& tensor, const char* name,
                        int64_t features, Side* side) const;

  // Checks the sizes of both sides, whose batch is that of `fine`, and fills in
  // what the problems of convolutions share of attributes.
  template <typename Problem>
  absl::Status SetGeometry(const Side& fine, const Side& coarse,
                           Problem* problem) const {
    problem->shared_taps = attributes_.shared_taps;
    problem->inputs = inputs();
    problem->outputs = outputs();
    problem->adjoint = attributes_.adjoint;
    problem->features_first = attributes_.features_first;
    problem->x_dtype = x_dtype();
    problem->blocks_dtype = blocks_dtype();
    return ToStatus(MakeConvGeometry(attributes_.geometry, fine.batch,
                                     fine.spatial, coarse.spatial,
                                     &problem->geometry));
  }

  std::string Axes() const override;

  const ConvOpAttributes& conv() const { return attributes_; }

 private:
  ConvOpAttributes attributes_;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_PIXELS_OP_H_
