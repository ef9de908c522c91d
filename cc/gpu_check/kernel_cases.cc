// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/kernel_cases.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cc/base/round_up.h"

namespace blocksparse {
namespace cuda {
namespace {

struct BlockSize {
  int32_t inputs;
  int32_t outputs;
};
constexpr BlockSize kBlockSizes[] = {
    {8, 8},  {16, 16}, {32, 32}, {64, 64}, {128, 128}, {1, 1},  {5, 7},
    {8, 16}, {32, 8},  {64, 16}, {24, 40}, {16, 128},  {20, 12}};
// Of kernels that take no others.
constexpr BlockSize kBoxBlockSizes[] = {
    {64, 64}, {128, 128}, {64, 128}, {128, 64}};
// Around a tile of rows, some of them multiples of 8: features first, lines of
// x are pieces of 16 bytes then.
constexpr int64_t kRows[] = {1, 8, 17, 64, 129, 136, 0};

const LayoutKind& Random() { return LayoutKinds()[6]; }

const LayoutKind& Skewed() { return LayoutKinds()[7]; }

// The same with inputs and outputs changed.
const LayoutKind& SkewedToInputs() {
  static const auto* const kind = new LayoutKind{
      "skewed_to_inputs", [](int64_t c, int64_t k, int64_t cs, int64_t ks) {
        return Skewed().has(k, c, ks, cs);
      }};
  return *kind;
}

// Whether a kernel is of one direction and of one feature axis.
bool HasAxes(Path path) {
  return path == Path::kTensor || path == Path::kHopper;
}

CaseShape SizedShape(int32_t block, const LayoutKind& kind, int64_t inputs,
                     int64_t outputs, int64_t rows) {
  return {&kind, inputs * block / 16, outputs * block / 16, block, block, rows};
}

std::vector<CaseShape> CaseShapes(Path path) {
  const bool boxes = path == Path::kHopper;
  const std::vector<BlockSize> block_sizes =
      boxes ? std::vector<BlockSize>(std::begin(kBoxBlockSizes),
                                     std::end(kBoxBlockSizes))
            : std::vector<BlockSize>(std::begin(kBlockSizes),
                                     std::end(kBlockSizes));
  std::vector<CaseShape> shapes;
  int turn = 0;
  for (const LayoutKind& kind : LayoutKinds()) {
    for (const BlockSize& block : block_sizes) {
      for (int side = 0; side < 4; ++side) {
        // Beyond the edge now and then, by 8 features, or by one; of both
        // sides, or of one.
        const int beyond = turn % 5 == 1 ? 1 : (turn % 3 == 1 ? 8 : 0);
        const int of = turn / 4 % 3;
        CaseShape shape{&kind,
                        std::max(1, block.inputs * 3 - (of != 2 ? beyond : 0)),
                        std::max(1, block.outputs * 4 - (of != 1 ? beyond : 0)),
                        block.inputs,
                        block.outputs,
                        kRows[turn % std::size(kRows)]};
        shape.transpose = side & 1;
        shape.features_first = side & 2;
        shape.gate = static_cast<GateKind>(turn % 11 < 7 ? 0 : turn % 11 - 7);
        shape.bias = (turn / 2 + side) % 2;
        shape.preactivation = turn % 5 == 0;
        shape.activation =
            turn % 4 == 0 ? Activation::kRelu : Activation::kNone;
        if (boxes && shape.features_first) shape.rows = RoundUp(shape.rows, 8);
        shapes.push_back(shape);
        ++turn;
      }
    }
  }
  return shapes;
}

}  // namespace

std::vector<CaseShape> CaseShapesOf(Path path, size_t place) {
  const size_t every = path == Path::kHopper ? 1 : 3;
  const std::vector<CaseShape> shapes = CaseShapes(path);
  std::vector<CaseShape> share;
  for (size_t i = place % every; i < shapes.size(); i += every) {
    share.push_back(shapes[i]);
  }
  return share;
}

CaseShape ShapeFor(const MatmulKernel& kernel, const LayoutKind& kind,
                   int64_t inputs, int64_t outputs, int64_t rows) {
  CaseShape shape = SizedShape(BlockFor(kernel), kind, inputs, outputs, rows);
  if (HasAxes(kernel.path)) {
    shape.transpose = kernel.right_along;
    shape.features_first = !kernel.left_along;
  }
  return shape;
}

CaseShape ShapeFor(const SampledMatmulKernel& kernel, const LayoutKind& kind,
                   int64_t inputs, int64_t outputs, int64_t rows) {
  CaseShape shape = SizedShape(BlockFor(kernel), kind, inputs, outputs, rows);
  shape.features_first = HasAxes(kernel.path) && kernel.left_along;
  return shape;
}

std::vector<CaseShape> ActivationShapes(const MatmulKernel& kernel) {
  std::vector<CaseShape> shapes;
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu,
        Activation::kSilu, Activation::kTanh, Activation::kSigmoid}) {
    CaseShape shape = ShapeFor(kernel, Random(), 80, 64, 24);
    shape.bias = true;
    shape.preactivation = true;
    shape.activation = activation;
    shapes.push_back(shape);
  }
  return shapes;
}

CaseShape LongColumn(const MatmulKernel& kernel) {
  const int64_t sources =
      kernel.path == Path::kHopper ? 3840 * 16 / BlockFor(kernel) : 1200;
  CaseShape shape = ShapeFor(kernel, Skewed(), sources, 80, 136);
  shape.bias = true;
  if (shape.transpose) {
    std::swap(shape.inputs, shape.outputs);
    shape.kind = &SkewedToInputs();
  }
  return shape;
}

CaseShape ManyRows(const SampledMatmulKernel& kernel, GateKind gate) {
  CaseShape shape = ShapeFor(kernel, Random(), 64, 64, 1304);
  shape.gate = gate;
  return shape;
}

}  // namespace cuda
}  // namespace blocksparse
