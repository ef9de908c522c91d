// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
// Instruction sets a kernel may be built for, and which of them may
// run here.
#ifndef TF_BLOCKSPARSE_CC_BASE_ISA_H_
#define TF_BLOCKSPARSE_CC_BASE_ISA_H_

#include <string>

namespace blocksparse {

// Ordered: a machine that runs one runs all before it.
enum class Isa { kPortable = 0, kAvx2 = 1, kAvx512 = 2 };

const char* NameOf(Isa isa);

// The best set this processor and operating system support.
Isa DetectIsa();

// Reads a name ("portable", "avx2", "avx512"); false if it is none of them.
bool ParseIsa(const std::string& name, Isa* isa);

// DetectIsa(), lowered by the environment variable TF_BLOCKSPARSE_MAX_ISA.
// An unknown name there returns false and says so in *error.
bool MaxIsa(Isa* isa, std::string* error);

}  // namespace blocksparse

#endif  // TF_BLOCKSPARSE_CC_BASE_ISA_H_
