// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/conv_case.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cc/base/element.h"
#include "cc/base/round_up.h"
#include "cc/kernels/reference/conv.h"

namespace blocksparse {
namespace {

// Rows of the matrix that the layout is of: see ParseConvLayout.
int64_t LayoutRows(const ConvShape& shape) {
  const int64_t taps = shape.geometry.taps();
  if (shape.shared_taps || taps == 1) return shape.inputs;
  return RoundUp(shape.inputs, shape.block_inputs) * taps;
}

// Whatever is beyond the edges becomes NaN.
void PoisonEdges(const ConvShape& shape, const Layout& layout, Dtype dtype,
                 void* blocks) {
  const int64_t taps = shape.geometry.taps();
  const int64_t taps_of_block = shape.shared_taps ? taps : 1;
  const int64_t taps_of_layout = shape.shared_taps ? 1 : taps;
  int64_t place = 0;
  for (int64_t k = 0; k < layout.forward.targets; ++k) {
    for (int64_t w = layout.forward.splits[k]; w < layout.forward.splits[k + 1];
         ++w) {
      const int64_t c = layout.forward.index[w] / taps_of_layout;
      for (int64_t t = 0; t < taps_of_block; ++t) {
        for (int64_t i = 0; i < layout.block_inputs; ++i) {
          for (int64_t j = 0; j < layout.block_outputs; ++j, ++place) {
            if (c * layout.block_inputs + i >= shape.inputs ||
                k * layout.block_outputs + j >= shape.outputs) {
              StoreElement(NAN, blocks, dtype, place);
            }
          }
        }
      }
    }
  }
}

std::string Sizes(const int64_t (&sizes)[kSpatial]) {
  std::ostringstream stream;
  stream << sizes[0] << "x" << sizes[1] << "x" << sizes[2];
  return stream.str();
}

}  // namespace

int64_t ConvShape::y_pixels() const {
  return geometry.batch *
         (adjoint ? geometry.fine_pixels() : geometry.coarse_pixels());
}

int64_t ConvShape::coarse_pixels() const {
  return geometry.batch * geometry.coarse_pixels();
}

std::string ConvShape::ToString() const {
  std::ostringstream stream;
  stream << kind->name << " " << inputs << "x" << outputs << " block "
         << block_inputs << "x" << block_outputs << " batch " << geometry.batch
         << " fine " << Sizes(geometry.fine) << " coarse "
         << Sizes(geometry.coarse) << " kernel " << Sizes(geometry.kernel)
         << " strides " << Sizes(geometry.strides) << " dilations "
         << Sizes(geometry.dilations) << " padding " << Sizes(geometry.padding)
         << (shared_taps ? " shared_taps" : "") << (adjoint ? " adjoint" : "")
         << (transpose ? " transpose" : "")
         << (features_first ? " features_first" : "") << " gate "
         << static_cast<int>(gate) << (bias ? " bias" : "")
         << (preactivation ? " preactivation" : "") << " activation "
         << static_cast<int>(activation);
  return stream.str();
}

ConvCase::ConvCase(const ConvShape& shape, Dtype x_dtype, Dtype blocks_dtype,
                   Fill fill, uint64_t seed)
    : shape_(shape),
      memory_(shape.ToString(), seed),
      packed_(*shape.kind, LayoutRows(shape), shape.outputs, shape.block_inputs,
              shape.block_outputs) {
  const Layout layout = packed_.layout();
  const ConvGeometry& g = shape.geometry;
  const int64_t y_features = shape.transpose ? shape.inputs : shape.outputs;
  // x is on the fine side of a convolution, with the inputs unless transposed.
  const bool fine_has_inputs = shape.adjoint == shape.transpose;
  y_size_ = shape.y_pixels() * y_features;
  blocks_size_ = layout.nnz * (shape.shared_taps ? g.taps() : 1) *
                 layout.block_inputs * layout.block_outputs;
  conv_.layout = sampled_.layout = layout;
  conv_.shared_taps = sampled_.shared_taps = shape.shared_taps;
  conv_.inputs = sampled_.inputs = shape.inputs;
  conv_.outputs = sampled_.outputs = shape.outputs;
  conv_.geometry = sampled_.geometry = g;
  conv_.adjoint = shape.adjoint;
  sampled_.adjoint = !fine_has_inputs;
  conv_.transpose = shape.transpose;
  conv_.features_first = sampled_.features_first = shape.features_first;
  conv_.x_dtype = sampled_.x_dtype = x_dtype;
  conv_.blocks_dtype = sampled_.blocks_dtype = blocks_dtype;
  conv_.activation = shape.activation;
  sampled_.fine =
      memory_.Operand(g.batch * g.fine_pixels() *
                          (fine_has_inputs ? shape.inputs : shape.outputs),
                      x_dtype, fill);
  sampled_.coarse =
      memory_.Operand(g.batch * g.coarse_pixels() *
                          (fine_has_inputs ? shape.outputs : shape.inputs),
                      x_dtype, fill);
  conv_.x = shape.adjoint ? sampled_.coarse : sampled_.fine;
  void* blocks = memory_.Operand(blocks_size_, blocks_dtype, fill);
  PoisonEdges(shape, layout, blocks_dtype, blocks);
  conv_.blocks = blocks;
  conv_.gate = sampled_.gate = memory_.Gate(shape.gate, layout.nnz);
  conv_.gate_is_mask = shape.gate == GateKind::kMask;
  if (shape.bias) conv_.bias = memory_.Operand(y_features, x_dtype, fill);
}

std::string ConvCase::CheckConv(
    const std::function<void(const ConvProblem&)>& run, double ulps) {
  // Operands are at most 1 then, so a sum of as many products is at most its
  // length; sums are made in float at least.
  const int64_t length =
      2 + shape_.geometry.taps() *
              (shape_.transpose ? shape_.outputs : shape_.inputs);
  const double tolerance =
      ulps * length *
      std::min(Epsilon(conv_.x_dtype), Epsilon(Dtype::kFloat32));
  return memory_.CompareY(conv_, y_size_, shape_.preactivation, tolerance,
                          ReferenceConv, run);
}

std::string ConvCase::CheckSampled(
    const std::function<void(const ConvSampledProblem&)>& run, double ulps) {
  const ConvGeometry& g = shape_.geometry;
  const double tolerance =
      ulps * (2 + g.batch * g.coarse_pixels()) *
      std::min(Epsilon(sampled_.x_dtype), Epsilon(Dtype::kFloat32));
  return memory_.CompareBlocks(sampled_, blocks_size_, tolerance,
                               ReferenceConvSampled, run);
}

}  // namespace blocksparse
