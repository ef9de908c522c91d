# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""The layer that is measured: a product, or a convolution."""

import dataclasses
import math
from typing import Any

import tensorflow as tf

from tf_blocksparse import ops
from tf_blocksparse.layout import BlockLayout


@dataclasses.dataclass(frozen=True)
class Problem:
    """A dense layer, or a convolution of stride 1 with padding "same".

    Attributes:
      rows: of x; the images of a convolution.
      kernel_size: of a convolution; empty for a dense layer.
      image: the sizes of an image, as many as of the kernel.
    """

    rows: int
    inputs: int
    outputs: int
    dtype: str = "float32"
    kernel_size: tuple[int, ...] = ()
    image: tuple[int, ...] = ()

    @property
    def x_shape(self) -> tuple[int, ...]:
        """Of x and of dx."""
        return (self.rows, *self.image, self.inputs)

    @property
    def y_shape(self) -> tuple[int, ...]:
        """Of y and of dy."""
        return (self.rows, *self.image, self.outputs)

    @property
    def kernel_shape(self) -> tuple[int, ...]:
        """Of the dense weight."""
        return (*self.kernel_size, self.inputs, self.outputs)

    @property
    def longest_sum(self) -> int:
        """The most products that a number of y, dx or dw is the sum of."""
        taps = math.prod(self.kernel_size)
        pixels = self.rows * math.prod(self.image)
        return max(taps * self.inputs, taps * self.outputs, pixels)

    def layout(
        self, block_size: int, sparsity: float, seed: int
    ) -> BlockLayout:
        """The random layout that a layer would draw."""
        return BlockLayout.random(
            (self.inputs, self.outputs),
            block_size,
            sparsity=sparsity,
            seed=seed,
        )

    def places(self, block_size: int) -> int:
        """How many blocks there could be."""
        return -(-self.inputs // block_size) * -(-self.outputs // block_size)

    def blocks_shape(self, layout: BlockLayout) -> tuple[int, ...]:
        """Of the blocks' values."""
        nnz, *sides = layout.blocks_shape
        taps = [math.prod(self.kernel_size)] if self.kernel_size else []
        return (nnz, *taps, *sides)

    def dense(self, x: Any, kernel: Any) -> tf.Tensor:
        """TensorFlow's y."""
        if not self.kernel_size:
            return tf.matmul(x, kernel)
        return tf.nn.convolution(x, kernel, padding="SAME")

    def sparse(self, x: Any, blocks: Any, layout: BlockLayout) -> tf.Tensor:
        """The block-sparse y."""
        if not self.kernel_size:
            return ops.matmul(x, blocks, layout)
        return ops.conv(x, blocks, layout, self.kernel_size, padding="same")

    def __str__(self) -> str:
        text = f"{self.inputs} inputs x {self.outputs} outputs, "
        if self.kernel_size:
            kernel = " x ".join(map(str, self.kernel_size))
            image = " x ".join(map(str, self.image))
            text += f"kernel {kernel}, {self.rows} images of {image}"
        else:
            text += f"{self.rows} rows"
        return f"{text}, {self.dtype}"
