// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Prefetches a part of a matrix while something else is computed.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_LINES_AHEAD_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_LINES_AHEAD_H_

#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/vector.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// Some rows of a matrix that are fetched into the second-level cache, a few
// cache lines at a time. Row by row: another page with each line would cost
// more than the prefetch gains.
class LinesAhead {
 public:
  // `rows` rows of `bytes` bytes, `stride` bytes apart, in `steps` steps.
  LinesAhead(const void* from, int64_t stride, int64_t rows, int64_t bytes,
             int64_t steps)
      : line_(reinterpret_cast<uintptr_t>(from)),
        row_(line_),
        stride_(stride),
        lines_((bytes + kCacheLine - 1) / kCacheLine),
        left_(lines_),
        rows_(lines_ == 0 ? 0 : rows),
        at_once_((rows * lines_ + steps - 1) / steps) {}

  void Fetch() {
    for (int64_t i = 0; i < at_once_ && rows_ > 0; ++i) {
      PrefetchFar(line_);
      line_ += kCacheLine;
      if (--left_ == 0) {
        left_ = lines_;
        line_ = row_ += stride_;
        --rows_;
      }
    }
  }

 private:
  uintptr_t line_;  // the next one
  uintptr_t row_;   // where its row begins
  int64_t stride_;
  int64_t lines_;  // of a row
  int64_t left_;   // of this row
  int64_t rows_;   // left, this one included
  int64_t at_once_;
};

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_LINES_AHEAD_H_
