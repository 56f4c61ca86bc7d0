"""Batches of small matrices: one problem a lane, whatever their number and form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

DTYPES = [np.float32, np.float64]
SIZES = [1, 2, 3, 8, 17, 32, 33]
BATCHES = [15, 16, 17, 40]  # about the lanes of a vector


@pytest.fixture(params=DTYPES)
def dtype(request):
    with jax.enable_x64(request.param is np.float64):
        yield request.param


def random(dtype, *shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def near(dtype, n, got, wanted):
    scale = max(1.0, np.abs(wanted).max())
    tolerance = (1e-5 if dtype is np.float32 else 1e-13) * n
    np.testing.assert_allclose(got / scale, wanted / scale, atol=tolerance)


@pytest.mark.parametrize("n, batch", [*itertools.product(SIZES, BATCHES)])
def test_lu_and_solve(dtype, n, batch):
    a, b = random(dtype, batch, n, n), random(dtype, batch, n, 3)
    lu, _, permutation = map(np.asarray, jax.lax.linalg.lu(a))
    lower = np.tril(lu, -1) + np.eye(n, dtype=dtype)
    assert np.abs(lower).max() <= 1  # the largest element was the pivot
    rows = np.take_along_axis(a, permutation[:, :, None], 1)
    near(dtype, n, lower @ np.triu(lu), rows)
    x = np.asarray(jnp.linalg.solve(a, b))
    near(dtype, n, (a @ x - b) / max(1, np.abs(x).max()), 0 * b)


@pytest.mark.parametrize("shape", [(20, 3, 5), (20, 5, 3), (20, 1, 4), (20, 32, 2)])
def test_lu_of_oblong_matrices(dtype, shape):
    a = random(dtype, *shape)
    m, n = shape[1:]
    k = min(m, n)
    lu, pivots, permutation = map(np.asarray, jax.lax.linalg.lu(a))
    assert pivots.shape == (20, k)
    lower = np.tril(lu[:, :, :k], -1) + np.eye(m, k, dtype=dtype)
    rows = np.take_along_axis(a, permutation[:, :, None], 1)
    near(dtype, max(m, n), lower @ np.triu(lu[:, :k]), rows)


@pytest.mark.parametrize("n, upper", [*itertools.product(SIZES, [False, True])])
def test_cholesky(dtype, n, upper):
    a = random(dtype, 19, n, n)
    a = a @ a.swapaxes(1, 2) + np.eye(n, dtype=dtype)
    factor = np.asarray(jnp.linalg.cholesky(a, upper=upper))
    assert not (np.tril(factor, -1) if upper else np.triu(factor, 1)).any()
    turned = factor.swapaxes(1, 2)
    near(dtype, n, turned @ factor if upper else factor @ turned, a)


def test_cholesky_says_nan_where_it_fails_and_only_there():
    a = np.broadcast_to(np.eye(3, dtype=np.float32), (20, 3, 3)).copy()
    a[4, 1, 1] = -1
    a[7, 2, 2] = np.nan
    factor = np.asarray(jnp.linalg.cholesky(a, symmetrize_input=False))
    failed = np.isnan(factor).any((1, 2))
    assert failed.nonzero()[0].tolist() == [4, 7]
    assert np.isnan(np.tril(factor[4]))[np.tril_indices(3)].all()
    np.testing.assert_array_equal(factor[~failed], a[~failed])


@pytest.mark.parametrize("options", [*itertools.product([False, True], repeat=4)])
@pytest.mark.parametrize("n", [1, 5, 32])
def test_triangular_systems(dtype, n, options):
    left, lower, transposed, unit = options
    a = random(dtype, 21, n, n) / n + 2 * np.eye(n, dtype=dtype)
    b = random(dtype, 21, n, 4)
    b = b if left else b.swapaxes(1, 2)
    x = np.asarray(
        jax.lax.linalg.triangular_solve(
            jnp.asarray(a), jnp.asarray(b), left_side=left, lower=lower,
            transpose_a=transposed, unit_diagonal=unit,
        )
    )  # fmt: skip
    matrix = np.tril(a) if lower else np.triu(a)
    if unit:
        matrix[:, range(n), range(n)] = 1
    matrix = matrix.swapaxes(1, 2) if transposed else matrix
    scale = max(1, np.abs(x).max())
    near(dtype, n, ((matrix @ x if left else x @ matrix) - b) / scale, 0 * b)


def test_singular_matrices_have_finite_factors_and_no_inverse():
    a = np.zeros((18, 4, 4), np.float32)
    a[:, 0, 0] = 1
    lu, _, _ = jax.lax.linalg.lu(a)
    np.testing.assert_array_equal(lu, a)
    np.testing.assert_array_equal(jnp.linalg.det(a), np.zeros(18))
    assert not np.isfinite(np.asarray(jnp.linalg.inv(a))).all((1, 2)).any()


def test_sizes_share_their_machine_code():
    jax.clear_caches()
    with jax.see.compiles() as seen:
        for n in (4, 5, 6):
            jax.lax.linalg.lu(random(np.float32, 64, n, n))[0].block_until_ready()
    first = list(seen)[0].kernels
    assert seen.kernels <= first + 2
