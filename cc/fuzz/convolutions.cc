// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Convolutions with attributes, sizes, layouts and numbers from a fuzzer: what
// validation lets pass stays in bounds and gives what the definition does.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/fuzz/input.h"
#include "cc/kernels/cpu/conv.h"
#include "cc/kernels/reference/conv.h"
#include "cc/layout/conv_geometry.h"
#include "cc/layout/conv_layout.h"
#include "cc/testing/case_memory.h"
#include "cc/testing/guarded_buffer.h"

namespace blocksparse {
namespace {

// Small, but for one in sixteen.
int64_t DrawSize(Input* input, int64_t least, int64_t most) {
  return input->Byte() % 16 == 15 ? input->Extreme()
                                  : input->Between(least, most);
}

ConvAttributes DrawAttributes(Input* input) {
  constexpr ConvPadding kPaddings[] = {ConvPadding::kValid, ConvPadding::kSame,
                                       ConvPadding::kExplicit};
  ConvAttributes attributes;
  attributes.padding = input->Pick(kPaddings);
  const int64_t rank = input->Between(1, 3);
  for (int64_t i = 0; i < rank; ++i) {
    attributes.kernel_size.push_back(DrawSize(input, 1, 5));
    attributes.strides.push_back(DrawSize(input, 1, 4));
    attributes.dilations.push_back(DrawSize(input, 1, 4));
    if (attributes.padding != ConvPadding::kExplicit) continue;
    attributes.explicit_paddings.push_back(DrawSize(input, -3, 6));
    attributes.explicit_paddings.push_back(DrawSize(input, -3, 6));
  }
  return attributes;
}

// Two sides that the attributes allow; false if they don't.
bool DrawGeometry(Input* input, const ConvAttributes& attributes,
                  ConvGeometry* geometry) {
  if (!CheckConvAttributes(attributes).empty()) return false;
  std::vector<int64_t> fine;
  std::vector<int64_t> coarse;
  const bool derive = input->Flag();
  for (int i = 0; i < attributes.rank(); ++i) {
    fine.push_back(DrawSize(input, 0, 24));
    int64_t size = 0;
    if (!derive) {
      size = DrawSize(input, 0, 24);
    } else if (!DeriveCoarseSize(attributes, i, fine[i], &size).empty()) {
      return false;
    }
    coarse.push_back(size);
  }
  return MakeConvGeometry(attributes, DrawSize(input, 0, 18), fine, coarse,
                          geometry)
      .empty();
}

// What both problems share of a drawn one.
struct Drawn {
  Weight weight;
  Layout layout;
  ConvGeometry geometry;
  Dtypes dtypes;
  bool shared_taps;
  bool adjoint;
  bool features_first;
  const float* gate;

  template <typename Problem>
  void Set(Problem* problem) const {
    problem->layout = layout;
    problem->shared_taps = shared_taps;
    problem->inputs = weight.inputs;
    problem->outputs = weight.outputs;
    problem->geometry = geometry;
    problem->adjoint = adjoint;
    problem->features_first = features_first;
    problem->x_dtype = dtypes.x;
    problem->blocks_dtype = dtypes.blocks;
    problem->gate = gate;
  }

  int64_t blocks_size() const {
    return layout.nnz * (shared_taps ? geometry.taps() : 1) *
           weight.block_inputs * weight.block_outputs;
  }
};

void CheckConv(Input* input, const Drawn& drawn, CaseMemory* memory) {
  ConvProblem problem;
  drawn.Set(&problem);
  problem.transpose = input->Flag();
  const Layout& layout = drawn.layout;
  const LayoutView& view =
      problem.transpose ? layout.transposed : layout.forward;
  if (!ValidateView(view, "view").empty()) return;
  const ConvGeometry& g = drawn.geometry;
  const int64_t y_pixels =
      g.batch * (drawn.adjoint ? g.fine_pixels() : g.coarse_pixels());
  if (y_pixels == 0) return;
  const int64_t x_pixels =
      g.batch * (drawn.adjoint ? g.coarse_pixels() : g.fine_pixels());
  const Weight& weight = drawn.weight;
  const int64_t x_features = problem.transpose ? weight.outputs : weight.inputs;
  const int64_t y_features = problem.transpose ? weight.inputs : weight.outputs;
  problem.activation = DrawActivation(input);
  const bool preactivation = input->Flag();
  const Dtypes dtypes = drawn.dtypes;
  // Padding is multiplied by weights, so these are finite.
  const Fill fill = input->Flag() ? Fill::kIntegers : Fill::kWild;
  problem.x = memory->Operand(x_pixels * x_features, dtypes.x, fill);
  problem.blocks =
      memory->Operand(drawn.blocks_size(), dtypes.blocks, Fill::kIntegers);
  if (input->Flag()) {
    problem.bias = memory->Operand(y_features, dtypes.x, fill);
  }
  // Nothing says that the view that the definition reads agrees, or is one.
  const bool defined = !problem.transpose || ValidateViews(layout).empty();
  for (const Isa isa : Isas()) {
    const auto run = [&](const ConvProblem& p) {
      const ConvPlan plan = PlanConv(p, 1, isa);
      const GuardedBuffer scratch(AlignScratch(plan.scratch_bytes));
      RunConv(p, plan, Executor(), scratch.data());
    };
    const auto define = [&](const ConvProblem& p) {
      defined ? ReferenceConv(p) : run(p);
    };
    Demand(memory->CompareY(problem, y_pixels * y_features, preactivation,
                            /*tolerance=*/0, define, run),
           NameOf(isa));
  }
}

void CheckSampled(const Drawn& drawn, CaseMemory* memory) {
  ConvSampledProblem problem;
  drawn.Set(&problem);
  const ConvGeometry& g = drawn.geometry;
  if (!ValidateViews(drawn.layout).empty() || drawn.layout.nnz == 0 ||
      g.batch * g.coarse_pixels() == 0) {
    return;
  }
  const Weight& weight = drawn.weight;
  const Dtype dtype = drawn.dtypes.x;
  problem.fine =
      memory->Operand(g.batch * g.fine_pixels() *
                          (drawn.adjoint ? weight.outputs : weight.inputs),
                      dtype, Fill::kIntegers);
  problem.coarse =
      memory->Operand(g.batch * g.coarse_pixels() *
                          (drawn.adjoint ? weight.inputs : weight.outputs),
                      dtype, Fill::kIntegers);
  for (const Isa isa : Isas()) {
    const auto run = [&](const ConvSampledProblem& p) {
      const ConvSampledPlan plan = PlanConvSampled(p, 1, isa);
      const GuardedBuffer scratch(AlignScratch(plan.scratch_bytes));
      RunConvSampled(p, plan, Executor(), scratch.data());
    };
    Demand(memory->CompareBlocks(problem, drawn.blocks_size(),
                                 /*tolerance=*/0, ReferenceConvSampled, run),
           NameOf(isa));
  }
}

// Whether a problem is done in a second, of a definition with sanitizers.
bool IsSmall(const Drawn& drawn) {
  constexpr int64_t kMostNumbers = 1 << 18;
  constexpr double kMostProducts = 1 << 20;
  const ConvGeometry& g = drawn.geometry;
  const int64_t features = std::max(drawn.weight.inputs, drawn.weight.outputs);
  const int64_t pixels = std::max(g.fine_pixels(), g.coarse_pixels()) * g.batch;
  // The taps of each pixel are listed, with blocks or without.
  return pixels <= kMostNumbers / features && g.taps() <= 256 &&
         static_cast<double>(g.taps()) * static_cast<double>(pixels) <=
             kMostProducts &&
         static_cast<double>(drawn.blocks_size()) *
                 static_cast<double>(g.coarse_pixels() * g.batch) <=
             kMostProducts;
}

}  // namespace
}  // namespace blocksparse

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blocksparse;
  Input input(data, size);
  Drawn drawn;
  if (!DrawGeometry(&input, DrawAttributes(&input), &drawn.geometry)) return 0;
  drawn.shared_taps = input.Flag();
  drawn.adjoint = input.Flag();
  drawn.features_first = input.Flag();
  drawn.dtypes = DrawDtypes(&input);
  const bool sampled = input.Flag();
  const bool gated = input.Flag();
  const int64_t taps = drawn.shared_taps ? 1 : drawn.geometry.taps();
  constexpr int64_t kMostTaps = 256;  // whose layout is drawn in no time
  if (taps > kMostTaps) return 0;
  constexpr int64_t kMostFeatures = 40;
  drawn.weight = DrawWeight(&input, taps, kMostFeatures);
  const Weight& weight = drawn.weight;
  CaseMemory memory("convolutions");
  const int32_t* packed = memory.Copy(weight.packed);
  if (!ParseConvLayout(packed, static_cast<int64_t>(weight.packed.size()),
                       weight.inputs, weight.outputs, taps, weight.block_inputs,
                       weight.block_outputs, /*nnz=*/-1, &drawn.layout)
           .empty() ||
      !IsSmall(drawn)) {
    return 0;
  }
  drawn.gate =
      memory.Gate(gated ? GateKind::kMixed : GateKind::kNone, drawn.layout.nnz);
  if (sampled) {
    CheckSampled(drawn, &memory);
  } else {
    CheckConv(&input, drawn, &memory);
  }
  return 0;
}
