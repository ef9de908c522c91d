// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// How many threads a product pays for, and how many tasks they get.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_WORTH_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_WORTH_H_

#include <cstdint>

#include "cc/layout/layout.h"

namespace blocksparse {

// At most `threads`; 1 for a product that ends about as soon as another thread
// would have woken up. A rough count of the work is enough for that: the
// multiply-adds, and the elements that are read or written.
int WorthwhileThreads(double multiply_adds, double elements, int threads);
// The same for the products of a layout's weights with rows.
int WorthwhileThreads(const Layout& layout, int64_t rows, int threads);

// Enough that the last tasks to end are small; one for one thread.
int64_t TasksFor(int threads);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_WORTH_H_
