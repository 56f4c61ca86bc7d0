"""Derivatives of determinants, also where a matrix is singular."""

import itertools

import mpmath
import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64():
        yield


def matrix(n, rank, seed=0, kind="f"):
    generator = np.random.default_rng(seed)

    def draw(*shape):
        x = generator.normal(size=shape)
        return x if kind == "f" else x + 1j * generator.normal(size=shape)

    return draw(n, n) if rank == n else draw(n, rank) @ draw(rank, n)


def minor(a, rows, columns):
    """A determinant without some rows and columns, in 40 digits."""
    keep_i = [i for i in range(len(a)) if i not in rows]
    keep_j = [j for j in range(len(a)) if j not in columns]
    if not keep_i:
        return 1.0
    with mpmath.workdps(40):
        entries = [[mpmath.mpmathify(a[i, j]) for j in keep_j] for i in keep_i]
        return complex(mpmath.det(mpmath.matrix(entries)))


def second(a):
    """All second derivatives of det: signed minors without two rows and columns."""
    n = len(a)
    result = np.zeros((n,) * 4, complex)
    for i, k in itertools.permutations(range(n), 2):
        for j, m in itertools.permutations(range(n), 2):
            order = 1 if (i < k) == (j < m) else -1
            sign = (-1) ** (i + j + k + m) * order
            result[i, j, k, m] = sign * minor(a, {i, k}, {j, m})
    return result if np.iscomplexobj(a) else result.real


RANKS = [(4, r) for r in range(5)] + [(5, 3), (5, 5), (6, 5)]


@pytest.mark.parametrize("n, rank", RANKS)
def test_second_derivatives(n, rank):
    a = matrix(n, rank)
    expected = second(a)
    scale = max(1, np.abs(expected).max())
    for hessian in (
        jax.hessian(jnp.linalg.det),
        jax.jacrev(jax.jacrev(jnp.linalg.det)),
        jax.jacfwd(jax.jacfwd(jnp.linalg.det)),
        jax.jit(jax.hessian(jnp.linalg.det)),
    ):
        np.testing.assert_allclose(hessian(a), expected, atol=1e-12 * scale)


@pytest.mark.parametrize("n, rank", RANKS)
def test_first_derivatives(n, rank):
    a = matrix(n, rank)
    expected = [
        [(-1) ** (i + j) * minor(a, {i}, {j}).real for j in range(n)] for i in range(n)
    ]
    scale = max(1, np.abs(expected).max())
    np.testing.assert_allclose(
        jax.grad(jnp.linalg.det)(a), expected, atol=1e-12 * scale
    )


@pytest.mark.parametrize("n, rank", [(4, 0), (4, 1), (4, 2), (4, 3), (4, 4), (5, 4)])
def test_third_derivatives_are_slopes_of_the_second(n, rank):
    a, direction = matrix(n, rank), matrix(n, n, 1)
    step = 1e-4
    slopes = (second(a + step * direction) - second(a - step * direction)) / (2 * step)
    third = jax.jvp(jax.hessian(jnp.linalg.det), (a,), (direction,))[1]
    np.testing.assert_allclose(third, slopes, atol=1e-5)


def test_third_derivatives_in_reverse():
    a = matrix(4, 4)
    once = jax.jacfwd(jax.hessian(jnp.linalg.det))(a)
    again = jax.jacfwd(jax.jacrev(jax.jacrev(jnp.linalg.det)))(a)
    np.testing.assert_allclose(again, once, atol=1e-10)


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_complex_matrices(rank):
    a = matrix(4, rank, kind="c")
    slope = jax.grad(jnp.linalg.det, holomorphic=True)
    found = jax.jacfwd(slope, holomorphic=True)(a)
    np.testing.assert_allclose(found, second(a), atol=1e-12)


def test_many_matrices():
    stack = np.stack([matrix(4, rank) for rank in (2, 3, 4)])
    found = jax.vmap(jax.hessian(jnp.linalg.det))(stack)
    np.testing.assert_allclose(found, [second(a) for a in stack], atol=1e-12)
    total = jax.hessian(lambda x: jnp.sum(jnp.linalg.det(x)))(stack)
    for i in range(3):
        np.testing.assert_allclose(total[i, :, :, i], second(stack[i]), atol=1e-12)


def test_special_matrices():
    for a in (np.zeros((4, 4)), np.eye(4), np.ones((4, 4)), np.diag([1.0, 0, 2, 0])):
        np.testing.assert_allclose(
            jax.hessian(jnp.linalg.det)(a), second(a), atol=1e-12
        )


def test_higher_derivatives_of_regular_matrices():
    slope = lambda t: jnp.linalg.det(jnp.eye(4) * (1 + t))
    for expected in (4 * 1.5**3, 12 * 1.5**2, 24 * 1.5, 24.0):
        slope = jax.grad(slope)
        np.testing.assert_allclose(slope(0.5), expected, rtol=1e-12)


def test_narrow_numbers():
    a = matrix(5, 3).astype(np.float32)
    found = jax.hessian(jnp.linalg.det)(a)
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, second(a.astype(float)), atol=1e-4)
