// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What this program asks of CUDA, on the default stream of the current GPU.
// device_emulated.cc has the same for the emulator. Whatever the driver
// complains of is thrown as a std::runtime_error with its words.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_DEVICE_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "cc/kernels/cuda/matmul.h"

namespace blocksparse {
namespace cuda {

struct DeviceFacts {
  std::string name;
  Device device;
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;  // of the second level
  int driver = 0;           // 13000 for CUDA 13.0
  int runtime = 0;
};

DeviceFacts LookAtDevice();

// Memory of the GPU; it begins at a multiple of 256 bytes.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  char* data_ = nullptr;
  size_t bytes_;
};

void ToDevice(void* device, const void* host, size_t bytes);
// Waits for all that came before, and throws what went wrong in it.
void ToHost(void* host, const void* device, size_t bytes);
void FillBytes(void* device, unsigned char byte, size_t bytes);
void CopyWithin(void* to, const void* from, size_t bytes);
void Wait();

// Host memory that copies may read later, while it lives.
class Pinned {
 public:
  Pinned(const void* host, size_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  void* host_;
};

// Times what is put on the stream between Start and Stop.
class Stopwatch {
 public:
  Stopwatch();
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void Start();
  void Stop();
  // Waits for the end.
  double Seconds() const;

 private:
  struct Marks;
  Marks* marks_;
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_DEVICE_H_
