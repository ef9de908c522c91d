// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace blocksparse {
namespace {

using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeHandle;

absl::Status ApplyAdamShape(InferenceContext* c) {
  ShapeHandle all = c->input(3);
  ShapeHandle unused;
  for (int i = 0; i < 3; ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
    const auto* known = c->input_handle_shapes_and_types(i);
    if (known == nullptr || known->empty()) continue;
    TF_RETURN_IF_ERROR(c->Merge(all, (*known)[0].shape, &all));
  }
  for (int i = 4; i < 8; ++i) {
    TF_RETURN_IF_ERROR(c->WithRank(c->input(i), 0, &unused));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace blocksparse

REGISTER_OP("Blocksparse>ApplyAdam")
    .Input("variable: resource")
    .Input("m: resource")
    .Input("v: resource")
    .Input("gradient: T")
    .Input("alpha: T")
    .Input("first: T")
    .Input("second: T")
    .Input("epsilon: T")
    .Attr("T: {float, double}")
    .SetIsStateful()
    .SetShapeFn(blocksparse::ApplyAdamShape)
    .Doc(R"doc(
Updates a variable by Adam, and both of its moments, in one pass.

    m += (gradient - m) * first
    v += (gradient^2 - v) * second
    variable -= m * alpha / (sqrt(v) + epsilon)

Every operation is rounded by itself, so that results are those of separate ops.

variable: Of the gradient's shape and type, as both moments.
m: The first moment.
v: The second moment.
gradient: Of any shape.
alpha: The rate of learning, times what corrects the moments' bias.
first: How much of m is replaced: 1 - beta_1.
second: How much of v is replaced: 1 - beta_2.
epsilon: What is added to the root.
)doc");
