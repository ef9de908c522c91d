// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/conv_kernel_cases.h"

#include <iterator>

namespace blocksparse {
namespace cuda {
namespace {

// Blocks and features of whole pieces of 16 bytes, for kernels that take no
// others: every geometry, in every direction.
std::vector<ConvShape> PieceShapes() {
  constexpr ConvBlockSize kBlocks[] = {{8, 8},  {16, 16}, {32, 32},
                                       {8, 64}, {24, 16}, {64, 8}};
  std::vector<ConvShape> shapes;
  int turn = 0;
  for (const Convolution& convolution : Convolutions()) {
    for (int side = 0; side < 8; ++side, ++turn) {
      const ConvBlockSize& block = kBlocks[turn % std::size(kBlocks)];
      ConvShape shape{
          &LayoutKinds()[turn % LayoutKinds().size()],
          block.inputs * 3 - 8 * (turn % 3 == 1 && block.inputs > 8),
          block.outputs * 2,
          block.inputs,
          block.outputs,
          Geometry(convolution)};
      shape.adjoint = side & 1;
      shape.transpose = side & 2;
      shape.shared_taps = side & 4;
      shape.gate = static_cast<GateKind>(turn % 7 < 4 ? 0 : turn % 7 - 3);
      shape.bias = turn % 5 < 3;
      shape.preactivation = turn % 5 == 0;
      shape.activation = turn % 4 == 0 ? Activation::kRelu : Activation::kNone;
      shapes.push_back(shape);
    }
  }
  return shapes;
}

}  // namespace

std::vector<ConvShape> ConvShapesOf(Path path, size_t place) {
  std::vector<ConvShape> shapes = PieceShapes();
  if (path == Path::kElements) {
    for (const auto& more :
         {ConvShapes(), KernelConvShapes(), RandomConvShapes()}) {
      shapes.insert(shapes.end(), more.begin(), more.end());
    }
  }
  const size_t every = path == Path::kElements ? 41 : 3;
  std::vector<ConvShape> share;
  for (size_t i = place % every; i < shapes.size(); i += every) {
    share.push_back(shapes[i]);
  }
  return share;
}

}  // namespace cuda
}  // namespace blocksparse
