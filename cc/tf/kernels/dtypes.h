// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Element types: which there are kernels for, and TensorFlow's names for them.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_DTYPES_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_DTYPES_H_

#include "cc/base/dtype.h"
#include "tensorflow/core/framework/types.h"

// Calls REGISTER(Tx, Tb) for every pair of types of x and of blocks.
#define BLOCKSPARSE_FOR_EACH_DTYPES(REGISTER)          \
  REGISTER(float, float)                               \
  REGISTER(double, double)                             \
  REGISTER(tensorflow::bfloat16, tensorflow::bfloat16) \
  REGISTER(Eigen::half, Eigen::half)                   \
  REGISTER(float, tensorflow::bfloat16)                \
  REGISTER(float, Eigen::half)

// The devices of a product that GPUs have a kernel for: calls
// REGISTER_ON(DEVICE, Tx, Tb) for each of them.
#ifdef TF_BLOCKSPARSE_CUDA
#define BLOCKSPARSE_FOR_EACH_DEVICE(REGISTER_ON, TX, TB) \
  REGISTER_ON(DEVICE_CPU, TX, TB)                        \
  REGISTER_ON(DEVICE_GPU, TX, TB)
#else
#define BLOCKSPARSE_FOR_EACH_DEVICE(REGISTER_ON, TX, TB) \
  REGISTER_ON(DEVICE_CPU, TX, TB)
#endif

namespace blocksparse {

// `dtype` is one of the four that the ops accept.
inline Dtype ToDtype(tensorflow::DataType dtype) {
  switch (dtype) {
    case tensorflow::DT_DOUBLE:
      return Dtype::kFloat64;
    case tensorflow::DT_BFLOAT16:
      return Dtype::kBFloat16;
    case tensorflow::DT_HALF:
      return Dtype::kFloat16;
    default:
      return Dtype::kFloat32;
  }
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_DTYPES_H_
