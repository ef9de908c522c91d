// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Dense products by cuBLAS, if there is one to be loaded.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_CUBLAS_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_CUBLAS_H_

#include <cstdint>
#include <string>

#include "cc/base/dtype.h"

namespace blocksparse {
namespace cuda {

// One of the three products of a dense layer, of matrices whose rows lie one
// after the other: x is [rows, inputs], w [inputs, outputs].
struct DenseProblem {
  enum class Product { kForward, kDx, kDw };

  Product product;
  Dtype dtype;
  bool tensor_float_32;
  int64_t rows;
  int64_t inputs;
  int64_t outputs;
  const void* left;   // x, or dy for kDx
  const void* right;  // w, or dy for kDw
  void* result;       // y, dx or dw
};

class Cublas {
 public:
  // Loads a library, libcublas.so.12 or later; throws a std::runtime_error with
  // the reason if it can't be used.
  explicit Cublas(const std::string& path);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // On the default stream.
  void Run(const DenseProblem& problem);

 private:
  struct Functions;
  Functions* functions_;
  void* handle_ = nullptr;
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_CUBLAS_H_
