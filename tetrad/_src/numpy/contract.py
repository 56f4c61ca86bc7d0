"""Products summed over axes: `dot`, `matmul`, `tensordot` and their kin.

All come down to one operation, `dot_general`: batch axes, contracted axes, free axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import axes_argument, axis_argument, static_int
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.create import diagonal
from tetrad._src.numpy.dtype import dtype_argument
from tetrad._src.numpy.elementwise import no_out, no_sharding
from tetrad._src.numpy.plan import planned, planned_whole
from tetrad._src.numpy.promote import (
    call,
    common_leading,
    lattice,
    operand_names,
    promote_dtypes,
)
from tetrad._src.numpy.reduce import summed
from tetrad._src.util import dtypes, errors

_SMALL_FLOATS = frozenset(dtypes.SMALL_FLOATS.values())


def _pair(name: str, a: Any, b: Any, wanted: Any) -> tuple[Value, Value, Any, bool]:
    """Both operands as Values, the dtype in which products are summed, and weakness.

    Two different floats of 8 bits and fewer stay as they are if it is said what their
    product is.
    """
    x, y = value(a, name, "argument 0"), value(b, name, "argument 1")
    small = x.dtype != y.dtype and {x.dtype, y.dtype} <= _SMALL_FLOATS
    if small and wanted is not None:
        return x, y, dtype_argument(wanted, name), False
    pairs = [(v.dtype, v.weak_type) for v in (x, y)]
    dtype, weak = lattice(name, pairs)
    preferred = dtype if wanted is None else dtype_argument(wanted, name)
    x, y = [lax.convert_element_type(v, dtype, weak) for v in (x, y)]
    return x, y, preferred, weak and wanted is None


def _general(
    x: Value, y: Value, numbers: Any, precision: Any, preferred: Any, weak: bool
) -> Any:
    if x.aval.kind == "b" and preferred != np.bool_:
        x, y = [lax.convert_element_type(v, preferred) for v in (x, y)]
    result = lax.dot_general(x, y, numbers, precision, preferred)
    return lax.convert_element_type(result, preferred, weak)


def _mismatch(name: str, x: Value, y: Value, i: int, j: int) -> errors.ShapeError:
    """The error for inner extents that differ, with what was probably meant."""
    names = operand_names(name, 2)
    shown = f"{names[0]} is {describe(x)}, {names[1]} is {describe(y)}"
    text = f"{call(name)}: {shown}; inner sizes {x.shape[i]} and {y.shape[j]} differ"
    if x.ndim == y.ndim == 2:
        left, right = names
        operator = "@" if name == "x @ y" else None
        if x.shape[1] == y.shape[1]:
            text += "; did you mean " + _product(operator, name, left, right + ".T")
        elif x.shape[0] == y.shape[0]:
            text += "; did you mean " + _product(operator, name, left + ".T", right)
        elif x.shape[0] == y.shape[1]:
            text += "; did you mean " + _product(operator, name, right, left)
    elif y.ndim == 1 and x.ndim == 2 and x.shape[0] == y.shape[0]:
        operator = "@" if name == "x @ y" else None
        text += "; did you mean " + _product(operator, name, names[1], names[0])
    return errors.ShapeError(text + ("?" if "did you mean" in text else ""))


def _product(operator: str | None, name: str, left: str, right: str) -> str:
    return f"{left} {operator} {right}" if operator else f"{name}({left}, {right})"


@planned(2)
def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """The matrix product a @ b: (a b)[i, j] = Σₖ a[i, k] b[k, j].

    Vectors count as a row on the left, a column on the right; further leading axes
    broadcast. TypeError if the inner sizes differ, ValueError for scalars.

    >>> import tetrad.numpy as jnp
    >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
    Array([3, 7], dtype=int32)
    """
    no_sharding("jnp.matmul", out_sharding)
    return product(a, b, "jnp.matmul", precision, preferred_element_type)


@planned(2)
def product(
    a: Any, b: Any, name: str, precision: Any = None, preferred: Any = None
) -> Any:
    x, y, preferred, weak = _pair(name, a, b, preferred)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(
            f"{call(name)}: a matrix product needs axes on both sides, got"
            f" {describe(x)} and {describe(y)}; write * for a product with a scalar"
        )
    inner = y.ndim - 2 if y.ndim > 1 else 0
    if x.shape[-1] != y.shape[inner]:
        raise _mismatch(name, x, y, x.ndim - 1, inner)
    if y.ndim <= 2 and x.ndim <= 2:
        numbers = (((x.ndim - 1,), (inner,)), ((), ()))
        return _general(x, y, numbers, precision, preferred, weak)
    return _batched(x, y, name, precision, preferred, weak)


def _batched(
    x: Value, y: Value, name: str, precision: Any, preferred: Any, weak: bool
) -> Any:
    """The product over leading axes, which broadcast; extents of 1 are left out."""
    left, right = max(x.ndim - 2, 0), max(y.ndim - 2, 0)
    lead = common_leading(name, (x, y), (x.shape[:left], y.shape[:right]))
    rank = len(lead)
    shared: list[int] = []  # axes of `lead` that both sides have
    only_x: list[int] = []
    only_y: list[int] = []
    x_gone: list[int] = []  # axes of x of extent 1 that the other side stretches
    y_gone: list[int] = []
    for axis in range(rank):
        i, j = axis - (rank - left), axis - (rank - right)
        in_x = i >= 0 and (x.shape[i] != 1 or lead[axis] == 1)
        in_y = j >= 0 and (y.shape[j] != 1 or lead[axis] == 1)
        (shared if in_x and in_y else only_x if in_x else only_y).append(axis)
        if i >= 0 and not in_x:
            x_gone.append(i)
        if j >= 0 and not in_y:
            y_gone.append(j)
    x_axes = [axis - (rank - left) for axis in shared]
    y_axes = [axis - (rank - right) for axis in shared]
    has_row, has_column = x.ndim > 1, y.ndim > 1
    x, x_axes, x_inner = _without(x, x_gone, x_axes, x.ndim - 1)
    inner = y.ndim - 2 if has_column else 0
    y, y_axes, y_inner = _without(y, y_gone, y_axes, inner)
    numbers = (((x_inner,), (y_inner,)), (tuple(x_axes), tuple(y_axes)))
    result = _general(x, y, numbers, precision, preferred, weak)
    # The axes of the result as they come, "row" and "column" being the last two.
    row = [rank] if has_row else []
    column = [rank + 1] if has_column else []
    places = [*shared, *only_x, *row, *only_y, *column]
    return lax.transpose(result, tuple([places.index(p) for p in sorted(places)]))


def _without(
    x: Value, gone: list[int], kept: list[int], inner: int
) -> tuple[Value, list[int], int]:
    """`x` without the axes `gone`, and where the other axes are then."""

    def moved(axis: int) -> int:
        return axis - len([g for g in gone if g < axis])

    return lax.squeeze(x, tuple(gone)), [moved(i) for i in kept], moved(inner)


@planned(2)
def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """The product Σₖ a[…, k] b[…, k, j]; with a scalar, the multiple.

    Sums over the last axis of `a` and the last but one of `b`; all other axes of `a`,
    then of `b`, remain. TypeError if the inner sizes differ.

    >>> import tetrad.numpy as jnp
    >>> jnp.dot(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)
    """
    no_sharding("jnp.dot", out_sharding)
    name = "jnp.dot"
    x, y, preferred, weak = _pair(name, a, b, preferred_element_type)
    if x.ndim == 0 or y.ndim == 0:
        numbers: Any = (((), ()), ((), ()))
    else:
        inner = y.ndim - 2 if y.ndim > 1 else 0
        if x.shape[-1] != y.shape[inner]:
            raise _mismatch(name, x, y, x.ndim - 1, inner)
        numbers = (((x.ndim - 1,), (inner,)), ((), ()))
    return _general(x, y, numbers, precision, preferred, weak)


@planned(2)
def vdot(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None
) -> Value:
    """The inner product Σ conj(a) b of all elements of two arrays of one size.

    >>> import tetrad.numpy as jnp
    >>> jnp.vdot(jnp.array([[1, 2]]), jnp.array([[3, 4]]))
    Array(11, dtype=int32)
    """
    x, y = value(a, "jnp.vdot"), value(b, "jnp.vdot")
    if x.aval.kind == "c":
        x = lax.conj(x)
    x, y = [lax.reshape(v, (v.size,)) for v in (x, y)]
    if x.shape != y.shape:
        raise TypeError(
            f"{call('jnp.vdot')}: the arrays have {x.size} and {y.size} elements; they"
            " must have as many"
        )
    return dot(x, y, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(
    x1: Any,
    x2: Any,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """The inner products Σ conj(x1) x2 along `axis`; the other axes broadcast.

    >>> import tetrad.numpy as jnp
    >>> jnp.vecdot(jnp.ones((2, 3)), jnp.ones(3))
    Array([3., 3.], dtype=float32)
    """
    name = "jnp.vecdot"
    x, y = value(x1, name), value(x2, name)
    i, j = axis_argument(axis, x.ndim, name), axis_argument(axis, y.ndim, name)
    if x.shape[i] != y.shape[j]:
        raise ValueError(
            f"{call(name)}: {describe(x)} and {describe(y)} differ along axis {axis}"
        )
    if x.aval.kind == "c":
        x = lax.conj(x)
    x = _to_end(x, i)
    y = _to_end(y, j)
    row = lax.expand_dims(x, (x.ndim - 1,))
    column = lax.expand_dims(y, (y.ndim,))
    result = product(row, column, name, precision, preferred_element_type)
    return lax.squeeze(result, (result.ndim - 2, result.ndim - 1))


def _to_end(x: Value, axis: int) -> Any:
    order = [i for i in range(x.ndim) if i != axis]
    return lax.transpose(x, (*order, axis))


def matvec(x1: Any, x2: Any, /) -> Value:
    """The product of matrices x1[…, i, k] with vectors x2[…, k]; leading axes broadcast.

    >>> import tetrad.numpy as jnp
    >>> jnp.matvec(jnp.ones((2, 3)), jnp.ones(3))
    Array([3., 3.], dtype=float32)
    """
    y = value(x2, "jnp.matvec")
    result = product(x1, lax.expand_dims(y, (y.ndim,)), "jnp.matvec")
    return lax.squeeze(result, (result.ndim - 1,))


def vecmat(x1: Any, x2: Any, /) -> Value:
    """The product of vectors conj(x1)[…, k] with matrices x2[…, k, j].

    >>> import tetrad.numpy as jnp
    >>> jnp.vecmat(jnp.ones(2), jnp.ones((2, 3)))
    Array([2., 2., 2.], dtype=float32)
    """
    x = value(x1, "jnp.vecmat")
    if x.aval.kind == "c":
        x = lax.conj(x)
    result = product(lax.expand_dims(x, (x.ndim - 1,)), x2, "jnp.vecmat")
    return lax.squeeze(result, (result.ndim - 2,))


@planned(2)
def inner(
    a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None
) -> Value:
    """Σₖ a[…, k] b[…, k] over the last axes; the others of both remain.

    >>> import tetrad.numpy as jnp
    >>> jnp.inner(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)
    """
    x, y = value(a, "jnp.inner"), value(b, "jnp.inner")
    if x.ndim == 0 or y.ndim == 0:
        return dot(x, y, precision=precision)
    return tensordot(
        x,
        y,
        ((-1,), (-1,)),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@planned(2)
def outer(a: Any, b: Any, out: None = None) -> Value:
    """The matrix a[i] b[j] of two arrays, flattened.

    >>> import tetrad.numpy as jnp
    >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    no_out("jnp.outer", out)
    x, y = [value(v, "jnp.outer") for v in promote_dtypes("jnp.outer", a, b)]
    m, n = x.size, y.size
    left = lax.broadcast_in_dim(lax.reshape(x, (m,)), (m, n), (0,))
    right = lax.broadcast_in_dim(lax.reshape(y, (n,)), (m, n), (1,))
    return lax.bitwise_and(left, right) if x.aval.kind == "b" else lax.mul(left, right)


@planned(2)
def tensordot(
    a: Any,
    b: Any,
    axes: Any = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Value:
    """The product summed over pairs of axes; the free axes of `a`, then `b`, remain.

    `axes` is a count (the last of `a`, the first of `b`) or two sequences of axes.
    TypeError if extents differ.

    >>> import tetrad.numpy as jnp
    >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 4)), 1).shape
    (2, 4)
    """
    no_sharding("jnp.tensordot", out_sharding)
    name = "jnp.tensordot"
    x, y, preferred, weak = _pair(name, a, b, preferred_element_type)
    if isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise TypeError(
                f"{name}: axes must be a count or two sequences, got {axes}"
            )
        left = axes_argument(axes[0], x.ndim, name, "axes[0]")
        right = axes_argument(axes[1], y.ndim, name, "axes[1]")
    else:
        count = static_int(axes, name, "axes")
        if count > min(x.ndim, y.ndim) or count < 0:
            raise TypeError(
                f"{name}: axes={count}, but {describe(x)} has {x.ndim} axes and"
                f" {describe(y)} has {y.ndim}"
            )
        left = tuple(range(x.ndim - count, x.ndim))
        right = tuple(range(count))
    if [x.shape[i] for i in left] != [y.shape[j] for j in right]:
        raise TypeError(
            f"{call(name)}: {describe(x)} and {describe(y)} differ along the axes"
            f" {left} and {right} that are summed over"
        )
    return _general(x, y, ((left, right), ((), ())), precision, preferred, weak)


@planned_whole
def kron(a: Any, b: Any) -> Value:
    """The Kronecker product: `b` in blocks, multiplied by each element of `a`.

    >>> import tetrad.numpy as jnp
    >>> jnp.kron(jnp.array([1, 2]), jnp.array([1, 1]))
    Array([1, 1, 2, 2], dtype=int32)
    """
    x, y = [value(v, "jnp.kron") for v in promote_dtypes("jnp.kron", a, b)]
    rank = max(x.ndim, y.ndim)
    x = lax.reshape(x, (1,) * (rank - x.ndim) + x.shape)
    y = lax.reshape(y, (1,) * (rank - y.ndim) + y.shape)
    wide = [n for pair in zip(x.shape, y.shape) for n in pair]
    left = lax.broadcast_in_dim(x, wide, tuple(range(0, 2 * rank, 2)))
    right = lax.broadcast_in_dim(y, wide, tuple(range(1, 2 * rank, 2)))
    shape = tuple([m * n for m, n in zip(x.shape, y.shape)])
    return lax.reshape(lax.mul(left, right), shape)


@planned_whole
def trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: None = None,
) -> Value:
    """The sum Σᵢ a[…, i, i + offset] of a diagonal.

    >>> import tetrad.numpy as jnp
    >>> jnp.trace(jnp.eye(3))
    Array(3., dtype=float32)
    """
    line = diagonal(a, offset, axis1, axis2)
    return summed(line, -1, dtype, out, name="jnp.trace")


@planned_whole
def cross(
    a: Any,
    b: Any,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Value:
    """The vector product a × b along an axis of extent 3 (or 2); others broadcast.

    Of two vectors of extent 2, the number a₀ b₁ - a₁ b₀. ValueError for other extents.

    >>> import tetrad.numpy as jnp
    >>> jnp.cross(jnp.array([1., 0., 0.]), jnp.array([0., 1., 0.]))
    Array([0., 0., 1.], dtype=float32)
    """
    name = "jnp.cross"
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = [value(v, name) for v in promote_dtypes(name, a, b)]
    x = _to_end(x, axis_argument(axisa, x.ndim, name, "axisa"))
    y = _to_end(y, axis_argument(axisb, y.ndim, name, "axisb"))
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError(
            f"{call(name)}: {describe(x)} and {describe(y)}; the vectors must have 3"
            " elements, or 2"
        )
    lead = common_leading(name, (x, y), (x.shape[:-1], y.shape[:-1]))
    xs, ys = _components(x, lead), _components(y, lead)
    if len(xs) == len(ys) == 2:
        return lax.sub(lax.mul(xs[0], ys[1]), lax.mul(xs[1], ys[0]))
    for parts in (xs, ys):
        if len(parts) == 2:
            parts.append(lax.full(lead, parts[0].dtype.type(0)))
    turns = [
        lax.sub(lax.mul(xs[i], ys[j]), lax.mul(xs[j], ys[i]))
        for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    at = axis_argument(axisc, len(lead) + 1, name, "axisc")
    return lax.concatenate([lax.expand_dims(t, (at,)) for t in turns], at)


def _components(x: Value, lead: tuple[int, ...]) -> list[Any]:
    """The parts along the last axis, each in the shape `lead`."""
    last = x.ndim - 1
    parts = []
    for i in range(x.shape[-1]):
        part = lax.squeeze(lax.slice_in_dim(x, i, i + 1, axis=last), (last,))
        axes = tuple(range(len(lead) - last, len(lead)))
        parts.append(lax.broadcast_in_dim(part, lead, axes))
    return parts
