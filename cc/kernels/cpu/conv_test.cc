// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions of every instruction set and dtype against the reference: exact
// on small integers, then within a derived tolerance, on guarded and poisoned
// memory.
#include "cc/kernels/cpu/conv.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cc/kernels/cpu/conv_table.h"
#include "cc/kernels/cpu/matmul.h"
#include "cc/testing/conv_case.h"
#include "cc/testing/conv_shapes.h"
#include "cc/testing/thinned.h"
#include "cc/testing/threads.h"

namespace blocksparse {
namespace {

// Returns how many threads were worth it.
int RunOn(const ConvProblem& problem, Isa isa, int threads = 1) {
  const ConvPlan plan = PlanConv(problem, threads, isa);
  const GuardedBuffer scratch(AlignScratch(plan.scratch_bytes));
  RunConv(problem, plan, Threads(threads), scratch.data());
  return plan.kernel != nullptr ? plan.threads : plan.product.threads;
}

int RunOn(const ConvSampledProblem& problem, Isa isa, int threads = 1) {
  const ConvSampledPlan plan = PlanConvSampled(problem, threads, isa);
  const GuardedBuffer scratch(AlignScratch(plan.scratch_bytes));
  RunConvSampled(problem, plan, Threads(threads), scratch.data());
  return plan.kernel != nullptr ? plan.threads : plan.product.threads;
}

std::string CheckConv(ConvCase* test, Isa isa, double ulps) {
  return test->CheckConv([&](const ConvProblem& p) { RunOn(p, isa); }, ulps);
}

std::string CheckSampled(ConvCase* test, Isa isa, double ulps) {
  return test->CheckSampled([&](const ConvSampledProblem& p) { RunOn(p, isa); },
                            ulps);
}

struct Kind {
  Isa isa;
  Dtype x_dtype;
  Dtype blocks_dtype;
};

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds;
  for (const Isa isa : kIsas) {
    if (isa > DetectIsa()) continue;
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64,
                              Dtype::kBFloat16, Dtype::kFloat16}) {
      kinds.push_back({isa, dtype, dtype});
    }
    kinds.push_back({isa, Dtype::kFloat32, Dtype::kBFloat16});
    kinds.push_back({isa, Dtype::kFloat32, Dtype::kFloat16});
  }
  return kinds;
}

class ConvTest : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(All, ConvTest, testing::ValuesIn(Kinds()),
                         [](const testing::TestParamInfo<Kind>& info) {
                           return std::string(NameOf(info.param.x_dtype)) +
                                  "_" + NameOf(info.param.blocks_dtype) + "_" +
                                  NameOf(info.param.isa);
                         });

TEST_P(ConvTest, IsExactOnIntegers) {
  const Kind& kind = GetParam();
  for (const ConvShape& shape : Thinned(ConvShapes())) {
    if (shape.y_pixels() == 0) continue;
    ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kIntegers);
    ASSERT_EQ(CheckConv(&test, kind.isa, 0), "");
  }
}

TEST_P(ConvTest, SampledIsExactOnIntegers) {
  const Kind& kind = GetParam();
  for (const ConvShape& shape : Thinned(ConvShapes())) {
    if (shape.coarse_pixels() == 0) continue;
    ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kIntegers);
    ASSERT_EQ(CheckSampled(&test, kind.isa, 0), "");
  }
}

TEST_P(ConvTest, ActivationsAreWithinTheirTolerance) {
  const Kind& kind = GetParam();
  for (const Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kSilu,
        Activation::kTanh, Activation::kSigmoid}) {
    for (const bool transpose : {false, true}) {
      ConvShape shape{&LayoutKinds()[6],          60, 47, 8, 8,
                      Geometry(Convolutions()[6])};
      shape.adjoint = shape.transpose = transpose;
      shape.bias = true;
      shape.preactivation = true;
      shape.activation = activation;
      ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kUniform);
      ASSERT_EQ(CheckConv(&test, kind.isa, 1), "");
    }
  }
}

TEST_P(ConvTest, TakesAnyGeometry) {
  const Kind& kind = GetParam();
  for (const ConvShape& shape : Thinned(RandomConvShapes())) {
    ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kIntegers);
    if (shape.coarse_pixels() > 0) {
      ASSERT_EQ(CheckSampled(&test, kind.isa, 0), "");
    }
    if (shape.y_pixels() > 0) {
      ASSERT_EQ(CheckConv(&test, kind.isa, 0), "");
    }
  }
}

// Many pixels and images, which are worked off in several pieces.
TEST_P(ConvTest, AddsUpSeveralPieces) {
  const Kind& kind = GetParam();
  const Convolution large{
      {{3, 3}, {1, 1}, {1, 1}, ConvPadding::kSame, {}}, {23, 41}, {}, 5};
  // Two thirds of its taps meet padding alone.
  const Convolution line{
      {{3, 3}, {1, 1}, {1, 1}, ConvPadding::kSame, {}}, {1, 900}, {}, 5};
  for (const Convolution& convolution : {large, line}) {
    for (int side = 0; side < 4; ++side) {
      ConvShape shape{&LayoutKinds()[6], 31, 44, 8, 12, Geometry(convolution)};
      shape.shared_taps = side & 1;
      shape.features_first = side & 2;
      shape.adjoint = shape.shared_taps != shape.features_first;
      shape.gate = side == 0 ? GateKind::kNone : GateKind::kMixed;
      ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kUniform);
      ASSERT_EQ(CheckConv(&test, kind.isa, 1), "");
      ASSERT_EQ(CheckSampled(&test, kind.isa, 1), "");
    }
  }
}

// Channels by the hundred, in wide blocks.
TEST_P(ConvTest, AddsUpManyFeatures) {
  const Kind& kind = GetParam();
  for (const ConvBlockSize& block :
       {ConvBlockSize{8, 8}, ConvBlockSize{82, 18}, ConvBlockSize{128, 64},
        ConvBlockSize{96, 128}}) {
    ConvShape shape{
        &LayoutKinds()[6], 400,           300,
        block.inputs,      block.outputs, Geometry(Convolutions()[7])};
    shape.shared_taps = block.inputs > 90;
    shape.adjoint = shape.transpose = block.outputs > 90;
    shape.gate = GateKind::kMixed;
    ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kIntegers);
    ASSERT_EQ(CheckConv(&test, kind.isa, 0), "");
    ASSERT_EQ(CheckSampled(&test, kind.isa, 0), "");
  }
}

class ConvKernelTest : public testing::TestWithParam<ConvKernel> {};

std::vector<ConvKernel> RunnableKernels() {
  std::vector<ConvKernel> kernels;
  const KernelList<ConvKernel> all = ConvKernels();
  for (const ConvKernel* kernel = all.begin; kernel != all.end; ++kernel) {
    if (kernel->isa <= DetectIsa()) kernels.push_back(*kernel);
  }
  return kernels;
}

INSTANTIATE_TEST_SUITE_P(Table, ConvKernelTest,
                         testing::ValuesIn(RunnableKernels()),
                         [](const testing::TestParamInfo<ConvKernel>& info) {
                           return std::string(info.param.name);
                         });

// Whether a kernel can take a problem.
bool Takes(const ConvKernel& kernel, const ConvShape& shape) {
  if (kernel.family == ConvFamily::kRows) return true;
  const int32_t source =
      shape.transpose ? shape.block_outputs : shape.block_inputs;
  const int32_t target =
      shape.transpose ? shape.block_inputs : shape.block_outputs;
  return !shape.features_first && source % kernel.lanes == 0 &&
         target % kernel.outputs == 0;
}

// Every row of kernels.inc that is a convolution, also where another is chosen.
TEST_P(ConvKernelTest, IsExactOnIntegers) {
  const ConvKernel& kernel = GetParam();
  size_t taken = 0;
  for (const ConvShape& shape : Thinned(KernelConvShapes())) {
    ConvCase test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
    const ConvPlan plan = PlanConvWith(kernel, test.conv(), 1);
    ASSERT_EQ(plan.supported(), Takes(kernel, shape)) << shape.ToString();
    if (!plan.supported()) continue;
    ASSERT_EQ(plan.kernel, &kernel);
    ++taken;
    const auto run = [&](const ConvProblem& problem) {
      const GuardedBuffer scratch(AlignScratch(plan.scratch_bytes));
      RunConv(problem, plan, Threads(1), scratch.data());
    };
    ASSERT_EQ(test.CheckConv(run, 0), "");
  }
  EXPECT_GT(taken * TableStride(), 20u);
}

// A problem changed under a kernel's hands, as if it had got that wrong. Each
// must be found.
struct Fault {
  const char* name;
  std::function<void(ConvProblem*)> plant;
};

TEST_P(ConvTest, PlantedFaultsAreFound) {
  const Kind& kind = GetParam();
  std::vector<float> gate;
  std::vector<int32_t> index;
  const Fault faults[] = {
      {"padding", [](ConvProblem* p) { ++p->geometry.padding[1]; }},
      {"dilation", [](ConvProblem* p) { ++p->geometry.dilations[2]; }},
      {"stride", [](ConvProblem* p) { ++p->geometry.strides[2]; }},
      {"batch", [](ConvProblem* p) { --p->geometry.batch; }},
      {"place",
       [&](ConvProblem* p) {
         index.assign(p->layout.forward.index,
                      p->layout.forward.index + p->layout.nnz);
         std::swap(index[2], index[3]);
         p->layout.forward.index = index.data();
       }},
      {"gate",
       [&](ConvProblem* p) {
         gate.assign(p->gate, p->gate + p->layout.nnz);
         gate.back() += 1;
         p->gate = gate.data();
       }},
      {"bias", [](ConvProblem* p) { p->bias = nullptr; }},
      {"activation", [](ConvProblem* p) { p->activation = Activation::kNone; }},
  };
  for (const bool adjoint : {false, true}) {
    for (const Fault& fault : faults) {
      ConvShape shape{&LayoutKinds()[4],          16, 24, 8, 8,
                      Geometry(Convolutions()[7])};
      shape.adjoint = adjoint;
      shape.gate = GateKind::kMixed;
      shape.bias = true;
      shape.activation = Activation::kRelu;
      ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kIntegers);
      const auto run = [&](const ConvProblem& problem) {
        ConvProblem p = problem;
        fault.plant(&p);
        RunOn(p, kind.isa);
      };
      EXPECT_NE(test.CheckConv(run, 0), "") << fault.name;
    }
  }
}

TEST(ConvThreadsTest, DoNotChangeABit) {
  const Convolution small{{{3}, {1}, {1}, ConvPadding::kSame, {}}, {5}, {}, 1};
  const Convolution strided{
      {{3, 3}, {2, 2}, {1, 1}, ConvPadding::kSame, {}}, {40, 33}, {}, 3};
  const Convolution pixels{
      {{1, 1}, {1, 1}, {1, 1}, ConvPadding::kValid, {}}, {50, 41}, {}, 1};
  for (const Convolution& convolution : {small, strided, pixels}) {
    for (int side = 0; side < 8; ++side) {
      ConvShape shape{&LayoutKinds()[6], 200, 310, 8, 8, Geometry(convolution)};
      shape.adjoint = side & 1;
      shape.transpose = side & 2;
      shape.features_first = side & 4;
      shape.shared_taps = side % 3 == 0;
      const ConvCase test(shape, Dtype::kFloat32, Dtype::kFloat32,
                          Fill::kUniform);
      ConvProblem p = test.conv();
      ConvSampledProblem s = test.sampled();
      std::vector<float> y(test.y_size());
      std::vector<float> blocks(test.blocks_size());
      p.y = y.data();
      s.blocks = blocks.data();
      RunOn(p, DetectIsa());
      RunOn(s, DetectIsa());
      const std::vector<float> first_y = y;
      const std::vector<float> first_blocks = blocks;
      for (const int threads : {2, 3, 7}) {
        const int used = RunOn(p, DetectIsa(), threads);
        const int sampled_used = RunOn(s, DetectIsa(), threads);
        EXPECT_LE(used, threads);
        EXPECT_LE(sampled_used, threads);
        if (shape.geometry.coarse_pixels() > 300) {
          EXPECT_GT(used, 1) << shape.ToString();
          EXPECT_GT(sampled_used, 1) << shape.ToString();
        }
        EXPECT_EQ(
            std::memcmp(y.data(), first_y.data(), y.size() * sizeof(float)), 0)
            << threads << " " << shape.ToString();
        EXPECT_EQ(std::memcmp(blocks.data(), first_blocks.data(),
                              blocks.size() * sizeof(float)),
                  0)
            << threads << " " << shape.ToString();
      }
    }
  }
}

// Many pixels and few inputs are for vectors of pixels; few pixels and many
// inputs, in blocks of whole registers, are for vectors of outputs.
TEST(ConvChoiceTest, EachFamilyIsChosen) {
  for (const Kind& kind : Kinds()) {
    int chosen[2] = {};
    for (const ConvShape& shape : KernelConvShapes()) {
      const ConvCase test(shape, kind.x_dtype, kind.blocks_dtype,
                          Fill::kIntegers);
      const ConvPlan plan = PlanConv(test.conv(), 1, kind.isa);
      ASSERT_NE(plan.kernel, nullptr);
      EXPECT_EQ(plan.kernel->isa, kind.isa);
      EXPECT_TRUE(Takes(*plan.kernel, shape)) << plan.kernel->name;
      ++chosen[static_cast<int>(plan.kernel->family)];
    }
    EXPECT_GT(chosen[static_cast<int>(ConvFamily::kRows)], 0);
    EXPECT_GT(chosen[static_cast<int>(ConvFamily::kOutputs)], 0);
  }
}

// Geometries whose pixels lie far apart, for which a panel of all that is
// between them would not fit.
TEST(ConvChoiceTest, ScratchIsBounded) {
  const Convolution convolutions[] = {
      {{{1 << 16}, {1 << 16}, {32767}, ConvPadding::kExplicit, {0, 0}},
       {1 << 16},
       {100000},
       1},
      {{{2, 2},
        {1, 1},
        {65535, 65535},
        ConvPadding::kExplicit,
        {65535, 0, 0, 0}},
       {1, 1 << 16},
       {1 << 16, 1},
       1},
      {{{1 << 16}, {kMaxConvSize}, {1}, ConvPadding::kValid, {}},
       {100000},
       {1},
       1},
      {{{3}, {1}, {1}, ConvPadding::kSame, {}}, {1 << 22}, {}, 1},
  };
  for (const Convolution& convolution : convolutions) {
    for (const bool adjoint : {false, true}) {
      ConvShape shape{&LayoutKinds()[4], 1, 1, 1, 1, Geometry(convolution)};
      shape.adjoint = shape.transpose = adjoint;
      const ConvCase test(shape, Dtype::kFloat32, Dtype::kFloat32,
                          Fill::kIntegers);
      constexpr size_t kMost = 40 << 20;
      EXPECT_LT(PlanConv(test.conv(), 1, DetectIsa()).scratch_bytes, kMost)
          << shape.ToString();
      EXPECT_LT(PlanConvSampled(test.sampled(), 1, DetectIsa()).scratch_bytes,
                kMost)
          << shape.ToString();
    }
  }
}

TEST(ConvChoiceTest, KnowsNoOtherDtypes) {
  const ConvShape shape{&LayoutKinds()[4],          16, 16, 8, 8,
                        Geometry(Convolutions()[6])};
  const ConvCase test(shape, Dtype::kBFloat16, Dtype::kFloat32,
                      Fill::kIntegers);
  EXPECT_FALSE(PlanConv(test.conv(), 1, DetectIsa()).supported());
  EXPECT_FALSE(PlanConvSampled(test.sampled(), 1, DetectIsa()).supported());
}

}  // namespace
}  // namespace blocksparse
