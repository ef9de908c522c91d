// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/speed_case.h"

#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "cc/layout/conv_geometry.h"
#include "cc/layout/layout.h"

namespace blocksparse {
namespace cuda {
namespace {

using Product = DenseProblem::Product;

// Sizes are counted in 64 bits, but cuBLAS's in 32.
constexpr int64_t kMostSize = int64_t{1} << 24;

bool IsSize(int64_t size) { return size > 0 && size <= kMostSize; }

bool HasPixels(const SpeedCase& timed) {
  constexpr int64_t kMostSide = int64_t{1} << 16;
  return timed.side > 0 && timed.side <= kMostSide &&
         timed.rows * timed.side * timed.side <= kMaxConvPixels;
}

bool HasBlocks(const SpeedCase& timed) {
  return timed.block_size > 0 && timed.block_size <= kMaxBlockSize &&
         timed.inputs % timed.block_size == 0 &&
         timed.outputs % timed.block_size == 0 && timed.density > 0 &&
         timed.density <= 1;
}

}  // namespace

SpeedCase ReadCase(const std::string& line) {
  const std::map<std::string, Product> products = {
      {"forward", Product::kForward},
      {"dx", Product::kDx},
      {"dw", Product::kDw}};
  // With whether products may be made of TF32.
  const std::map<std::string, std::pair<Dtype, bool>> dtypes = {
      {"f32", {Dtype::kFloat32, false}},
      {"tf32", {Dtype::kFloat32, true}},
      {"f16", {Dtype::kFloat16, false}},
      {"bf16", {Dtype::kBFloat16, false}}};
  std::istringstream words(line);
  std::string kind, product, dtype;
  SpeedCase timed = {};
  timed.density = 1;
  words >> kind >> product >> dtype >> timed.rows;
  if (kind == "conv") words >> timed.side;
  words >> timed.inputs >> timed.outputs;
  if (kind != "dense") words >> timed.block_size >> timed.density;
  const bool fits =
      words && products.count(product) > 0 && dtypes.count(dtype) > 0 &&
      (kind == "dense" || kind == "sparse" || kind == "conv") &&
      IsSize(timed.rows) && IsSize(timed.inputs) && IsSize(timed.outputs) &&
      (kind != "conv" || HasPixels(timed)) &&
      (kind == "dense" || HasBlocks(timed));
  if (!fits) throw std::invalid_argument("no case: " + line);
  timed.product = products.at(product);
  timed.dtype = dtypes.at(dtype).first;
  timed.tensor_float_32 = dtypes.at(dtype).second;
  return timed;
}

}  // namespace cuda
}  // namespace blocksparse
