// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Layouts with wrong numbers, as a tampered file has them: validation refuses
// them, or no kernel reads or writes out of range, however little sense the
// layout makes. Operands and results end at a page that may not be touched.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cc/gpu_check/emulated_products.h"
#include "cc/testing/conv_shapes.h"
#include "cc/testing/guarded_buffer.h"

namespace blocksparse {
namespace cuda {
namespace {

// As OpKernels do, see cc/tf/kernels.
template <typename Problem>
std::string ValidateRead(const Problem& p) {
  return ValidateView(p.transpose ? p.layout.transposed : p.layout.forward,
                      "view");
}
std::string Validate(const MatmulProblem& p) { return ValidateRead(p); }
std::string Validate(const ConvProblem& p) { return ValidateRead(p); }
std::string Validate(const SampledMatmulProblem& p) {
  return ValidateViews(p.layout);
}
std::string Validate(const ConvSampledProblem& p) {
  return ValidateViews(p.layout);
}

// A layout is one vector, which begins with the splits of its forward view.
std::vector<int32_t> PackedOf(const Layout& layout) {
  const int64_t length =
      layout.forward.targets + layout.forward.sources + 2 + 3 * layout.nnz;
  const int32_t* const packed = layout.forward.splits;
  return std::vector<int32_t>(packed, packed + length);
}

// Makes some numbers those of another place, one more or less, or any.
void Spoil(std::mt19937* random, std::vector<int32_t>* packed) {
  constexpr int32_t kExtremes[] = {-1, std::numeric_limits<int32_t>::min(),
                                   std::numeric_limits<int32_t>::max()};
  const auto below = [&](size_t count) {
    return static_cast<size_t>((*random)() % count);
  };
  for (size_t left = 1 + below(3); left > 0; --left) {
    int32_t* const number = &(*packed)[below(packed->size())];
    switch (below(4)) {
      case 0:
        *number = (*packed)[below(packed->size())];
        break;
      case 1:
        *number += 1;
        break;
      case 2:
        *number -= 1;
        break;
      default:
        *number = kExtremes[below(3)];
    }
  }
}

struct Counts {
  int refused = 0;
  int run = 0;
};

// Runs a kernel on a case with `times` spoilt layouts in place of its own.
template <typename Kernel, typename Shape>
void ExpectInBounds(const Kernel& kernel, const Shape& shape, int times,
                    Counts* counts) {
  using Product = ProductFor<Kernel>;
  emulator::Use({Order::kAhead, ""});
  typename Product::Case test(shape, kernel.x_dtype, kernel.blocks_dtype,
                              Fill::kIntegers);
  ASSERT_TRUE(Takes(kernel, Product::ProblemOf(test), kDevice)) << kernel.name;
  const Layout right = Product::ProblemOf(test).layout;
  std::mt19937 random;  // the same numbers everywhere
  for (int i = 0; i < times; ++i) {
    std::vector<int32_t> packed = PackedOf(right);
    Spoil(&random, &packed);
    const size_t bytes = packed.size() * sizeof(int32_t);
    const GuardedBuffer memory(bytes);
    std::memcpy(memory.data(), packed.data(), bytes);
    typename Product::Problem spoilt = Product::ProblemOf(test);
    ASSERT_EQ(ParseLayout(static_cast<const int32_t*>(memory.data()),
                          static_cast<int64_t>(packed.size()), right.inputs,
                          right.outputs, right.block_inputs,
                          right.block_outputs, right.nnz, &spoilt.layout),
              "");
    if (!Validate(spoilt).empty()) {
      ++counts->refused;
      continue;
    }
    ++counts->run;
    const std::string difference = Product::Check(
        &test,
        [&](const typename Product::Problem& problem) {
          typename Product::Problem p = problem;
          p.layout = spoilt.layout;
          ASSERT_EQ(RunWith(kernel, p), "");
        },
        0);
    // Numbers may differ.
    ASSERT_EQ(difference.find("wrote before"), std::string::npos) << difference;
  }
}

// One width of each path's tiles: others look up the same places.
template <typename Kernel>
bool IsTested(const Kernel& kernel) {
  const bool narrow = kernel.path == Path::kElements;
  return kernel.right ==
         (kernel.path == Path::kHopper ? 64 : (narrow ? 8 : 16));
}

TEST(HostileLayoutTest, MatmulStaysInBounds) {
  Counts counts;
  for (const MatmulKernel& kernel : MatmulKernels()) {
    if (!IsTested(kernel)) continue;
    CaseShape shape = ShapeFor(kernel, LayoutKinds()[0], 64, 80, 24);
    ExpectInBounds(kernel, shape, 25, &counts);
    if (kernel.path == Path::kTensor || kernel.path == Path::kHopper) continue;
    shape.transpose = true;
    ExpectInBounds(kernel, shape, 25, &counts);
  }
  EXPECT_GT(counts.refused, 200);
  EXPECT_GT(counts.run, 200);
}

TEST(HostileLayoutTest, SampledMatmulStaysInBounds) {
  Counts counts;
  for (const SampledMatmulKernel& kernel : SampledMatmulKernels()) {
    if (!IsTested(kernel)) continue;
    ExpectInBounds(kernel, ShapeFor(kernel, LayoutKinds()[0], 64, 80, 24), 25,
                   &counts);
  }
  // Hardly any of them agrees with itself.
  EXPECT_GT(counts.refused, 200);
}

// A convolution with strides, whose taps have blocks of their own or not.
ConvShape PixelsShape(bool shared_taps) {
  const Convolution convolution{
      {{3, 2}, {2, 1}, {1, 1}, ConvPadding::kSame, {}}, {5, 6}};
  ConvShape shape{&LayoutKinds()[0], 48, 32, 16, 16, Geometry(convolution)};
  shape.shared_taps = shared_taps;
  return shape;
}

TEST(HostileLayoutTest, ConvStaysInBounds) {
  Counts counts;
  for (const ConvKernel& kernel : ConvKernels()) {
    if (!IsTested(kernel)) continue;
    for (const bool shared_taps : {false, true}) {
      ConvShape shape = PixelsShape(shared_taps);
      shape.transpose = kernel.path != Path::kTensor || kernel.right_along;
      shape.adjoint = shape.transpose;
      ExpectInBounds(kernel, shape, 25, &counts);
    }
  }
  EXPECT_GT(counts.refused, 100);
  EXPECT_GT(counts.run, 100);
}

TEST(HostileLayoutTest, ConvSampledStaysInBounds) {
  Counts counts;
  for (const ConvSampledKernel& kernel : ConvSampledKernels()) {
    if (!IsTested(kernel)) continue;
    for (const bool shared_taps : {false, true}) {
      ExpectInBounds(kernel, PixelsShape(shared_taps), 25, &counts);
    }
  }
  EXPECT_GT(counts.refused, 200);
}

}  // namespace
}  // namespace cuda
}  // namespace blocksparse
