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

enum class GateKind { kNone, kOnes, kMixed };

// How the operands of a case are filled.
enum class Fill { kIntegers, kUniform };

// The distance from 1 to the next number.
double Epsilon(Dtype dtype);

class CaseMemory {
 public:
  // `name` is that of the case in messages.
  explicit CaseMemory(std::string name) : name_(std::move(name)) {}

  // An output: NaN.
  void* Allocate(int64_t elements, Dtype dtype);
  void* Operand(int64_t elements, Dtype dtype, Fill fill);
  // Null for kNone. kMixed has zeros, ones, and numbers of either sign.
  const float* Gate(GateKind kind, int64_t nnz);

  // Empty string, or the first difference. With a tolerance, numbers may be
  // apart by it and by a rounding; without one they must be equal.
  std::string Compare(const char* name, const void* got, const void* expected,
                      int64_t elements, Dtype dtype, double tolerance) const;

 private:
  std::string name_;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
  uint64_t state_ = 1;  // of the generator of operands
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_CASE_MEMORY_H_
