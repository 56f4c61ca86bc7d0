"""Decompositions of matrices with one row, one column or none: nothing is left unset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
import tetrad.scipy.linalg as sl
from tetrad import lax

SHAPES = [
    (0, 0),
    (1, 1),
    (0, 2),
    (2, 0),
    (1, 3),
    (3, 1),
    (2, 0, 0),
    (0, 1, 1),
    (2, 1, 1),
]
TYPES = ["float32", "complex64"]


def dirty() -> None:
    """Leaves numbers in the memory that is given out next."""
    for n in (1, 2, 3, 4, 8, 16, 32):
        for start in (7.25, 7.25 + 1j):
            for _ in range(4):
                np.asarray(jnp.full(n, start) * 1.5)


def matrix(shape: tuple[int, ...], dtype: str) -> Any:
    return (np.arange(np.prod(shape)).reshape(shape) * 3 % 7 + 1).astype(dtype)


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def same(found: Any, want: Any) -> None:
    assert np.shape(found) == np.shape(want)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def orthonormal(q: Any) -> None:
    product = adjoint(q) @ q
    same(product, np.broadcast_to(np.eye(q.shape[-1]), product.shape))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_of_any_matrix(shape: tuple[int, ...], dtype: str) -> None:
    a = matrix(shape, dtype)
    for mode in ("reduced", "complete", "full"):
        dirty()
        q, r = map(np.asarray, jnp.linalg.qr(a, mode))
        same(q @ r, a)
        orthonormal(q)
    for full in (False, True):
        dirty()
        u, s, vh = map(np.asarray, jnp.linalg.svd(a, full))
        k = s.shape[-1]
        same((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a)
        orthonormal(u)
    dirty()
    same(jnp.linalg.pinv(a), np.linalg.pinv(a))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if s[-1] == s[-2]])
def test_factors_of_square_matrices(shape: tuple[int, ...], dtype: str) -> None:
    a = matrix(shape, dtype)
    dirty()
    h, q = map(np.asarray, sl.hessenberg(a, calc_q=True))
    same(q @ h @ adjoint(q), a)
    dirty()
    packed, taus = lax.linalg.hessenberg(a)
    same(packed, a)
    assert taus.shape == (*shape[:-2], max(shape[-1] - 1, 0))
    for lower in (False, True):
        dirty()
        packed, d, e, taus = lax.linalg.tridiagonal(a, lower=lower)
        same(packed, a)
        same(d, np.diagonal(a, axis1=-2, axis2=-1).real)
        assert e.size == taus.size == 0
    dirty()
    w, v = map(np.asarray, jnp.linalg.eig(a))
    assert w.dtype == v.dtype == "complex64"
    same(a @ v, v * w[..., None, :])
    dirty()
    w, v = map(np.asarray, jnp.linalg.eigh(a))
    same(a @ v, v * w[..., None, :])
    dirty()
    same(jnp.linalg.inv(a), np.linalg.inv(a))
    dirty()
    same(jnp.linalg.det(a), np.linalg.det(a))
    if len(shape) == 2 and shape[0]:
        dirty()
        t, z = map(np.asarray, sl.schur(a))
        same(z @ t @ adjoint(z), a)


def test_condition_of_nothing() -> None:
    for p in (None, 2, -2, 1, "fro"):
        with pytest.raises(ValueError, match="no elements"):
            jnp.linalg.cond(jnp.zeros((2, 0, 0)), p)
    with pytest.raises(ValueError, match="no elements"):
        jax.jit(jnp.linalg.cond)(jnp.zeros((0, 3)))


def test_a_function_of_real_values_is_on_one_side_of_its_cut() -> None:
    """Real values of a real matrix are not moved off the axis by rounding."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 12):
        v = rng.standard_normal((n, n)) + 3 * np.eye(n)
        w = np.where(np.arange(n) % 2, 1.0, -1.0) * np.arange(1, n + 1)
        a = (v * w) @ np.linalg.inv(v)
        with jax.enable_x64(True):
            for function, found in (
                (np.sqrt, sl.sqrtm(a)),
                (np.log, sl.funm(a, jnp.log)),
                (lambda z: z**-0.7, sl.funm(a, lambda z: z**-0.7)),
                (np.abs, sl.funm(a, jnp.abs)),
            ):
                want = (v * function(w + 0j)) @ np.linalg.inv(v)
                np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("shift", [0, 1j])
def test_slopes_of_hermitian_inverses_are_those_of_what_is_looked_at(
    n: int, shift: complex
) -> None:
    rng = np.random.default_rng(2)
    a, d = [
        rng.standard_normal((n, n)) + shift * rng.standard_normal((n, n)) for _ in "ad"
    ]
    a = (a + adjoint(a)) / 2
    with jax.enable_x64(True):

        def inverse(x: Any) -> Any:
            return jnp.linalg.pinv(x, hermitian=True)

        _, slope = jax.jvp(inverse, (jnp.array(a),), (jnp.array(d),))
        rise = np.asarray(inverse(a + 1e-6 * d)) - np.asarray(inverse(a - 1e-6 * d))
        np.testing.assert_allclose(slope, rise / 2e-6, rtol=1e-5, atol=1e-6)
