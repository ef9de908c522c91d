// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What each CUDA kernel is to be right on: under the emulator, and on a GPU.
#ifndef TF_BLOCKSPARSE_CC_GPU_CHECK_KERNEL_CASES_H_
#define TF_BLOCKSPARSE_CC_GPU_CHECK_KERNEL_CASES_H_

#include <cmath>
#include <cstdint>
#include <vector>

#include "cc/kernels/cuda/kernel_table.h"
#include "cc/testing/case.h"

namespace blocksparse {
namespace cuda {

// Of all layouts, block sizes that kernels of a path take, and rows with what
// else a problem has changing along, so that each pair of settings meets
// somewhere: every third for the kernel at a place of its table, beginning with
// another one than its neighbours do. Who takes few, takes all.
std::vector<CaseShape> CaseShapesOf(Path path, size_t place);

// The side of the blocks that kernels are given below.
template <typename Kernel>
int32_t BlockFor(const Kernel& kernel) {
  return kernel.path == Path::kHopper ? kernel.right : 16;
}

// A problem that a kernel takes, or that it takes but for its gate. Features
// are for blocks of 16, and as many times more for wider ones.
CaseShape ShapeFor(const MatmulKernel& kernel, const LayoutKind& kind,
                   int64_t inputs, int64_t outputs, int64_t rows);
CaseShape ShapeFor(const SampledMatmulKernel& kernel, const LayoutKind& kind,
                   int64_t inputs, int64_t outputs, int64_t rows);

// One for each activation, with a bias.
std::vector<CaseShape> ActivationShapes(const MatmulKernel& kernel);

// A column that is cut in parts where there are many multiprocessors: one
// target has all of 1200 sources (of wide blocks: 3840), others a tenth.
CaseShape LongColumn(const MatmulKernel& kernel);

// Rows that are cut in passes.
CaseShape ManyRows(const SampledMatmulKernel& kernel, GateKind gate);

// How far a result may be off in units of float32's epsilon: TF32 rounds both
// factors to 2^-11 of themselves.
template <typename Kernel>
double Ulps(const Kernel& kernel) {
  const bool tf32 =
      kernel.path == Path::kTensor && kernel.x_dtype == Dtype::kFloat32;
  return tf32 ? std::ldexp(1, 13) : 1;
}

}  // namespace cuda
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_GPU_CHECK_KERNEL_CASES_H_
