// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The emulator in place of a GPU: host memory, and no stream to wait for.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "cc/gpu_check/device.h"

namespace blocksparse {
namespace cuda {

DeviceFacts LookAtDevice() {
  DeviceFacts facts;
  facts.name = "emulator";
  // With every instruction that there is an emulator for.
  facts.device = {90, 2, false};
  facts.device.hopper = std::getenv("TF_BLOCKSPARSE_HOPPER") != nullptr;
  facts.memory_bytes = int64_t{1} << 24;
  facts.cache_bytes = int64_t{1} << 20;
  return facts;
}

DeviceMemory::DeviceMemory(size_t bytes) : bytes_(bytes) {
  const size_t whole = (bytes + 255) / 256 * 256;
  data_ = static_cast<char*>(std::aligned_alloc(256, whole));
  if (data_ == nullptr) throw std::bad_alloc();
}

DeviceMemory::~DeviceMemory() { std::free(data_); }

void ToDevice(void* device, const void* host, size_t bytes) {
  std::memcpy(device, host, bytes);
}

void ToHost(void* host, const void* device, size_t bytes) {
  std::memcpy(host, device, bytes);
}

void FillBytes(void* device, unsigned char byte, size_t bytes) {
  std::memset(device, byte, bytes);
}

void CopyWithin(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

void Wait() {}

Pinned::Pinned(const void* host, size_t /*bytes*/)
    : host_(const_cast<void*>(host)) {}

Pinned::~Pinned() = default;

struct Stopwatch::Marks {
  std::chrono::steady_clock::time_point start;
  std::chrono::steady_clock::time_point stop;
};

Stopwatch::Stopwatch() : marks_(new Marks()) {}

Stopwatch::~Stopwatch() { delete marks_; }

void Stopwatch::Start() { marks_->start = std::chrono::steady_clock::now(); }

void Stopwatch::Stop() { marks_->stop = std::chrono::steady_clock::now(); }

double Stopwatch::Seconds() const {
  return std::chrono::duration<double>(marks_->stop - marks_->start).count();
}

}  // namespace cuda
}  // namespace blocksparse
