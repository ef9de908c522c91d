# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Images of layouts and block norms for TensorBoard."""

import os
from typing import Any

import keras
import tensorflow as tf

from tf_blocksparse import _arguments
from tf_blocksparse.inspection import (
    Inspection,
    LayerInspection,
    layout_image,
    norm_image,
)

# What tells TensorBoard's page of images that a tensor of strings is for it.
_METADATA = tf.compat.v1.SummaryMetadata(
    plugin_data={"plugin_name": "images"}, data_class="DATA_CLASS_BLOB_SEQUENCE"
)


class LayoutImages(keras.callbacks.Callback):
    """Writes images of block-sparse layers for TensorBoard while they train.

    Use it to see how pruning thins a layer, where blocks grow, and which ones
    fade away. Each block-sparse layer of the model, however deep it lies, has
    two images: `layouts/NAME`, in which blocks are black, those that a gate
    closes light grey; and `norms/NAME`, in which a block is as dark as its l2
    norm is large beside the layer's largest. Inputs go down, outputs right.

    The images are written before the first epoch, after every `frequency`
    epochs and at the end; their step is the number of epochs done. TensorBoard
    shows them on its page of images. To write them, it need not be installed.

    Args:
        log_dir: folder for the event files; that of
            `keras.callbacks.TensorBoard` may be the same.
        frequency: epochs from one image to the next.
        pixels: how many the longer side of an image has at most. Of more
            blocks, a pixel shows the average of several.

    Raises:
        ValueError: a number that is no positive integer; when training
            begins, a model without a block-sparse layer.

    Example:
    >>> import tempfile
    >>> import keras
    >>> from tf_blocksparse import callbacks, layers
    >>> model = keras.Sequential([layers.BlockSparseDense(64, sparsity=0.5)])
    >>> model.compile("sgd", "mse")
    >>> images = callbacks.LayoutImages(tempfile.mkdtemp(), frequency=5)
    >>> history = model.fit(
    ...     keras.ops.ones((8, 64)),
    ...     keras.ops.ones((8, 64)),
    ...     epochs=10,
    ...     callbacks=[images],
    ...     verbose=0,
    ... )
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        frequency: int = 1,
        pixels: int = 512,
    ) -> None:
        super().__init__()
        self.log_dir = os.fspath(log_dir)
        self.frequency = _arguments.integer(
            "frequency", frequency, 1, None, "1 writes after every epoch"
        )
        self.pixels = _arguments.integer(
            "pixels", pixels, 1, None, "512 fits on most screens"
        )
        self._writer: Any = None
        self._epochs = 0  # that are done
        self._written: int | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Opens the event file."""
        self._writer = tf.summary.create_file_writer(self.log_dir)
        self._written = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Writes what training starts from."""
        if self._written is None:
            self._write(epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes after every `frequency` epochs."""
        self._epochs = epoch + 1
        if self._epochs % self.frequency == 0:
            self._write(self._epochs)

    def on_train_end(self, logs: Any = None) -> None:
        """Writes what training has made, unless that is done."""
        if self._written is not None and self._written < self._epochs:
            self._write(self._epochs)
        self._writer.close()

    def _write(self, step: int) -> None:
        # Not as the callback begins: a model may be built in the first step.
        if not self.model.built:
            return
        found = Inspection.of(self.model)
        if not found.layers:
            raise ValueError(
                f"LayoutImages: got the model {self.model.name} without a "
                "block-sparse layer, expected at least one; make some, or "
                "leave the callback out"
            )
        with self._writer.as_default(step=step):
            for layer in found.layers:
                self._write_layer(layer)
        self._writer.flush()
        self._written = step

    def _write_layer(self, layer: LayerInspection) -> None:
        for title, draw in (("layouts", layout_image), ("norms", norm_image)):
            image = draw(layer, self.pixels)
            png = tf.io.encode_png(image[:, :, None])
            height, width = image.shape
            # As tf.summary.image does, which fails without TensorBoard.
            tf.summary.write(
                f"{title}/{layer.name}",
                tf.stack([str(width), str(height), png]),
                metadata=_METADATA,
            )
