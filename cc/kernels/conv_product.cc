// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/conv_product.h"

namespace blocksparse {
namespace {

// What both products have in common.
template <typename From, typename To>
void Share(const From& from, To* to) {
  to->layout = from.layout;
  // With one tap, both kinds of layout are one of inputs x outputs.
  to->layout.inputs = from.inputs;
  to->rows = from.geometry.batch * from.geometry.fine_pixels();
  to->x_dtype = from.x_dtype;
  to->blocks_dtype = from.blocks_dtype;
  to->gate = from.gate;
  to->blocks = from.blocks;
}

}  // namespace

MatmulProblem AsMatmul(const ConvProblem& problem) {
  MatmulProblem product;
  Share(problem, &product);
  product.transpose = problem.transpose;
  product.gate_is_mask = problem.gate_is_mask;
  product.x = problem.x;
  product.bias = problem.bias;
  product.activation = problem.activation;
  product.y = problem.y;
  product.preactivation = problem.preactivation;
  return product;
}

SampledMatmulProblem AsSampledMatmul(const ConvSampledProblem& problem) {
  SampledMatmulProblem product;
  Share(problem, &product);
  product.a = problem.adjoint ? problem.coarse : problem.fine;
  product.b = problem.adjoint ? problem.fine : problem.coarse;
  return product;
}

}  // namespace blocksparse
