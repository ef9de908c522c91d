// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/xla/base_op.h"
#include "cc/tf/xla/epilogue.h"
#include "cc/tf/xla/product.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/platform/errors.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernelContext;
using xla::XlaOp;

// Features lie along the first or the last axis, all others are rows.
class RowsXlaOp : public BaseXlaOp {
 public:
  explicit RowsXlaOp(OpKernelConstruction* ctx) : BaseXlaOp(ctx) {
    int64_t feature_axis;
    OP_REQUIRES_OK(ctx, ctx->GetAttr("feature_axis", &feature_axis));
    features_first_ = feature_axis == 0;
  }

 protected:
  int64_t FeatureAxis(const TensorShape& shape) const {
    return features_first_ ? 0 : shape.dims() - 1;
  }
  bool features_first() const { return features_first_; }

 private:
  bool features_first_ = false;
};

class MatmulXlaOp : public RowsXlaOp {
 public:
  explicit MatmulXlaOp(OpKernelConstruction* ctx) : RowsXlaOp(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("transpose", &transpose_));
  }

 protected:
  absl::Status Emit(XlaOpKernelContext* ctx,
                    const std::vector<TensorShape>&) override {
    ctx->SetOutput(
        0, xla::ConvertElementType(Product(ctx), ctx->output_xla_type(0)));
    return absl::OkStatus();
  }

  // x W or x W^T, in the wide type.
  XlaOp Product(XlaOpKernelContext* ctx) const {
    const XlaOp weight = Weight(ctx, /*layout_taps=*/1, /*block_taps=*/1);
    const Operands both = MakeOperands(
        ctx->Input(0), xla::Reshape(weight, {inputs(), outputs()}));
    const int64_t x_axis = FeatureAxis(ctx->InputShape(0));
    const int64_t weight_axis = transpose_ ? 1 : 0;
    const xla::PrecisionConfig precision = Precision();
    xla::DotDimensionNumbers numbers;
    if (features_first()) {
      numbers.add_lhs_contracting_dimensions(weight_axis);
      numbers.add_rhs_contracting_dimensions(x_axis);
      return xla::DotGeneral(both.right, both.left, numbers, &precision,
                             both.wide);
    }
    numbers.add_lhs_contracting_dimensions(x_axis);
    numbers.add_rhs_contracting_dimensions(weight_axis);
    return xla::DotGeneral(both.left, both.right, numbers, &precision,
                           both.wide);
  }

 private:
  bool transpose_ = false;
};

class MatmulFusedXlaOp : public MatmulXlaOp {
 public:
  explicit MatmulFusedXlaOp(OpKernelConstruction* ctx) : MatmulXlaOp(ctx) {
    OP_REQUIRES_OK(ctx, epilogue_.Read(ctx));
  }

 protected:
  absl::Status Emit(XlaOpKernelContext* ctx,
                    const std::vector<TensorShape>& shapes) override {
    return epilogue_.Emit(ctx, Product(ctx), 3 + gate_count(),
                          FeatureAxis(shapes[0]));
  }

 private:
  XlaEpilogue epilogue_;
};

class SampledMatmulXlaOp : public RowsXlaOp {
 public:
  using RowsXlaOp::RowsXlaOp;

 protected:
  absl::Status Emit(XlaOpKernelContext* ctx,
                    const std::vector<TensorShape>& shapes) override {
    const TensorShape& a = ctx->InputShape(0);
    const Operands both = MakeOperands(ctx->Input(0), ctx->Input(1));
    xla::DotDimensionNumbers numbers;
    for (int64_t axis = 0; axis < a.dims(); ++axis) {
      if (axis == FeatureAxis(a)) continue;
      numbers.add_lhs_contracting_dimensions(axis);
      numbers.add_rhs_contracting_dimensions(axis);
    }
    const xla::PrecisionConfig precision = Precision();
    const XlaOp weight =
        xla::DotGeneral(both.left, both.right, numbers, &precision, both.wide);
    SetBlocks(ctx, xla::Reshape(weight, {1, inputs(), outputs()}), shapes[0],
              /*layout_taps=*/1, /*block_taps=*/1);
    return absl::OkStatus();
  }
};

#define REGISTER_MATMULS(TX, TB)                                        \
  BLOCKSPARSE_REGISTER_FOR_XLA("Matmul", MatmulXlaOp, TX, TB)           \
  BLOCKSPARSE_REGISTER_FOR_XLA("MatmulFused", MatmulFusedXlaOp, TX, TB) \
  BLOCKSPARSE_REGISTER_FOR_XLA("SampledMatmul", SampledMatmulXlaOp, TX, TB)
BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER_MATMULS)
#undef REGISTER_MATMULS

}  // namespace
}  // namespace blocksparse
