// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/gpu_check/correctness.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cc/base/message.h"
#include "cc/gpu_check/conv_products.h"
#include "cc/gpu_check/mirror.h"
#include "cc/gpu_check/numbers.h"
#include "cc/gpu_check/products.h"

namespace blocksparse {
namespace cuda {
namespace {

// The largest case takes some of it, with its scratch.
constexpr size_t kMirrorBytes = size_t{256} << 20;

using Types = std::pair<Dtype, Dtype>;

template <typename Product>
std::set<Types> AllTypes() {
  std::set<Types> all;
  for (const auto& kernel : Product::Kernels()) {
    all.insert({kernel.x_dtype, kernel.blocks_dtype});
  }
  return all;
}

template <typename Product>
std::string ChosenName(const Types& types) {
  return Message("chosen ", Product::kName, " ", NameOf(types.first), " ",
                 NameOf(types.second));
}

bool IsAsked(const std::string& name, const CorrectnessOptions& options) {
  return name.find(options.only) != std::string::npos;
}

// When a kernel's time is up.
class Deadlines {
 public:
  explicit Deadlines(const CorrectnessOptions& options)
      : start_(std::chrono::steady_clock::now()),
        each_(options.seconds / std::max<int64_t>(1, CountKernels(options))) {}

  void NextKernel() { ++kernels_; }
  bool IsOver() const {
    const std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start_;
    return passed.count() >= each_ * kernels_;
  }

 private:
  const std::chrono::steady_clock::time_point start_;
  const double each_;
  int64_t kernels_ = 0;
};

// Drawn, so that whatever part of a table there is time for has some of all.
template <typename T>
std::vector<T> Shuffled(std::vector<T> items, uint64_t seed) {
  Draws draws(seed);
  for (size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[draws.Below(static_cast<int64_t>(i))]);
  }
  return items;
}

template <typename Product>
class Checker {
 public:
  using Problem = typename Product::Problem;
  using Plan = typename Product::Plan;
  using Shape = typename Product::Shape;
  using Planner = std::function<std::string(const Problem&, Plan*)>;
  using Report = std::function<void(const KernelReport&)>;

  Checker(const Device& device, const CorrectnessOptions& options,
          const Report& report, Deadlines* deadlines, Mirror* mirror)
      : device_(device),
        options_(options),
        report_(report),
        deadlines_(deadlines),
        mirror_(mirror) {}

  void CheckAll() {
    size_t place = 0;
    for (const auto& kernel : Product::Kernels()) {
      CheckKernel(kernel, place++);
    }
    for (const Types& types : AllTypes<Product>()) CheckChosen(types);
  }

 private:
  void Begin(const std::string& name) {
    found_ = KernelReport();
    found_.kernel = name;
    deadlines_->NextKernel();
  }

  void CheckKernel(const typename Product::Kernel& kernel, size_t place) {
    if (!IsAsked(kernel.name, options_)) return;
    Device device = device_;
    device.tensor_float_32 = true;
    const Planner plan = [&](const Problem& problem, Plan* made) {
      return Product::PlanWith(kernel, problem, device, made);
    };
    const auto takes = [&](const Problem& problem) {
      return Takes(kernel, problem, device);
    };
    Begin(kernel.name);
    const Types types = {kernel.x_dtype, kernel.blocks_dtype};
    // These first: there are few of them, which ask most of it.
    const std::vector<Shape> own = Product::OwnShapes(kernel);
    for (size_t i = 0; i < own.size(); i += options_.step) {
      CheckCase(own[i], types, Fill::kUniform, Ulps(kernel), takes, plan);
    }
    const std::vector<Shape> shapes =
        Shuffled(Product::ExactShapes(kernel, place), options_.seed);
    for (size_t i = 0; i < shapes.size(); i += options_.step) {
      CheckCase(shapes[i], types, Fill::kIntegers, 0, takes, plan);
    }
    if (found_.cases > 0) report_(found_);
  }

  // Whatever kernel the library chooses, with TF32 and without.
  void CheckChosen(const Types& types) {
    const std::string name = ChosenName<Product>(types);
    if (!IsAsked(name, options_)) return;
    Begin(name);
    const std::vector<Shape> shapes =
        Shuffled(Product::ChosenShapes(), options_.seed);
    for (size_t i = 0; i < shapes.size(); i += options_.step) {
      Device device = device_;
      device.tensor_float_32 = i % 2 == 0;
      CheckCase(
          shapes[i], types, Fill::kIntegers, 0,
          [](const Problem&) { return true; },
          [&](const Problem& problem, Plan* made) {
            return Product::Choose(problem, device, made);
          });
    }
    report_(found_);
  }

  template <typename Takes>
  void CheckCase(const Shape& shape, const Types& types, Fill fill, double ulps,
                 const Takes& takes, const Planner& plan) {
    if (!found_.failure.empty()) return;
    if (found_.cases > 0 && deadlines_->IsOver()) {
      ++found_.left_out;
      return;
    }
    const uint64_t seed = options_.seed + found_.cases;
    typename Product::Case test(shape, types.first, types.second, fill, seed);
    if (!takes(Product::ProblemOf(test))) return;
    ++found_.cases;
    std::string error;
    const std::string difference = Product::Check(
        &test, [&](const Problem& p) { error = RunOnDevice(p, plan); }, ulps);
    // A difference names its case.
    found_.failure =
        error.empty() ? difference : Message(error, ": ", shape.ToString());
  }

  std::string RunOnDevice(const Problem& problem, const Planner& planner) {
    try {
      const Problem p = OnDevice(problem, mirror_);
      Plan plan;
      std::string error = planner(p, &plan);
      void* const scratch = mirror_->Scratch(plan.scratch_bytes);
      mirror_->Send();
      if (error.empty()) error = Product::Run(p, plan, scratch);
      if (found_.kernel == options_.plant) {
        FillBytes(Product::OutputOf(p), 0x55, 1);
      }
      const std::string elsewhere = mirror_->Fetch();
      return error.empty() ? elsewhere : error;
    } catch (const std::runtime_error& thrown) {
      throw std::runtime_error(Message(found_.kernel, ": ", thrown.what()));
    }
  }

  const Device device_;
  const CorrectnessOptions& options_;
  const Report& report_;
  Deadlines* const deadlines_;
  Mirror* const mirror_;
  KernelReport found_;
};

template <typename Product>
int64_t Count(const CorrectnessOptions& options) {
  int64_t count = 0;
  for (const auto& kernel : Product::Kernels()) {
    count += IsAsked(kernel.name, options);
  }
  for (const Types& types : AllTypes<Product>()) {
    count += IsAsked(ChosenName<Product>(types), options);
  }
  return count;
}

}  // namespace

void CheckKernels(const Device& device, const CorrectnessOptions& options,
                  const std::function<void(const KernelReport&)>& report) {
  Mirror mirror(kMirrorBytes);
  Deadlines deadlines(options);
  Checker<MatmulProduct>(device, options, report, &deadlines, &mirror)
      .CheckAll();
  Checker<SampledMatmulProduct>(device, options, report, &deadlines, &mirror)
      .CheckAll();
  Checker<ConvProduct>(device, options, report, &deadlines, &mirror).CheckAll();
  Checker<ConvSampledProduct>(device, options, report, &deadlines, &mirror)
      .CheckAll();
}

int64_t CountKernels(const CorrectnessOptions& options) {
  return Count<MatmulProduct>(options) + Count<SampledMatmulProduct>(options) +
         Count<ConvProduct>(options) + Count<ConvSampledProduct>(options);
}

}  // namespace cuda
}  // namespace blocksparse
