// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Instruction sets a kernel may be built for, and which of them may
// run here.
#ifndef TF_BLOCKSPARSE_CC_BASE_ISA_H_
#define TF_BLOCKSPARSE_CC_BASE_ISA_H_

#include <string>

namespace blocksparse {

enum class Isa { kPortable, kAvx2, kAvx512, kNeon };

// Those that this code is compiled for. Ordered: a machine that runs one runs
// all before it.
#if defined(__x86_64__)
constexpr Isa kIsas[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512};
#elif defined(__aarch64__)
constexpr Isa kIsas[] = {Isa::kPortable, Isa::kNeon};
#else
constexpr Isa kIsas[] = {Isa::kPortable};
#endif

const char* NameOf(Isa isa);

// The best set this processor and operating system support.
Isa DetectIsa();

// Reads the name of one of kIsas; false if it is none of them.
bool ParseIsa(const std::string& name, Isa* isa);

// DetectIsa(), lowered by the environment variable TF_BLOCKSPARSE_MAX_ISA.
// An unknown name there returns false and says so in *error.
bool MaxIsa(Isa* isa, std::string* error);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BASE_ISA_H_
