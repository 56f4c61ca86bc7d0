"""Minimisation, interpolation on grids and vector quantisation against SciPy."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.interpolate
import scipy.optimize

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.scipy.cluster.vq import vq
from tetrad.scipy.interpolate import RegularGridInterpolator
from tetrad.scipy.optimize import minimize


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def eggs(x):
    return jnp.sum(x**2) + 3 * jnp.sum(jnp.sin(x) ** 2)


@pytest.mark.parametrize("f", [rosenbrock, himmelblau, eggs])
@pytest.mark.parametrize("start", [(0.0, 0), (-1.2, 1), (3, -2)])
def test_minima(f, start):
    result = minimize(f, jnp.array(start), method="BFGS")
    assert result.success
    assert result.status == 0
    assert np.abs(result.jac).max() < 1e-5
    wanted = scipy.optimize.minimize(
        f, result.x, jac=jax.grad(f), method="BFGS", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(result.x, wanted.x, atol=1e-5)
    jitted = jax.jit(lambda x: minimize(f, x, method="BFGS"))(jnp.array(start))
    np.testing.assert_allclose(jitted.x, result.x, atol=1e-5)


def test_settings_of_minimize():
    starts = jnp.array([[0.0, 0], [2, 2], [-1, 1]])
    found = jax.vmap(lambda x: minimize(rosenbrock, x, method="bfgs").x)(starts)
    np.testing.assert_allclose(found, 1, atol=1e-4)
    few = minimize(rosenbrock, starts[0], method="BFGS", options={"maxiter": 2})
    assert not few.success
    assert few.status == 1
    assert few.nit == 2
    moved = minimize(
        lambda x, a: ((x - a) ** 2).sum(), starts[0], (3.0,), method="BFGS"
    )
    np.testing.assert_allclose(moved.x, 3, atol=1e-6)
    with pytest.raises(NotImplementedError, match="must be 'BFGS'"):
        minimize(rosenbrock, starts[0], method="Newton-CG")
    with pytest.raises(TypeError, match="unknown option 'speed'"):
        minimize(rosenbrock, starts[0], method="BFGS", options={"speed": 1})
    with pytest.raises(ValueError, match="x0 must be a vector"):
        minimize(rosenbrock, starts, method="BFGS")


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, -1.0, None])
def test_regular_grids(method, fill):
    rng = np.random.default_rng(0)
    grid = np.array([0.0, 1, 2.5, 4]), np.array([-1.0, 0, 3])
    places = rng.uniform([-1, -2], [5, 4], (40, 2))
    for tail in ((), (2,)):
        values = rng.normal(size=(4, 3, *tail))
        settings = {"method": method, "bounds_error": False, "fill_value": fill}
        ours = RegularGridInterpolator(grid, values, **settings)
        theirs = scipy.interpolate.RegularGridInterpolator(grid, values, **settings)
        np.testing.assert_allclose(ours(places), theirs(places))
        pair = (places[:5, :1], places[:5, 1])
        np.testing.assert_allclose(ours(pair), theirs(pair))
    with pytest.raises(ValueError, match="last axis of places"):
        ours(np.ones((3, 3)))
    with pytest.raises(ValueError, match="method must be"):
        ours(places, "cubic")
    with pytest.raises(NotImplementedError, match="bounds_error"):
        RegularGridInterpolator(grid, values, bounds_error=True)


def test_vq():
    rng = np.random.default_rng(0)
    obs, book = rng.normal(size=(30, 3)), rng.normal(size=(4, 3))
    for part in ((obs, book), (obs[:, 0], book[:, 0])):
        for got, wanted in zip(vq(*part), scipy.cluster.vq.vq(*part), strict=True):
            np.testing.assert_allclose(got, wanted)
    with pytest.raises(ValueError, match="as many columns"):
        vq(obs, book[:, :2])
