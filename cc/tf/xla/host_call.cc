// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Written for the C interface of XLA's FFI, which every TensorFlow since 2.19
// ships; the C++ one on top of it has come later, and changes.
#include "cc/tf/xla/host_call.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "cc/tf/xla/host_kernel.h"
#include "xla/ffi/api/c_api.h"

namespace xla::ffi {
// Of xla/ffi/ffi_api.h, which would include headers of MLIR.
const XLA_FFI_Api* GetXlaFfiApi();
}  // namespace xla::ffi

namespace blocksparse {
namespace {

void Ignore(const XLA_FFI_Api* api, XLA_FFI_Error* error) {
  if (error == nullptr) return;
  XLA_FFI_Error_Destroy_Args args = {};
  args.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE;
  args.error = error;
  api->XLA_FFI_Error_Destroy(&args);
}

XLA_FFI_Error* ToError(const XLA_FFI_Api* api, const absl::Status& status) {
  if (status.ok()) return nullptr;
  const std::string message(status.message());
  XLA_FFI_Error_Create_Args args = {};
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message.c_str();
  args.errc = static_cast<XLA_FFI_Error_Code>(status.code());  // the same codes
  return api->XLA_FFI_Error_Create(&args);
}

// The threads that XLA runs the program on: TensorFlow's, for work inside of
// one op.
class Threads : public tensorflow::thread::ThreadPoolInterface {
 public:
  explicit Threads(const XLA_FFI_CallFrame* frame)
      : api_(frame->api), ctx_(frame->ctx) {}

  void Schedule(std::function<void()> closure) override {
    auto* owned = new std::function<void()>(std::move(closure));
    XLA_FFI_ThreadPool_Schedule_Args args = {};
    args.struct_size = XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE;
    args.ctx = ctx_;
    args.task = Run;
    args.data = owned;
    XLA_FFI_Error* error = api_->XLA_FFI_ThreadPool_Schedule(&args);
    if (error == nullptr) return;
    Ignore(api_, error);
    Run(owned);
  }

  int NumThreads() const override {
    int64_t count = 1;
    XLA_FFI_ThreadPool_NumThreads_Args args = {};
    args.struct_size = XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE;
    args.ctx = ctx_;
    args.num_threads = &count;
    // XLA may have been given no threads; the caller is one.
    Ignore(api_, api_->XLA_FFI_ThreadPool_NumThreads(&args));
    return static_cast<int>(std::max<int64_t>(1, count));
  }

  int CurrentThreadId() const override { return -1; }

 private:
  static void Run(void* data) {
    auto* closure = static_cast<std::function<void()>*>(data);
    (*closure)();
    delete closure;
  }

  const XLA_FFI_Api* api_;
  XLA_FFI_ExecutionContext* ctx_;
};

std::vector<HostBuffer> ReadBuffers(void** buffers, int64_t count) {
  std::vector<HostBuffer> read;
  for (int64_t i = 0; i < count; ++i) {
    const auto* buffer = static_cast<const XLA_FFI_Buffer*>(buffers[i]);
    read.push_back(
        {buffer->data,
         absl::MakeConstSpan(buffer->dims, static_cast<size_t>(buffer->rank))});
  }
  return read;
}

XLA_FFI_Error* Execute(XLA_FFI_CallFrame* frame) {
  const XLA_FFI_Extension_Base* extension = frame->extension_start;
  if (extension != nullptr && extension->type == XLA_FFI_Extension_Metadata) {
    // Not a call, but a question for which interface this was built.
    XLA_FFI_Api_Version* version =
        &reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)
             ->metadata->api_version;
    version->major_version = XLA_FFI_API_MAJOR;
    version->minor_version = XLA_FFI_API_MINOR;
    return nullptr;
  }
  // HostCallConfig gives it one attribute.
  const auto* node = static_cast<XLA_FFI_ByteSpan*>(frame->attrs.attrs[0]);
  Threads threads(frame);
  return ToError(
      frame->api,
      RunHostKernel(absl::string_view(node->ptr, node->len),
                    ReadBuffers(frame->args.args, frame->args.size),
                    ReadBuffers(frame->rets.rets, frame->rets.size), &threads));
}

XLA_FFI_ByteSpan ToSpan(absl::string_view text) {
  return {text.data(), text.size()};
}

bool Register() {
  const XLA_FFI_Api* api = xla::ffi::GetXlaFfiApi();
  XLA_FFI_Handler_Register_Args args = {};
  args.struct_size = XLA_FFI_Handler_Register_Args_STRUCT_SIZE;
  args.name = ToSpan(kHostCall);
  args.platform = ToSpan("Host");
  args.bundle.execute = Execute;
  XLA_FFI_Error* error = api->XLA_FFI_Handler_Register(&args);
  Ignore(api, error);
  return error == nullptr;
}

const bool kRegistered = Register();

}  // namespace

bool HasHostCall() { return kRegistered; }

std::string HostCallConfig(const std::string& encoded_node) {
  return "{node = \"" + encoded_node + "\"}";
}

}  // namespace blocksparse
