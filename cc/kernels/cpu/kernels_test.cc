// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Every row of kernels.inc against the reference: exact on small integers,
// then within a derived tolerance, on guarded and poisoned memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/convert.h"
#include "cc/base/isa.h"
#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/matmul.h"
#include "cc/testing/case.h"
#include "cc/testing/thinned.h"

namespace blocksparse {
namespace {

// Runs closures on threads of its own, one each.
Executor Threads(int threads) {
  Executor executor;
  executor.threads = threads;
  executor.schedule = [](std::function<void()> closure) {
    std::thread(std::move(closure)).detach();
  };
  return executor;
}

// Scratch that ends at a guard page, as aligned as is promised.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : buffer_(AlignScratch(bytes)) {}
  void* data() const { return buffer_.data(); }

 private:
  GuardedBuffer buffer_;
};

void RunWith(const MatmulKernel& kernel, const MatmulProblem& problem,
             int threads = 1) {
  const MatmulPlan plan = PlanMatmulWith(kernel, problem, threads);
  const Scratch scratch(plan.scratch_bytes);
  RunMatmul(problem, plan, Threads(threads), scratch.data());
}

void RunWith(const SampledMatmulKernel& kernel,
             const SampledMatmulProblem& problem, int threads = 1) {
  const SampledMatmulPlan plan =
      PlanSampledMatmulWith(kernel, problem, threads);
  const Scratch scratch(plan.scratch_bytes);
  RunSampledMatmul(problem, plan, Threads(threads), scratch.data());
}

struct BlockSize {
  int32_t inputs;
  int32_t outputs;
};
constexpr BlockSize kBlockSizes[] = {{1, 1},   {2, 2},   {3, 3},   {4, 4},
                                     {5, 7},   {8, 8},   {8, 16},  {16, 16},
                                     {20, 12}, {32, 32}, {64, 24}, {128, 64},
                                     {17, 15}, {82, 18}, {96, 128}};
// Around the registers and tiles of every instruction set.
constexpr int64_t kRows[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 70};

// All layouts, block sizes and rows with what else a problem has changing
// along, so that each pair of settings meets somewhere.
std::vector<CaseShape> Shapes() {
  std::vector<CaseShape> shapes;
  int turn = 0;
  for (const LayoutKind& kind : LayoutKinds()) {
    for (const BlockSize& block : kBlockSizes) {
      // One more or fewer than a multiple of the block, now and then.
      const int64_t inputs = block.inputs * 4 - (turn % 3 == 1);
      const int64_t outputs = block.outputs * 5 - (turn % 4 == 1);
      // Every 5th number of rows, from a start that moves.
      for (size_t r = turn % 5; r < std::size(kRows); r += 5) {
        for (int side = 0; side < 4; ++side) {
          CaseShape shape{&kind,        inputs,        outputs,
                          block.inputs, block.outputs, kRows[r]};
          shape.transpose = side & 1;
          shape.features_first = side & 2;
          shape.gate = static_cast<GateKind>((turn + side) % 3);
          shape.bias = (turn + side) % 2;
          shape.preactivation = (turn + side) % 5 == 0;
          shape.activation =
              (turn + side) % 4 == 0 ? Activation::kRelu : Activation::kNone;
          shapes.push_back(shape);
        }
        ++turn;
      }
    }
  }
  return shapes;
}

class MatmulKernelTest : public testing::TestWithParam<MatmulKernel> {};
class SampledMatmulKernelTest
    : public testing::TestWithParam<SampledMatmulKernel> {};

template <typename Kernel>
std::string NameOfParam(const testing::TestParamInfo<Kernel>& info) {
  return info.param.name;
}

template <typename Kernel>
std::vector<Kernel> Runnable(KernelList<Kernel> all) {
  std::vector<Kernel> kernels;
  for (const Kernel* kernel = all.begin; kernel != all.end; ++kernel) {
    if (kernel->isa <= DetectIsa()) kernels.push_back(*kernel);
  }
  return kernels;
}

INSTANTIATE_TEST_SUITE_P(Table, MatmulKernelTest,
                         testing::ValuesIn(Runnable(MatmulKernels())),
                         NameOfParam<MatmulKernel>);
INSTANTIATE_TEST_SUITE_P(Table, SampledMatmulKernelTest,
                         testing::ValuesIn(Runnable(SampledMatmulKernels())),
                         NameOfParam<SampledMatmulKernel>);

TEST_P(MatmulKernelTest, IsExactOnIntegers) {
  const MatmulKernel& kernel = GetParam();
  const auto run = [&](const MatmulProblem& p) { RunWith(kernel, p); };
  for (const CaseShape& shape : Thinned(Shapes())) {
    Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
    ASSERT_EQ(test.CheckMatmul(run, 0), "");
  }
}

TEST_P(MatmulKernelTest, ActivationsAreWithinTheirTolerance) {
  const MatmulKernel& kernel = GetParam();
  const auto run = [&](const MatmulProblem& p) { RunWith(kernel, p); };
  for (const Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kSilu,
        Activation::kTanh, Activation::kSigmoid}) {
    for (const bool transpose : {false, true}) {
      CaseShape shape{&LayoutKinds()[6], 60, 47, 8, 8, 21, transpose};
      shape.bias = true;
      shape.preactivation = true;
      shape.activation = activation;
      Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kUniform);
      ASSERT_EQ(test.CheckMatmul(run, 1), "");
    }
  }
}

TEST_P(SampledMatmulKernelTest, IsExactOnIntegers) {
  const SampledMatmulKernel& kernel = GetParam();
  const auto run = [&](const SampledMatmulProblem& p) { RunWith(kernel, p); };
  for (const CaseShape& shape : Thinned(Shapes())) {
    Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
    ASSERT_EQ(test.CheckSampled(run, 0), "");
  }
}

TEST_P(SampledMatmulKernelTest, AddsUpSeveralPasses) {
  const SampledMatmulKernel& kernel = GetParam();
  const auto run = [&](const SampledMatmulProblem& p) { RunWith(kernel, p); };
  // Of 22 columns, the last ones are folded, and half a register is not full.
  for (const int block_outputs : {12, 22}) {
    for (const GateKind gate : {GateKind::kNone, GateKind::kMixed}) {
      CaseShape shape{&LayoutKinds()[6], 63, 70, 8, block_outputs, 2500};
      shape.gate = gate;
      Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kUniform);
      ASSERT_EQ(test.CheckSampled(run, 1), "");
    }
  }
  // Wide rows, whose passes are short: too few rows to be in parts.
  Case wide({&LayoutKinds()[6], 17, 4400, 8, 12, 300}, kernel.x_dtype,
            kernel.blocks_dtype, Fill::kUniform);
  ASSERT_EQ(wide.CheckSampled(run, 1), "");
}

// Inputs of a kernel changed under its hands, as if it had got them wrong. Each
// must be found, whatever the dtypes, direction and family.
enum class Fault { kRow, kBlock, kPlace, kGate, kBias, kActivation, kEpsilon };
constexpr Fault kFaults[] = {Fault::kRow,    Fault::kBlock, Fault::kPlace,
                             Fault::kGate,   Fault::kBias,  Fault::kActivation,
                             Fault::kEpsilon};

// A problem's layout, gate and so on to change, and the problem with them.
struct Planted {
  std::vector<int32_t> splits;
  std::vector<int32_t> index;
  std::vector<float> gate;
};

template <typename Problem>
void Plant(Fault fault, LayoutView* view, Problem* problem, Planted* planted) {
  planted->splits.assign(view->splits, view->splits + view->targets + 1);
  planted->index.assign(view->index, view->index + view->nnz);
  planted->gate.assign(problem->gate, problem->gate + view->nnz);
  switch (fault) {
    case Fault::kRow:
      --problem->rows;
      break;
    case Fault::kBlock:
      --planted->splits.back();
      break;
    case Fault::kPlace:
      std::swap(planted->index[1], planted->index[2]);
      break;
    case Fault::kGate:
      planted->gate[1] += 1;
      break;
    default:
      break;
  }
  view->splits = planted->splits.data();
  view->index = planted->index.data();
  problem->gate = planted->gate.data();
}

// The last bit of the last element: 1 ulp of any dtype.
void Nudge(void* data, int64_t elements, Dtype dtype) {
  *(static_cast<unsigned char*>(data) + (elements - 1) * SizeOf(dtype)) ^= 1;
}

TEST_P(MatmulKernelTest, PlantedFaultsAreFound) {
  const MatmulKernel& kernel = GetParam();
  for (const bool transpose : {false, true}) {
    for (const bool features_first : {false, true}) {
      for (const Fault fault : kFaults) {
        CaseShape shape{
            &LayoutKinds()[4], 64, 48, 16, 16, 5, transpose, features_first,
            GateKind::kMixed};
        shape.bias = true;
        shape.activation = Activation::kRelu;
        Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
        Planted planted;
        const auto run = [&](const MatmulProblem& problem) {
          MatmulProblem p = problem;
          Plant(fault, transpose ? &p.layout.transposed : &p.layout.forward, &p,
                &planted);
          if (fault == Fault::kBias) p.bias = nullptr;
          if (fault == Fault::kActivation) p.activation = Activation::kNone;
          RunWith(kernel, p);
          if (fault == Fault::kEpsilon) {
            Nudge(p.y, 5 * (transpose ? 64 : 48), kernel.x_dtype);
          }
        };
        EXPECT_NE(test.CheckMatmul(run, 0), "") << static_cast<int>(fault);
      }
    }
  }
}

TEST_P(SampledMatmulKernelTest, PlantedFaultsAreFound) {
  const SampledMatmulKernel& kernel = GetParam();
  for (const bool features_first : {false, true}) {
    for (const Fault fault : kFaults) {
      if (fault == Fault::kBias || fault == Fault::kActivation) continue;
      CaseShape shape{
          &LayoutKinds()[4], 64, 48, 16, 16, 5, false, features_first,
          GateKind::kMixed};
      Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
      Planted planted;
      const auto run = [&](const SampledMatmulProblem& problem) {
        SampledMatmulProblem p = problem;
        Plant(fault, &p.layout.transposed, &p, &planted);
        RunWith(kernel, p);
        if (fault == Fault::kEpsilon) {
          Nudge(p.blocks, 64 * 48, kernel.blocks_dtype);
        }
      };
      EXPECT_NE(test.CheckSampled(run, 0), "") << static_cast<int>(fault);
    }
  }
}

// In units in the last place, of the value or of z, as activation.h says.
struct ActivationBound {
  Activation activation;
  bool of_z;
  double ulps;
};
constexpr ActivationBound kActivationBounds[] = {
    {Activation::kRelu, false, 0}, {Activation::kSigmoid, false, 3},
    {Activation::kTanh, false, 3}, {Activation::kSilu, true, 4},
    {Activation::kGelu, true, 4},
};

double ExactActivation(Activation activation, double z) {
  switch (activation) {
    case Activation::kRelu:
      return z < 0 ? 0 : z;
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::kTanh:
      return std::tanh(z);
    case Activation::kSilu:
      return z / (1 + std::exp(-z));
    default:
      return 0.5 * z * std::erfc(-z * std::sqrt(0.5));
  }
}

// Activates `z` by a product with one weight of 1.
std::vector<float> ActivateBy(const MatmulKernel& kernel, Activation activation,
                              const std::vector<float>& z) {
  const PackedLayout packed(LayoutKinds()[4], 1, 1, 1, 1);
  const float one = 1;
  std::vector<float> y(z.size());
  MatmulProblem p;
  p.layout = packed.layout();
  p.rows = static_cast<int64_t>(z.size());
  p.x = z.data();
  p.blocks = &one;
  p.activation = activation;
  p.y = y.data();
  RunWith(kernel, p);
  return y;
}

TEST_P(MatmulKernelTest, ActivationsKeepTheirBounds) {
  const MatmulKernel& kernel = GetParam();
  if (kernel.x_dtype != Dtype::kFloat32 ||
      kernel.blocks_dtype != Dtype::kFloat32) {
    GTEST_SKIP() << "computed in the same vectors as float32";
  }
  std::vector<float> z;
  for (float magnitude = 1e-6f; magnitude < 80; magnitude *= 1.003f) {
    z.push_back(magnitude);
    z.push_back(-magnitude);
  }
  for (const ActivationBound& bound : kActivationBounds) {
    const std::vector<float> y = ActivateBy(kernel, bound.activation, z);
    for (size_t i = 0; i < z.size(); ++i) {
      const double exact = ExactActivation(bound.activation, z[i]);
      const double scale = bound.of_z ? z[i] : exact;
      // A float is at most 2^-24 of itself from half a unit.
      const double allowed = bound.ulps * std::ldexp(std::abs(scale), -23);
      ASSERT_LE(std::abs(y[i] - exact), allowed)
          << z[i] << " " << static_cast<int>(bound.activation);
      if (bound.activation == Activation::kGelu && std::abs(exact) > 1e-30) {
        ASSERT_LE(std::abs(y[i] - exact), 1.5e-5 * std::abs(exact)) << z[i];
      }
    }
  }
}

TEST_P(MatmulKernelTest, NanStaysNan) {
  const MatmulKernel& kernel = GetParam();
  if (kernel.x_dtype != Dtype::kFloat32 ||
      kernel.blocks_dtype != Dtype::kFloat32) {
    GTEST_SKIP() << "computed in the same vectors as float32";
  }
  std::vector<float> z;
  for (const uint32_t bits : {0x7fc00000u, 0x7fc00001u, 0x7fc000ffu,
                              0xffc00000u, 0xffffffffu, 0x7fffffffu}) {
    z.push_back(BitsToFloat(bits));
  }
  for (const ActivationBound& bound : kActivationBounds) {
    for (const float y : ActivateBy(kernel, bound.activation, z)) {
      EXPECT_TRUE(std::isnan(y)) << static_cast<int>(bound.activation);
    }
  }
}

TEST(ThreadsTest, DoNotChangeABit) {
  const auto same = [](const void* a, const void* b, size_t bytes) {
    return __builtin_memcmp(a, b, bytes) == 0;
  };
  for (const bool transpose : {false, true}) {
    for (const int64_t rows : {3, 70, 2100}) {
      Case test({&LayoutKinds()[6], 1000, 1500, 8, 8, rows, transpose},
                Dtype::kFloat32, Dtype::kFloat32, Fill::kUniform);
      MatmulProblem p = test.matmul();
      SampledMatmulProblem s = test.sampled();
      std::vector<float> y(rows * (transpose ? 1000 : 1500));
      std::vector<float> blocks(p.layout.nnz * 64);
      const auto run = [&](int threads) {
        p.y = y.data();
        s.blocks = blocks.data();
        const MatmulPlan plan = PlanMatmul(p, threads, DetectIsa());
        const Scratch scratch(plan.scratch_bytes);
        RunMatmul(p, plan, Threads(threads), scratch.data());
        const SampledMatmulPlan sampled_plan =
            PlanSampledMatmul(s, threads, DetectIsa());
        const Scratch sampled_scratch(sampled_plan.scratch_bytes);
        RunSampledMatmul(s, sampled_plan, Threads(threads),
                         sampled_scratch.data());
        return plan.threads;
      };
      run(1);
      const std::vector<float> first_y = y;
      const std::vector<float> first_blocks = blocks;
      for (const int threads : {2, 3, 7}) {
        const int used = run(threads);
        EXPECT_EQ(used, rows > 3 ? threads : used);
        EXPECT_TRUE(same(y.data(), first_y.data(), y.size() * 4));
        EXPECT_TRUE(
            same(blocks.data(), first_blocks.data(), blocks.size() * 4));
      }
    }
  }
}

struct Choice {
  Isa isa;
  Dtype x_dtype;
  Dtype blocks_dtype;
  int32_t block_size;
  int64_t rows;
  bool transpose;
  const char* ranges;  // "rows kernel" of each
};

std::string RangesOf(const MatmulPlan& plan) {
  std::string ranges;
  for (int i = 0; i < plan.range_count; ++i) {
    if (i > 0) ranges += ", ";
    ranges += std::to_string(plan.ranges[i].rows);
    ranges += std::string(" ") + plan.ranges[i].kernel->name;
  }
  return ranges;
}

bool IsCompiled(Isa isa) {
  return std::find(std::begin(kIsas), std::end(kIsas), isa) != std::end(kIsas);
}

TEST(ChoiceTest, IsByIsaDtypeBlockRowsAndDirection) {
  const Choice choices[] = {
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 16, 1, false,
       "1 matmul_outputs_f32_f32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 16, 8, false,
       "8 matmul_outputs_f32_f32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 16, 9, false,
       "9 matmul_rows_f32_f32_16x16_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 8, 4, false,
       "4 matmul_outputs_f32_f32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 8, 5, false,
       "5 matmul_rows_f32_f32_16x16_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 16, 3, true,
       "3 matmul_outputs_f32_f32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 16, 4, true,
       "4 matmul_rows_f32_f32_16x16_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 3, 1, false,
       "1 matmul_rows_f32_f32_16x16_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 16, 17, false,
       "16 matmul_rows_f32_f32_16x16_avx512, 1 matmul_outputs_f32_f32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 16, 20, false,
       "16 matmul_rows_f32_f32_16x16_avx512, 4 matmul_outputs_f32_f32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 16, 21, false,
       "21 matmul_rows_f32_f32_8x32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 8, 17, false,
       "17 matmul_rows_f32_f32_8x32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 32, 64, false,
       "64 matmul_rows_f32_f32_8x32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 32, 67, true,
       "64 matmul_rows_f32_f32_8x32_avx512, 3 matmul_outputs_f32_f32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 32, 81, true,
       "64 matmul_rows_f32_f32_8x32_avx512, 16 "
       "matmul_rows_f32_f32_16x16_avx512, 1 matmul_outputs_f32_f32_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kBFloat16, 8, 33, false,
       "32 matmul_rows_f32_bf16_8x32_avx512, 1 matmul_outputs_f32_bf16_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat16, 8, 48, false,
       "32 matmul_rows_f32_f16_8x32_avx512, 16 "
       "matmul_rows_f32_f16_16x16_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 4, 64, false,
       "64 matmul_rows_f32_f32_4x64_avx512"},
      {Isa::kAvx512, Dtype::kFloat32, Dtype::kFloat32, 4, 96, true,
       "64 matmul_rows_f32_f32_4x64_avx512, 32 "
       "matmul_rows_f32_f32_8x32_avx512"},
      {Isa::kAvx512, Dtype::kBFloat16, Dtype::kBFloat16, 16, 64, false,
       "64 matmul_rows_bf16_bf16_4x64_avx512"},
      {Isa::kAvx512, Dtype::kFloat16, Dtype::kFloat16, 8, 32, false,
       "32 matmul_rows_f16_f16_8x32_avx512"},
      {Isa::kAvx512, Dtype::kBFloat16, Dtype::kBFloat16, 8, 2, true,
       "2 matmul_outputs_bf16_bf16_avx512"},
      {Isa::kAvx512, Dtype::kFloat64, Dtype::kFloat64, 8, 16, false,
       "16 matmul_rows_f64_f64_8x16_avx512"},
      {Isa::kAvx2, Dtype::kFloat32, Dtype::kFloat32, 16, 1, false,
       "1 matmul_outputs_f32_f32_avx2"},
      {Isa::kAvx2, Dtype::kFloat32, Dtype::kFloat32, 16, 64, false,
       "64 matmul_rows_f32_f32_4x16_avx2"},
      {Isa::kNeon, Dtype::kFloat32, Dtype::kFloat32, 16, 1, false,
       "1 matmul_outputs_f32_f32_neon"},
      {Isa::kNeon, Dtype::kFloat32, Dtype::kFloat32, 16, 64, false,
       "64 matmul_rows_f32_f32_8x8_neon"},
      {Isa::kNeon, Dtype::kFloat32, Dtype::kFloat32, 16, 70, true,
       "64 matmul_rows_f32_f32_8x8_neon, 4 matmul_rows_f32_f32_16x4_neon, "
       "2 matmul_outputs_f32_f32_neon"},
      {Isa::kNeon, Dtype::kFloat32, Dtype::kFloat32, 4, 64, false,
       "64 matmul_rows_f32_f32_4x16_neon"},
      {Isa::kNeon, Dtype::kFloat64, Dtype::kFloat64, 8, 16, false,
       "16 matmul_rows_f64_f64_8x4_neon"},
      {Isa::kPortable, Dtype::kFloat32, Dtype::kFloat32, 16, 64, false,
       "64 matmul_rows_f32_f32_4x8_portable"},
      {Isa::kPortable, Dtype::kFloat32, Dtype::kFloat32, 1, 64, false,
       "64 matmul_rows_f32_f32_4x8_portable"},
      {Isa::kPortable, Dtype::kFloat64, Dtype::kFloat64, 2, 1, false,
       "1 matmul_outputs_f64_f64_portable"},
  };
  for (const Choice& choice : choices) {
    if (!IsCompiled(choice.isa)) continue;
    for (const bool features_first : {false, true}) {
      Case test(
          {&LayoutKinds()[4], 256, 256, choice.block_size, choice.block_size,
           choice.rows, choice.transpose, features_first},
          choice.x_dtype, choice.blocks_dtype, Fill::kIntegers);
      const MatmulPlan plan = PlanMatmul(test.matmul(), 2, choice.isa);
      EXPECT_EQ(RangesOf(plan), choice.ranges);
    }
  }
}

// What the plan of any number of rows computes is right, too.
TEST(ChoiceTest, RangesCoverAllRows) {
  for (const Isa isa : kIsas) {
    if (isa > DetectIsa()) continue;
    for (const bool transpose : {false, true}) {
      for (int64_t rows = 0; rows <= 100; ++rows) {
        Case test({&LayoutKinds()[6], 60, 47, 8, 8, rows, transpose},
                  Dtype::kFloat32, Dtype::kFloat32, Fill::kIntegers);
        const auto run = [&](const MatmulProblem& problem) {
          const MatmulPlan plan = PlanMatmul(problem, 1, isa);
          const Scratch scratch(plan.scratch_bytes);
          RunMatmul(problem, plan, Threads(1), scratch.data());
        };
        ASSERT_EQ(test.CheckMatmul(run, 0), "");
      }
    }
  }
}

TEST(ChoiceTest, ExistsForEveryDtypeBlockAndRows) {
  for (const Isa isa : kIsas) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64,
                              Dtype::kBFloat16, Dtype::kFloat16}) {
      for (const BlockSize& block : kBlockSizes) {
        for (const int64_t rows : kRows) {
          Case test({&LayoutKinds()[4], block.inputs, block.outputs,
                     block.inputs, block.outputs, rows},
                    dtype, dtype, Fill::kIntegers);
          const MatmulPlan plan = PlanMatmul(test.matmul(), 1, isa);
          ASSERT_GE(plan.range_count, 1);
          EXPECT_EQ(plan.ranges[0].kernel->isa, isa);
        }
      }
    }
  }
}

TEST(ChoiceTest, KnowsNoOtherDtypes) {
  Case test({&LayoutKinds()[4], 16, 16, 8, 8, 4}, Dtype::kBFloat16,
            Dtype::kFloat32, Fill::kIntegers);
  EXPECT_EQ(PlanMatmul(test.matmul(), 1, DetectIsa()).range_count, 0);
  EXPECT_EQ(PlanSampledMatmul(test.sampled(), 1, DetectIsa()).kernel, nullptr);
}

TEST(ChoiceTest, SampledIsByIsaAndDtype) {
  Case test({&LayoutKinds()[4], 16, 16, 8, 8, 4}, Dtype::kFloat32,
            Dtype::kBFloat16, Fill::kIntegers);
  const std::pair<Isa, const char*> choices[] = {
      {Isa::kAvx512, "sampled_matmul_f32_bf16_8x48_avx512"},
      {Isa::kAvx2, "sampled_matmul_f32_bf16_4x24_avx2"},
      {Isa::kNeon, "sampled_matmul_f32_bf16_8x12_neon"},
      {Isa::kPortable, "sampled_matmul_f32_bf16_4x8_portable"},
  };
  for (const auto& [isa, name] : choices) {
    if (!IsCompiled(isa)) continue;
    EXPECT_STREQ(PlanSampledMatmul(test.sampled(), 1, isa).kernel->name, name);
  }
}

}  // namespace
}  // namespace blocksparse
