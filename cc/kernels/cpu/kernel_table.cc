// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/kernel_table.h"

#include <vector>

#include "cc/kernels/cpu/conv_table.h"

namespace blocksparse {

// kIsas, best first.
#if defined(__x86_64__)
#define BLOCKSPARSE_ISAS(use, kind) \
  use(avx512, kind) use(avx2, kind) use(portable, kind)
#elif defined(__aarch64__)
#define BLOCKSPARSE_ISAS(use, kind) use(neon, kind) use(portable, kind)
#else
#define BLOCKSPARSE_ISAS(use, kind) use(portable, kind)
#endif

namespace {

template <typename Kernel>
void Append(const Kernel* kernels, int count, std::vector<Kernel>* all) {
  all->insert(all->end(), kernels, kernels + count);
}

}  // namespace

#define BLOCKSPARSE_DECLARE(isa, kind)          \
  namespace isa {                               \
  extern const kind##Kernel k##kind##Kernels[]; \
  extern const int k##kind##KernelCount;        \
  }
#define BLOCKSPARSE_APPEND(isa, kind) \
  Append(isa::k##kind##Kernels, isa::k##kind##KernelCount, kernels);
#define BLOCKSPARSE_DEFINE_LIST(kind)                \
  BLOCKSPARSE_ISAS(BLOCKSPARSE_DECLARE, kind)        \
  KernelList<kind##Kernel> kind##Kernels() {         \
    static const auto* const all = [] {              \
      auto* kernels = new std::vector<kind##Kernel>; \
      BLOCKSPARSE_ISAS(BLOCKSPARSE_APPEND, kind)     \
      return kernels;                                \
    }();                                             \
    return {all->data(), all->data() + all->size()}; \
  }

BLOCKSPARSE_DEFINE_LIST(Matmul)
BLOCKSPARSE_DEFINE_LIST(SampledMatmul)
BLOCKSPARSE_DEFINE_LIST(Conv)
BLOCKSPARSE_DEFINE_LIST(ConvSampled)

}  // namespace blocksparse
