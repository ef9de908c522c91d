// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/cpu/adam.h"

#include <algorithm>

#include "cc/base/round_up.h"

namespace blocksparse {

namespace portable {
void Adam(const AdamProblem& problem, int64_t begin, int64_t end);
}
#if defined(__x86_64__)
namespace avx2 {
void Adam(const AdamProblem& problem, int64_t begin, int64_t end);
}
namespace avx512 {
void Adam(const AdamProblem& problem, int64_t begin, int64_t end);
}
#elif defined(__aarch64__)
namespace neon {
void Adam(const AdamProblem& problem, int64_t begin, int64_t end);
}
#endif

void RunAdam(const AdamProblem& problem, Isa isa, const Executor& executor) {
  auto* update = portable::Adam;
#if defined(__x86_64__)
  if (isa >= Isa::kAvx2) update = avx2::Adam;
  if (isa >= Isa::kAvx512) update = avx512::Adam;
#elif defined(__aarch64__)
  if (isa >= Isa::kNeon) update = neon::Adam;
#else
  (void)isa;
#endif
  // Fewer take less time than waking a thread does, 15 us.
  constexpr int64_t kNumbers = 1 << 15;
  ParallelFor(
      executor, CeilDiv(problem.size, kNumbers), [&](int64_t task, int) {
        const int64_t begin = task * kNumbers;
        update(problem, begin, std::min(problem.size, begin + kNumbers));
      });
}

}  // namespace blocksparse
