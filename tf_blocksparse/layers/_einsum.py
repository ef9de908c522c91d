# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""An equation of `EinsumDense` as a product with a matrix."""

import math
import re
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from tf_blocksparse import _arguments

# By where the ellipsis is, as Keras reads them; 0 stands for it.
_FORMS = {
    "": r"([a-zA-Z]+),([a-zA-Z]+)->([a-zA-Z]+)",
    "left": r"0([a-zA-Z]+),([a-zA-Z]+)->0([a-zA-Z]+)",
    "right": r"([a-zA-Z]{2,})0,([a-zA-Z]+)->([a-zA-Z]+)0",
}


@dataclass(frozen=True)
class Equation:
    """The axes of x, of the kernel and of y, each as a string of letters.

    `contracted` are the kernel's axes that x has, and `outputs` those that y
    has, both in the order of the kernel. x may have more: `rows` that y has,
    too, and `summed` ones. An ellipsis at the left or at the right of x and y
    is any number of further rows.
    """

    text: str
    x: str
    kernel: str
    y: str
    ellipsis: str  # "", "left" or "right"
    contracted: str
    outputs: str

    def spelt(self, rank: int) -> tuple[str, str]:
        """The axes of x and y, where x has so many, without an ellipsis."""
        free = [chr(0x100 + i) for i in range(rank - len(self.x))]
        elided = "".join(free)
        if self.ellipsis == "left":
            return elided + self.x, elided + self.y
        return self.x + elided, self.y + elided

    def partial_shape(self, output_shape: Any) -> tuple[int | None, ...]:
        """The layer's argument as a tuple.

        Raises:
            ValueError: if it is no size, no sizes, or too many.
        """
        sizes = output_shape
        if not isinstance(sizes, (tuple, list)):
            sizes = (sizes,)
        # Without an ellipsis, all but the first axis are told.
        counts = range(1, len(self.y) + 1)
        if not self.ellipsis:
            counts = range(len(self.y) - 1, len(self.y))
        if len(sizes) not in counts:
            raise ValueError(
                f"output_shape: got {_arguments.shown(output_shape)}, expected "
                f"{' or '.join(map(str, counts))} sizes for {self.text}; give "
                "those of y without its first axis, or without the ellipsis"
            )
        return tuple(
            None
            if size is None
            else _arguments.integer(
                "output_shape", size, 1, None, "None is as many as x has"
            )
            for size in sizes
        )

    def check_rank(self, input_shape: tuple[int | None, ...]) -> None:
        """Raises a ValueError if x has too few or too many axes."""
        count = len(input_shape)
        if count < len(self.x) or (count > len(self.x) and not self.ellipsis):
            raise ValueError(
                f"input_shape: got {input_shape}, expected the axes "
                f"{self.x!r} of {self.text}; reshape x, or write an ellipsis"
            )

    def output_sizes(self, output_shape: tuple[int | None, ...]) -> list[int]:
        """The sizes of `outputs` from the layer's argument.

        Raises:
            ValueError: if one is missing.
        """
        # It has no size for the first axis, unless that is in an ellipsis.
        first = len(self.y) - len(output_shape)
        sizes = []
        for axis in self.outputs:
            place = self.y.index(axis) - first
            size = output_shape[place] if 0 <= place < len(output_shape) else 0
            if not size:
                raise ValueError(
                    f"output_shape: got {output_shape}, expected a positive "
                    f"size for the axis {axis} of {self.text}; give the sizes "
                    "of y without its first axis, or without the ellipsis"
                )
            sizes.append(size)
        return sizes

    def full_output_shape(
        self,
        input_shape: tuple[int | None, ...],
        output_shape: tuple[int | None, ...],
    ) -> tuple[int | None, ...]:
        """The shape of y from that of x and the layer's argument.

        As in Keras, what the argument leaves open stays open.

        Raises:
            ValueError: if they give one axis two sizes.
        """
        self.check_rank(input_shape)
        x, y = self.spelt(len(input_shape))
        first = len(self.y) - len(output_shape)
        given = dict(zip(self.y[first:], output_shape, strict=True))
        sizes = []
        for axis in y:
            size = given.get(axis)
            if axis in x:
                of_x = input_shape[x.index(axis)]
                if None not in (size, of_x) and size != of_x:
                    raise ValueError(
                        f"output_shape: got {output_shape}, which gives the "
                        f"axis {axis} of {self.text} the size {size}, expected "
                        f"{of_x}, as x of shape {input_shape} has; or None"
                    )
                size = given.get(axis, of_x)
            sizes.append(size)
        return tuple(sizes)

    def input_sizes(self, input_shape: tuple[int | None, ...]) -> list[int]:
        """The sizes of `contracted` from the shape of x.

        Raises:
            ValueError: if one is not known.
        """
        x, _ = self.spelt(len(input_shape))
        sizes = [input_shape[x.index(axis)] for axis in self.contracted]
        if None in sizes:
            raise ValueError(
                f"input_shape: got {tuple(input_shape)}, expected known sizes "
                f"for the axes {', '.join(self.contracted)} of {self.text}; "
                "give them to keras.Input"
            )
        return [size for size in sizes if size is not None]

    def matrix(self, kernel: Any) -> np.ndarray:
        """A kernel of Keras's layer as `[inputs, outputs]`."""
        array = np.transpose(kernel, self._order())
        count = math.prod(array.shape[: len(self.contracted)])
        return array.reshape(count, -1)

    def kernel_of(self, matrix: np.ndarray, sizes: list[int]) -> np.ndarray:
        """The kernel that is a matrix; sizes are `contracted`, `outputs`."""
        return np.transpose(matrix.reshape(sizes), np.argsort(self._order()))

    def _order(self) -> list[int]:
        return [self.kernel.index(a) for a in self.contracted + self.outputs]

    def rows(self, x: Any) -> Any:
        """The input as `[..., inputs]`: rows in its order, then one axis."""
        letters, wanted = self.spelt(len(x.shape))
        kept = [a for a in letters if a in wanted]
        summed = [
            i
            for i, a in enumerate(letters)
            if a not in wanted and a not in self.contracted
        ]
        if summed:
            x = keras.ops.sum(x, axis=summed)
            letters = "".join(
                a for i, a in enumerate(letters) if i not in summed
            )
        x = _transpose(x, [letters.index(a) for a in (*kept, *self.contracted)])
        shape = keras.ops.shape(x)
        inputs = math.prod(shape[len(kept) :])
        return keras.ops.reshape(x, (*shape[: len(kept)], inputs))

    def result(self, product: Any, rank: int, sizes: list[int]) -> Any:
        """The output from `[..., outputs]`; the input had `rank` axes."""
        x, y = self.spelt(rank)
        rows = [a for a in x if a in y]
        shape = keras.ops.shape(product)[:-1]
        product = keras.ops.reshape(product, (*shape, *sizes))
        letters = [*rows, *self.outputs]
        return _transpose(product, [letters.index(a) for a in y])


def _transpose(x: Any, order: list[int]) -> Any:
    return x if order == sorted(order) else keras.ops.transpose(x, order)


def parse(text: str) -> Equation:
    """The equation of a text.

    Raises:
        ValueError: if Keras has no such equations, or the kernel is no matrix.
    """
    compact = str(text).replace("...", "0").replace(" ", "")
    matches = {
        ellipsis: match
        for ellipsis, form in _FORMS.items()
        if (match := re.fullmatch(form, compact))
    }
    if not matches:
        raise ValueError(
            f"equation: got {text!r}, expected one such as 'abc,cd->abd', "
            "'...x,xy->...y' or 'ab...,bc->ac...'"
        )
    ((ellipsis, match),) = matches.items()
    x, kernel, y = match.groups()
    for part in (x, kernel, y):
        if len(set(part)) < len(part):
            raise ValueError(
                f"equation: got {text!r}, which has an axis twice in {part!r}, "
                "expected each once; take a diagonal before the layer"
            )
    batch = [a for a in kernel if a in x and a in y]
    if batch:
        raise ValueError(
            f"equation: got {text!r}, in which x, the kernel and y have the "
            f"axis {batch[0]}, expected each axis of the kernel in only one of "
            "x and y; such a kernel is several matrices: use keras.layers."
            "EinsumDense, or a layer for each"
        )
    contracted = "".join(a for a in kernel if a in x)
    outputs = "".join(a for a in kernel if a in y)
    known = set(x) | set(kernel)
    lost = [a for a in kernel if a not in x and a not in y]
    lost += [a for a in y if a not in known]
    if lost or not contracted or not outputs:
        raise ValueError(
            f"equation: got {text!r}, expected a kernel with axes of x and "
            "axes of y, and no axis that only one of the three has"
        )
    return Equation(text, x, kernel, y, ellipsis, contracted, outputs)
