// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Which CUDA kernel is chosen, how work is cut, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cc/base/round_up.h"
#include "cc/kernels/cuda/kernel_table.h"
#include "cc/kernels/cuda/matmul.h"
#include "cc/testing/case.h"

namespace blocksparse {
namespace cuda {
namespace {

constexpr Device kTuring = {75, 40, true};
constexpr Device kAmpere = {80, 108, false};
constexpr Device kAmpereTf32 = {80, 108, true};

const LayoutKind& Full() { return LayoutKinds()[4]; }

struct Choice {
  Device device;
  Dtype x_dtype;
  Dtype blocks_dtype;
  int64_t features;
  int32_t block_size;
  bool transpose;
  bool features_first;
  GateKind gate;
  const char* matmul;
  const char* sampled;
};

constexpr Dtype kF32 = Dtype::kFloat32, kF64 = Dtype::kFloat64;
constexpr Dtype kF16 = Dtype::kFloat16, kBF16 = Dtype::kBFloat16;

TEST(ChoiceTest, IsByDeviceDtypeBlockAxesGateAndAlignment) {
  const GateKind none = GateKind::kNone, mixed = GateKind::kMixed,
                 mask = GateKind::kMask;
  const Choice choices[] = {
      {kAmpere, kF16, kF16, 256, 32, false, false, none,
       "matmul_tensor_f16_128x32_rows_forward",
       "sampled_matmul_tensor_f16_64x32_rows"},
      {kAmpere, kF16, kF16, 256, 32, true, false, none,
       "matmul_tensor_f16_128x32_rows_transpose",
       "sampled_matmul_tensor_f16_64x32_rows"},
      {kAmpere, kBF16, kBF16, 256, 8, false, true, none,
       "matmul_tensor_bf16_128x8_features_forward",
       "sampled_matmul_tensor_bf16_64x8_features"},
      {kAmpere, kBF16, kBF16, 256, 128, true, true, none,
       "matmul_tensor_bf16_128x64_features_transpose",
       "sampled_matmul_tensor_bf16_64x64_features"},
      {kTuring, kF16, kF16, 256, 32, false, false, none,
       "matmul_elements_f16_f16_128x32",
       "sampled_matmul_elements_f16_f16_64x32"},
      {kAmpere, kF16, kF16, 256, 32, false, false, mixed,
       "matmul_elements_f16_f16_128x32",
       "sampled_matmul_tensor_f16_64x32_rows"},
      {kAmpere, kF16, kF16, 256, 32, false, false, mask,
       "matmul_tensor_f16_128x32_rows_forward",
       "sampled_matmul_tensor_f16_64x32_rows"},
      {kAmpere, kF32, kF32, 256, 16, false, false, none,
       "matmul_vectors_f32_f32_128x16", "sampled_matmul_vectors_f32_f32_64x16"},
      {kAmpere, kF32, kF32, 256, 16, true, true, mixed,
       "matmul_vectors_f32_f32_128x16", "sampled_matmul_vectors_f32_f32_64x16"},
      {kAmpereTf32, kF32, kF32, 256, 64, false, false, none,
       "matmul_tensor_tf32_128x64_rows_forward",
       "sampled_matmul_tensor_tf32_64x64_rows"},
      {kTuring, kF32, kF32, 256, 64, false, false, none,
       "matmul_vectors_f32_f32_128x64", "sampled_matmul_vectors_f32_f32_64x64"},
      // A line of 255 numbers does not begin at a multiple of 16 bytes.
      {kAmpereTf32, kF32, kF32, 255, 64, false, false, none,
       "matmul_elements_f32_f32_128x32",
       "sampled_matmul_elements_f32_f32_64x32"},
      // 4 numbers are a piece of float32, half a piece of float16.
      {kAmpere, kF32, kF32, 256, 4, false, false, none,
       "matmul_vectors_f32_f32_128x8", "sampled_matmul_vectors_f32_f32_64x8"},
      {kAmpere, kF16, kF16, 256, 4, false, false, none,
       "matmul_elements_f16_f16_128x8", "sampled_matmul_elements_f16_f16_64x8"},
      {kAmpere, kF64, kF64, 256, 32, false, false, none,
       "matmul_elements_f64_f64_128x32",
       "sampled_matmul_elements_f64_f64_64x32"},
      {kAmpere, kF32, kBF16, 256, 8, false, false, none,
       "matmul_elements_f32_bf16_128x8",
       "sampled_matmul_elements_f32_bf16_64x8"},
  };
  for (const Choice& choice : choices) {
    CaseShape shape{&Full(),           choice.features,   choice.features,
                    choice.block_size, choice.block_size, 16};
    shape.transpose = choice.transpose;
    shape.features_first = choice.features_first;
    shape.gate = choice.gate;
    Case test(shape, choice.x_dtype, choice.blocks_dtype, Fill::kIntegers);
    MatmulPlan plan;
    ASSERT_EQ(PlanMatmul(test.matmul(), choice.device, &plan), "");
    EXPECT_STREQ(plan.kernel->name, choice.matmul);
    SampledMatmulPlan sampled;
    ASSERT_EQ(PlanSampledMatmul(test.sampled(), choice.device, &sampled), "");
    EXPECT_STREQ(sampled.kernel->name, choice.sampled);
  }
}

TEST(ChoiceTest, NamesWhatThereIsNoKernelFor) {
  Case test({&Full(), 16, 16, 8, 8, 4}, kBF16, kF32, Fill::kIntegers);
  MatmulPlan plan;
  EXPECT_EQ(PlanMatmul(test.matmul(), kAmpere, &plan),
            "no matmul kernel for x of bf16 and blocks of f32 (block size (8, "
            "8), device GPU); cast one of them");
  SampledMatmulPlan sampled;
  EXPECT_NE(PlanSampledMatmul(test.sampled(), kAmpere, &sampled), "");
}

TEST(DivisorTest, DividesAsTheProcessorDoes) {
  std::mt19937 random;  // the same numbers everywhere
  std::vector<int32_t> values = {1, 2, 3, 5, 7, 9, 27, 224, 1 << 30, INT32_MAX};
  for (int i = 0; i < 300; ++i) {
    values.push_back(static_cast<int32_t>(random() % INT32_MAX) >> (i % 31) |
                     1);
  }
  for (const int32_t value : values) {
    const Divisor divisor = DivisorOf(value);
    const auto unsigned_value = static_cast<uint32_t>(value);
    for (int i = 0; i < 300; ++i) {
      // Around a multiple, and anywhere.
      const uint32_t multiple = random() / unsigned_value * unsigned_value;
      for (const uint32_t number :
           {multiple, multiple - 1, multiple + unsigned_value - 1,
            static_cast<uint32_t>(random()), UINT32_MAX}) {
        ASSERT_EQ(DivideUnsigned(number, divisor), number / unsigned_value)
            << number << " by " << value;
      }
    }
  }
}

// A problem of any size, without its memory.
MatmulProblem Sized(const PackedLayout& packed, int64_t rows) {
  MatmulProblem problem;
  problem.layout = packed.layout();
  problem.rows = rows;
  return problem;
}

TEST(PlanTest, CutsLongColumnsInPartsOfEqualWork) {
  const PackedLayout packed(LayoutKinds()[7], 4096, 1024, 32, 32);
  MatmulPlan plan;
  ASSERT_EQ(PlanMatmul(Sized(packed, 64), kAmpere, &plan), "");
  const auto* tasks = reinterpret_cast<const MatmulTask*>(plan.table.data());
  // 128 blocks of 32 inputs, 512 inputs at most.
  std::vector<MatmulTask> parts;
  for (int64_t t = 0; t < plan.task_count; ++t) {
    if (tasks[t].target == 0) parts.push_back(tasks[t]);
    EXPECT_EQ(tasks[t].target == 0, tasks[t].part >= 0);
    if (t > 0) {  // long ones first
      EXPECT_LE(tasks[t].end - tasks[t].begin,
                tasks[t - 1].end - tasks[t - 1].begin);
    }
  }
  ASSERT_EQ(parts.size(), 8u);
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].part, static_cast<int32_t>(i));
    EXPECT_EQ(parts[i].begin, static_cast<int32_t>(i * 16));
    EXPECT_EQ(parts[i].end, static_cast<int32_t>(i * 16 + 16));
  }
  EXPECT_EQ(plan.split_count, 1);
  // Rows enough to keep the GPU busy: nothing is cut.
  ASSERT_EQ(PlanMatmul(Sized(packed, 1000000), kAmpere, &plan), "");
  EXPECT_EQ(plan.split_count, 0);
  EXPECT_EQ(plan.scratch_bytes, plan.parts_begin);
}

TEST(PlanTest, PartsTakeBoundedMemory) {
  const PackedLayout packed(Full(), 8192, 8192, 32, 32);
  for (int64_t rows = 1; rows <= 1000000; rows *= 10) {
    MatmulPlan plan;
    ASSERT_EQ(PlanMatmul(Sized(packed, rows), kAmpere, &plan), "");
    // A tile for each block of threads that runs at once, and as many again.
    EXPECT_LE(plan.scratch_bytes - plan.parts_begin,
              2u * 4 * 108 * 128 * 32 * 4 + 256 * 128 * 32 * 4);
  }
}

TEST(PlanTest, CutsManyRowsOfFewBlocksInPasses) {
  const PackedLayout packed(LayoutKinds()[3], 128, 128, 32, 32);
  SampledMatmulProblem problem;
  problem.layout = packed.layout();
  for (const int64_t rows :
       {int64_t{0}, int64_t{1}, int64_t{511}, int64_t{4096}, int64_t{1000000},
        int64_t{1} << 32}) {
    problem.rows = rows;
    SampledMatmulPlan plan;
    ASSERT_EQ(PlanSampledMatmul(problem, kAmpere, &plan), "");
    EXPECT_GE(plan.passes, 1);
    EXPECT_GE(plan.passes * plan.pass_rows, rows);
    EXPECT_LE(plan.pass_rows, 1 << 20);
    // None of them is empty.
    EXPECT_LE((plan.passes - 1) * plan.pass_rows,
              std::max<int64_t>(0, rows - 1));
    EXPECT_GE(plan.passes, std::min<int64_t>(400, rows / 1024));
  }
}

TEST(PlanTest, RefusesMoreTilesThanAGridHas) {
  const PackedLayout packed(Full(), 64, 64, 32, 32);
  MatmulPlan plan;
  EXPECT_EQ(PlanMatmul(Sized(packed, int64_t{1} << 40), kAmpere, &plan),
            "the product has 8589934592 times 2 tiles, expected less than "
            "2^31; cut the rows in parts");
}

TEST(PlanTest, TakesLayoutsWithoutBlocks) {
  const PackedLayout packed(LayoutKinds()[2], 64, 96, 32, 32);
  MatmulPlan plan;
  ASSERT_EQ(PlanMatmul(Sized(packed, 5), kAmpere, &plan), "");
  EXPECT_EQ(plan.task_count, 3);  // y is written
  SampledMatmulProblem problem;
  problem.layout = packed.layout();
  problem.rows = 5;
  SampledMatmulPlan sampled;
  ASSERT_EQ(PlanSampledMatmul(problem, kAmpere, &sampled), "");
  EXPECT_EQ(sampled.task_count, 0);
}

}  // namespace
}  // namespace cuda
}  // namespace blocksparse
