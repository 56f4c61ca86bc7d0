"""Matrix products through OpenBLAS, against NumPy."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

from tetrad._src.cpu import blas, engine, pool
from tetrad._src.runtime import threads

DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = [
    (1, 1, 1),
    (3, 4, 5),
    (8, 8, 8),
    (9, 7, 5),
    (17, 33, 9),
    (1, 40, 20),
    (40, 1, 20),
    (100, 1, 50),
    (1, 9, 3),
    (2, 3, 1),
    (5, 6, 0),
    (3, 0, 4),
    (0, 3, 4),
]
PAD = 2


def draw(generator: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    values = generator.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(dtype)


def oriented(stored: np.ndarray, op: int) -> np.ndarray:
    inner = stored[..., : stored.shape[-1] - PAD]
    if op == 0:
        return inner
    inner = np.swapaxes(inner, -1, -2)
    return np.conj(inner) if op == 2 else inner


def product(
    a: np.ndarray,
    b: np.ndarray,
    extents: tuple[int, int, int],
    ops: tuple[int, int],
    plan: blas.GemmPlan,
) -> np.ndarray:
    m, n, k = extents
    batch = max(len(a), len(b))
    c = np.full((batch, m, n + PAD), 7, a.dtype)
    words = {
        "a": a.ctypes.data,
        "b": b.ctypes.data,
        "c": c.ctypes.data,
        "m": m,
        "n": n,
        "k": k,
        "lda": a.shape[2],
        "ldb": b.shape[2],
        "ldc": n + PAD,
        "op_a": ops[0],
        "op_b": ops[1],
        "stride_a": a[0].size if len(a) > 1 else 0,
        "stride_b": b[0].size if len(b) > 1 else 0,
        "stride_c": c[0].size,
        "batch": batch,
        "axis": plan.axis,
    }
    arguments = [words[name] for name in blas.GEMM_WORDS]
    kernel = blas.gemm_kernel(a.dtype)
    job = pool.make_job([(0, kernel, 0, plan.total, plan.chunk)], arguments)
    pool.native().run_blocking(job.address)
    assert job.status is pool.Status.DONE
    assert (c[:, :, n:] == 7).all()
    return c[:, :, :n]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("extents", SHAPES)
def test_layouts_batches_and_splits(dtype: str, extents: tuple[int, int, int]) -> None:
    m, n, k = extents
    generator = np.random.default_rng(3)
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    splits = [blas.plan_gemm]
    for axis, chunk in itertools.product((0, 1), (1, 5)):
        splits.append(
            lambda m, n, k, batch, axis=axis, chunk=chunk: blas.GemmPlan(
                axis, (n if axis else m) * batch, chunk
            )
        )
    for ops in itertools.product((0, 1, 2), (0, 1, 2)):
        for batch_a, batch_b in ((1, 1), (3, 3), (3, 1)):
            shape_a = (k, m + PAD) if ops[0] else (m, k + PAD)
            shape_b = (n, k + PAD) if ops[1] else (k, n + PAD)
            a = draw(generator, dtype, batch_a, *shape_a)
            b = draw(generator, dtype, batch_b, *shape_b)
            expected = oriented(a, ops[0]) @ oriented(b, ops[1])
            for split in splits:
                plan = split(m, n, k, batch_a)
                got = product(a, b, extents, ops, plan)
                np.testing.assert_allclose(got, expected, tolerance, tolerance)


@pytest.mark.parametrize("extents", [(300, 200, 250), (150, 1000, 40)])
def test_bits_do_not_depend_on_threads(extents: tuple[int, int, int]) -> None:
    m, n, k = extents
    generator = np.random.default_rng(4)
    a = draw(generator, "float32", 1, m, k + PAD)
    b = draw(generator, "float32", 1, k, n + PAD)
    plan = blas.plan_gemm(m, n, k)
    assert plan.chunk < plan.total
    results = []
    for count in (1, 3):
        pool.native().set_num_threads(count)
        results.append(product(a, b, extents, (0, 0), plan))
    expected = oriented(a, 0) @ oriented(b, 0)
    np.testing.assert_allclose(results[0], expected, 1e-4, 1e-4)
    np.testing.assert_array_equal(results[0], results[1])


def test_nan_and_infinity_pass_through() -> None:
    a = np.full((1, 20, 10 + PAD), np.nan, np.float32)
    b = np.zeros((1, 10, 20 + PAD), np.float32)
    got = product(a, b, (20, 20, 10), (0, 0), blas.plan_gemm(20, 20, 10))
    assert np.isnan(got).all()


def test_plans_cover_the_product() -> None:
    for m, n, k, batch in itertools.product((1, 7, 100, 5000), repeat=4):
        axis, total, chunk = blas.plan_gemm(m, n, k, batch)
        assert total == batch * (n if axis else m)
        assert chunk >= 1
        assert -(-total // chunk) <= max(2, 2 * threads.processors()) * batch


def test_lapack_by_name() -> None:
    matrix = np.array([[4.0, 2.0], [2.0, 3.0]])
    address = blas.symbol("dpotrf")
    assert address == blas.symbol("scipy_dpotrf_") == blas.symbol("dpotrf_")
    assert engine.lookup_symbol("scipy_dpotrf") == address
    integer = ctypes.c_int
    order, info = integer(2), integer(-1)
    function = engine.function(
        address,
        None,
        ctypes.c_char_p,
        ctypes.POINTER(integer),
        ctypes.c_void_p,
        ctypes.POINTER(integer),
        ctypes.POINTER(integer),
        gil=False,
    )
    factor = matrix.copy()
    by = ctypes.byref
    function(b"U", by(order), factor.ctypes.data, by(order), by(info))
    assert info.value == 0
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(matrix))
    with pytest.raises(KeyError, match="no_such"):
        blas.symbol("no_such")
    with pytest.raises(engine.LoadError):
        engine.lookup_symbol("scipy_no_such")


def test_dtypes() -> None:
    assert blas.gemm_name("f32") == blas.gemm_name(np.float32) == "gemm_float32"
    with pytest.raises(NotImplementedError, match="int32"):
        blas.gemm_kernel(np.int32)
