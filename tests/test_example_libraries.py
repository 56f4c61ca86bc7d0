"""Optimizers and layers for teaching."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.example_libraries import optimizers, stax

OPTIMIZERS = {
    "sgd": (0.1,), "momentum": (0.05, 0.5), "nesterov": (0.05, 0.5), "adagrad": (0.5,),
    "rmsprop": (0.05,), "rmsprop_momentum": (0.02,), "adam": (0.1,), "adamax": (0.1,),
    "sm3": (0.5,),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_find_a_minimum(name):
    init, update, get = getattr(optimizers, name)(*OPTIMIZERS[name])
    target = {"a": jnp.array([[1.0, -2.0]]), "b": jnp.array(0.5)}

    def loss(params):
        return sum(jnp.sum((params[k] - target[k]) ** 2) for k in target)

    @jax.jit
    def step(i, state):
        return update(i, jax.grad(loss)(get(state)), state)

    state = init({"a": jnp.zeros((1, 2)), "b": jnp.array(0.0)})
    for i in range(150):
        state = step(i, state)
    assert loss(get(state)) < 1e-2
    again = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
    assert again == state or all(
        jnp.array_equal(a, b) for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(state), strict=True)
    )  # fmt: skip
    with pytest.raises(TypeError, match="structure of the parameters"):
        update(0, {"a": jnp.zeros((1, 2))}, state)


def test_first_step_of_adam_and_schedules():
    init, update, get = optimizers.adam(0.1)
    x = get(update(0, jnp.array([3.0, -1e-3]), init(jnp.zeros(2))))
    np.testing.assert_allclose(x, [-0.1, 0.1], rtol=1e-4)
    assert optimizers.inverse_time_decay(1.0, 2, 0.5, staircase=True)(3) == 1 / 1.5
    assert optimizers.polynomial_decay(1.0, 10, 0.2)(5) == pytest.approx(0.6)
    assert optimizers.polynomial_decay(1.0, 10, 0.2)(50) == pytest.approx(0.2)
    steps = optimizers.piecewise_constant([10, 20], [3.0, 2, 1])
    assert [float(steps(i)) for i in (0, 10, 11, 25)] == [3, 3, 2, 1]
    clipped = optimizers.clip_grads([jnp.array([3.0, 4])], 1.0)
    np.testing.assert_allclose(clipped[0], [0.6, 0.8], rtol=1e-6)
    with pytest.raises(TypeError, match="number or a function"):
        optimizers.sgd(jnp.ones(2))


def check(layer, shape, key=None):
    init, apply = layer
    out, params = init(jax.random.key(0), shape)
    inputs = jnp.array(np.random.default_rng(0).normal(size=shape), jnp.float32)
    got = apply(params, inputs, rng=key)
    assert got.shape == out
    batch, _ = init(jax.random.key(1), (-1, *shape[1:]))
    assert batch == (-1, *out[1:])
    return inputs, params, got


def test_layers():
    x, (W, b), y = check(stax.Dense(4), (2, 3))
    np.testing.assert_allclose(y, x @ W + b, rtol=1e-5)
    x, _, y = check(stax.serial(stax.Dense(4), stax.Relu, stax.LogSoftmax), (2, 3))
    np.testing.assert_allclose(jnp.exp(y).sum(-1), 1, rtol=1e-5)
    check(stax.Conv(5, (3, 2), strides=(2, 1), padding="SAME"), (2, 7, 6, 3))
    check(stax.ConvTranspose(5, (3, 3), strides=(2, 2)), (2, 7, 6, 3))
    check(stax.Conv1DTranspose(5, (3,), strides=(2,)), (2, 7, 3))
    x, _, y = check(stax.Flatten, (2, 3, 4))
    assert y.shape == (2, 12)
    x, _, y = check(stax.MaxPool((2, 2), strides=(2, 2)), (2, 4, 6, 3))
    np.testing.assert_allclose(y, x.reshape(2, 2, 2, 3, 2, 3).max((2, 4)))
    x, _, y = check(stax.AvgPool((2, 2), padding="SAME"), (2, 4, 6, 3))
    np.testing.assert_allclose(y[:, -1, -1], x[:, -1, -1], rtol=1e-6)
    x, _, y = check(stax.SumPool((2, 2), spec="NCHW"), (2, 3, 4, 6))
    np.testing.assert_allclose(y[0, 0, 0, 0], x[0, 0, :2, :2].sum(), rtol=1e-5)
    _, _, y = check(stax.BatchNorm(), (4, 5, 6, 2))
    np.testing.assert_allclose(y.mean((0, 1, 2)), 0, atol=1e-5)
    x, _, y = check(stax.Dropout(0.5), (50, 40), jax.random.key(3))
    assert 0.4 < np.mean(y == 0) < 0.6
    x, _, y = check(stax.Identity, (3, 2))
    assert jnp.array_equal(x, y)
    with pytest.raises(ValueError, match="needs a random key"):
        stax.Dropout(0.5)[1]((), x)


def test_branches():
    both = stax.serial(
        stax.FanOut(2), stax.parallel(stax.Dense(3), stax.Identity), stax.FanInConcat()
    )
    _, _, y = check(both, (4, 2))
    assert y.shape == (4, 5)
    residual = stax.shape_dependent(
        lambda shape: stax.serial(
            stax.FanOut(2),
            stax.parallel(stax.Dense(shape[-1]), stax.Identity),
            stax.FanInSum,
        )
    )
    x, params, y = check(residual, (4, 2))
    (W, b) = params[1][0]
    np.testing.assert_allclose(y, x @ W + b + x, rtol=1e-5)
