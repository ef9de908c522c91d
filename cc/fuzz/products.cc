// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Products with layouts, sizes and numbers from a fuzzer: what validation lets
// pass stays in bounds and gives what the definition does, with every kernel.
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/element.h"
#include "cc/fuzz/input.h"
#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/matmul.h"
#include "cc/kernels/reference/reference.h"
#include "cc/layout/layout.h"
#include "cc/testing/case_memory.h"
#include "cc/testing/guarded_buffer.h"

namespace blocksparse {
namespace {

// A transposed product as a forward one: of transposed blocks, in the order of
// the view that it reads. Nothing says that the other view agrees.
class Untransposed {
 public:
  explicit Untransposed(const MatmulProblem& problem) : problem_(problem) {
    if (!problem.transpose) return;
    const Layout& from = problem.layout;
    Layout& to = problem_.layout;
    problem_.transpose = false;
    to.inputs = from.outputs;
    to.outputs = from.inputs;
    to.block_inputs = from.block_outputs;
    to.block_outputs = from.block_inputs;
    to.forward = from.transposed;
    to.forward.block_id = nullptr;
    const int64_t size = int64_t{to.block_inputs} * to.block_outputs;
    blocks_.resize(from.nnz * size * SizeOf(problem.blocks_dtype));
    for (int64_t e = 0; e < from.nnz; ++e) {
      const int64_t block = BlockId(from.transposed, e);
      if (problem.gate != nullptr) gate_.push_back(problem.gate[block]);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t row = i / to.block_outputs;
        const int64_t column = i % to.block_outputs;
        const int64_t place = block * size + column * to.block_inputs + row;
        StoreElement(LoadElement(problem.blocks, problem.blocks_dtype, place),
                     blocks_.data(), problem.blocks_dtype, e * size + i);
      }
    }
    problem_.blocks = blocks_.data();
    if (problem.gate != nullptr) problem_.gate = gate_.data();
  }

  const MatmulProblem& problem() const { return problem_; }

 private:
  MatmulProblem problem_;
  std::vector<char> blocks_;
  std::vector<float> gate_;
};

void RunPlan(const MatmulProblem& problem, const MatmulPlan& plan) {
  const GuardedBuffer scratch(AlignScratch(plan.scratch_bytes));
  RunMatmul(problem, plan, Executor(), scratch.data());
}

void RunPlan(const SampledMatmulProblem& problem,
             const SampledMatmulPlan& plan) {
  const GuardedBuffer scratch(AlignScratch(plan.scratch_bytes));
  RunSampledMatmul(problem, plan, Executor(), scratch.data());
}

// Bytes of the input say which of the kernels that take a problem runs it
// besides those that are chosen.
template <typename Kernel>
const Kernel* DrawKernel(Input* input, KernelList<Kernel> all, Dtypes dtypes) {
  std::vector<const Kernel*> fitting;
  for (const Kernel* k = all.begin; k != all.end; ++k) {
    if (k->isa <= DetectIsa() && k->x_dtype == dtypes.x &&
        k->blocks_dtype == dtypes.blocks) {
      fitting.push_back(k);
    }
  }
  return fitting[input->Byte() % fitting.size()];
}

void CheckMatmul(Input* input, const Weight& weight, const Layout& layout,
                 Dtypes dtypes, Fill fill, CaseMemory* memory) {
  MatmulProblem problem;
  problem.layout = layout;
  problem.transpose = input->Flag();
  const LayoutView& view =
      problem.transpose ? layout.transposed : layout.forward;
  if (!ValidateView(view, "view").empty()) return;
  problem.features_first = input->Flag();
  problem.rows = input->Between(1, 80);
  problem.x_dtype = dtypes.x;
  problem.blocks_dtype = dtypes.blocks;
  problem.activation = DrawActivation(input);
  const bool preactivation = input->Flag();
  problem.gate = memory->Gate(
      input->Flag() ? GateKind::kMixed : GateKind::kNone, layout.nnz);
  const int64_t x_features = problem.transpose ? weight.outputs : weight.inputs;
  const int64_t y_features = problem.transpose ? weight.inputs : weight.outputs;
  problem.x = memory->Operand(problem.rows * x_features, dtypes.x, fill);
  problem.blocks =
      memory->Operand(layout.nnz * weight.block_inputs * weight.block_outputs,
                      dtypes.blocks, fill);
  if (input->Flag()) {
    problem.bias = memory->Operand(y_features, dtypes.x, fill);
  }
  const auto define = [](const MatmulProblem& p) {
    ReferenceMatmul(Untransposed(p).problem());
  };
  const auto check = [&](const MatmulPlan& plan, const std::string& what) {
    Demand(memory->CompareY(problem, problem.rows * y_features, preactivation,
                            /*tolerance=*/0, define,
                            [&](const MatmulProblem& p) { RunPlan(p, plan); }),
           what);
  };
  for (const Isa isa : Isas()) check(PlanMatmul(problem, 1, isa), NameOf(isa));
  const MatmulKernel* kernel = DrawKernel(input, MatmulKernels(), dtypes);
  check(PlanMatmulWith(*kernel, problem, 1), kernel->name);
}

void CheckSampled(Input* input, const Weight& weight, const Layout& layout,
                  Dtypes dtypes, Fill fill, CaseMemory* memory) {
  if (!ValidateViews(layout).empty()) return;
  SampledMatmulProblem problem;
  problem.layout = layout;
  problem.features_first = input->Flag();
  problem.rows = input->Between(0, 255);
  problem.x_dtype = dtypes.x;
  problem.blocks_dtype = dtypes.blocks;
  problem.gate = memory->Gate(
      input->Flag() ? GateKind::kMixed : GateKind::kNone, layout.nnz);
  problem.a = memory->Operand(problem.rows * weight.inputs, dtypes.x, fill);
  problem.b = memory->Operand(problem.rows * weight.outputs, dtypes.x, fill);
  const int64_t size = layout.nnz * weight.block_inputs * weight.block_outputs;
  const auto check = [&](const SampledMatmulPlan& plan,
                         const std::string& what) {
    Demand(memory->CompareBlocks(
               problem, size, /*tolerance=*/0, ReferenceSampledMatmul,
               [&](const SampledMatmulProblem& p) { RunPlan(p, plan); }),
           what);
  };
  for (const Isa isa : Isas()) {
    check(PlanSampledMatmul(problem, 1, isa), NameOf(isa));
  }
}

}  // namespace
}  // namespace blocksparse

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blocksparse;
  Input input(data, size);
  constexpr int64_t kMostFeatures = 160;
  const Weight weight = DrawWeight(&input, /*taps=*/1, kMostFeatures);
  CaseMemory memory("products");
  const int32_t* packed = memory.Copy(weight.packed);
  const int64_t length = static_cast<int64_t>(weight.packed.size());
  Layout layout;
  // Attributes that nobody would allocate anything for.
  if (input.Byte() == 255) {
    ParseLayout(packed, length, input.Extreme(), input.Extreme(),
                input.Extreme(), input.Extreme(), input.Extreme(), &layout);
    return 0;
  }
  if (!ParseLayout(packed, length, weight.inputs, weight.outputs,
                   weight.block_inputs, weight.block_outputs, /*nnz=*/-1,
                   &layout)
           .empty()) {
    return 0;
  }
  const Dtypes dtypes = DrawDtypes(&input);
  const Fill fill = input.Flag() ? Fill::kIntegers : Fill::kWild;
  if (input.Flag()) {
    CheckMatmul(&input, weight, layout, dtypes, fill, &memory);
  } else {
    CheckSampled(&input, weight, layout, dtypes, fill, &memory);
  }
  return 0;
}
