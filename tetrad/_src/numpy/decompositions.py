"""Matrices taken apart: Cholesky, QR, eigenvalues and singular values in NumPy's words.

What comes in: arrays with matrices in their last two axes, of any dtype; integers count
as floats. What goes out: factors as named tuples, as in NumPy. The mathematics and the
derivatives are in the operations of `lax.linalg`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tetrad._src.control.custom import custom_jvp
from tetrad._src.core.bind import Value
from tetrad._src.numpy import lax, reduce, shape
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import call, promote_floats
from tetrad._src.util import dtypes


class EigResult(NamedTuple):
    eigenvalues: Value
    eigenvectors: Value


class EighResult(NamedTuple):
    eigenvalues: Value
    eigenvectors: Value


class QRResult(NamedTuple):
    Q: Value
    R: Value


class SVDResult(NamedTuple):
    U: Value
    S: Value
    Vh: Value


def matrices(name: str, argument: str, x: Any, square: bool = True) -> Any:
    """`x` as floats, once it is known to hold (square) matrices."""
    v: Any = value(promote_floats(name, value(x, name, argument))[0], name)
    if v.ndim < 2:
        raise ValueError(
            f"{call(name)}: {argument} must hold matrices in its last two axes, got"
            f" {describe(v)}"
        )
    if square and v.shape[-1] != v.shape[-2]:
        raise ValueError(
            f"{call(name)}: {argument} must hold square matrices, got {describe(v)}"
        )
    if v.dtype.itemsize < 4:
        raise TypeError(
            f"{call(name)}: decompositions need float32 or wider, got {describe(v)}."
            f" Write {argument}.astype('float32')."
        )
    return v


@planned_whole
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Value:
    """The lower triangular L with L·Lᴴ = A, of positive definite Hermitian matrices.

    a[..., n, n] → L like a, or U = Lᴴ if `upper`. `symmetrize_input` takes (A + Aᴴ)/2 first.
    Where A is not positive definite, the result is NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.cholesky(jnp.array([[4., 2.], [2., 5.]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    x = matrices("jnp.linalg.cholesky", "a", a)
    factor = lax.cholesky(x, symmetrize_input=symmetrize_input)
    return adjoint(factor) if upper else factor


def adjoint(x: Any) -> Any:
    """Xᴴ."""
    turned = shape.matrix_transpose(x)
    return lax.conj(turned) if x.aval.kind == "c" else turned


@planned_whole
def qr(a: Any, mode: str = "reduced") -> Any:
    """A = Q·R with orthonormal columns in Q and an upper triangular R.

    a[..., m, n] → Q[..., m, k], R[..., k, n] with k = min(m, n), or k = m for mode="complete".
    mode="r" gives R alone; mode="raw" what LAPACK makes: (h, τ), where h[..., n, m] is the
    transpose of R with the vectors of Householder's reflections below it, and τ[..., min(m, n)]
    their factors.

    >>> import tetrad.numpy as jnp
    >>> q, r = jnp.linalg.qr(jnp.array([[3., 1.], [4., 2.]]))
    >>> jnp.abs(r).round(3)
    Array([[5. , 2.2],
           [0. , 0.4]], dtype=float32)
    """
    name = "jnp.linalg.qr"
    x = matrices(name, "a", a, square=False)
    if mode == "raw":
        return tuple(lax.Geqrf()(x))
    if mode not in ("reduced", "full", "complete", "r"):  # full: NumPy's old name
        raise ValueError(
            f'{call(name)}: mode must be "reduced", "complete", "r" or "raw", got {mode!r}'
        )
    q, r = lax.qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@planned_whole
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices.

    a[..., n, n] → real w[..., n] and V[..., n, n] with A·V = V·diag(w). `symmetrize_input` takes
    (A + Aᴴ)/2 first; otherwise the triangle UPLO, "L" or "U", is read.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.eigh(jnp.array([[2., 1.], [1., 2.]])).eigenvalues
    Array([1., 3.], dtype=float32)
    """
    name = "jnp.linalg.eigh"
    x = matrices(name, "a", a)
    vectors, values = lax.eigh(
        x, lower=_triangle(name, UPLO), symmetrize_input=symmetrize_input
    )
    return EighResult(values, vectors)


def _triangle(name: str, uplo: str | None) -> bool:
    if uplo not in (None, "L", "U"):
        raise ValueError(f'{call(name)}: UPLO must be "L", "U" or None, got {uplo!r}')
    return uplo != "U"


@planned_whole
def eigvalsh(
    a: Any, UPLO: str | None = None, *, symmetrize_input: bool = True
) -> Value:
    """Eigenvalues of Hermitian matrices in ascending order; see `eigh`.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.eigvalsh(jnp.array([[2., 1.], [1., 2.]]))
    Array([1., 3.], dtype=float32)
    """
    name = "jnp.linalg.eigvalsh"
    x = matrices(name, "a", a)
    lower = _triangle(name, UPLO)
    x = lax.symmetric(x) if symmetrize_input else x
    return lax.Eigh(lower, True, False)(x)[0]


def eig(a: Any) -> EigResult:
    """Eigenvalues and right eigenvectors of square matrices: A·V = V·diag(w).

    a[..., n, n] → complex w[..., n] in no order, V[..., n, n] with columns of length 1.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.eig(jnp.array([[0., 1.], [-1., 0.]])).eigenvalues
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    x = matrices("jnp.linalg.eig", "a", a)
    values, vectors = lax.eig(x, compute_left_eigenvectors=False)
    return EigResult(values, vectors)


def eigvals(a: Any) -> Value:
    """Eigenvalues of square matrices, complex, in no order.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.eigvals(jnp.array([[2., 0.], [0., 3.]]))
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    x = matrices("jnp.linalg.eigvals", "a", a)
    found = lax.eig(
        x, compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )
    return found[0]


@planned_whole
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:
    """A = U·diag(S)·Vᴴ with S in descending order: (U, S, Vᴴ), or S unless `compute_uv`.

    a[..., m, n] → U[..., m, k], S[..., min(m, n)], Vᴴ[..., k', n]; k = m and k' = n if
    `full_matrices`, else both min(m, n). `hermitian` says that A is, which is faster.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.svd(jnp.array([[3., 0.], [0., -4.]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    x = matrices("jnp.linalg.svd", "a", a, square=hermitian)
    if hermitian and subset_by_index is None:
        return _hermitian_svd(x, compute_uv)
    found = lax.svd(
        x,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset_by_index,
    )
    return SVDResult(*found) if compute_uv else found


def _hermitian_svd(x: Any, compute_uv: bool) -> Any:
    """A = V·diag(w)·Vᴴ with the signs of w moved into Vᴴ, the largest first."""
    if not compute_uv:
        sizes = lax.sort(lax.abs(eigvalsh(x)), dimension=x.ndim - 2)
        return lax.rev(sizes, (x.ndim - 2,))
    values: Any
    values, vectors = eigh(x)
    negated = lax.neg(lax.abs(values))
    places = lax.broadcasted_iota("int32", values.shape, values.ndim - 1)
    sizes, order = lax.sort((negated, places), dimension=values.ndim - 1, num_keys=1)
    turned = lax.rows_taken(shape.matrix_transpose(vectors), order)
    negative = lax.lt(lax.rows_taken(values[..., None], order), 0)
    signs = 1 - 2 * lax.convert_element_type(negative, x.dtype)
    u = shape.matrix_transpose(turned)
    conjugated = lax.conj(turned) if x.aval.kind == "c" else turned
    return SVDResult(u, lax.neg(sizes), conjugated * signs)


@planned_whole
def svdvals(x: Any, /) -> Value:
    """Singular values in descending order.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.svdvals(jnp.array([[3., 0.], [0., -4.]]))
    Array([4., 3.], dtype=float32)
    """
    v = matrices("jnp.linalg.svdvals", "x", x, square=False)
    return lax.svd(v, compute_uv=False)


@planned_whole
def matrix_rank(
    M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None
) -> Value:
    """How many singular values exceed rtol·(the largest); `tol` is an absolute limit.

    `rtol` is max(m, n)·ε unless given. Vectors count as matrices of one row. Those of
    `hermitian` matrices are the absolute eigenvalues.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.matrix_rank(jnp.array([[1., 2.], [2., 4.]]))
    Array(1, dtype=int32)
    """
    name = "jnp.linalg.matrix_rank"
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    v = value(M, name, "M")
    if v.ndim < 2:
        nonzero = lax.ne(v, lax.zeros_like(v))
        return lax.convert_element_type(reduce.any(nonzero), "int32")
    v = matrices(name, "M", v, square=hermitian)
    s: Any = lax.abs(eigvalsh(v)) if hermitian else lax.svd(v, compute_uv=False)
    if tol is None:
        if rtol is None:
            rtol = max(v.shape[-2:]) * dtypes.finfo(s.dtype).eps
        largest = reduce.max(s, -1, keepdims=True, initial=0)
        limit = largest * _beside(value(rtol, name, "rtol"), s)
    else:
        limit = _beside(value(tol, name, "tol"), s)
    return reduce.sum(s > limit, -1)


def _beside(limit: Any, s: Any) -> Any:
    """One limit, or one a matrix, in the dtype and rank of singular values."""
    limit = lax.convert_element_type(limit, s.dtype)[..., None]
    return shape.broadcast_to(
        limit, np.broadcast_shapes(limit.shape, (*s.shape[:-1], 1))
    )


@planned_whole
def pinv(
    a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None
) -> Value:
    """The pseudo-inverse A⁺ of matrices, by singular values.

    a[..., m, n] → [..., n, m]. Singular values at or below rtol·(the largest) count as
    0; `rtol` is 10·max(m, n)·ε unless given (`rcond` is its old name).

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.pinv(jnp.array([[2., 0.], [0., 0.]]))
    Array([[0.5, 0. ],
           [0. , 0. ]], dtype=float32)
    """
    name = "jnp.linalg.pinv"
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: only one of rtol and rcond may be specified.")
    x = matrices(name, "a", a, square=hermitian)
    rtol = rcond if rtol is None else rtol
    real = lax.real(x).dtype if x.aval.kind == "c" else x.dtype
    if rtol is None:
        rtol = 10 * max(x.shape[-2:]) * dtypes.finfo(real).eps
    limit = lax.convert_element_type(value(rtol, name, "rtol"), real)
    inverse: Value = _pinv(x, limit, hermitian)
    return inverse


def _plain_pinv(x: Any, rtol: Any, hermitian: bool) -> Any:
    u, s, vh = svd(x, full_matrices=False, hermitian=hermitian)
    limit = _beside(rtol, s) * reduce.max(s, -1, keepdims=True, initial=0)
    inverse = lax.select(s > limit, 1 / s, lax.zeros_like(s))
    scaled = adjoint(vh) * lax.convert_element_type(inverse[..., None, :], x.dtype)
    return scaled @ adjoint(u)


_pinv = custom_jvp(_plain_pinv, nondiff_argnums=(2,))


@_pinv.defjvp
def _pinv_jvp(hermitian: bool, primals: Any, tangents: Any) -> Any:
    """As long as the rank stays; coinciding singular values do no harm.

    dA⁺ = −A⁺·dA·A⁺ + A⁺·A⁺ᴴ·dAᴴ·(1 − A·A⁺) + (1 − A⁺·A)·dAᴴ·A⁺ᴴ·A⁺.
    """
    (a, rtol), (da, _) = primals, tangents
    p: Any = _pinv(a, rtol, hermitian)
    ph, dah = adjoint(p), adjoint(da)
    if hermitian:  # what is not symmetric in a matrix is not looked at
        da = dah = (da + dah) / 2
    if a.shape[-2] >= a.shape[-1]:  # products in the order in which they stay small
        turned = (p @ ph) @ dah
        other = (dah @ ph) @ p
        change = turned - (turned @ a) @ p - (p @ da) @ p
        return p, change + other - (p @ a) @ other
    turned = p @ (ph @ dah)
    other = dah @ (ph @ p)
    change = turned - turned @ (a @ p) - p @ (da @ p)
    return p, change + other - p @ (a @ other)
