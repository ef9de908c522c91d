// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/case.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cc/base/element.h"
#include "cc/kernels/reference/reference.h"

namespace blocksparse {

std::string CaseShape::ToString() const {
  std::ostringstream stream;
  stream << kind->name << " " << inputs << "x" << outputs << " block "
         << block_inputs << "x" << block_outputs << " rows " << rows
         << (transpose ? " transpose" : "")
         << (features_first ? " features_first" : "") << " gate "
         << static_cast<int>(gate) << (bias ? " bias" : "")
         << (preactivation ? " preactivation" : "") << " activation "
         << static_cast<int>(activation);
  return stream.str();
}

Case::Case(const CaseShape& shape, Dtype x_dtype, Dtype blocks_dtype, Fill fill,
           uint64_t seed)
    : shape_(shape),
      memory_(shape.ToString(), seed),
      packed_(*shape.kind, shape.inputs, shape.outputs, shape.block_inputs,
              shape.block_outputs) {
  const Layout layout = packed_.layout();
  x_size_ = shape.rows * (shape.transpose ? shape.outputs : shape.inputs);
  y_size_ = shape.rows * (shape.transpose ? shape.inputs : shape.outputs);
  blocks_size_ = layout.nnz * layout.block_inputs * layout.block_outputs;
  matmul_.layout = sampled_.layout = layout;
  matmul_.transpose = shape.transpose;
  matmul_.features_first = sampled_.features_first = shape.features_first;
  matmul_.rows = sampled_.rows = shape.rows;
  matmul_.x_dtype = sampled_.x_dtype = x_dtype;
  matmul_.blocks_dtype = sampled_.blocks_dtype = blocks_dtype;
  matmul_.activation = shape.activation;
  matmul_.x = memory_.Operand(x_size_, x_dtype, fill);
  const void* other = memory_.Operand(y_size_, x_dtype, fill);
  sampled_.a = shape.transpose ? other : matmul_.x;
  sampled_.b = shape.transpose ? matmul_.x : other;
  void* blocks = memory_.Operand(blocks_size_, blocks_dtype, fill);
  matmul_.blocks = blocks;
  for (int64_t k = 0; k < layout.forward.targets; ++k) {
    for (int64_t w = layout.forward.splits[k]; w < layout.forward.splits[k + 1];
         ++w) {
      for (int64_t i = 0; i < layout.block_inputs; ++i) {
        for (int64_t j = 0; j < layout.block_outputs; ++j) {
          if (layout.forward.index[w] * layout.block_inputs + i <
                  layout.inputs &&
              k * layout.block_outputs + j < layout.outputs) {
            continue;
          }
          StoreElement(
              NAN, blocks, blocks_dtype,
              (w * layout.block_inputs + i) * layout.block_outputs + j);
        }
      }
    }
  }
  matmul_.gate = sampled_.gate = memory_.Gate(shape.gate, layout.nnz);
  matmul_.gate_is_mask = shape.gate == GateKind::kMask;
  if (shape.bias) {
    matmul_.bias = memory_.Operand(
        shape.transpose ? shape.inputs : shape.outputs, x_dtype, fill);
  }
}

std::string Case::CheckMatmul(
    const std::function<void(const MatmulProblem&)>& run, double ulps) {
  // Operands are at most 1 then, so a sum of as many products is at most its
  // length; sums are made in float at least.
  const int64_t length =
      2 + (shape_.transpose ? shape_.outputs : shape_.inputs);
  const double tolerance =
      ulps * length *
      std::min(Epsilon(matmul_.x_dtype), Epsilon(Dtype::kFloat32));
  return memory_.CompareY(matmul_, y_size_, shape_.preactivation, tolerance,
                          ReferenceMatmul, run);
}

std::string Case::CheckSampled(
    const std::function<void(const SampledMatmulProblem&)>& run, double ulps) {
  const double tolerance =
      ulps * (2 + shape_.rows) *
      std::min(Epsilon(sampled_.x_dtype), Epsilon(Dtype::kFloat32));
  return memory_.CompareBlocks(sampled_, blocks_size_, tolerance,
                               ReferenceSampledMatmul, run);
}

}  // namespace blocksparse
