// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// How XLA is to multiply, in the types and with the precision that TensorFlow's
// own products have, and what fused ops do after it.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_PRODUCT_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_PRODUCT_H_

#include <string>

#include "xla/hlo/builder/xla_builder.h"

namespace blocksparse {

// Operands of one type, and that of their sums.
struct Operands {
  xla::XlaOp left;
  xla::XlaOp right;
  xla::PrimitiveType wide;
};

// Two of the same type stay as they are, two others become wide.
Operands MakeOperands(xla::XlaOp left, xla::XlaOp right);

// TensorFloat-32 on GPUs is the user's choice.
xla::PrecisionConfig Precision();

// An activation by a name that fused ops accept.
xla::XlaOp Activate(const std::string& activation, xla::XlaOp z);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_PRODUCT_H_
