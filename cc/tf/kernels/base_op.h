// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// What every OpKernel here does: attributes, checks, layout, threads, scratch.
#ifndef TF_BLOCKSPARSE_CC_TF_KERNELS_BASE_OP_H_
#define TF_BLOCKSPARSE_CC_TF_KERNELS_BASE_OP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/dtype.h"
#include "cc/base/isa.h"
#include "cc/base/parallel_for.h"
#include "cc/kernels/problem.h"
#include "cc/tf/kernels/no_memory.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace blocksparse {

// Immutable after construction: TensorFlow calls Compute from many threads.
class BaseOp : public tensorflow::OpKernel {
 public:
  explicit BaseOp(tensorflow::OpKernelConstruction* ctx);

 protected:
  // Reads input `index`. nnz is -1 to be inferred; for `taps` see
  // ParseConvLayout. The views that a product reads are still to be validated.
  absl::Status ReadLayout(tensorflow::OpKernelContext* ctx, int index,
                          int64_t taps, int64_t block_inputs,
                          int64_t block_outputs, int64_t nnz,
                          Layout* layout) const;

  // Reads the attribute of an op that makes blocks.
  static absl::Status ReadBlockSize(tensorflow::OpKernelConstruction* ctx,
                                    std::vector<int64_t>* block_size);

  // OK for an empty string, else an InvalidArgument that says so.
  static absl::Status ToStatus(const std::string& error);

  // Reads input `index` if there is a gate, else *gate is null.
  absl::Status ReadGate(tensorflow::OpKernelContext* ctx, int index,
                        int64_t nnz, const float** gate) const;

  // Where the features are, for messages.
  virtual std::string Axes() const = 0;

  // Computes on the device's threads: `plan` and `run` are the Plan and the Run
  // function of a product.
  template <typename Problem, typename Plan>
  absl::Status PlanAndRun(tensorflow::OpKernelContext* ctx,
                          const Problem& problem,
                          Plan (*plan)(const Problem&, int, Isa),
                          void (*run)(const Problem&, const Plan&,
                                      const Executor&, void*)) const {
    return CatchNoMemory([&]() -> absl::Status {
      const Executor executor = PoolOf(ctx);
      const Plan made = plan(problem, executor.threads, isa_);
      if (!made.supported()) return NoKernel(problem.layout);
      tensorflow::Tensor holder;
      void* scratch;
      TF_RETURN_IF_ERROR(
          AllocateScratch(ctx, made.scratch_bytes, &holder, &scratch));
      run(problem, made, executor, scratch);
      return absl::OkStatus();
    });
  }

  // Whether tensors lie on a GPU, but for those that are asked for in host
  // memory.
  bool on_gpu() const { return on_gpu_; }

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  int gate_count() const { return gate_count_; }
  // Whether a gate, if there is one, is of 0 and 1.
  bool gate_is_mask() const { return gate_is_mask_; }
  Dtype x_dtype() const { return x_dtype_; }
  Dtype blocks_dtype() const { return blocks_dtype_; }

 private:
  // Says that no kernel takes these dtypes, blocks and axes.
  absl::Status NoKernel(const Layout& layout) const;

  // Runs closures on the device's pool for work inside of one op.
  static Executor PoolOf(tensorflow::OpKernelContext* ctx);

  // Aligned memory that lives as long as *holder; null if bytes is 0.
  static absl::Status AllocateScratch(tensorflow::OpKernelContext* ctx,
                                      size_t bytes, tensorflow::Tensor* holder,
                                      void** scratch);

  int64_t inputs_ = 0;
  int64_t outputs_ = 0;
  int gate_count_ = 0;
  bool gate_is_mask_ = false;
  Dtype x_dtype_ = Dtype::kFloat32;
  Dtype blocks_dtype_ = Dtype::kFloat32;
  Isa isa_ = Isa::kPortable;
  bool on_gpu_ = false;
};

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_TF_KERNELS_BASE_OP_H_
