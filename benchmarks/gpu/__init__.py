# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The parts of gpu_check.py. They need Python alone, but for op_check."""
