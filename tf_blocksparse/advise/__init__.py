# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`python -m tf_blocksparse.advise`: from which sparsity blocks beat dense.

It measures the machine that it runs on; `--help` lists its flags.
"""
