// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/kernels/reference/reference.h"

#include <vector>

#include "cc/base/element.h"
#include "cc/kernels/reference/activate.h"

namespace blocksparse {
namespace {

// Places of element (row, feature) in a matrix stored either way.
int64_t At(int64_t row, int64_t feature, int64_t rows, int64_t features,
           bool features_first) {
  return features_first ? feature * rows + row : row * features + feature;
}

// Calls body(input, output, place in blocks, block) for each weight that
// exists; padded entries are passed over.
template <typename Body>
void ForEachWeight(const Layout& layout, const Body& body) {
  for (int64_t k = 0; k < layout.forward.targets; ++k) {
    for (int64_t w = layout.forward.splits[k]; w < layout.forward.splits[k + 1];
         ++w) {
      const int64_t c = layout.forward.index[w];
      for (int64_t i = 0; i < layout.block_inputs; ++i) {
        for (int64_t j = 0; j < layout.block_outputs; ++j) {
          const int64_t input = c * layout.block_inputs + i;
          const int64_t output = k * layout.block_outputs + j;
          if (input >= layout.inputs || output >= layout.outputs) continue;
          body(input, output,
               (w * layout.block_inputs + i) * layout.block_outputs + j, w);
        }
      }
    }
  }
}

}  // namespace

void ReferenceMatmul(const MatmulProblem& p) {
  const Layout& layout = p.layout;
  const int64_t sources = p.transpose ? layout.outputs : layout.inputs;
  const int64_t targets = p.transpose ? layout.inputs : layout.outputs;
  std::vector<double> z(p.rows * targets, 0.0);
  ForEachWeight(layout, [&](int64_t i, int64_t o, int64_t place, int64_t w) {
    const double gate = p.gate == nullptr ? 1 : p.gate[w];
    if (gate == 0) return;
    const double weight = gate * LoadElement(p.blocks, p.blocks_dtype, place);
    const int64_t source = p.transpose ? o : i;
    const int64_t target = p.transpose ? i : o;
    for (int64_t n = 0; n < p.rows; ++n) {
      z[n * targets + target] +=
          weight *
          LoadElement(p.x, p.x_dtype,
                      At(n, source, p.rows, sources, p.features_first));
    }
  });
  for (int64_t n = 0; n < p.rows; ++n) {
    for (int64_t t = 0; t < targets; ++t) {
      double value = z[n * targets + t];
      if (p.bias != nullptr) value += LoadElement(p.bias, p.x_dtype, t);
      const int64_t at = At(n, t, p.rows, targets, p.features_first);
      if (p.preactivation != nullptr) {
        StoreElement(value, p.preactivation, p.x_dtype, at);
      }
      StoreElement(Activate(value, p.activation), p.y, p.x_dtype, at);
    }
  }
}

void ReferenceSampledMatmul(const SampledMatmulProblem& p) {
  const Layout& layout = p.layout;
  const int64_t size = layout.nnz * layout.block_inputs * layout.block_outputs;
  for (int64_t i = 0; i < size; ++i)
    StoreElement(0, p.blocks, p.blocks_dtype, i);
  ForEachWeight(layout, [&](int64_t i, int64_t o, int64_t place, int64_t w) {
    const double gate = p.gate == nullptr ? 1 : p.gate[w];
    if (gate == 0) return;
    double sum = 0;
    for (int64_t n = 0; n < p.rows; ++n) {
      sum += LoadElement(p.a, p.x_dtype,
                         At(n, i, p.rows, layout.inputs, p.features_first)) *
             LoadElement(p.b, p.x_dtype,
                         At(n, o, p.rows, layout.outputs, p.features_first));
    }
    StoreElement(gate * sum, p.blocks, p.blocks_dtype, place);
  });
}

}  // namespace blocksparse
