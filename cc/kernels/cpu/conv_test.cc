// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions of every instruction set and dtype against the reference: exact
// on small integers, then within a derived tolerance, on guarded and poisoned
// memory.
#include "cc/kernels/cpu/conv.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "cc/kernels/cpu/matmul.h"
#include "cc/testing/conv_case.h"
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

// Sizes of the fine side; those of the coarse side follow, but where given.
struct Convolution {
  ConvAttributes attributes;
  std::vector<int64_t> fine;
  std::vector<int64_t> coarse = {};
  int64_t batch = 2;
};

ConvGeometry Geometry(const Convolution& c) {
  std::string error = CheckConvAttributes(c.attributes);
  std::vector<int64_t> coarse = c.coarse;
  for (int i = static_cast<int>(coarse.size());
       error.empty() && i < c.attributes.rank(); ++i) {
    coarse.push_back(0);
    error = DeriveCoarseSize(c.attributes, i, c.fine[i], &coarse[i]);
  }
  ConvGeometry geometry;
  if (error.empty()) {
    error = MakeConvGeometry(c.attributes, c.batch, c.fine, coarse, &geometry);
  }
  EXPECT_EQ(error, "");
  return geometry;
}

const std::vector<Convolution>& Convolutions() {
  constexpr auto kValid = ConvPadding::kValid;
  constexpr auto kSame = ConvPadding::kSame;
  constexpr auto kExplicit = ConvPadding::kExplicit;
  static const auto* const convolutions = new std::vector<Convolution>{
      // A product of each pixel.
      {{{1, 1}, {1, 1}, {1, 1}, kValid, {}}, {5, 7}},
      {{{1, 1}, {2, 3}, {1, 1}, kSame, {}}, {5, 7}},
      {{{1}, {1}, {1}, kExplicit, {1, 2}}, {9}},
      // One dimension: plain, causal, all of a line in one pixel.
      {{{3}, {1}, {1}, kValid, {}}, {37}},
      {{{4}, {1}, {3}, kExplicit, {9, 0}}, {21}, {}, 3},
      {{{11}, {1}, {1}, kValid, {}}, {11}, {}, 5},
      // Two, with strides, dilations and both, sides of different lengths.
      {{{3, 3}, {1, 1}, {1, 1}, kSame, {}}, {9, 19}},
      {{{3, 3}, {2, 2}, {1, 1}, kSame, {}}, {8, 8}, {}, 3},
      {{{3, 3}, {2, 2}, {1, 1}, kSame, {}}, {7, 9}, {}, 1},
      {{{3, 2}, {1, 1}, {2, 5}, kSame, {}}, {8, 11}},
      {{{3, 2}, {2, 3}, {3, 2}, kValid, {}}, {11, 13}},
      {{{2, 5}, {3, 1}, {1, 2}, kExplicit, {1, 0, 3, 4}}, {6, 10}},
      {{{3, 3}, {1, 1}, {1, 1}, kValid, {}}, {4, 70}, {}, 1},
      // Three.
      {{{3, 3, 3}, {1, 1, 1}, {1, 1, 1}, kSame, {}}, {4, 3, 5}},
      {{{2, 1, 3}, {2, 1, 2}, {1, 1, 2}, kValid, {}}, {5, 2, 9}},
      // Fine pixels that no tap reaches: between strides, and at the end.
      {{{2, 2}, {3, 4}, {1, 1}, kValid, {}}, {9, 12}},
      {{{3}, {2}, {1}, kValid, {}}, {20}, {5}},
      // Coarse pixels that reach few of the fine ones, or none.
      {{{3}, {2}, {1}, kValid, {}}, {7}, {12}},
      {{{5, 5}, {1, 1}, {1, 1}, kSame, {}}, {2, 3}},
      {{{2, 3}, {1, 1}, {9, 9}, kExplicit, {7, 7, 8, 8}}, {3, 4}},
      {{{3, 3}, {1, 1}, {1, 1}, kExplicit, {50, 0, 0, 0}}, {6, 6}, {6, 4}},
      // Pixels left out.
      {{{3, 3}, {1, 1}, {1, 1}, kExplicit, {-2, -1, 1, -3}}, {8, 9}},
      // No pixels on one side, or on both.
      {{{3}, {1}, {1}, kExplicit, {2, 3}}, {0}},
      {{{5, 5}, {1, 1}, {1, 1}, kValid, {}}, {4, 9}},
      {{{3}, {1}, {1}, kValid, {}}, {5}, {}, 0},
  };
  return *convolutions;
}

struct BlockSize {
  int32_t inputs;
  int32_t outputs;
};
constexpr BlockSize kBlockSizes[] = {{1, 1},   {2, 2},   {3, 3},   {4, 4},
                                     {5, 7},   {8, 8},   {8, 16},  {16, 16},
                                     {20, 12}, {32, 32}, {17, 15}, {64, 24}};

// All layouts and geometries with what else a problem has changing along, each
// with a period that shares none of the others' factors, so that all pairs of
// settings meet somewhere.
std::vector<ConvShape> Shapes() {
  std::vector<ConvShape> shapes;
  int turn = 0;
  for (const LayoutKind& kind : LayoutKinds()) {
    for (const Convolution& convolution : Convolutions()) {
      for (int side = 0; side < 4; ++side) {
        const BlockSize& block = kBlockSizes[turn % std::size(kBlockSizes)];
        // One more or fewer than a multiple of the block, now and then.
        ConvShape shape{&kind,
                        block.inputs * 3 - (turn % 3 == 1),
                        block.outputs * 2 - (turn % 5 == 1),
                        block.inputs,
                        block.outputs,
                        Geometry(convolution)};
        shape.adjoint = side & 1;
        shape.transpose = side & 2;
        shape.shared_taps = turn / 4 % 2;
        shape.features_first = turn / 4 % 3 == 0;
        shape.gate = static_cast<GateKind>(turn / 4 % 7 % 3);
        shape.bias = turn / 4 % 5 < 3;
        shape.preactivation = turn / 4 % 5 == 0;
        shape.activation =
            turn % 4 == 0 ? Activation::kRelu : Activation::kNone;
        shapes.push_back(shape);
        ++turn;
      }
      ++turn;
    }
  }
  return shapes;
}

struct Kind {
  Isa isa;
  Dtype x_dtype;
  Dtype blocks_dtype;
};

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
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
  for (const ConvShape& shape : Shapes()) {
    if (shape.y_pixels() == 0) continue;
    ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kIntegers);
    ASSERT_EQ(CheckConv(&test, kind.isa, 0), "");
  }
}

TEST_P(ConvTest, SampledIsExactOnIntegers) {
  const Kind& kind = GetParam();
  for (const ConvShape& shape : Shapes()) {
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

// Whatever sizes and paddings come together, also those that no convolution
// derives from each other.
std::vector<ConvShape> RandomShapes() {
  std::vector<ConvShape> shapes;
  std::mt19937 random;  // the same numbers everywhere
  const auto draw = [&](int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random() % (to - from + 1));
  };
  for (int i = 0; i < 300; ++i) {
    ConvGeometry g;
    g.batch = draw(1, 3);
    for (int d = static_cast<int>(draw(0, 2)); d < kSpatial; ++d) {
      g.fine[d] = draw(0, 9);
      g.coarse[d] = draw(0, 9);
      g.kernel[d] = draw(1, 4);
      g.strides[d] = draw(1, 5);
      g.dilations[d] = draw(1, 4);
      g.padding[d] = draw(-3, 6);
    }
    const BlockSize& block = kBlockSizes[i % 7];
    ConvShape shape{&LayoutKinds()[i % 8],
                    draw(1, 3 * block.inputs),
                    draw(1, 3 * block.outputs),
                    block.inputs,
                    block.outputs,
                    g};
    shape.shared_taps = draw(0, 1);
    shape.adjoint = draw(0, 1);
    shape.transpose = draw(0, 1);
    shape.features_first = draw(0, 1);
    shape.gate = static_cast<GateKind>(draw(0, 2));
    shape.bias = draw(0, 1);
    shapes.push_back(shape);
  }
  return shapes;
}

TEST_P(ConvTest, TakesAnyGeometry) {
  const Kind& kind = GetParam();
  for (const ConvShape& shape : RandomShapes()) {
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
  for (const bool shared_taps : {false, true}) {
    for (const bool features_first : {false, true}) {
      ConvShape shape{&LayoutKinds()[6], 31, 44, 8, 12, Geometry(large)};
      shape.shared_taps = shared_taps;
      shape.features_first = features_first;
      shape.adjoint = shared_taps != features_first;
      ConvCase test(shape, kind.x_dtype, kind.blocks_dtype, Fill::kUniform);
      ASSERT_EQ(CheckConv(&test, kind.isa, 1), "");
      ASSERT_EQ(CheckSampled(&test, kind.isa, 1), "");
    }
  }
}

// Channels by the hundred, in wide blocks.
TEST_P(ConvTest, AddsUpManyFeatures) {
  const Kind& kind = GetParam();
  for (const BlockSize& block : {BlockSize{8, 8}, BlockSize{82, 18},
                                 BlockSize{128, 64}, BlockSize{96, 128}}) {
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
