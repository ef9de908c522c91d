// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Which element of a matrix a lane holds in which register: the layouts of
// mma.sync and ldmatrix, as the PTX ISA (9.7.14.5, "Matrix multiply-accumulate
// operation using mma instruction") gives them. Its names: group is
// groupID = lane >> 2, and member is threadID_in_group = lane % 4.
#ifndef TF_BLOCKSPARSE_CC_TESTING_CUDA_FRAGMENTS_H_
#define TF_BLOCKSPARSE_CC_TESTING_CUDA_FRAGMENTS_H_

namespace blocksparse {
namespace emulator {

struct Place {
  int row;
  int column;
};

// a_i of mma.m16n8k16 with .f16 and .bf16, i < 8; two to a register.
inline Place LeftOf16(int lane, int i) {
  const int group = lane >> 2, member = lane % 4;
  return {(i < 2 || (4 <= i && i < 6)) ? group : group + 8,
          member * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}

// b_i of mma.m16n8k16 with .f16 and .bf16, i < 4; two to a register.
inline Place RightOf16(int lane, int i) {
  const int group = lane >> 2, member = lane % 4;
  return {member * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
}

// a_i of mma.m16n8k8 with .tf32, i < 4; one to a register.
inline Place LeftOfTf32(int lane, int i) {
  const int group = lane >> 2, member = lane % 4;
  return {i == 0 || i == 2 ? group : group + 8, i < 2 ? member : member + 4};
}

// b_i of mma.m16n8k8 with .tf32, i < 2; one to a register.
inline Place RightOfTf32(int lane, int i) {
  const int group = lane >> 2, member = lane % 4;
  return {i == 0 ? member : member + 4, group};
}

// c_i and d_i of both, i < 4; one to a register.
inline Place SumOf(int lane, int i) {
  const int group = lane >> 2, member = lane % 4;
  return {i < 2 ? group : group + 8, member * 2 + (i & 1)};
}

// d_i of wgmma.m64nNk16, i < N / 2 ("WGMMA .m64nNk16 register fragment layout
// for accumulator matrix D"), in the 16 rows of the lane's warp: the fragment
// above for each 8 columns.
inline Place GroupSumOf(int lane, int i) {
  const Place place = SumOf(lane, i % 4);
  return {place.row, i / 4 * 8 + place.column};
}

// Half i (0 the low one) of a register of ldmatrix, in an 8 x 8 matrix of which
// the lanes named the rows. With .trans the matrix is read transposed.
inline Place LoadedBy(int lane, int i, bool transposed) {
  const Place place = {lane >> 2, lane % 4 * 2 + i};
  return transposed ? Place{place.column, place.row} : place;
}

}  // namespace emulator
}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TESTING_CUDA_FRAGMENTS_H_
