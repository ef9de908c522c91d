// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// In place of the header that TensorFlow 2.19 includes and does not ship; found
// only where TensorFlow has none. Nothing here makes or uses a descriptor.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_TMA_METADATA_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_TMA_METADATA_H_

namespace stream_executor::gpu {
class TmaDescriptor {};
}  // namespace stream_executor::gpu

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_SHIMS_TMA_METADATA_H_
