// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/speed.h"

#include <algorithm>
#include <stdexcept>

#include "cc/gpu_check/balanced_layout.h"
#include "cc/gpu_check/products.h"

namespace blocksparse {
namespace cuda {

SpeedResult Speed::Time(const SpeedCase& timed) {
  if (timed.block_size == 0) return TimeDense(timed);
  const bool dw = timed.product == DenseProblem::Product::kDw;
  if (timed.side > 0) return dw ? TimeConvSampled(timed) : TimeConv(timed);
  return dw ? TimeSampledMatmul(timed) : TimeMatmul(timed);
}

SpeedResult Speed::TimeMatmul(const SpeedCase& timed) {
  const PackedLayout packed = BalancedLayout(
      timed.inputs, timed.outputs, timed.block_size, timed.density, seed_);
  const bool transpose = timed.product == DenseProblem::Product::kDx;
  const int64_t sources = transpose ? timed.outputs : timed.inputs;
  const int64_t targets = transpose ? timed.inputs : timed.outputs;
  const int64_t side = timed.block_size;
  const int64_t y_size = timed.rows * targets;
  MatmulProblem problem;
  problem.layout = packed.layout();
  const int64_t blocks_size = problem.layout.nnz * side * side;
  Operand x, blocks;
  numbers_.Draw(timed.dtype, timed.rows * sources, blocks_size, &x, &blocks);
  problem.transpose = transpose;
  problem.rows = timed.rows;
  problem.x_dtype = problem.blocks_dtype = timed.dtype;
  problem.x = x.device;
  problem.blocks = blocks.device;
  problem.y = result_.OfBytes(y_size * SizeOf(timed.dtype));
  FillBytes(problem.y, 0xff, y_size * SizeOf(timed.dtype));
  SpeedResult result =
      TimeProduct<MatmulProduct>(problem, timed.tensor_float_32);
  result.flops = 2.0 * blocks_size * timed.rows;
  result.bytes = 1.0 * SizeOf(timed.dtype) *
                 (timed.rows * (sources + targets) + blocks_size);
  const LayoutView& view =
      transpose ? problem.layout.transposed : problem.layout.forward;
  result.error = CheckSome(
      problem.y, timed.dtype, y_size, sources, UlpsOf(timed.tensor_float_32),
      seed_, [&](int64_t place) {
        const int64_t target = place % targets;
        const int64_t row = place / targets;
        double sum = 0;
        for (int64_t e = view.splits[target / side];
             e < view.splits[target / side + 1]; ++e) {
          const int64_t within = target % side;
          sum += Dot(x, row * sources + view.index[e] * side, 1, blocks,
                     BlockId(view, e) * side * side +
                         (transpose ? within * side : within),
                     transpose ? 1 : side, side);
        }
        return sum;
      });
  return result;
}

SpeedResult Speed::TimeSampledMatmul(const SpeedCase& timed) {
  const PackedLayout packed = BalancedLayout(
      timed.inputs, timed.outputs, timed.block_size, timed.density, seed_);
  const int64_t side = timed.block_size;
  SampledMatmulProblem problem;
  problem.layout = packed.layout();
  const LayoutView& view = problem.layout.forward;
  const int64_t blocks_size = problem.layout.nnz * side * side;
  Operand a, b;
  numbers_.Draw(timed.dtype, timed.rows * timed.inputs,
                timed.rows * timed.outputs, &a, &b);
  problem.rows = timed.rows;
  problem.x_dtype = problem.blocks_dtype = timed.dtype;
  problem.a = a.device;
  problem.b = b.device;
  problem.blocks = result_.OfBytes(blocks_size * SizeOf(timed.dtype));
  FillBytes(problem.blocks, 0xff, blocks_size * SizeOf(timed.dtype));
  SpeedResult result =
      TimeProduct<SampledMatmulProduct>(problem, timed.tensor_float_32);
  result.flops = 2.0 * blocks_size * timed.rows;
  result.bytes = 1.0 * SizeOf(timed.dtype) *
                 (timed.rows * (timed.inputs + timed.outputs) + blocks_size);
  result.error = CheckSome(
      problem.blocks, timed.dtype, blocks_size, timed.rows,
      UlpsOf(timed.tensor_float_32), seed_, [&](int64_t place) {
        const int64_t w = place / (side * side);
        const int64_t k =
            std::upper_bound(view.splits, view.splits + view.targets + 1, w) -
            view.splits - 1;
        return Dot(a, view.index[w] * side + place / side % side, timed.inputs,
                   b, k * side + place % side, timed.outputs, timed.rows);
      });
  return result;
}

SpeedResult Speed::TimeDense(const SpeedCase& timed) {
  using Product = DenseProblem::Product;
  if (cublas_ == nullptr) throw std::runtime_error("there is no cuBLAS");
  const int64_t rows = timed.rows, inputs = timed.inputs;
  const int64_t outputs = timed.outputs;
  const int64_t x_size = rows * inputs, y_size = rows * outputs;
  const int64_t w_size = inputs * outputs;
  const bool dx = timed.product == Product::kDx;
  const bool dw = timed.product == Product::kDw;
  const int64_t result_size = dw ? w_size : (dx ? x_size : y_size);
  Operand left, right;
  numbers_.Draw(timed.dtype, dx ? y_size : x_size, dw ? y_size : w_size, &left,
                &right);
  DenseProblem problem = {timed.product, timed.dtype,  timed.tensor_float_32,
                          rows,          inputs,       outputs,
                          left.device,   right.device, nullptr};
  problem.result = result_.OfBytes(result_size * SizeOf(timed.dtype));
  FillBytes(problem.result, 0xff, result_size * SizeOf(timed.dtype));
  SpeedResult result;
  result.kernel = "cuBLAS";
  result.timed = clock_.Time([&] { cublas_->Run(problem); });
  result.flops = 2.0 * rows * w_size;
  result.bytes = 1.0 * SizeOf(timed.dtype) * (x_size + y_size + w_size);
  const int64_t width = dx ? inputs : outputs;
  const int64_t length = dw ? rows : (dx ? outputs : inputs);
  result.error = CheckSome(
      problem.result, timed.dtype, result_size, length,
      UlpsOf(timed.tensor_float_32), seed_, [&](int64_t place) {
        const int64_t row = place / width, column = place % width;
        if (dw) return Dot(left, row, inputs, right, column, outputs, length);
        return Dot(left, row * length, 1, right, dx ? column * outputs : column,
                   dx ? 1 : outputs, length);
      });
  return result;
}

}  // namespace cuda
}  // namespace blocksparse
