// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/case_memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <sstream>

#include "cc/base/element.h"

namespace blocksparse {
namespace {

// Whether an element is anything but what GuardedBuffer fills memory with, the
// one NaN that no product gives.
bool IsWritten(const void* data, Dtype dtype, int64_t i) {
  const int64_t size = SizeOf(dtype);
  const auto* bytes = static_cast<const unsigned char*>(data) + i * size;
  return std::any_of(bytes, bytes + size,
                     [](unsigned char byte) { return byte != 0xff; });
}

}  // namespace

double Epsilon(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return std::ldexp(1, -23);
    case Dtype::kFloat64:
      return std::ldexp(1, -52);
    case Dtype::kBFloat16:
      return std::ldexp(1, -7);
    default:
      return std::ldexp(1, -10);
  }
}

void* CaseMemory::Allocate(int64_t elements, Dtype dtype) {
  buffers_.push_back(std::make_unique<GuardedBuffer>(elements * SizeOf(dtype)));
  return buffers_.back()->data();
}

void* CaseMemory::Operand(int64_t elements, Dtype dtype, Fill fill) {
  void* data = Allocate(elements, dtype);
  for (int64_t i = 0; i < elements; ++i) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    // Integers from -3 to 3: sums of the lengths tested are exact in float, and
    // rounding them to 16 bits is one rounding.
    const int64_t draw = static_cast<int64_t>(state_ >> 33);
    double value = fill == Fill::kUniform ? std::ldexp(draw, -30) - 1
                                          : static_cast<double>(draw % 7 - 3);
    if (fill == Fill::kWild && draw % 61 < 3) {
      value = std::array{NAN, INFINITY, -INFINITY}[draw % 61];
    }
    StoreElement(value, data, dtype, i);
  }
  return data;
}

const int32_t* CaseMemory::Copy(const std::vector<int32_t>& numbers) {
  const size_t bytes = numbers.size() * sizeof(int32_t);
  buffers_.push_back(std::make_unique<GuardedBuffer>(bytes));
  void* data = buffers_.back()->data();
  if (bytes > 0) std::memcpy(data, numbers.data(), bytes);
  return static_cast<const int32_t*>(data);
}

const float* CaseMemory::Gate(GateKind kind, int64_t nnz) {
  if (kind == GateKind::kNone) return nullptr;
  float* gate = static_cast<float*>(Allocate(nnz, Dtype::kFloat32));
  for (int64_t w = 0; w < nnz; ++w) {
    switch (kind) {
      case GateKind::kOnes:
        gate[w] = 1;
        break;
      case GateKind::kMask:
        gate[w] = w % 5 < 2 ? 0 : 1;
        break;
      default:
        gate[w] = static_cast<float>(w % 3) - (w % 2 == 0 ? 0 : 1);
    }
  }
  return gate;
}

std::string CaseMemory::Compare(const char* name, const void* got,
                                const void* expected, int64_t elements,
                                Dtype dtype, double tolerance) const {
  // Ahead of the numbers, which may be wrong as well then.
  for (const auto& buffer : buffers_) {
    if (!buffer->FrontIntact()) {
      return std::string(name) + ": wrote before a buffer: " + name_;
    }
  }
  for (int64_t i = 0; i < elements; ++i) {
    const double g = LoadElement(got, dtype, i);
    const double e = LoadElement(expected, dtype, i);
    // A stored value may be a rounding apart besides.
    const double allowed =
        tolerance == 0 ? 0 : tolerance + Epsilon(dtype) * std::abs(e);
    if (std::abs(g - e) <= allowed || g == e) continue;
    if (std::isnan(g) && std::isnan(e) && IsWritten(got, dtype, i)) continue;
    std::ostringstream stream;
    stream.precision(17);
    stream << name << "[" << i << "] is " << g << ", expected " << e
           << " within " << allowed << ": " << name_;
    return stream.str();
  }
  return std::string();
}

}  // namespace blocksparse
