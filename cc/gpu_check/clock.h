// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// How long the GPU takes for something, and how fast it copies.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_CLOCK_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_CLOCK_H_

#include <functional>
#include <memory>

#include "cc/gpu_check/device.h"

namespace blocksparse {
namespace cuda {

struct Timed {
  double median = 0;  // seconds
  double fastest = 0;
  int samples = 0;
};

class Clock {
 public:
  // At least so many samples of each.
  Clock(const DeviceFacts& facts, int samples);

  // Of what `run` puts on the stream, after it has run twice. Before each
  // sample other memory is written, as much as the cache holds several times:
  // operands come from memory, for everything that is compared.
  Timed Time(const std::function<void()>& run);

  // Bytes a second, read and written, of a copy that no cache holds.
  double CopyBandwidth();

 private:
  DeviceMemory other_;
  int samples_;
  Stopwatch stopwatch_;
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_CLOCK_H_
