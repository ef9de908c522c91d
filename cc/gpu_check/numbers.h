// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Operands and outputs of what is timed: numbers drawn once for each type, on
// the GPU and on the host.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_NUMBERS_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_NUMBERS_H_

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/gpu_check/device.h"

namespace blocksparse {
namespace cuda {

// So many numbers of a type, in [-1, 1).
struct Operand {
  Dtype dtype;
  const void* host;
  const void* device;
};

// Whole numbers, the same for a seed everywhere.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}
  int64_t Below(int64_t end) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(state_ >> 33) % end;
  }

 private:
  uint64_t state_;
};

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : seed_(seed) {}

  // Different from each other.
  void Draw(Dtype dtype, int64_t first_size, int64_t second_size,
            Operand* first, Operand* second);

 private:
  struct Pool {
    int64_t size = 0;  // of either half
    std::vector<char> host;
    std::unique_ptr<DeviceMemory> device;
  };

  uint64_t seed_;
  std::map<Dtype, Pool> pools_;
};

// Memory of the GPU that grows.
class Room {
 public:
  void* OfBytes(size_t bytes);

 private:
  std::unique_ptr<DeviceMemory> memory_;
};

// The sum of `count` products of numbers that lie so far apart.
double Dot(const Operand& a, int64_t a_begin, int64_t a_stride,
           const Operand& b, int64_t b_begin, int64_t b_stride, int64_t count);

// Empty string, or that a number of the GPU is not a sum of `length` products
// of numbers below 1, within `ulps` of float32 and a rounding.
std::string CheckNumber(const void* device, Dtype dtype, int64_t place,
                        double expected, int64_t length, double ulps);

// How far off products may be, as in kernel_cases.h.
inline double UlpsOf(bool tensor_float_32) {
  return tensor_float_32 ? std::ldexp(1, 13) : 1;
}

// Numbers of a result that are computed anew, besides its first and last one.
constexpr int kChecked = 62;

// Of some numbers of a result of `size`, the first that is not expected.
template <typename Expect>
std::string CheckSome(const void* result, Dtype dtype, int64_t size,
                      int64_t length, double ulps, uint64_t seed,
                      const Expect& expect) {
  Draws draws(seed);
  for (int i = 0; i < kChecked + 2; ++i) {
    const int64_t place = i == 0 ? 0 : (i == 1 ? size - 1 : draws.Below(size));
    const std::string error =
        CheckNumber(result, dtype, place, expect(place), length, ulps);
    if (!error.empty()) return error;
  }
  return std::string();
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_NUMBERS_H_
