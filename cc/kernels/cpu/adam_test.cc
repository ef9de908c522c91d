// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Updates of Adam against the definition, number by number, to the last bit.
#include "cc/kernels/cpu/adam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace blocksparse {
namespace {

template <typename T>
struct State {
  std::vector<T> gradient, w, m, v;
};

template <typename T>
State<T> Draw(int64_t size) {
  std::mt19937 random(static_cast<uint32_t>(size) + sizeof(T));
  const auto number = [&] { return static_cast<T>(random() * 0x1p-31 - 1); };
  State<T> state;
  for (int64_t i = 0; i < size; ++i) {
    state.gradient.push_back(number());
    state.w.push_back(number());
    state.m.push_back(number());
    state.v.push_back(std::abs(number()));
  }
  return state;
}

template <typename T>
AdamProblem ProblemOf() {
  AdamProblem problem;
  problem.dtype = sizeof(T) == 8 ? Dtype::kFloat64 : Dtype::kFloat32;
  problem.alpha = static_cast<T>(3e-3);
  problem.first = static_cast<T>(0.1);
  problem.second = static_cast<T>(0.001);
  problem.epsilon = static_cast<T>(1e-7);
  return problem;
}

// volatile: every operation is rounded by itself.
template <typename T>
void Define(const AdamProblem& p, State<T>* state) {
  for (size_t i = 0; i < state->w.size(); ++i) {
    const T g = state->gradient[i];
    volatile T change = (g - state->m[i]);
    change = change * static_cast<T>(p.first);
    state->m[i] += change;
    volatile T square = g * g;
    change = square - state->v[i];
    change = change * static_cast<T>(p.second);
    state->v[i] += change;
    volatile T step = state->m[i] * static_cast<T>(p.alpha);
    volatile T root = std::sqrt(state->v[i]);
    root = root + static_cast<T>(p.epsilon);
    step = step / root;
    state->w[i] -= step;
  }
}

// A thread for each closure; they all have ended when this does.
class Threads {
 public:
  ~Threads() {
    for (std::thread& thread : threads_) thread.join();
  }
  Executor executor(int threads) {
    Executor executor;
    executor.threads = threads;
    executor.schedule = [this](std::function<void()> closure) {
      threads_.emplace_back(std::move(closure));
    };
    return executor;
  }

 private:
  std::vector<std::thread> threads_;
};

template <typename T>
void Check(int64_t size, Isa isa, int threads, bool in_place) {
  State<T> state = Draw<T>(size);
  const State<T> old = state;
  State<T> expected = state;
  // Not a bit beyond the end may change.
  for (auto* each : {&state.w, &state.m, &state.v}) each->push_back(7);
  AdamProblem problem = ProblemOf<T>();
  Define(problem, &expected);
  problem.size = size;
  problem.gradient = old.gradient.data();
  problem.old_w = in_place ? state.w.data() : old.w.data();
  problem.old_m = in_place ? state.m.data() : old.m.data();
  problem.old_v = in_place ? state.v.data() : old.v.data();
  problem.w = state.w.data();
  problem.m = state.m.data();
  problem.v = state.v.data();
  {
    Threads pool;
    RunAdam(problem, isa, pool.executor(threads));
  }
  for (auto* each : {&expected.w, &expected.m, &expected.v}) {
    each->push_back(7);
  }
  EXPECT_EQ(state.w, expected.w);
  EXPECT_EQ(state.m, expected.m);
  EXPECT_EQ(state.v, expected.v);
}

TEST(AdamTest, IsTheDefinitionToTheLastBit) {
  for (const Isa isa : kIsas) {
    if (isa > DetectIsa()) continue;
    for (int64_t size : {0, 1, 7, 15, 16, 17, 33, 1000, 32768, 100001}) {
      for (int threads : {1, 3}) {
        for (bool in_place : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << NameOf(isa) << ", " << size << " numbers, " << threads
                       << " threads, in place " << in_place);
          Check<float>(size, isa, threads, in_place);
          Check<double>(size, isa, threads, in_place);
        }
      }
    }
  }
}

TEST(AdamTest, NotANumberStays) {
  AdamProblem problem = ProblemOf<float>();
  std::vector<float> gradient(20, 1), w(20, 1), m(20), v(20);
  gradient[3] = NAN;
  problem.size = 20;
  problem.gradient = gradient.data();
  problem.old_w = problem.w = w.data();
  problem.old_m = problem.m = m.data();
  problem.old_v = problem.v = v.data();
  RunAdam(problem, DetectIsa(), Executor());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(w[i]), i == 3);
}

}  // namespace
}  // namespace blocksparse
