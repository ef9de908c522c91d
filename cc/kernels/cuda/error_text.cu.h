// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What CUDA says of an error, and what to do about those that an installation
// is to blame for.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CUDA_ERROR_TEXT_CU_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CUDA_ERROR_TEXT_CU_H_

#include <cuda_runtime.h>

#include <string>

namespace blocksparse {
namespace cuda {

// As nvidia-smi and nvcc tell it: 13.0 for 13000.
inline std::string CudaVersion(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

inline std::string AdviceOn(cudaError_t error) {
  int driver = 0, toolkit = 0;
  switch (error) {
    case cudaErrorInsufficientDriver:
      cudaDriverGetVersion(&driver);  // 0 if there is none
      cudaRuntimeGetVersion(&toolkit);
      return "; got " +
             (driver == 0 ? "no driver"
                          : "one for CUDA " + CudaVersion(driver)) +
             ", expected one for CUDA " + CudaVersion(toolkit) +
             ": update the driver, or build with an older CUDA toolkit";
    case cudaErrorNoKernelImageForDevice:
      return "; build with this GPU's compute capability in "
             "TF_BLOCKSPARSE_CUDA_ARCHS";
    default:
      return std::string();
  }
}

// For the user; empty if all is well.
inline std::string ErrorText(const char* what, cudaError_t error) {
  if (error == cudaSuccess) return std::string();
  return std::string(what) + ": " + cudaGetErrorString(error) + AdviceOn(error);
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CUDA_ERROR_TEXT_CU_H_
