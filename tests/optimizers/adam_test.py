# Copyright 2026 The tf_blocksparse Authors. SPDX-License-Identifier: Apache-2.0
"""Adam against Keras's Adam: the same bits, whatever is around an update."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_blocksparse.ops._library import library
from tf_blocksparse.optimizers import Adam

# Around the numbers of a register, and more than a task has.
SHAPES = [(), (1,), (17,), (3, 5, 7), (0, 4), (300, 257)]


def state(shape, dtype, step, seed=0):
    """A variable's value, gradient and moments as after some steps."""
    rng = np.random.default_rng(seed)
    value, gradient, m = (
        np.asarray(rng.standard_normal(shape) * scale, dtype)
        for scale in (0.05, 0.01, 0.003)
    )
    v = np.asarray(rng.standard_normal(shape) ** 2 * 1e-4, dtype)
    warm = np.asarray(step > 0, dtype)
    return value, gradient, m * warm, v * warm


def updated(kind, value, gradient, m, v, step, **arguments):
    """All variables after an update from a state."""
    variable = keras.Variable(value)
    optimizer = kind(**arguments)
    optimizer.build([variable])
    # With accumulated gradients, `iterations` is no variable.
    optimizer._iterations.assign(step)
    optimizer._momentums[0].assign(m)
    optimizer._velocities[0].assign(v)

    @tf.function
    def apply():
        optimizer.apply([tf.constant(gradient)], [variable])

    apply()
    ours = [each.numpy() for each in optimizer.variables]
    types = {
        op.type for op in apply.get_concrete_function().graph.get_operations()
    }
    return [variable.numpy(), *ours], types


def assert_same(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("step", [0, 1, 2, 999, 10**6])
def test_an_update_is_keras_to_the_last_bit(dtype, step):
    for seed, shape in enumerate(SHAPES):
        given = (*state(shape, dtype, step, seed), step)
        expected, _ = updated(keras.optimizers.Adam, *given)
        actual, types = updated(Adam, *given)
        assert_same(actual, expected)
        assert "Blocksparse>ApplyAdam" in types


@pytest.mark.parametrize(
    "arguments",
    [
        {"learning_rate": 0.3, "beta_1": 0.0, "beta_2": 0.5, "epsilon": 1e-2},
        {"learning_rate": keras.optimizers.schedules.CosineDecay(0.1, 2000)},
        {"learning_rate": lambda: 0.01},
        {"beta_1": 0.95, "beta_2": 0.99},
        {"weight_decay": 0.1},
        {"clipnorm": 0.01},
        {"global_clipnorm": 0.01},
        {"clipvalue": 0.001},
        {"use_ema": True, "ema_overwrite_frequency": 2},
        {"loss_scale_factor": 4.0},
        {"gradient_accumulation_steps": 2},
        {"amsgrad": True},
    ],
    ids=lambda arguments: ",".join(arguments),
)
def test_arguments_mean_what_they_do_in_keras(arguments):
    given = (*state((300, 257), "float32", 5), 5)
    expected, _ = updated(keras.optimizers.Adam, *given, **arguments)
    actual, types = updated(Adam, *given, **arguments)
    assert_same(actual, expected)
    # A branch of accumulated gradients is a graph of its own.
    if "gradient_accumulation_steps" not in arguments:
        assert ("Blocksparse>ApplyAdam" in types) != ("amsgrad" in arguments)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_take_the_step_of_keras(dtype):
    dtype = tf.as_dtype(dtype).as_numpy_dtype
    given = (*state((300,), dtype, 5), 5)
    expected, _ = updated(keras.optimizers.Adam, *given)
    actual, types = updated(Adam, *given)
    assert_same(actual, expected)
    assert "Blocksparse>ApplyAdam" not in types


def test_sparse_gradients_take_the_step_of_keras():
    results = []
    for kind in (keras.optimizers.Adam, Adam):
        variable = keras.Variable(np.ones([5, 3], "float32"))
        optimizer = kind(0.1)
        slices = tf.IndexedSlices(tf.ones([2, 3]), [1, 1], [5, 3])
        for _ in range(3):
            optimizer.apply([slices], [variable])
        results.append([variable.numpy(), *optimizer.variables[2:]])
    assert_same(*([np.asarray(x) for x in each] for each in results))


def of_unknown_rank():
    return tf.numpy_function(lambda: np.ones(3, "float32"), [], tf.float32)


@pytest.mark.parametrize(
    "gradient", [lambda: [1.0, 1.0, 1.0], lambda: tf.ones([1]), of_unknown_rank]
)
def test_what_is_not_sure_to_have_the_shape_takes_the_step_of_keras(gradient):
    given = state((3,), "float32", 0)[0], gradient
    assert_same(
        [updates(Adam, tf.function, *given)],
        [updates(keras.optimizers.Adam, tf.function, *given)],
    )


VALUE, GRADIENT, *_ = state((64, 33), "float32", 0)


def updates(kind, wrap, value=VALUE, gradient=lambda: tf.constant(GRADIENT)):
    """A variable after two updates by a function that `wrap` makes."""
    variable = keras.Variable(value)
    optimizer = kind(0.01)
    optimizer.build([variable])
    apply = wrap(lambda: optimizer.apply([gradient()], [variable]))
    apply()
    apply()
    return variable.numpy()


def test_eager_updates_are_those_of_graphs():
    np.testing.assert_array_equal(
        updates(Adam, lambda function: function), updates(Adam, tf.function)
    )


def in_a_compiled_function(function):
    return tf.function(function, jit_compile=True)


def in_a_function_of_a_compiled_one(function):
    return in_a_compiled_function(tf.function(function))


@pytest.mark.parametrize(
    "wrap", [in_a_compiled_function, in_a_function_of_a_compiled_one]
)
def test_compiled_functions_take_the_step_of_keras(wrap):
    expected = updates(keras.optimizers.Adam, wrap)
    # XLA may contract a product and a sum, in either of the two.
    np.testing.assert_allclose(updates(Adam, wrap), expected, rtol=1e-6)


def test_what_reads_a_variable_before_keeps_its_value():
    # The op writes in place only where nobody else holds the buffer.
    variable = keras.Variable(np.ones([1000], "float32"))
    optimizer = Adam(0.5)
    optimizer.build([variable])

    @tf.function
    def step():
        before = variable.value.read_value()
        moment = optimizer._momentums[0].value.read_value()
        optimizer.apply([before], [variable])
        return before, moment, variable.value.read_value()

    before, moment, after = step()
    np.testing.assert_array_equal(before, np.ones(1000))
    np.testing.assert_array_equal(moment, np.zeros(1000))
    np.testing.assert_allclose(after, np.full(1000, 0.5), rtol=1e-5)


def test_wrong_variables_are_refused():
    three = [tf.Variable(tf.zeros([4])) for _ in range(3)]
    names = ("alpha", "first", "second", "epsilon")
    numbers = dict.fromkeys(names, 0.1)

    def call(variables, **changed):
        library.blocksparse_apply_adam(
            *(each.handle for each in variables),
            gradient=tf.zeros([4]),
            **{**numbers, **changed},
        )

    call(three)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not three"):
        call([three[0], three[1], three[1]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"m has type"):
        call([three[0], tf.Variable(tf.zeros([5])), three[2]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="v has type"):
        call([*three[:2], tf.Variable(tf.zeros([4], tf.float64))])
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        call(three, alpha=[0.1, 0.2])
    several = [tf.stack([each.handle, each.handle]) for each in three]
    with pytest.raises(ValueError, match="rank 0"):
        tf.function(
            lambda: library.blocksparse_apply_adam(
                *several, gradient=tf.zeros([4]), **numbers
            )
        )()
