# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Single batches of whatever `fit` takes, chosen by the step."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tf_blocksparse import _arguments

Batch = tuple[Any, Any, Any]


class Batches:
    """Draws one batch at a time.

    Args:
      data: `(x, y)` or `(x, y, sample_weight)` of arrays, or of nested ones;
        a `tf.data.Dataset`, a `keras.utils.PyDataset`, any iterable of
        batches, or a function of the step that returns one.
      batch_size: rows of a batch of arrays.
      seed: decides which rows.
    """

    def __init__(self, data: Any, batch_size: int, seed: int) -> None:
        self._data = data
        self._batch_size = _arguments.integer(
            "batch_size", batch_size, 1, None, "32 is the default"
        )
        self._seed = seed
        self._iterator: Iterator[Any] | None = None
        if isinstance(data, tuple):
            self._rows = _rows_of(data)
        elif not (callable(data) or hasattr(data, "__iter__")) and not (
            isinstance(data, keras.utils.PyDataset)
        ):
            raise ValueError(
                f"data: got {_arguments.shown(data)}, expected a tuple of "
                "arrays (x, y), a dataset, an iterable of batches, or a "
                "function of the step; pass what `fit` gets"
            )

    def draw(self, step: int, number: int) -> Batch:
        """x, y and sample weights for a step.

        Arrays, PyDatasets and functions are asked by the step. Of a Dataset
        it is batch `number`, the first time that one is drawn, and then the
        next ones, starting over at its end; of an iterable, the next one.
        """
        data = self._data
        words = np.random.PCG64([self._seed, step])
        if isinstance(data, tuple):
            rows = distinct(self._rows, self._batch_size, words)
            batch = keras.tree.map_structure(lambda x: _take(x, rows), data)
        elif isinstance(data, keras.utils.PyDataset):
            count = len(data)
            batch = data[int(words.random_raw() % np.uint64(count))]
        elif isinstance(data, tf.data.Dataset):
            if self._iterator is None:
                self._iterator = iter(data.repeat().skip(number))
            batch = self._next(self._iterator)
        elif callable(data):
            batch = data(step)
        else:
            if self._iterator is None:
                self._iterator = iter(data)
            batch = next(self._iterator, None)
            if batch is None:  # a list may start again
                self._iterator = iter(data)
                batch = self._next(self._iterator)
        batch = keras.tree.map_structure(_as_in_fit, batch)
        return keras.utils.unpack_x_y_sample_weight(batch)

    def _next(self, iterator: Iterator[Any]) -> Any:
        try:
            return next(iterator)
        except StopIteration:
            raise ValueError(
                f"data: got a {type(self._data).__name__} without a batch "
                "left, expected one for every update; pass a dataset that "
                "repeats, arrays, or a function of the step"
            ) from None


def distinct(
    limit: int, count: int, words: np.random.PCG64
) -> npt.NDArray[np.int64]:
    """`count` different numbers below `limit`, all where they are fewer."""
    count = min(count, limit)
    if 4 * count > limit:
        keys = words.random_raw(limit)
        return np.argsort(keys, kind="stable")[:count]
    found: dict[int, None] = {}
    while len(found) < count:
        more = words.random_raw(count - len(found)) % np.uint64(limit)
        found.update(dict.fromkeys(more.tolist()))
    return np.fromiter(found, np.int64)


def _rows_of(data: tuple[Any, ...]) -> int:
    """The number of rows that all arrays have."""
    arrays = [x for x in keras.tree.flatten(data) if x is not None]
    for array in arrays:
        if not getattr(array, "shape", ()):
            raise ValueError(
                f"data: got a tuple that holds {_arguments.shown(array)}, "
                "expected arrays, dicts or lists of these; make arrays by "
                "np.array"
            )
    rows = {int(array.shape[0]) for array in arrays}
    if not 1 <= len(data) <= 3 or len(rows) != 1 or 0 in rows:
        raise ValueError(
            f"data: got a tuple of {len(data)} with arrays of {sorted(rows)} "
            "rows, expected (x, y) or (x, y, sample_weight) of equally many, "
            "at least one; pass what `fit` gets"
        )
    return rows.pop()


def _take(array: Any, rows: npt.NDArray[np.int64]) -> Any:
    if array is None:
        return None
    if tf.is_tensor(array):
        return tf.gather(array, rows)
    return np.asarray(array)[rows]


def _as_in_fit(array: Any) -> Any:
    """`fit` makes float64 arrays float32, or what Keras is set to."""
    if isinstance(array, np.ndarray) and array.dtype == np.float64:
        return array.astype(keras.config.floatx())
    return array
