// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The update of Adam for one instruction set: the file that includes this names
// it, see vector.h.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_ADAM_KERNEL_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_ADAM_KERNEL_H_

#include "cc/kernels/cpu/adam.h"
#include "cc/kernels/cpu/vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

#if defined(__AVX512F__)
inline Vector<float, 16> Root(Vector<float, 16> x) {
  return (Vector<float, 16>)_mm512_sqrt_ps((__m512)x);
}
inline Vector<double, 8> Root(Vector<double, 8> x) {
  return (Vector<double, 8>)_mm512_sqrt_pd((__m512d)x);
}
#elif defined(__AVX2__)
inline Vector<float, 8> Root(Vector<float, 8> x) {
  return (Vector<float, 8>)_mm256_sqrt_ps((__m256)x);
}
inline Vector<double, 4> Root(Vector<double, 4> x) {
  return (Vector<double, 4>)_mm256_sqrt_pd((__m256d)x);
}
#elif defined(__x86_64__)
inline Vector<float, 4> Root(Vector<float, 4> x) {
  return (Vector<float, 4>)_mm_sqrt_ps((__m128)x);
}
inline Vector<double, 2> Root(Vector<double, 2> x) {
  return (Vector<double, 2>)_mm_sqrt_pd((__m128d)x);
}
#elif defined(BLOCKSPARSE_NEON)
inline Vector<float, 4> Root(Vector<float, 4> x) {
  return (Vector<float, 4>)vsqrtq_f32((float32x4_t)x);
}
inline Vector<double, 2> Root(Vector<double, 2> x) {
  return (Vector<double, 2>)vsqrtq_f64((float64x2_t)x);
}
#else
template <typename V>
inline V Root(V x) {
  for (unsigned i = 0; i < sizeof(V) / sizeof(x[0]); ++i) {
    x[i] = __builtin_sqrt(x[i]);
  }
  return x;
}
#endif

// The product, rounded: the compiler may not see that something is added to it,
// and round only the sum.
template <typename V>
inline V Rounded(V product) {
#if defined(__x86_64__)
  __asm__("" : "+v"(product));
#elif defined(__aarch64__)
  __asm__("" : "+w"(product));
#endif
  return product;
}

template <typename T, int kLanes>
inline void UpdateLanes(const AdamProblem& p, const T* gradient, const T* old_w,
                        const T* old_m, const T* old_v, T* w, T* m, T* v) {
  typedef Vector<T, kLanes> V;
  const T alpha = static_cast<T>(p.alpha), first = static_cast<T>(p.first);
  const T second = static_cast<T>(p.second);
  const T epsilon = static_cast<T>(p.epsilon);
  const V g = Load<kLanes>(gradient);
  V m_lanes = Load<kLanes>(old_m), v_lanes = Load<kLanes>(old_v);
  m_lanes += Rounded<V>((g - m_lanes) * first);
  v_lanes += Rounded<V>((Rounded<V>(g * g) - v_lanes) * second);
  Store<kLanes>(m_lanes, m);
  Store<kLanes>(v_lanes, v);
  const V step = m_lanes * alpha / (Root(v_lanes) + epsilon);
  Store<kLanes>(Load<kLanes>(old_w) - step, w);
}

// Numbers begin to end.
template <typename T>
void UpdateAdam(const AdamProblem& p, int64_t begin, int64_t end) {
  constexpr int kLanes = kFullLanes<T>;
  const auto read = [](const void* all) { return static_cast<const T*>(all); };
  const auto write = [](void* all) { return static_cast<T*>(all); };
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    UpdateLanes<T, kLanes>(p, read(p.gradient) + i, read(p.old_w) + i,
                           read(p.old_m) + i, read(p.old_v) + i, write(p.w) + i,
                           write(p.m) + i, write(p.v) + i);
  }
  if (i == end) return;
  T rest[4][kLanes] = {};
  const int64_t count = end - i;
  const void* from[4] = {p.gradient, p.old_w, p.old_m, p.old_v};
  for (int each = 0; each < 4; ++each) {
    __builtin_memcpy(rest[each], read(from[each]) + i, count * sizeof(T));
  }
  UpdateLanes<T, kLanes>(p, rest[0], rest[1], rest[2], rest[3], rest[1],
                         rest[2], rest[3]);
  void* to[3] = {p.w, p.m, p.v};
  for (int each = 0; each < 3; ++each) {
    __builtin_memcpy(write(to[each]) + i, rest[each + 1], count * sizeof(T));
  }
}

void Adam(const AdamProblem& problem, int64_t begin, int64_t end);
void Adam(const AdamProblem& problem, int64_t begin, int64_t end) {
  if (problem.dtype == Dtype::kFloat64) {
    UpdateAdam<double>(problem, begin, end);
  } else {
    UpdateAdam<float>(problem, begin, end);
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_ADAM_KERNEL_H_
