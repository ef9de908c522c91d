// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/testing/cuda_hopper.h"

#include <cstring>
#include <map>
#include <vector>

#include "cc/base/message.h"
#include "cc/testing/cuda_fragments.h"

namespace blocksparse {
namespace emulator {
namespace {

// A box is 64 lines of 64 numbers of 16 bits.
constexpr int kBoxSide = 64;
constexpr int kBoxLineBytes = 128;

// 9.7.13.15: a phase ends when no arrivals and no bytes are missing.
struct Barrier {
  int arrivals;
  int missing;
  int64_t bytes = 0;
  int phase = 0;

  void EndPhaseIfComplete() {
    if (missing > 0 || bytes != 0) return;
    missing = arrivals;
    phase ^= 1;
  }
};

struct Box {
  uint32_t shared;
  cuda::TensorMap map;
  int32_t along;
  int32_t line;
  uint32_t barrier;
};

using MultiplyWarp = void (*)(const std::vector<GroupOperand>& lanes, int warp);

struct Started {
  MultiplyWarp multiply;
  std::vector<GroupOperand> lanes;
};

struct Warp {
  std::vector<Started> started;                 // and not committed
  std::vector<std::vector<Started>> committed;  // the oldest first
};

// Of the block that runs.
struct State {
  int64_t run = -1;
  std::map<uint32_t, Barrier> barriers;
  std::vector<Box> boxes;  // on their way
  std::map<int, Warp> warps;
};

State& Now() {
  static State state;
  if (state.run != Run()) {
    state = State();
    state.run = Run();
  }
  return state;
}

Barrier& At(uint32_t address) {
  const auto found = Now().barriers.find(address);
  if (found == Now().barriers.end()) {
    Fail("a barrier is used that was not begun");
  }
  return found->second;
}

void Arrive(const Box& box) {
  for (int i = 0; i < kBoxSide; ++i) {
    for (int j = 0; j < kBoxSide; ++j) {
      const int64_t line = int64_t{box.line} + i;
      const int64_t along = int64_t{box.along} + j;
      uint16_t number = 0;
      if (line >= 0 && line < box.map.lines && along >= 0 &&
          along < box.map.length) {
        number = static_cast<const uint16_t*>(
            box.map.base)[line * box.map.length + along];
      }
      const uint32_t to =
          SwizzledAddress(box.shared + i * kBoxLineBytes + j * 2);
      std::memcpy(SharedAt(to, 2), &number, 2);
    }
  }
  Barrier& barrier = At(box.barrier);
  barrier.bytes -= kBoxSide * kBoxLineBytes;
  barrier.EndPhaseIfComplete();
}

// All that a barrier counts.
void ArriveLate(uint32_t barrier) {
  std::vector<Box> others;
  for (const Box& box : Now().boxes) {
    if (box.barrier == barrier) {
      Arrive(box);
    } else {
      others.push_back(box);
    }
  }
  Now().boxes = others;
}

template <typename T>
float NumberAt(const MatrixDescription& matrix, bool k_major, int side,
               int depth) {
  T number;
  std::memcpy(&number.bits,
              SharedAt(AddressOf(matrix, k_major, side, depth), 2), 2);
  return Widen(number);
}

constexpr int kMostSides = 256;

template <typename T>
void Multiply(const std::vector<GroupOperand>& lanes, int warp) {
  const GroupOperand& first = lanes[0];
  const MatrixDescription left = DescriptionOf(first.left);
  const MatrixDescription right = DescriptionOf(first.right);
  float products[16][kMostSides] = {};
  for (int d = 0; d < 16; ++d) {
    float rights[kMostSides];
    for (int j = 0; j < first.sides; ++j) {
      rights[j] = NumberAt<T>(right, first.right_k_major, j, d);
    }
    for (int i = 0; i < 16; ++i) {
      const float number =
          NumberAt<T>(left, first.left_k_major, warp % 4 * 16 + i, d);
      for (int j = 0; j < first.sides; ++j) {
        products[i][j] += number * rights[j];
      }
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < first.sides / 2; ++i) {
      const Place place = GroupSumOf(lane, i);
      lanes[lane].sums[i] += products[place.row][place.column];
    }
  }
}

void Finish(const Started& started, int warp) {
  started.multiply(started.lanes, warp);
}

void Finish(int warp, size_t pending) {
  auto& groups = Now().warps[warp].committed;
  while (groups.size() > pending) {
    for (const Started& started : groups.front()) Finish(started, warp);
    groups.erase(groups.begin());
  }
}

}  // namespace

MatrixDescription DescriptionOf(uint64_t descriptor) {
  const auto encoded = [&](int bit) {
    return static_cast<uint32_t>(descriptor >> bit & 0x3fff) << 4;
  };
  return {encoded(0), encoded(16), encoded(32),
          static_cast<int>(descriptor >> 49 & 7),
          static_cast<int>(descriptor >> 62)};
}

uint32_t SwizzledAddress(uint32_t address) {
  return address ^ ((address & (7u << 7)) >> 3);
}

uint32_t AddressOf(const MatrixDescription& matrix, bool k_major, int side,
                   int depth) {
  const uint32_t offset =
      k_major ? side % 8 * 128 + side / 8 * matrix.stride + depth * 2
              : side % 64 * 2 + side / 64 * matrix.leading + depth % 8 * 128 +
                    depth / 8 * matrix.stride;
  return SwizzledAddress(matrix.address + offset);
}

void InitBarrier(uint32_t barrier, int arrivals) {
  SharedAt(barrier, 8);
  if (barrier % 8 != 0) Fail("a barrier is not aligned to 8 bytes");
  Now().barriers[barrier] = {arrivals, arrivals};
}

void ArriveExpecting(uint32_t barrier, uint32_t bytes) {
  Barrier& at = At(barrier);
  at.bytes += bytes;
  --at.missing;
  at.EndPhaseIfComplete();
}

void WaitBarrier(uint32_t barrier, int parity) {
  At(barrier);
  WaitUntil([barrier, parity] {
    if (At(barrier).phase == parity) ArriveLate(barrier);
    return At(barrier).phase != parity;
  });
}

void StartBox(uint32_t shared, const cuda::TensorMap& map, int32_t along,
              int32_t line, uint32_t barrier) {
  // Else the swizzle's pattern begins elsewhere than a descriptor without a
  // base offset says.
  if (shared % 1024 != 0) Fail("a box is not aligned to 1024 bytes");
  At(barrier);
  const Box box = {shared, map, along, line, barrier};
  if (IsLate()) {
    Now().boxes.push_back(box);
  } else {
    Arrive(box);
  }
}

template <typename T>
void StartMultiply(void* const (&operands)[32]) {
  const int warp = cuda::ThreadIndex() / 32;
  Started started = {Multiply<T>, {}};
  for (void* operand : operands) {
    started.lanes.push_back(*static_cast<GroupOperand*>(operand));
    const GroupOperand& lane = started.lanes.back();
    if (lane.left != started.lanes[0].left ||
        lane.right != started.lanes[0].right) {
      Fail("the matrix descriptors of a warp differ");
    }
  }
  for (const uint64_t descriptor :
       {started.lanes[0].left, started.lanes[0].right}) {
    const MatrixDescription matrix = DescriptionOf(descriptor);
    if (matrix.swizzle != 1 || matrix.base_offset != 0) {
      Fail("a matrix descriptor is not of a swizzle of 128 bytes");
    }
  }
  if (IsLate()) {
    Now().warps[warp].started.push_back(started);
  } else {
    Finish(started, warp);
  }
}
template void StartMultiply<Float16>(void* const (&)[32]);
template void StartMultiply<BFloat16>(void* const (&)[32]);

void CommitMultiplies(void* const (&)[32]) {
  Warp& warp = Now().warps[cuda::ThreadIndex() / 32];
  warp.committed.push_back(std::move(warp.started));
  warp.started.clear();
}

template <int kPending>
void WaitMultiplies(void* const (&)[32]) {
  Finish(cuda::ThreadIndex() / 32, kPending);
}
template void WaitMultiplies<0>(void* const (&)[32]);
template void WaitMultiplies<1>(void* const (&)[32]);

}  // namespace emulator
}  // namespace blocksparse
