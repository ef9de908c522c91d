// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What kernels ask of a GPU, and hosts of its driver, in functions: PTX where
// CUDA C++ has no word for it. Compiled by anything but nvcc, a kernel's file
// finds the same functions in an emulator, which has to be included before it.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_DEVICE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_DEVICE_CU_H_

#ifdef __CUDACC__

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "cc/base/dtype.h"
#include "cc/kernels/cuda/error_text.cu.h"

namespace blocksparse {
namespace cuda {

// The type of mma.sync whose elements are float32 rounded to 10 bits.
struct Tf32 {};

__device__ __forceinline__ int ThreadIndex() {
  return static_cast<int>(threadIdx.x);
}

__device__ __forceinline__ int32_t BlockIndex() {
  return static_cast<int32_t>(blockIdx.x);
}

__device__ __forceinline__ unsigned char* SharedMemory() {
  extern __shared__ __align__(128) unsigned char shared[];
  return shared;
}

__device__ __forceinline__ void SyncThreads() { __syncthreads(); }

__device__ __forceinline__ uint32_t SharedAddress(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// A kernel compiled for an older GPU than its instructions need is never
// chosen; were it launched, it would stop here.
#define BLOCKSPARSE_NEEDS_SM80() __trap()

// 16 bytes, aligned so; zeros unless `valid`.
__device__ __forceinline__ void CopyAsync16(void* shared, const void* global,
                                            bool valid) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(
                   SharedAddress(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(valid ? 16 : 0)
               : "memory");
#else
  BLOCKSPARSE_NEEDS_SM80();
#endif
}

__device__ __forceinline__ void CommitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#endif
}

// Waits for all of this thread's committed groups but the last kPending.
template <int kPending>
__device__ __forceinline__ void WaitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
#endif
}

// kCount matrices of 8 x 8 numbers of 16 bits. Lane 8 m + i says where row i of
// matrix m is.
template <int kCount, bool kTransposed>
__device__ __forceinline__ void LoadMatrices(const void* row,
                                             uint32_t (&fragments)[kCount]) {
  static_assert(kCount == 2 || kCount == 4, "ldmatrix.x2 and .x4");
  const uint32_t address = SharedAddress(row);
  if constexpr (kCount == 4 && kTransposed) {
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
        : "=r"(fragments[0]), "=r"(fragments[1]), "=r"(fragments[2]),
          "=r"(fragments[3])
        : "r"(address)
        : "memory");
  } else if constexpr (kCount == 4) {
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
        : "=r"(fragments[0]), "=r"(fragments[1]), "=r"(fragments[2]),
          "=r"(fragments[3])
        : "r"(address)
        : "memory");
  } else if constexpr (kTransposed) {
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];\n"
        : "=r"(fragments[0]), "=r"(fragments[1])
        : "r"(address)
        : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];\n"
                 : "=r"(fragments[0]), "=r"(fragments[1])
                 : "r"(address)
                 : "memory");
  }
}

#define BLOCKSPARSE_MMA(INSTRUCTION)                                           \
  asm(INSTRUCTION " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"   \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])             \
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), \
        "r"(right[1]))

// sums += left * right, of 16 x 16 by 16 x 8 elements (Tf32: 16 x 8 by 8 x 8).
template <typename T>
__device__ __forceinline__ void MultiplyAdd(const uint32_t (&left)[4],
                                            const uint32_t (&right)[2],
                                            float (&sums)[4]);
template <>
__device__ __forceinline__ void MultiplyAdd<Float16>(const uint32_t (&left)[4],
                                                     const uint32_t (&right)[2],
                                                     float (&sums)[4]) {
#if __CUDA_ARCH__ >= 800
  BLOCKSPARSE_MMA("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
#else
  BLOCKSPARSE_NEEDS_SM80();
#endif
}
template <>
__device__ __forceinline__ void MultiplyAdd<BFloat16>(
    const uint32_t (&left)[4], const uint32_t (&right)[2], float (&sums)[4]) {
#if __CUDA_ARCH__ >= 800
  BLOCKSPARSE_MMA("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
#else
  BLOCKSPARSE_NEEDS_SM80();
#endif
}
template <>
__device__ __forceinline__ void MultiplyAdd<Tf32>(const uint32_t (&left)[4],
                                                  const uint32_t (&right)[2],
                                                  float (&sums)[4]) {
#if __CUDA_ARCH__ >= 800
  BLOCKSPARSE_MMA("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32");
#else
  BLOCKSPARSE_NEEDS_SM80();
#endif
}

#undef BLOCKSPARSE_MMA

__device__ __forceinline__ uint32_t ToTf32(float value) {
  uint32_t bits = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rna.tf32.f32 %0, %1;\n" : "=r"(bits) : "f"(value));
#endif
  return bits;
}

#undef BLOCKSPARSE_NEEDS_SM80

// One load of as many elements; their address must be a multiple of its size.
template <int kCount, typename T>
__device__ __forceinline__ void LoadVector(const T* from, T (&to)[kCount]) {
  struct __align__(sizeof(T) * kCount) Vector {
    T elements[kCount];
  };
  const Vector vector = *reinterpret_cast<const Vector*>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = vector.elements[i];
}

// Widens a stored element.
template <typename Sum>
__device__ __forceinline__ Sum ToSum(Sum value) {
  return value;
}
template <typename Sum>
__device__ __forceinline__ Sum ToSum(BFloat16 value) {
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}
template <typename Sum>
__device__ __forceinline__ Sum ToSum(Float16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;\n" : "=f"(result) : "h"(value.bits));
  return result;
}

// Rounds to nearest, ties to even, as Narrow in cc/base/convert.h.
__device__ __forceinline__ void Round(float value, float* to) { *to = value; }
__device__ __forceinline__ void Round(double value, double* to) { *to = value; }
__device__ __forceinline__ void Round(float value, Float16* to) {
  asm("cvt.rn.f16.f32 %0, %1;\n" : "=h"(to->bits) : "f"(value));
}
__device__ __forceinline__ void Round(float value, BFloat16* to) {
  const uint32_t bits = __float_as_uint(value);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  to->bits =
      static_cast<uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded >> 16);
}

template <typename T, typename Sum>
__device__ __forceinline__ T FromSum(Sum value) {
  T result;
  Round(value, &result);
  return result;
}

__device__ __forceinline__ float Exp(float x) { return expf(x); }
__device__ __forceinline__ float Erfc(float x) { return erfcf(x); }
__device__ __forceinline__ float Tanh(float x) { return tanhf(x); }
__device__ __forceinline__ double Exp(double x) { return exp(x); }
__device__ __forceinline__ double Erfc(double x) { return erfc(x); }
__device__ __forceinline__ double Tanh(double x) { return tanh(x); }

// `stream` is a cudaStream_t. Pageable memory may be used again on return.
inline std::string CopyToDevice(void* device, const void* host, size_t bytes,
                                void* stream) {
  return ErrorText("copying a layout to the GPU",
                   cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice,
                                   static_cast<cudaStream_t>(stream)));
}

template <typename Arguments>
inline std::string Launch(void (*kernel)(Arguments), int64_t blocks,
                          int threads, size_t shared_bytes, void* stream,
                          const Arguments& arguments) {
  // What a block has unasked.
  if (shared_bytes > 48 * 1024) {
    const std::string error =
        ErrorText("asking for shared memory",
                  cudaFuncSetAttribute(
                      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                      static_cast<int>(shared_bytes)));
    if (!error.empty()) return error;
  }
  kernel<<<static_cast<unsigned>(blocks), threads, shared_bytes,
           static_cast<cudaStream_t>(stream)>>>(arguments);
  return ErrorText("launching a kernel", cudaGetLastError());
}

}  // namespace cuda
}  // namespace blocksparse

#elif !defined(TF_BLOCKSPARSE_CUDA_EMULATOR)
#error "compile this with nvcc, or include an emulator before it"
#endif

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_DEVICE_CU_H_
