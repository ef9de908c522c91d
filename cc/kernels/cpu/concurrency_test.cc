// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Many products at once, each on several threads, of operands that all share:
// what ThreadSanitizer looks at.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cc/kernels/cpu/adam.h"
#include "cc/kernels/cpu/conv.h"
#include "cc/kernels/cpu/matmul.h"
#include "cc/testing/case.h"
#include "cc/testing/conv_case.h"
#include "cc/testing/guarded_buffer.h"
#include "cc/testing/threads.h"

namespace blocksparse {
namespace {

constexpr int kThreadsOfEach = 3;

// Writes a product, computed in so many threads, to memory of that size.
struct Product {
  std::string name;
  size_t bytes;
  std::function<void(int threads, void* result)> run;
};

template <typename Problem, typename Plan>
Product Of(const std::string& name, size_t bytes, const Problem& problem,
           void* Problem::* result, Plan (*plan)(const Problem&, int, Isa),
           void (*run)(const Problem&, const Plan&, const Executor&, void*)) {
  return {name, bytes, [=](int threads, void* memory) {
            Problem own = problem;
            own.*result = memory;
            Plan made = plan(own, threads, DetectIsa());
            const GuardedBuffer scratch(AlignScratch(made.scratch_bytes));
            run(own, made, Threads(threads), scratch.data());
          }};
}

TEST(ConcurrencyTest, ProductsAreTheSameAmongOthers) {
  const LayoutKind* random = nullptr;
  for (const LayoutKind& kind : LayoutKinds()) {
    if (kind.name == "random") random = &kind;
  }
  // Enough work for several threads to pay.
  const CaseShape shape = {random, 512, 256, 16, 16, 200};
  const Case rows(shape, Dtype::kFloat32, Dtype::kFloat32, Fill::kUniform);
  ConvShape conv_shape = {random, 64, 32, 16, 16, ConvGeometry()};
  conv_shape.geometry.batch = 4;
  for (int i = 1; i < kSpatial; ++i) {
    conv_shape.geometry.fine[i] = conv_shape.geometry.coarse[i] = 24;
    conv_shape.geometry.kernel[i] = 3;
    conv_shape.geometry.padding[i] = 1;
  }
  const ConvCase pixels(conv_shape, Dtype::kFloat32, Dtype::kFloat32,
                        Fill::kUniform);
  constexpr size_t kSize = sizeof(float);
  std::vector<Product> products = {
      Of("matmul", shape.rows * shape.outputs * kSize, rows.matmul(),
         &MatmulProblem::y, PlanMatmul, RunMatmul),
      Of("sampled", rows.sampled().layout.nnz * 16 * 16 * kSize, rows.sampled(),
         &SampledMatmulProblem::blocks, PlanSampledMatmul, RunSampledMatmul),
      Of("conv", pixels.y_size() * kSize, pixels.conv(), &ConvProblem::y,
         PlanConv, RunConv),
      Of("conv_sampled", pixels.blocks_size() * kSize, pixels.sampled(),
         &ConvSampledProblem::blocks, PlanConvSampled, RunConvSampled),
  };
  std::vector<std::vector<char>> expected;
  for (const Product& product : products) {
    expected.emplace_back(product.bytes);
    product.run(1, expected.back().data());
  }
  // Two threads in each product.
  std::vector<std::thread> callers;
  std::vector<std::string> wrong(2 * products.size());
  for (size_t caller = 0; caller < wrong.size(); ++caller) {
    callers.emplace_back([&, caller] {
      const size_t which = caller % products.size();
      for (int turn = 0; turn < 3; ++turn) {
        std::vector<char> result(products[which].bytes);
        products[which].run(kThreadsOfEach, result.data());
        if (result != expected[which]) wrong[caller] = products[which].name;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::string& name : wrong) EXPECT_EQ(name, "");
}

TEST(ConcurrencyTest, UpdatesOfOneGradient) {
  constexpr int64_t kNumbers = 200000;
  const std::vector<float> gradient(kNumbers, 0.5f);
  std::vector<std::thread> callers;
  std::vector<std::vector<float>> results(3, std::vector<float>(kNumbers));
  for (std::vector<float>& w : results) {
    callers.emplace_back([&] {
      std::vector<float> m(kNumbers);
      std::vector<float> v(kNumbers);
      AdamProblem problem;
      problem.size = kNumbers;
      problem.gradient = gradient.data();
      problem.old_w = problem.w = w.data();
      problem.old_m = problem.m = m.data();
      problem.old_v = problem.v = v.data();
      problem.alpha = problem.first = problem.second = 0.5;
      problem.epsilon = 1e-3;
      RunAdam(problem, DetectIsa(), Threads(kThreadsOfEach));
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::vector<float>& w : results) EXPECT_EQ(w, results[0]);
  EXPECT_LT(results[0][kNumbers - 1], 0);
}

}  // namespace
}  // namespace blocksparse
