// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/fuzz/input.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "cc/base/round_up.h"
#include "cc/testing/packed_layout.h"

namespace blocksparse {
namespace {

// Spoils a number, the order or the length.
void Spoil(Input* input, std::vector<int32_t>* packed) {
  const auto place = [&] { return input->Bits<uint16_t>() % packed->size(); };
  if (packed->empty()) return;
  switch (input->Between(0, 5)) {
    case 0:
      (*packed)[place()] += static_cast<int32_t>(input->Between(-2, 2));
      break;
    case 1:
      (*packed)[place()] = input->Bits<int32_t>();
      break;
    case 2:
      (*packed)[place()] = static_cast<int32_t>(input->Between(-1, 64));
      break;
    case 3:
      std::swap((*packed)[place()], (*packed)[place()]);
      break;
    case 4:
      packed->resize(place());
      break;
    default:
      packed->resize(packed->size() + input->Between(1, 6));
  }
}

}  // namespace

int64_t Input::Extreme() {
  constexpr int64_t kLimits[] = {
      0,
      int64_t{1} << 8,
      int64_t{1} << 16,
      int64_t{1} << 31,
      int64_t{1} << 32,
      int64_t{1} << 53,
      std::numeric_limits<int64_t>::max() - 2,
      std::numeric_limits<int64_t>::min() + 2,
      -(int64_t{1} << 31),
  };
  const int64_t limit = Pick(kLimits);
  return limit + Between(-2, 2);
}

Dtypes DrawDtypes(Input* input) {
  constexpr Dtypes kDtypes[] = {
      {Dtype::kFloat32, Dtype::kFloat32},   {Dtype::kFloat64, Dtype::kFloat64},
      {Dtype::kBFloat16, Dtype::kBFloat16}, {Dtype::kFloat16, Dtype::kFloat16},
      {Dtype::kFloat32, Dtype::kBFloat16},  {Dtype::kFloat32, Dtype::kFloat16},
  };
  return input->Pick(kDtypes);
}

Activation DrawActivation(Input* input) {
  return input->Flag() ? Activation::kRelu : Activation::kNone;
}

std::vector<Isa> Isas() {
  std::vector<Isa> isas;
  for (const Isa isa : kIsas) {
    if (isa <= DetectIsa()) isas.push_back(isa);
  }
  return isas;
}

Weight DrawWeight(Input* input, int64_t taps, int64_t most_features) {
  constexpr int64_t kBlocks[] = {1, 2, 3, 4, 7, 8, 16, 17, 32, 33, 64};
  Weight weight;
  weight.block_inputs = std::min(most_features, input->Pick(kBlocks));
  weight.block_outputs = std::min(most_features, input->Pick(kBlocks));
  const auto features = [&](int64_t block) {
    const int64_t blocks =
        input->Between(1, std::min<int64_t>(12, most_features / block));
    return blocks * block - input->Between(0, block - 1);
  };
  weight.inputs = features(weight.block_inputs);
  weight.outputs = features(weight.block_outputs);
  const int64_t rows = taps == 1
                           ? weight.inputs
                           : RoundUp(weight.inputs, weight.block_inputs) * taps;
  const uint8_t density = input->Byte();
  const LayoutKind drawn = {"drawn", [&](int64_t, int64_t, int64_t, int64_t) {
                              return density == 255 || input->Byte() < density;
                            }};
  weight.packed = PackedLayout(drawn, rows, weight.outputs,
                               static_cast<int32_t>(weight.block_inputs),
                               static_cast<int32_t>(weight.block_outputs))
                      .packed();
  for (int64_t i = input->Between(0, 3); i > 0; --i) {
    Spoil(input, &weight.packed);
  }
  return weight;
}

void Demand(const std::string& error, const std::string& what) {
  if (error.empty()) return;
  std::fprintf(stderr, "%s: %s\n", what.c_str(), error.c_str());
  std::abort();
}

}  // namespace blocksparse
