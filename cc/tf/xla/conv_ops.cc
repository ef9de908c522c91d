// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "cc/tf/conv_attributes.h"
#include "cc/tf/kernels/dtypes.h"
#include "cc/tf/xla/base_op.h"
#include "cc/tf/xla/epilogue.h"
#include "cc/tf/xla/product.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/platform/errors.h"
#include "xla/hlo/builder/lib/constants.h"

namespace blocksparse {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::TensorShape;
using tensorflow::XlaOpKernelContext;
using xla::XlaOp;
using Padding = std::vector<std::pair<int64_t, int64_t>>;

// Features lie before or behind one to three axes of pixels.
class PixelsXlaOp : public BaseXlaOp {
 public:
  explicit PixelsXlaOp(OpKernelConstruction* ctx) : BaseXlaOp(ctx) {
    OP_REQUIRES_OK(ctx, ReadConvAttributes(ctx, &conv_));
  }

 protected:
  const ConvOpAttributes& conv() const { return conv_; }
  int rank() const { return conv_.geometry.rank(); }

  int64_t SpatialSize(const TensorShape& shape, int i) const {
    return shape.dim_size(conv_.spatial_axis() + i);
  }

  absl::Status MakeGeometry(const TensorShape& fine, const TensorShape& coarse,
                            ConvGeometry* geometry) const {
    std::vector<int64_t> fine_sizes;
    std::vector<int64_t> coarse_sizes;
    for (int i = 0; i < rank(); ++i) {
      fine_sizes.push_back(SpatialSize(fine, i));
      coarse_sizes.push_back(SpatialSize(coarse, i));
    }
    const std::string error = MakeConvGeometry(
        conv_.geometry, fine.dim_size(0), fine_sizes, coarse_sizes, geometry);
    return error.empty() ? absl::OkStatus()
                         : tensorflow::errors::InvalidArgument(error);
  }

  // Which axes a convolution of XLA's finds its batch, features and pixels at.
  // The axes of pixels of what it slides have to be said of its kernel, too.
  xla::ConvolutionDimensionNumbers Numbers(int64_t batch_axis,
                                           int64_t feature_axis) const {
    xla::ConvolutionDimensionNumbers numbers;
    numbers.set_input_batch_dimension(batch_axis);
    numbers.set_input_feature_dimension(feature_axis);
    for (int i = 0; i < rank(); ++i) {
      numbers.add_input_spatial_dimensions(conv_.spatial_axis() + i);
    }
    return numbers;
  }

  // Zeros around the side that taps slide over, or fewer than none where pixels
  // are left out, such that the result has its sizes. With `adjoint` that is
  // the coarse side, with stride - 1 zeros between its pixels, and taps are
  // reversed.
  Padding PaddingOf(const ConvGeometry& geometry, bool adjoint) const {
    Padding padding;
    for (int i = kSpatial - rank(); i < kSpatial; ++i) {
      const int64_t reach = (geometry.kernel[i] - 1) * geometry.dilations[i];
      const int64_t coarse = (geometry.coarse[i] - 1) * geometry.strides[i] + 1;
      const int64_t fine = geometry.fine[i];
      const int64_t before = geometry.padding[i];
      if (adjoint) {
        padding.emplace_back(reach - before, fine - coarse + before);
      } else {
        padding.emplace_back(before, coarse + reach - fine - before);
      }
    }
    return padding;
  }

 private:
  ConvOpAttributes conv_;
};

// The last ones of the three that a ConvGeometry has.
std::vector<int64_t> ToVector(const int64_t (&sizes)[kSpatial], int rank) {
  return {sizes + kSpatial - rank, sizes + kSpatial};
}

class ConvXlaOp : public PixelsXlaOp {
 public:
  explicit ConvXlaOp(OpKernelConstruction* ctx) : PixelsXlaOp(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("transpose", &transpose_));
  }

 protected:
  absl::Status Emit(XlaOpKernelContext* ctx,
                    const std::vector<TensorShape>& shapes) override {
    XlaOp product;
    TF_RETURN_IF_ERROR(EmitProduct(ctx, shapes[0], &product));
    ctx->SetOutput(0,
                   xla::ConvertElementType(product, ctx->output_xla_type(0)));
    return absl::OkStatus();
  }

  // The convolution, in the wide type.
  absl::Status EmitProduct(XlaOpKernelContext* ctx, const TensorShape& y_shape,
                           XlaOp* product) const {
    const TensorShape& x_shape = ctx->InputShape(0);
    ConvGeometry geometry;
    TF_RETURN_IF_ERROR(conv().adjoint
                           ? MakeGeometry(y_shape, x_shape, &geometry)
                           : MakeGeometry(x_shape, y_shape, &geometry));
    const Operands both = MakeOperands(ctx->Input(0), Kernel(ctx));
    if (y_shape.num_elements() == 0 || x_shape.num_elements() == 0) {
      *product = xla::Broadcast(xla::Zero(ctx->builder(), both.wide),
                                y_shape.dim_sizes());
      return absl::OkStatus();
    }
    const std::vector<int64_t> ones(rank(), 1);
    const std::vector<int64_t> strides = ToVector(geometry.strides, rank());
    const xla::PrecisionConfig precision = Precision();
    *product = xla::ConvGeneralDilated(
        both.left, both.right, conv().adjoint ? ones : strides,
        PaddingOf(geometry, conv().adjoint), conv().adjoint ? strides : ones,
        ToVector(geometry.dilations, rank()), KernelNumbers(),
        /*feature_group_count=*/1, /*batch_group_count=*/1, &precision,
        both.wide, std::vector<bool>(rank(), conv().adjoint));
    return absl::OkStatus();
  }

 private:
  // `[kernel_size..., inputs, outputs]`.
  XlaOp Kernel(XlaOpKernelContext* ctx) const {
    const XlaOp weight = Weight(ctx, conv().layout_taps(), conv().block_taps());
    std::vector<int64_t> sizes = conv().geometry.kernel_size;
    sizes.push_back(inputs());
    sizes.push_back(outputs());
    return xla::Reshape(weight, sizes);
  }

  xla::ConvolutionDimensionNumbers KernelNumbers() const {
    xla::ConvolutionDimensionNumbers numbers =
        Numbers(/*batch_axis=*/0, conv().feature_axis());
    numbers.set_kernel_input_feature_dimension(rank() + (transpose_ ? 1 : 0));
    numbers.set_kernel_output_feature_dimension(rank() + (transpose_ ? 0 : 1));
    numbers.set_output_batch_dimension(0);
    numbers.set_output_feature_dimension(conv().feature_axis());
    for (int i = 0; i < rank(); ++i) {
      numbers.add_kernel_spatial_dimensions(i);
      numbers.add_output_spatial_dimensions(conv().spatial_axis() + i);
    }
    return numbers;
  }

  bool transpose_ = false;
};

class ConvFusedXlaOp : public ConvXlaOp {
 public:
  explicit ConvFusedXlaOp(OpKernelConstruction* ctx) : ConvXlaOp(ctx) {
    OP_REQUIRES_OK(ctx, epilogue_.Read(ctx));
  }

 protected:
  absl::Status Emit(XlaOpKernelContext* ctx,
                    const std::vector<TensorShape>& shapes) override {
    XlaOp product;
    TF_RETURN_IF_ERROR(EmitProduct(ctx, shapes[0], &product));
    return epilogue_.Emit(ctx, product, 3 + gate_count(),
                          conv().feature_axis());
  }

 private:
  XlaEpilogue epilogue_;
};

// The gradient of a convolution for its kernel, as XLA's own convolution: the
// coarse side slides over the fine one by the dilation, its pixels a stride
// apart, and the batch is what is summed over.
class ConvSampledXlaOp : public PixelsXlaOp {
 public:
  using PixelsXlaOp::PixelsXlaOp;

 protected:
  absl::Status Emit(XlaOpKernelContext* ctx,
                    const std::vector<TensorShape>& shapes) override {
    const TensorShape& fine = ctx->InputShape(0);
    const TensorShape& coarse = ctx->InputShape(1);
    ConvGeometry geometry;
    TF_RETURN_IF_ERROR(MakeGeometry(fine, coarse, &geometry));
    const Operands both = MakeOperands(ctx->Input(0), ctx->Input(1));
    XlaOp weight;
    if (fine.num_elements() == 0 || coarse.num_elements() == 0) {
      weight = xla::Broadcast(xla::Zero(ctx->builder(), both.wide),
                              {conv().taps, inputs(), outputs()});
    } else {
      weight = Kernel(both, geometry);
    }
    SetBlocks(ctx, weight, shapes[0], conv().layout_taps(),
              conv().block_taps());
    return absl::OkStatus();
  }

 private:
  // `[taps, inputs, outputs]`.
  XlaOp Kernel(const Operands& both, const ConvGeometry& geometry) const {
    const int64_t feature_axis = conv().feature_axis();
    xla::ConvolutionDimensionNumbers numbers =
        Numbers(/*batch_axis=*/feature_axis, /*feature_axis=*/0);
    numbers.set_kernel_input_feature_dimension(0);
    numbers.set_kernel_output_feature_dimension(feature_axis);
    // The features of fine, then of coarse; with adjoint the outputs are those
    // of fine.
    numbers.set_output_batch_dimension(rank() + (conv().adjoint ? 1 : 0));
    numbers.set_output_feature_dimension(rank() + (conv().adjoint ? 0 : 1));
    for (int i = 0; i < rank(); ++i) {
      numbers.add_kernel_spatial_dimensions(conv().spatial_axis() + i);
      numbers.add_output_spatial_dimensions(i);
    }
    const std::vector<int64_t> ones(rank(), 1);
    const xla::PrecisionConfig precision = Precision();
    const XlaOp kernel = xla::ConvGeneralDilated(
        both.left, both.right, ToVector(geometry.dilations, rank()),
        PaddingOf(geometry, /*adjoint=*/false), ones,
        ToVector(geometry.strides, rank()), numbers,
        /*feature_group_count=*/1, /*batch_group_count=*/1, &precision,
        both.wide);
    return xla::Reshape(kernel, {conv().taps, inputs(), outputs()});
  }
};

#define REGISTER_CONVS(TX, TB)                                      \
  BLOCKSPARSE_REGISTER_FOR_XLA("Conv", ConvXlaOp, TX, TB)           \
  BLOCKSPARSE_REGISTER_FOR_XLA("ConvFused", ConvFusedXlaOp, TX, TB) \
  BLOCKSPARSE_REGISTER_FOR_XLA("ConvSampled", ConvSampledXlaOp, TX, TB)
BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER_CONVS)
#undef REGISTER_CONVS

}  // namespace
}  // namespace blocksparse
