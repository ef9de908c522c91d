// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/kernel_table.h"

#include <vector>

#include "cc/kernels/cpu/conv_table.h"

namespace blocksparse {

#define BLOCKSPARSE_DECLARE(isa)                            \
  namespace isa {                                           \
  extern const MatmulKernel kMatmulKernels[];               \
  extern const int kMatmulKernelCount;                      \
  extern const SampledMatmulKernel kSampledMatmulKernels[]; \
  extern const int kSampledMatmulKernelCount;               \
  extern const ConvKernel kConvKernels[];                   \
  extern const int kConvKernelCount;                        \
  extern const ConvSampledKernel kConvSampledKernels[];     \
  extern const int kConvSampledKernelCount;                 \
  }
#if defined(__x86_64__)
BLOCKSPARSE_DECLARE(avx512)
BLOCKSPARSE_DECLARE(avx2)
#endif
BLOCKSPARSE_DECLARE(portable)
#undef BLOCKSPARSE_DECLARE

namespace {

template <typename Kernel>
void Append(const Kernel* kernels, int count, std::vector<Kernel>* all) {
  all->insert(all->end(), kernels, kernels + count);
}

}  // namespace

KernelList<MatmulKernel> MatmulKernels() {
  static const auto* const all = [] {
    auto* kernels = new std::vector<MatmulKernel>;
#if defined(__x86_64__)
    Append(avx512::kMatmulKernels, avx512::kMatmulKernelCount, kernels);
    Append(avx2::kMatmulKernels, avx2::kMatmulKernelCount, kernels);
#endif
    Append(portable::kMatmulKernels, portable::kMatmulKernelCount, kernels);
    return kernels;
  }();
  return {all->data(), all->data() + all->size()};
}

KernelList<SampledMatmulKernel> SampledMatmulKernels() {
  static const auto* const all = [] {
    auto* kernels = new std::vector<SampledMatmulKernel>;
#if defined(__x86_64__)
    Append(avx512::kSampledMatmulKernels, avx512::kSampledMatmulKernelCount,
           kernels);
    Append(avx2::kSampledMatmulKernels, avx2::kSampledMatmulKernelCount,
           kernels);
#endif
    Append(portable::kSampledMatmulKernels, portable::kSampledMatmulKernelCount,
           kernels);
    return kernels;
  }();
  return {all->data(), all->data() + all->size()};
}

KernelList<ConvKernel> ConvKernels() {
  static const auto* const all = [] {
    auto* kernels = new std::vector<ConvKernel>;
#if defined(__x86_64__)
    Append(avx512::kConvKernels, avx512::kConvKernelCount, kernels);
    Append(avx2::kConvKernels, avx2::kConvKernelCount, kernels);
#endif
    Append(portable::kConvKernels, portable::kConvKernelCount, kernels);
    return kernels;
  }();
  return {all->data(), all->data() + all->size()};
}

KernelList<ConvSampledKernel> ConvSampledKernels() {
  static const auto* const all = [] {
    auto* kernels = new std::vector<ConvSampledKernel>;
#if defined(__x86_64__)
    Append(avx512::kConvSampledKernels, avx512::kConvSampledKernelCount,
           kernels);
    Append(avx2::kConvSampledKernels, avx2::kConvSampledKernelCount, kernels);
#endif
    Append(portable::kConvSampledKernels, portable::kConvSampledKernelCount,
           kernels);
    return kernels;
  }();
  return {all->data(), all->data() + all->size()};
}

}  // namespace blocksparse
