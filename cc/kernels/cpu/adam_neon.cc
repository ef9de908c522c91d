// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#define BLOCKSPARSE_ISA neon
#define BLOCKSPARSE_NEON
#define BLOCKSPARSE_VECTOR_BYTES 16
#include "cc/kernels/cpu/adam_kernel.h"
