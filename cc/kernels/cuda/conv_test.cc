// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Every row of the tables of convolutions' CUDA kernels against the reference,
// on the cases of the CPU's kernels, run by the emulator in both of its orders:
// exact on small integers, then within a derived tolerance, on guarded and
// poisoned memory.
#include "cc/kernels/cuda/conv.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "cc/gpu_check/emulated_products.h"
#include "cc/testing/conv_shapes.h"

namespace blocksparse {
namespace cuda {
namespace {

class ConvKernelTest : public testing::TestWithParam<ConvKernel> {};
class ConvSampledKernelTest : public testing::TestWithParam<ConvSampledKernel> {
};

INSTANTIATE_TEST_SUITE_P(Table, ConvKernelTest,
                         testing::ValuesIn(ConvKernels()),
                         NameOfParam<ConvKernel>);
INSTANTIATE_TEST_SUITE_P(Table, ConvSampledKernelTest,
                         testing::ValuesIn(ConvSampledKernels()),
                         NameOfParam<ConvSampledKernel>);

TEST_P(ConvKernelTest, IsExactOnIntegers) {
  ExpectExactOnIntegers(GetParam(), 20);
}

TEST_P(ConvSampledKernelTest, IsExactOnIntegers) {
  ExpectExactOnIntegers(GetParam(), 20);
}

// A problem that a kernel takes.
template <typename Kernel>
ConvShape ShapeFor(const Kernel& kernel, const LayoutKind& kind, int64_t inputs,
                   int64_t outputs, const Convolution& convolution) {
  ConvShape shape{&kind, inputs, outputs, 16, 16, Geometry(convolution)};
  shape.transpose = kernel.path == Path::kTensor && kernel.right_along;
  return shape;
}

TEST_P(ConvKernelTest, ActivationsAreWithinTheirTolerance) {
  const ConvKernel& kernel = GetParam();
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kGelu,
        Activation::kSilu, Activation::kTanh, Activation::kSigmoid}) {
    // Adjoint, it has fine pixels without taps.
    ConvShape shape =
        ShapeFor(kernel, LayoutKinds()[6], 48, 32, Convolutions()[16]);
    shape.adjoint = activation != Activation::kNone;
    shape.bias = true;
    shape.preactivation = true;
    shape.activation = activation;
    ConvCase test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kUniform);
    ASSERT_TRUE(Takes(kernel, test.conv(), kDevice));
    ASSERT_EQ(CheckInBothOrders(&test, kernel, Ulps(kernel)), "");
  }
}

// Few pixels of many features: parts are of entries, and of single taps.
TEST_P(ConvKernelTest, AddsUpPartsOfLongColumns) {
  const ConvKernel& kernel = GetParam();
  const Convolution convolution{
      {{5, 5}, {2, 1}, {1, 1}, ConvPadding::kSame, {}}, {6, 5}, {}, 3};
  for (const bool one_entry : {false, true}) {
    ConvShape shape = ShapeFor(kernel, LayoutKinds()[4], one_entry ? 64 : 80,
                               one_entry ? 64 : 32, convolution);
    shape.adjoint = one_entry;
    if (one_entry) shape.block_inputs = shape.block_outputs = 64;
    shape.bias = true;
    ConvCase test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
    ConvPlan plan;
    ASSERT_EQ(PlanConvWith(kernel, test.conv(), kLargeDevice, &plan), "");
    EXPECT_GT(plan.split_count, 0);
    EXPECT_EQ(plan.row_tiles, 1);
    ASSERT_EQ(CheckInBothOrders(&test, kernel, 0, kLargeDevice), "");
  }
}

TEST_P(ConvSampledKernelTest, AddsUpPasses) {
  const ConvSampledKernel& kernel = GetParam();
  const Convolution convolution{
      {{3, 2}, {1, 2}, {1, 1}, ConvPadding::kSame, {}}, {17, 21}, {}, 6};
  for (const GateKind gate : {GateKind::kNone, GateKind::kMixed}) {
    ConvShape shape{&LayoutKinds()[6], 32, 32, 16, 16, Geometry(convolution)};
    shape.gate = gate;
    shape.adjoint = gate == GateKind::kMixed;
    ConvCase test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kUniform);
    ConvSampledPlan plan;
    ASSERT_EQ(PlanConvSampledWith(kernel, test.sampled(), kLargeDevice, &plan),
              "");
    EXPECT_EQ(plan.passes, 3);
    ASSERT_EQ(CheckInBothOrders(&test, kernel, Ulps(kernel), kLargeDevice), "");
  }
}

TEST_P(ConvKernelTest, EveryBarrierIsNeeded) {
  const ConvKernel& kernel = GetParam();
  // Tiles of other widths have the same ones.
  if (kernel.right != (kernel.path == Path::kElements ? 8 : 16)) return;
  // Four steps of tensor cores, of two taps: the last one lies where the sums
  // do next.
  const int64_t features = 2 * 64 / SizeOf(kernel.x_dtype);
  const Convolution pairs{
      {{2}, {1}, {1}, ConvPadding::kValid, {}}, {31}, {}, 3};
  const ConvShape shape =
      ShapeFor(kernel, LayoutKinds()[4], features, features, pairs);
  ConvCase test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
  // Those of a product's tile, and one behind the search for pixels.
  ExpectEveryBarrierIsNeeded(kernel, &test,
                             kernel.path == Path::kTensor ? 5 : 2);
}

// A problem changed under a kernel's hands, as if it had got that wrong. Each
// must be found.
struct Fault {
  const char* name;
  std::function<void(ConvProblem*)> plant;
};

TEST_P(ConvKernelTest, PlantedFaultsAreFound) {
  const ConvKernel& kernel = GetParam();
  emulator::Use({Order::kTogether, ""});
  const Fault faults[] = {
      {"padding", [](ConvProblem* p) { ++p->geometry.padding[1]; }},
      {"dilation", [](ConvProblem* p) { ++p->geometry.dilations[2]; }},
      {"stride", [](ConvProblem* p) { ++p->geometry.strides[2]; }},
      {"batch", [](ConvProblem* p) { --p->geometry.batch; }},
      {"bias", [](ConvProblem* p) { p->bias = nullptr; }},
      {"activation", [](ConvProblem* p) { p->activation = Activation::kNone; }},
  };
  for (const bool adjoint : {false, true}) {
    for (const Fault& fault : faults) {
      ConvShape shape =
          ShapeFor(kernel, LayoutKinds()[4], 16, 32, Convolutions()[7]);
      shape.adjoint = adjoint;
      shape.bias = true;
      shape.activation = Activation::kRelu;
      ConvCase test(shape, kernel.x_dtype, kernel.blocks_dtype,
                    Fill::kIntegers);
      const auto run = [&](const ConvProblem& problem) {
        ConvProblem p = problem;
        fault.plant(&p);
        EXPECT_EQ(RunWith(kernel, p), "");
      };
      EXPECT_NE(test.CheckConv(run, 0), "") << fault.name;
    }
  }
}

// Which problems go where: products of pixels, tensor cores, elements.
TEST(ConvChoiceTest, IsByGeometryDtypeAxesAndGate) {
  const Convolution pixels = Convolutions()[0], strided = Convolutions()[7];
  struct Choice {
    const Convolution& convolution;
    Dtype dtype;
    int32_t block;
    bool transpose;
    bool features_first;
    GateKind gate;
    const char* conv;
    const char* sampled;
  };
  const GateKind none = GateKind::kNone, mixed = GateKind::kMixed,
                 mask = GateKind::kMask;
  const Dtype f32 = Dtype::kFloat32, f16 = Dtype::kFloat16;
  const Choice choices[] = {
      {pixels, f16, 32, false, false, none,
       "matmul_tensor_f16_128x32_rows_forward",
       "sampled_matmul_tensor_f16_64x32_rows"},
      {pixels, f16, 32, false, false, mask,
       "matmul_tensor_f16_128x32_rows_forward",
       "sampled_matmul_tensor_f16_64x32_rows"},
      {pixels, f16, 32, false, true, none, "conv_elements_f16_f16_128x32",
       "conv_sampled_elements_f16_f16_64x32"},
      {strided, f16, 32, false, false, none, "conv_tensor_f16_128x32_forward",
       "conv_sampled_tensor_f16_64x32"},
      {strided, f16, 16, true, false, none, "conv_tensor_f16_128x16_transpose",
       "conv_sampled_tensor_f16_64x16"},
      {strided, f16, 16, true, false, mixed, "conv_elements_f16_f16_128x32",
       "conv_sampled_tensor_f16_64x16"},
      {strided, f16, 16, true, false, mask, "conv_tensor_f16_128x16_transpose",
       "conv_sampled_tensor_f16_64x16"},
      {strided, f16, 4, false, false, none, "conv_elements_f16_f16_128x8",
       "conv_sampled_elements_f16_f16_64x8"},
      {strided, f32, 4, false, false, mixed, "conv_vectors_f32_f32_128x8",
       "conv_sampled_vectors_f32_f32_64x8"},
      {strided, f32, 64, true, true, none, "conv_elements_f32_f32_128x32",
       "conv_sampled_elements_f32_f32_64x32"},
  };
  constexpr Device kAmpere = {80, 108, false};
  for (const Choice& choice : choices) {
    ConvShape shape{
        &LayoutKinds()[4], 128,          128,
        choice.block,      choice.block, Geometry(choice.convolution)};
    shape.transpose = choice.transpose;
    shape.features_first = choice.features_first;
    shape.gate = choice.gate;
    const ConvCase test(shape, choice.dtype, choice.dtype, Fill::kIntegers);
    ConvPlan plan;
    ASSERT_EQ(PlanConv(test.conv(), kAmpere, &plan), "");
    EXPECT_STREQ(ConvProduct::NameOf(plan), choice.conv);
    ConvSampledPlan sampled;
    ASSERT_EQ(PlanConvSampled(test.sampled(), kAmpere, &sampled), "");
    EXPECT_STREQ(ConvSampledProduct::NameOf(sampled), choice.sampled);
  }
}

TEST(ConvChoiceTest, ProductsOfPixelsAreExact) {
  emulator::Use({Order::kTogether, ""});
  ConvShape shape{&LayoutKinds()[6], 40, 24, 8, 8, Geometry(Convolutions()[0])};
  shape.bias = true;
  ConvCase test(shape, Dtype::kFloat32, Dtype::kFloat32, Fill::kIntegers);
  std::string error;
  const auto conv = [&](const ConvProblem& p) {
    ConvPlan plan;
    error = PlanConv(p, kDevice, &plan);
    const DeviceMemory scratch(plan.scratch_bytes);
    error += RunConv(p, plan, scratch.data(), nullptr);
  };
  EXPECT_EQ(test.CheckConv(conv, 0), "");
  EXPECT_EQ(error, "");
  const auto sampled = [&](const ConvSampledProblem& p) {
    ConvSampledPlan plan;
    error = PlanConvSampled(p, kDevice, &plan);
    const DeviceMemory scratch(plan.scratch_bytes);
    error += RunConvSampled(p, plan, scratch.data(), nullptr);
  };
  EXPECT_EQ(test.CheckSampled(sampled, 0), "");
  EXPECT_EQ(error, "");
}

TEST(ConvChoiceTest, KnowsNoOtherDtypes) {
  const ConvCase test(
      {&LayoutKinds()[4], 16, 16, 8, 8, Geometry(Convolutions()[6])},
      Dtype::kBFloat16, Dtype::kFloat32, Fill::kIntegers);
  ConvPlan plan;
  EXPECT_EQ(PlanConv(test.conv(), kDevice, &plan),
            "no conv kernel for x of bf16 and blocks of f32 (block size (8, "
            "8), device GPU); cast one of them");
  ConvSampledPlan sampled;
  EXPECT_NE(PlanConvSampled(test.sampled(), kDevice, &sampled), "");
}

// x of 2^32 numbers and more, of which the first and the last pixel are read.
TEST(ConvOffsetTest, Has64Bits) {
  constexpr int64_t kPixels = (int64_t{1} << 29) + 1;
  constexpr int kFeatures = 8;
  constexpr int64_t kBytes = kPixels * kFeatures * sizeof(float);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* x = static_cast<float*>(memory);
  ConvShape shape{&LayoutKinds()[4], kFeatures, kFeatures, 8, 8, {}};
  shape.geometry.batch = 1;
  shape.geometry.kernel[2] = 2;
  const ConvCase small(shape, Dtype::kFloat32, Dtype::kFloat32,
                       Fill::kIntegers);  // for its layout
  std::vector<float> blocks(2 * kFeatures * kFeatures, 1);
  std::vector<float> y(kFeatures, NAN), ones(kFeatures, 1);
  ConvProblem conv = small.conv();
  conv.geometry.fine[2] = kPixels;
  conv.geometry.dilations[2] = kPixels - 1;
  conv.x = x;
  conv.blocks = blocks.data();
  conv.y = y.data();
  ConvSampledProblem sampled = small.sampled();
  sampled.geometry = conv.geometry;
  sampled.fine = x;
  sampled.coarse = ones.data();
  for (const bool features_first : {false, true}) {
    conv.features_first = sampled.features_first = features_first;
    const auto at = [&](int64_t pixel, int64_t feature) {
      return features_first ? x + feature * kPixels + pixel
                            : x + pixel * kFeatures + feature;
    };
    for (int i = 0; i < kFeatures; ++i) {
      *at(0, i) = 1;
      *at(kPixels - 1, i) = 2;
    }
    for (const ConvKernel& kernel : ConvKernels()) {
      if (!Takes(kernel, conv, kDevice) || kernel.right != 32) continue;
      std::fill(y.begin(), y.end(), NAN);
      ASSERT_EQ(RunWith(kernel, conv), "");
      for (const float number : y) ASSERT_EQ(number, 24) << kernel.name;
    }
    for (const ConvSampledKernel& kernel : ConvSampledKernels()) {
      if (!Takes(kernel, sampled, kDevice) || kernel.right != 32) continue;
      std::vector<float> found(blocks.size(), NAN);
      sampled.blocks = found.data();
      ASSERT_EQ(RunWith(kernel, sampled), "");
      for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], i < found.size() / 2 ? 1 : 2) << kernel.name;
      }
    }
    for (int i = 0; i < kFeatures; ++i) *at(0, i) = *at(kPixels - 1, i) = 0;
  }
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace cuda
}  // namespace blocksparse
