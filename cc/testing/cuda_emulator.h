// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// CUDA kernels on a CPU. A kernel's file compiled by the C++ compiler, with
// this header included before it, calls what is below where nvcc has
// instructions (cc/kernels/cuda/device.cu.h). Each thread of a block is a
// fiber; blocks run one after the other.
//
// What is found: reads and writes out of range, if memory is guarded or under
// AddressSanitizer; misaligned accesses; shared memory that is read before it
// is written (it holds NaN); threads of a block, or lanes of a warp, that do
// not come to the same barrier or exchange; and missing barriers and waits, as
// far as one of the two orders makes wrong numbers of them. What is not:
// conflicts of banks, speed, the memory model, the PTX itself.
#ifndef TF_BLOCKSPARSE_CC_TESTING_CUDA_EMULATOR_H_
#define TF_BLOCKSPARSE_CC_TESTING_CUDA_EMULATOR_H_

#define TF_BLOCKSPARSE_CUDA_EMULATOR

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cc/base/convert.h"
#include "cc/base/dtype.h"

// CUDA's words for functions.
#define __device__
#define __forceinline__ inline
#define __global__ static
#define __host__
#define __launch_bounds__(...)

namespace blocksparse {
namespace emulator {

// The two orders in which the threads of a block run. A fault that goes unseen
// in one, since things happen to be done in time, shows in the other.
enum class Order {
  // Every warp goes one barrier or exchange further, the first one first.
  // Asynchronous copies arrive at the last moment: at the wait for them.
  kTogether,
  // The last warp runs as far as barriers let it, before the one before it
  // begins. Asynchronous copies arrive at once.
  kAhead,
};

struct Settings {
  Order order = Order::kTogether;
  // A barrier or a wait to pass over, as if it were not in the source:
  // "function file:line", one of Sites().
  std::string removed;
};

// For all launches from now on.
void Use(const Settings& settings);

// Barriers and waits passed since the last Use, as Settings::removed has them.
std::vector<std::string> Sites();

// Runs `body` once for each thread of each block. Empty string, or what went
// wrong in the first block in which something did.
std::string Emulate(int64_t blocks, int threads, size_t shared_bytes,
                    const std::function<void()>& body);

// For the functions below, inside of Emulate.

// Gives the block up.
[[noreturn]] void Fail(const std::string& what);
bool IsRemoved(const char* function, const char* file, int line);
void WaitForBlock();
// Waits until every lane of the warp has come to the same `exchange`, which is
// then called once with what each of them brought.
void WaitForWarp(void (*exchange)(void* const (&operands)[32]), void* operand);
// Lets others go on until it holds.
void WaitUntil(const std::function<bool()>& condition);
// Which block of which launch runs, counted from the program's begin.
int64_t Run();
// Whether what is asynchronous is done at the last moment.
bool IsLate();
// Shared memory by the address that instructions have of it.
unsigned char* SharedAt(uint32_t address, size_t bytes);
// At most 16 bytes; of those beyond `valid`, zeros arrive.
void StartCopy(void* to, const void* from, int valid);
void CommitCopies();
void FinishCopies(int pending);
void CheckAligned(const void* address, size_t bytes, const char* what);

template <int kCount>
struct LoadOperand {
  const void* row;
  uint32_t* fragments;
};
template <int kCount, bool kTransposed>
void LoadMatrices(void* const (&operands)[32]);

struct MultiplyOperand {
  float* sums;
  const uint32_t* left;
  const uint32_t* right;
};
template <typename T>
void Multiply(void* const (&operands)[32]);

}  // namespace emulator

namespace cuda {

struct Tf32 {};

int ThreadIndex();
int32_t BlockIndex();
unsigned char* SharedMemory();
uint32_t SharedAddress(const void* shared);

inline void SyncThreads(const char* file = __builtin_FILE(),
                        int line = __builtin_LINE()) {
  if (!emulator::IsRemoved("SyncThreads", file, line)) {
    emulator::WaitForBlock();
  }
}

void SyncWarp();
float ShuffleXor(float value, int mask);

inline void CopyAsync16(void* shared, const void* global, bool valid) {
  emulator::CheckAligned(shared, 16, "the target of a copy");
  emulator::CheckAligned(global, 16, "the source of a copy");
  emulator::StartCopy(shared, global, valid ? 16 : 0);
}

inline void CommitCopies() { emulator::CommitCopies(); }

template <int kPending>
inline void WaitCopies(const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  if (!emulator::IsRemoved("WaitCopies", file, line)) {
    emulator::FinishCopies(kPending);
  }
}

template <int kCount, bool kTransposed>
inline void LoadMatrices(const void* row, uint32_t (&fragments)[kCount]) {
  if (ThreadIndex() % 32 < 8 * kCount) {  // the other lanes' are not read
    emulator::CheckAligned(row, 16, "a row of a matrix");
  }
  emulator::LoadOperand<kCount> operand = {row, fragments};
  emulator::WaitForWarp(emulator::LoadMatrices<kCount, kTransposed>, &operand);
}

template <typename T, int kLeft, int kRight>
inline void MultiplyAdd(const uint32_t (&left)[kLeft],
                        const uint32_t (&right)[kRight], float (&sums)[4]) {
  static_assert(kLeft == 4 && kRight == 2, "registers of mma.sync");
  emulator::MultiplyOperand operand = {sums, left, right};
  emulator::WaitForWarp(emulator::Multiply<T>, &operand);
}

// cvt.rna: to 10 bits after the point, to nearest, ties away from zero.
inline uint32_t ToTf32(float value) {
  const uint32_t bits = FloatToBits(value);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  return finite ? (bits + 0x1000u) & 0xffffe000u : bits;
}

template <int kCount, typename T>
inline void LoadVector(const T* from, T (&to)[kCount]) {
  emulator::CheckAligned(from, sizeof to, "a vector");
  std::memcpy(to, from, sizeof to);
}

template <typename Sum, typename T>
inline Sum ToSum(T value) {
  return Widen(value);
}
template <typename T, typename Sum>
inline T FromSum(Sum value) {
  T result;
  Narrow(value, &result);
  return result;
}

inline float Exp(float x) { return std::exp(x); }
inline float Erfc(float x) { return std::erfc(x); }
inline float Tanh(float x) { return std::tanh(x); }
inline double Exp(double x) { return std::exp(x); }
inline double Erfc(double x) { return std::erfc(x); }
inline double Tanh(double x) { return std::tanh(x); }

// What a host does with a device.
inline std::string CopyToDevice(void* device, const void* host, size_t bytes,
                                void* /*stream*/) {
  std::memcpy(device, host, bytes);
  return std::string();
}

template <typename Arguments>
inline std::string Launch(void (*kernel)(Arguments), int64_t blocks,
                          int threads, size_t shared_bytes, void* /*stream*/,
                          const Arguments& arguments) {
  return emulator::Emulate(blocks, threads, shared_bytes,
                           [&] { kernel(arguments); });
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_CUDA_EMULATOR_H_
