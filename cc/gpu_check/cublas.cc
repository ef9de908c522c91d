// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/cublas.h"

#include <dlfcn.h>

#include <stdexcept>
#include <type_traits>

#include "cc/base/message.h"

namespace blocksparse {
namespace cuda {
namespace {

// As cublas_api.h and library_types.h have them: nobody needs these files.
constexpr int kPlain = 0;           // CUBLAS_OP_N
constexpr int kTransposed = 1;      // CUBLAS_OP_T
constexpr int kFloat32 = 0;         // CUDA_R_32F
constexpr int kFloat16 = 2;         // CUDA_R_16F
constexpr int kBFloat16 = 14;       // CUDA_R_16BF
constexpr int kSumsOfFloat32 = 68;  // CUBLAS_COMPUTE_32F
constexpr int kTensorFloat32 = 77;  // CUBLAS_COMPUTE_32F_FAST_TF32
constexpr int kDefault = -1;        // CUBLAS_GEMM_DEFAULT

int TypeOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return kFloat32;
    case Dtype::kFloat16:
      return kFloat16;
    case Dtype::kBFloat16:
      return kBFloat16;
    default:
      throw std::runtime_error("float64 is not timed");
  }
}

}  // namespace

struct Cublas::Functions {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*multiply)(void* handle, int a_operation, int b_operation, int m, int n,
                  int k, const void* alpha, const void* a, int a_type, int lda,
                  const void* b, int b_type, int ldb, const void* beta, void* c,
                  int c_type, int ldc, int compute_type, int algorithm);
};

Cublas::Cublas(const std::string& path) : functions_(new Functions()) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto load = [&](const char* name, auto* function) {
    using Pointer = std::remove_reference_t<decltype(*function)>;
    *function = reinterpret_cast<Pointer>(dlsym(library, name));
    if (*function == nullptr) {
      throw std::runtime_error(Message(path, " has no ", name));
    }
  };
  load("cublasCreate_v2", &functions_->create);
  load("cublasDestroy_v2", &functions_->destroy);
  load("cublasGemmEx", &functions_->multiply);
  const int status = functions_->create(&handle_);
  if (status != 0) {
    throw std::runtime_error(Message("cublasCreate returned ", status));
  }
}

Cublas::~Cublas() {
  functions_->destroy(handle_);
  delete functions_;
}

void Cublas::Run(const DenseProblem& p) {
  using Product = DenseProblem::Product;
  const int rows = static_cast<int>(p.rows);
  const int inputs = static_cast<int>(p.inputs);
  const int outputs = static_cast<int>(p.outputs);
  // cuBLAS counts down columns: to it, every matrix here is its own transpose,
  // and each product the transposed one, with its factors changed.
  const void* a = p.right;
  const void* b = p.left;
  int a_operation = kPlain, b_operation = kPlain;
  int m = outputs, k = inputs;
  int n = rows, lda = outputs, ldb = inputs;
  if (p.product == Product::kDx) {
    a_operation = kTransposed;
    m = inputs;
    k = ldb = outputs;
  } else if (p.product == Product::kDw) {
    b_operation = kTransposed;
    n = inputs;
    k = rows;
  }
  const float one = 1, zero = 0;
  const int type = TypeOf(p.dtype);
  const int status = functions_->multiply(
      handle_, a_operation, b_operation, m, n, k, &one, a, type, lda, b, type,
      ldb, &zero, p.result, type, m,
      p.tensor_float_32 ? kTensorFloat32 : kSumsOfFloat32, kDefault);
  if (status != 0) {
    throw std::runtime_error(Message("cublasGemmEx returned ", status));
  }
}

}  // namespace cuda
}  // namespace blocksparse
