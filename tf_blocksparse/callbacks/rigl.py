# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""`RigL`: blocks move during training to where the gradient is largest."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tf_blocksparse import ops
from tf_blocksparse.callbacks import _workers
from tf_blocksparse.callbacks._batches import Batch, Batches
from tf_blocksparse.callbacks._regrowth import Regrowth, Scores
from tf_blocksparse.layers import _capture
from tf_blocksparse.layers._block_sparse_layer import BlockSparseLayer

# The calls of layers in a pass through the model, and their gradients.
_Pass = list[tuple[_capture.Record, tf.Tensor]]


class RigL(Regrowth):
    """Moves the lightest blocks to where the gradient is largest.

    The rigged lottery: the layout takes part in learning while the number of
    blocks, and so the time of a step, stays as it is. Nothing is traced anew.

    At step t, if it is a multiple of `frequency` before `end_step`, in each
    layer the `round(f(t) * nnz)` blocks with the smallest l2 norm are dropped,
    and as many grow where the l2 norm of the block of the dense weight's
    gradient is largest among the empty places, with

        f(t) = fraction / 2 * (1 + cos(pi * t / end_step))

    As in the paper, the places of the blocks just dropped are empty, too: a
    block that grows where it was dropped is as it was. Blocks that were not
    there before start at zero, as do an optimizer's numbers for them
    (Adagrad's at their first value). Of equal norms the first block wins, by
    output, input and tap. Blocks of groups stay inside of their groups.

    Keras tells callbacks nothing of batches, so on those steps one is drawn
    from `data` and passed through the model once, with `training=True`, to
    `model.compute_loss`; statistics, states of random numbers and metrics stay
    as they were. The gradient of all places is never stored, see
    `ops.block_norms`. Class weights of `fit` play no part. If a number of it
    is not finite, nothing moves.

    With `steps_per_execution`, blocks move after executions with such a step.
    Steps are counted by the optimizer's `iterations`, and what is drawn
    depends on the seed and the step: a training that goes on from a file with
    the optimizer does as one that was not interrupted, if `data` are arrays, a
    `PyDataset`, a function of the step, or a `Dataset` whose order does not
    change. Put it before callbacks that save. In a loop of one's own, call
    `start(model)` first and `step(x, y)` after each training step.

    In a distributed training all replicas, and all workers, move the same
    blocks: those that the gradient of all of their batches names. Every worker
    has to call `step`.

    Args:
      data: `(x, y)` or `(x, y, sample_weight)` of arrays; a
        `tf.data.Dataset`, a `keras.utils.PyDataset`, any iterable of batches,
        or a function that returns a batch for a step. Not needed where `step`
        is given batches.
      end_step: the step from which on blocks stay. The paper has three
        quarters of all steps.
      fraction: share of the blocks that move at first, 0 to 1.
      frequency: steps from one update to the next.
      batch_size: rows that are drawn of arrays.
      seed: integer >= 0.
      layers: layers, names or patterns of names or paths such as
        "encoder/*"; None is all that are trainable.

    Raises:
      ValueError: if an argument is out of range or, when the training starts,
        if there are no layers, or one has a gate, or if there is no data.

    Source: Evci et al., Rigging the lottery: making all tickets winners
    (2020), with blocks in place of weights.

    >>> import keras
    >>> import numpy as np
    >>> from tf_blocksparse.layers import BlockSparseDense
    >>> model = keras.Sequential([
    ...     keras.Input((64,)),
    ...     BlockSparseDense(64, "relu", block_size=8, sparsity=0.75, seed=0),
    ...     keras.layers.Dense(1),
    ... ])
    >>> model.compile("adam", "mse")
    >>> before = model.layers[0].layout
    >>> x, y = np.ones((96, 64)), np.ones((96, 1))
    >>> rigl = RigL((x, y), end_step=10, frequency=2)
    >>> history = model.fit(x, y, epochs=2, callbacks=[rigl], verbose=0)
    >>> model.layers[0].layout.nnz == before.nnz
    True
    """

    def __init__(
        self,
        data: Any = None,
        *,
        end_step: int,
        fraction: float = 0.3,
        frequency: int = 100,
        batch_size: int = 32,
        seed: int = 0,
        layers: Any = None,
    ) -> None:
        super().__init__(
            fraction=fraction,
            frequency=frequency,
            end_step=end_step,
            seed=seed,
            layers=layers,
        )
        self._loss: Callable[[Any, Any], Any] | None = None
        self._whole_optimizer: Any = None
        self._batch: Batch | None = None
        self._batches: Batches | None = None
        if data is not None:
            self._batches = Batches(data, batch_size, self.seed)

    def on_train_begin(self, logs: Any = None) -> None:
        """Starts with the model that `fit` trains."""
        if self._batches is None:
            raise ValueError(
                "data: got None, expected batches to draw from, since Keras "
                "shows callbacks none; pass to RigL what fit gets"
            )
        super().on_train_begin(logs)

    def start(
        self,
        model: Any,
        optimizer: Any = None,
        loss: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        """Takes a model, before the first step of a custom training loop.

        `fit` does so by itself. A training that goes on has to be restored
        before.

        Args:
          model: a Keras model.
          optimizer: the Keras optimizer that trains it; by default that with
            which the model was compiled. Its `iterations` counts the steps.
          loss: `loss(y, y_pred)`, or, with sample weights, `loss(y, y_pred,
            sample_weight)`, a scalar; by default `model.compute_loss`.

        Raises:
          ValueError: if there is no optimizer, or the model has no layer to
            act on.
        """
        super().start(model, optimizer)
        self._loss = loss
        # With what scales losses, unlike `optimizer`.
        self._whole_optimizer = optimizer or model.optimizer

    def step(
        self, x: Any = None, y: Any = None, sample_weight: Any = None
    ) -> None:
        """Acts after a training step of a custom loop.

        Args:
          x: inputs of the model, as those of the step; by default they are
            drawn from `data`, if they are needed. What a distributed dataset
            gave is taken as a whole.
          y: what the loss compares the outputs with.
          sample_weight: a weight for each row.

        Raises:
          ValueError: if `start` was not called before, or if there are
            neither inputs nor `data`.
        """
        if x is None and self._batches is None:
            raise ValueError(
                "data: got None and no x, expected a batch; pass data to "
                "RigL, or x and y to step"
            )
        self._batch = None if x is None else (x, y, sample_weight)
        try:
            super().step()
        finally:
            self._batch = None

    def _scores(
        self, layers: list[BlockSparseLayer], step: int
    ) -> list[Scores] | None:
        batch = self._batch
        if batch is None and self._batches is not None:
            number = max(step // self.frequency - 1, 0)
            batch = self._batches.draw(step, number)
        scores = self._gradient_norms(layers, *(batch or ()))
        finite = all(np.isfinite(each).all() for each in scores)
        return scores if finite else None

    def _gradient_norms(
        self, layers: list[BlockSparseLayer], *batch: Any
    ) -> list[Scores]:
        passes = [
            self._pass(*part) for part in _workers.parts(self._strategy, batch)
        ]
        return [_norms_of(self._strategy, layer, passes) for layer in layers]

    def _pass(self, x: Any = None, y: Any = None, weight: Any = None) -> _Pass:
        """Each call of a block-sparse layer, with the gradient of its z."""
        penalized = [
            (each, keras.ops.convert_to_tensor(each))
            for each in self.model.trainable_variables
            if each.regularizer is not None
        ]
        # What the pass assigns to variables is forgotten with the scope, in
        # which Keras gives a regularizer None unless its variable is given.
        with (
            _eager_functions(),
            keras.StatelessScope(penalized, collect_losses=True),
            tf.GradientTape() as tape,
            _capture.capture() as records,
        ):
            outputs = self.model(x, training=True)
            loss = self._loss_of(x, y, outputs, weight)
            # In float16 small gradients would vanish otherwise.
            loss = self._whole_optimizer.scale_loss(loss)
        gradients = tape.gradient(
            loss,
            [record.z for record in records],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        return list(zip(records, gradients, strict=True))

    def _loss_of(self, x: Any, y: Any, outputs: Any, weight: Any) -> Any:
        if self._loss is not None:
            weights = () if weight is None else (weight,)
            return self._loss(y, outputs, *weights)
        try:
            return self.model.compute_loss(
                x=x, y=y, y_pred=outputs, sample_weight=weight
            )
        except (AttributeError, ValueError) as error:
            if getattr(self.model, "compiled", False):
                raise
            raise ValueError(
                f"loss: got None and {self.model.name}, which was not "
                "compiled, expected a function of y and y_pred; pass it to "
                "start"
            ) from error


@contextlib.contextmanager
def _eager_functions() -> Iterator[None]:
    """Lets every `tf.function` run as Python, so that its layers record.

    One that was traced before would not record; one that is traced here would
    keep, for later calls, what is meant for this pass alone.
    """
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


def _norms_of(
    strategy: Any, layer: BlockSparseLayer, passes: list[_Pass]
) -> Scores:
    """The norms of the gradient of the losses of all passes, all workers'."""
    calls = [
        [
            (record, gradient)
            for record, gradient in each
            if record.layer is layer
        ]
        for each in passes
    ]
    if not calls[0]:
        raise ValueError(
            f"layer {layer.name}: got no pass through it, expected the model "
            "to call it in training; pass `layers` without it"
        )
    records: list[_capture.Record] = []
    gradients: list[tf.Tensor] = []
    # The same call of each pass. Several records add up, as those of rows do.
    for same in zip(*calls, strict=True):
        first = same[0][0]
        xs = [_rows(first.op, record.x) for record, _ in same]
        dzs = [_rows(first.op, gradient) for _, gradient in same]
        every_x = _workers.gathered(strategy, xs)
        records += [first._replace(x=x) for x in every_x]
        gradients += _workers.gathered(strategy, dzs)
    return np.asarray(_capture.gradient_norms(records, gradients))


def _rows(op: Any, value: tf.Tensor) -> tf.Tensor:
    """A matrix where rows are alike, so that those of workers fit together."""
    if op is ops.matmul:
        return tf.reshape(value, [-1, value.shape[-1]])
    return value
