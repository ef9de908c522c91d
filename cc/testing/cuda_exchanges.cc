// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What a warp does together, in the emulator.
#include "cc/testing/cuda_emulator.h"
#include "cc/testing/cuda_fragments.h"

namespace blocksparse {
namespace emulator {
namespace {

float ToFloat(uint32_t half, Float16) {
  return Widen(Float16{static_cast<uint16_t>(half)});
}
float ToFloat(uint32_t half, BFloat16) {
  return Widen(BFloat16{static_cast<uint16_t>(half)});
}

// The matrices of a multiplication, put together from all lanes.
struct Matrices {
  float left[16][16];
  float right[16][8];
};

template <typename T>
int Collect(const MultiplyOperand& from, int lane, T type, Matrices* to) {
  for (int i = 0; i < 8; ++i) {
    const Place place = LeftOf16(lane, i);
    to->left[place.row][place.column] =
        ToFloat(from.left[i / 2] >> (i % 2 * 16), type);
  }
  for (int i = 0; i < 4; ++i) {
    const Place place = RightOf16(lane, i);
    to->right[place.row][place.column] =
        ToFloat(from.right[i / 2] >> (i % 2 * 16), type);
  }
  return 16;
}

int Collect(const MultiplyOperand& from, int lane, cuda::Tf32, Matrices* to) {
  // The low 13 bits are not read.
  const auto number = [](uint32_t bits) {
    return BitsToFloat(bits & 0xffffe000u);
  };
  for (int i = 0; i < 4; ++i) {
    const Place place = LeftOfTf32(lane, i);
    to->left[place.row][place.column] = number(from.left[i]);
  }
  for (int i = 0; i < 2; ++i) {
    const Place place = RightOfTf32(lane, i);
    to->right[place.row][place.column] = number(from.right[i]);
  }
  return 8;
}

}  // namespace

template <int kCount, bool kTransposed>
void LoadMatrices(void* const (&operands)[32]) {
  const auto at = [&](int lane) {
    return static_cast<LoadOperand<kCount>*>(operands[lane]);
  };
  for (int m = 0; m < kCount; ++m) {
    uint16_t matrix[8][8];
    for (int row = 0; row < 8; ++row) {
      std::memcpy(matrix[row], at(m * 8 + row)->row, 16);
    }
    for (int lane = 0; lane < 32; ++lane) {
      const Place low = LoadedBy(lane, 0, kTransposed);
      const Place high = LoadedBy(lane, 1, kTransposed);
      at(lane)->fragments[m] =
          matrix[low.row][low.column] |
          static_cast<uint32_t>(matrix[high.row][high.column]) << 16;
    }
  }
}
template void LoadMatrices<1, false>(void* const (&)[32]);
template void LoadMatrices<1, true>(void* const (&)[32]);
template void LoadMatrices<2, false>(void* const (&)[32]);
template void LoadMatrices<2, true>(void* const (&)[32]);
template void LoadMatrices<4, false>(void* const (&)[32]);
template void LoadMatrices<4, true>(void* const (&)[32]);

template <typename T>
void Multiply(void* const (&operands)[32]) {
  const auto at = [&](int lane) {
    return static_cast<MultiplyOperand*>(operands[lane]);
  };
  Matrices matrices;
  int depth = 0;
  for (int lane = 0; lane < 32; ++lane) {
    depth = Collect(*at(lane), lane, T(), &matrices);
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const Place place = SumOf(lane, i);
      float sum = 0;
      for (int d = 0; d < depth; ++d) {
        sum += matrices.left[place.row][d] * matrices.right[d][place.column];
      }
      at(lane)->sums[i] += sum;
    }
  }
}
template void Multiply<Float16>(void* const (&)[32]);
template void Multiply<BFloat16>(void* const (&)[32]);
template void Multiply<cuda::Tf32>(void* const (&)[32]);

}  // namespace emulator

namespace cuda {
namespace {

struct ShuffleOperand {
  float value;
  int mask;
};

void Shuffle(void* const (&operands)[32]) {
  ShuffleOperand* lanes[32];
  float values[32];
  for (int lane = 0; lane < 32; ++lane) {
    lanes[lane] = static_cast<ShuffleOperand*>(operands[lane]);
    values[lane] = lanes[lane]->value;
  }
  for (int lane = 0; lane < 32; ++lane) {
    lanes[lane]->value = values[lane ^ lanes[lane]->mask];
  }
}

void Nothing(void* const (&)[32]) {}

}  // namespace

void SyncWarp() { emulator::WaitForWarp(Nothing, nullptr); }

float ShuffleXor(float value, int mask) {
  ShuffleOperand operand = {value, mask};
  emulator::WaitForWarp(Shuffle, &operand);
  return operand.value;
}

}  // namespace cuda
}  // namespace blocksparse
