// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Whether the CUDA kernels are right on the GPU that is there, and how long
// they take. It needs the CUDA toolkit and nothing else.
//
//   gpu_check device
//   gpu_check correctness [--seed=N] [--step=N] [--seconds=N] [--only=TEXT]
//                         [--plant=KERNEL]
//   gpu_check speed [--seed=N] [--samples=N] [--cublas=LIBRARY]
//
// Answers are lines of JSON on stdout, for benchmarks/gpu_check.py; what goes
// on is told on stderr. `correctness` runs every kernel by its name on its
// cases, and those that the library chooses; --step leaves cases out, and so
// does --seconds, but one of each kernel; --plant names a kernel whose results
// are made wrong, which has to be found. `speed`
// answers each line of stdin, one of
//
//   bandwidth
//   sparse forward|dx|dw f32|tf32|f16|bf16 ROWS INPUTS OUTPUTS BLOCK DENSITY
//   dense forward|dx|dw f32|tf32|f16|bf16 ROWS INPUTS OUTPUTS
//   conv forward|dx|dw f32|tf32|f16|bf16 IMAGES SIDE INPUTS OUTPUTS BLOCK
//       DENSITY
//
// It ends with 0 if all is well, with 1 if a result is wrong, with 2 if it
// can't run, such as without a GPU or a driver.
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>

#include "cc/base/message.h"
#include "cc/gpu_check/correctness.h"
#include "cc/gpu_check/device.h"
#include "cc/gpu_check/json_line.h"
#include "cc/gpu_check/speed.h"
#include "cc/gpu_check/speed_case.h"

namespace blocksparse {
namespace cuda {
namespace {

constexpr int kRight = 0;
constexpr int kWrong = 1;
constexpr int kCannotRun = 2;

struct Options {
  CorrectnessOptions correctness;
  int samples = 5;
  std::string cublas;
};

// Whether `argument` is --name=..., and what comes after.
bool Reads(const std::string& argument, const std::string& name,
           std::string* value) {
  const std::string begin = "--" + name + "=";
  if (argument.compare(0, begin.size(), begin) != 0) return false;
  *value = argument.substr(begin.size());
  return true;
}

uint64_t Number(const std::string& name, const std::string& value,
                uint64_t least, uint64_t most) {
  std::istringstream stream(value);
  uint64_t number = 0;
  if (stream >> number && stream.eof() && number >= least && number <= most &&
      value.front() != '-') {
    return number;
  }
  throw std::invalid_argument(Message("--", name, ": got ", value,
                                      ", expected an integer from ", least,
                                      " to ", most));
}

Options ReadOptions(int argc, char** argv) {
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  Options options;
  options.correctness.seed = std::random_device()();
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    std::string value;
    if (Reads(argument, "seed", &value)) {
      options.correctness.seed =
          Number("seed", value, 0, std::numeric_limits<uint64_t>::max());
    } else if (Reads(argument, "step", &value)) {
      options.correctness.step =
          static_cast<int>(Number("step", value, 1, kMost));
    } else if (Reads(argument, "seconds", &value)) {
      options.correctness.seconds =
          static_cast<double>(Number("seconds", value, 0, kMost));
    } else if (Reads(argument, "samples", &value)) {
      options.samples = static_cast<int>(Number("samples", value, 1, kMost));
    } else if (Reads(argument, "only", &value)) {
      options.correctness.only = value;
    } else if (Reads(argument, "plant", &value)) {
      options.correctness.plant = value;
    } else if (Reads(argument, "cublas", &value)) {
      options.cublas = value;
    } else {
      throw std::invalid_argument(
          Message("got ", argument, ", expected --seed=N, --step=N, ",
                  "--seconds=N, --only=, --plant=, --samples=N or --cublas="));
    }
  }
  return options;
}

int PrintDevice(const DeviceFacts& facts) {
  JsonLine()
      .Add("name", facts.name)
      .Add("capability", facts.device.capability)
      .Add("multiprocessors", facts.device.multiprocessors)
      .Add("memory_bytes", static_cast<double>(facts.memory_bytes))
      .Add("cache_bytes", static_cast<double>(facts.cache_bytes))
      .Add("driver", facts.driver)
      .Add("runtime", facts.runtime)
      .Print();
  return kRight;
}

int RunCorrectness(const DeviceFacts& facts,
                   const CorrectnessOptions& options) {
  JsonLine()
      .Add("kernels", static_cast<double>(CountKernels(options)))
      .Add("seed", static_cast<double>(options.seed))
      .Print();
  std::fprintf(stderr, "%s, --seed=%llu\n", facts.name.c_str(),
               static_cast<unsigned long long>(options.seed));
  int64_t kernels = 0, cases = 0, wrong = 0;
  try {
    CheckKernels(facts.device, options, [&](const KernelReport& report) {
      JsonLine()
          .Add("kernel", report.kernel)
          .Add("cases", static_cast<double>(report.cases))
          .Add("left_out", static_cast<double>(report.left_out))
          .Add("failure", report.failure)
          .Print();
      ++kernels;
      cases += report.cases;
      if (report.failure.empty()) return;
      ++wrong;
      std::fprintf(stderr, "WRONG %s: %s\n", report.kernel.c_str(),
                   report.failure.c_str());
    });
  } catch (const std::runtime_error& error) {
    // It can't be told whose fault a kernel's is that ran before.
    JsonLine().Add("ended", error.what()).Print();
    std::fprintf(stderr, "WRONG and ended: %s\n", error.what());
    return kWrong;
  }
  if (cases == 0) {
    std::fprintf(stderr, "nothing was checked: --only names no kernel\n");
    return kCannotRun;
  }
  std::fprintf(stderr, "%lld kernels on %lld cases: %lld are wrong\n",
               static_cast<long long>(kernels), static_cast<long long>(cases),
               static_cast<long long>(wrong));
  return wrong == 0 ? kRight : kWrong;
}

void Answer(const std::string& line, Speed* speed) {
  if (line == "bandwidth") {
    JsonLine().Add("bytes_per_second", speed->CopyBandwidth()).Print();
    return;
  }
  const SpeedResult result = speed->Time(ReadCase(line));
  JsonLine()
      .Add("kernel", result.kernel)
      .Add("seconds", result.timed.median)
      .Add("fastest", result.timed.fastest)
      .Add("samples", result.timed.samples)
      .Add("flops", result.flops)
      .Add("bytes", result.bytes)
      .Add("error", result.error)
      .Print();
}

int RunSpeed(const DeviceFacts& facts, const Options& options) {
  std::unique_ptr<Cublas> cublas;
  std::string reason;
  if (!options.cublas.empty()) {
    try {
      cublas = std::make_unique<Cublas>(options.cublas);
    } catch (const std::runtime_error& error) {
      reason = error.what();
    }
  }
  JsonLine()
      .Add("ready", facts.name)
      .Add("dense", cublas == nullptr ? "" : "cuBLAS")
      .Add("reason", reason)
      .Print();
  Speed speed(facts, options.correctness.seed, options.samples, cublas.get());
  std::string line;
  while (std::getline(std::cin, line)) Answer(line, &speed);
  return kRight;
}

int Main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const Options options = ReadOptions(argc, argv);
  if (mode != "device" && mode != "correctness" && mode != "speed") {
    throw std::invalid_argument("expected device, correctness or speed");
  }
  const DeviceFacts facts = LookAtDevice();
  if (mode == "device") return PrintDevice(facts);
  if (mode == "speed") return RunSpeed(facts, options);
  return RunCorrectness(facts, options.correctness);
}

}  // namespace
}  // namespace cuda
}  // namespace blocksparse

int main(int argc, char** argv) {
  try {
    return blocksparse::cuda::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_check: %s\n", error.what());
    return blocksparse::cuda::kCannotRun;
  }
}
