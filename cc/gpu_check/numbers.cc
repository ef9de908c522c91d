// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/numbers.h"

#include <algorithm>
#include <cmath>

#include "cc/base/element.h"
#include "cc/base/message.h"
#include "cc/testing/case_memory.h"

namespace blocksparse {
namespace cuda {

void Numbers::Draw(Dtype dtype, int64_t first_size, int64_t second_size,
                   Operand* first, Operand* second) {
  Pool& pool = pools_[dtype];
  const int64_t size = std::max(first_size, second_size);
  const int64_t bytes = SizeOf(dtype);
  if (size > pool.size) {
    // A multiple of what kernels ask for: both halves are as aligned.
    pool.size = (std::max(size, 2 * pool.size) + 255) / 256 * 256;
    pool.host.resize(2 * pool.size * bytes);
    uint64_t state = seed_;
    for (int64_t i = 0; i < 2 * pool.size; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      StoreElement(std::ldexp(static_cast<int64_t>(state >> 33), -30) - 1,
                   pool.host.data(), dtype, i);
    }
    pool.device.reset();
    pool.device = std::make_unique<DeviceMemory>(pool.host.size());
    ToDevice(pool.device->data(), pool.host.data(), pool.host.size());
  }
  *first = {dtype, pool.host.data(), pool.device->data()};
  *second = {dtype, pool.host.data() + pool.size * bytes,
             pool.device->data() + pool.size * bytes};
}

void* Room::OfBytes(size_t bytes) {
  if (memory_ == nullptr || memory_->bytes() < bytes) {
    memory_.reset();
    memory_ = std::make_unique<DeviceMemory>(bytes);
  }
  return memory_->data();
}

double Dot(const Operand& a, int64_t a_begin, int64_t a_stride,
           const Operand& b, int64_t b_begin, int64_t b_stride, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += LoadElement(a.host, a.dtype, a_begin + i * a_stride) *
           LoadElement(b.host, b.dtype, b_begin + i * b_stride);
  }
  return sum;
}

std::string CheckNumber(const void* device, Dtype dtype, int64_t place,
                        double expected, int64_t length, double ulps) {
  const int64_t bytes = SizeOf(dtype);
  double number[1];
  ToHost(number, static_cast<const char*>(device) + place * bytes, bytes);
  const double got = LoadElement(number, dtype, 0);
  const double allowed = ulps * (2 + length) * Epsilon(Dtype::kFloat32) +
                         Epsilon(dtype) * std::abs(expected);
  if (std::abs(got - expected) <= allowed) return std::string();
  return Message("number ", place, " is ", got, ", expected ", expected,
                 " within ", allowed);
}

}  // namespace cuda
}  // namespace blocksparse
