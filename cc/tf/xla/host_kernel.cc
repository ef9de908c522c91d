// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/tf/xla/host_kernel.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/strings/escaping.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/lib/core/threadpool.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tensorflow/core/platform/errors.h"
#include "tensorflow/core/platform/mutex.h"
#include "tensorflow/core/public/version.h"

namespace blocksparse {
namespace {

using tensorflow::Allocator;
using tensorflow::AllocatorAttributes;
using tensorflow::DataType;
using tensorflow::OpKernel;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

// Memory under a tensor that does not own it.
class BorrowedBuffer : public tensorflow::TensorBuffer {
 public:
  BorrowedBuffer(void* data, size_t bytes)
      : TensorBuffer(data), bytes_(bytes) {}

  size_t size() const override { return bytes_; }
  TensorBuffer* root_buffer() override { return this; }
  bool OwnsMemory() const override { return false; }
  void FillAllocationDescription(
      tensorflow::AllocationDescription* description) const override {
    description->set_requested_bytes(bytes_);
  }

 private:
  size_t bytes_;
};

// Gives an output the memory that is there for it, and no other.
class OutputAllocator : public Allocator {
 public:
  OutputAllocator(void* data, size_t bytes) : data_(data), bytes_(bytes) {}

  std::string Name() override { return "tf_blocksparse_output"; }
  void* AllocateRaw(size_t, size_t bytes) override {
    return bytes == bytes_ ? data_ : nullptr;
  }
  void DeallocateRaw(void*) override {}

 private:
  void* data_;
  size_t bytes_;
};

// What an OpKernel sees of a device: memory and threads.
class HostDevice : public tensorflow::DeviceBase {
 public:
  explicit HostDevice(tensorflow::thread::ThreadPoolInterface* threads)
      : DeviceBase(tensorflow::Env::Default()), pool_(threads) {
    workers_.num_threads = pool_.NumThreads();
    workers_.workers = &pool_;
    set_tensorflow_cpu_worker_threads(&workers_);
  }

  Allocator* GetAllocator(AllocatorAttributes) override {
    return tensorflow::cpu_allocator();
  }

  // Outputs have the scopes from 1 on.
  Allocator* GetScopedAllocator(AllocatorAttributes attributes,
                                int64_t) override {
    return &outputs_[attributes.scope_id - 1];
  }

  AllocatorAttributes AddOutput(void* data, size_t bytes) {
    outputs_.emplace_back(data, bytes);
    AllocatorAttributes attributes;
    attributes.scope_id = static_cast<int32_t>(outputs_.size());
    return attributes;
  }

 private:
  tensorflow::thread::ThreadPool pool_;
  CpuWorkerThreads workers_;
  std::vector<OutputAllocator> outputs_;
};

absl::Status MakeKernel(absl::string_view encoded_node,
                        std::unique_ptr<OpKernel>* kernel) {
  std::string bytes;
  tensorflow::NodeDef node;
  if (!absl::WebSafeBase64Unescape(encoded_node, &bytes) ||
      !node.ParseFromString(bytes)) {
    return tensorflow::errors::Internal(
        "a call of tf_blocksparse from XLA names no op; compile it again");
  }
  absl::Status status;
  // For the CPU no OpKernel here looks at the device it is made on.
  *kernel = tensorflow::CreateOpKernel(
      tensorflow::DEVICE_CPU, /*device=*/nullptr, tensorflow::cpu_allocator(),
      node, TF_GRAPH_DEF_VERSION, &status);
  return status;
}

// One for all calls with these attributes, of which a process has few: they
// hold no more than that.
absl::Status FindKernel(absl::string_view encoded_node, OpKernel** kernel) {
  static auto* mutex = new tensorflow::mutex;
  static auto* kernels =
      new std::unordered_map<std::string, std::unique_ptr<OpKernel>>;
  tensorflow::mutex_lock lock(*mutex);
  std::unique_ptr<OpKernel>& found = (*kernels)[std::string(encoded_node)];
  if (found == nullptr) TF_RETURN_IF_ERROR(MakeKernel(encoded_node, &found));
  *kernel = found.get();
  return absl::OkStatus();
}

absl::Status MakeShape(const HostBuffer& buffer, DataType dtype,
                       TensorShape* shape, size_t* bytes) {
  TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(buffer.sizes, shape));
  *bytes = shape->num_elements() * tensorflow::DataTypeSize(dtype);
  return absl::OkStatus();
}

}  // namespace

std::string EncodeNode(const tensorflow::NodeDef& node) {
  tensorflow::NodeDef kept;
  kept.set_name(node.op());
  kept.set_op(node.op());
  for (const auto& attribute : node.attr()) {
    // Others are about where the node runs.
    if (attribute.first[0] != '_') kept.mutable_attr()->insert(attribute);
  }
  // TensorFlow counts them, and does not look for who they are.
  for (const std::string& input : node.input()) {
    if (input[0] != '^') kept.add_input("input");
  }
  std::string bytes;
  // It fails for messages of gigabytes only.
  tensorflow::SerializeToStringDeterministic(kept, &bytes);
  return absl::WebSafeBase64Escape(bytes);
}

absl::Status RunHostKernel(absl::string_view encoded_node,
                           const std::vector<HostBuffer>& inputs,
                           const std::vector<HostBuffer>& outputs,
                           tensorflow::thread::ThreadPoolInterface* threads) {
  OpKernel* kernel;
  TF_RETURN_IF_ERROR(FindKernel(encoded_node, &kernel));
  HostDevice device(threads);
  TensorShape shape;
  size_t bytes;
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size());  // values point into it
  std::vector<tensorflow::TensorValue> values;
  for (const HostBuffer& input : inputs) {
    const DataType dtype = kernel->input_type(tensors.size());
    TF_RETURN_IF_ERROR(MakeShape(input, dtype, &shape, &bytes));
    tensorflow::core::RefCountPtr<tensorflow::TensorBuffer> buffer(
        new BorrowedBuffer(input.data, bytes));
    tensors.emplace_back(dtype, shape, std::move(buffer));
    values.emplace_back(&tensors.back());
  }
  std::vector<AllocatorAttributes> attributes;
  for (const HostBuffer& output : outputs) {
    const DataType dtype = kernel->output_type(attributes.size());
    TF_RETURN_IF_ERROR(MakeShape(output, dtype, &shape, &bytes));
    attributes.push_back(device.AddOutput(output.data, bytes));
  }
  OpKernelContext::Params params;
  params.device = &device;
  params.op_kernel = kernel;
  params.inputs = values;
  params.output_attr_array = attributes.data();
  OpKernelContext ctx(&params, static_cast<int>(outputs.size()));
  kernel->Compute(&ctx);
  return ctx.status();
}

}  // namespace blocksparse
