// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Shorter tables, for emulators, on which whole ones take hours.
#ifndef TF_BLOCKSPARSE_CC_TESTING_THINNED_H_
#define TF_BLOCKSPARSE_CC_TESTING_THINNED_H_

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace blocksparse {

// The environment variable TF_BLOCKSPARSE_TEST_STRIDE, or 1.
inline size_t TableStride() {
  const char* const text = std::getenv("TF_BLOCKSPARSE_TEST_STRIDE");
  const long stride = text == nullptr ? 1 : std::atol(text);
  return stride < 1 ? 1 : static_cast<size_t>(stride);
}

// Every TableStride()-th entry.
template <typename T>
std::vector<T> Thinned(const std::vector<T>& table) {
  std::vector<T> some;
  for (size_t i = 0; i < table.size(); i += TableStride()) {
    some.push_back(table[i]);
  }
  return some;
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_THINNED_H_
