// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions of 3 x 3 pixels, as many out as in, on square images.
#include <algorithm>

#include "cc/gpu_check/balanced_layout.h"
#include "cc/gpu_check/conv_products.h"
#include "cc/gpu_check/speed.h"

namespace blocksparse {
namespace cuda {
namespace {

constexpr int kKernel = 3;
constexpr int kTaps = kKernel * kKernel;

ConvGeometry GeometryOf(const SpeedCase& timed) {
  ConvGeometry g;
  g.batch = timed.rows;
  for (int d = 1; d < kSpatial; ++d) {
    g.fine[d] = g.coarse[d] = timed.side;
    g.kernel[d] = kKernel;
    g.padding[d] = kKernel / 2;
  }
  return g;
}

// The pixel that a tap of `pixel` meets on the other side, or -1. `direction`
// is 1 from the coarse side to the fine one, else -1.
int64_t Met(int64_t pixel, int tap, int direction, int64_t side) {
  const int64_t image = pixel / (side * side);
  const int64_t row =
      pixel / side % side + direction * (tap / kKernel - kKernel / 2);
  const int64_t column =
      pixel % side + direction * (tap % kKernel - kKernel / 2);
  if (row < 0 || row >= side || column < 0 || column >= side) return -1;
  return (image * side + row) * side + column;
}

template <typename Problem>
void Describe(const SpeedCase& timed, const PackedLayout& packed,
              Problem* problem) {
  problem->layout = packed.layout();
  problem->inputs = timed.inputs;
  problem->outputs = timed.outputs;
  problem->geometry = GeometryOf(timed);
  problem->x_dtype = problem->blocks_dtype = timed.dtype;
}

}  // namespace

SpeedResult Speed::TimeConv(const SpeedCase& timed) {
  const PackedLayout packed = BalancedLayout(
      timed.inputs, timed.outputs, timed.block_size, timed.density, seed_);
  const bool dx = timed.product == DenseProblem::Product::kDx;
  const int64_t sources = dx ? timed.outputs : timed.inputs;
  const int64_t targets = dx ? timed.inputs : timed.outputs;
  const int64_t block = timed.block_size;
  const int64_t pixels = timed.rows * timed.side * timed.side;
  ConvProblem problem;
  Describe(timed, packed, &problem);
  problem.adjoint = problem.transpose = dx;
  const int64_t blocks_size = problem.layout.nnz * kTaps * block * block;
  Operand x, blocks;
  numbers_.Draw(timed.dtype, pixels * sources, blocks_size, &x, &blocks);
  problem.x = x.device;
  problem.blocks = blocks.device;
  const int64_t y_bytes = pixels * targets * SizeOf(timed.dtype);
  problem.y = result_.OfBytes(y_bytes);
  FillBytes(problem.y, 0xff, y_bytes);
  SpeedResult result = TimeProduct<ConvProduct>(problem, timed.tensor_float_32);
  result.flops = 2.0 * blocks_size * pixels;
  result.bytes =
      1.0 * SizeOf(timed.dtype) * (pixels * (sources + targets) + blocks_size);
  const LayoutView& view =
      dx ? problem.layout.transposed : problem.layout.forward;
  result.error = CheckSome(
      problem.y, timed.dtype, pixels * targets, kTaps * sources,
      UlpsOf(timed.tensor_float_32), seed_, [&](int64_t place) {
        const int64_t target = place % targets;
        const int64_t within = target % block;
        double sum = 0;
        for (int tap = 0; tap < kTaps; ++tap) {
          const int64_t from =
              Met(place / targets, tap, dx ? -1 : 1, timed.side);
          if (from < 0) continue;
          for (int64_t e = view.splits[target / block];
               e < view.splits[target / block + 1]; ++e) {
            sum += Dot(x, from * sources + view.index[e] * block, 1, blocks,
                       (BlockId(view, e) * kTaps + tap) * block * block +
                           (dx ? within * block : within),
                       dx ? 1 : block, block);
          }
        }
        return sum;
      });
  return result;
}

SpeedResult Speed::TimeConvSampled(const SpeedCase& timed) {
  const PackedLayout packed = BalancedLayout(
      timed.inputs, timed.outputs, timed.block_size, timed.density, seed_);
  const int64_t block = timed.block_size;
  const int64_t pixels = timed.rows * timed.side * timed.side;
  ConvSampledProblem problem;
  Describe(timed, packed, &problem);
  const LayoutView& view = problem.layout.forward;
  const int64_t blocks_size = problem.layout.nnz * kTaps * block * block;
  Operand fine, coarse;
  numbers_.Draw(timed.dtype, pixels * timed.inputs, pixels * timed.outputs,
                &fine, &coarse);
  problem.fine = fine.device;
  problem.coarse = coarse.device;
  problem.blocks = result_.OfBytes(blocks_size * SizeOf(timed.dtype));
  FillBytes(problem.blocks, 0xff, blocks_size * SizeOf(timed.dtype));
  SpeedResult result =
      TimeProduct<ConvSampledProduct>(problem, timed.tensor_float_32);
  result.flops = 2.0 * blocks_size * pixels;
  result.bytes = 1.0 * SizeOf(timed.dtype) *
                 (pixels * (timed.inputs + timed.outputs) + blocks_size);
  result.error = CheckSome(
      problem.blocks, timed.dtype, blocks_size, pixels,
      UlpsOf(timed.tensor_float_32), seed_, [&](int64_t place) {
        const int64_t w = place / (kTaps * block * block);
        const int tap = static_cast<int>(place / (block * block) % kTaps);
        const int64_t input = view.index[w] * block + place / block % block;
        const int64_t k =
            std::upper_bound(view.splits, view.splits + view.targets + 1, w) -
            view.splits - 1;
        const int64_t output = k * block + place % block;
        double sum = 0;
        for (int64_t pixel = 0; pixel < pixels; ++pixel) {
          const int64_t met = Met(pixel, tap, 1, timed.side);
          if (met < 0) continue;
          sum += Dot(fine, met * timed.inputs + input, 1, coarse,
                     pixel * timed.outputs + output, 1, 1);
        }
        return sum;
      });
  return result;
}

}  // namespace cuda
}  // namespace blocksparse
