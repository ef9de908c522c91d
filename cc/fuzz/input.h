// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Numbers drawn from the bytes of a fuzzer, and what its targets make of them.
#ifndef TF_BLOCKSPARSE_CC_FUZZ_INPUT_H_
#define TF_BLOCKSPARSE_CC_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/isa.h"
#include "cc/kernels/problem.h"

namespace blocksparse {

// Gives zeros when there are no more bytes.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}

  uint8_t Byte() { return data_ == end_ ? 0 : *data_++; }
  bool Flag() { return Byte() % 2 != 0; }
  // From least to most, both included: at most 256 numbers.
  int64_t Between(int64_t least, int64_t most) {
    return least + Byte() % (most - least + 1);
  }
  template <typename T, size_t kCount>
  T Pick(const T (&values)[kCount]) {
    return values[Byte() % kCount];
  }
  // Any number, in as many bytes.
  template <typename T>
  T Bits() {
    T value;
    auto* bytes = reinterpret_cast<uint8_t*>(&value);
    for (size_t i = 0; i < sizeof value; ++i) bytes[i] = Byte();
    return value;
  }
  // One of the numbers at which something begins to overflow.
  int64_t Extreme();

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

// Types that there are kernels for.
struct Dtypes {
  Dtype x;
  Dtype blocks;
};
Dtypes DrawDtypes(Input* input);

// None or relu, which are exact.
Activation DrawActivation(Input* input);

// The instruction sets that this machine can run.
std::vector<Isa> Isas();

// A weight, and what claims to be its layout: packed as it should be, then
// spoilt in a few places, or not.
struct Weight {
  int64_t inputs;
  int64_t outputs;
  int64_t block_inputs;
  int64_t block_outputs;
  std::vector<int32_t> packed;
};
// With `taps` times as many rows of blocks, see ParseConvLayout. Of at most so
// many features on either side.
Weight DrawWeight(Input* input, int64_t taps, int64_t most_features);

// Ends the process, for the fuzzer to keep the input, if there is an error.
void Demand(const std::string& error, const std::string& what);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_FUZZ_INPUT_H_
