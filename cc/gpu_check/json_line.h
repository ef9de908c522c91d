// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// A line of JSON on stdout: an object of numbers and strings.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_JSON_LINE_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_JSON_LINE_H_

#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>
#include <string>

namespace blocksparse {
namespace cuda {

class JsonLine {
 public:
  JsonLine() { stream_.precision(std::numeric_limits<double>::max_digits10); }

  JsonLine& Add(const char* name, const std::string& text) {
    Name(name) << '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') stream_ << '\\';
      stream_ << (static_cast<unsigned char>(c) < ' ' ? ' ' : c);
    }
    stream_ << '"';
    return *this;
  }
  JsonLine& Add(const char* name, double number) {
    if (std::isfinite(number)) {
      Name(name) << number;
    } else {
      Name(name) << "null";
    }
    return *this;
  }

  void Print() {
    stream_ << '}';
    std::printf("%s\n", stream_.str().c_str());
    std::fflush(stdout);
  }

 private:
  std::ostream& Name(const char* name) {
    stream_ << (empty_ ? '{' : ',') << '"' << name << "\":";
    empty_ = false;
    return stream_;
  }

  std::ostringstream stream_;
  bool empty_ = true;
};

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_JSON_LINE_H_
