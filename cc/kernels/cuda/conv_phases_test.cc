// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Phases against the definition of a geometry, pixel by pixel and tap by tap,
// and plans of geometries that are easily too much.
#include "cc/kernels/cuda/conv_phases.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cc/kernels/cuda/conv.h"
#include "cc/testing/conv_case.h"
#include "cc/testing/conv_shapes.h"

namespace blocksparse {
namespace cuda {
namespace {

// A target pixel, a tap and the source pixel that it reads, of one dimension
// for each digit of base 1000.
using Triple = std::tuple<int64_t, int64_t, int64_t>;

int64_t Digits(const int64_t (&numbers)[kSpatial]) {
  return (numbers[0] * 1000 + numbers[1]) * 1000 + numbers[2];
}

// Calls body(i) for each index below `sizes`.
template <typename Body>
void ForEachIndex(const int64_t (&sizes)[kSpatial], const Body& body) {
  int64_t i[kSpatial];
  for (i[0] = 0; i[0] < sizes[0]; ++i[0]) {
    for (i[1] = 0; i[1] < sizes[1]; ++i[1]) {
      for (i[2] = 0; i[2] < sizes[2]; ++i[2]) body(i);
    }
  }
}

std::set<Triple> Defined(const ConvGeometry& g, bool adjoint) {
  std::set<Triple> triples;
  ForEachIndex(g.coarse, [&](const int64_t (&coarse)[kSpatial]) {
    ForEachIndex(g.kernel, [&](const int64_t (&tap)[kSpatial]) {
      int64_t fine[kSpatial];
      for (int d = 0; d < kSpatial; ++d) {
        fine[d] =
            coarse[d] * g.strides[d] + tap[d] * g.dilations[d] - g.padding[d];
        if (fine[d] < 0 || fine[d] >= g.fine[d]) return;
      }
      const int64_t number =
          (tap[0] * g.kernel[1] + tap[1]) * g.kernel[2] + tap[2];
      triples.insert({Digits(adjoint ? fine : coarse), number,
                      Digits(adjoint ? coarse : fine)});
    });
  });
  return triples;
}

std::set<Triple> Found(const ConvGeometry& g, bool adjoint) {
  const ConvPhases all = PhasesOf(g, adjoint);
  std::set<Triple> triples;
  for (size_t p = 0; p < all.phases.size(); ++p) {
    const ConvPhase& phase = all.phases[p];
    const int64_t count[kSpatial] = {phase.count[0], phase.count[1],
                                     phase.count[2]};
    ForEachIndex(count, [&](const int64_t (&i)[kSpatial]) {
      for (int32_t t = all.splits[p]; t < all.splits[p + 1]; ++t) {
        int64_t target[kSpatial], source[kSpatial];
        bool inside = true;
        for (int d = 0; d < kSpatial; ++d) {
          EXPECT_GE(all.taps[t].shift[d], 0);
          target[d] = phase.first[d] + i[d] * all.target_step[d];
          source[d] = i[d] * all.source_step[d] + phase.lowest[d] +
                      all.taps[t].shift[d];
          EXPECT_LT(target[d], (adjoint ? g.fine : g.coarse)[d]);
          inside = inside && source[d] >= 0 &&
                   source[d] < (adjoint ? g.coarse : g.fine)[d];
        }
        if (!inside) continue;
        const bool is_first =
            triples.insert({Digits(target), all.taps[t].number, Digits(source)})
                .second;
        EXPECT_TRUE(is_first);
      }
    });
  }
  return triples;
}

TEST(ConvPhasesTest, BringTogetherWhatTheGeometryDoes) {
  std::vector<ConvShape> shapes = RandomConvShapes();
  for (const Convolution& convolution : Convolutions()) {
    shapes.push_back({nullptr, 1, 1, 1, 1, Geometry(convolution)});
  }
  for (const ConvShape& shape : shapes) {
    for (const bool adjoint : {false, true}) {
      EXPECT_EQ(Found(shape.geometry, adjoint),
                Defined(shape.geometry, adjoint));
    }
  }
}

// No phase has a tap, and no tap a phase, that there is nothing to read for.
TEST(ConvPhasesTest, LeaveOutWhatMeetsNothing) {
  for (const ConvShape& shape : RandomConvShapes()) {
    for (const bool adjoint : {false, true}) {
      const ConvPhases all = PhasesOf(shape.geometry, adjoint);
      std::set<int64_t> taps;
      for (const Triple& triple : Defined(shape.geometry, adjoint)) {
        taps.insert(std::get<1>(triple));
      }
      EXPECT_EQ(all.taps.size(), taps.size());
      for (size_t p = 0; p < all.phases.size(); ++p) {
        EXPECT_GT(all.TapsOf(p), 0);
        EXPECT_GT(ConvPhases::PixelsOf(all.phases[p]), 0);
      }
    }
  }
}

// What the largest sizes allowed make of phases fits int32 and memory.
TEST(ConvPhasesTest, TakeTheLargestSizes) {
  constexpr auto kExplicit = ConvPadding::kExplicit;
  const Convolution convolutions[] = {
      {{{1 << 16}, {1 << 16}, {32767}, kExplicit, {0, 0}},
       {1 << 16},
       {100000},
       1},
      {{{2}, {1}, {kMaxConvSize}, kExplicit, {kMaxConvSize, kMaxConvSize}},
       {kMaxConvSize},
       {kMaxConvSize},
       1},
      {{{3}, {kMaxConvSize}, {(1 << 30) - 1}, kExplicit, {-kMaxConvSize, 0}},
       {kMaxConvSize},
       {2},
       2},
      {{{1 << 16}, {kMaxConvSize}, {1}, ConvPadding::kValid, {}},
       {100000},
       {1},
       1},
  };
  for (const Convolution& convolution : convolutions) {
    for (const bool adjoint : {false, true}) {
      ConvShape shape{&LayoutKinds()[4], 1, 1, 1, 1, {}};
      const ConvCase small(shape, Dtype::kFloat32, Dtype::kFloat32,
                           Fill::kIntegers);  // for its layout
      ConvProblem problem = small.conv();
      problem.geometry = Geometry(convolution);
      problem.adjoint = problem.transpose = adjoint;
      ConvPlan plan;
      EXPECT_EQ(PlanConv(problem, {80, 108, false}, &plan), "");
      EXPECT_LT(plan.scratch_bytes, 40u << 20);
      ConvSampledProblem sampled = small.sampled();
      sampled.geometry = problem.geometry;
      ConvSampledPlan sampled_plan;
      EXPECT_EQ(PlanConvSampled(sampled, {80, 108, false}, &sampled_plan), "");
      EXPECT_LT(sampled_plan.scratch_bytes, 40u << 20);
    }
  }
}

}  // namespace
}  // namespace cuda
}  // namespace blocksparse
