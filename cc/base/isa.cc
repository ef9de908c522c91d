// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#include "cc/base/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>

namespace blocksparse {
namespace {

Isa AskProcessor() {
#if defined(__x86_64__)
  // The builtins ask the operating system about register state, too. Clang 14
  // has no name for F16C, so the processor is asked.
  unsigned eax, ebx, ecx, edx;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
  const bool avx2 =
      f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return Isa::kAvx512;
  }
  return avx2 ? Isa::kAvx2 : Isa::kPortable;
#elif defined(__aarch64__)
  // A part of the architecture.
  return Isa::kNeon;
#else
  return Isa::kPortable;
#endif
}

}  // namespace

const char* NameOf(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kNeon:
      return "neon";
    default:
      return "portable";
  }
}

Isa DetectIsa() {
  // Once: where a hypervisor answers, that takes as long as a small product.
  static const Isa isa = AskProcessor();
  return isa;
}

bool ParseIsa(const std::string& name, Isa* isa) {
  for (Isa candidate : kIsas) {
    if (name == NameOf(candidate)) {
      *isa = candidate;
      return true;
    }
  }
  return false;
}

bool MaxIsa(Isa* isa, std::string* error) {
  *isa = DetectIsa();
  const char* wanted = std::getenv("TF_BLOCKSPARSE_MAX_ISA");
  if (wanted == nullptr || *wanted == '\0') return true;
  Isa limit;
  if (!ParseIsa(wanted, &limit)) {
    *error = std::string("TF_BLOCKSPARSE_MAX_ISA is \"") + wanted +
             "\", expected one of ";
    for (Isa known : kIsas) *error += std::string(NameOf(known)) + ", ";
    error->replace(error->size() - 2, 2, "; set it to one of them or unset it");
    return false;
  }
  *isa = std::min(*isa, limit);
  return true;
}

}  // namespace blocksparse
