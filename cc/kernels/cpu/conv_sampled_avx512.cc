// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#define BLOCKSPARSE_ISA avx512
#define BLOCKSPARSE_VECTOR_BYTES 64
#define BLOCKSPARSE_ROWS_AVX512
#include "cc/kernels/cpu/conv_sampled_instantiate.h"
