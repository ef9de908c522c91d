# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Gates of blocks that learn which blocks are needed."""

import math
from typing import Any

import keras

from tf_blocksparse import _arguments


@keras.saving.register_keras_serializable(package="tf_blocksparse")
class ConcreteGate(keras.layers.Layer):
    """Hard-concrete gates: a penalty on the number of blocks, with gradients.

    Use it as `gate` of a block-sparse layer to let training decide how many
    blocks are needed, and where: L0 regularization. Each block is multiplied
    by a number z from 0 to 1, which is exactly 0 or 1 with some probability,
    and whose distribution is learnt. In training, for a u drawn uniformly from
    (0, 1) at each call,

        s = sigmoid((log u - log(1 - u) + log alpha) / beta)
        z = min(1, max(0, s * (zeta - gamma) + gamma))

    and at inference

        z = min(1, max(0, sigmoid(log alpha) * (zeta - gamma) + gamma))

    The penalty, a part of the model's losses, is `penalty` times the expected
    number of open blocks,

        sum over blocks of P(z > 0) = sigmoid(log alpha - beta * log(-gamma /
        zeta))

    `compact` leaves out blocks with z = 0 at inference and multiplies the
    others by z. Blocks whose gate is 0 take no time in the forward pass; their
    gates still get gradients, so that they can reopen.

    Weights: `log_alpha` `(nnz,)`, always float32; it is trained with the
    model, and may want a higher learning rate than that. The state of its
    random numbers is a weight, too, which is saved.

    Example:
    >>> import keras
    >>> from tf_blocksparse.layers import BlockSparseDense, ConcreteGate
    >>> gate = ConcreteGate(1e-3, seed=0)
    >>> layer = BlockSparseDense(
    ...     64, block_size=16, sparsity=0.5, gate=gate
    ... )
    >>> y = layer(keras.ops.ones((8, 64)), training=True)
    >>> 7 < gate.expected_count() < 8
    True
    >>> len(layer.losses)
    1

    Args:
        penalty: Float >= 0, what an open block costs (lambda). The paper's
            sums over weights: multiply it by the weights of a block.
        drop_rate: Float between 0 and 1, which sets the first values: log
            alpha is about log((1 - drop_rate) / drop_rate).
        beta: Float > 0, the temperature; the paper's is 2/3.
        gamma: Float < 0, the lower end of the stretched interval.
        zeta: Float > 1, the upper end.
        seed: Integer for reproducible draws; None draws one.
        **kwargs: `name`, `trainable`. The dtype is float32 always.

    Call arguments:
        blocks: The blocks, of which only their number counts.
        training: Whether gates are drawn or at their means.

    Output shape:
        `(nnz,)`, float32.

    Raises:
        ValueError: an argument out of range; one gate for layers with
            different numbers of blocks.

    Source: Louizos, Welling and Kingma, "Learning Sparse Neural Networks
    through L0 Regularization", ICLR 2018.
    """

    def __init__(
        self,
        penalty: float = 0.0,
        *,
        drop_rate: float = 0.2,
        beta: float = 2 / 3,
        gamma: float = -0.1,
        zeta: float = 1.1,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        # 16 bits are too few for log alpha, and for u near 1.
        kwargs.pop("dtype", None)
        super().__init__(dtype="float32", autocast=False, **kwargs)
        self.penalty = _arguments.real(
            "penalty", penalty, "0 is none", low=0, or_low=True
        )
        self.drop_rate = _arguments.real(
            "drop_rate", drop_rate, "0.2 is the default", low=0, high=1
        )
        advice = "the paper's are beta=2/3, gamma=-0.1, zeta=1.1"
        self.beta = _arguments.real("beta", beta, advice, low=0)
        self.gamma = _arguments.real("gamma", gamma, advice, high=0)
        self.zeta = _arguments.real("zeta", zeta, advice, low=1)
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.log_alpha: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes `log_alpha` for blocks of this shape."""
        mean = math.log((1 - self.drop_rate) / self.drop_rate)
        self.log_alpha = self.add_weight(
            name="log_alpha",
            shape=(input_shape[0],),
            initializer=keras.initializers.RandomNormal(
                mean, 0.01, seed=self.seed
            ),
            # Not add_loss in call, which would count a layer that is used
            # twice twice.
            regularizer=self._penalty if self.penalty else None,
            dtype="float32",
            autocast=False,
        )
        self.built = True

    def call(self, blocks: Any, training: bool | None = None) -> Any:
        """A number for each block, drawn in training."""
        log_alpha = keras.ops.convert_to_tensor(self.log_alpha)
        if blocks.shape[0] != log_alpha.shape[0]:
            raise ValueError(
                f"gate {self.name}: got {blocks.shape[0]} blocks, expected "
                f"{log_alpha.shape[0]}, those of the layer that it was built "
                "for; give each layer a gate of its own"
            )
        if training:
            logits = (self._logistic_noise() + log_alpha) / self.beta
        else:
            logits = log_alpha
        stretched = keras.ops.sigmoid(logits) * (self.zeta - self.gamma)
        return keras.ops.clip(stretched + self.gamma, 0.0, 1.0)

    def _logistic_noise(self) -> Any:
        """Log u - log(1 - u), finite."""
        tiny = 1e-6
        u = keras.random.uniform(
            self.log_alpha.shape,
            tiny,
            1.0 - tiny,
            dtype="float32",
            seed=self.seed_generator,
        )
        return keras.ops.log(u) - keras.ops.log1p(-u)

    def expected_count(self) -> float:
        """The expected number of open blocks in training: sum of P(z > 0).

        Raises:
            ValueError: before `build`.
        """
        if self.log_alpha is None:
            raise ValueError(
                f"gate {self.name}: got no blocks yet, expected a built layer; "
                "call or build the layer first"
            )
        return float(self._expected(self.log_alpha))

    def _expected(self, log_alpha: Any) -> Any:
        shift = self.beta * math.log(-self.gamma / self.zeta)
        log_alpha = keras.ops.convert_to_tensor(log_alpha)
        return keras.ops.sum(keras.ops.sigmoid(log_alpha - shift))

    def _penalty(self, log_alpha: Any) -> Any:
        return self.penalty * self._expected(log_alpha)

    def save_own_variables(self, store: Any) -> None:
        """Stores log alpha and, unlike Keras, the random generator's state."""
        store["log_alpha"] = self.log_alpha
        store["random_state"] = self.seed_generator.state

    def load_own_variables(self, store: Any) -> None:
        """Restores what `save_own_variables` stored."""
        self.log_alpha.assign(store["log_alpha"])
        self.seed_generator.state.assign(store["random_state"])

    def compute_output_shape(self, input_shape: Any) -> tuple[int | None, ...]:
        """The number of blocks alone."""
        return (input_shape[0],)

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {
            **super().get_config(),
            "penalty": self.penalty,
            "drop_rate": self.drop_rate,
            "beta": self.beta,
            "gamma": self.gamma,
            "zeta": self.zeta,
            "seed": self.seed,
        }
