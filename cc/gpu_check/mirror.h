// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A problem's memory on the GPU, between bytes that nobody may write.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_MIRROR_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_MIRROR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/gpu_check/device.h"
#include "cc/kernels/problem.h"

namespace blocksparse {
namespace cuda {

// First all that a kernel uses is placed, then sent; after the kernel has run,
// it is fetched. What is placed is as aligned as its host memory; all around
// it, and in outputs, are bytes 0xff, NaN in every type.
class Mirror {
 public:
  // Of as many bytes at most, kept for the next problem.
  explicit Mirror(size_t bytes) : memory_(bytes) {}

  // Places of the GPU; null where there is no host memory.
  const void* Operand(const void* host, int64_t bytes);
  void* Output(void* host, int64_t bytes);
  void* Scratch(size_t bytes);

  void Send();
  // Outputs come back to their host memory. Empty string, or what else was
  // written: operands, or what is between.
  std::string Fetch();

 private:
  struct Piece {
    const void* from;  // or null
    void* to;          // or null
    size_t begin;
    size_t bytes;
  };
  char* Place(const void* from, void* to, size_t alignment, size_t bytes);

  DeviceMemory memory_;
  size_t end_ = 0;
  std::vector<Piece> pieces_;
  std::vector<char> sent_;
};

MatmulProblem OnDevice(const MatmulProblem& problem, Mirror* mirror);
SampledMatmulProblem OnDevice(const SampledMatmulProblem& problem,
                              Mirror* mirror);
ConvProblem OnDevice(const ConvProblem& problem, Mirror* mirror);
ConvSampledProblem OnDevice(const ConvSampledProblem& problem, Mirror* mirror);

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_MIRROR_H_
