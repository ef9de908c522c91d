// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Matrix products with their memory.
#ifndef TF_BLOCKSPARSE_CC_TESTING_CASE_H_
#define TF_BLOCKSPARSE_CC_TESTING_CASE_H_

#include <functional>
#include <string>

#include "cc/kernels/problem.h"
#include "cc/testing/case_memory.h"
#include "cc/testing/packed_layout.h"

namespace blocksparse {

struct CaseShape {
  const LayoutKind* kind;
  int64_t inputs;
  int64_t outputs;
  int32_t block_inputs;
  int32_t block_outputs;
  int64_t rows;
  bool transpose = false;  // of a matmul
  bool features_first = false;
  GateKind gate = GateKind::kNone;
  bool bias = false;
  bool preactivation = false;
  Activation activation = Activation::kNone;

  std::string ToString() const;
};

// A matmul and a sampled matmul on the same operands. Entries of the blocks
// that lie beyond inputs or outputs are NaN: they must be ignored.
class Case {
 public:
  Case(const CaseShape& shape, Dtype x_dtype, Dtype blocks_dtype, Fill fill,
       uint64_t seed = 1);

  // Runs what `run` does on a problem whose outputs are poisoned, and what the
  // reference does, and compares all outputs. `ulps` is how far a float (or
  // double) result may be off, in units of its dtype's epsilon times the sum
  // of magnitudes behind it; 0 demands equality. Empty string, or the first
  // difference.
  std::string CheckMatmul(const std::function<void(const MatmulProblem&)>& run,
                          double ulps);
  std::string CheckSampled(
      const std::function<void(const SampledMatmulProblem&)>& run, double ulps);

  const MatmulProblem& matmul() const { return matmul_; }
  const SampledMatmulProblem& sampled() const { return sampled_; }

 private:
  CaseShape shape_;
  CaseMemory memory_;
  PackedLayout packed_;
  int64_t x_size_ = 0;
  int64_t y_size_ = 0;
  int64_t blocks_size_ = 0;
  MatmulProblem matmul_;
  SampledMatmulProblem sampled_;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_CASE_H_
