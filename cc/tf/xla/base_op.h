// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What every op here does when XLA compiles it: on the CPU it becomes a call
// of its own OpKernel, elsewhere a product of XLA's with the dense weight.
#ifndef TF_BLOCKSPARSE_CC_TF_XLA_BASE_OP_H_
#define TF_BLOCKSPARSE_CC_TF_XLA_BASE_OP_H_

#include <string>
#include <vector>

#include "cc/tf/xla/weight.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"

// Registers an op for the devices that XLA compiles for. As plain kernels, not
// by REGISTER_XLA_OP: XLA reads that list only once, when it compiles for the
// first time.
#define BLOCKSPARSE_REGISTER_FOR_XLA(NAME, CLASS, TX, TB)          \
  BLOCKSPARSE_REGISTER_ON(NAME, CLASS, DEVICE_CPU_XLA_JIT, TX, TB) \
  BLOCKSPARSE_REGISTER_ON(NAME, CLASS, DEVICE_GPU_XLA_JIT, TX, TB)
#define BLOCKSPARSE_REGISTER_ON(NAME, CLASS, DEVICE, TX, TB) \
  REGISTER_KERNEL_BUILDER(Name("Blocksparse>" NAME)          \
                              .Device(tensorflow::DEVICE)    \
                              .TypeConstraint<TX>("Tx")      \
                              .TypeConstraint<TB>("Tb"),     \
                          CLASS);

namespace blocksparse {

class BaseXlaOp : public tensorflow::XlaOpKernel {
 public:
  explicit BaseXlaOp(tensorflow::OpKernelConstruction* ctx);

  void Compile(tensorflow::XlaOpKernelContext* ctx) override;

 protected:
  // Emits the op by what XLA has. `shapes` are those of the outputs.
  virtual absl::Status Emit(
      tensorflow::XlaOpKernelContext* ctx,
      const std::vector<tensorflow::TensorShape>& shapes) = 0;

  // The weight `[taps, inputs, outputs]` of a layout of one or more taps, and
  // of blocks that have one or more of them; they are the inputs 2 and 1.
  xla::XlaOp Weight(tensorflow::XlaOpKernelContext* ctx, int64_t layout_taps,
                    int64_t block_taps) const;

  // Sets the output to the blocks of such a weight.
  void SetBlocks(tensorflow::XlaOpKernelContext* ctx, xla::XlaOp weight,
                 const tensorflow::TensorShape& blocks, int64_t layout_taps,
                 int64_t block_taps) const;

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  int gate_count() const { return gate_count_; }

 private:
  WeightShape WeightOf(const tensorflow::TensorShape& blocks,
                       int64_t layout_taps, int64_t block_taps) const;

  // The gate at input 3, if there is one.
  xla::XlaOp Gate(tensorflow::XlaOpKernelContext* ctx) const;

  // The shapes of the outputs, by the op's own function of shapes.
  absl::Status InferShapes(tensorflow::XlaOpKernelContext* ctx,
                           std::vector<tensorflow::TensorShape>* shapes) const;

  absl::Status EmitCall(
      tensorflow::XlaOpKernelContext* ctx,
      const std::vector<tensorflow::TensorShape>& shapes) const;

  int64_t inputs_ = 0;
  int64_t outputs_ = 0;
  int gate_count_ = 0;
  bool calls_host_ = false;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_XLA_BASE_OP_H_
