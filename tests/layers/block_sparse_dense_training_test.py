# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""BlockSparseDense in models that train, in every way that Keras offers."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse.layers import BlockSparseDense

RNG = np.random.default_rng(0)
X = RNG.normal(size=(256, 20)).astype("float32")
Y = np.tanh(X @ RNG.normal(size=(20, 3))).astype("float32")


def layers():
    return [
        BlockSparseDense(70, "relu", block_size=8, sparsity=0.5),
        BlockSparseDense(64, "gelu", block_size=16, sparsity=0.5),
        keras.layers.Dense(3, dtype="float32"),
    ]


def sequential():
    return keras.Sequential(layers())


def functional():
    inputs = keras.Input((20,))
    x = inputs
    for layer in layers():
        x = layer(x)
    return keras.Model(inputs, x)


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.parts = layers()

    def call(self, x):
        for layer in self.parts:
            x = layer(x)
        return x


def loss_falls(model, **fit):
    history = model.fit(
        X, Y, **{"epochs": 8, "batch_size": 48, "verbose": 0, **fit}
    )
    losses = history.history["loss"]
    return np.isfinite(losses).all() and losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("make", [sequential, functional, Subclassed])
def test_fit(make):
    model = make()
    model.compile(keras.optimizers.Adam(3e-3), "mse")
    assert loss_falls(model)
    assert model.predict(X, verbose=0).shape == (256, 3)


@pytest.mark.parametrize(
    "policy",
    ["mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64"],
)
def test_fit_in_a_policy(policy):
    previous = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = sequential()
        optimizer = keras.optimizers.SGD(0.05)
        model.compile(optimizer, "mse", auto_scale_loss=True)
        assert loss_falls(model)
    finally:
        keras.config.set_dtype_policy(previous)
    scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scaled == (policy == "mixed_float16")


@pytest.mark.parametrize(
    ("optimizer", "compile_arguments"),
    [
        (keras.optimizers.Adam, {"steps_per_execution": 3}),
        (keras.optimizers.Adam, {"run_eagerly": True}),
        (keras.optimizers.Lion, {}),
        (keras.optimizers.Muon, {}),
    ],
)
def test_compile_arguments(optimizer, compile_arguments):
    model = sequential()
    model.compile(optimizer(1e-3), "mse", **compile_arguments)
    assert loss_falls(model)


@pytest.mark.parametrize(
    "arguments",
    [
        {"gradient_accumulation_steps": 2},
        {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2},
        {"global_clipnorm": 0.5},
        {"clipnorm": 0.5},
        {"weight_decay": 1e-3},
    ],
)
def test_optimizer_arguments(arguments):
    model = sequential()
    model.compile(keras.optimizers.Adam(5e-3, **arguments), "mse")
    assert loss_falls(model)


def test_layout_and_padding_stay():
    model = sequential()
    model.build((None, 20))
    layer = model.layers[0]
    layout = layer.layout
    optimizer = keras.optimizers.AdamW(1e-2, weight_decay=0.1)
    model.compile(optimizer, "mse")
    model.fit(X, Y, verbose=0)
    assert layer.layout == layout
    blocks = layer.blocks.numpy()
    np.testing.assert_array_equal(
        blocks, layout.gather(layout.to_dense(blocks))
    )


def test_constraint_acts_on_the_blocks():
    layer = BlockSparseDense(
        16, kernel_constraint="non_neg", block_size=8, sparsity=0.5
    )
    model = keras.Sequential([layer, keras.layers.Dense(3)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(X, Y, verbose=0)
    assert layer.blocks.numpy().min() == 0.0


def test_frozen_layer():
    model = sequential()
    model.build((None, 20))
    model.layers[0].trainable = False
    before = model.layers[0].get_weights()
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0)
    after = model.layers[0].get_weights()
    assert all(map(np.array_equal, before, after))


def test_same_seed_same_training():
    def train():
        keras.utils.set_random_seed(3)
        model = sequential()
        model.compile("adam", "mse")
        model.fit(X, Y, verbose=0)
        return model.predict(X, verbose=0)

    np.testing.assert_array_equal(train(), train())


def test_learns_as_the_masked_dense_layer():
    """Five steps of SGD equal those on a dense weight under a mask."""
    layer = BlockSparseDense(24, "tanh", block_size=8, sparsity=0.5)
    layer.build((None, 20))
    layout = layer.layout
    mask = layout.to_dense(np.ones(layout.blocks_shape, np.float32))
    kernel = tf.Variable(layout.to_dense(layer.blocks.numpy()))
    bias = tf.Variable(layer.bias.numpy())
    target = tf.constant(RNG.normal(size=(256, 24)).astype("float32"))
    optimizer = keras.optimizers.SGD(0.5)
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(X) - target) ** 2)
        weights = layer.trainable_weights
        optimizer.apply(
            tape.gradient(loss, [w.value for w in weights]), weights
        )
        with tf.GradientTape() as tape:
            y = tf.tanh(X @ (kernel * mask) + bias)
            loss = tf.reduce_mean((y - target) ** 2)
        dkernel, dbias = tape.gradient(loss, [kernel, bias])
        kernel.assign_sub(0.5 * dkernel)
        bias.assign_sub(0.5 * dbias)
    np.testing.assert_allclose(
        layout.to_dense(layer.blocks.numpy()), kernel * mask, 1e-4, 1e-5
    )
    np.testing.assert_allclose(layer.bias.numpy(), bias, 1e-4, 1e-5)


# --- Whole processes ------------------------------------------------------


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.getcwd(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


MIRRORED = """
import keras
import numpy as np
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
from tf_blocksparse.layers import BlockSparseDense

keras.utils.set_random_seed(1)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
def train(scope):
    keras.utils.set_random_seed(1)
    with scope:
        model = keras.Sequential([
            keras.Input((20,)),
            BlockSparseDense(64, "relu", block_size=8, sparsity=0.5),
            keras.layers.Dense(1),
        ])
        model.compile(keras.optimizers.SGD(0.05), "mse")
    x = np.random.default_rng(0).normal(size=(256, 20)).astype("float32")
    model.fit(x, x[:, :1], batch_size=32, epochs=2, shuffle=False, verbose=0)
    return model.predict(x, verbose=0)

import contextlib
one, two = train(contextlib.nullcontext()), train(strategy.scope())
assert strategy.num_replicas_in_sync == 2
np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
"""


def test_mirrored_strategy_on_two_cpus():
    result = run(MIRRORED)
    assert result.returncode == 0, result.stderr[-2000:]


CLUSTERS = """
import keras
import numpy as np
from tf_blocksparse.layers import BlockSparseDense

model = keras.Sequential([
    keras.Input((20,)),
    keras.layers.Dense(64, "relu"),
    BlockSparseDense(64, "relu", block_size=8, sparsity=0.5),
    keras.layers.Dense(64, "relu"),
    keras.layers.Dense(1),
])
model.compile(keras.optimizers.SGD(0.05), "mse")
x = np.random.default_rng(0).normal(size=(256, 20)).astype("float32")
losses = model.fit(x, x[:, :1], epochs=2, verbose=0).history["loss"]
assert losses[1] < losses[0]
"""


def test_xla_clusters_around_it():
    flags = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"
    result = run(CLUSTERS, TF_XLA_FLAGS=flags, TF_CPP_MIN_LOG_LEVEL="0")
    assert result.returncode == 0, result.stderr[-2000:]
    assert "Compiled cluster using XLA" in result.stderr


MEMORY = """
import resource
import numpy as np
import tensorflow as tf
import keras
from tf_blocksparse.layers import BlockSparseDense

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

layer = BlockSparseDense(32768, "relu", sparsity=0.999)
layer.build((None, 32768))
x = tf.ones((8, 32768))
@tf.function
def step():
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x) ** 2)
    weights = [w.value for w in layer.trainable_weights]
    return tape.gradient(loss, [x, *weights])

before = peak()
step()
print(peak() - before)
"""


def test_step_makes_no_dense_buffer():
    result = run(MEMORY)
    assert result.returncode == 0, result.stderr[-2000:]
    # A dense weight would be 4096 MiB, the blocks are 4.
    assert int(result.stdout) < 300
