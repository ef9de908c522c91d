// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// The products as data: what to compute, on which memory.
// Kernels of every device take these.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_PROBLEM_H_
#define TF_BLOCKSPARSE_CC_KERNELS_PROBLEM_H_

#include <cstdint>

#include "cc/base/dtype.h"
#include "cc/layout/conv_geometry.h"
#include "cc/layout/layout.h"

namespace blocksparse {

enum class Activation { kNone, kRelu, kGelu, kSilu, kTanh, kSigmoid };

// y = activation(x W + bias), or x W^T with `transpose`, where W is
// [inputs, outputs] and block w of it is gate[w] * blocks[w].
struct MatmulProblem {
  Layout layout;
  bool transpose = false;       // x has `outputs` features, y `inputs`
  bool features_first = false;  // x is [features, rows], else [rows, features]
  int64_t rows = 0;
  Dtype x_dtype = Dtype::kFloat32;       // of x, bias, y and preactivation
  Dtype blocks_dtype = Dtype::kFloat32;  // of blocks
  const void* x = nullptr;
  const void* blocks = nullptr;  // [nnz, block_inputs, block_outputs]
  const float* gate = nullptr;   // [nnz] or null; a block with 0 is skipped
  bool gate_is_mask = false;     // whether it is of 0 and 1
  const void* bias = nullptr;    // [features of y] or null
  Activation activation = Activation::kNone;
  void* y = nullptr;
  void* preactivation = nullptr;  // like y or null
};

// blocks[w] = gate[w] * a[:, c]^T b[:, k] for every block w = (c, k): the
// dense product a^T b, only where blocks exist. Entries beyond `inputs` or
// `outputs` are 0.
struct SampledMatmulProblem {
  Layout layout;
  bool features_first = false;
  int64_t rows = 0;
  Dtype x_dtype = Dtype::kFloat32;       // of a and b
  Dtype blocks_dtype = Dtype::kFloat32;  // of blocks
  const void* a = nullptr;               // [rows, inputs], or [inputs, rows]
  const void* b = nullptr;               // [rows, outputs], or [outputs, rows]
  const float* gate = nullptr;
  void* blocks = nullptr;
};

// y = activation(x * W + bias), where * is a convolution, or with `adjoint` a
// transposed one: x is then the coarse side of the geometry and y the fine one,
// else the other way round. W is [taps, inputs, outputs], transposed in its
// last two with `transpose`. x is [batch, pixels, features], or [batch,
// features, pixels].
struct ConvProblem {
  // Of inputs x outputs. Without `shared_taps` of as many inputs as (input
  // blocks * taps) have, row c * taps + t of them being tap t of block c.
  Layout layout;
  bool shared_taps = true;  // a block has all taps: [taps, b_in, b_out]
  int64_t inputs = 0;
  int64_t outputs = 0;
  ConvGeometry geometry;
  bool adjoint = false;
  bool transpose = false;                // x has `outputs` features, y `inputs`
  bool features_first = false;           // features before pixels
  Dtype x_dtype = Dtype::kFloat32;       // of x, bias, y and preactivation
  Dtype blocks_dtype = Dtype::kFloat32;  // of blocks
  const void* x = nullptr;
  const void* blocks = nullptr;  // [nnz, b_in, b_out], with taps if shared
  const float* gate = nullptr;   // [nnz] or null; a block with 0 is skipped
  bool gate_is_mask = false;     // whether it is of 0 and 1
  const void* bias = nullptr;    // [features of y] or null
  Activation activation = Activation::kNone;
  void* y = nullptr;
  void* preactivation = nullptr;  // like y or null
};

// The derivative of a convolution for its blocks: block (t, c, k) is the sum
// over all pixels o of gate * fine[o * stride + t * dilation - padding, c]
// coarse[o, k]. With `adjoint`, of a transposed convolution: fine has the
// outputs and coarse the inputs.
struct ConvSampledProblem {
  Layout layout;  // as for ConvProblem
  bool shared_taps = true;
  int64_t inputs = 0;
  int64_t outputs = 0;
  ConvGeometry geometry;
  bool adjoint = false;
  bool features_first = false;
  Dtype x_dtype = Dtype::kFloat32;       // of fine and coarse
  Dtype blocks_dtype = Dtype::kFloat32;  // of blocks
  const void* fine = nullptr;
  const void* coarse = nullptr;
  const float* gate = nullptr;
  void* blocks = nullptr;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_PROBLEM_H_
