// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#define BLOCKSPARSE_ISA avx512
#define BLOCKSPARSE_VECTOR_BYTES 64
#include "cc/kernels/cpu/adam_kernel.h"
