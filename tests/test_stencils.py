"""Elementwise expressions over arrays that are put together from parts."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.passes import patches


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    monkeypatch.setattr(patches, "LEAST", 0)


def numbers(*shape):
    return np.random.default_rng(0).random(shape, dtype="float32")


def written(f, *args):
    """The values that the plan of `f` has beside its inputs."""
    text = jax.see.program(f)(*args).plan
    return {
        line.split()[0]
        for line in text.split("\n")
        if line.strip().startswith("v") and (" = %" in line or "reduce" in line)
    }


def neighbours(np, u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)


def test_shifted_neighbours_are_read_where_they_are():
    def f(u):
        return neighbours(jnp, u) - 4 * u

    u = numbers(20, 30)
    got = jax.jit(f)(u)
    np.testing.assert_allclose(got, neighbours(np, u) - 4 * u, rtol=1e-5, atol=1e-5)
    assert written(f, u) == {"v1"}


def test_slices_of_a_padded_array():
    def f(np, u):
        p = np.pad(u, 1, constant_values=2)
        return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u

    u = numbers(20, 30)
    got = jax.jit(lambda u: f(jnp, u))(u)
    np.testing.assert_allclose(got, f(np, u), rtol=1e-5, atol=1e-5)
    assert written(lambda u: f(jnp, u), u) == {"v1"}


def test_a_loop_of_stencils():
    def step(np, u):
        return u + 0.1 * (neighbours(np, u) - 4 * u)

    u = numbers(17, 9)
    got = jax.jit(lambda u: lax.fori_loop(0, 7, lambda i, u: step(jnp, u), u))(u)
    for _ in range(7):
        u = step(np, u)
    np.testing.assert_allclose(got, u, rtol=1e-5, atol=1e-5)


def test_what_is_read_otherwise_is_written():
    """One array more for one less is no gain; for four it is."""
    u = numbers(20, 30)
    few = written(lambda u: jnp.sum((jnp.roll(u, 1, 0) - u) ** 2), u)
    many = written(lambda u: jnp.sum((neighbours(jnp, u) - 4 * u) ** 2), u)
    assert len(few) == len(many) == 2
    both = jax.jit(lambda u: (jnp.roll(u, 1, 0), jnp.roll(u, 1, 0) + u))
    first, second = both(u)
    np.testing.assert_array_equal(first, np.roll(u, 1, 0))
    np.testing.assert_array_equal(second, np.roll(u, 1, 0) + u)


def test_dear_sources_are_computed_once():
    def f(u):
        return neighbours(jnp, jnp.exp(jnp.sin(u)))

    u = numbers(300, 300)
    assert jax.see.program(f)(u).plan.count("= exp") == 1
    want = neighbours(np, np.exp(np.sin(u)))
    np.testing.assert_allclose(jax.jit(f)(u), want, rtol=1e-5)


def grown(np, rng, steps):
    """A function of two arrays, at random; the same for every module `np`."""

    def program(x, y):
        pool = [x, y, x + y]
        for _ in range(steps):
            kind = rng.integers(0, 9)
            a, b = (pool[rng.integers(len(pool))] for _ in range(2))
            axis = int(rng.integers(2))
            if kind < 3:
                made = np.roll(a, int(rng.integers(-3, 4)), axis)
            elif kind == 3:
                width = [tuple(int(v) for v in rng.integers(0, 3, 2)) for _ in "ab"]
                padded = np.pad(a, width, constant_values=0.5)
                rows = slice(2, 2 + a.shape[0]) if sum(width[0]) > 2 else slice(0, 7)
                made = padded[rows, :9] if padded.shape[0] > 9 else padded[:7, :9]
            elif kind == 4:
                made = np.concatenate([a[2:], b[:2]], 0)
            elif kind == 5:
                made = np.where(a > b, a, b * np.float32(0.5))
            elif kind == 6:
                made = a + np.sum(b, axis, keepdims=True) * np.float32(0.1)
            elif kind == 7:
                made = np.cos(a) - a[::-1]
            else:
                made = a * b + a
            if made.shape == x.shape:
                pool.append(made)
        return pool[-1], pool[-2] + 1, np.sum(pool[-3]), pool[len(pool) // 2]

    return program


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed):
    x, y = numbers(7, 9), numbers(7, 9) + 1
    steps = 4 + seed % 9
    wants = grown(np, np.random.default_rng(seed), steps)(x, y)
    gots = jax.jit(lambda x, y: grown(jnp, np.random.default_rng(seed), steps)(x, y))(
        x, y
    )
    for got, want in zip(gots, wants, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(40,), (5, 6, 7), (1, 30), (2, 2)])
def test_other_ranks(shape):
    def f(np, u):
        total = u * 2
        for axis in range(u.ndim):
            total = total + np.roll(u, 1, axis) * np.roll(u, -1, axis)
        return total

    u = numbers(*shape)
    got = jax.jit(lambda u: f(jnp, u))(u)
    np.testing.assert_allclose(got, f(np, u), rtol=1e-5)


def test_gradients_of_stencils():
    def energy(u):
        return jnp.sum((neighbours(jnp, u) - 4 * u) ** 2)

    u = numbers(6, 8)

    def laplace(v):
        return neighbours(np, v) - 4 * v

    want = 2 * laplace(laplace(u))
    got = jax.jit(jax.grad(energy))(u)
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
