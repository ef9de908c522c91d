// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions to test: the tables.
#ifndef TF_BLOCKSPARSE_CC_TESTING_CONV_SHAPES_H_
#define TF_BLOCKSPARSE_CC_TESTING_CONV_SHAPES_H_

#include <cstdint>
#include <vector>

#include "cc/layout/conv_geometry.h"
#include "cc/testing/conv_case.h"

namespace blocksparse {

// Sizes of the fine side; those of the coarse side follow, but where given.
struct Convolution {
  ConvAttributes attributes;
  std::vector<int64_t> fine;
  std::vector<int64_t> coarse = {};
  int64_t batch = 2;
};

ConvGeometry Geometry(const Convolution& convolution);

// Every kind of geometry that is easily got wrong.
const std::vector<Convolution>& Convolutions();

struct ConvBlockSize {
  int32_t inputs;
  int32_t outputs;
};

// All layouts and geometries with what else a problem has changing along, each
// with a period that shares none of the others' factors, so that all pairs of
// settings meet somewhere.
std::vector<ConvShape> ConvShapes();

// What makes each family of kernels go its own ways: registers and parts of
// them, chunks of taps, tiles that end within images, and images that do not
// exist.
std::vector<ConvShape> KernelConvShapes();

// Whatever sizes and paddings come together, also those that no convolution
// derives from each other.
std::vector<ConvShape> RandomConvShapes();

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_CONV_SHAPES_H_
