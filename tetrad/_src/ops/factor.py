"""Cholesky, LU and QR, and the triangular systems that they leave.

What comes in: values with matrices in their last two axes. What goes out: factors, batched
alike. Each class states the mathematics, its derivative, and how it is made of a
routine of LAPACK (`expand`); the order of Fortran is met by a transpose.

The derivatives are those of Giles, Collected matrix derivative results (2008), in the
form that needs only triangular systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis, Linear, Op
from tetrad._src.ops import matrices as mat
from tetrad._src.ops.arithmetic import add, div, neg, sub
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import Operand
from tetrad._src.ops.gather import take_along
from tetrad._src.ops.lapack import Lapack, result
from tetrad._src.ops.slices import concatenate, slice_in_dim
from tetrad._src.ops.views import broadcast_in_dim, expand_dims, full_like, squeeze

I32 = np.dtype(np.int32)


class Decomposition(Op):
    """What all decompositions have in common: matrices last, the same for each lane."""

    accepts = "fc"

    def batch(self, axis: Axis, *operands: Any) -> Any:
        return self(*operands)


# ------------------------------------------------------------------------- Cholesky


class Cholesky(Decomposition):
    """The lower triangular L with L·Lᴴ = A, of positive definite Hermitian matrices A.

    Only the lower triangle of A is read. Where A is not positive definite L is NaN.
    With A = L Lᴴ, dL = L·Φ(L⁻¹ dA L⁻ᴴ), where Φ takes the lower triangle and half of the
    diagonal.
    Source: https://openxla.org/stablehlo/spec#cholesky
    """

    def type(self, a: Aval) -> Aval:
        return a

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        factor = self(*primals)
        (da,) = tangents
        if da is None:
            return factor, None
        left = solve_lower(factor, da)
        inner = mat.adjoint(solve_lower(factor, mat.adjoint(left)))
        return factor, mat.product(factor, mat.half_lower(inner))

    def expand(self, a: Any) -> Any:
        return mat.lower(CholeskyTriangle()(a))


class CholeskyTriangle(Decomposition):
    """The factor L, with anything above its diagonal."""

    def type(self, a: Aval) -> Aval:
        return a

    def expand(self, a: Any) -> Any:
        # Row by row A is its transpose: the upper triangle of Fortran is our lower one.
        aval = aval_of(a)
        core = result(aval.shape[-2:], aval.dtype)
        (factor,) = Lapack("potrf", ("U",), (2,), (core,))(a)
        return factor

    def hlo(self, emit: Any, a: Any) -> Any:
        return emit("stablehlo.cholesky", a, lower=True)


def cholesky(a: Operand, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular L with L·Lᴴ = A, of positive definite Hermitian matrices A.

    a[..., n, n] → L[..., n, n]. `symmetrize_input` takes (A + Aᴴ)/2 first, which also makes
    the derivative symmetric; otherwise the upper triangle is not read. Where A is not
    positive definite, L is NaN. ValueError unless the matrices are square.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.cholesky(jnp.array([[4., 2.], [2., 5.]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    a = mat.matrix_argument(a, "lax.linalg.cholesky", "a")
    return Cholesky()(symmetric(a) if symmetrize_input else a)


def symmetric(a: Any) -> Any:
    """(A + Aᴴ)/2."""
    return div(add(a, mat.adjoint(a)), full_like(a, 2))


# ---------------------------------------------------------------- triangular systems


class TriangularSolve(Decomposition):
    """The X with op(A)·X = B, or X·op(A) = B unless `left_side`, for triangular A.

    op transposes if `transpose_a` and conjugates if `conjugate_a`. Only one triangle of A
    is read; with `unit_diagonal` its diagonal counts as 1.
    Source: https://openxla.org/stablehlo/spec#triangular_solve
    """

    left_side: bool
    lower: bool
    transpose_a: bool
    conjugate_a: bool
    unit_diagonal: bool

    linear = ((1,),)

    def type(self, a: Aval, b: Aval) -> Aval:
        return b

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        a, b = primals
        da, db = tangents
        x = self(a, b)
        if da is not None:
            # d(op(A) X) = dB: the triangle of dA times X moves to the other side.
            da = mat.lower(da) if self.lower else mat.upper(da)
            if self.unit_diagonal:
                da = sub(da, mat.on_diagonal(da))
            da = mat.turned(da) if self.transpose_a else da
            da = mat.conjugate(da) if self.conjugate_a else da
            moved = mat.product(da, x) if self.left_side else mat.product(x, da)
            db = neg(moved) if db is None else sub(db, moved)
        return x, None if db is None else self(a, db)

    def transpose(self, ct: Any, a: Any, b: Any) -> tuple[Any, Any]:
        if isinstance(a, Linear):
            raise NotImplementedError("a triangular solve is linear in b only")
        turned = TriangularSolve(
            self.left_side,
            self.lower,
            not self.transpose_a,
            self.conjugate_a,
            self.unit_diagonal,
        )
        return None, turned(a, ct)

    def expand(self, a: Any, b: Any) -> Any:
        # Row by row the matrices are their transposes: sides and triangles change places.
        form = "N"
        if self.transpose_a:
            form = "C" if self.conjugate_a and mat.is_complex(a) else "T"
        elif self.conjugate_a:
            a = mat.conjugate(a)
        options = (
            "R" if self.left_side else "L",
            "U" if self.lower else "L",
            form,
            "U" if self.unit_diagonal else "N",
        )
        aval = aval_of(b)
        core = result(aval.shape[-2:], aval.dtype)
        (x,) = Lapack("trsm", options, (2, 2), (core,))(a, b)
        return x

    def hlo(self, emit: Any, a: Any, b: Any) -> Any:
        form = "NO_TRANSPOSE"
        if self.transpose_a:
            form = "ADJOINT" if self.conjugate_a else "TRANSPOSE"
        return emit(
            "stablehlo.triangular_solve",
            a,
            b,
            left_side=self.left_side,
            lower=self.lower,
            unit_diagonal=self.unit_diagonal,
            transpose_a=f"#stablehlo<transpose {form}>",
        )


def triangular_solve(
    a: Operand,
    b: Operand,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The X with X·op(A) = B, or op(A)·X = B if `left_side`, for triangular A.

    a[..., n, n], b[..., m, n] (or b[..., n, m] if `left_side`) → X like b. op transposes
    and conjugates as asked. `b` may also have the rank of vectors, one less than A. Only one
    triangle of A is read; with `unit_diagonal` its diagonal counts as 1. ValueError if
    shapes do not fit, TypeError if dtypes differ.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> a = jnp.array([[2., 0.], [1., 4.]])
    >>> lax.linalg.triangular_solve(a, jnp.array([2., 9.]), left_side=True, lower=True)
    Array([1., 2.], dtype=float32)
    """
    name = "lax.linalg.triangular_solve"
    a = mat.matrix_argument(a, name, "a")
    left, right = aval_of(a), aval_of(b)
    vector = right.ndim == left.ndim - 1
    if vector:
        b = expand_dims(b, (right.ndim if left_side else right.ndim - 1,))
    shape = aval_of(b).shape
    common = shape[-2 if left_side else -1] if len(shape) > 1 else None
    if (
        len(shape) != left.ndim
        or shape[:-2] != left.shape[:-2]
        or common != left.shape[-1]
    ):
        wanted = "(…, n, m) or (…, n)" if left_side else "(…, m, n) or (…, n)"
        raise ValueError(
            f"{name}: for a of shape {left.shape} and left_side={left_side}, b must have a"
            f" shape {wanted} with n = {left.shape[-1]} and the same leading axes, got"
            f" {right.long_name()}"
        )
    if left.dtype != right.dtype:
        raise TypeError(
            f"{name}: a and b must have one dtype, got {left.long_name()} and"
            f" {right.long_name()}"
        )
    conjugate_a = conjugate_a and left.kind == "c"
    if conjugate_a and not transpose_a:
        a, conjugate_a = mat.conjugate(a), False
    op = TriangularSolve(left_side, lower, transpose_a, conjugate_a, unit_diagonal)
    x = op(a, b)
    return (
        squeeze(x, (len(shape) - 1 if left_side else len(shape) - 2,)) if vector else x
    )


def solve_lower(
    factor: Any, b: Any, *, unit: bool = False, adjoint: bool = False
) -> Any:
    """L⁻¹·B, or L⁻ᴴ·B, for a lower triangular L."""
    conjugate = adjoint and mat.is_complex(factor)
    return TriangularSolve(True, True, adjoint, conjugate, unit)(factor, b)


def solve_upper(factor: Any, b: Any, *, left: bool = True) -> Any:
    """U⁻¹·B, or B·U⁻¹, for an upper triangular U."""
    return TriangularSolve(left, False, False, False, False)(factor, b)


# ------------------------------------------------------------------------------- LU


class Lu(Decomposition):
    """P·A = L·U: both factors in one matrix, the row exchanges, and the permutation.

    L has ones on its diagonal, which are not stored. Exchange i is of rows i and
    pivots[i]; row i of P·A is row permutation[i] of A.
    """

    multiple = True
    sets_weak = True

    def type(self, a: Aval) -> tuple[Aval, Aval, Aval]:
        *batch, m, n = a.shape
        pivots = Aval((*batch, min(m, n)), I32)
        return a, pivots, Aval((*batch, m), I32)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        lu, pivots, permutation = self(*primals)
        (da,) = tangents
        if da is None:
            return [lu, pivots, permutation], [None] * 3
        tangent = _lu_tangent(lu, rows_taken(da, permutation))
        return [lu, pivots, permutation], [tangent, None, None]

    def expand(self, a: Any) -> Any:
        aval = aval_of(a)
        *_, m, n = aval.shape
        cores = (result((n, m), aval.dtype), result((min(m, n),), I32))
        lu, pivots = Lapack("getrf", (), (2,), cores)(mat.turned(a))
        pivots = sub(pivots, broadcast_in_dim(np.int32(1), aval_of(pivots).shape, ()))
        return mat.turned(lu), pivots, PivotsToPermutation(m)(pivots)


def _lu_tangent(lu: Any, da: Any) -> Any:
    """The tangent of L and U in one matrix, from that of P·A."""
    *_, m, n = aval_of(lu).shape
    k = min(m, n)
    square = _block(lu, 0, k, 0, k)
    top = _block(da, 0, k, 0, k)
    inner = solve_lower(square, solve_upper(square, top, left=False), unit=True)
    below, above = mat.lower(inner, -1), mat.upper(inner)
    factor, upper = _unit(mat.lower(square, -1)), mat.upper(square)
    dl, du = mat.product(factor, below), mat.product(above, upper)
    tangent = add(dl, du)
    if m > k:
        rest = sub(_block(da, k, m, 0, k), mat.product(_block(lu, k, m, 0, k), du))
        rest = solve_upper(square, rest, left=False)
        return concatenate([tangent, rest], aval_of(lu).ndim - 2)
    if n > k:
        rest = sub(_block(da, 0, k, k, n), mat.product(dl, _block(lu, 0, k, k, n)))
        rest = solve_lower(square, rest, unit=True)
        return concatenate([tangent, rest], aval_of(lu).ndim - 1)
    return tangent


def _unit(strict: Any) -> Any:
    """A strict triangle with ones on the diagonal."""
    return add(strict, mat.identity_like(strict))


def _block(x: Any, top: int, bottom: int, left: int, right: int) -> Any:
    ndim = aval_of(x).ndim
    rows = slice_in_dim(x, top, bottom, axis=ndim - 2)
    return slice_in_dim(rows, left, right, axis=ndim - 1)


def rows_taken(x: Any, permutation: Any) -> Any:
    """The rows of matrices in the order of a permutation, batch by batch."""
    from_rows = mat.as_columns(permutation, aval_of(x).shape[-1])
    return take_along(x, from_rows, aval_of(x).ndim - 2)


class PivotsToPermutation(Op):
    """The permutation of `permutation_size` rows that row exchanges amount to."""

    permutation_size: int

    name = "lu_pivots_to_permutation"
    accepts = "i"

    def type(self, pivots: Aval) -> Aval:
        if pivots.shape[-1] > self.permutation_size:
            raise ValueError(
                f"lax.linalg.lu_pivots_to_permutation: {pivots.long_name()} holds more"
                f" exchanges than there are rows, {self.permutation_size}"
            )
        return Aval((*pivots.shape[:-1], self.permutation_size), I32)

    def batch(self, axis: Axis, pivots: Any) -> Any:
        return self(pivots)

    def kernel(self, pivots: Aval) -> tuple[str, dict[str, Any]]:
        return "exchanges", self.params


def lu_pivots_to_permutation(pivots: Operand, permutation_size: int) -> Any:
    """The permutation that row exchanges amount to.

    pivots[..., k]: exchange i is of rows i and pivots[i]. The result[..., n], for n =
    `permutation_size` rows, says which row comes where: (P·A)[i] = A[result[i]].

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2]), 3)
    Array([2, 0, 1], dtype=int32)
    """
    return PivotsToPermutation(permutation_size)(pivots)


def lu(x: Operand) -> tuple[Any, Any, Any]:
    """P·A = L·U with row exchanges: (both factors in one matrix, pivots, permutation).

    x[..., m, n] → lu[..., m, n], pivots[..., min(m, n)], permutation[..., m]. Above and on the
    diagonal lies U, below it L, whose diagonal is 1. Exchange i is of rows i and pivots[i];
    row i of P·A is row permutation[i] of A.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.lu(jnp.array([[1., 2.], [2., 6.]]))
    (Array([[ 2. ,  6. ],
           [ 0.5, -1. ]], dtype=float32), Array([1, 1], dtype=int32), Array([1, 0], dtype=int32))
    """
    return tuple(Lu()(mat.matrix_argument(x, "lax.linalg.lu", square=False)))  # type: ignore[return-value]


# ------------------------------------------------------------------------------- QR


class Qr(Decomposition):
    """A = Q·R with orthonormal columns in Q and an upper triangular R.

    With `pivoting`, A[:, p] = Q·R, where p puts the longest remaining column first.
    `use_magma` chooses a library on a GPU in JAX, and nothing here.
    """

    pivoting: bool = False
    full_matrices: bool = True

    multiple = True
    sets_weak = True
    fixed = {"use_magma": None}

    def type(self, a: Aval) -> tuple[Aval, ...]:
        *batch, m, n = a.shape
        k = m if self.full_matrices else min(m, n)
        outs = (a.update(shape=(*batch, m, k)), a.update(shape=(*batch, k, n)))
        return (*outs, Aval((*batch, n), I32)) if self.pivoting else outs

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        q, r, *order = self(*primals)
        (da,) = tangents
        if da is None:
            return [q, r, *order], [None] * (2 + len(order))
        *_, m, n = aval_of(da).shape
        if m > n and self.full_matrices:
            raise NotImplementedError(
                "the derivative of qr with full_matrices=True does not exist for matrices"
                f" of more rows than columns ({m} × {n}): the additional columns of Q are"
                ' arbitrary. Use mode="reduced".'
            )
        if order:
            da = columns_taken(da, order[0])
        k = min(m, n)
        square = _block(r, 0, k, 0, k)
        dq, dr = _qr_tangents(q, square, _block(da, 0, m, 0, k))
        if n > k:
            # The columns beyond a square: R₂ = Qᴴ A₂.
            rest = add(
                mat.product(mat.adjoint(dq), mat.product(q, _block(r, 0, k, k, n))),
                mat.product(mat.adjoint(q), _block(da, 0, m, k, n)),
            )
            dr = concatenate([dr, rest], aval_of(dr).ndim - 1)
        return [q, r, *order], [dq, dr, *[None] * len(order)]

    def expand(self, a: Any) -> Any:
        aval = aval_of(a)
        *batch, m, n = aval.shape
        k = min(m, n)
        cores = (result((n, m), aval.dtype), result((k,), aval.dtype))
        order: list[Any] = []
        if self.pivoting:
            free = broadcast_in_dim(np.int32(0), (*batch, n), ())
            cores = (*cores, result((n,), I32))  # type: ignore[assignment]
            packed, taus, places = Lapack("geqp3", (), (2, 1), cores)(
                mat.turned(a), free
            )
            order = [sub(places, broadcast_in_dim(np.int32(1), (*batch, n), ()))]
        else:
            packed, taus = Lapack("geqrf", (), (2,), cores)(mat.turned(a))
        packed = mat.turned(packed)
        width = m if self.full_matrices else k
        r = mat.upper(packed)
        if width <= m:
            r = slice_in_dim(r, 0, width, axis=len(batch))
        vectors = slice_in_dim(packed, 0, k, axis=len(batch) + 1)
        if width > k:
            zeros = broadcast_in_dim(aval.dtype.type(0), (*batch, m, width - k), ())
            vectors = concatenate([vectors, zeros], len(batch) + 1)
        return (householder_product(vectors, taus), r, *order)


def _qr_tangents(q: Any, r: Any, da: Any) -> tuple[Any, Any]:
    """The tangents of Q and of a square R."""
    turned = solve_upper(r, da, left=False)  # dA R⁻¹
    inside = mat.product(mat.adjoint(q), turned)  # Qᴴ dA R⁻¹
    below = mat.lower(inside, -1)
    skew = sub(below, mat.adjoint(below))  # Qᴴ dQ
    if mat.is_complex(q):
        # The diagonal of R stays real.
        diagonal = mat.on_diagonal(inside)
        skew = add(skew, sub(diagonal, _as_complex(mat.real(diagonal), diagonal)))
    dr = mat.product(sub(inside, skew), r)
    dq = add(mat.product(q, sub(skew, inside)), turned)
    return dq, dr


def _as_complex(x: Any, like: Any) -> Any:
    return convert_element_type(x, aval_of(like).dtype)


def columns_taken(x: Any, order: Any) -> Any:
    """The columns of matrices in an order, batch by batch."""
    return take_along(x, mat.as_rows(order, aval_of(x).shape[-2]), aval_of(x).ndim - 1)


def qr(
    x: Operand, *, pivoting: bool = False, full_matrices: bool = True
) -> tuple[Any, ...]:
    """A = Q·R with orthonormal columns in Q and an upper triangular R.

    x[..., m, n] → Q[..., m, k], R[..., k, n], with k = m if `full_matrices`, else min(m, n). With
    `pivoting` also p[..., n] such that A[:, p] = Q·R, the longest remaining column first.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> q, r = lax.linalg.qr(jnp.array([[3., 1.], [4., 2.]]))
    >>> jnp.abs(r).round(3)
    Array([[5. , 2.2],
           [0. , 0.4]], dtype=float32)
    """
    x = mat.matrix_argument(x, "lax.linalg.qr", square=False)
    return tuple(Qr(pivoting, full_matrices)(x))


class Geqrf(Decomposition):
    """QR as LAPACK leaves it: h[..., n, m], the transpose of R and the vectors, and τ."""

    multiple = True

    def type(self, a: Aval) -> tuple[Aval, ...]:
        *batch, m, n = a.shape
        return (
            a.update(shape=(*batch, n, m)),
            a.update(shape=(*batch, min(m, n))),
        )

    def expand(self, a: Any) -> Any:
        aval = aval_of(a)
        *_, m, n = aval.shape
        cores = (result((n, m), aval.dtype), result((min(m, n),), aval.dtype))
        return Lapack("geqrf", (), (2,), cores)(mat.turned(a))


class HouseholderProduct(Decomposition):
    """The first columns of a product of reflections I − τ v vᴴ."""

    def type(self, a: Aval, taus: Aval) -> Aval:
        *batch, m, n = a.shape
        if m < n or taus.shape[:-1] != tuple(batch) or taus.shape[-1] > n:
            raise ValueError(
                "lax.linalg.householder_product takes a[..., m, n] with m ≥ n and"
                f" taus[..., k] with k ≤ n, got {a.long_name()} and {taus.long_name()}"
            )
        return a

    def expand(self, a: Any, taus: Any) -> Any:
        aval = aval_of(a)
        *_, m, n = aval.shape
        cores = (result((n, m), aval.dtype),)
        (q,) = Lapack("orgqr", (), (2, 1), cores)(mat.turned(a), taus)
        return mat.turned(q)


def householder_product(a: Operand, taus: Operand) -> Any:
    """The first n columns of H₁·H₂·…·H_k, with the reflections Hᵢ = I − τᵢ vᵢ vᵢᴴ.

    a[..., m, n] holds vᵢ below the diagonal of column i (its first element is 1),
    taus[..., k] the τᵢ. The result is like a. ValueError unless m ≥ n ≥ k.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.householder_product(jnp.ones((2, 1)), jnp.array([1.]))
    Array([[ 0.],
           [-1.]], dtype=float32)
    """
    a = mat.matrix_argument(a, "lax.linalg.householder_product", "a", square=False)
    return HouseholderProduct()(a, taus)


class Ormqr(Decomposition):
    """Q·C, C·Q, or the same with Qᴴ, for the Q of Householder's vectors."""

    left: bool = True
    adjoint: bool = False

    def type(self, a: Aval, taus: Aval, c: Aval) -> Aval:
        rows = c.shape[-2 if self.left else -1]
        if a.shape[-2] != rows or taus.shape[-1] > min(a.shape[-2:]):
            raise ValueError(
                "lax.linalg.ormqr: the vectors a, their factors taus and the matrix c do"
                f" not fit: {a.long_name()}, {taus.long_name()}, {c.long_name()}"
            )
        return c

    def expand(self, a: Any, taus: Any, c: Any) -> Any:
        aval = aval_of(c)
        *_, m, n = aval.shape
        k = aval_of(taus).shape[-1]
        vectors = slice_in_dim(a, 0, k, axis=aval_of(a).ndim - 1)
        form = "N" if not self.adjoint else "C" if aval.kind == "c" else "T"
        options = ("L" if self.left else "R", form)
        cores = (result((n, m), aval.dtype),)
        op = Lapack("ormqr", options, (2, 1, 2), cores)
        (out,) = op(mat.turned(vectors), taus, mat.turned(c))
        return mat.turned(out)


def ormqr(
    a: Operand, taus: Operand, c: Operand, *, left: bool = True, transpose: bool = False
) -> Any:
    """Q·C, or C·Q unless `left`; with Qᴴ if `transpose`: Q itself is not formed.

    a[..., m, k] and taus[..., k] as `householder_product` takes them; Q is m × m.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.ormqr(jnp.ones((2, 1)), jnp.array([1.]), jnp.eye(2))
    Array([[ 0., -1.],
           [-1.,  0.]], dtype=float32)
    """
    name = "lax.linalg.ormqr"
    a = mat.matrix_argument(a, name, "a", square=False)
    c = mat.matrix_argument(c, name, "c", square=False)
    return Ormqr(left, transpose)(a, taus, c)
