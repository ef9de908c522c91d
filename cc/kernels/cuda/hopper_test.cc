// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What is told to the hardware of compute capability 9.0, number by number, and
// which problems its kernels take.
#include "cc/kernels/cuda/hopper.h"

#include <gtest/gtest.h>

#include <string>

#include "cc/kernels/cuda/config.h"
#include "cc/kernels/cuda/kernel_table.h"
#include "cc/kernels/cuda/matmul.h"
#include "cc/testing/case.h"
#include "cc/testing/cuda_hopper.h"

namespace blocksparse {
namespace cuda {
namespace {

constexpr Device kHopper = {90, 132, false, true};
constexpr Device kUnasked = {90, 132, false, false};
constexpr Dtype kF16 = Dtype::kFloat16, kBF16 = Dtype::kBFloat16;

TEST(DescriptorTest, HasTheBitsOfTheTable) {
  // Address 0x12400, an offset of 16 bytes that is not used, 1024 bytes from 8
  // lines to the next 8, a swizzle of 128 bytes.
  EXPECT_EQ(MatrixDescriptor(0x12400, true), 0x4000004000011240ull);
  // 8192 bytes from 64 places to the next 64.
  EXPECT_EQ(MatrixDescriptor(0x12400, false), 0x4000004002001240ull);
  // 18 bits of an address count.
  EXPECT_EQ(MatrixDescriptor(0x3fff0, true) & 0x3fff, 0x3fffu);
  EXPECT_EQ(MatrixDescriptor(0x40000, true) & 0xffff, 0u);
}

TEST(DescriptorTest, LeadsToEveryElementOfABox) {
  for (const bool along : {false, true}) {
    for (int depth = 0; depth < kBoxSide; ++depth) {
      const auto matrix = emulator::DescriptionOf(
          MatrixDescriptor(4096 + depth / 16 * NextDepth(along), along));
      // Two boxes: 128 places of a side.
      for (int side = 0; side < 2 * kBoxSide; ++side) {
        const uint32_t line = along ? side % kBoxSide : depth;
        const uint32_t within = along ? depth : side % kBoxSide;
        const uint32_t box = 4096 + side / kBoxSide * kBoxBytes;
        EXPECT_EQ(emulator::AddressOf(matrix, along, side, depth % 16),
                  Swizzled(box + line * kBoxLineBytes + within * 2));
      }
    }
  }
}

TEST(SwizzleTest, IsTheEmulators) {
  for (uint32_t address = 0; address < 4096; ++address) {
    EXPECT_EQ(Swizzled(address), emulator::SwizzledAddress(address));
  }
}

TEST(ViewsTest, AreOfXAndOfAllBlocksBelowEachOther) {
  MatmulArguments p = {};
  p.rows = 100;
  p.source_features = 192;
  p.target_features = 256;
  p.source_block = DivisorOf(64);
  p.target_block = 128;
  p.block_outputs = 128;
  p.nnz = 5;
  TensorViews views = ViewsOf(p, true);
  EXPECT_TRUE(views.left.bfloat16);
  EXPECT_EQ(views.left.lines, 100);
  EXPECT_EQ(views.left.length, 192);
  EXPECT_EQ(views.right.lines, 5 * 64);
  EXPECT_EQ(views.right.length, 128);
  p.features_first = true;
  views = ViewsOf(p, false);
  EXPECT_FALSE(views.right.bfloat16);
  EXPECT_EQ(views.left.lines, 192);
  EXPECT_EQ(views.left.length, 100);
  // Inputs become the target, and outputs, still what goes on in memory, the
  // source.
  p.transpose = true;
  p.source_block = DivisorOf(128);
  p.target_block = 64;
  views = ViewsOf(p, false);
  EXPECT_EQ(views.right.lines, 5 * 64);
  EXPECT_EQ(views.right.length, 128);
}

TEST(ViewsTest, AreOfAAndB) {
  SampledMatmulArguments p = {};
  p.rows = 100;
  p.inputs = 192;
  p.outputs = 256;
  TensorViews views = ViewsOf(p, true);
  EXPECT_EQ(views.left.length, 192);
  EXPECT_EQ(views.right.length, 256);
  EXPECT_EQ(views.right.lines, 100);
  p.features_first = true;
  views = ViewsOf(p, true);
  EXPECT_EQ(views.left.lines, 192);
  EXPECT_EQ(views.right.lines, 256);
  EXPECT_EQ(views.right.length, 100);
}

template <int kLeft, int kRight>
constexpr size_t SharedOf() {
  return HopperSharedBytes(
      kLeft, kRight,
      Config<Float16, Float16, Path::kHopper, kLeft, kRight>::kStages);
}

TEST(SharedMemoryTest, LetsTwoBlocksOfThreadsShareAMultiprocessor) {
  // Steps, what may be lost to align them, barriers.
  EXPECT_EQ((SharedOf<128, 64>()), 4u * 24 * 1024 + 896 + 32);
  EXPECT_EQ((SharedOf<128, 128>()), 3u * 32 * 1024 + 896 + 32);
  EXPECT_EQ((SharedOf<64, 64>()), 4u * 16 * 1024 + 896 + 32);
  EXPECT_EQ((SharedOf<64, 128>()), 3u * 24 * 1024 + 896 + 32);
  // CUDA takes 1 KiB of each for itself.
  EXPECT_LE(2 * (SharedOf<128, 128>() + 1024), 228u * 1024);
}

struct Choice {
  int32_t block_inputs;
  int32_t block_outputs;
  int64_t inputs;
  int64_t outputs;
  bool transpose;
  bool features_first;
  const char* matmul;  // or null, if it is not one of these
  const char* sampled;
};

TEST(ChoiceTest, IsOfWholeBlocksOf64) {
  const Choice choices[] = {
      {64, 64, 256, 256, false, false, "matmul_hopper_f16_128x64_rows_forward",
       "sampled_matmul_hopper_f16_64x64_rows"},
      {64, 64, 256, 256, true, true,
       "matmul_hopper_f16_128x64_features_transpose",
       "sampled_matmul_hopper_f16_64x64_features"},
      {128, 128, 256, 256, true, false,
       "matmul_hopper_f16_128x128_rows_transpose",
       "sampled_matmul_hopper_f16_64x128_rows"},
      {128, 192, 256, 384, false, true,
       "matmul_hopper_f16_128x64_features_forward",
       "sampled_matmul_hopper_f16_64x64_features"},
      {64, 128, 256, 256, false, false,
       "matmul_hopper_f16_128x128_rows_forward",
       "sampled_matmul_hopper_f16_64x128_rows"},
      {32, 64, 256, 256, false, false, nullptr, nullptr},
      {64, 96, 256, 384, false, false, nullptr, nullptr},
      // Blocks reach beyond the last input, which matters as a source...
      {64, 64, 248, 256, false, false, nullptr,
       "sampled_matmul_hopper_f16_64x64_rows"},
      // ... not as a target.
      {64, 64, 248, 256, true, false, "matmul_hopper_f16_128x64_rows_transpose",
       "sampled_matmul_hopper_f16_64x64_rows"},
      {64, 64, 252, 256, true, false, nullptr, nullptr},
  };
  for (const Choice& choice : choices) {
    CaseShape shape{&LayoutKinds()[4],   choice.inputs,        choice.outputs,
                    choice.block_inputs, choice.block_outputs, 16};
    shape.transpose = choice.transpose;
    shape.features_first = choice.features_first;
    Case test(shape, kF16, kF16, Fill::kIntegers);
    for (const Device& device : {kHopper, kUnasked}) {
      MatmulPlan plan;
      ASSERT_EQ(PlanMatmul(test.matmul(), device, &plan), "");
      SampledMatmulPlan sampled;
      ASSERT_EQ(PlanSampledMatmul(test.sampled(), device, &sampled), "");
      if (device.hopper && choice.matmul != nullptr) {
        EXPECT_STREQ(plan.kernel->name, choice.matmul);
      } else {
        EXPECT_NE(plan.kernel->path, Path::kHopper) << plan.kernel->name;
      }
      if (device.hopper && choice.sampled != nullptr) {
        EXPECT_STREQ(sampled.kernel->name, choice.sampled);
      } else {
        EXPECT_NE(sampled.kernel->path, Path::kHopper) << sampled.kernel->name;
      }
    }
  }
}

TEST(ChoiceTest, IsForThisCapabilityAlone) {
  CaseShape shape{&LayoutKinds()[4], 128, 128, 64, 64, 16};
  const Case test(shape, kBF16, kBF16, Fill::kIntegers);
  int kernels = 0;
  for (const MatmulKernel& kernel : MatmulKernels()) {
    if (kernel.path != Path::kHopper) continue;
    const bool fits = kernel.x_dtype == kBF16 && kernel.right == 64 &&
                      kernel.left_along && !kernel.right_along;
    kernels += fits;
    // Whoever names a kernel need not have asked for it otherwise.
    EXPECT_EQ(Takes(kernel, test.matmul(), kUnasked), fits);
    for (const int capability : {75, 80, 89, 100, 120}) {
      const Device other = {capability, 100, true, true};
      EXPECT_FALSE(Takes(kernel, test.matmul(), other));
      MatmulPlan plan;
      ASSERT_EQ(PlanMatmul(test.matmul(), other, &plan), "");
      EXPECT_NE(plan.kernel->path, Path::kHopper);
    }
  }
  EXPECT_EQ(kernels, 1);
}

TEST(ChoiceTest, NeedsSomethingToCopyAndCoordinatesOf32Bits) {
  const PackedLayout packed(LayoutKinds()[4], 128, 128, 64, 64);
  const MatmulKernel* kernel = nullptr;
  for (const MatmulKernel& candidate : MatmulKernels()) {
    if (std::string(candidate.name) ==
        "matmul_hopper_f16_128x64_rows_forward") {
      kernel = &candidate;
    }
  }
  ASSERT_NE(kernel, nullptr);
  MatmulProblem problem;
  problem.layout = packed.layout();
  problem.x_dtype = problem.blocks_dtype = kF16;
  for (const auto& [rows, taken] : {std::pair<int64_t, bool>{0, false},
                                    {1, true},
                                    {2000000000, true},
                                    {int64_t{1} << 31, false}}) {
    problem.rows = rows;
    EXPECT_EQ(Takes(*kernel, problem, kHopper), taken) << rows;
  }
  problem.rows = 1;
  problem.layout.nnz = int64_t{1} << 25;  // of 64 lines each
  EXPECT_FALSE(Takes(*kernel, problem, kHopper));
  problem.layout.nnz = 0;
  EXPECT_FALSE(Takes(*kernel, problem, kHopper));
}

}  // namespace
}  // namespace cuda
}  // namespace blocksparse
