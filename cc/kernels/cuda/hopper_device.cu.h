// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What only GPUs of compute capability 9.0 do, in functions like those of
// device.cu.h: copies of boxes, barriers that count their bytes, and products
// of a warpgroup. Everything here is of PTX ISA 9.0; what each argument means
// is in hopper.h.
//
// Not run on such a GPU so far. The emulator stands in for all of it but two
// fences, FenceBarriers and FenceMultiplies.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_DEVICE_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_DEVICE_CU_H_

#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/hopper.h"

#ifdef __CUDACC__

// Types of the driver's API; nothing of its library is linked.
#include <cuda.h>

#include <string>
#include <type_traits>

namespace blocksparse {
namespace cuda {

// Instructions of sm_90a, which no other architecture has. Kernels compiled for
// another one are never chosen, as they need a device of capability 9.0; were
// they launched, they would stop here.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define BLOCKSPARSE_SM90A(...) asm volatile(__VA_ARGS__)
#else
#define BLOCKSPARSE_SM90A(...) __trap()
#endif

// 9.7.13.15, "mbarrier". Waits for it end when `arrivals` threads, and all the
// bytes that they expect, have arrived; then it begins anew.
__device__ __forceinline__ void InitBarrier(uint32_t barrier, int arrivals) {
  BLOCKSPARSE_SM90A("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier),
                    "r"(arrivals) : "memory");
}

// Shows the barriers that this thread has begun to whoever copies boxes.
__device__ __forceinline__ void FenceBarriers() {
  BLOCKSPARSE_SM90A("fence.mbarrier_init.release.cluster;\n" :: : "memory");
  BLOCKSPARSE_SM90A("fence.proxy.async.shared::cta;\n" :: : "memory");
}

// Arrives, and says how many bytes are to arrive, too.
__device__ __forceinline__ void ArriveExpecting(uint32_t barrier,
                                                uint32_t bytes) {
  BLOCKSPARSE_SM90A(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier),
      "r"(bytes) : "memory");
}

// Waits for the end of the barrier's turn number 0, 2, 4... if `parity` is 0,
// of 1, 3, 5... if it is 1.
__device__ __forceinline__ void WaitBarrier(uint32_t barrier, int parity) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        ".reg .pred ended;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
        "selp.u32 %0, 1, 0, ended;\n"
        "}\n"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
#endif
}

// What cuTensorMapEncodeTiled makes of a TensorView, for boxes of it.
using TensorMap = CUtensorMap;

// 9.7.9.27, "cp.async.bulk.tensor". The box whose first number is number
// `along` of line `line`; zeros beyond the tensor's edges. `map` is a
// parameter of the kernel.
__device__ __forceinline__ void CopyBox(uint32_t shared, const TensorMap& map,
                                        int32_t along, int32_t line,
                                        uint32_t barrier) {
  BLOCKSPARSE_SM90A(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n" ::"r"(
          shared),
      "l"(&map), "r"(along), "r"(line), "r"(barrier) : "memory");
}

// 9.7.15.7, "wgmma". Before the first product of a step: orders what threads
// did with the sums ahead of it.
__device__ __forceinline__ void FenceMultiplies() {
  BLOCKSPARSE_SM90A("wgmma.fence.sync.aligned;\n" :: : "memory");
}

__device__ __forceinline__ void CommitMultiplies() {
  BLOCKSPARSE_SM90A("wgmma.commit_group.sync.aligned;\n" :: : "memory");
}

// Waits for all of this warp's committed groups but the last kPending.
template <int kPending>
__device__ __forceinline__ void WaitMultiplies() {
  BLOCKSPARSE_SM90A(
      "wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
}

// Sums are not read ahead of this place: what waits for products does not name
// them, so a compiler could not know otherwise.
template <int kCount>
__device__ __forceinline__ void KeepSumsHere(float (&sums)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}

// The sums of 64 x 2 kCount elements that a thread has, as operands.
#define BLOCKSPARSE_SUMS_8(FIRST)                                          \
  "+f"(sums[FIRST]), "+f"(sums[FIRST + 1]), "+f"(sums[FIRST + 2]),         \
      "+f"(sums[FIRST + 3]), "+f"(sums[FIRST + 4]), "+f"(sums[FIRST + 5]), \
      "+f"(sums[FIRST + 6]), "+f"(sums[FIRST + 7])
#define BLOCKSPARSE_SUMS_32(FIRST)                          \
  BLOCKSPARSE_SUMS_8(FIRST), BLOCKSPARSE_SUMS_8(FIRST + 8), \
      BLOCKSPARSE_SUMS_8(FIRST + 16), BLOCKSPARSE_SUMS_8(FIRST + 24)
#define BLOCKSPARSE_NAMES_32                 \
  "%0, %1, %2, %3, %4, %5, %6, %7, "         \
  "%8, %9, %10, %11, %12, %13, %14, %15, "   \
  "%16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define BLOCKSPARSE_NAMES_64                 \
  "%0, %1, %2, %3, %4, %5, %6, %7, "         \
  "%8, %9, %10, %11, %12, %13, %14, %15, "   \
  "%16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63"
// After the descriptors: whether to add to the sums, the signs of both
// operands, and whether their lines go along the side.
#define BLOCKSPARSE_WGMMA_64(TYPE)                                             \
  BLOCKSPARSE_SM90A("wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE         \
                    "." TYPE " {" BLOCKSPARSE_NAMES_32                         \
                    "}, %32, %33, 1, 1, 1, %34, %35;\n" : BLOCKSPARSE_SUMS_32( \
                        0) : "l"(left),                                        \
                    "l"(right), "n"(!kLeftAlong), "n"(!kRightAlong))
#define BLOCKSPARSE_WGMMA_128(TYPE)                                      \
  BLOCKSPARSE_SM90A(                                                     \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE       \
      " {" BLOCKSPARSE_NAMES_64                                          \
      "}, %64, %65, 1, 1, 1, %66, %67;\n" : BLOCKSPARSE_SUMS_32(0),      \
      BLOCKSPARSE_SUMS_32(32) : "l"(left), "l"(right), "n"(!kLeftAlong), \
      "n"(!kRightAlong))

// sums += left * right, of 64 x 16 by 16 x 2 kCount elements, when it is waited
// for. Operands are described by MatrixDescriptor.
template <typename T, bool kLeftAlong, bool kRightAlong, int kCount>
__device__ __forceinline__ void StartMultiply(uint64_t left, uint64_t right,
                                              float (&sums)[kCount]) {
  static_assert(kCount == 32 || kCount == 64, "64 or 128 to the right");
  constexpr bool kFloat16 = std::is_same_v<T, Float16>;
  if constexpr (kCount == 32 && kFloat16) {
    BLOCKSPARSE_WGMMA_64("f16");
  } else if constexpr (kCount == 32) {
    BLOCKSPARSE_WGMMA_64("bf16");
  } else if constexpr (kFloat16) {
    BLOCKSPARSE_WGMMA_128("f16");
  } else {
    BLOCKSPARSE_WGMMA_128("bf16");
  }
}

#undef BLOCKSPARSE_WGMMA_128
#undef BLOCKSPARSE_WGMMA_64
#undef BLOCKSPARSE_NAMES_64
#undef BLOCKSPARSE_NAMES_32
#undef BLOCKSPARSE_SUMS_32
#undef BLOCKSPARSE_SUMS_8
#undef BLOCKSPARSE_SM90A

// The driver's function, by its library if there is one.
inline std::string FindEncodeTiled(decltype(&cuTensorMapEncodeTiled)* found) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(
      "cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(
      "cuTensorMapEncodeTiled", &function, cudaEnableDefault, &result);
#endif
  if (error == cudaSuccess && result != cudaDriverEntryPointSuccess) {
    return "the GPU's driver has no cuTensorMapEncodeTiled; update it to one "
           "for CUDA 12";
  }
  *found = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
  return ErrorText("looking for cuTensorMapEncodeTiled", error);
}

inline std::string MakeTensorMap(const TensorView& view, TensorMap* map) {
  decltype(&cuTensorMapEncodeTiled) encode = nullptr;
  const std::string error = FindEncodeTiled(&encode);
  if (!error.empty()) return error;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(view.length),
                              static_cast<cuuint64_t>(view.lines)};
  const cuuint64_t stride[] = {2 * sizes[0]};
  const cuuint32_t box[] = {kBoxSide, kBoxSide};
  const cuuint32_t every[] = {1, 1};
  const CUresult result = encode(
      map,
      view.bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                    : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
      2, const_cast<void*>(view.base), sizes, stride, box, every,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return std::string();
  return "cuTensorMapEncodeTiled of " + std::to_string(view.lines) + " x " +
         std::to_string(view.length) + " numbers: error " +
         std::to_string(static_cast<int>(result));
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // __CUDACC__

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_HOPPER_DEVICE_CU_H_
