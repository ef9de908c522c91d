# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What a user says of a convolution, as layers keep it."""

from typing import Any

import keras


def plain(value: Any) -> Any:
    """`value` with texts in lower case, and tuples in place of lists.

    So it equals what comes back from a config, and has a hash.
    """
    if isinstance(value, str):
        return value.lower()
    if isinstance(value, (list, tuple)):
        return tuple(plain(each) for each in value)
    return value


def data_format(value: Any) -> Any:
    """`value` in lower case, by default what Keras is set to."""
    return keras.config.image_data_format() if value is None else plain(value)
