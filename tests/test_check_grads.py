"""Derivatives held against finite differences, and code by platform."""

import functools

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.test_util import check_grads, check_jvp, check_vjp


@jax.custom_jvp
def wrong(x):
    return jnp.sin(x)


wrong.defjvp(lambda primals, tangents: (wrong(*primals), 2 * tangents[0]))


def test_right_derivatives_pass():
    x = np.float32([0.3, 0.7])
    check_grads(lambda x, y: jnp.tanh(x @ x * y), (x, np.float32(0.5)), 1)
    check_grads(lambda tree: tree["a"] ** 3 * tree["b"], ({"a": x, "b": 2.0},), 1)
    with jax.enable_x64():
        check_grads(lambda x: jnp.sin(x) * x, (np.array([0.3, 0.7]),), 3)
        check_grads(lambda z: z * z, (np.array(0.3 + 0.7j),), 2)
        check_grads(lambda x, n: x**n, (2.0, 3), 1)


def test_wrong_derivatives_fail():
    with pytest.raises(AssertionError, match="jvp forward derivative"):
        check_grads(wrong, (0.3,), 1, modes=["fwd"])
    with pytest.raises(AssertionError, match="vjp reverse derivative"):
        check_grads(wrong, (0.3,), 1, modes=["rev"])
    with pytest.raises(AssertionError, match="value"):
        check_jvp(jnp.cos, functools.partial(jax.jvp, jnp.sin), (0.3,))
    with pytest.raises(AssertionError, match="here value"):
        check_vjp(jnp.cos, functools.partial(jax.vjp, jnp.sin), (0.3,), err_msg="here")


def test_only_the_second_derivative_is_wrong():
    @jax.custom_jvp
    def slope(x):
        return jnp.cos(x)

    slope.defjvp(lambda primals, tangents: (slope(*primals), tangents[0]))

    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), slope(*primals) * tangents[0]))
    check_grads(f, (0.3,), 1)
    with pytest.raises(AssertionError, match="jvp of jvp"):
        check_grads(f, (0.3,), 2)


def test_tolerances_by_dtype():
    check_grads(wrong, (0.3,), 1, atol={np.float32: 10.0})
    with pytest.raises(AssertionError):
        check_grads(wrong, (0.3,), 1, atol={np.float64: 10.0})


def test_functions_by_platform():
    f = functools.partial(lax.platform_dependent, cpu=jnp.sin, tpu=jnp.cos)
    assert f(0.0) == 0
    assert jax.jit(jax.grad(f))(0.0) == 1
    assert lax.platform_dependent(1, tpu=jnp.cos, default=lambda x: x + 1) == 2
    with pytest.raises(NotImplementedError, match="none for cpu. Add cpu="):
        lax.platform_dependent(1, tpu=jnp.cos)
    with pytest.raises(TypeError, match="tpu must be a function, got 3"):
        lax.platform_dependent(1, tpu=3)
    with pytest.raises(ValueError, match="cuda or rocm"):
        lax.platform_dependent(1, gpu=jnp.sin)
