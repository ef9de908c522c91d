// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A custom call of XLA on the CPU that runs one of our OpKernels.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_HOST_CALL_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_HOST_CALL_H_

#include <string>

namespace blocksparse {

// What XLA knows the call by.
inline constexpr char kHostCall[] = "tf_blocksparse_host_call";

// Whether XLA has taken it, when this library was loaded.
bool HasHostCall();

// The call's configuration: for XLA, an attribute of MLIR.
std::string HostCallConfig(const std::string& encoded_node);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_HOST_CALL_H_
