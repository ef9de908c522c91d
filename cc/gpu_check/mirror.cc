// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/mirror.h"

#include <cstring>
#include <stdexcept>

#include "cc/base/message.h"

namespace blocksparse {
namespace cuda {
namespace {

// More than a tile's line is long: whoever goes on for one too many lands here.
constexpr size_t kGuard = 4096;
constexpr size_t kAlignment = 256;  // as far as kernels ask for
constexpr char kPoison = '\xff';

int64_t TapsOf(const MatmulProblem&) { return 1; }
int64_t TapsOf(const SampledMatmulProblem&) { return 1; }
template <typename Problem>
int64_t TapsOf(const Problem& p) {
  return p.shared_taps ? p.geometry.taps() : 1;
}

template <typename Problem>
int64_t BlocksBytes(const Problem& p) {
  return p.layout.nnz * TapsOf(p) * p.layout.block_inputs *
         p.layout.block_outputs * SizeOf(p.blocks_dtype);
}

template <typename Problem>
const float* OperandGate(const Problem& p, Mirror* mirror) {
  return static_cast<const float*>(
      mirror->Operand(p.gate, p.layout.nnz * int64_t{sizeof(float)}));
}

}  // namespace

char* Mirror::Place(const void* from, void* to, size_t alignment,
                    size_t bytes) {
  size_t begin = end_ + kGuard;
  begin += (kAlignment + alignment - begin % kAlignment) % kAlignment;
  if (begin + bytes + kGuard > memory_.bytes()) {
    throw std::runtime_error(
        Message("a problem needs more than ", memory_.bytes(), " bytes"));
  }
  pieces_.push_back({from, to, begin, bytes});
  end_ = begin + bytes;
  return memory_.data() + begin;
}

const void* Mirror::Operand(const void* host, int64_t bytes) {
  if (host == nullptr) return nullptr;
  return Place(host, nullptr, reinterpret_cast<uintptr_t>(host) % kAlignment,
               bytes);
}

void* Mirror::Output(void* host, int64_t bytes) {
  if (host == nullptr) return nullptr;
  return Place(nullptr, host, reinterpret_cast<uintptr_t>(host) % kAlignment,
               bytes);
}

void* Mirror::Scratch(size_t bytes) {
  return Place(nullptr, nullptr, 0, bytes);
}

void Mirror::Send() {
  sent_.assign(end_ + kGuard, kPoison);
  for (const Piece& piece : pieces_) {
    if (piece.from != nullptr && piece.bytes > 0) {
      std::memcpy(sent_.data() + piece.begin, piece.from, piece.bytes);
    }
  }
  ToDevice(memory_.data(), sent_.data(), sent_.size());
}

std::string Mirror::Fetch() {
  std::vector<char> got(sent_.size());
  ToHost(got.data(), memory_.data(), got.size());
  for (const Piece& piece : pieces_) {
    if (piece.from != nullptr || piece.bytes == 0) continue;
    char* const begin = got.data() + piece.begin;
    if (piece.to != nullptr) std::memcpy(piece.to, begin, piece.bytes);
    std::memset(begin, kPoison, piece.bytes);  // as it was sent
  }
  std::string error;
  for (size_t i = 0; i < got.size() && error.empty(); ++i) {
    if (got[i] == sent_[i]) continue;
    error = Message("wrote ", i, " bytes from the begin of memory, outside of",
                    " the outputs");
  }
  pieces_.clear();
  end_ = 0;
  return error;
}

MatmulProblem OnDevice(const MatmulProblem& problem, Mirror* mirror) {
  const Layout& layout = problem.layout;
  const int64_t x_size = SizeOf(problem.x_dtype);
  const int64_t sources = problem.transpose ? layout.outputs : layout.inputs;
  const int64_t targets = problem.transpose ? layout.inputs : layout.outputs;
  MatmulProblem p = problem;
  p.x = mirror->Operand(p.x, p.rows * sources * x_size);
  p.blocks = mirror->Operand(p.blocks, BlocksBytes(problem));
  p.gate = OperandGate(problem, mirror);
  p.bias = mirror->Operand(p.bias, targets * x_size);
  p.y = mirror->Output(p.y, p.rows * targets * x_size);
  p.preactivation = mirror->Output(p.preactivation, p.rows * targets * x_size);
  return p;
}

SampledMatmulProblem OnDevice(const SampledMatmulProblem& problem,
                              Mirror* mirror) {
  const Layout& layout = problem.layout;
  const int64_t x_size = SizeOf(problem.x_dtype);
  SampledMatmulProblem p = problem;
  p.a = mirror->Operand(p.a, p.rows * layout.inputs * x_size);
  p.b = mirror->Operand(p.b, p.rows * layout.outputs * x_size);
  p.gate = OperandGate(problem, mirror);
  p.blocks = mirror->Output(p.blocks, BlocksBytes(problem));
  return p;
}

ConvProblem OnDevice(const ConvProblem& problem, Mirror* mirror) {
  const ConvGeometry& g = problem.geometry;
  const int64_t x_size = SizeOf(problem.x_dtype);
  const int64_t fine = g.batch * g.fine_pixels();
  const int64_t coarse = g.batch * g.coarse_pixels();
  const int64_t y_features =
      problem.transpose ? problem.inputs : problem.outputs;
  const int64_t y_bytes =
      (problem.adjoint ? fine : coarse) * y_features * x_size;
  ConvProblem p = problem;
  p.x = mirror->Operand(p.x, (p.adjoint ? coarse : fine) *
                                 (p.transpose ? p.outputs : p.inputs) * x_size);
  p.blocks = mirror->Operand(p.blocks, BlocksBytes(problem));
  p.gate = OperandGate(problem, mirror);
  p.bias = mirror->Operand(p.bias, y_features * x_size);
  p.y = mirror->Output(p.y, y_bytes);
  p.preactivation = mirror->Output(p.preactivation, y_bytes);
  return p;
}

ConvSampledProblem OnDevice(const ConvSampledProblem& problem, Mirror* mirror) {
  const ConvGeometry& g = problem.geometry;
  const int64_t x_size = SizeOf(problem.x_dtype);
  const int64_t fine_features =
      problem.adjoint ? problem.outputs : problem.inputs;
  const int64_t coarse_features =
      problem.adjoint ? problem.inputs : problem.outputs;
  ConvSampledProblem p = problem;
  p.fine = mirror->Operand(p.fine,
                           g.batch * g.fine_pixels() * fine_features * x_size);
  p.coarse = mirror->Operand(
      p.coarse, g.batch * g.coarse_pixels() * coarse_features * x_size);
  p.gate = OperandGate(problem, mirror);
  p.blocks = mirror->Output(p.blocks, BlocksBytes(problem));
  return p;
}

}  // namespace cuda
}  // namespace blocksparse
