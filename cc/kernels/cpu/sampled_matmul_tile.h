// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// One tile of a sampled product:
//
//   acc[kGroup][kColumns] = 0
//   for each row n:
//     acc[i][j] += broadcast(a[n][i]) * b[n][j]
//
// where j counts registers of columns, whichever block they belong to. Blocks
// whose columns fill no whole registers are folded: kFold rows of them share
// one, lane by lane, a's broadcast repeats as many rows, and lanes of one
// column are added up at the end.
#ifndef TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_TILE_H_
#define TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_TILE_H_

#include "cc/kernels/cpu/kernel_table.h"
#include "cc/kernels/cpu/sampled_matmul_pack.h"

namespace blocksparse {
namespace BLOCKSPARSE_ISA {

// A register of columns: where it is read, and where its sums go.
template <typename T>
struct SampledColumns {
  const T* panel;   // row 0
  int64_t sums;     // the place of row 0 among the blocks
  int64_t outputs;  // columns that exist, from here on
  T scale;
};

// What the tiles of a task have in common.
template <typename T, typename To>
struct SampledTiles {
  int64_t steps;     // of kFold rows
  int64_t a_stride;  // of a step
  int64_t b_stride;
  int64_t stride;    // of a row of a block
  const T* earlier;  // sums of earlier passes, like blocks, or null
  To* blocks;
  bool scale;
};

// Lane l: the sum of lanes 2 l and 2 l + 1 of low, high.
template <typename V, int... kLane>
inline V AddPairs(V low, V high, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(low, high, 2 * kLane...) +
         __builtin_shufflevector(low, high, (2 * kLane + 1)...);
}

// The sums of kFold rows of a folded block, from `first` on, one row after the
// other.
template <int kFold, int kColumns, int kGroup, typename V>
inline V Unfold(const V (&acc)[kGroup][kColumns], int first, int column) {
  if constexpr (kFold == 1) {
    return first < kGroup ? acc[first][column] : V{};
  } else {
    constexpr int kLanes = sizeof(V) / sizeof(acc[0][0][0]);
    return AddPairs(Unfold<kFold / 2>(acc, first, column),
                    Unfold<kFold / 2>(acc, first + kFold / 2, column),
                    std::make_integer_sequence<int, kLanes>());
  }
}

// Lanes [first, first + count) of a register from memory, the others 0.
template <int kLanes, typename T>
inline Vector<T, kLanes> LoadPart(const T* from, int64_t first, int64_t count) {
#if defined(__AVX512F__)
  typedef Vector<T, kLanes> V;
  const uint32_t lanes = ((1u << count) - 1) << first;
  if constexpr (sizeof(T) == 4) {
    return (V)_mm512_maskz_loadu_epi32(lanes, from - first);
  } else {
    return (V)_mm512_maskz_loadu_epi64(lanes, from - first);
  }
#else
  Vector<T, kLanes> value = {};
  for (int64_t k = 0; k < count; ++k) value[first + k] = from[k];
  return value;
#endif
}

// Stores lanes [first, first + count) only.
template <int kLanes, typename T, typename To>
inline void StorePart(Vector<T, kLanes> value, int64_t first, int64_t count,
                      To* to) {
  To all[kLanes];
  Store<kLanes>(value, all);
#if defined(__AVX512F__)
  const uint32_t lanes = ((1u << count) - 1) << first;
  if constexpr (sizeof(To) == 2) {
    _mm256_mask_storeu_epi16(to - first, lanes, LoadBits<__m256i>(all));
  } else if constexpr (sizeof(To) == 4) {
    _mm512_mask_storeu_epi32(to - first, lanes, LoadBits<__m512i>(all));
  } else {
    _mm512_mask_storeu_epi64(to - first, lanes, LoadBits<__m512i>(all));
  }
#else
  for (int64_t k = 0; k < count; ++k) to[k] = all[first + k];
#endif
}

// Rows of blocks from `first` on, in kColumns registers of columns.
template <typename T>
struct SampledPlace {
  const SampledColumns<T>* columns;
  int64_t first;
};

// Finishes a tile whose registers do not lie in memory as they are, a row at a
// time. First all loads, then all stores: a load waits for a store under way
// whose register overlaps its own, even if their lanes do not. Mixed, blocks of
// 22 and 700 rows took a quarter longer.
template <int kFold, int kGroup, int kStored, int kColumns, typename V,
          typename T, typename To>
__attribute__((always_inline)) inline void StoreParts(
    const SampledTiles<T, To>& tiles, V (&sums)[kStored][kColumns],
    SampledPlace<T> place) {
  constexpr int kFull = kFullLanes<T>;
  constexpr int kLanes = kFull / kFold;
  const int64_t stride = tiles.stride;
  int64_t at[kColumns];
  int64_t count[kColumns];
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
    const SampledColumns<T>& columns = place.columns[j];
    at[j] = columns.sums + place.first * stride;
    count[j] = columns.outputs < kLanes ? columns.outputs : kLanes;
    if (tiles.earlier != nullptr) {
#pragma GCC unroll 8
      for (int i = 0; i < kGroup; ++i) {
        sums[i / kFold][j] += LoadPart<kFull>(
            tiles.earlier + at[j] + i * stride, i % kFold * kLanes, count[j]);
      }
    }
    if (tiles.scale) {
#pragma GCC unroll 8
      for (int i = 0; i < kStored; ++i) sums[i][j] *= columns.scale;
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 8
    for (int i = 0; i < kGroup; ++i) {
      StorePart<kFull, T>(sums[i / kFold][j], i % kFold * kLanes, count[j],
                          tiles.blocks + at[j] + i * stride);
    }
  }
}

// Rows [first, first + kGroup) of the blocks in kColumns registers of columns.
// Apart from what calls it, so that the compiler keeps all sums in registers.
template <int kFold, int kGroup, int kColumns, typename T, typename To>
__attribute__((noinline)) void MultiplySampled(const SampledTiles<T, To>& tiles,
                                               const T* a,
                                               SampledPlace<T> place,
                                               SampledPlace<T> next,
                                               bool whole) {
  constexpr int kLanes = kFullLanes<T>;
  // Registers of sums in the end, of kFold rows each.
  constexpr int kStored = (kGroup + kFold - 1) / kFold;
  typedef Vector<T, kLanes> V;
  const int64_t stride = tiles.stride;
  const int64_t a_stride = tiles.a_stride;
  const int64_t b_stride = tiles.b_stride;
  const T* b_rows[kColumns];
  To* ahead[kColumns];
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
    b_rows[j] = place.columns[j].panel;
    ahead[j] = tiles.blocks + next.columns[j].sums + next.first * stride;
  }
  V acc[kGroup][kColumns] = {};
  int64_t n = 0;
  int64_t offset = 0;
  for (int piece = 0; piece < kStored; ++piece) {
    // Lines that the next tile writes, spread over the time until then.
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      PrefetchWrite(ahead[j] + piece * kFold * stride);
    }
    const int64_t stop = tiles.steps * (piece + 1) / kStored;
    for (; n < stop; ++n) {
      V b[kColumns];
#pragma GCC unroll 8
      for (int j = 0; j < kColumns; ++j) {
        b[j] = Load<kLanes>(b_rows[j] + offset);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kGroup; ++i) {
        const V scale = BroadcastRows<kFold, kLanes>(a + i * kFold);
#pragma GCC unroll 8
        for (int j = 0; j < kColumns; ++j) acc[i][j] += b[j] * scale;
      }
      a += a_stride;
      offset += b_stride;
    }
  }
  V sums[kStored][kColumns];
#pragma GCC unroll 8
  for (int i = 0; i < kStored; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j)
      sums[i][j] = Unfold<kFold>(acc, i * kFold, j);
  }
  if (!whole) {
    StoreParts<kFold, kGroup>(tiles, sums, place);
    return;
  }
  if (tiles.earlier != nullptr) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      const T* earlier =
          tiles.earlier + place.columns[j].sums + place.first * stride;
#pragma GCC unroll 8
      for (int i = 0; i < kStored; ++i)
        sums[i][j] += Load<kLanes>(earlier + i * kFold * stride);
    }
  }
  if (tiles.scale) {
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 8
      for (int i = 0; i < kStored; ++i) sums[i][j] *= place.columns[j].scale;
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
    To* to = tiles.blocks + place.columns[j].sums + place.first * stride;
#pragma GCC unroll 8
    for (int i = 0; i < kStored; ++i)
      Store<kLanes>(sums[i][j], to + i * kFold * stride);
  }
}

}  // namespace BLOCKSPARSE_ISA
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_KERNELS_CPU_SAMPLED_MATMUL_TILE_H_
