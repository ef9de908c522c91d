// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Exact scalar conversions between stored elements and numbers.
#ifndef TF_BLOCKSPARSE_CC_BASE_CONVERT_H_
#define TF_BLOCKSPARSE_CC_BASE_CONVERT_H_

#include <cstdint>
#include <cstring>

#include "cc/base/dtype.h"

namespace blocksparse {

// static: instruction-set specific files include this header, and the linker
// must not keep their copy for everyone.
static inline float BitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t FloatToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float Widen(float value) { return value; }
static inline double Widen(double value) { return value; }
static inline float Widen(BFloat16 value) {
  return BitsToFloat(static_cast<uint32_t>(value.bits) << 16);
}
static inline float Widen(Float16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t magnitude = (value.bits & 0x7fffu) << 13;
  uint32_t bits;
  if (magnitude >= 0x0f800000u) {  // infinity or NaN
    bits = magnitude | 0x7f800000u;
  } else if (magnitude >= 0x00800000u) {
    bits = magnitude + 0x38000000u;  // the exponent's bias: 15 to 127
  } else {
    // Subnormal, by a difference of normal floats: TensorFlow's threads flush
    // subnormal floats to zero.
    const float offset = BitsToFloat(0x38800000u);
    bits = FloatToBits(BitsToFloat(magnitude + 0x38800000u) - offset);
  }
  return BitsToFloat(bits | sign);
}

// Rounds to nearest, ties to even. Overflow gives infinity, NaN stays NaN.
static inline void Narrow(float value, float* out) { *out = value; }
static inline void Narrow(double value, double* out) { *out = value; }
static inline void Narrow(float value, BFloat16* out) {
  const uint32_t bits = FloatToBits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    out->bits = static_cast<uint16_t>((bits >> 16) | 0x40u);
    return;
  }
  out->bits =
      static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
static inline void Narrow(float value, Float16* out) {
  const uint32_t bits = FloatToBits(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520: rounds beyond 65504
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: subnormal
    // Adding 0.5 leaves the subnormal, rounded, in the low bits.
    result = FloatToBits(BitsToFloat(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    result =
        (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  out->bits = static_cast<uint16_t>(sign | result);
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BASE_CONVERT_H_
