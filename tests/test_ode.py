"""Differential equations against SciPy, and their gradients against differences."""

import numpy as np
import pytest
import scipy.integrate

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.experimental.ode import odeint


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def pendulum(y, t, m, g):
    angle, speed = y
    return [speed, -m * speed - g * jnp.sin(angle) + 0.1 * t]


def vector(y, t, m, g):
    return jnp.stack(pendulum(y, t, m, g))


Y0, T = np.array([np.pi - 0.1, 0.0]), np.linspace(0.0, 7.0, 12)


def test_solutions():
    wanted = scipy.integrate.odeint(vector, Y0, T, (0.25, 9.8), rtol=1e-11, atol=1e-11)
    got = odeint(vector, Y0, T, 0.25, 9.8)
    np.testing.assert_allclose(got, wanted, atol=1e-6)
    got = jax.jit(lambda y, t: odeint(pendulum, list(y), t, 0.25, 9.8))(Y0, T)
    np.testing.assert_allclose(jnp.stack(got, 1), wanted, atol=1e-6)
    got = jax.vmap(lambda g: odeint(vector, Y0, T, 0.25, g))(jnp.array([9.8, 1.0]))
    np.testing.assert_allclose(got[0], wanted, atol=1e-6)
    got = odeint(vector, Y0, T, 0.25, 9.8, hmax=0.05)
    np.testing.assert_allclose(got, wanted, atol=1e-6)
    stuck = odeint(vector, Y0, T[:2], 0.25, 9.8, mxstep=1)
    assert np.abs(stuck[1] - wanted[1]).max() > 1e-6


def test_gradients():
    def loss(y0, t, m, g):
        return jnp.sum(odeint(vector, y0, t, m, g) ** 2)

    args = (Y0, T[:5], jnp.array(0.25), jnp.array(9.8))
    slopes = jax.grad(loss, (0, 1, 2, 3))(*args)
    step = 1e-5
    for i, slope in enumerate(slopes):
        for j in range(max(args[i].size, 1)):
            move = step * jnp.eye(args[i].size)[j].reshape(args[i].shape)
            ahead, behind = list(args), list(args)
            ahead[i], behind[i] = args[i] + move, args[i] - move
            wanted = (loss(*ahead) - loss(*behind)) / (2 * step)
            np.testing.assert_allclose(
                jnp.ravel(slope)[j], wanted, rtol=2e-4, atol=1e-4
            )

    def closed(a):
        return odeint(lambda y, t: -a * y, jnp.array(1.0), jnp.array([0.0, 2.0]))[1]

    np.testing.assert_allclose(jax.grad(closed)(0.7), -2 * np.exp(-1.4), rtol=1e-5)
    second = jax.grad(jax.grad(closed))(0.7)
    np.testing.assert_allclose(second, 4 * np.exp(-1.4), rtol=1e-5)


def test_mistakes():
    with pytest.raises(TypeError, match="t must be a vector"):
        odeint(vector, Y0, jnp.ones((2, 2)), 0.25, 9.8)
    with pytest.raises(TypeError, match="real floating-point"):
        odeint(vector, Y0, T, 1, 9.8)
