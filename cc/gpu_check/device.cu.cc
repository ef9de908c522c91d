// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/device.h"

#include <cuda_runtime.h>

#include <stdexcept>

#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/find_device.h"

namespace blocksparse {
namespace cuda {
namespace {

void ThrowIf(const std::string& error) {
  if (!error.empty()) throw std::runtime_error(error);
}

void Check(const char* what, cudaError_t error) {
  ThrowIf(ErrorText(what, error));
}

}  // namespace

DeviceFacts LookAtDevice() {
  DeviceFacts facts;
  ThrowIf(FindDevice(&facts.device));
  int ordinal = 0;
  cudaDeviceProp properties;
  Check("looking at the GPU", cudaGetDevice(&ordinal));
  Check("looking at the GPU", cudaGetDeviceProperties(&properties, ordinal));
  Check("looking at the driver", cudaDriverGetVersion(&facts.driver));
  Check("looking at the runtime", cudaRuntimeGetVersion(&facts.runtime));
  facts.name = properties.name;
  facts.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  facts.cache_bytes = properties.l2CacheSize;
  return facts;
}

DeviceMemory::DeviceMemory(size_t bytes) : bytes_(bytes) {
  Check("allocating memory of the GPU", cudaMalloc(&data_, bytes));
}

DeviceMemory::~DeviceMemory() { cudaFree(data_); }

void ToDevice(void* device, const void* host, size_t bytes) {
  Check("copying to the GPU",
        cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
}

void ToHost(void* host, const void* device, size_t bytes) {
  Check("waiting for a kernel", cudaDeviceSynchronize());
  Check("copying from the GPU",
        cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

void FillBytes(void* device, unsigned char byte, size_t bytes) {
  Check("filling memory of the GPU", cudaMemsetAsync(device, byte, bytes));
}

void CopyWithin(void* to, const void* from, size_t bytes) {
  Check("copying on the GPU",
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
}

void Wait() { Check("waiting for the GPU", cudaDeviceSynchronize()); }

Pinned::Pinned(const void* host, size_t bytes)
    : host_(const_cast<void*>(host)) {
  Check("pinning host memory",
        cudaHostRegister(host_, bytes, cudaHostRegisterDefault));
}

Pinned::~Pinned() {
  cudaDeviceSynchronize();
  cudaHostUnregister(host_);
}

struct Stopwatch::Marks {
  cudaEvent_t start;
  cudaEvent_t stop;
};

Stopwatch::Stopwatch() : marks_(new Marks()) {
  Check("making an event", cudaEventCreate(&marks_->start));
  Check("making an event", cudaEventCreate(&marks_->stop));
}

Stopwatch::~Stopwatch() {
  cudaEventDestroy(marks_->start);
  cudaEventDestroy(marks_->stop);
  delete marks_;
}

void Stopwatch::Start() {
  Check("starting a clock", cudaEventRecord(marks_->start));
}

void Stopwatch::Stop() {
  Check("stopping a clock", cudaEventRecord(marks_->stop));
}

double Stopwatch::Seconds() const {
  float milliseconds = 0;
  Check("waiting for a kernel", cudaEventSynchronize(marks_->stop));
  Check("reading a clock",
        cudaEventElapsedTime(&milliseconds, marks_->start, marks_->stop));
  return milliseconds / 1e3;
}

}  // namespace cuda
}  // namespace blocksparse
