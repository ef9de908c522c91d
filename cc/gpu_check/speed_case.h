// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What is timed, and how it is asked for.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_SPEED_CASE_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_SPEED_CASE_H_

#include <cstdint>
#include <string>

#include "cc/gpu_check/cublas.h"

namespace blocksparse {
namespace cuda {

// One of the three products of a layer.
struct SpeedCase {
  DenseProblem::Product product;
  Dtype dtype;
  bool tensor_float_32;
  int64_t rows;  // or images
  int64_t inputs;
  int64_t outputs;
  int32_t block_size = 0;  // 0: dense
  double density = 1;
  int64_t side = 0;  // of the images of a convolution; 0: there is none
};

// Reads a line of stdin, as main.cc tells them. Throws a std::invalid_argument
// with the line if it is none, or a product or sizes that are not timed.
SpeedCase ReadCase(const std::string& line);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_SPEED_CASE_H_
