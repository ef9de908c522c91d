# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Keras's Adam, with one op for the update of a variable."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tf_blocksparse.ops._library import library

# In 16 bits Keras's step keeps few digits, which are not worth an op.
_DTYPES = ("float32", "float64")


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class Adam(keras.optimizers.Adam):
    """`keras.optimizers.Adam`, in less of a training step's time.

    Use it in place of Keras's, whose update consists of a dozen ops, each of
    which reads and writes the whole variable. This one passes once over the
    variable w, its gradient g and its moments m and v:

        m += (g - m) * (1 - beta_1)
        v += (g^2 - v) * (1 - beta_2)
        w -= m * learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t)
             / (sqrt(v) + epsilon)

    for the t-th update, every operation rounded as Keras's ops round it: the
    results are the same to the last bit. It serves dense gradients of float32
    and float64 variables on the CPU, in graphs, eagerly and in distribution
    strategies; under `jit_compile` XLA makes a loop of it, and rounds as it
    does. All others take Keras's own step: sparse gradients (of embeddings),
    16-bit variables, `amsgrad`, other devices. What Keras does around an update
    is Keras's still: `weight_decay`, clipping, averages, accumulated gradients,
    the scaling of losses. The state is that of Keras's Adam, so each loads what
    the other has saved.

    In a graph, all updates wait for all gradients: a variable that the backward
    pass is still to read would have to be copied.

    Args:
      learning_rate: a float, a schedule, or a function without arguments.
      beta_1: how much of the first moment is kept.
      beta_2: how much of the second.
      epsilon: what is added to the root of the second moment.
      amsgrad: whether to divide by the largest second moment so far (Reddi et
        al. 2018, "On the Convergence of Adam and Beyond").
      weight_decay: as in Keras, as all that follow.
      clipnorm: norm that no gradient exceeds.
      clipvalue: number that no gradient's entries exceed.
      global_clipnorm: norm that all gradients together do not exceed.
      use_ema: whether to average the variables over time.
      ema_momentum: how much of the averages is kept.
      ema_overwrite_frequency: steps after which variables become averages.
      loss_scale_factor: what losses are multiplied and gradients divided by.
      gradient_accumulation_steps: steps whose gradients make one update.
      name: of the optimizer.

    Raises:
      ValueError: as Keras's Adam does.

    Source: Kingma and Ba 2015, "Adam: A Method for Stochastic Optimization".

    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseDense
    >>> from tf_blocksparse.optimizers import Adam
    >>> model = keras.Sequential([
    ...     keras.Input((512,)), BlockSparseDense(512, block_size=16)
    ... ])
    >>> model.compile(Adam(1e-3, weight_decay=1e-4), "mse")
    """

    def apply(
        self, grads: Sequence[Any], trainable_variables: Any = None
    ) -> None:
        """Updates variables by gradients, once all of these are there."""
        if not self.built and trainable_variables is not None:
            # A function can't create variables that wait for gradients.
            with keras.name_scope(self.name, caller=self):
                self.build(list(trainable_variables))
        values = [
            each.values if isinstance(each, tf.IndexedSlices) else each
            for each in grads
            if each is not None
        ]
        with tf.control_dependencies(values):
            super().apply(grads, trainable_variables)

    def update_step(
        self, gradient: Any, variable: Any, learning_rate: Any
    ) -> None:
        """Updates a variable and its moments by its gradient."""
        handles = self._handles(gradient, variable)
        if handles is None:
            super().update_step(gradient, variable, learning_rate)
            return
        dtype = variable.dtype
        # All as Keras's step computes it, to the last bit: in float64, it has
        # the powers of a beta that was float32, but the differences exact.
        step = keras.ops.cast(self.iterations + 1, dtype)
        power_1, power_2 = (
            keras.ops.power(keras.ops.cast(beta, dtype), step)
            for beta in (self.beta_1, self.beta_2)
        )
        rate = keras.ops.cast(learning_rate, dtype)
        first, second, epsilon = (
            keras.ops.convert_to_tensor(each, dtype)
            for each in (1 - self.beta_1, 1 - self.beta_2, self.epsilon)
        )
        library.blocksparse_apply_adam(
            *handles,
            gradient=keras.ops.cast(gradient, dtype),
            alpha=rate * keras.ops.sqrt(1 - power_2) / (1 - power_1),
            first=first,
            second=second,
            epsilon=epsilon,
        )

    def _handles(self, gradient: Any, variable: Any) -> list[Any] | None:
        """Those of variable, m and v; None where Keras's step is taken."""
        if (
            self.amsgrad
            or isinstance(gradient, tf.IndexedSlices)
            or keras.backend.standardize_dtype(variable.dtype) not in _DTYPES
            or not _has_shape_of(gradient, variable)
        ):
            return None
        index = self._get_variable_index(variable)
        slots = self._momentums[index], self._velocities[index]
        found = [_handle(each) for each in (variable, *slots)]
        return None if None in found else found


def _has_shape_of(gradient: Any, variable: Any) -> bool:
    """Whether it is sure to; Keras's step broadcasts, and takes lists, too."""
    shape = getattr(gradient, "shape", None)
    # Of no known rank, a shape has no tuple.
    return shape is not None and tf.TensorShape(shape) == tf.TensorShape(
        variable.shape
    )


def _handle(variable: Any) -> Any:
    """The resource of a variable on the CPU; None of others."""
    if isinstance(variable, keras.Variable):
        variable = variable.value
    if not isinstance(variable, tf.Variable):
        return None
    try:
        handle = variable.handle
    except (AttributeError, NotImplementedError, ValueError):
        # Variables of a strategy have one for each replica, outside none.
        return None
    return handle if ":CPU:" in handle.device.upper() else None
