// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Times of products, each with its result checked.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_SPEED_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_SPEED_H_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "cc/gpu_check/clock.h"
#include "cc/gpu_check/cublas.h"
#include "cc/gpu_check/numbers.h"
#include "cc/gpu_check/speed_case.h"

namespace blocksparse {
namespace cuda {

struct SpeedResult {
  std::string kernel;
  Timed timed;
  double flops = 0;
  double bytes = 0;   // operands and results, once each
  std::string error;  // of the result; empty if it is right
};

class Speed {
 public:
  // `cublas` may be null: then there is nothing dense.
  Speed(const DeviceFacts& facts, uint64_t seed, int samples, Cublas* cublas)
      : device_(facts.device),
        seed_(seed),
        numbers_(seed),
        clock_(facts, samples),
        cublas_(cublas) {}

  // Throws a std::runtime_error where it can't be run.
  SpeedResult Time(const SpeedCase& timed);
  double CopyBandwidth() { return clock_.CopyBandwidth(); }

 private:
  SpeedResult TimeMatmul(const SpeedCase& timed);
  SpeedResult TimeSampledMatmul(const SpeedCase& timed);
  SpeedResult TimeDense(const SpeedCase& timed);
  // In conv_speed.cc.
  SpeedResult TimeConv(const SpeedCase& timed);
  SpeedResult TimeConvSampled(const SpeedCase& timed);
  template <typename Product>
  SpeedResult TimeProduct(const typename Product::Problem& problem,
                          bool tensor_float_32);

  Device device_;
  uint64_t seed_;
  Numbers numbers_;
  Clock clock_;
  Cublas* cublas_;
  Room result_;
  Room scratch_;
};

template <typename Product>
SpeedResult Speed::TimeProduct(const typename Product::Problem& problem,
                               bool tensor_float_32) {
  Device device = device_;
  device.tensor_float_32 = tensor_float_32;
  typename Product::Plan plan;
  std::string error = Product::Choose(problem, device, &plan);
  if (!error.empty()) throw std::runtime_error(error);
  void* const scratch = scratch_.OfBytes(plan.scratch_bytes);
  const std::vector<int32_t>& copied = Product::TableOf(plan);
  const Pinned pinned(copied.data(), copied.size() * sizeof(int32_t));
  SpeedResult result;
  result.kernel = Product::NameOf(plan);
  result.timed = clock_.Time([&] {
    const std::string failure = Product::Run(problem, plan, scratch);
    if (!failure.empty()) throw std::runtime_error(failure);
  });
  return result;
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_SPEED_H_
