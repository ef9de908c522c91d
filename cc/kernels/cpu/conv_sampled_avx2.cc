// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#define BLOCKSPARSE_ISA avx2
#define BLOCKSPARSE_VECTOR_BYTES 32
#define BLOCKSPARSE_ROWS_AVX2
#include "cc/kernels/cpu/conv_sampled_instantiate.h"
