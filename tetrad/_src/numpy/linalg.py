"""Norms, powers and conditions of matrices, and products under other names."""

from __future__ import annotations

import math
from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.numpy import contract, create, lax, reduce, shape
from tetrad._src.numpy.axes import axes_argument, static_int
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.decompositions import matrices, svdvals
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import call, promote_floats
from tetrad._src.numpy.systems import inv


@planned_whole
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    """The norm of vectors along one axis, or of matrices along two.

    Vectors: (Σ |x|^p)^(1/p) for ord=p, the largest (smallest) |x| for ±inf, the number
    of elements that are not 0 for 0. Matrices: "fro" (the default) √Σ |x|², 1 and inf
    the largest column and row sum (-1 and -inf the smallest). Without `axis`, of all
    elements (`ord=None`), or as x has one or two axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.norm(jnp.array([3., 4.]))
    Array(5., dtype=float32)
    """
    name = "jnp.linalg.norm"
    v = value(promote_floats(name, value(x, name, "x"))[0], name)
    if axis is None:
        if ord is None:
            total = _sum_of_squares(v, tuple(range(v.ndim)), keepdims)
            return lax.sqrt(total)
        if v.ndim not in (1, 2):
            raise ValueError(
                f"{call(name)}: with ord, x must have 1 or 2 axes, got {describe(v)}; or"
                " name them: axis=…"
            )
    axes = axes_argument(axis, v.ndim, name)
    if len(axes) == 1:
        return _vector_norm(v, ord, axes, keepdims, name)
    if len(axes) == 2:
        return _matrix_norm(v, ord, axes, keepdims, name)
    raise ValueError(f"{name}: axis must name one axis or two, got {axis}")


def _sum_of_squares(x: Value, axes: tuple[int, ...], keepdims: bool) -> Any:
    if x.aval.kind == "c":
        squares = lax.real(lax.mul(x, lax.conj(x)))
    else:
        squares = lax.square(x)
    return reduce.sum(squares, axes, keepdims=keepdims)


def _vector_norm(
    x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool, name: str
) -> Any:
    if ord is None or ord == 2:
        return lax.sqrt(_sum_of_squares(x, axes, keepdims))
    size = lax.abs(x)
    if isinstance(ord, str):
        raise ValueError(
            f"{name}: Invalid order {ord!r} for vector norm. It is a number, ±jnp.inf or"
            " None"
        )
    if ord == math.inf:
        return _largest(size, axes, keepdims)
    if ord == -math.inf:
        return reduce.min(size, axes, keepdims=keepdims)
    if ord == 0:
        nonzero = lax.convert_element_type(lax.ne(x, number(x, 0)), size.dtype)
        return reduce.sum(nonzero, axes, keepdims=keepdims)
    if ord == 1:
        return reduce.sum(size, axes, keepdims=keepdims)
    total = reduce.sum(size**ord, axes, keepdims=keepdims)
    return total ** (1.0 / ord)  # type: ignore[operator]


def _largest(sizes: Any, axes: Any, keepdims: bool) -> Any:
    """The largest of numbers that are not negative; 0 of none."""
    initial = None if sizes.size else 0
    return reduce.max(sizes, axes, keepdims=keepdims, initial=initial)


def _matrix_norm(
    x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool, name: str
) -> Any:
    if ord in (None, "fro"):
        return lax.sqrt(_sum_of_squares(x, axes, keepdims))
    if ord in (1, -1, math.inf, -math.inf):
        rows, columns = axes
        first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = reduce.sum(lax.abs(x), first, keepdims=True)
        if ord > 0:
            result = _largest(sums, second, True)
        else:
            result = reduce.min(sums, second, keepdims=True)
        return result if keepdims else lax.squeeze(result, axes)
    if ord in (2, -2, "nuc"):
        rows, columns = axes
        moved = shape.moveaxis(x, (rows, columns), (-2, -1))
        s = svdvals(moved)
        if ord == 2:
            result = _largest(s, -1, False)
        else:
            result = reduce.sum(s, -1) if ord == "nuc" else reduce.min(s, -1)
        return lax.expand_dims(result, sorted(axes)) if keepdims else result
    raise ValueError(
        f"{name}: Invalid order {ord!r} for matrix norm. It is 1, -1, 2, -2, ±jnp.inf,"
        ' "fro", "nuc" or None'
    )


@planned_whole
def vector_norm(
    x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Value:
    """The norm (Σ |x|^ord)^(1/ord) of vectors along `axis` (None: of all elements).

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.vector_norm(jnp.array([3., 4.]))
    Array(5., dtype=float32)
    """
    name = "jnp.linalg.vector_norm"
    v = value(promote_floats(name, value(x, name, "x"))[0], name)
    axes = axes_argument(axis, v.ndim, name)
    return _vector_norm(v, ord, axes, keepdims, name)


@planned_whole
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Value:
    """The norm of matrices along the last two axes: see `norm`.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.matrix_norm(jnp.array([[3., 4.]]))
    Array(5., dtype=float32)
    """
    return norm(x, ord, (-2, -1), keepdims)


@planned_whole
def matrix_power(a: Any, n: int) -> Value:
    """The n-th power of square matrices by repeated squaring; for n < 0 of the inverse.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 3)
    Array([[1, 3],
           [0, 1]], dtype=int32)
    """
    name = "jnp.linalg.matrix_power"
    x = value(a, name, "a")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise TypeError(f"{call(name)}: needs square matrices, got {describe(x)}")
    count = static_int(n, name, "n")
    if count < 0:
        x, count = inv(x), -count
    if count == 0:
        return shape.broadcast_to(create.eye(x.shape[-1], dtype=x.dtype), x.shape)
    if count == 3:  # the order in which NumPy multiplies
        return contract.matmul(contract.matmul(x, x), x)
    result: Any = None
    while count:
        if count & 1:
            result = x if result is None else contract.matmul(result, x)
        count >>= 1
        if count:
            x = contract.matmul(x, x)
    return result


@planned_whole
def cond(x: Any, p: Any = None) -> Value:
    """The condition number of matrices: ‖A‖ₚ·‖A⁻¹‖ₚ; for p = None the ratio of singular values.

    `p` is None, 2, -2, or what `norm` takes as `ord` of matrices.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.cond(jnp.array([[4., 0.], [0., 2.]]))
    Array(2., dtype=float32)
    """
    v = matrices("jnp.linalg.cond", "x", x, square=p not in (None, 2, -2))
    if 0 in v.shape[-2:]:
        raise ValueError(f"jnp.linalg.cond: {describe(v)} has no elements to compare")
    if p in (None, 2, -2):
        s = lax.svd(v, compute_uv=False)
        ratio = s[..., 0] / s[..., -1]
        return 1 / ratio if p == -2 else ratio
    size: Any = norm(v, p, (-2, -1))
    return size * norm(inv(v), p, (-2, -1))


@planned_whole
def multi_dot(arrays: Any, *, precision: Any = None) -> Value:
    """The product of several matrices, multiplied in the cheapest order.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 1)), jnp.ones((1, 2))]).shape
    (2, 2)
    """
    name = "jnp.linalg.multi_dot"
    xs = [value(x, name) for x in arrays]
    if len(xs) < 2:
        raise ValueError(f"{name}: needs at least two arrays, got {len(xs)}")
    extents = [x.shape[0] if x.ndim == 2 else 1 for x in xs[:1]]
    extents += [x.shape[0] for x in xs[1:]] + [
        xs[-1].shape[1] if xs[-1].ndim == 2 else 1
    ]
    return _chain(xs, _cheapest(tuple(extents)), 0, len(xs) - 1, precision)


def _cheapest(p: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """Where to split the product of matrices i … j, p[i] × p[i + 1] each."""
    n = len(p) - 1
    cost = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + p[i] * p[k + 1] * p[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(options)
    return split


def _chain(
    xs: list[Value], split: dict[tuple[int, int], int], i: int, j: int, precision: Any
) -> Any:
    if i == j:
        return xs[i]
    k = split[i, j]
    left = _chain(xs, split, i, k, precision)
    right = _chain(xs, split, k + 1, j, precision)
    return contract.matmul(left, right, precision=precision)


def diagonal(x: Any, /, *, offset: int = 0) -> Value:
    """The diagonal of matrices along the last two axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.diagonal(jnp.eye(2))
    Array([1., 1.], dtype=float32)
    """
    return create.diagonal(value(x, "jnp.linalg.diagonal"), offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Value:
    """The sum of the diagonal of matrices along the last two axes.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.trace(jnp.eye(3))
    Array(3., dtype=float32)
    """
    return contract.trace(x, offset, -2, -1, dtype)


def outer(x1: Any, x2: Any, /) -> Value:
    """The matrix x1[i] x2[j] of two vectors.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    x, y = value(x1, "jnp.linalg.outer"), value(x2, "jnp.linalg.outer")
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            f"jnp.linalg.outer takes vectors, got {describe(x)} and {describe(y)}"
        )
    return contract.outer(x, y)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    """The vector product along an axis of extent 3.

    >>> import tetrad.numpy as jnp
    >>> jnp.linalg.cross(jnp.array([1., 0., 0.]), jnp.array([0., 1., 0.]))
    Array([0., 0., 1.], dtype=float32)
    """
    x, y = value(x1, "jnp.linalg.cross"), value(x2, "jnp.linalg.cross")
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError(
            f"jnp.linalg.cross: vectors must have 3 elements along axis {axis}, got"
            f" {describe(x)} and {describe(y)}"
        )
    return contract.cross(x, y, axis=axis)


matmul = contract.matmul
matrix_transpose = shape.matrix_transpose
tensordot = contract.tensordot
vecdot = contract.vecdot
