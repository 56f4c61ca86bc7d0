"""Eigenvalues, singular values, and the forms on the way to them.

What comes in: values with matrices in their last two axes. What goes out: values and
vectors, batched alike. Derivatives exist where values are distinct; vectors are fixed
only up to a factor, and the tangents given are those that keep LAPACK's choice of it.
Sources: Giles (2008); Wan & Zhang, Automatic differentiation of the complex singular value
decomposition (2019).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.ops import matrices as mat
from tetrad._src.ops.arithmetic import add, div, mul, neg, sub
from tetrad._src.ops.arithmetic import max as maximum
from tetrad._src.ops.compare import bitwise_and, eq, gt, is_finite, lt, select
from tetrad._src.ops.complex import abs as modulus
from tetrad._src.ops.complex import complex as complex_of
from tetrad._src.ops.complex import imag
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.factor import (
    Decomposition,
    Lu,
    rows_taken,
    solve_lower,
    solve_upper,
    symmetric,
)
from tetrad._src.ops.families import Operand
from tetrad._src.ops.gather import take_along
from tetrad._src.ops.lapack import Lapack, result
from tetrad._src.ops.reduce import argmax, reduce_and, reduce_max
from tetrad._src.ops.slices import concatenate, slice_in_dim
from tetrad._src.ops.views import (
    broadcast_in_dim,
    expand_dims,
    full_like,
    reduce_sum,
    squeeze,
    zeros_like,
)

I32 = np.dtype(np.int32)


def real_dtype(aval: Aval) -> Any:
    """The dtype of the parts of complex numbers, and of real numbers itself."""
    return np.zeros((), aval.dtype).real.dtype


def complex_dtype(aval: Aval) -> Any:
    return np.dtype(np.result_type(aval.dtype, np.complex64))


def _reciprocals(differences: Any) -> Any:
    """1/x, and 0 where x is 0."""
    zero = eq(differences, zeros_like(differences))
    safe = select(zero, full_like(differences, 1), differences)
    return select(zero, zeros_like(differences), div(full_like(safe, 1), safe))


def _like(x: Any, other: Any) -> Any:
    """`x` in the dtype of another value."""
    return convert_element_type(x, aval_of(other).dtype)


def _differences(values: Any) -> Any:
    """wⱼ − wᵢ in row i and column j."""
    n = aval_of(values).shape[-1]
    return sub(mat.as_rows(values, n), mat.as_columns(values, n))


# ---------------------------------------------------------------- Hermitian matrices


class Eigh(Decomposition):
    """A = V·diag(w)·Vᴴ of Hermitian matrices, of which one triangle is read.

    Results: V, then w in ascending order. dw = diag(Vᴴ dA V) and dV = V·(F ∘ Vᴴ dA V) with
    F[i, j] = 1/(wⱼ − wᵢ) and zeros on the diagonal.
    """

    lower: bool = True
    sort_eigenvalues: bool = True
    compute_v: bool = True

    multiple = True
    hidden = ("compute_v",)
    fixed = {"algorithm": None, "subset_by_index": None}

    def type(self, a: Aval) -> tuple[Aval, ...]:
        values = Aval(a.shape[:-1], real_dtype(a))
        return (a, values) if self.compute_v else (values,)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        (a,), (da,) = primals, tangents
        if da is None:
            return list(self(a)), [None] * (1 + self.compute_v)
        v, w = Eigh(self.lower, self.sort_eigenvalues, True)(a)
        turned = mat.product(mat.adjoint(v), da, v)
        dw = mat.real(mat.diagonal(turned))
        if not self.compute_v:
            return [w], [dw]
        factors = _like(_reciprocals(_differences(w)), v)
        return [v, w], [mat.product(v, mul(factors, turned)), dw]

    def expand(self, a: Any) -> Any:
        # Row by row a Hermitian matrix is its conjugate; its lower triangle the upper.
        aval = aval_of(a)
        n = aval.shape[-1]
        job = "V" if self.compute_v else "N"
        cores = (result((n, n), aval.dtype), result((n,), real_dtype(aval)))
        options = (job, "U" if self.lower else "L")
        v, w = Lapack("syevd", options, (2,), cores)(a)
        return (mat.adjoint(v), w) if self.compute_v else (w,)


class EighImplementation(enum.Enum):
    """How `eigh` finds eigenvalues: by QR, as LAPACK does; others are not available."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class EigImplementation(enum.Enum):
    """Whose code `eig` calls: LAPACK's; others are for GPUs."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class SvdAlgorithm(enum.Enum):
    """How `svd` works: by divide and conquer, as LAPACK does; others are not available."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_AVAILABLE = (
    EighImplementation.QR,
    EigImplementation.LAPACK,
    SvdAlgorithm.DEFAULT,
    SvdAlgorithm.DIVIDE_AND_CONQUER,
)


def _lapack_only(name: str, argument: str, given: Any) -> None:
    """Refuses other implementations than the one that there is."""
    if given in _AVAILABLE or given in (None, "lapack", "LAPACK", "default", "DEFAULT"):
        return
    hint = (
        " For polar decompositions there is lax.linalg.qdwh." if name == "svd" else ""
    )
    raise NotImplementedError(
        f"lax.linalg.{name}: {argument}={given!r} is not available, there is LAPACK"
        f" alone; leave {argument} out.{hint}"
    )


def eigh(
    x: Operand,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: Any = None,
) -> tuple[Any, Any]:
    """A = V·diag(w)·Vᴴ of Hermitian matrices: (V, w), the values in ascending order.

    x[..., n, n] → V[..., n, n], w[..., n]. `symmetrize_input` takes (A + Aᴴ)/2 first, otherwise
    one triangle is read. `subset_by_index=(start, stop)` gives these values only.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.eigh(jnp.array([[2., 1.], [1., 2.]]))[1]
    Array([1., 3.], dtype=float32)
    """
    _lapack_only("eigh", "implementation", implementation)
    x = mat.matrix_argument(x, "lax.linalg.eigh")
    v, w = Eigh(lower, sort_eigenvalues)(symmetric(x) if symmetrize_input else x)
    if subset_by_index is not None:
        start, stop = subset_by_index
        n = aval_of(x).shape[-1]
        if not 0 <= start < stop <= n:
            raise ValueError(
                f"lax.linalg.eigh: subset_by_index must be (start, stop) with 0 ≤ start <"
                f" stop ≤ {n}, got {subset_by_index}"
            )
        last = aval_of(w).ndim - 1
        v = slice_in_dim(v, start, stop, axis=last + 1)
        w = slice_in_dim(w, start, stop, axis=last)
    return v, w


# ----------------------------------------------------------------- singular values


class Svd(Decomposition):
    """A = U·diag(s)·Vᴴ: s in descending order, then U and Vᴴ if `compute_uv`.

    With `full_matrices` U and V are square. The derivative is that of the reduced form.
    """

    full_matrices: bool = True
    compute_uv: bool = True

    multiple = True
    fixed = {"subset_by_index": None, "algorithm": None}

    def type(self, a: Aval) -> tuple[Aval, ...]:
        *batch, m, n = a.shape
        k = min(m, n)
        s = Aval((*batch, k), real_dtype(a))
        if not self.compute_uv:
            return (s,)
        rows, columns = (m, n) if self.full_matrices else (k, k)
        u = a.update(shape=(*batch, m, rows))
        return s, u, a.update(shape=(*batch, columns, n))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        (a,), (da,) = primals, tangents
        if da is None:
            return list(self(a)), [None] * (3 if self.compute_uv else 1)
        m, n = aval_of(a).shape[-2:]
        if self.compute_uv and self.full_matrices and m != n:
            raise NotImplementedError(
                "the derivative of svd with full_matrices=True does not exist for"
                f" matrices that are not square ({m} × {n}): the additional vectors are"
                " arbitrary. Use full_matrices=False."
            )
        s, u, vh = Svd(False, True)(a)
        turned = mat.product(mat.adjoint(u), da, mat.adjoint(vh))
        ds = mat.real(mat.diagonal(turned))
        if not self.compute_uv:
            return [s], [ds]
        du, dvh = _svd_tangents(s, u, vh, da, turned)
        return [s, u, vh], [ds, du, dvh]

    def expand(self, a: Any) -> Any:
        # Row by row A is its transpose V̄·diag(s)·Uᵀ, whose vectors change places.
        aval = aval_of(a)
        m, n = aval.shape[-2:]
        k = min(m, n)
        values = result((k,), real_dtype(aval))
        if not self.compute_uv:
            return Lapack("gesdd", ("N",), (2,), (values,))(a)
        rows, columns = (m, n) if self.full_matrices else (k, k)
        if not k:  # LAPACK returns at once, and leaves the vectors undefined
            batch = aval.shape[:-2]
            sides = [(m, rows), (columns, n)]
            u, vh = [mat.identity((*batch, *side), aval.dtype) for side in sides]
            empty = np.zeros((), real_dtype(aval))
            return broadcast_in_dim(empty, (*batch, 0), ()), u, vh
        cores = (
            values,
            result((columns, n), aval.dtype),
            result((m, rows), aval.dtype),
        )
        job = "A" if self.full_matrices else "S"
        s, vh, u = Lapack("gesdd", (job,), (2,), cores)(a)
        return s, u, vh


def _svd_tangents(s: Any, u: Any, vh: Any, da: Any, turned: Any) -> tuple[Any, Any]:
    """The tangents of U and Vᴴ; `turned` is Uᴴ dA V."""
    k = aval_of(s).shape[-1]
    m, n = aval_of(da).shape[-2:]
    rows, columns = mat.as_rows(s, k), mat.as_columns(s, k)
    sums, differences = add(rows, columns), sub(rows, columns)
    factors = _like(_reciprocals(mul(sums, differences)), u)  # 1/(sⱼ² − sᵢ²)
    s_rows, s_columns = _like(rows, u), _like(columns, u)
    adjoint = mat.adjoint(turned)
    left = mul(factors, add(mul(turned, s_rows), mul(s_columns, adjoint)))
    right = mul(factors, add(mul(s_columns, turned), mul(adjoint, s_rows)))
    inverse = _reciprocals(s)
    if mat.is_complex(u):
        # The phases: the imaginary part of the diagonal goes to U.
        odd = mat.scaled(mat.on_diagonal(sub(turned, adjoint)), 0.5)
        left = add(left, mul(odd, _like(mat.as_rows(inverse, k), u)))
    du = mat.product(u, left)
    dv = mat.product(mat.adjoint(vh), right)
    if m > k:
        outside = mat.product(da, mat.adjoint(vh))
        outside = sub(outside, mat.product(u, mat.product(mat.adjoint(u), outside)))
        du = add(du, mul(outside, _like(mat.as_rows(inverse, m), u)))
    if n > k:
        outside = mat.product(mat.adjoint(da), u)
        inside = mat.product(mat.adjoint(vh), mat.product(vh, outside))
        outside = sub(outside, inside)
        dv = add(dv, mul(outside, _like(mat.as_rows(inverse, n), u)))
    return du, mat.adjoint(dv)


def svd(
    x: Operand,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: Any = None,
) -> Any:
    """A = U·diag(s)·Vᴴ: (U, s, Vᴴ), or s alone unless `compute_uv`.

    x[..., m, n] → U[..., m, k], s[..., min(m, n)] in descending order, Vᴴ[..., k', n]; k = m and
    k' = n if `full_matrices`, else both min(m, n).

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.svd(jnp.array([[3., 0.], [0., -4.]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    _lapack_only("svd", "algorithm", algorithm)
    x = mat.matrix_argument(x, "lax.linalg.svd", square=False)
    full = full_matrices and compute_uv
    if subset_by_index is not None and full:
        raise ValueError(
            "lax.linalg.svd: subset_by_index goes with full_matrices=False only"
        )
    found = Svd(full, compute_uv)(x)
    s = found[0]
    if subset_by_index is not None:
        start, stop = subset_by_index
        last = aval_of(s).ndim - 1
        s = slice_in_dim(s, start, stop, axis=last)
    if not compute_uv:
        return s
    _, u, vh = found
    if subset_by_index is not None:
        u = slice_in_dim(u, start, stop, axis=last + 1)
        vh = slice_in_dim(vh, start, stop, axis=last)
    return u, s, vh


# ------------------------------------------------------------------- any square matrix


class Eig(Decomposition):
    """A·V = V·diag(w) of any square matrices: w, then left, then right vectors.

    Left vectors obey Wᴴ·A = diag(w)·Wᴴ. Vectors have length 1, and their largest element
    is real. Where a matrix has infinities or NaN all results are NaN.
    """

    compute_left_eigenvectors: bool = True
    compute_right_eigenvectors: bool = True

    multiple = True
    fixed = {"implementation": None}

    def type(self, a: Aval) -> tuple[Aval, ...]:
        dtype = complex_dtype(a)
        sides = self.compute_left_eigenvectors + self.compute_right_eigenvectors
        return (Aval(a.shape[:-1], dtype), *[Aval(a.shape, dtype)] * sides)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        (a,), (da,) = primals, tangents
        if da is None:
            outs = self(a)
            return list(outs), [None] * len(outs)
        outs = self(a)
        w, *vectors = outs
        sides: list[Any] = []  # (values, vectors, tangent) of a matrix
        if self.compute_left_eigenvectors:
            sides.append((mat.conjugate(w), vectors.pop(0), mat.adjoint(da)))
        if self.compute_right_eigenvectors:
            sides.append((w, vectors.pop(0), da))
        if not sides:
            sides.append((w, Eig(False, True)(a)[1], da))
        dw: Any = None
        tangents = []
        for values, v, change in sides:
            turned = solve(v, mat.product(_like(change, v), v))
            dw = mat.diagonal(turned)  # of the right side, which comes last
            dv = mat.product(v, mul(_reciprocals(_differences(values)), turned))
            tangents.append(_normalised_tangent(v, dv))
        if not self.compute_right_eigenvectors and self.compute_left_eigenvectors:
            dw = mat.conjugate(dw)
        return list(outs), [dw, *tangents[: len(outs) - 1]]

    def expand(self, a: Any) -> Any:
        aval = aval_of(a)
        n = aval.shape[-1]
        sides = (self.compute_left_eigenvectors, self.compute_right_eigenvectors)
        parts = 1 if aval.kind == "c" else 2
        values = [result((n,), aval.dtype)] * parts
        vectors = [result((n, n), aval.dtype)] * sum(sides)
        options = tuple(["V" if side else "N" for side in sides])
        op = Lapack("geev", options, (2,), (*values, *vectors))
        found = op(mat.turned(a))
        if parts == 1:
            w, *packed = found
            return (w, *map(mat.turned, packed))
        re, im, *packed = found
        return (complex_of(re, im), *[mat.turned(_unpacked(x, im)) for x in packed])


def _unpacked(packed: Any, im: Any) -> Any:
    """Complex vectors from the pairs of real ones that real routines give, as rows.

    A vector whose value has im > 0 has the next one as its imaginary part, and the next
    one is its conjugate.
    """
    shape = aval_of(packed).shape
    rows = len(shape) - 2
    n = shape[-1]
    if n < 2:  # nothing is paired
        return complex_of(packed, zeros_like(packed))
    first = slice_in_dim(packed, 0, 1, axis=rows)
    following = concatenate([slice_in_dim(packed, 1, n, axis=rows), first], rows)
    before = concatenate([first, slice_in_dim(packed, 0, n - 1, axis=rows)], rows)
    sign = mat.as_columns(im, n)
    up, down = gt(sign, zeros_like(sign)), lt(sign, zeros_like(sign))
    re = select(down, before, packed)
    part = select(up, following, select(down, neg(packed), zeros_like(packed)))
    return complex_of(re, part)


def _normalised_tangent(v: Any, dv: Any) -> Any:
    """The part of dV that keeps the length of vectors, and their largest element real."""
    rows = aval_of(v).ndim - 2
    n = aval_of(v).shape[-1]
    along = mat.real(reduce_sum(mul(mat.conjugate(v), dv), (rows,)))
    dv = sub(dv, mul(v, _like(mat.as_rows(along, n), v)))
    largest = expand_dims(argmax(modulus(v), rows, I32), (rows,))
    anchor = squeeze(take_along(v, largest, rows), (rows,))
    moved = squeeze(take_along(dv, largest, rows), (rows,))
    turn = imag(div(moved, anchor))
    phase = complex_of(zeros_like(turn), turn)
    return sub(dv, mul(v, mat.as_rows(phase, n)))


def solve(a: Any, b: Any) -> Any:
    """A⁻¹·B by LU, without more ado."""
    from_lu = Lu()(a)
    rows = rows_taken(b, from_lu[2])
    return solve_upper(from_lu[0], solve_lower(from_lu[0], rows, unit=True))


def eig(
    x: Operand,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = True,
    implementation: Any = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """Eigenvalues and vectors of any square matrices: [w, left vectors, right vectors].

    x[..., n, n] → complex w[..., n] and vectors[..., n, n] as columns: A·V = V·diag(w) and
    Wᴴ·A = diag(w)·Wᴴ. Vectors have length 1 and a real largest element. Derivatives of
    vectors exist unless values coincide, whatever `enable_eigvec_derivs`.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> w, v = lax.linalg.eig(jnp.array([[0., 1.], [-1., 0.]]), compute_left_eigenvectors=False)
    >>> w
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    _lapack_only("eig", "implementation", implementation)
    if use_magma:
        raise NotImplementedError("lax.linalg.eig: use_magma must be None or False")
    x = mat.matrix_argument(x, "lax.linalg.eig")
    return list(Eig(compute_left_eigenvectors, compute_right_eigenvectors)(x))


class Schur(Decomposition):
    """A = V·T·Vᴴ with unitary V and T upper triangular (real matrices: in blocks)."""

    compute_schur_vectors: bool = True
    sort_eig_vals: bool = False

    multiple = True

    def type(self, a: Aval) -> tuple[Aval, ...]:
        return (a, a) if self.compute_schur_vectors else (a,)

    def expand(self, a: Any) -> Any:
        aval = aval_of(a)
        core = result(aval.shape[-2:], aval.dtype)
        t, v = Lapack("gees", (), (2,), (core, core))(mat.turned(a))
        outs = (mat.turned(t), mat.turned(v))
        return outs if self.compute_schur_vectors else outs[:1]


def schur(
    x: Operand,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> tuple[Any, ...]:
    """A = V·T·Vᴴ with unitary V: (T, V), or (T,) unless `compute_schur_vectors`.

    x[..., n, n]. T is upper triangular for complex matrices; for real ones it has 2 × 2
    blocks on its diagonal for pairs of complex eigenvalues.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.schur(jnp.array([[2., 1.], [0., 3.]]))[0]
    Array([[2., 1.],
           [0., 3.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(
            "lax.linalg.schur does not sort the eigenvalues; use scipy.linalg.schur(…,"
            " sort=…) on NumPy arrays"
        )
    x = mat.matrix_argument(x, "lax.linalg.schur")
    return tuple(Schur(compute_schur_vectors)(x))


class Hessenberg(Decomposition):
    """A = Q·H·Qᴴ, with H zero below its first subdiagonal.

    Results: H, below which lie Householder's vectors, and their factors.
    """

    multiple = True

    def type(self, a: Aval) -> tuple[Aval, Aval]:
        *batch, n, _ = a.shape
        return a, a.update(shape=(*batch, max(n - 1, 0)))

    def expand(self, a: Any) -> Any:
        aval = aval_of(a)
        n = aval.shape[-1]
        cores = (result((n, n), aval.dtype), result((max(n - 1, 0),), aval.dtype))
        h, taus = Lapack("gehrd", (), (2,), cores)(mat.turned(a))
        return mat.turned(h), taus


def hessenberg(a: Operand) -> tuple[Any, Any]:
    """A = Q·H·Qᴴ with H zero below its first subdiagonal: (H and vectors, factors).

    a[..., n, n]: Householder's vectors lie below the first subdiagonal; their
    factors[..., n-1] go to `householder_product`.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.hessenberg(jnp.eye(2))[0]
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return tuple(Hessenberg()(mat.matrix_argument(a, "lax.linalg.hessenberg", "a")))  # type: ignore[return-value]


class Tridiagonal(Decomposition):
    """A = Q·T·Qᴴ of Hermitian matrices with a real tridiagonal T.

    Results: the matrix with Householder's vectors, the diagonal and the side diagonal of
    T, and the factors of the vectors.
    """

    lower: bool = True

    multiple = True

    def type(self, a: Aval) -> tuple[Aval, ...]:
        *batch, n, _ = a.shape
        real = real_dtype(a)
        side = (*batch, max(n - 1, 0))
        return a, Aval((*batch, n), real), Aval(side, real), a.update(shape=side)

    def expand(self, a: Any) -> Any:
        aval = aval_of(a)
        n = aval.shape[-1]
        side = (max(n - 1, 0),)
        real = real_dtype(aval)
        cores = (
            result((n, n), aval.dtype),
            result((n,), real),
            result(side, real),
            result(side, aval.dtype),
        )
        op = Lapack("sytrd", ("L" if self.lower else "U",), (2,), cores)
        packed, d, e, taus = op(mat.turned(a))
        return mat.turned(packed), d, e, taus


def tridiagonal(a: Operand, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """A = Q·T·Qᴴ of Hermitian matrices: (matrix with vectors, diagonal, side, factors).

    a[..., n, n], of which one triangle is read; T is real and tridiagonal.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> lax.linalg.tridiagonal(jnp.array([[1., 2.], [2., 3.]]))[1]
    Array([1., 3.], dtype=float32)
    """
    a = mat.matrix_argument(a, "lax.linalg.tridiagonal", "a")
    return tuple(Tridiagonal(lower)(a))  # type: ignore[return-value]


class TridiagonalSolve(Decomposition):
    """Solves systems with the diagonals dl, d, du: dl[0] and du[-1] count for nothing."""

    linear = ((3,),)

    def type(self, dl: Aval, d: Aval, du: Aval, b: Aval) -> Aval:
        if not dl.shape == d.shape == du.shape == b.shape[:-1]:
            raise ValueError(
                "lax.linalg.tridiagonal_solve takes dl, d, du of one shape (…, n) and b of"
                f" shape (…, n, m), got {dl.shape}, {d.shape}, {du.shape} and {b.shape}"
            )
        return b

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        *diagonals, b = primals
        *moving, db = tangents
        x = self(*primals)
        if any(tangent is not None for tangent in moving):
            shift = _tridiagonal_product(moving, x)
            db = neg(shift) if db is None else sub(db, shift)
        return x, None if db is None else self(*diagonals, db)

    def transpose(self, ct: Any, dl: Any, d: Any, du: Any, b: Any) -> tuple[Any, ...]:
        last = aval_of(d).ndim - 1
        below = _shifted(du, 1, last)
        above = _shifted(dl, -1, last)
        return None, None, None, self(below, d, above, ct)

    def expand(self, dl: Any, d: Any, du: Any, b: Any) -> Any:
        aval = aval_of(b)
        n, m = aval.shape[-2:]
        last = aval_of(d).ndim - 1
        below = _shifted(dl, -1, last)
        core = result((m, n), aval.dtype)
        op = Lapack("gtsv", (), (1, 1, 1, 2), (core,))
        (x,) = op(below, d, du, mat.turned(b))
        return mat.turned(x)


def _shifted(x: Any, by: int, axis: int) -> Any:
    """`x` moved by one place along an axis, with zero where nothing comes."""
    n = aval_of(x).shape[axis]
    zero = zeros_like(slice_in_dim(x, 0, 1, axis=axis))
    if by > 0:
        return concatenate([zero, slice_in_dim(x, 0, n - 1, axis=axis)], axis)
    return concatenate([slice_in_dim(x, 1, n, axis=axis), zero], axis)


def _tridiagonal_product(diagonals: Sequence[Any], x: Any) -> Any:
    """The matrix of three diagonals, of which some are zero (None), times X."""
    lower, main, upper = diagonals
    rows = aval_of(x).ndim - 2
    columns = aval_of(x).shape[-1]
    total = None
    for diagonal, moved in (
        (lower, _shifted(x, 1, rows)),
        (main, x),
        (upper, _shifted(x, -1, rows)),
    ):
        if diagonal is not None:
            term = mul(mat.as_columns(diagonal, columns), moved)
            total = term if total is None else add(total, term)
    return total


def tridiagonal_solve(
    dl: Operand,
    d: Operand,
    du: Operand,
    b: Operand,
    *,
    perturb_singular: bool = False,
) -> Any:
    """The X with T·X = B, for the tridiagonal T with the diagonals dl, d and du.

    dl, d, du[..., n], b[..., n, m]: row i of T is dl[i], d[i], du[i]; dl[0] and du[n-1] lie
    outside and count for nothing. Where T is singular the X is not finite; with
    `perturb_singular` it is that of T + ε‖T‖·1 there, large but finite. ValueError if shapes
    differ.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> ones = jnp.ones(3)
    >>> lax.linalg.tridiagonal_solve(ones, 2 * ones, ones, jnp.array([[3.], [4.], [3.]]))
    Array([[1.],
           [1.],
           [1.]], dtype=float32)
    """
    name = "lax.linalg.tridiagonal_solve"
    b = mat.matrix_argument(b, name, "b", square=False)
    dtype = aval_of(b).dtype
    for argument, x in (("dl", dl), ("d", d), ("du", du)):
        mat.check_precision(aval_of(x), name, argument)
        if aval_of(x).dtype != dtype:
            raise TypeError(
                f"{name}: {argument} must have the dtype of b, {dtype.name}, got"
                f" {aval_of(x).long_name()}"
            )
    x = TridiagonalSolve()(dl, d, du, b)
    return _perturbed(dl, d, du, b, x) if perturb_singular else x


def _perturbed(dl: Any, d: Any, du: Any, b: Any, x: Any) -> Any:
    """X where it is finite, elsewhere that of a matrix nearby."""
    aval = aval_of(x)
    rows = aval.ndim - 2
    parts = [x] if aval.kind != "c" else [mat.real(x), imag(x)]
    fine = reduce_and(is_finite(parts[0]), (rows, rows + 1))
    for part in parts[1:]:
        fine = bitwise_and(fine, reduce_and(is_finite(part), (rows, rows + 1)))
    size: Any = None
    for diagonal in (dl, d, du):
        largest = reduce_max(modulus(diagonal), (rows,))
        size = largest if size is None else maximum(size, largest)
    limits = np.finfo(aval_of(size).dtype)
    small = maximum(
        mul(size, full_like(size, limits.eps)), full_like(size, limits.tiny)
    )
    n = aval_of(d).shape[-1]
    near = TridiagonalSolve()(dl, add(d, _like(mat.as_columns(small, n), d)), du, b)
    places = tuple(range(rows))
    return select(broadcast_in_dim(fine, aval.shape, places), x, near)
