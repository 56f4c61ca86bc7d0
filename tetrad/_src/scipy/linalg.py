"""Linear algebra in SciPy's words: factors to keep and use again, functions of matrices.

All take matrices in the last two axes, and any number of leading ones unless they say
otherwise. Options that only save copies (`overwrite_a`, `check_finite`) are accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad import lax, numpy
from tetrad._src.numpy.decompositions import adjoint, matrices
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import promote_floats
from tetrad._src.numpy.systems import lu_solved
from tetrad._src.scipy.arguments import apart

jnp: Any = numpy  # arrays have methods that their type does not state

det = jnp.linalg.det
inv = jnp.linalg.inv


def _one_of(name: str, argument: str, given: Any, known: Sequence[Any]) -> None:
    """ValueError unless an argument names a known way; all give the same numbers."""
    if given not in known:
        raise ValueError(
            f"scipy.linalg.{name}: {argument} must be one of"
            f" {', '.join(map(repr, known))}, got {given!r}"
        )


@apart
@planned_whole
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """U with Uᴴ·U = A, or L with L·Lᴴ = A if `lower`, of positive definite matrices.

    One triangle is read: the upper one, or the lower one if `lower`.

    >>> from tetrad.scipy import linalg
    >>> linalg.cholesky(jnp.array([[4., 2.], [2., 5.]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    a = matrices("scipy.linalg.cholesky", "a", a)
    if lower:
        return lax.linalg.cholesky(a, symmetrize_input=False)
    return adjoint(lax.linalg.cholesky(adjoint(a), symmetrize_input=False))


@apart
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """(factor, lower) for `cho_solve`.

    >>> from tetrad.scipy import linalg
    >>> linalg.cho_factor(jnp.array([[4.]]))
    (Array([[2.]], dtype=float32), False)
    """
    return cholesky(a, lower), lower


@apart
@planned_whole
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


@apart
@planned_whole
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


@apart
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """(both factors in one matrix, pivots) of LU with row exchanges, for `lu_solve`.

    >>> from tetrad.scipy import linalg
    >>> linalg.lu_factor(jnp.array([[1., 2.], [2., 6.]]))[1]
    Array([1, 1], dtype=int32)
    """
    lu, pivots, _ = lax.linalg.lu(matrices("scipy.linalg.lu_factor", "a", a, False))
    return lu, pivots


@apart
@planned_whole
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
    lu, b = promote_floats("scipy.linalg.lu_solve", lu, jnp.asarray(b))
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


@apart
@planned_whole
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


@apart
@planned_whole
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


@apart
@planned_whole
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


@apart
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """(C·Q, R), or (Q·C, R) with mode="left", for A = Q·R; with `pivoting` also p.

    a[..., m, n]; with k = min(m, n) Q is [..., m, k] and R [..., k, n]. c[..., l, m] for
    mode="right", c[..., k, l] for "left"; a vector c is a row or a column. `conjugate`
    takes Q̄ for Q.

    >>> from tetrad.scipy import linalg
    >>> product, r = linalg.qr_multiply(jnp.array([[3.], [4.]]), jnp.array([3., 4.]))
    >>> abs(product).round(4)
    Array([5.], dtype=float32)
    """
    if mode not in ("left", "right"):
        raise ValueError(f'qr_multiply: mode must be "left" or "right", got {mode!r}')
    c = jnp.asarray(c)
    vector = c.ndim == 1
    if vector:
        c = c[None, :] if mode == "right" else c[:, None]
    a = matrices("scipy.linalg.qr_multiply", "a", a, square=False)
    q, *rest = lax.linalg.qr(a, full_matrices=False, pivoting=pivoting)
    inner, expected = (c.shape[-1], a.shape[-2]) if mode == "right" else (
        c.shape[-2], q.shape[-1]
    )  # fmt: skip
    if inner != expected:
        raise ValueError(
            f"qr_multiply: with mode={mode!r}, axis {'-1' if mode == 'right' else '-2'} of c"
            f" must have extent {expected}, got c of shape {c.shape} for a of shape"
            f" {a.shape}"
        )
    q = q.conj() if conjugate else q
    product = c @ q if mode == "right" else q @ c
    if vector:
        product = product.reshape((*product.shape[:-2], -1))
    return (product, *rest)


@apart
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
    _one_of("svd", "lapack_driver", lapack_driver, ("gesdd", "gesvd"))
    found = jnp.linalg.svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


@apart
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


@apart
def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """(w, V), or w, of the symmetric matrix with diagonal `d` and `e` beside it.

    Args:
      d: the diagonal, of shape (n,).
      e: what stands below it, of shape (n - 1,); above stands its conjugate.
      eigvals_only: whether to give the values alone.
      select: "a" for all, "i" for those numbered `select_range[0]` to `select_range[1]`
        (which is included), in ascending order; "v" for those above `select_range[0]` and
        not above `select_range[1]`, whose number must be known when the program is built.
      select_range: two numbers.
      tol: the error that is allowed; all digits of the dtype are computed.
      key: for methods that start from random vectors; this one does not.

    >>> from tetrad.scipy import linalg
    >>> linalg.eigh_tridiagonal(jnp.array([2., 2.]), jnp.array([1.]), eigvals_only=True)
    Array([1., 3.], dtype=float32)
    """
    if select not in ("a", "i", "v"):
        raise ValueError(
            f'eigh_tridiagonal: select must be "a", "i" or "v", got {select!r}'
        )
    if select != "a" and (select_range is None or len(select_range) != 2):
        raise ValueError(
            f"eigh_tridiagonal: select={select!r} needs select_range=(first, last), got"
            f" {select_range!r}"
        )
    d, e = promote_floats("eigh_tridiagonal", jnp.asarray(d), jnp.asarray(e))
    if d.ndim != 1 or e.shape != (d.shape[0] - 1,):
        raise ValueError(
            "eigh_tridiagonal: d must be a vector and e one shorter, got shapes"
            f" {d.shape} and {e.shape}"
        )
    matrix = jnp.diag(d) + jnp.diag(e, -1) + jnp.diag(e.conj(), 1)
    vectors, values = lax.linalg.eigh(matrix, symmetrize_input=False)
    if select != "a":
        first, last = _selected(values, select, select_range)
        values, vectors = values[first:last], vectors[:, first:last]
    return values if eigvals_only else (values, vectors)


def _selected(values: Any, select: str, bounds: Any) -> tuple[int, int]:
    """Where the selected ones of ascending values begin and end."""
    low, high = bounds
    n = values.shape[0]
    if select == "v":
        return int(jnp.sum(values <= low)), int(jnp.sum(values <= high))
    if not 0 <= low <= high < n:
        raise ValueError(
            f"eigh_tridiagonal: select_range={bounds} must be two numbers from 0 to"
            f" {n - 1}, the lower one first"
        )
    return int(low), int(high) + 1


@apart
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


@apart
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form (T, Z) of A = Z·T·Zᵀ, from the real one.

    >>> from tetrad.scipy import linalg
    >>> linalg.rsf2csf(jnp.eye(2), jnp.eye(2))[0].dtype
    dtype('complex64')
    """
    T, Z = jnp.asarray(T), jnp.asarray(Z)
    for name, x in (("T", T), ("Z", Z)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(
                f"rsf2csf: {name} must hold square matrices, got shape {x.shape}"
            )
    if T.shape[-1] != Z.shape[-1]:
        raise ValueError(
            f"rsf2csf: T and Z must have one order, got shapes {T.shape} and {Z.shape}"
        )
    wide = jnp.result_type(T, Z, jnp.complex64)
    by_matrix = jnp.vectorize(_triangular, signature="(n,n),(n,n)->(n,n),(n,n)")
    triangle, turn = by_matrix(T.astype(wide), Z.astype(wide))
    return triangle, turn


def _triangular(T: Any, Z: Any) -> tuple[Any, Any]:
    """Blocks of two on the diagonal of T made triangular by rotations, the last first."""
    n = T.shape[0]
    eps = jnp.finfo(T.dtype).eps
    places = jnp.arange(n)

    def rotate(i: Any, state: Any) -> Any:
        T, Z = state
        row = n - 2 - i
        block = lax.dynamic_slice(T, (row, row), (2, 2))
        below = block[1, 0]
        shift = jnp.linalg.eigvals(block)[0] - block[1, 1]
        size = jnp.sqrt(jnp.abs(shift) ** 2 + jnp.abs(below) ** 2)
        size = jnp.where(size == 0, 1, size)
        c, s = shift / size, below / size
        turn = jnp.array([[c.conj(), s], [-s, c]])
        large = eps * (jnp.abs(block[0, 0]) + jnp.abs(block[1, 1]))
        turn = jnp.where(jnp.abs(below) > large, turn, jnp.eye(2, dtype=T.dtype))
        back = turn.conj().T
        rows = lax.dynamic_slice(T, (row, 0), (2, n))
        rows = jnp.where(places >= row, _product(turn, rows), rows)
        T = lax.dynamic_update_slice(T, rows, (row, 0))
        columns = lax.dynamic_slice(T, (0, row), (n, 2))
        above = places[:, None] <= row + 1
        columns = jnp.where(above, _product(columns, back), columns)
        T = lax.dynamic_update_slice(T, columns, (0, row))
        turned = _product(lax.dynamic_slice(Z, (0, row), (n, 2)), back)
        Z = lax.dynamic_update_slice(Z, turned, (0, row))
        return T.at[row + 1, row].set(0), Z

    if n < 2:
        return T, Z
    triangle, turn = lax.fori_loop(0, n - 1, rotate, (T, Z))
    return triangle, turn


@apart
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


@apart
@planned_whole
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


@apart
def expm_frechet(
    A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """The derivative of `expm` at A in the direction E: (exp(A), derivative).

    Without `compute_expm` the derivative alone.

    >>> from tetrad.scipy import linalg
    >>> linalg.expm_frechet(jnp.zeros((1, 1)), jnp.ones((1, 1)), compute_expm=False)
    Array([[1.]], dtype=float32)
    """
    _one_of("expm_frechet", "method", method, (None, "SPS", "blockEnlarge"))
    A = matrices("scipy.linalg.expm_frechet", "A", A)
    E = matrices("scipy.linalg.expm_frechet", "E", E)
    n = A.shape[-1]
    rows = jnp.concatenate([A, E], -1), jnp.concatenate([jnp.zeros_like(A), A], -1)
    both = expm(jnp.concatenate(rows, -2))
    value, slope = both[..., :n, :n], both[..., :n, n:]
    return (value, slope) if compute_expm else slope


@apart
def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root S of a square matrix: S·S = A; complex.

    >>> from tetrad.scipy import linalg
    >>> linalg.sqrtm(jnp.array([[4., 0.], [0., 9.]])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("sqrtm: blocksize must be 1")
    t, z = _triangular_form(A)
    n = t.shape[-1]
    if n == 0:
        return t
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


def _triangular_form(A: Any) -> tuple[Any, Any]:
    """The complex Schur form in which real values of a real matrix stay real.

    Which side of a branch cut they are on is then no matter of rounding.
    """
    t, z = schur(A)
    return (t, z) if jnp.iscomplexobj(t) else rsf2csf(t, z)


@apart
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
    t, z = _triangular_form(A)
    n = t.shape[-1]
    values = jnp.asarray(func(jnp.diag(t))).astype(t.dtype)
    rises = values - values[:, None]
    gaps = jnp.diag(t) - jnp.diag(t)[:, None]
    above = jnp.triu(t, 1)
    place = jnp.arange(n) - jnp.arange(n)[:, None]

    def diagonal(p: Any, f: Any) -> Any:
        # The p-th diagonal above the main one, from those between the two.
        total = t * rises + _product(above, f) - _product(f, above)
        new = jnp.where(gaps != 0, total / jnp.where(gaps == 0, 1, gaps), total)
        return jnp.where(place == p, new, f)

    f = lax.fori_loop(1, n, diagonal, jnp.zeros_like(rises)) + jnp.diag(values)
    result = _product(z, f, adjoint(z))
    if disp:
        return result
    eps = float(jnp.finfo(A.real.dtype).eps)
    smallest = jnp.min(jnp.where(place > 0, jnp.abs(gaps), jnp.inf), initial=jnp.inf)
    norm = jnp.linalg.norm(above, 1)
    error = jnp.maximum(eps, eps / jnp.where(smallest == 0, eps, smallest) * norm)
    return result, jnp.minimum(1, error)


@apart
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
    _one_of("polar", "method", method, ("svd", "qdwh"))
    for name, given in (("eps", eps), ("max_iterations", max_iterations)):
        if given is not None:
            raise NotImplementedError(
                f"scipy.linalg.polar: {name} says how an iteration goes; there is none"
                " here, the factors come from the singular values: leave it out"
            )
    if side not in ("right", "left"):
        raise ValueError(f'polar: side must be "right" or "left", got {side!r}')
    a = matrices("scipy.linalg.polar", "a", a, square=False)
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    unitary = _product(u, vh)
    s = s.astype(a.dtype)[..., None, :]
    if side == "right":
        return unitary, _product(adjoint(vh) * s, vh)
    return unitary, _product(u * s, adjoint(u))


@apart
def solve_sylvester(
    A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8
) -> Any:
    """The X with A·X + X·B = C.

    A[..., m, m], B[..., n, n], C[..., m, n] → X[..., m, n]. X is NaN where a sum of an
    eigenvalue of A and one of B is smaller than `tol`: there is no X then, or many.

    Args:
      method: "schur", which is accurate, or "eigen", which is faster and loses digits where
        eigenvectors are nearly parallel.
      tol: the smallest size of sums of eigenvalues.

    >>> from tetrad.scipy import linalg
    >>> linalg.solve_sylvester(jnp.eye(1), jnp.eye(1), jnp.array([[4.]]))
    Array([[2.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(
            f'solve_sylvester: method must be "schur" or "eigen", got {method!r}'
        )
    A, B, C = (jnp.asarray(x) for x in (A, B, C))
    if A.shape[-1:] + B.shape[-1:] != C.shape[-2:]:
        raise ValueError(
            "solve_sylvester: C must have as many rows as A and as many columns as B, got"
            f" shapes {A.shape}, {B.shape} and {C.shape}"
        )
    dtype = jnp.result_type(A, B, C, jnp.float32)
    solve_one = _sylvester_by_schur if method == "schur" else _sylvester_by_vectors
    by_matrix = jnp.vectorize(
        lambda a, b, c: solve_one(a, b, c, tol), signature="(m,m),(n,n),(m,n)->(m,n)"
    )
    return by_matrix(A.astype(dtype), B.astype(dtype), C.astype(dtype))


def _sylvester_by_schur(A: Any, B: Any, C: Any, tol: float) -> Any:
    r, u = schur(A, output="complex")
    s, v = schur(B, output="complex")
    f = _product(adjoint(u), C.astype(r.dtype), v)
    m, n = f.shape
    eye = jnp.eye(m, dtype=f.dtype)

    def column(j: Any, y: Any) -> Any:
        # (R + sⱼⱼ I)·yⱼ = fⱼ − Σ yₖ·sₖⱼ over k < j
        known = jnp.where(jnp.arange(n) < j, s[:, j], 0)
        right = f[:, j] - jnp.matmul(y, known, precision="highest")
        return y.at[:, j].set(solve_triangular(r + s[j, j] * eye, right))

    y = lax.fori_loop(0, n, column, jnp.zeros_like(f))
    sums = jnp.diag(r)[:, None] + jnp.diag(s)
    return _real_where_fine(_product(u, y, adjoint(v)), sums, tol, C.dtype)


def _sylvester_by_vectors(A: Any, B: Any, C: Any, tol: float) -> Any:
    a, u = jnp.linalg.eig(A)
    b, v = jnp.linalg.eig(B)
    sums = a[:, None] + b
    f = jnp.linalg.solve(u, _product(C.astype(u.dtype), v))
    x = jnp.linalg.solve(v.T, _product(u, f / sums).T).T
    return _real_where_fine(x, sums, tol, C.dtype)


def _real_where_fine(x: Any, sums: Any, tol: float, dtype: Any) -> Any:
    x = x if jnp.issubdtype(dtype, jnp.complexfloating) else x.real
    return jnp.where(jnp.any(jnp.abs(sums) < tol), jnp.nan, x).astype(dtype)
