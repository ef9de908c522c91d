// Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
#define BLOCKSPARSE_ISA portable
#define BLOCKSPARSE_VECTOR_BYTES 16
#define BLOCKSPARSE_ROWS_PORTABLE
#include "cc/kernels/cpu/conv_sampled_instantiate.h"
