// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions with their memory.
#ifndef TF_BLOCKSPARSE_CC_TESTING_CONV_CASE_H_
#define TF_BLOCKSPARSE_CC_TESTING_CONV_CASE_H_

#include <functional>
#include <string>

#include "cc/kernels/problem.h"
#include "cc/testing/case_memory.h"
#include "cc/testing/packed_layout.h"

namespace blocksparse {

struct ConvShape {
  const LayoutKind* kind;
  int64_t inputs;
  int64_t outputs;
  int32_t block_inputs;
  int32_t block_outputs;
  ConvGeometry geometry;
  bool shared_taps = true;
  bool adjoint = false;
  bool transpose = false;
  bool features_first = false;
  GateKind gate = GateKind::kNone;
  bool bias = false;
  bool preactivation = false;
  Activation activation = Activation::kNone;

  // Of the whole batch.
  int64_t y_pixels() const;
  int64_t coarse_pixels() const;
  std::string ToString() const;
};

// A convolution and a sampled one on the same operands. Entries of the blocks
// that lie beyond inputs or outputs are NaN: they must be ignored.
class ConvCase {
 public:
  ConvCase(const ConvShape& shape, Dtype x_dtype, Dtype blocks_dtype, Fill fill,
           uint64_t seed = 1);

  // As those of Case.
  std::string CheckConv(const std::function<void(const ConvProblem&)>& run,
                        double ulps);
  std::string CheckSampled(
      const std::function<void(const ConvSampledProblem&)>& run, double ulps);

  const ConvProblem& conv() const { return conv_; }
  const ConvSampledProblem& sampled() const { return sampled_; }
  int64_t y_size() const { return y_size_; }
  int64_t blocks_size() const { return blocks_size_; }

 private:
  ConvShape shape_;
  CaseMemory memory_;
  PackedLayout packed_;
  int64_t y_size_ = 0;
  int64_t blocks_size_ = 0;
  ConvProblem conv_;
  ConvSampledProblem sampled_;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_CONV_CASE_H_
