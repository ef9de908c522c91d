// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cuda/device.cu.h"
#include "cc/kernels/cuda/kernel_table.h"

namespace blocksparse {
namespace cuda {

std::string CopyTable(const int32_t* table, size_t count, void* device,
                      void* stream) {
  return CopyToDevice(device, table, count * sizeof(int32_t), stream);
}

}  // namespace cuda
}  // namespace blocksparse
