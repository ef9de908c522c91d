// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What comes after a fused op's product: a bias and an activation.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_EPILOGUE_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_EPILOGUE_H_

#include <cstdint>
#include <string>

#include "cc/tf/xla/product.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "xla/hlo/builder/lib/constants.h"

namespace blocksparse {

// Immutable after construction, as OpKernels are.
class XlaEpilogue {
 public:
  // Reads the attributes of a fused op.
  absl::Status Read(tensorflow::OpKernelConstruction* ctx) {
    TF_RETURN_IF_ERROR(ctx->GetAttr("bias_count", &bias_count_));
    TF_RETURN_IF_ERROR(
        ctx->GetAttr("save_preactivation", &save_preactivation_));
    return ctx->GetAttr("activation", &activation_);
  }

  // Sets y and z of the op. `product` has the wide type; the bias is input
  // `bias_index`, if there is one, and belongs to axis `feature_axis`.
  absl::Status Emit(tensorflow::XlaOpKernelContext* ctx, xla::XlaOp product,
                    int bias_index, int64_t feature_axis) const {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape,
                        ctx->builder()->GetShape(product));
    xla::XlaOp z = product;
    if (bias_count_ > 0) {
      const xla::XlaOp bias =
          xla::ConvertElementType(ctx->Input(bias_index), shape.element_type());
      z = xla::Add(z, bias, {feature_axis});
    }
    const xla::PrimitiveType type = ctx->output_xla_type(0);
    ctx->SetOutput(0, xla::ConvertElementType(Activate(activation_, z), type));
    ctx->SetOutput(1, save_preactivation_
                          ? xla::ConvertElementType(z, type)
                          : xla::Zeros(ctx->builder(),
                                       xla::ShapeUtil::MakeShape(type, {0})));
    return absl::OkStatus();
  }

 private:
  int bias_count_ = 0;
  bool save_preactivation_ = false;
  std::string activation_;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_EPILOGUE_H_
