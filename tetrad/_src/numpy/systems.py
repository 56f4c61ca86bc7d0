"""Linear systems, determinants and inverses in NumPy's words.

A system is solved by LU with row exchanges. Its derivative reuses the factors: it goes
through `custom_linear_solve`, not through the factorisation.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tetrad._src.control.compiled import compiled
from tetrad._src.control.custom import custom_jvp
from tetrad._src.control.implicit import custom_linear_solve
from tetrad._src.core.bind import Value
from tetrad._src.numpy import contract, create, determinants, lax, reduce, shape
from tetrad._src.numpy.axes import axes_argument
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.decompositions import adjoint, matrices, svd
from tetrad._src.numpy.determinants import lu_solved as lu_solved
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import call, common_leading, promote_floats
from tetrad._src.util import dtypes


class SlogdetResult(NamedTuple):
    sign: Value
    logabsdet: Value


@planned_whole
def solve(a: Any, b: Any) -> Value:
    """The X with A·X = B, by LU with row exchanges.

    a[..., n, n], b[..., n, m] → X like b; a `b` with one axis is one vector for all matrices.
    Leading axes broadcast. Where A is singular the result holds infinities or NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.solve(jnp.array([[2., 0.], [0., 4.]]), jnp.array([2., 8.]))
    Array([1., 2.], dtype=float32)
    """
    name = "jnp.linalg.solve"
    x: Any
    y: Any
    x, y = promote_floats(name, value(a, name, "a"), value(b, name, "b"))
    x, y = matrices(name, "a", x), value(y, name, "b")
    vector = y.ndim == 1
    if vector:
        y = y[:, None]
    if y.ndim < 2 or y.shape[-2] != x.shape[-1]:
        raise ValueError(
            f"{call(name)}: b must have shape (n,) or (…, n, m) with n = {x.shape[-1]} as a"
            f" has, got a: {describe(x)}, b: {describe(value(b, name))}"
        )
    batch = common_leading(name, (x, y), (x.shape[:-2], y.shape[:-2]))
    x = shape.broadcast_to(x, batch + x.shape[-2:])
    y = shape.broadcast_to(y, batch + y.shape[-2:])
    result = linear_solution(x, y)
    return lax.squeeze(result, (result.ndim - 1,)) if vector else result


def solved(x: Any, y: Any) -> Any:
    """A⁻¹·B for matrices with the same leading axes."""
    factors = lax.lu(lax.stop_gradient(x))

    def forwards(_: Any, b: Any) -> Any:
        return lu_solved(factors[0], factors[2], b, 0)

    def backwards(_: Any, b: Any) -> Any:
        return lu_solved(factors[0], factors[2], b, 1)

    def multiply(b: Any) -> Any:
        return contract.matmul(x, b, precision="highest")

    return custom_linear_solve(multiply, y, forwards, backwards)


linear_solution = compiled(solved)


@compiled
def inverse(x: Any) -> Any:
    eye = create.eye(x.shape[-1], dtype=x.dtype)
    return solved(x, shape.broadcast_to(eye, x.shape))


@planned_whole
def inv(a: Any) -> Value:
    """The inverse A⁻¹ of square matrices; to solve a system, `solve` is better.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.inv(jnp.array([[2., 0.], [0., 4.]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return inverse(matrices("jnp.linalg.inv", "a", a))


# ----------------------------------------------------------------------- determinants


@custom_jvp
def _slogdet(x: Any) -> tuple[Any, Any]:
    return _slogdet_of(*lax.lu(x)[:2])


def _slogdet_of(lu: Any, pivots: Any) -> tuple[Any, Any]:
    diagonal = create.diagonal(lu, 0, -2, -1)
    flip = (1 - 2 * determinants.parity(pivots)).astype(diagonal.dtype)
    size = lax.abs(diagonal)
    sign = flip * reduce.prod(lax.sign(diagonal), -1)
    return sign, reduce.sum(lax.log(size), -1)


@_slogdet.defjvp
def _slogdet_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    lu, pivots, permutation = lax.lu(x)
    sign, logdet = _slogdet_of(lu, pivots)
    rate = contract.trace(lu_solved(lu, permutation, dx, 0), 0, -2, -1)
    if x.aval.kind != "c":
        return (sign, logdet), (lax.zeros_like(sign), rate)
    sign, logdet = _slogdet(x)  # whose phase can be differentiated again
    turn = lax.imag(rate)
    turned = sign * lax.complex(lax.zeros_like(turn), turn)
    return (sign, logdet), (turned, lax.real(rate))


@planned_whole
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The sign (or phase) and log|det A| of square matrices: det A = sign·exp(logabsdet).

    a[..., n, n] → sign[...], logabsdet[...]; a singular A gives 0 and −inf. `method` is
    "lu" (the default) or "qr": how A is factored.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.slogdet(jnp.array([[0., 1.], [1., 0.]])).sign
    Array(-1., dtype=float32)
    """
    name = "jnp.linalg.slogdet"
    if method not in (None, "lu", "qr"):
        raise ValueError(f'{call(name)}: method must be "lu" or "qr", got {method!r}')
    if method == "qr":
        return SlogdetResult(*_slogdet_by_qr(matrices(name, "a", a)))
    return SlogdetResult(*_slogdet(matrices(name, "a", a)))


def _slogdet_by_qr(x: Any) -> tuple[Any, Any]:
    """As `_slogdet`, from Q·R: det Q has size 1, and that of R is on its diagonal."""
    q, r = lax.qr(x, full_matrices=False)
    diagonal = create.diagonal(r, 0, -2, -1)
    sign, _ = _slogdet(lax.stop_gradient(q))
    if x.aval.kind == "c":
        sign = _slogdet(q)[0]
    sign = sign * reduce.prod(lax.sign(diagonal), -1)
    return sign, reduce.sum(lax.log(lax.abs(diagonal)), -1)


@planned_whole
def det(a: Any) -> Value:
    """The determinant of square matrices, by LU.

    a[..., n, n] → [...]. The first three derivatives exist for singular matrices too; for
    matrices of up to 3 rows all.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.det(jnp.array([[1., 2.], [3., 4.]])).round(4)
    Array(-2., dtype=float32)
    """
    x = matrices("jnp.linalg.det", "a", a)
    if x.shape[-1] == 2:
        (p, q), (r, s) = _entries(x)
        return p * s - q * r
    if x.shape[-1] == 3:
        (p, q, r), (s, t, u), (v, w, y) = _entries(x)
        return p * (t * y - u * w) - q * (s * y - u * v) + r * (s * w - t * v)
    return determinant(x)


@compiled
def determinant(x: Any) -> Any:
    return determinants.det(x)


def _entries(x: Any) -> list[list[Any]]:
    n = x.shape[-1]
    return [[x[..., i, j] for j in range(n)] for i in range(n)]


# --------------------------------------------------------------------- least squares


@planned_whole
def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Value, Value, Value, Value]:
    """The X of least length that minimises ‖A·X − B‖²: (X, residuals, rank, singular values).

    a[m, n], b[m] or b[m, k] → X[n] or X[n, k]. Singular values below rcond·(the largest)
    count as 0; `rcond` is ε·max(m, n) unless given. Residuals are those of each column of B;
    with `numpy_resid` none unless A has full rank and more rows than columns.

    >>> import tetrad.numpy as jnp
    >>> a = jnp.array([[1., 0.], [1., 1.], [1., 2.]])
    >>> x, _, rank, _ = jnp.linalg.lstsq(a, jnp.array([1., 3., 5.]))
    >>> x.round(4), rank
    (Array([1., 2.], dtype=float32), Array(2, dtype=int32))
    """
    name = "jnp.linalg.lstsq"
    y: Any
    x, y = promote_floats(name, value(a, name, "a"), value(b, name, "b"))
    x, y = matrices(name, "a", x, square=False), value(y, name, "b")
    if x.ndim != 2 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ValueError(
            f"{call(name)}: a must be one matrix (m, n) and b (m,) or (m, k), got"
            f" {describe(x)} and {describe(y)}"
        )
    vector = y.ndim == 1
    if vector:
        y = y[:, None]
    m, n = x.shape
    u, s, vh = svd(x, full_matrices=False)
    limit = max(m, n) * dtypes.finfo(s.dtype).eps if rcond is None else rcond
    if rcond is not None and rcond < 0:
        limit = dtypes.finfo(s.dtype).eps
    rank: Any
    largest: Any = reduce.max(s, initial=0)
    kept = s > limit * largest
    inverse = lax.select(kept, 1 / s, lax.zeros_like(s)).astype(x.dtype)
    rank = reduce.sum(kept)
    solution: Any = contract.matmul(
        adjoint(vh),
        inverse[:, None] * contract.matmul(adjoint(u), y, precision="highest"),
        precision="highest",
    )
    rest: Any = y - contract.matmul(x, solution, precision="highest")
    residuals: Any = reduce.sum(
        lax.real(rest * lax.conj(rest)) if x.aval.kind == "c" else rest**2, 0
    )
    # How many residuals NumPy gives depends on the rank, so it must be known.
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = residuals[:0]
    return (solution[:, 0] if vector else solution), residuals, rank, s


def tensorinv(a: Any, ind: int = 2) -> Value:
    """The inverse of `tensordot(a, ·, ind)`: the first `ind` axes of `a` against the rest.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(2, 2, 4)).shape
    (4, 2, 2)
    """
    name = "jnp.linalg.tensorinv"
    x = value(a, name, "a")
    if ind <= 0:
        raise ValueError(f"{call(name)}: ind must be positive, got {ind}")
    rows, columns = x.shape[:ind], x.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ValueError(
            f"{call(name)}: the extents before and after axis {ind} must have the same"
            f" product, got {describe(x)}"
        )
    inverse = inv(shape.reshape(x, (math.prod(rows), -1)))
    return shape.reshape(inverse, (*columns, *rows))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Value:
    """The x with tensordot(a, x, x.ndim) = b; `axes` of `a` are moved to its end first.

    >>> import tetrad.numpy as jnp
    >>> a = jnp.eye(4).reshape(2, 2, 2, 2)
    >>> jnp.linalg.tensorsolve(a, jnp.array([[1., 2.], [3., 4.]]))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    name = "jnp.linalg.tensorsolve"
    x, y = value(a, name, "a"), value(b, name, "b")
    if axes is not None:
        moved = axes_argument(axes, x.ndim, name)
        order = [i for i in range(x.ndim) if i not in moved] + list(moved)
        x = shape.transpose(x, order)
    wanted = x.shape[y.ndim :]
    if x.shape[: y.ndim] != y.shape or math.prod(wanted) != y.size:
        raise ValueError(
            f"{call(name)}: a must begin with the shape of b, and its other extents must"
            f" have the same product, got {describe(x)} and {describe(y)}"
        )
    flat = solve(shape.reshape(x, (y.size, y.size)), shape.ravel(y))
    return shape.reshape(flat, wanted)
