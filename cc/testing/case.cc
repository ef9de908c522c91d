// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/case.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cc/base/element.h"
#include "cc/kernels/reference/reference.h"

namespace blocksparse {
namespace {

double Epsilon(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return std::ldexp(1, -23);
    case Dtype::kFloat64:
      return std::ldexp(1, -52);
    case Dtype::kBFloat16:
      return std::ldexp(1, -7);
    default:
      return std::ldexp(1, -10);
  }
}

}  // namespace

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

void* Case::Allocate(int64_t elements, Dtype dtype) {
  buffers_.push_back(std::make_unique<GuardedBuffer>(elements * SizeOf(dtype)));
  return buffers_.back()->data();
}

const void* Case::Operand(int64_t elements, Dtype dtype, Fill fill) {
  void* data = Allocate(elements, dtype);
  for (int64_t i = 0; i < elements; ++i) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    // Integers from -3 to 3: sums of the lengths tested are exact in float, and
    // rounding them to 16 bits is one rounding.
    const int64_t draw = static_cast<int64_t>(state_ >> 33);
    StoreElement(fill == Fill::kIntegers ? static_cast<double>(draw % 7 - 3)
                                         : std::ldexp(draw, -30) - 1,
                 data, dtype, i);
  }
  return data;
}

Case::Case(const CaseShape& shape, Dtype x_dtype, Dtype blocks_dtype, Fill fill)
    : shape_(shape),
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
  matmul_.x = Operand(x_size_, x_dtype, fill);
  const void* other = Operand(y_size_, x_dtype, fill);
  sampled_.a = shape.transpose ? other : matmul_.x;
  sampled_.b = shape.transpose ? matmul_.x : other;
  void* blocks = const_cast<void*>(Operand(blocks_size_, blocks_dtype, fill));
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
  if (shape.gate != GateKind::kNone) {
    float* gate = static_cast<float*>(Allocate(layout.nnz, Dtype::kFloat32));
    for (int64_t w = 0; w < layout.nnz; ++w) {
      gate[w] = shape.gate == GateKind::kOnes
                    ? 1
                    : static_cast<float>(w % 3) - (w % 2 == 0 ? 0 : 1);
    }
    matmul_.gate = sampled_.gate = gate;
  }
  if (shape.bias) {
    matmul_.bias =
        Operand(shape.transpose ? shape.inputs : shape.outputs, x_dtype, fill);
  }
}

std::string Case::Compare(const char* name, const void* got,
                          const void* expected, int64_t elements, Dtype dtype,
                          double tolerance) const {
  for (int64_t i = 0; i < elements; ++i) {
    const double g = LoadElement(got, dtype, i);
    const double e = LoadElement(expected, dtype, i);
    // A stored value may be a rounding apart besides.
    const double allowed =
        tolerance == 0 ? 0 : tolerance + Epsilon(dtype) * std::abs(e);
    if (std::abs(g - e) <= allowed) continue;
    std::ostringstream stream;
    stream.precision(17);
    stream << name << "[" << i << "] is " << g << ", expected " << e
           << " within " << allowed << ": " << shape_.ToString();
    return stream.str();
  }
  for (const auto& buffer : buffers_) {
    if (!buffer->FrontIntact()) {
      return std::string(name) +
             ": wrote before a buffer: " + shape_.ToString();
    }
  }
  return std::string();
}

std::string Case::CheckMatmul(
    const std::function<void(const MatmulProblem&)>& run, double ulps) {
  const Dtype dtype = matmul_.x_dtype;
  MatmulProblem expected = matmul_;
  expected.y = Allocate(y_size_, dtype);
  MatmulProblem got = matmul_;
  got.y = Allocate(y_size_, dtype);
  if (shape_.preactivation) {
    expected.preactivation = Allocate(y_size_, dtype);
    got.preactivation = Allocate(y_size_, dtype);
  }
  ReferenceMatmul(expected);
  run(got);
  // Operands are at most 1 then, so a sum of as many products is at most its
  // length; sums are made in float at least.
  const int64_t length =
      2 + (shape_.transpose ? shape_.outputs : shape_.inputs);
  const double tolerance =
      ulps * length * std::min(Epsilon(dtype), Epsilon(Dtype::kFloat32));
  std::string difference =
      Compare("y", got.y, expected.y, y_size_, dtype, tolerance);
  if (difference.empty() && shape_.preactivation) {
    difference = Compare("preactivation", got.preactivation,
                         expected.preactivation, y_size_, dtype, tolerance);
  }
  return difference;
}

std::string Case::CheckSampled(
    const std::function<void(const SampledMatmulProblem&)>& run, double ulps) {
  const Dtype dtype = sampled_.blocks_dtype;
  SampledMatmulProblem expected = sampled_;
  expected.blocks = Allocate(blocks_size_, dtype);
  SampledMatmulProblem got = sampled_;
  got.blocks = Allocate(blocks_size_, dtype);
  ReferenceSampledMatmul(expected);
  run(got);
  const double tolerance =
      ulps * (2 + shape_.rows) *
      std::min(Epsilon(sampled_.x_dtype), Epsilon(Dtype::kFloat32));
  return Compare("blocks", got.blocks, expected.blocks, blocks_size_, dtype,
                 tolerance);
}

}  // namespace blocksparse
