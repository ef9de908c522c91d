// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The memory of a problem: operands filled, outputs poisoned with NaN, all of
// it guarded, and how outputs are compared.
#ifndef TF_BLOCKSPARSE_CC_TESTING_CASE_MEMORY_H_
#define TF_BLOCKSPARSE_CC_TESTING_CASE_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/testing/guarded_buffer.h"

namespace blocksparse {

enum class GateKind { kNone, kOnes, kMixed, kMask };

// How the operands of a case are filled. Wild ones are integers, and infinities
// and NaN among them.
enum class Fill { kIntegers, kUniform, kWild };

// The distance from 1 to the next number.
double Epsilon(Dtype dtype);

class CaseMemory {
 public:
  // `name` is that of the case in messages, `seed` that of its operands.
  explicit CaseMemory(std::string name, uint64_t seed = 1)
      : name_(std::move(name)), state_(seed) {}

  // An output: NaN.
  void* Allocate(int64_t elements, Dtype dtype);
  void* Operand(int64_t elements, Dtype dtype, Fill fill);
  const int32_t* Copy(const std::vector<int32_t>& numbers);
  // Null for kNone. kMixed has zeros, ones, and numbers of either sign.
  const float* Gate(GateKind kind, int64_t nnz);

  // Empty string, or the first difference. With a tolerance, numbers may be
  // apart by it and by a rounding; without one they must be equal. Where NaN is
  // expected, one must have been written.
  std::string Compare(const char* name, const void* got, const void* expected,
                      int64_t elements, Dtype dtype, double tolerance) const;

  // The same for what `run` makes of a problem's y, and of its preactivation if
  // there is to be one, beside what `reference` makes.
  template <typename Problem, typename Reference, typename Run>
  std::string CompareY(const Problem& problem, int64_t elements,
                       bool preactivation, double tolerance,
                       const Reference& reference, const Run& run) {
    const Dtype dtype = problem.x_dtype;
    Problem expected = problem;
    Problem got = problem;
    for (Problem* each : {&expected, &got}) {
      each->y = Allocate(elements, dtype);
      if (preactivation) each->preactivation = Allocate(elements, dtype);
    }
    reference(expected);
    run(got);
    std::string difference =
        Compare("y", got.y, expected.y, elements, dtype, tolerance);
    if (difference.empty() && preactivation) {
      difference = Compare("preactivation", got.preactivation,
                           expected.preactivation, elements, dtype, tolerance);
    }
    return difference;
  }

  // The same for blocks.
  template <typename Problem, typename Reference, typename Run>
  std::string CompareBlocks(const Problem& problem, int64_t elements,
                            double tolerance, const Reference& reference,
                            const Run& run) {
    const Dtype dtype = problem.blocks_dtype;
    Problem expected = problem;
    Problem got = problem;
    for (Problem* each : {&expected, &got}) {
      each->blocks = Allocate(elements, dtype);
    }
    reference(expected);
    run(got);
    return Compare("blocks", got.blocks, expected.blocks, elements, dtype,
                   tolerance);
  }

 private:
  std::string name_;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
  uint64_t state_;  // of the generator of operands
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_CASE_MEMORY_H_
