"""Matrices with names, and the decompositions of scipy.linalg that came late, against SciPy."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.scipy import linalg

scipy_linalg = pytest.importorskip("scipy.linalg")

RNG = np.random.default_rng(0)
VECTORS = [RNG.normal(size=shape).astype("float32") for shape in [(4,), (7,), (2, 5)]]


def same(ours, theirs, tolerance=1e-4):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("a", VECTORS, ids=lambda a: str(a.shape))
def test_of_coefficients(a):
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        same(linalg.companion(a), scipy_linalg.companion(a))
        same(linalg.fiedler_companion(a), scipy_linalg.fiedler_companion(a))
        same(linalg.fiedler(a), scipy_linalg.fiedler(a))
        same(linalg.leslie(a, a[..., 1:]), scipy_linalg.leslie(a, a[..., 1:]))
        for mode in ("full", "same", "valid"):
            ours = linalg.convolution_matrix(a, 3, mode)
            same(ours, scipy_linalg.convolution_matrix(a, 3, mode))
        for name in ("hankel", "toeplitz", "circulant"):
            args = (a,) if name == "circulant" else (a, a[..., :3])
            lanes = list(zip(*[np.atleast_2d(x) for x in args]))
            expected = np.stack([getattr(scipy_linalg, name)(*x) for x in lanes])
            same(
                getattr(linalg, name)(*args),
                expected.reshape(*a.shape[:-1], *expected.shape[1:]),
            )


@pytest.mark.parametrize("n", [1, 2, 5])
def test_of_an_extent(n):
    for full in (False, True):
        same(linalg.helmert(n, full), scipy_linalg.helmert(n, full))
    same(linalg.invhilbert(n), scipy_linalg.invhilbert(n))
    for kind in ("symmetric", "lower", "upper"):
        same(linalg.invpascal(n, kind), scipy_linalg.invpascal(n, kind))
    for scale in (None, "sqrtn", "n"):
        same(linalg.dft(n, scale), scipy_linalg.dft(n, scale))


def test_mistakes():
    with pytest.raises(ValueError, match="must be at least 2"):
        linalg.companion(jnp.ones(1))
    with pytest.raises(ValueError, match="nonzero leading coefficient"):
        linalg.fiedler_companion(jnp.ones(0))
    with pytest.raises(ValueError, match="Incorrect lengths for f and s"):
        linalg.leslie(jnp.ones(3), jnp.ones(3))
    with pytest.raises(ValueError, match="mode must be one of"):
        linalg.convolution_matrix(jnp.ones(3), 2, "bad")
    with pytest.raises(ValueError, match="positive integer"):
        linalg.helmert(0)
    with pytest.raises(ValueError, match="complex dtype"):
        linalg.dft(3, dtype="float32")


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_qr_multiply(shape):
    a = RNG.normal(size=shape) + 1j * RNG.normal(size=shape)
    a = a.astype("complex64")
    k = min(shape)
    for mode, c in (
        ("left", np.ones((k, 2))),
        ("right", np.ones((2, shape[0]))),
        ("left", np.ones(k)),
        ("right", np.ones(shape[0])),
    ):
        for conjugate in (False, True):
            ours = linalg.qr_multiply(a, c.astype(a.dtype), mode, True, conjugate)
            theirs = scipy_linalg.qr_multiply(a, c, mode, True, conjugate)
            for x, y in zip(ours, theirs, strict=True):
                same(x, y)
    with pytest.raises(ValueError, match="must have extent"):
        linalg.qr_multiply(a, np.ones((9, 9), a.dtype))


def test_eigh_tridiagonal():
    d, e = RNG.normal(size=6), RNG.normal(size=5)
    w, v = linalg.eigh_tridiagonal(d, e)
    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    same(matrix @ v, v * w)
    for select, bounds in (("i", (1, 3)), ("v", (-0.5, 2.0))):
        ours = linalg.eigh_tridiagonal(
            d, e, eigvals_only=True, select=select, select_range=bounds
        )
        theirs = scipy_linalg.eigh_tridiagonal(d, e, True, select, bounds)
        same(ours, theirs)
    with pytest.raises(ValueError, match="needs select_range"):
        linalg.eigh_tridiagonal(d, e, select="i")


def test_sylvester_and_schur():
    a, b = RNG.normal(size=(2, 3, 3)), RNG.normal(size=(4, 4))
    x = RNG.normal(size=(2, 3, 4))
    c = a @ x + x @ b
    for method in ("schur", "eigen"):
        same(linalg.solve_sylvester(a, b, c, method=method), x, 1e-2)
    nothing = linalg.solve_sylvester(np.eye(2), -np.eye(2), np.eye(2), tol=1e-4)
    assert np.isnan(nothing).all()
    t, z = scipy_linalg.schur(RNG.normal(size=(5, 5)))
    for ours, theirs in zip(linalg.rsf2csf(t, z), scipy_linalg.rsf2csf(t, z)):
        same(ours, theirs)


def test_eigenvectors_of_both_sides_have_derivatives():
    a = jnp.asarray(RNG.normal(size=(3, 3)).astype("float32"))

    def sizes(a):
        w, left, right = jax.lax.linalg.eig(a)
        return jnp.abs(w), jnp.abs(left), jnp.abs(right)

    da = jnp.asarray(RNG.normal(size=(3, 3)).astype("float32"))
    _, slopes = jax.jvp(sizes, (a,), (da,))
    step = 1e-2
    there, back = sizes(a + step * da), sizes(a - step * da)
    for slope, x, y in zip(slopes, there, back):
        np.testing.assert_allclose(slope, (x - y) / (2 * step), rtol=0.05, atol=0.02)


def test_pinv_has_a_derivative_where_singular_values_coincide():
    slope = jax.jacobian(jnp.linalg.pinv)(jnp.eye(2))
    expected = -np.einsum("ik,lj->ijkl", np.eye(2), np.eye(2))
    np.testing.assert_allclose(slope, expected, atol=1e-6)
    with pytest.raises(ValueError, match="only one of rtol and rcond"):
        jnp.linalg.pinv(jnp.eye(2), rtol=0.1, rcond=0.1)
    assert jnp.linalg.matrix_rank(jnp.diag(jnp.array([1.0, 0.0])), hermitian=True) == 1


def test_singular_tridiagonal_systems():
    zero, one = np.zeros(3, "float32"), np.ones((3, 1), "float32")
    solve = jax.lax.linalg.tridiagonal_solve
    assert not np.isfinite(solve(zero, zero, zero, one)).all()
    near = solve(zero, zero, zero, one, perturb_singular=True)
    assert np.isfinite(near).all() and (np.abs(near) > 1e6).all()


def test_updates():
    a = RNG.normal(size=(4, 4)).astype("float32")
    a = a @ a.T + np.eye(4, dtype="float32")
    w = RNG.normal(size=4).astype("float32")
    r = jnp.linalg.cholesky(a, upper=True)
    new = jax.lax.linalg.cholesky_update(r, w)
    same(new, np.triu(new))
    same(new.T @ new, a + np.outer(w, w), 1e-3)
    product = jax.lax.linalg.symmetric_product(
        a[:, :2], a, alpha=2.0, beta=0.5, symmetrize_output=True
    )
    same(product, 2 * a[:, :2] @ a[:, :2].T + a / 2, 1e-3)
    with pytest.raises(ValueError, match="c_matrix must have shape"):
        jax.lax.linalg.symmetric_product(a[:, :2], a[:2])
    with pytest.raises(ValueError, match="vector of its order"):
        jax.lax.linalg.cholesky_update(r, w[:2])
