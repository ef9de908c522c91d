// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/case_memory.h"

#include <cmath>
#include <sstream>

#include "cc/base/element.h"

namespace blocksparse {

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
    StoreElement(fill == Fill::kIntegers ? static_cast<double>(draw % 7 - 3)
                                         : std::ldexp(draw, -30) - 1,
                 data, dtype, i);
  }
  return data;
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
  for (int64_t i = 0; i < elements; ++i) {
    const double g = LoadElement(got, dtype, i);
    const double e = LoadElement(expected, dtype, i);
    // A stored value may be a rounding apart besides.
    const double allowed =
        tolerance == 0 ? 0 : tolerance + Epsilon(dtype) * std::abs(e);
    if (std::abs(g - e) <= allowed) continue;
    std::ostringstream stream;
    stream.precision(17);
    stream << name << "[" << i << "] is " << g << ", expected " << e
           << " within " << allowed << ": " << name_;
    return stream.str();
  }
  for (const auto& buffer : buffers_) {
    if (!buffer->FrontIntact()) {
      return std::string(name) + ": wrote before a buffer: " + name_;
    }
  }
  return std::string();
}

}  // namespace blocksparse
