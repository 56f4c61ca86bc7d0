"""Functions with control flow that tests of values and of transformations share."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.core.check import check

RNG = np.random.default_rng(0)
MODES = pytest.mark.parametrize("mode", [lambda f: f, jax.jit], ids=["eager", "jit"])


def sample(*shape):
    return jnp.asarray(RNG.standard_normal(shape).astype("float32"))


def close(got, want, tolerance=2e-5):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def slope(f, x, direction, step=1e-2):
    """The derivative of f at x along a direction, by central differences of order 4."""
    at = lambda k: np.asarray(f(x + k * step * direction), np.float64)
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


def body_of(f, *args):
    """The jaxpr of f, checked."""
    jaxpr = jax.make_jaxpr(f)(*args).jaxpr
    check(jaxpr)
    return jaxpr


W, C, XS = sample(4, 4) / 2, sample(4), sample(6, 4)
V = jnp.array([0.5, -1.5, 2.0, -0.1, 1.0])
P = jnp.array([True, False, True, True, False])


def network(w, c, xs):
    """A small recurrent network: a number from weights, a state and inputs."""

    def step(c, x):
        c = jnp.tanh(w @ c + x)
        return c, jnp.sum(c**2)

    c, ys = lax.scan(step, c, xs)
    return jnp.sum(c * c) + jnp.sum(ys * jnp.arange(ys.shape[0]))


def by_hand(w, c, xs):
    total = 0.0
    for i, x in enumerate(xs):
        c = jnp.tanh(w @ c + x)
        total = total + i * jnp.sum(c**2)
    return jnp.sum(c * c) + total


def branch(p, x):
    return lax.cond(p, lambda x: jnp.sin(x) * x, lambda x: jnp.exp(x) - x * 3, x)


def choose(i, x):
    functions = [lambda x: jnp.sin(x) * x, lambda x: x**2, lambda x: 2 * jnp.exp(x)]
    return lax.switch(i, functions, x)


def settle(w, c):
    """A loop whose number of steps depends on its values."""

    def going(state):
        n, c = state
        return n < 3 * jnp.sum(jnp.abs(c))

    def step(state):
        n, c = state
        return n + 1, jnp.sin(w @ c) * 0.9 + 0.1

    return lax.while_loop(going, step, (0, c))[1]
