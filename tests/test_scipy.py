"""SciPy's functions against SciPy."""

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.scipy import linalg, special

X = np.concatenate(
    [np.linspace(-40, 40, 161), [0.0, 1e-10, np.inf, -np.inf, np.nan, -3.5, 5]]
)
FINITE = X[np.isfinite(X)]
P = np.concatenate(
    [np.linspace(0, 1, 101), [1e-300, 1e-10, 1 - 1e-10, -0.1, 1.1, np.nan]]
)
A, B, Z = np.linspace(0.1, 20, 50), np.linspace(0.2, 9, 50), np.linspace(0, 1, 50)
ZEROS = (np.array([0.0, 1, 2, -1, 0]), np.array([1.0, 2, 0, 1, 0]))

CASES = {
    "erf": (X,), "erfc": (X,), "erfinv": (2 * P - 1,), "ndtr": (X,), "log_ndtr": (X,),
    "ndtri": (P,), "gammaln": (FINITE,), "gammasgn": (FINITE,), "gamma": (FINITE,),
    "factorial": (np.arange(-3.0, 20),), "digamma": (A,), "zeta": (A + 1.1, B),
    "betaln": (A, B), "beta": (A, B), "betainc": (A, B, Z), "gammainc": (A, B),
    "gammaincc": (A, B), "poch": (A, B), "comb": (np.arange(50.0), np.arange(50.0) % 7),
    "i0e": (X,), "i0": (B,), "i1e": (X,), "i1": (B,), "expit": (X,), "logit": (P[:101],),
    "xlogy": (np.array([0, 0, 0, 1, 2.0]), np.array([0, np.nan, 3, 0, 2])),
    "xlog1py": (np.array([0, 0, 1.0]), np.array([-1, np.nan, 2])), "entr": (X,),
    "rel_entr": ZEROS, "kl_div": ZEROS, "boxcox": (A, B * (B > 2)),
    "boxcox1p": (A, B * (B > 2)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", CASES)
def test_special_functions(name):
    args = CASES[name]
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(*args)
    got = getattr(special, name)(*map(jnp.array, args))
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)


def test_special_functions_of_integers_and_dimensions():
    with jax.enable_x64(False):
        assert special.gammaln(3).dtype == np.float32
    np.testing.assert_allclose(
        special.polygamma(2, A), scipy.special.polygamma(2, A), rtol=1e-12
    )
    np.testing.assert_allclose(
        special.multigammaln(5.5, 3), scipy.special.multigammaln(5.5, 3)
    )


@pytest.mark.parametrize(
    ("name", "args", "by"),
    [("log_ndtr", (FINITE,), 0), ("ndtri", (P[1:100],), 0), ("entr", (A,), 0),
     ("xlogy", (A, B), 0), ("xlogy", (A, B), 1), ("xlog1py", (A, B), 1),
     ("logit", (P[2:99],), 0), ("gamma", (A[:20],), 0), ("i0", (B,), 0), ("i1", (B,), 0)],
)  # fmt: skip
def test_derivatives_of_special_functions(name, args, by):
    f = getattr(special, name)
    slope = jax.vmap(jax.grad(f, by))(*map(jnp.array, args))
    step = 1e-6 * (1 + np.abs(args[by])) * (args[by] != 0.5) + 1e-7
    step = np.minimum(step, 1e-7 + 1e-4 * np.abs(args[by] - np.round(args[by])))
    ahead, behind = list(args), list(args)
    ahead[by], behind[by] = args[by] + step, args[by] - step
    wanted = (np.asarray(f(*ahead)) - np.asarray(f(*behind))) / (2 * step)
    np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-5)


def test_the_slope_of_an_even_function_is_zero_at_zero():
    assert float(jax.grad(special.i0)(0.0)) == 0


def test_derivatives_where_a_branch_is_infinite():
    for f in (special.xlogy, special.xlog1py):
        slopes = jax.grad(f, (0, 1))(0.0, 2.0)
        assert np.isfinite(slopes).all()
    assert special.log_ndtr(jnp.array(-1e10)) == -5e19
    assert jax.grad(special.log_ndtr)(-1e5) == pytest.approx(1e5)


# ---------------------------------------------------------------------- linear algebra


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-8)


@pytest.fixture(params=["real", "complex"])
def matrix(request):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 5))
    return x + 1j * rng.normal(size=(5, 5)) if request.param == "complex" else x


def test_factors_that_are_used_again(matrix):
    positive = matrix @ matrix.conj().T + 5 * np.eye(5)
    b = matrix[:, :3]
    for lower in (False, True):
        factor = linalg.cho_factor(positive, lower=lower)
        close(linalg.cho_solve(factor, b), scipy.linalg.solve(positive, b))
        close(linalg.cho_solve(factor, b[:, 0]), scipy.linalg.solve(positive, b[:, 0]))
        for trans in (0, 1, 2, "N", "T", "C"):
            wanted = scipy.linalg.solve_triangular(positive, b, trans, lower)
            close(linalg.solve_triangular(positive, b, trans, lower), wanted)
    for trans in (0, 1, 2):
        wanted = scipy.linalg.lu_solve(scipy.linalg.lu_factor(matrix), b, trans)
        close(linalg.lu_solve(linalg.lu_factor(matrix), b, trans), wanted)
    close(linalg.solve(positive, b, assume_a="pos"), scipy.linalg.solve(positive, b))
    for part in (matrix, matrix[:3], matrix[:, :3]):
        for got, wanted in zip(linalg.lu(part), scipy.linalg.lu(part), strict=True):
            close(got, wanted)
        left, upper = linalg.lu(part, permute_l=True)
        close(left @ upper, part)
        for side in ("right", "left"):
            u, p = linalg.polar(part, side)
            close(u @ p if side == "right" else p @ u, part)


def test_functions_of_matrices(matrix):
    positive = matrix @ matrix.conj().T + 5 * np.eye(5)
    close(linalg.expm(matrix), scipy.linalg.expm(matrix))
    far = scipy.linalg.expm(30 * matrix)
    size = np.abs(far).max()
    close(linalg.expm(30 * matrix) / size, far / size)
    upper = np.triu(matrix)
    close(linalg.expm(upper, upper_triangular=True), scipy.linalg.expm(upper))
    wanted = scipy.linalg.expm_frechet(matrix, positive)[1]
    close(linalg.expm_frechet(matrix, positive)[1], wanted)
    root = linalg.sqrtm(matrix)
    close(root @ root, matrix)
    close(linalg.funm(matrix, jnp.exp), scipy.linalg.expm(matrix))
    right = matrix + 1
    wanted = scipy.linalg.solve_sylvester(matrix, positive, right)
    close(linalg.solve_sylvester(matrix, positive, right), wanted)
    assert np.isnan(linalg.expm(1e10 * jnp.eye(2))).all()
    slope = jax.grad(lambda t: linalg.expm(t * matrix.real)[0, 1])(0.5)
    wanted = (matrix.real @ scipy.linalg.expm(0.5 * matrix.real))[0, 1]
    close(slope, wanted)


def test_forms(matrix):
    h, q = linalg.hessenberg(matrix, calc_q=True)
    close(q @ h @ q.conj().T, matrix)
    t, z = linalg.rsf2csf(*linalg.schur(matrix))
    close(z @ t @ z.conj().T, matrix)
    assert np.abs(np.tril(t, -1)).max() < 1e-12
    q, r, order = linalg.qr(matrix, pivoting=True)
    close(q @ r, matrix[:, order])


def test_special_matrices():
    c, r = np.arange(4.0), np.array([3.0, 1, 2])
    for name, args in (
        ("toeplitz", (c,)), ("toeplitz", (c, r)), ("hankel", (c,)), ("hankel", (c, r)),
        ("circulant", (c,)), ("hilbert", (4,)), ("pascal", (5,)), ("pascal", (5, "lower")),
        ("hadamard", (8,)), ("dft", (5,)), ("dft", (5, "n")),
    ):  # fmt: skip
        close(getattr(linalg, name)(*args), getattr(scipy.linalg, name)(*args))
    blocks = (np.ones((2, 3)), np.array(2.0), np.ones((1, 2)))
    close(linalg.block_diag(*blocks), scipy.linalg.block_diag(*blocks))
