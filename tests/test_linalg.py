"""Decompositions and systems: values against NumPy, derivatives against differences.

What a decomposition must obey is checked, not its signs and phases, which are free.
"""

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((5, 5), (6, 4), (4, 6), (1, 1), (3, 1), (40, 40))


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def random(dtype, *shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(got, wanted, dtype):
    single = dtype in ("float32", "complex64")
    margin = 3e-3 if single else 1e-9
    np.testing.assert_allclose(got, wanted, rtol=margin, atol=margin)


def arrays(found):
    return [np.asarray(x) for x in found]


def identity(n):
    return np.broadcast_to(np.eye(n), (2, n, n))


def positive(dtype, n):
    x = random(dtype, 2, n, n)
    return x @ adjoint(x) + n * np.eye(n, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
class TestDecompositions:
    def test_lu(self, dtype, shape):
        a = random(dtype, 2, *shape)
        m, n = shape
        k = min(m, n)
        lu, pivots, permutation = arrays(lax.linalg.lu(a))
        lower = np.tril(lu, -1)[:, :, :k] + np.eye(m, k)
        moved = np.take_along_axis(a, permutation[:, :, None], 1)
        close(lower @ np.triu(lu)[:, :k], moved, dtype)
        assert np.abs(np.tril(lu, -1)).max(initial=0) <= 1.5
        again = lax.linalg.lu_pivots_to_permutation(jnp.array(pivots), m)
        np.testing.assert_array_equal(again, permutation)

    @pytest.mark.parametrize("full", [False, True])
    def test_qr(self, dtype, shape, full):
        a = random(dtype, 2, *shape)
        q, r = arrays(lax.linalg.qr(a, full_matrices=full))
        close(q @ r, a, dtype)
        close(adjoint(q) @ q, identity(q.shape[-1]), dtype)
        assert not np.tril(r, -1).any()
        q, r, order = arrays(lax.linalg.qr(a, full_matrices=full, pivoting=True))
        close(q @ r, np.take_along_axis(a, order[:, None, :], 2), dtype)
        sizes = np.abs(np.diagonal(r, axis1=1, axis2=2))
        assert (np.diff(sizes) <= 1e-4).all()

    @pytest.mark.parametrize("full", [False, True])
    def test_svd(self, dtype, shape, full):
        a = random(dtype, 2, *shape)
        k = min(shape)
        u, s, vh = arrays(lax.linalg.svd(a, full_matrices=full))
        close((u[:, :, :k] * s[:, None, :]) @ vh[:, :k], a, dtype)
        close(adjoint(u) @ u, identity(u.shape[-1]), dtype)
        close(vh @ adjoint(vh), identity(vh.shape[-2]), dtype)
        close(s, np.linalg.svd(a)[1], dtype)
        close(lax.linalg.svd(a, compute_uv=False), s, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 3, 5, 40])
class TestSquare:
    def test_cholesky(self, dtype, n):
        a = positive(dtype, n)
        close(lax.linalg.cholesky(a), np.linalg.cholesky(a), dtype)
        upper = jnp.linalg.cholesky(a, upper=True)
        close(upper, adjoint(np.linalg.cholesky(a)), dtype)

    @pytest.mark.parametrize("lower", [False, True])
    def test_eigh(self, dtype, n, lower):
        a = random(dtype, 2, n, n)
        kept = np.tril(a) if lower else np.triu(a)
        off = kept - kept * np.eye(n)
        whole = off + adjoint(off) + (kept * np.eye(n)).real
        v, w = arrays(lax.linalg.eigh(kept, lower=lower, symmetrize_input=False))
        close((v * w[:, None, :]) @ adjoint(v), whole, dtype)
        assert (np.diff(w) >= 0).all()
        close(jnp.linalg.eigvalsh(whole), w, dtype)

    def test_eig(self, dtype, n):
        a = random(dtype, 2, n, n)
        w, left, right = arrays(lax.linalg.eig(a))
        close(a @ right, right * w[:, None, :], dtype)
        close(adjoint(left) @ a, w[:, :, None] * adjoint(left), dtype)
        close(np.linalg.norm(right, axis=1), np.ones((2, n)), dtype)
        close(np.sort(jnp.linalg.eigvals(a)), np.sort(np.linalg.eigvals(a)), dtype)

    def test_schur(self, dtype, n):
        a = random(dtype, 2, n, n)
        t, v = arrays(lax.linalg.schur(a))
        close(v @ t @ adjoint(v), a, dtype)
        assert not np.tril(t, -2).any()

    def test_hessenberg(self, dtype, n):
        a = random(dtype, 2, n, n)
        packed, taus = lax.linalg.hessenberg(a)
        if n == 1:
            return
        q = np.broadcast_to(np.eye(n, dtype=dtype), a.shape).copy()
        vectors = jnp.array(packed)[:, 1:, :-1]
        q[:, 1:, 1:] = lax.linalg.householder_product(vectors, taus)
        close(q @ np.triu(packed, -1) @ adjoint(q), a, dtype)

    def test_tridiagonal_solve(self, dtype, n):
        lower, main, upper = (random(dtype, 2, n, seed=i) for i in range(3))
        main = main + 5
        b = random(dtype, 2, n, 3)
        whole = np.zeros((2, n, n), dtype)
        for i in range(n):
            whole[:, i, i] = main[:, i]
            if i:
                whole[:, i, i - 1] = lower[:, i]
                whole[:, i - 1, i] = upper[:, i - 1]
        args = map(jnp.array, (lower, main, upper, b))
        close(whole @ np.asarray(lax.linalg.tridiagonal_solve(*args)), b, dtype)

    def test_systems(self, dtype, n):
        a, b = random(dtype, 2, n, n), random(dtype, 2, n, 3)
        a = a + n * np.eye(n, dtype=dtype)
        close(jnp.linalg.solve(a, b), np.linalg.solve(a, b), dtype)
        close(jnp.linalg.solve(a, b[0]), np.linalg.solve(a, b[0]), dtype)
        vector = np.linalg.solve(a[0], b[0, :, 0])
        close(jnp.linalg.solve(a[0], b[0, :, 0]), vector, dtype)
        close(jnp.linalg.inv(a), np.linalg.inv(a), dtype)
        for got, wanted in zip(jnp.linalg.slogdet(a), np.linalg.slogdet(a)):
            close(got, wanted, dtype)
        if n < 10:
            close(jnp.linalg.det(a), np.linalg.det(a), dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("conjugated", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_solve(dtype, left, lower, turned, conjugated, unit):
    a = random(dtype, 2, 5, 5) / 5 + np.eye(5)
    b = random(dtype, 2, 5, 4) if left else random(dtype, 2, 4, 5)
    used = np.tril(a) if lower else np.triu(a)
    if unit:
        used = used * (1 - np.eye(5)) + np.eye(5)
    used = np.swapaxes(used, 1, 2) if turned else used
    used = np.conj(used) if conjugated else used
    x = lax.linalg.triangular_solve(
        jnp.array(a), jnp.array(b), left_side=left, lower=lower, transpose_a=turned,
        conjugate_a=conjugated, unit_diagonal=unit,
    )  # fmt: skip
    close(used @ np.asarray(x) if left else np.asarray(x) @ used, b, dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_numpys_functions(dtype):
    a = random(dtype, 2, 5, 5)
    tall, b = a[:, :, :3], random(dtype, 2, 5, 3)
    hermitian = a + adjoint(a)
    ours, theirs = jnp.linalg, np.linalg
    close(ours.pinv(tall), theirs.pinv(tall), dtype)
    close(ours.pinv(hermitian, hermitian=True), theirs.pinv(hermitian), dtype)
    np.testing.assert_array_equal(ours.matrix_rank(tall @ adjoint(tall)), [3, 3])
    for p in (None, 2, -2, 1, "fro", np.inf):
        close(ours.cond(a, p), theirs.cond(a, p), dtype)
    for p in (2, -2, "nuc"):
        close(ours.norm(a, p, (1, 2)), theirs.norm(a, p, (1, 2)), dtype)
        wanted = theirs.norm(a, p, (2, 0), keepdims=True)
        close(ours.norm(a, p, (2, 0), keepdims=True), wanted, dtype)
    u, s, vh = arrays(ours.svd(hermitian, hermitian=True))
    close((u * s[:, None, :]) @ vh, hermitian, dtype)
    close(s, theirs.svd(hermitian)[1], dtype)
    for got, wanted in zip(
        ours.lstsq(tall[0], b[0]), theirs.lstsq(tall[0], b[0], rcond=None)
    ):
        close(got, wanted, dtype)
    close(ours.matrix_power(a, -3), theirs.matrix_power(a, -3), dtype)


# ------------------------------------------------------------------------- derivatives


def vectors_made_unique(u):
    """Phases are free, so functions of vectors are compared through their projectors."""
    return jnp.einsum("...ij,...kj->...jik", u, jnp.conj(u))


SMOOTH = {
    "cholesky": lambda a: jnp.linalg.cholesky(a @ jnp.conj(a.T) + jnp.eye(4)),
    "lu": lambda a: lax.linalg.lu(a)[0],
    "lu tall": lambda a: lax.linalg.lu(a[:, :3])[0],
    "lu wide": lambda a: lax.linalg.lu(a[:3])[0],
    "qr": lambda a: jnp.linalg.qr(a),
    "qr tall": lambda a: jnp.linalg.qr(a[:, :3]),
    "qr wide": lambda a: jnp.linalg.qr(a[:3]),
    "qr pivoting": lambda a: lax.linalg.qr(a, pivoting=True)[:2],
    "singular values": lambda a: jnp.linalg.svd(a[:3], compute_uv=False),
    "svd": lambda a: vectors_made_unique(jnp.linalg.svd(a, full_matrices=False)[0]),
    "pinv": lambda a: jnp.linalg.pinv(a[:, :2]),
    "eigvalsh": lambda a: jnp.linalg.eigvalsh(a),
    "eigh": lambda a: vectors_made_unique(jnp.linalg.eigh(a)[1]),
    "eigvals": lambda a: jnp.linalg.eigvals(a),
    "eig": lambda a: vectors_made_unique(jnp.linalg.eig(a)[1]),
    "triangular": lambda a: lax.linalg.triangular_solve(a, a + 1, lower=True),
    "tridiagonal": lambda a: lax.linalg.tridiagonal_solve(a[0], a[1] + 4, a[2], a),
    "solve": lambda a: jnp.linalg.solve(a, a[:2].T),
    "inv": jnp.linalg.inv,
    "det": jnp.linalg.det,
    "slogdet": lambda a: jnp.linalg.slogdet(a),
    "lstsq": lambda a: jnp.linalg.lstsq(a[:, :2], a[:, 3])[0],
    "nuclear norm": lambda a: jnp.linalg.norm(a, "nuc"),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name, dtype):
    f = SMOOTH[name]
    a, v = random(dtype, 4, 4, seed=1), random(dtype, 4, 4, seed=2)
    step = 1e-6
    out, tangent = jax.jvp(f, (jnp.array(a),), (jnp.array(v),))
    ahead, behind = f(jnp.array(a + step * v)), f(jnp.array(a - step * v))
    for got, up, down in zip(
        jax.tree.leaves(tangent), jax.tree.leaves(ahead), jax.tree.leaves(behind)
    ):
        wanted = (np.asarray(up) - np.asarray(down)) / (2 * step)
        np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=2e-6)
    # Reverse mode: the product with any cotangent is the same from both sides.
    leaves, tree = jax.tree.flatten(out)
    cotangents = [random(str(x.dtype), *x.shape, seed=3) for x in leaves]
    _, pull = jax.vjp(f, jnp.array(a))
    (back,) = pull(jax.tree.unflatten(tree, [jnp.array(c) for c in cotangents]))
    left = sum(
        np.sum(c * np.asarray(t)) for c, t in zip(cotangents, jax.tree.leaves(tangent))
    )
    np.testing.assert_allclose(np.sum(np.asarray(back) * v).real, left.real, rtol=1e-8)


@pytest.mark.parametrize("name", ["solve", "inv", "det", "slogdet", "pinv", "cholesky"])
def test_second_derivatives(name):
    def f(a):
        return sum(jnp.sum(jnp.sin(x)) for x in jax.tree.leaves(SMOOTH[name](a)))

    a, v = random("float64", 4, 4, seed=1), random("float64", 4, 4, seed=2)
    slope = jax.grad(f)
    _, tangent = jax.jvp(slope, (jnp.array(a),), (jnp.array(v),))
    step = 1e-6
    wanted = (slope(jnp.array(a + step * v)) - slope(jnp.array(a - step * v))) / (
        2 * step
    )
    np.testing.assert_allclose(tangent, wanted, rtol=1e-5, atol=1e-5)


def test_the_gradient_of_det_exists_for_singular_matrices():
    cofactors = jax.grad(jnp.linalg.det)(jnp.diag(jnp.array([1.0, 2.0, 3.0, 0.0])))
    np.testing.assert_allclose(cofactors, np.diag([0.0, 0, 0, 6]), atol=1e-12)
    nothing = jax.grad(jnp.linalg.det)(jnp.ones((4, 4)))
    np.testing.assert_allclose(nothing, np.zeros((4, 4)), atol=1e-12)


# --------------------------------------------------------------------- everything else


def test_batches_and_jit_give_the_bits_of_one_at_a_time():
    a = random("float32", 7, 6, 6)
    for f in (jnp.linalg.svd, jnp.linalg.qr, jnp.linalg.eig, jnp.linalg.inv):
        one = [f(x) for x in jnp.array(a)]
        for many in (f(a), jax.vmap(f)(jnp.array(a)), jax.jit(f)(a)):
            for i, wanted in enumerate(one):
                for got, x in zip(jax.tree.leaves(many), jax.tree.leaves(wanted)):
                    np.testing.assert_array_equal(got[i], x)


def test_empty_matrices():
    assert lax.linalg.cholesky(jnp.zeros((0, 3, 3))).shape == (0, 3, 3)
    assert jnp.linalg.svd(jnp.zeros((0, 3)), compute_uv=False).shape == (0,)
    q, r = jnp.linalg.qr(jnp.zeros((3, 0)), mode="complete")
    np.testing.assert_array_equal(q, np.eye(3))
    assert r.shape == (3, 0)
    assert jnp.linalg.det(jnp.zeros((0, 0))) == 1
    assert jnp.linalg.inv(jnp.zeros((0, 0))).shape == (0, 0)


def test_what_cannot_be_decomposed_is_nan_and_spoils_nothing_else():
    good, bad = jnp.eye(2), jnp.array([[1.0, 2.0], [2.0, 1.0]])
    factors = lax.linalg.cholesky(jnp.stack([bad, good]))
    assert np.isnan(np.tril(factors[0])).sum() == 3
    np.testing.assert_array_equal(factors[1], good)
    broken = bad.at[0, 0].set(jnp.nan)
    for f in (jnp.linalg.eigh, jnp.linalg.eig, jnp.linalg.svd):
        for x in f(jnp.stack([broken, good])):
            assert np.isnan(x[0]).all()
            assert np.isfinite(x[1]).all()


@needs_plugin
def test_cholesky_and_triangular_systems_on_a_plugin():
    a, b = positive("float32", 4), random("float32", 2, 4, 3)
    with on_plugin():
        factor = lax.linalg.cholesky(jnp.array(a))
        x = lax.linalg.triangular_solve(
            factor, jnp.array(b), left_side=True, lower=True
        )
        close(factor, np.linalg.cholesky(a), "float32")
        close(np.asarray(factor) @ np.asarray(x), b, "float32")
        with pytest.raises(NotImplementedError, match="Move its operands to the CPU"):
            np.asarray(jnp.linalg.svd(jnp.array(a)).S)


def test_words_about_wrong_arguments():
    a = jnp.ones((4, 4))
    with pytest.raises(ValueError, match=r"b must have shape .* n = 4"):
        jnp.linalg.solve(a, jnp.ones(3))
    with pytest.raises(ValueError, match=r"square matrices, got float64\[3,2\]"):
        jnp.linalg.inv(jnp.ones((3, 2)))
    with pytest.raises(ValueError, match="last two axes"):
        jnp.linalg.eigh(jnp.ones(3))
    with pytest.raises(TypeError, match=r"a.astype\('float32'\)"):
        jnp.linalg.cholesky(a.astype("bfloat16"))
    with pytest.raises(ValueError, match="left_side=True"):
        lax.linalg.triangular_solve(a, jnp.ones((3, 2)), left_side=True)
    with pytest.raises(NotImplementedError, match="additional vectors are arbitrary"):
        jax.jvp(jnp.linalg.svd, (jnp.ones((3, 2)),), (jnp.ones((3, 2)),))


@pytest.mark.parametrize(
    "name", ["det", "slogdet", "pinv", "inv", "matrix_rank", "cond"]
)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_nothing_inside_promotes_ranks(name, n):
    """Setting `jax_numpy_rank_promotion` is about the arrays that users combine."""
    a = jnp.array(random("float64", 4, n, n) + 3 * np.eye(n))

    def total(x):
        return sum([jnp.sum(v) for v in jax.tree.leaves(getattr(jnp.linalg, name)(x))])

    with jax.numpy_rank_promotion("raise"):
        if name == "matrix_rank":
            assert total(a) == 4 * n
        else:
            jax.jacfwd(jax.grad(total))(a)


def test_the_phase_of_a_determinant_has_true_second_derivatives():
    rng = np.random.default_rng(3)
    with jax.enable_x64(True):
        a, d = [
            jnp.array(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))
            for _ in range(2)
        ]

        def slope(a):
            return jax.jvp(lambda a: jnp.linalg.slogdet(a).sign, (a,), (d,))[1]

        h = 1e-5
        want = (slope(a + h * d) - slope(a - h * d)) / (2 * h)
        got = jax.jvp(slope, (a,), (d,))[1]
        np.testing.assert_allclose(got, want, rtol=1e-7)


@pytest.mark.parametrize("n", range(8))
def test_powers_multiply_in_the_order_of_numpy(n):
    """So that infinities give the same infinities and NaNs."""
    for seed in range(5):
        a = random("float64", 3, 3, seed=seed)
        a[seed % 3, 1] = np.inf
        with np.errstate(invalid="ignore"):
            wanted = np.linalg.matrix_power(a, n)
        np.testing.assert_allclose(jnp.linalg.matrix_power(a, n), wanted, rtol=1e-9)
