// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Vectors of any width on GCC's and Clang's vector extension: one source for
// every instruction set. A file that includes this defines
//   BLOCKSPARSE_ISA           name of the instruction set, a namespace here, so
//                             that the linker never merges two builds
//   BLOCKSPARSE_VECTOR_BYTES  width of its registers
//   BLOCKSPARSE_NEON          for NEON alone, which compilers for aarch64 use
//   in
//                             portable code, too, and define nothing for
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_VECTOR_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_VECTOR_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "cc/base/convert.h"
#include "cc/base/dtype.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif
#if defined(BLOCKSPARSE_NEON)
#include <arm_neon.h>
#endif

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

template <typename T, int kLanes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kLanes * sizeof(T))));
};
template <typename T, int kLanes>
using Vector = typename VectorOf<T, kLanes>::type;

// Lanes of a full register.
template <typename T>
constexpr int kFullLanes = BLOCKSPARSE_VECTOR_BYTES / sizeof(T);

// Registers, for which sums, operands and weights compete.
#if defined(__AVX512F__) || defined(BLOCKSPARSE_NEON)
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif

// What elements of a stored type are computed in.
template <typename Stored>
using Compute =
    std::conditional_t<std::is_same_v<Stored, double>, double, float>;

template <typename V, typename T>
inline V LoadBits(const T* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

// Loads kLanes elements, widened; no alignment needed.
template <int kLanes>
inline Vector<float, kLanes> Load(const float* from) {
  return LoadBits<Vector<float, kLanes>>(from);
}
template <int kLanes>
inline Vector<double, kLanes> Load(const double* from) {
  return LoadBits<Vector<double, kLanes>>(from);
}
template <int kLanes>
inline Vector<float, kLanes> Load(const BFloat16* from) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    // GCC 12 widens each half apart.
    return (Vector<float, 16>)_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(LoadBits<__m256i>(from)), 16);
  }
#endif
  const auto bits = __builtin_convertvector(
      (LoadBits<Vector<uint16_t, kLanes>>(from)), Vector<uint32_t, kLanes>);
  return (Vector<float, kLanes>)(bits << 16);
}
template <int kLanes>
inline Vector<float, kLanes> Load(const Float16* from) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    return (Vector<float, 16>)_mm512_cvtph_ps(LoadBits<__m256i>(from));
  }
#endif
#if defined(__F16C__)
  if constexpr (kLanes == 8) {
    return (Vector<float, 8>)_mm256_cvtph_ps(LoadBits<__m128i>(from));
  }
#endif
#if defined(BLOCKSPARSE_NEON)
  if constexpr (kLanes == 4) {
    return (Vector<float, 4>)vcvt_f32_f16(LoadBits<float16x4_t>(from));
  }
#endif
  Vector<float, kLanes> value;
  for (int lane = 0; lane < kLanes; ++lane) value[lane] = Widen(from[lane]);
  return value;
}

// Stores kLanes elements, rounded to the stored type.
template <int kLanes>
inline void Store(Vector<float, kLanes> value, float* to) {
  __builtin_memcpy(to, &value, sizeof value);
}
template <int kLanes>
inline void Store(Vector<double, kLanes> value, double* to) {
  __builtin_memcpy(to, &value, sizeof value);
}
template <int kLanes>
inline void Store(Vector<float, kLanes> value, BFloat16* to) {
  typedef Vector<uint32_t, kLanes> Bits;
  const Bits bits = (Bits)value;
  const Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const Bits quiet = (bits >> 16) | 0x40u;
  const auto is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const auto narrow = __builtin_convertvector(is_nan ? quiet : rounded,
                                              Vector<uint16_t, kLanes>);
  __builtin_memcpy(to, &narrow, sizeof narrow);
}
template <int kLanes>
inline void Store(Vector<float, kLanes> value, Float16* to) {
#if defined(__AVX512F__)
  if constexpr (kLanes == 16) {
    const __m256i bits = _mm512_cvtps_ph((__m512)value, 0);
    __builtin_memcpy(to, &bits, sizeof bits);
    return;
  }
#endif
#if defined(__F16C__)
  if constexpr (kLanes == 8) {
    const __m128i bits = _mm256_cvtps_ph((__m256)value, 0);
    __builtin_memcpy(to, &bits, sizeof bits);
    return;
  }
#endif
#if defined(BLOCKSPARSE_NEON)
  if constexpr (kLanes == 4) {
    const float16x4_t bits = vcvt_f16_f32((float32x4_t)value);
    __builtin_memcpy(to, &bits, sizeof bits);
    return;
  }
#endif
  for (int lane = 0; lane < kLanes; ++lane) Narrow(value[lane], to + lane);
}

template <typename V, typename T>
inline V Broadcast(T value) {
  // A subtraction of zero keeps every bit, -0 and NaN included.
  return value - V{};
}

// An address that is never read: it may lie outside of any array.
inline void Prefetch(uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 3);
}

// The same for a line that will be written: no other core keeps it.
inline void PrefetchWrite(const void* address) {
#if defined(__x86_64__)
  // The builtin asks for reading unless a flag says that the CPU knows better;
  // one that does not takes this for a no-op.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1, 3);
#endif
}

// The same, into the second-level cache only.
inline void PrefetchFar(uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
}

template <int kLanes, typename T>
inline T SumLanes(Vector<T, kLanes> value) {
  if constexpr (kLanes == 1) {
    return value[0];
  } else {
    // Halves, so that the order of the sum is a tree.
    Vector<T, kLanes / 2> halves[2];
    __builtin_memcpy(halves, &value, sizeof value);
    return SumLanes<kLanes / 2, T>(halves[0] + halves[1]);
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_VECTOR_H_
