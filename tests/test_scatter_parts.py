"""Scatters whose updates are split into parts with arrays of their own."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.cpu import schedule

RNG = np.random.default_rng(0)
TOL = {"f4": 1e-5, "c8": 1e-5, "f2": 2e-2}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(schedule, "SCATTER_LEAST", 64)


def add(b, i, x):
    return jax.jit(lambda b, i, x: b.at[i].add(x))(b, i, x)


def parts(b, i, x):
    text = jax.see.program(lambda b, i, x: b.at[i].add(x))(b, i, x).loops
    return "split" in text


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "c8", "f2", "?"])
@pytest.mark.parametrize("count", [65, 999, 4096, 5001])
def test_sums(dtype, count):
    i = RNG.integers(-3, 23, count).astype("i4")
    x = (RNG.standard_normal(count) * 3).astype(dtype)
    b = (RNG.standard_normal(20) * 3).astype(dtype)
    places = np.where(i < 0, i + 20, i)
    inside = places < 20
    wide = {"f4": "f8", "f2": "f8", "c8": "c16"}.get(dtype, dtype)
    want = b.astype(wide)
    plus = np.logical_or if dtype == "?" else np.add
    plus.at(want, places[inside], x[inside].astype(wide))
    got = add(b, i, x)
    tol = TOL.get(dtype, 0)
    np.testing.assert_allclose(got, want, rtol=tol, atol=tol * 20)
    assert parts(b, i, x) == (count > 100)


def test_large_targets_are_not_copied():
    x, i = np.ones(400, "f4"), RNG.integers(0, 300, 400)
    assert not parts(np.zeros(300, "f4"), i, x)


def test_elements_that_nothing_is_added_to_stay():
    b = np.array([-0.0, 0.0, np.inf, np.nan, -0.0], "f4")
    got = np.asarray(add(b, np.full(1000, 4, "i4"), np.full(1000, -0.0, "f4")))
    np.testing.assert_array_equal(got, b)
    np.testing.assert_array_equal(np.signbit(got)[:3], [True, False, False])
    assert np.signbit(got[4])


def test_computed_updates_in_a_loop():
    i = RNG.integers(0, 10, 2000)

    def f(b, x):
        turn = lambda k, b: b.at[i].add(jnp.sin(x) * b[0]) * 0.01
        return jax.lax.fori_loop(0, 3, turn, b)

    b, x = np.ones(10, "f4"), RNG.standard_normal(2000).astype("f4")
    want = b.astype("f8")
    for _ in range(3):
        new = want.copy()
        np.add.at(new, i, np.sin(x.astype("f8")) * want[0])
        want = new * 0.01
    np.testing.assert_allclose(jax.jit(f)(b, x), want, rtol=1e-4, atol=1e-5)


def test_histograms_of_eager_and_compiled_code_agree():
    x = RNG.standard_normal(3000).astype("f4")
    i = RNG.integers(0, 7, 3000)
    eager = jnp.zeros(7).at[i].add(x)
    np.testing.assert_array_equal(eager, add(jnp.zeros(7), i, x))
