"""Special functions where their algorithms change, and their derivatives there."""

import mpmath
import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(), mpmath.workdps(40):
        yield


STEP = mpmath.mpf(10) ** -15


def slope(function, x):
    return (function(x + STEP) - function(x - STEP)) / (2 * STEP)


def lower(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def test_the_slope_by_a_whole_number():
    """There the continued fraction is finite, but not that of its derivative."""
    for a in (1.0, 2.0, 5.0, 1 + 1e-9):
        for x in (a + 1.1, a + 10, a / 2):
            got = float(lax.igamma_grad_a(a, x))
            want = slope(lambda a: lower(a, x), a)
            assert abs(got / want - 1) < 1e-12


def test_slopes_of_betainc_by_whole_numbers():
    for a, b, x in ((2.0, 3.0, 0.4), (1.0, 1.0, 0.9), (10.0, 7.0, 0.6)):
        by_a, by_b = jax.grad(lax.betainc, (0, 1))(a, b, x)
        want = slope(lambda a: mpmath.betainc(a, b, 0, x, regularized=True), a)
        assert abs(float(by_a) / want - 1) < 1e-12
        want = slope(lambda b: mpmath.betainc(a, b, 0, x, regularized=True), b)
        assert abs(float(by_b) / want - 1) < 1e-12


def test_the_borders_between_formulas():
    for a in (0.999, 1.0, 199.9, 200.0, 201.0):
        for x in (1.0999, 1.1001, a + 0.999, a + 1.001, 0.7 * a, 1.3 * a):
            with mpmath.workdps(40):
                want = mpmath.gammainc(a, x, regularized=True)
            if want > 1e-280:
                assert abs(float(lax.igammac(a, x)) / want - 1) < 1e-12
            if lower(a, x) > 1e-280:
                assert abs(float(lax.igamma(a, x)) / lower(a, x) - 1) < 1e-12


def test_small_concentrations_keep_the_upper_tail():
    for a in (1e-300, 1e-10, 1e-3):
        want = mpmath.gammainc(a, 0.5, regularized=True)
        assert abs(float(lax.igammac(a, 0.5)) / want - 1) < 1e-12


def test_gradients_of_draws():
    key = jax.random.key(0)
    for a in (0.1, 0.5, 1.0, 30.0, 1e4):
        draw = lambda a: jax.random.gamma(jax.random.clone(key), a)
        x, got = float(draw(a)), float(jax.grad(draw)(a))
        density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
        if a < 1e4:
            want = -slope(lambda a: lower(a, x), a) / density
            assert abs(got / want - 1) < 1e-10
        log_draw = lambda a: jax.random.loggamma(jax.random.clone(key), a)
        by_log = float(jax.grad(log_draw)(a))
        assert by_log == pytest.approx(got / x, rel=1e-9)


def test_log_draws_of_tiny_concentrations_have_gradients():
    draw = lambda a: jax.random.loggamma(jax.random.key(3), a)
    a = 1e-6
    # log x = log(U)/a + …: its slope is almost -log(x)/a.
    assert float(jax.grad(draw)(a)) == pytest.approx(-float(draw(a)) / a, rel=1e-4)


def test_second_derivatives_are_symmetric():
    v = jnp.array([2.0, 1.5, 0.3])
    hessian = np.asarray(jax.hessian(lambda v: lax.betainc(v[0], v[1], v[2]))(v))
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-10)
