// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Every row of the tables of CUDA kernels against the reference, run by the
// emulator in both of its orders: exact on small integers, then within a
// derived tolerance, on guarded and poisoned memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/round_up.h"
#include "cc/gpu_check/emulated_products.h"

namespace blocksparse {
namespace cuda {
namespace {

class MatmulKernelTest : public testing::TestWithParam<MatmulKernel> {};
class SampledMatmulKernelTest
    : public testing::TestWithParam<SampledMatmulKernel> {};

INSTANTIATE_TEST_SUITE_P(Table, MatmulKernelTest,
                         testing::ValuesIn(MatmulKernels()),
                         NameOfParam<MatmulKernel>);
INSTANTIATE_TEST_SUITE_P(Table, SampledMatmulKernelTest,
                         testing::ValuesIn(SampledMatmulKernels()),
                         NameOfParam<SampledMatmulKernel>);

TEST_P(MatmulKernelTest, IsExactOnIntegers) {
  ExpectExactOnIntegers(GetParam(), 5);
}

TEST_P(SampledMatmulKernelTest, IsExactOnIntegers) {
  ExpectExactOnIntegers(GetParam(), 5);
}

TEST_P(MatmulKernelTest, ActivationsAreWithinTheirTolerance) {
  const MatmulKernel& kernel = GetParam();
  for (const CaseShape& shape : ActivationShapes(kernel)) {
    Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kUniform);
    ASSERT_TRUE(Takes(kernel, test.matmul(), kDevice));
    ASSERT_EQ(CheckInBothOrders(&test, kernel, Ulps(kernel)), "");
  }
}

TEST_P(MatmulKernelTest, AddsUpPartsOfLongColumns) {
  const MatmulKernel& kernel = GetParam();
  Case test(LongColumn(kernel), kernel.x_dtype, kernel.blocks_dtype,
            Fill::kIntegers);
  MatmulPlan plan;
  ASSERT_EQ(PlanMatmulWith(kernel, test.matmul(), kLargeDevice, &plan), "");
  EXPECT_EQ(plan.split_count, CeilDiv(BlockFor(kernel), kernel.right));
  ASSERT_EQ(CheckInBothOrders(&test, kernel, 0, kLargeDevice), "");
}

TEST_P(SampledMatmulKernelTest, AddsUpPasses) {
  const SampledMatmulKernel& kernel = GetParam();
  for (const GateKind gate : {GateKind::kNone, GateKind::kMixed}) {
    Case test(ManyRows(kernel, gate), kernel.x_dtype, kernel.blocks_dtype,
              Fill::kUniform);
    SampledMatmulPlan plan;
    ASSERT_EQ(
        PlanSampledMatmulWith(kernel, test.sampled(), kLargeDevice, &plan), "");
    EXPECT_EQ(plan.passes, 3);
    ASSERT_EQ(CheckInBothOrders(&test, kernel, Ulps(kernel), kLargeDevice), "");
  }
}

template <typename Kernel>
void ExpectEveryBarrierIsNeeded(const Kernel& kernel) {
  // Tiles of other widths have the same ones.
  const bool boxes = kernel.path == Path::kHopper;
  if (kernel.right != (boxes ? 64 : kernel.path == Path::kElements ? 8 : 16)) {
    return;
  }
  // One step more than there is room for: it lies where the sums do next.
  const int64_t depth = boxes ? 5 * 64 : 4 * 64 / SizeOf(kernel.x_dtype);
  const int64_t features = depth * 16 / BlockFor(kernel);
  const CaseShape shape =
      ShapeFor(kernel, LayoutKinds()[4], features, features, depth);
  Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
  ASSERT_TRUE(Takes(kernel, ProductFor<Kernel>::ProblemOf(test), kDevice));
  // Of tensor cores: a wait and a barrier for each step, one before shared
  // memory is used for the sums, one before these are read. Of a warpgroup's,
  // also a barrier when those of the copies are begun, and waits for products,
  // of the step before and of the last one.
  ExpectEveryBarrierIsNeeded(kernel, &test,
                             boxes                          ? 7
                             : kernel.path == Path::kTensor ? 4
                                                            : 1);
}

TEST_P(MatmulKernelTest, EveryBarrierIsNeeded) {
  ExpectEveryBarrierIsNeeded(GetParam());
}

TEST_P(SampledMatmulKernelTest, EveryBarrierIsNeeded) {
  ExpectEveryBarrierIsNeeded(GetParam());
}

// Inputs of a kernel changed under its hands, as if it had got them wrong.
enum class Fault { kRow, kBlock, kPlace, kBias, kActivation, kEpsilon };

TEST_P(MatmulKernelTest, PlantedFaultsAreFound) {
  const MatmulKernel& kernel = GetParam();
  emulator::Use({Order::kTogether, ""});
  for (const Fault fault :
       {Fault::kRow, Fault::kBlock, Fault::kPlace, Fault::kBias,
        Fault::kActivation, Fault::kEpsilon}) {
    CaseShape shape = ShapeFor(kernel, LayoutKinds()[4], 64, 48, 24);
    shape.bias = true;
    shape.activation = Activation::kRelu;
    Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
    const auto run = [&](const MatmulProblem& problem) {
      MatmulProblem p = problem;
      LayoutView& view =
          shape.transpose ? p.layout.transposed : p.layout.forward;
      std::vector<int32_t> splits(view.splits, view.splits + view.targets + 1);
      std::vector<int32_t> index(view.index, view.index + view.nnz);
      if (fault == Fault::kRow && !p.features_first) --p.rows;
      if (fault == Fault::kRow && p.features_first) p.rows -= 8;
      if (fault == Fault::kBlock) --splits.back();
      if (fault == Fault::kPlace) std::swap(index[1], index[2]);
      if (fault == Fault::kBias) p.bias = nullptr;
      if (fault == Fault::kActivation) p.activation = Activation::kNone;
      view.splits = splits.data();
      view.index = index.data();
      EXPECT_EQ(RunWith(kernel, p), "");
      // The last bit of the last element.
      if (fault == Fault::kEpsilon) {
        const int64_t size =
            24 * (shape.transpose ? shape.inputs : shape.outputs);
        static_cast<unsigned char*>(p.y)[(size - 1) * SizeOf(kernel.x_dtype)] ^=
            1;
      }
    };
    EXPECT_NE(test.CheckMatmul(run, 0), "") << static_cast<int>(fault);
  }
}

// What cannot be launched, or goes wrong in a kernel, reaches the caller.
TEST(ErrorTest, IsReturned) {
  emulator::Use({Order::kTogether, "SyncThreads nowhere:1"});
  Case test({&LayoutKinds()[4], 32, 32, 16, 16, 8}, Dtype::kFloat32,
            Dtype::kFloat32, Fill::kIntegers);
  MatmulProblem problem = test.matmul();
  problem.x = static_cast<const float*>(problem.x) + 1;
  for (const MatmulKernel& kernel : MatmulKernels()) {
    if (std::string(kernel.name) != "matmul_vectors_f32_f32_128x16") continue;
    EXPECT_NE(RunWith(kernel, problem).find("not aligned"), std::string::npos);
  }
}

template <typename Kernel>
void ExpectExactOnAMillionRows(const std::string& name) {
  const CaseShape shape{&LayoutKinds()[4], 8, 8, 8, 8, 1000003};
  bool found = false;
  for (const Kernel& kernel : ProductFor<Kernel>::Kernels()) {
    if (kernel.name != name) continue;
    found = true;
    Case test(shape, kernel.x_dtype, kernel.blocks_dtype, Fill::kIntegers);
    EXPECT_EQ(Check(&test, kernel, 0, kLargeDevice), "");
  }
  EXPECT_TRUE(found) << name;
}

TEST(RowsTest, AMillionAreExact) {
  emulator::Use({Order::kTogether, ""});
  ExpectExactOnAMillionRows<MatmulKernel>(
      "matmul_tensor_f16_128x8_rows_forward");
  ExpectExactOnAMillionRows<SampledMatmulKernel>(
      "sampled_matmul_vectors_f32_f32_64x8");
}

// x of 2^32 numbers, of which the last ones are read.
TEST(OffsetTest, Has64Bits) {
  constexpr int64_t kInputs = int64_t{1} << 29;
  constexpr int kRows = 8, kOutputs = 16;
  constexpr int64_t kBytes = kInputs * kRows * 4;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* x = static_cast<float*>(memory);
  // One block of 256 inputs, at the end.
  const int32_t splits[] = {0, 1};
  const int32_t index[] = {static_cast<int32_t>(kInputs / 256 - 1)};
  std::vector<float> blocks(256 * kOutputs, 1);
  std::vector<float> y(kRows * kOutputs, NAN);
  MatmulProblem problem;
  problem.layout.inputs = kInputs;
  problem.layout.outputs = kOutputs;
  problem.layout.block_inputs = 256;
  problem.layout.block_outputs = kOutputs;
  problem.layout.nnz = 1;
  problem.layout.forward = {1, kInputs / 256, 1, splits, index, nullptr};
  problem.rows = kRows;
  problem.x = x;
  problem.blocks = blocks.data();
  problem.y = y.data();
  for (const bool features_first : {false, true}) {
    problem.features_first = features_first;
    const auto at = [&](int64_t row) {
      return features_first ? x + (kInputs - 1) * kRows + row
                            : x + (row + 1) * kInputs - 1;
    };
    for (int row = 0; row < kRows; ++row) *at(row) = row + 1.0f;
    for (const MatmulKernel& kernel : MatmulKernels()) {
      if (!Takes(kernel, problem, kDevice) || kernel.right != 32) continue;
      std::fill(y.begin(), y.end(), NAN);
      ASSERT_EQ(RunWith(kernel, problem), "");
      for (int row = 0; row < kRows; ++row) {
        for (int k = 0; k < kOutputs; ++k) {
          const int place = features_first ? k * kRows + row : row * 16 + k;
          ASSERT_EQ(y[place], row + 1) << kernel.name;
        }
      }
    }
    for (int row = 0; row < kRows; ++row) *at(row) = 0;
  }
  munmap(memory, kBytes);
}

// Blocks of 2^33 numbers, of which the last one is read.
TEST(OffsetTest, OfBlocksHas64Bits) {
  constexpr int32_t kSide = 256, kBlock = (1 << 17) - 1;
  constexpr int64_t kBytes = (kBlock + int64_t{1}) * kSide * kSide * 4;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* blocks = static_cast<float*>(memory);
  std::fill_n(blocks + int64_t{kBlock} * kSide * kSide, kSide * kSide, 1.0f);
  const int32_t splits[] = {0, 1};
  const int32_t index[] = {0};
  std::vector<float> x(kSide, 1), y(kSide);
  MatmulProblem problem;
  problem.transpose = true;
  problem.layout.inputs = problem.layout.outputs = kSide;
  problem.layout.block_inputs = problem.layout.block_outputs = kSide;
  problem.layout.nnz = 1;
  problem.layout.transposed = {1, 1, 1, splits, index, &kBlock};
  problem.rows = 1;
  problem.x = x.data();
  problem.blocks = blocks;
  problem.y = y.data();
  for (const MatmulKernel& kernel : MatmulKernels()) {
    if (!Takes(kernel, problem, kDevice) || kernel.right != 32) continue;
    std::fill(y.begin(), y.end(), NAN);
    ASSERT_EQ(RunWith(kernel, problem), "");
    for (const float number : y) ASSERT_EQ(number, kSide) << kernel.name;
  }
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace cuda
}  // namespace blocksparse
