// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Runs an op's OpKernel for the CPU on memory that belongs to somebody else.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_HOST_KERNEL_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_HOST_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/lib/core/threadpool_interface.h"
#include "tensorflow/core/platform/status.h"

namespace blocksparse {

// A tensor's elements, whose type the op knows.
struct HostBuffer {
  void* data;
  absl::Span<const int64_t> sizes;
};

// The op and the attributes of a node, as RunHostKernel reads them: letters,
// digits, - and _.
std::string EncodeNode(const tensorflow::NodeDef& node);

// Runs the OpKernel, the same as outside of XLA, with `threads` for its work.
// It writes `outputs`, whose sizes are to be those that it computes.
absl::Status RunHostKernel(absl::string_view encoded_node,
                           const std::vector<HostBuffer>& inputs,
                           const std::vector<HostBuffer>& outputs,
                           tensorflow::thread::ThreadPoolInterface* threads);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_HOST_KERNEL_H_
