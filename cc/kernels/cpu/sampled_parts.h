// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// How sampled products of many rows are shared out. Their rows are multiplied
// in passes, whose panels fit the caches. A part is a range of passes with sums
// of its own, so that each worker can take a part, with panels that nobody else
// reads, and wait for nobody; in the end the parts are added up. Parts are a
// matter of the problem, not of the threads: so are the results.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_PARTS_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cc/base/parallel_for.h"
#include "cc/layout/layout.h"

namespace blocksparse {

// At most `passes`; 1: sums go where they belong without being joined. `bytes`
// are those of a part's sums.
int64_t SampledPartsFor(int64_t passes, int64_t rows, size_t bytes);

// How many panels of outputs there are: one for each worker if each takes a
// part of its own; or else all of them share each pass, and one.
int64_t SampledPanels(int64_t parts, int threads);

struct SampledPass {
  int64_t pass;
  int64_t part;
  bool first;  // of its part
  // Who multiplies it: workers from `worker` on, one or all.
  const Executor& executor;
  int worker;
};

// Calls body for each pass; those of a part one after the other.
void RunPasses(const Executor& executor, int64_t passes, int64_t parts,
               const std::function<void(const SampledPass&)>& body);

// Blocks of a range of target blocks, whose parts are added up.
struct SampledJoin {
  const Layout* layout = nullptr;
  int64_t copies = 1;  // taps that share the layout
  int64_t taps = 1;    // of one input block, that are rows of the layout
  int64_t inputs = 0;
  const float* gate = nullptr;
  const void* partial = nullptr;  // [parts][elements of all blocks]
  int64_t parts = 0;
  void* blocks = nullptr;
  int64_t begin = 0;
  int64_t end = 0;

  int64_t block_elements() const {
    return static_cast<int64_t>(layout->block_inputs) * layout->block_outputs;
  }
  int64_t elements() const { return layout->nnz * copies * block_elements(); }
};

// Calls join for ranges that make up all target blocks.
void RunJoin(const Executor& executor, const SampledJoin& all,
             void (*join)(const SampledJoin&));

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_PARTS_H_
