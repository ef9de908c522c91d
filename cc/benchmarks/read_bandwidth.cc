// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The most bytes that this machine reads at this moment: what the speed of a
// product with few rows is a share of.
//
//   read_bandwidth <threads> <megabytes>
//
// prints "ready", then, for each line that it reads, the GB/s at which all
// threads together read so many megabytes (of a million bytes) once. The memory
// is TensorFlow's kind: small pages, unless the system makes all pages huge.
// One order of reading suits one machine, another another, so each line asks
// for several, and the fastest counts.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "cc/base/isa.h"
#include "cc/benchmarks/seconds_together.h"

namespace blocksparse {
namespace {

constexpr int64_t kLine = 64;    // bytes that come from memory together
constexpr int64_t kPage = 4096;  // where the processor's own prefetching ends

// Reads `streams` parts of the memory at once, a page of each in turn, and asks
// for lines `ahead` bytes before they are needed, across the pages' ends.
#define BLOCKSPARSE_DEFINE_READ(name, target, bytes)                     \
  target int64_t name(const char* data, int64_t size, int64_t streams,   \
                      int64_t ahead) {                                   \
    typedef int64_t V __attribute__((vector_size(bytes)));               \
    V sums[4] = {};                                                      \
    const int64_t length = size / streams / kPage * kPage;               \
    for (int64_t page = 0; page < length; page += kPage) {               \
      for (int64_t stream = 0; stream < streams; ++stream) {             \
        const char* begin = data + stream * length + page;               \
        for (const char* p = begin; p < begin + kPage; p += 4 * kLine) { \
          for (int i = 0; i < 4; ++i)                                    \
            __builtin_prefetch(p + ahead + i * kLine);                   \
          for (int i = 0; i < 4 * kLine / bytes; ++i) {                  \
            sums[i % 4] += *reinterpret_cast<const V*>(p + i * bytes);   \
          }                                                              \
        }                                                                \
      }                                                                  \
    }                                                                    \
    V total = sums[0] + sums[1] + sums[2] + sums[3];                     \
    return total[0];                                                     \
  }
#if defined(__x86_64__)
BLOCKSPARSE_DEFINE_READ(ReadAvx512, __attribute__((target("avx512f"))), 64)
BLOCKSPARSE_DEFINE_READ(ReadAvx2, __attribute__((target("avx2"))), 32)
#endif
BLOCKSPARSE_DEFINE_READ(ReadPortable, , 16)

using Read = int64_t (*)(const char*, int64_t, int64_t, int64_t);

Read ReadOf(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return ReadAvx512;
  if (isa == Isa::kAvx2) return ReadAvx2;
#endif
  return ReadPortable;
}

struct Order {
  int64_t streams, ahead;
};
constexpr Order kOrders[] = {{1, 0},    {1, 1024}, {1, 2048}, {1, 4096},
                             {4, 1024}, {4, 2048}, {8, 1024}, {8, 2048}};

// Seconds in which each thread reads its part of the memory.
double Seconds(Read read, const char* data, int64_t size, int threads,
               const Order& order) {
  std::atomic<int64_t> sink{0};
  const int64_t part = size / threads / kPage * kPage;
  return SecondsTogether(threads, [&](int index) {
    sink += read(data + index * part, part, order.streams, order.ahead);
  });
}

int Main(int threads, int64_t megabytes) {
  const int64_t size = megabytes * 1000000 / kPage * kPage;
  Isa isa;
  std::string error;
  if (threads < 1 || size < threads * 64 * kPage || !MaxIsa(&isa, &error)) {
    std::fprintf(stderr, "read_bandwidth: %s\n",
                 error.empty() ? "expected numbers of threads and megabytes"
                               : error.c_str());
    return 1;
  }
  const std::unique_ptr<char, decltype(&std::free)> data(
      static_cast<char*>(std::aligned_alloc(kPage, size)), std::free);
  if (data == nullptr) {
    std::fprintf(stderr, "read_bandwidth: no %lld MB of memory to read\n",
                 static_cast<long long>(megabytes));
    return 1;
  }
  // Pages that nobody has written are all the same one.
  for (int64_t i = 0; i < size; i += kLine) data.get()[i] = 1;
  std::printf("ready\n");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
    double best = 0;
    for (const Order& order : kOrders) {
      const double speed =
          size / Seconds(ReadOf(isa), data.get(), size, threads, order) / 1e9;
      if (speed > best) best = speed;
    }
    std::printf("%.3f\n", best);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace blocksparse

int main(int argc, char** argv) {
  return argc == 3 ? blocksparse::Main(std::atoi(argv[1]), std::atoll(argv[2]))
                   : blocksparse::Main(0, 0);
}
