// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/find_device.h"

#include <cstdlib>
#include <string>

#include "cc/kernels/cuda/device.cu.h"

namespace blocksparse {
namespace cuda {

namespace {

// Asked of the environment once, as kernels must not change in between.
bool IsHopperAskedFor() {
  static const bool asked = [] {
    const char* value = std::getenv("TF_BLOCKSPARSE_HOPPER");
    return value != nullptr && std::string(value) == "1";
  }();
  return asked;
}

}  // namespace

std::string FindDevice(Device* device) {
  int ordinal = 0, major = 0, minor = 0;
  cudaError_t error = cudaGetDevice(&ordinal);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                   ordinal);
  }
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                                   ordinal);
  }
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&device->multiprocessors,
                                   cudaDevAttrMultiProcessorCount, ordinal);
  }
  device->capability = major * 10 + minor;
  device->hopper = IsHopperAskedFor();
  return ErrorText("looking at the GPU", error);
}

}  // namespace cuda
}  // namespace blocksparse
