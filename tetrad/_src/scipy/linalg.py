"""Linear algebra in SciPy's words: factors to keep and use again, functions of matrices.

All take matrices in the last two axes, and any number of leading ones unless they say
otherwise. Options that only save copies (`overwrite_a`, `check_finite`) are accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad import lax, numpy
from tetrad._src.numpy.decompositions import adjoint, matrices
from tetrad._src.numpy.promote import promote_floats
from tetrad._src.numpy.systems import lu_solved

jnp: Any = numpy  # arrays have methods that their type does not state

det = jnp.linalg.det
inv = jnp.linalg.inv


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """U with Uᴴ·U = A, or L with L·Lᴴ = A if `lower`, of positive definite matrices.

    >>> from tetrad.scipy import linalg
    >>> linalg.cholesky(jnp.array([[4., 2.], [2., 5.]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    return jnp.linalg.cholesky(a, upper=not lower)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """(factor, lower) for `cho_solve`.

    >>> from tetrad.scipy import linalg
    >>> linalg.cho_factor(jnp.array([[4.]]))
    (Array([[2.]], dtype=float32), False)
    """
    return cholesky(a, lower), lower


def cho_solve(
    c_and_lower: tuple[Any, bool],
    b: Any,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The X with A·X = B, from the factor that `cho_factor` gave.

    >>> from tetrad.scipy import linalg
    >>> linalg.cho_solve(linalg.cho_factor(jnp.array([[4.]])), jnp.array([8.]))
    Array([2.], dtype=float32)
    """
    factor, lower = c_and_lower
    first = solve_triangular(factor, b, trans=0 if lower else 2, lower=lower)
    return solve_triangular(factor, first, trans=2 if lower else 0, lower=lower)


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Any:
    """The X with op(A)·X = B for triangular A; op is by `trans`: 0 none, 1 ᵀ, 2 ᴴ.

    a[..., n, n], b[..., n] or b[..., n, m]. Only one triangle of A is read.

    >>> from tetrad.scipy import linalg
    >>> a = jnp.array([[2., 0.], [1., 4.]])
    >>> linalg.solve_triangular(a, jnp.array([2., 9.]), lower=True)
    Array([1., 2.], dtype=float32)
    """
    forms = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}
    if trans not in forms:
        raise ValueError(
            f'solve_triangular: trans must be 0, 1, 2, "N", "T" or "C", got {trans!r}'
        )
    form = forms[trans]
    a, b = promote_floats(
        "scipy.linalg.solve_triangular", jnp.asarray(a), jnp.asarray(b)
    )
    vector = b.ndim == 1 or b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]
    if vector:
        b = b[..., None]
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = lax.linalg.triangular_solve(
        jnp.broadcast_to(a, batch + a.shape[-2:]),
        jnp.broadcast_to(b, batch + b.shape[-2:]),
        left_side=True,
        lower=lower,
        transpose_a=form > 0,
        conjugate_a=form == 2,
        unit_diagonal=unit_diagonal,
    )
    return x[..., 0] if vector else x


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """(both factors in one matrix, pivots) of LU with row exchanges, for `lu_solve`.

    >>> from tetrad.scipy import linalg
    >>> linalg.lu_factor(jnp.array([[1., 2.], [2., 6.]]))[1]
    Array([1, 1], dtype=int32)
    """
    lu, pivots, _ = lax.linalg.lu(matrices("scipy.linalg.lu_factor", "a", a, False))
    return lu, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The X with A·X = B from `lu_factor`; for trans = 1 or 2 with Aᵀ or Aᴴ.

    >>> from tetrad.scipy import linalg
    >>> factors = linalg.lu_factor(jnp.array([[1., 2.], [2., 6.]]))
    >>> linalg.lu_solve(factors, jnp.array([5., 14.])).round(4)
    Array([1., 2.], dtype=float32)
    """
    lu, pivots = lu_and_piv
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: trans must be 0, 1 or 2, got {trans!r}")
    b = jnp.asarray(b)
    vector = b.ndim == 1 or b.ndim == lu.ndim - 1 and b.shape == lu.shape[:-1]
    b = b[..., None] if vector else b
    permutation = lax.linalg.lu_pivots_to_permutation(pivots, lu.shape[-1])
    batch = jnp.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    x = lu_solved(
        jnp.broadcast_to(lu, batch + lu.shape[-2:]),
        jnp.broadcast_to(permutation, batch + permutation.shape[-1:]),
        jnp.broadcast_to(b, batch + b.shape[-2:]),
        trans,
    )
    return x[..., 0] if vector else x


def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:
    """(P, L, U) with A = P·L·U, or (P·L, U) if `permute_l`.

    >>> from tetrad.scipy import linalg
    >>> linalg.lu(jnp.array([[1., 2.], [2., 6.]]))[2]
    Array([[ 2.,  6.],
           [ 0., -1.]], dtype=float32)
    """
    a = matrices("scipy.linalg.lu", "a", a, square=False)
    packed, _, permutation = lax.linalg.lu(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    lower = jnp.tril(packed, -1)[..., :k] + jnp.eye(m, k, dtype=a.dtype)
    upper = jnp.triu(packed)[..., :k, :]
    real = a.real.dtype
    exchange = (permutation[..., None, :] == jnp.arange(m)[:, None]).astype(real)
    if permute_l:
        return jnp.matmul(exchange.astype(a.dtype), lower, precision="highest"), upper
    return exchange, lower, upper


def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """The X with A·X = B; assume_a="pos" uses Cholesky for positive definite A.

    >>> from tetrad.scipy import linalg
    >>> linalg.solve(jnp.array([[2., 0.], [0., 4.]]), jnp.array([2., 8.]))
    Array([1., 2.], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(
            f'solve: assume_a must be "gen", "sym", "her" or "pos", got {assume_a!r}'
        )
    if assume_a != "pos":
        return jnp.linalg.solve(a, b)
    return cho_solve(cho_factor(a, lower=lower), b)


def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """A = Q·R; mode is "full", "economic" or "r". With `pivoting` also p: A[:, p] = Q·R.

    >>> from tetrad.scipy import linalg
    >>> linalg.qr(jnp.ones((3, 2)), mode="economic")[0].shape
    (3, 2)
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(f'qr: mode must be "full", "economic" or "r", got {mode!r}')
    a = matrices("scipy.linalg.qr", "a", a, square=False)
    q, *rest = lax.linalg.qr(a, full_matrices=mode != "economic", pivoting=pivoting)
    if mode == "r":
        return tuple(rest)
    return (q, *rest)


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """A = U·diag(s)·Vᴴ; see `jnp.linalg.svd`.

    >>> from tetrad.scipy import linalg
    >>> linalg.svd(jnp.array([[3., 0.], [0., 4.]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    found = jnp.linalg.svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def eigh(
    a: Any,
    b: Any = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """(w, V) of a Hermitian A, of which one triangle is read, or w if `eigvals_only`.

    >>> from tetrad.scipy import linalg
    >>> linalg.eigh(jnp.array([[2., 0.], [1., 2.]]), eigvals_only=True)
    Array([1., 3.], dtype=float32)
    """
    if b is not None or eigvals is not None or type != 1:
        raise NotImplementedError(
            "eigh: only A·V = V·diag(w) with all values; for A·V = B·V·diag(w) factor B by"
            " cholesky and solve for L⁻¹·A·L⁻ᴴ"
        )
    a = matrices("scipy.linalg.eigh", "a", a)
    vectors, values = lax.linalg.eigh(a, lower=lower, symmetrize_input=False)
    return values if eigvals_only else (values, vectors)


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """(T, Z) with A = Z·T·Zᴴ; output="complex" makes T triangular for real A too.

    >>> from tetrad.scipy import linalg
    >>> linalg.schur(jnp.array([[2., 1.], [0., 3.]]))[0]
    Array([[2., 1.],
           [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f'schur: output must be "real" or "complex", got {output!r}')
    a = matrices("scipy.linalg.schur", "a", a)
    if output == "complex":
        a = a.astype(jnp.result_type(a, jnp.complex64))
    t, z = lax.linalg.schur(a)
    return t, z


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form (T, Z) of A = Z·T·Zᵀ, from the real one.

    >>> from tetrad.scipy import linalg
    >>> linalg.rsf2csf(jnp.eye(2), jnp.eye(2))[0].dtype
    dtype('complex64')
    """
    T, Z = jnp.asarray(T), jnp.asarray(Z)
    wide = jnp.result_type(T, Z, jnp.complex64)
    triangle, turn = lax.linalg.schur(T.astype(wide))
    return triangle, jnp.matmul(Z.astype(wide), turn, precision="highest")


def hessenberg(
    a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """H with A = Q·H·Qᴴ, zero below its first subdiagonal; (H, Q) if `calc_q`.

    >>> from tetrad.scipy import linalg
    >>> linalg.hessenberg(jnp.eye(2))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    a = matrices("scipy.linalg.hessenberg", "a", a)
    n = a.shape[-1]
    packed, taus = lax.linalg.hessenberg(a)
    h = jnp.triu(packed, -1)
    if not calc_q:
        return h
    q = jnp.broadcast_to(jnp.eye(n, dtype=a.dtype), a.shape)
    if n > 1:
        inner = lax.linalg.householder_product(packed[..., 1:, :-1], taus)
        q = q.at[..., 1:, 1:].set(inner)
    return h, q


# ------------------------------------------------------------------ functions of matrices

# Higham, The scaling and squaring method for the matrix exponential revisited (2005):
# coefficients of Padé approximants, and the norms up to which they suffice.
_PADE = {
    3: (120, 60, 12, 1),
    5: (30240, 15120, 3360, 420, 30, 1),
    7: (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1),
    9: (17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960,
        90, 1),
    13: (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800,
         129060195264000, 10559470521600, 670442572800, 33522128640, 1323241920,
         40840800, 960960, 16380, 182, 1),
}  # fmt: skip
_LARGEST = {4: 3.925724783138660, 8: 5.371920351148152}
_ORDER = {4: 7, 8: 13}


def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The matrix exponential Σₖ Aᵏ/k!, by scaling, a Padé approximant, and squaring.

    A[..., n, n]. `upper_triangular` says that A is, which saves work in the solve. Where more
    than `max_squarings` would be needed the result is NaN.

    >>> from tetrad.scipy import linalg
    >>> linalg.expm(jnp.zeros((2, 2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    A = matrices("scipy.linalg.expm", "A", A)
    size = A.real.dtype.itemsize
    norm = jnp.max(jnp.sum(jnp.abs(A), axis=-2), axis=-1, initial=0)
    needed = jnp.ceil(jnp.log2(jnp.maximum(norm / _LARGEST[size], 1e-30)))
    squarings = jnp.maximum(needed, 0)
    scaled = A / jnp.exp2(squarings).astype(A.dtype)[..., None, None]
    top, bottom = _pade(scaled, _PADE[_ORDER[size]])
    if upper_triangular:
        result = solve_triangular(bottom, top)
    else:
        result = jnp.linalg.solve(bottom, top)

    def square(i: Any, result: Any) -> Any:
        go_on = (i < squarings)[..., None, None]
        return jnp.where(go_on, _product(result, result), result)

    result = lax.fori_loop(0, max_squarings, square, result)
    too_many = (squarings > max_squarings)[..., None, None]
    return jnp.where(too_many, jnp.nan, result)


def _product(*factors: Any) -> Any:
    left = factors[0]
    for right in factors[1:]:
        left = jnp.matmul(left, right, precision="highest")
    return left


def _pade(A: Any, b: tuple[int, ...]) -> tuple[Any, Any]:
    """V + U and V − U, with the even and the odd terms of the approximant."""
    eye = jnp.eye(A.shape[-1], dtype=A.dtype)
    square = _product(A, A)
    power = jnp.broadcast_to(eye, A.shape)
    even = odd = jnp.zeros_like(A)
    weights = [c / b[0] for c in b]
    for k in range(0, len(b), 2):
        even = even + weights[k] * power
        odd = odd + weights[k + 1] * power
        power = _product(power, square)
    odd = _product(A, odd)
    return even + odd, even - odd


def expm_frechet(
    A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """The derivative of `expm` at A in the direction E: (exp(A), derivative).

    Without `compute_expm` the derivative alone.

    >>> from tetrad.scipy import linalg
    >>> linalg.expm_frechet(jnp.zeros((1, 1)), jnp.ones((1, 1)), compute_expm=False)
    Array([[1.]], dtype=float32)
    """
    A = matrices("scipy.linalg.expm_frechet", "A", A)
    E = matrices("scipy.linalg.expm_frechet", "E", E)
    n = A.shape[-1]
    rows = jnp.concatenate([A, E], -1), jnp.concatenate([jnp.zeros_like(A), A], -1)
    both = expm(jnp.concatenate(rows, -2))
    value, slope = both[..., :n, :n], both[..., :n, n:]
    return (value, slope) if compute_expm else slope


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root S of a square matrix: S·S = A; complex.

    >>> from tetrad.scipy import linalg
    >>> linalg.sqrtm(jnp.array([[4., 0.], [0., 9.]])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("sqrtm: blocksize must be 1")
    t, z = schur(A, output="complex")
    n = t.shape[-1]
    diagonal = jnp.sqrt(jnp.diagonal(t, axis1=-2, axis2=-1))

    def column(j: Any, root: Any) -> Any:
        def entry(step: Any, root: Any) -> Any:
            i = j - 1 - step
            inside = (jnp.arange(n) > i) & (jnp.arange(n) < j)
            terms = jnp.where(inside, root[..., i, :] * root[..., :, j], 0)
            value = t[..., i, j] - jnp.sum(terms, -1)
            total = diagonal[..., i] + diagonal[..., j]
            value = jnp.where(total == 0, 0, value / jnp.where(total == 0, 1, total))
            return root.at[..., i, j].set(value)

        return lax.fori_loop(0, j, entry, root)

    start = jnp.zeros_like(t) + diagonal[..., None] * jnp.eye(n, dtype=t.dtype)
    root = lax.fori_loop(0, n, column, start)
    return _product(z, root, adjoint(z))


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a matrix, by Parlett's recurrence on its Schur form.

    `func` acts on an array of eigenvalues, which should be distinct. Without `disp` also an
    estimate of the error.

    >>> from tetrad.scipy import linalg
    >>> linalg.funm(jnp.array([[1., 0.], [0., 2.]]), jnp.square).real
    Array([[1., 0.],
           [0., 4.]], dtype=float32)
    """
    A = jnp.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"funm: A must be one square matrix, got shape {A.shape}")
    t, z = schur(A, output="complex")
    n = t.shape[-1]
    f = jnp.diag(func(jnp.diag(t)))
    smallest = jnp.inf
    for p in range(1, n):
        for i in range(n - p):
            j = i + p
            total = t[i, j] * (f[j, j] - f[i, i])
            inner = slice(i + 1, j)
            total = total + jnp.dot(t[i, inner], f[inner, j])
            total = total - jnp.dot(f[i, inner], t[inner, j])
            gap = t[j, j] - t[i, i]
            f = f.at[i, j].set(
                jnp.where(gap != 0, total / jnp.where(gap == 0, 1, gap), total)
            )
            smallest = jnp.minimum(smallest, jnp.abs(gap))
    result = _product(z, f, adjoint(z))
    if disp:
        return result
    eps = float(np.finfo(A.real.dtype).eps)
    norm = jnp.linalg.norm(jnp.triu(t, 1), 1)
    error = jnp.maximum(eps, eps / jnp.where(smallest == 0, eps, smallest) * norm)
    return result, jnp.minimum(1, error)


def polar(
    a: Any, side: str = "right", *, method: str = "svd", eps: Any = None,
    max_iterations: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """A = U·P with orthonormal U and positive semidefinite P; A = P·U for side="left".

    >>> from tetrad.scipy import linalg
    >>> linalg.polar(jnp.array([[0., 2.], [2., 0.]]))[1].round(4)
    Array([[2., 0.],
           [0., 2.]], dtype=float32)
    """
    if side not in ("right", "left"):
        raise ValueError(f'polar: side must be "right" or "left", got {side!r}')
    a = matrices("scipy.linalg.polar", "a", a, square=False)
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    unitary = _product(u, vh)
    s = s.astype(a.dtype)[..., None, :]
    if side == "right":
        return unitary, _product(adjoint(vh) * s, vh)
    return unitary, _product(u * s, adjoint(u))


def solve_sylvester(
    A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8
) -> Any:
    """The X with A·X + X·B = C, through the Schur forms of A and B.

    >>> from tetrad.scipy import linalg
    >>> linalg.solve_sylvester(jnp.eye(1), jnp.eye(1), jnp.array([[4.]]))
    Array([[2.]], dtype=float32)
    """
    A, B, C = (jnp.asarray(x) for x in (A, B, C))
    dtype = jnp.result_type(A, B, C, jnp.float32)
    r, u = schur(A.astype(dtype), output="complex")
    s, v = schur(B.astype(dtype), output="complex")
    f = _product(adjoint(u), C.astype(r.dtype), v)
    m, n = f.shape
    eye = jnp.eye(m, dtype=f.dtype)

    def column(j: Any, y: Any) -> Any:
        # (R + sⱼⱼ I)·yⱼ = fⱼ − Σ yₖ·sₖⱼ over k < j
        known = jnp.where(jnp.arange(n) < j, s[:, j], 0)
        right = f[:, j] - jnp.matmul(y, known, precision="highest")
        return y.at[:, j].set(solve_triangular(r + s[j, j] * eye, right))

    y = lax.fori_loop(0, n, column, jnp.zeros_like(f))
    x = _product(u, y, adjoint(v))
    return x if jnp.issubdtype(dtype, jnp.complexfloating) else x.real


# ---------------------------------------------------------------------- special matrices


def block_diag(*arrs: Any) -> Any:
    """The matrices along the diagonal of one, with zeros around them.

    >>> from tetrad.scipy import linalg
    >>> linalg.block_diag(jnp.ones((1, 2)), 5.0)
    Array([[1., 1., 0.],
           [0., 0., 5.]], dtype=float32)
    """
    blocks = [jnp.atleast_2d(x) for x in (arrs or (jnp.zeros((1, 0)),))]
    for i, block in enumerate(blocks):
        if block.ndim != 2:
            raise ValueError(
                f"block_diag: argument {i} must have at most 2 axes, got {block.shape}"
            )
    dtype = jnp.result_type(*blocks)
    columns = sum(block.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        after = columns - before - block.shape[1]
        rows.append(jnp.pad(block.astype(dtype), ((0, 0), (before, after))))
        before += block.shape[1]
    return jnp.concatenate(rows)


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with constant diagonals, first column `c` and first row `r` (c̄).

    >>> from tetrad.scipy import linalg
    >>> linalg.toeplitz(jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 1, 2],
           [3, 2, 1]], dtype=int32)
    """
    c = jnp.atleast_1d(jnp.asarray(c))
    r = jnp.conj(c) if r is None else jnp.atleast_1d(jnp.asarray(r))
    dtype = jnp.result_type(c, r)
    c, r = c.astype(dtype), r.astype(dtype)
    n, m = c.shape[-1], r.shape[-1]
    line = jnp.concatenate([c[..., ::-1], r[..., 1:]], -1)
    return line[..., (n - 1 - jnp.arange(n))[:, None] + jnp.arange(m)]


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with constant antidiagonals, first column `c` and last row `r` (zeros).

    >>> from tetrad.scipy import linalg
    >>> linalg.hankel(jnp.array([1, 2]))
    Array([[1, 2],
           [2, 0]], dtype=int32)
    """
    c = jnp.ravel(jnp.asarray(c))
    r = jnp.zeros_like(c) if r is None else jnp.ravel(jnp.asarray(r))
    line = jnp.concatenate([c, r[1:]])
    return line[jnp.arange(c.size)[:, None] + jnp.arange(r.size)]


def circulant(c: Any) -> Any:
    """The matrix whose columns are the rotations of `c`.

    >>> from tetrad.scipy import linalg
    >>> linalg.circulant(jnp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    c = jnp.asarray(c)
    n = c.shape[-1]
    return c[..., (jnp.arange(n)[:, None] - jnp.arange(n)) % n]


def hilbert(n: int) -> Any:
    """The matrix 1/(i + j + 1).

    >>> from tetrad.scipy import linalg
    >>> linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    places = jnp.arange(n)
    return 1 / (places[:, None] + places + 1)


def pascal(n: int, kind: str | None = None) -> Any:
    """Binomial coefficients: (i + j over i), or for kind="lower" (i over j), "upper" its ᵀ.

    >>> from tetrad.scipy import linalg
    >>> linalg.pascal(3, "lower")
    Array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 2., 1.]], dtype=float32)
    """
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(
            f'pascal: kind must be "symmetric", "lower" or "upper", got {kind!r}'
        )
    host = np.array([[math.comb(i, j) for j in range(n)] for i in range(n)], float)
    host = host.reshape(n, n)
    lower = jnp.asarray(host, dtype=float)
    if kind == "lower":
        return lower
    if kind == "upper":
        return lower.T
    return jnp.asarray(host @ host.T, dtype=float)


def hadamard(n: int, dtype: Any = int) -> Any:
    """Hadamard's matrix of ±1 with orthogonal rows; n must be a power of 2.

    >>> from tetrad.scipy import linalg
    >>> linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: n must be a power of 2, got {n}")
    places = np.arange(n)
    ones = np.bitwise_and(places[:, None], places)
    parity = np.array([[bin(x).count("1") % 2 for x in row] for row in ones])
    return jnp.asarray(1 - 2 * parity.reshape(n, n), dtype=dtype)


def dft(n: int, scale: str | None = None) -> Any:
    """The matrix of the discrete Fourier transform; scale is None, "sqrtn" or "n".

    >>> from tetrad.scipy import linalg
    >>> linalg.dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f'dft: scale must be None, "sqrtn" or "n", got {scale!r}')
    places = np.arange(n)
    host = np.exp(-2j * np.pi * (places[:, None] * places % n) / n)
    host = host / {None: 1, "sqrtn": math.sqrt(n), "n": n}[scale]
    return jnp.asarray(host, dtype=complex)
