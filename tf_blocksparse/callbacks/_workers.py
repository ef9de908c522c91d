# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""What the workers of a training on several machines have to agree on.

Every worker runs the same callbacks. With the strategies of one process there
is one decision anyway: values assigned outside of replicas reach all of them.
"""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tf_blocksparse import _arguments

Arrays = list[npt.NDArray[Any]]


def agreed(strategy: Any, arrays: Sequence[npt.NDArray[Any]]) -> Arrays:
    """The arrays of the first worker, on each of them.

    Args:
      strategy: with which the model is trained.
      arrays: int32 or bool, on each worker as many in the same shapes.
    """
    if not _has_workers(strategy):
        return list(arrays)
    flat = [each.ravel() for each in arrays]
    own = np.concatenate([np.zeros(0, np.int32), *flat])
    if not own.size:
        return list(arrays)
    (every,) = gathered(strategy, [tf.constant(own[None], tf.int32)])
    ends = np.cumsum([each.size for each in arrays])
    first = np.split(every[0].numpy(), ends[:-1])
    return [
        part.reshape(each.shape).astype(each.dtype)
        for part, each in zip(first, arrays, strict=True)
    ]


def gathered(strategy: Any, values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """The values of all workers as one, along axis 0; without, as they are.

    Args:
      strategy: with which the model is trained.
      values: one for each replica of this worker, or one for all of them,
        which then counts as often.
    """
    if not _has_workers(strategy):
        return list(values)
    dtype = values[0].dtype
    if dtype == tf.bfloat16:
        # Which TensorFlow does not gather: its bits travel as other 16.
        values = [tf.bitcast(each, tf.float16) for each in values]
    spread = strategy.experimental_distribute_values_from_function(
        lambda context: values[context.replica_id_in_sync_group % len(values)]
    )
    every = strategy.gather(spread, axis=0)
    return [tf.bitcast(every, dtype) if dtype != every.dtype else every]


def parts(strategy: Any, batch: tuple[Any, ...]) -> list[Any]:
    """A batch as one for each replica that has a part of it here."""
    flat = keras.tree.flatten(batch)
    if not any(map(_is_of_replicas, flat)):
        return [batch]
    for each in flat:
        if each is not None and not _is_of_replicas(each):
            raise ValueError(
                f"batch: got {_arguments.shown(each)} beside values of "
                "replicas, expected all of it to be of replicas; pass what a "
                "distributed dataset gave"
            )
    split = [
        (None,) if each is None else strategy.experimental_local_results(each)
        for each in flat
    ]
    count = max(map(len, split))
    return [
        keras.tree.pack_sequence_as(
            batch, [each[index % len(each)] for each in split]
        )
        for index in range(count)
    ]


def _is_of_replicas(value: Any) -> bool:
    return isinstance(value, tf.distribute.DistributedValues)


def _has_workers(strategy: Any) -> bool:
    return isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
