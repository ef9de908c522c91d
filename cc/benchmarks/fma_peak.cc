// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The most multiply-adds that this machine does at this moment: what the speed
// of a kernel is a share of.
//
//   fma_peak <threads>
//
// prints the instruction set that the kernels use here, then, for each line
// that it reads, the float32 GFLOP/s of all threads together over a few
// milliseconds. It goes on running, so that a benchmark can ask between its
// rounds.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cc/base/isa.h"
#include "cc/benchmarks/seconds_together.h"

namespace blocksparse {
namespace {

// Two units of latency 4 need 8 sums under way; 10 and two operands fit the 16
// registers of AVX2. Four units, that some cores of aarch64 have, need 16.
#if defined(__aarch64__)
constexpr int kSums = 16;
#else
constexpr int kSums = 10;
#endif

// A function per instruction set: what the compiler does to vectors that are
// wider than a function's registers, it does before inlining.
#define BLOCKSPARSE_DEFINE_SUMS(name, target, bytes)             \
  target float name(int64_t steps, float scale, float shift) {   \
    typedef float V __attribute__((vector_size(bytes)));         \
    V sums[kSums];                                               \
    for (int i = 0; i < kSums; ++i) sums[i] = V{} + (float)i;    \
    for (int64_t step = 0; step < steps; ++step) {               \
      _Pragma("GCC unroll 16") for (int i = 0; i < kSums; ++i) { \
        sums[i] = sums[i] * scale + shift;                       \
      }                                                          \
    }                                                            \
    V total = {};                                                \
    for (int i = 0; i < kSums; ++i) total += sums[i];            \
    return total[0];                                             \
  }
#if defined(__x86_64__)
BLOCKSPARSE_DEFINE_SUMS(SumsAvx512, __attribute__((target("avx512f"))), 64)
BLOCKSPARSE_DEFINE_SUMS(SumsAvx2, __attribute__((target("avx2,fma"))), 32)
#endif
BLOCKSPARSE_DEFINE_SUMS(SumsPortable, , 16)

struct Sums {
  float (*run)(int64_t steps, float scale, float shift);
  int lanes;
};

Sums SumsOf(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return {SumsAvx512, 16};
  if (isa == Isa::kAvx2) return {SumsAvx2, 8};
#endif
  return {SumsPortable, 4};
}

// Seconds that `threads` threads take for `steps` steps each.
double Seconds(const Sums& sums, int threads, int64_t steps) {
  std::atomic<float> sink{0};
  return SecondsTogether(threads, [&](int) {
    // The sums tend to shift / (1 - scale) = 1: no overflow, no subnormals.
    sink = sums.run(steps, 0.5f, 0.5f);
  });
}

int Main(int threads) {
  Isa isa;
  std::string error;
  if (threads < 1 || !MaxIsa(&isa, &error)) {
    std::fprintf(stderr, "fma_peak: %s\n",
                 threads < 1 ? "expected a number of threads" : error.c_str());
    return 1;
  }
  const Sums sums = SumsOf(isa);
  // Long enough that starting the threads is nothing beside it.
  constexpr double kSeconds = 5e-3;
  int64_t steps = 1 << 12;
  while (Seconds(sums, 1, steps) < kSeconds) steps *= 2;
  std::printf("%s\n", NameOf(isa));
  std::fflush(stdout);
  while (std::getchar() != EOF) {
    const double flops = 2.0 * kSums * sums.lanes * steps * threads;
    std::printf("%.3f\n", flops / Seconds(sums, threads, steps) / 1e9);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace blocksparse

int main(int argc, char** argv) {
  return blocksparse::Main(argc == 2 ? std::atoi(argv[1]) : 0);
}
