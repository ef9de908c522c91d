// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Updates of Adam on any numbers, of any bits: the same as the definition gives
// and for every instruction set, in place or not.
#include "cc/kernels/cpu/adam.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cc/base/message.h"
#include "cc/fuzz/input.h"
#include "cc/testing/case_memory.h"

namespace blocksparse {
namespace {

constexpr int kParts = 3;  // w, m and v

template <typename T>
using State = std::vector<T>[kParts];

// volatile: every operation is rounded by itself.
template <typename T>
void Define(const AdamProblem& problem, const T* gradient, State<T>& state) {
  for (int64_t i = 0; i < problem.size; ++i) {
    volatile T change = gradient[i] - state[1][i];
    change = change * static_cast<T>(problem.first);
    state[1][i] += change;
    volatile T square = gradient[i] * gradient[i];
    change = square - state[2][i];
    change = change * static_cast<T>(problem.second);
    state[2][i] += change;
    volatile T step = state[1][i] * static_cast<T>(problem.alpha);
    volatile T root = std::sqrt(state[2][i]);
    root = root + static_cast<T>(problem.epsilon);
    step = step / root;
    state[0][i] -= step;
  }
}

// Any number, but of all NaN the one that is written, not what an array that
// nobody has written holds.
template <typename T>
T Draw(Input* input) {
  const T number = input->Bits<T>();
  return std::isnan(number) ? static_cast<T>(NAN) : number;
}

template <typename T>
void Check(Input* input, Dtype dtype) {
  AdamProblem problem;
  problem.dtype = dtype;
  problem.size = input->Between(0, 200);
  problem.alpha = Draw<T>(input);
  problem.first = Draw<T>(input);
  problem.second = Draw<T>(input);
  problem.epsilon = Draw<T>(input);
  const bool in_place = input->Flag();
  CaseMemory memory("adam");
  const auto draw = [&] {
    auto* numbers = static_cast<T*>(memory.Allocate(problem.size, dtype));
    for (int64_t i = 0; i < problem.size; ++i) numbers[i] = Draw<T>(input);
    return numbers;
  };
  const T* gradient = draw();
  problem.gradient = gradient;
  State<T> before;
  State<T> expected;
  for (int part = 0; part < kParts; ++part) {
    const T* numbers = draw();
    before[part].assign(numbers, numbers + problem.size);
    expected[part] = before[part];
  }
  Define(problem, gradient, expected);
  for (const Isa isa : Isas()) {
    void* to[kParts];
    const void* from[kParts];
    for (int part = 0; part < kParts; ++part) {
      to[part] = memory.Allocate(problem.size, dtype);
      from[part] = before[part].data();
      if (!in_place) continue;
      std::copy(before[part].begin(), before[part].end(),
                static_cast<T*>(to[part]));
      from[part] = to[part];
    }
    problem.old_w = from[0];
    problem.old_m = from[1];
    problem.old_v = from[2];
    problem.w = to[0];
    problem.m = to[1];
    problem.v = to[2];
    RunAdam(problem, isa, Executor());
    for (int part = 0; part < kParts; ++part) {
      Demand(memory.Compare("state", to[part], expected[part].data(),
                            problem.size, dtype, /*tolerance=*/0),
             Message(NameOf(isa), ", part ", part));
    }
  }
}

}  // namespace
}  // namespace blocksparse

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blocksparse;
  Input input(data, size);
  if (input.Flag()) {
    Check<double>(&input, Dtype::kFloat64);
  } else {
    Check<float>(&input, Dtype::kFloat32);
  }
  return 0;
}
