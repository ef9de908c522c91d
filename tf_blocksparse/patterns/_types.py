# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the makers of masks give, and are made of."""

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
