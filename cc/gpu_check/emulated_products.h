// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What tests of CUDA kernels do with any product, under the emulator.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_EMULATED_PRODUCTS_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_EMULATED_PRODUCTS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cc/gpu_check/conv_products.h"
#include "cc/gpu_check/products.h"
#include "cc/testing/cuda_emulator.h"
#include "cc/testing/device_memory.h"

namespace blocksparse {
namespace cuda {

using emulator::Order;

// Few multiprocessors: what is cut in parts to fill more is tested on its own.
constexpr Device kDevice = {90, 2, true};
// Enough that long columns, and rows, are cut.
constexpr Device kLargeDevice = {90, 108, true};
constexpr Order kOrders[] = {Order::kTogether, Order::kAhead};

// Whose kernels they are; declared only.
MatmulProduct ProductWith(const MatmulKernel&);
SampledMatmulProduct ProductWith(const SampledMatmulKernel&);
ConvProduct ProductWith(const ConvKernel&);
ConvSampledProduct ProductWith(const ConvSampledKernel&);
template <typename Kernel>
using ProductFor = decltype(ProductWith(std::declval<const Kernel&>()));

template <typename Kernel>
std::string NameOfParam(const testing::TestParamInfo<Kernel>& info) {
  return info.param.name;
}

// Both return what went wrong.
template <typename Kernel>
std::string RunWith(const Kernel& kernel,
                    const typename ProductFor<Kernel>::Problem& problem,
                    const Device& device = kDevice) {
  using Product = ProductFor<Kernel>;
  typename Product::Plan plan;
  std::string error = Product::PlanWith(kernel, problem, device, &plan);
  if (!error.empty()) return error;
  const DeviceMemory scratch(plan.scratch_bytes);
  return Product::Run(problem, plan, scratch.data());
}

template <typename Kernel>
std::string Check(typename ProductFor<Kernel>::Case* test, const Kernel& kernel,
                  double ulps, const Device& device = kDevice) {
  using Product = ProductFor<Kernel>;
  std::string error;
  const std::string difference = Product::Check(
      test,
      [&](const typename Product::Problem& p) {
        error = RunWith(kernel, p, device);
      },
      ulps);
  return error.empty() ? difference : error;
}

template <typename Kernel>
std::string CheckInBothOrders(typename ProductFor<Kernel>::Case* test,
                              const Kernel& kernel, double ulps,
                              const Device& device = kDevice) {
  std::string found;
  for (const Order order : kOrders) {
    emulator::Use({order, ""});
    if (found.empty()) found = Check(test, kernel, ulps, device);
  }
  return found;
}

// The kernel's share of all shapes.
template <typename Kernel>
void ExpectExactOnIntegers(const Kernel& kernel, int least) {
  using Product = ProductFor<Kernel>;
  size_t place = 0;
  while (Product::Kernels()[place].name != kernel.name) ++place;
  int taken = 0;
  for (const auto& shape : Product::ExactShapes(kernel, place)) {
    typename Product::Case test(shape, kernel.x_dtype, kernel.blocks_dtype,
                                Fill::kIntegers);
    if (!Takes(kernel, Product::ProblemOf(test), kDevice)) continue;
    ++taken;
    ASSERT_EQ(CheckInBothOrders(&test, kernel, 0), "");
  }
  EXPECT_GE(taken, least);
}

// Every barrier, and every wait for copies, is there for a reason: without it,
// one of the orders gives a wrong result. There are `count` of them.
template <typename Kernel>
void ExpectEveryBarrierIsNeeded(const Kernel& kernel,
                                typename ProductFor<Kernel>::Case* test,
                                size_t count) {
  emulator::Use({Order::kTogether, ""});
  ASSERT_EQ(Check(test, kernel, 0), "");
  const std::vector<std::string> sites = emulator::Sites();
  EXPECT_EQ(sites.size(), count);
  for (const std::string& site : sites) {
    bool found = false;
    for (const Order order : kOrders) {
      emulator::Use({order, site});
      found |= !Check(test, kernel, 0).empty();
    }
    EXPECT_TRUE(found) << kernel.name << " does as well without " << site;
  }
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_EMULATED_PRODUCTS_H_
