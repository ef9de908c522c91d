// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/xla/product.h"

#include <cmath>

#include "cc/tf/xla/weight.h"
#include "tensorflow/core/platform/tensor_float_32_utils.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/math.h"

namespace blocksparse {

using xla::XlaOp;

Operands MakeOperands(XlaOp left, XlaOp right) {
  const xla::PrimitiveType left_type = TypeOf(left);
  const xla::PrimitiveType wide = WideType(left_type);
  if (left_type == TypeOf(right)) return {left, right, wide};
  return {xla::ConvertElementType(left, wide),
          xla::ConvertElementType(right, wide), wide};
}

xla::PrecisionConfig Precision() {
  const auto precision = tensorflow::tensor_float_32_execution_enabled()
                             ? xla::PrecisionConfig::DEFAULT
                             : xla::PrecisionConfig::HIGHEST;
  xla::PrecisionConfig config;
  for (int i = 0; i < 2; ++i) config.add_operand_precision(precision);
  return config;
}

XlaOp Activate(const std::string& activation, XlaOp z) {
  if (activation == "relu") return xla::Max(z, xla::ZerosLike(z));
  if (activation == "silu") return xla::Mul(z, xla::Logistic(z));
  if (activation == "tanh") return xla::Tanh(z);
  if (activation == "sigmoid") return xla::Logistic(z);
  if (activation == "gelu") {
    // erfc, unlike 1 + erf, keeps its digits for large negative z.
    const XlaOp scaled = xla::Mul(z, xla::ScalarLike(z, -std::sqrt(0.5)));
    return xla::Mul(xla::Mul(z, xla::ScalarLike(z, 0.5)), xla::Erfc(scaled));
  }
  return z;
}

}  // namespace blocksparse
