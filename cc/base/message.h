// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Texts of errors, put together from numbers and strings.
#ifndef TF_BLOCKSPARSE_CC_BASE_MESSAGE_H_
#define TF_BLOCKSPARSE_CC_BASE_MESSAGE_H_

#include <sstream>
#include <string>
#include <vector>

namespace blocksparse {

template <typename... Parts>
std::string Message(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

// "[1, 2, 3]".
template <typename Number>
std::string ListOf(const std::vector<Number>& numbers) {
  std::string list = "[";
  for (size_t i = 0; i < numbers.size(); ++i) {
    list += Message(i == 0 ? "" : ", ", numbers[i]);
  }
  return list + "]";
}

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BASE_MESSAGE_H_
