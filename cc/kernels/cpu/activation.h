// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Activations on vectors. Errors against the exact value, in float: relu 0;
// sigmoid, tanh 3 ulp; silu, gelu 4 ulp of |z| (and a relative 1.5e-5 far out
// in gelu's negative tail, where the value itself is below 1e-6).
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_ACTIVATION_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_ACTIVATION_H_

#include <cmath>

#include "cc/kernels/cpu/vector.h"
#include "cc/kernels/problem.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// The polynomials below are minimax fits (weighted least squares, Lawson's
// iteration) in float64; each says its interval and relative error.

template <typename V, int kTerms>
inline V Polynomial(V x, const float (&coefficients)[kTerms]) {
  V sum = Broadcast<V>(coefficients[kTerms - 1]);
#pragma GCC unroll 16
  for (int i = kTerms - 2; i >= 0; --i) sum = sum * x + coefficients[i];
  return sum;
}

template <int kLanes>
inline Vector<float, kLanes> Exp(Vector<float, kLanes> x) {
  typedef Vector<float, kLanes> V;
  typedef Vector<int32_t, kLanes> Bits;
  // Below, the result is no normal float and becomes 0; above, it is capped.
  const V lowest = Broadcast<V>(-87.3f), highest = Broadcast<V>(88.3f);
  const auto vanishes = x < lowest;
  x = vanishes ? lowest : x;
  x = x > highest ? highest : x;
  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits.
  const float shift = 12582912.0f;
  const V shifted = x * 1.44269504f + shift;
  const V n = shifted - shift;
  // ln 2 in two parts; the first has 15 bits, so n times it is exact.
  const V r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
  // (exp(r) - 1 - r) / r^2 on |r| <= ln 2 / 2; 3e-9 of exp(r).
  static constexpr float kExp[] = {4.999999345e-01f, 1.666652063e-01f,
                                   4.166838809e-02f, 8.368717091e-03f,
                                   1.381459638e-03f};
  const V p = Polynomial(r, kExp) * r * r + r + 1.0f;
  const Bits exponent = ((Bits)shifted - 0x4b400000) << 23;
  const V result = vanishes ? V{} : (V)((Bits)p + exponent);
  // Of a NaN, `shifted` has the payload where the integer should be.
  return x == x ? result : x;
}

template <int kLanes>
inline Vector<float, kLanes> Abs(Vector<float, kLanes> x) {
  typedef Vector<int32_t, kLanes> Bits;
  return (Vector<float, kLanes>)((Bits)x & 0x7fffffff);
}

template <int kLanes>
inline Vector<float, kLanes> Sigmoid(Vector<float, kLanes> x) {
  // Of -|x|, so that nothing overflows and small results keep their digits.
  const Vector<float, kLanes> e = Exp<kLanes>(-Abs<kLanes>(x));
  return (x < 0.0f ? e : Broadcast<Vector<float, kLanes>>(1.0f)) / (e + 1.0f);
}

template <int kLanes>
inline Vector<float, kLanes> Tanh(Vector<float, kLanes> x) {
  typedef Vector<float, kLanes> V;
  typedef Vector<int32_t, kLanes> Bits;
  const V magnitude = Abs<kLanes>(x);
  // (tanh(x) / x - 1) / x^2 in x^2 on |x| <= 0.625; 4e-9 of tanh(x) / x. Above
  // it the difference of the second form loses no digits.
  static constexpr float kTanh[] = {-3.333328392e-01f, 1.333149125e-01f,
                                    -5.374349527e-02f, 2.065057904e-02f,
                                    -5.717036598e-03f};
  const V square = x * x;
  const V small = Polynomial(square, kTanh) * square * x + x;
  const V large = 1.0f - 2.0f / (Exp<kLanes>(magnitude + magnitude) + 1.0f);
  const Bits sign = (Bits)x & (int32_t)0x80000000;
  return magnitude <= 0.625f ? small : (V)((Bits)large | sign);
}

template <int kLanes>
inline Vector<float, kLanes> Gelu(Vector<float, kLanes> x) {
  typedef Vector<float, kLanes> V;
  // erfc(u) = exp(-u^2) p(1 / (1 + 0.325 u)) on 0 <= u <= 9.5; 5e-8.
  static constexpr float kErfc[] = {
      -5.831541542e-05f, 1.846608735e-01f,  1.709038525e-01f,
      2.410889180e-01f,  -7.209343128e-02f, 6.137489509e-01f,
      -5.676428364e-01f, 5.874577170e-01f,  -1.580657744e-01f};
  const V u = Abs<kLanes>(x) * 0.707106781f;
  const V t = 1.0f / (u * 0.325f + 1.0f);
  const V tail = Polynomial(t, kErfc) * Exp<kLanes>(-u * u) * 0.5f;
  return x * (x < 0.0f ? tail : 1.0f - tail);
}

inline double ActivateScalar(double z, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * z * std::erfc(-z * 0.70710678118654752440);
    case Activation::kSilu:
      return z / (1 + std::exp(-z));
    case Activation::kTanh:
      return std::tanh(z);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-z));
    default:
      return z;
  }
}

// Float by the vector functions above, double lane by lane through libm: only
// float (and what is widened to it) is meant to be quick.
template <int kLanes, typename T>
inline Vector<T, kLanes> Activate(Vector<T, kLanes> z, Activation activation) {
  if (activation == Activation::kNone) return z;
  // Not max(z, 0): NaN must stay NaN.
  if (activation == Activation::kRelu)
    return z < T(0) ? Vector<T, kLanes>{} : z;
  if constexpr (std::is_same_v<T, float>) {
    switch (activation) {
      case Activation::kGelu:
        return Gelu<kLanes>(z);
      case Activation::kSilu:
        return z * Sigmoid<kLanes>(z);
      case Activation::kTanh:
        return Tanh<kLanes>(z);
      default:
        return Sigmoid<kLanes>(z);
    }
  } else {
    for (int lane = 0; lane < kLanes; ++lane) {
      z[lane] = ActivateScalar(z[lane], activation);
    }
    return z;
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_ACTIVATION_H_
