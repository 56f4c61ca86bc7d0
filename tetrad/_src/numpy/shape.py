"""The shape of arrays: reshaped, transposed, stretched, reversed; nothing is computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import (
    axes_argument,
    axis_argument,
    shape_argument,
    static_int,
)
from tetrad._src.numpy.convert import fresh_copy, operands, value
from tetrad._src.numpy.create import spread
from tetrad._src.numpy.elementwise import no_sharding
from tetrad._src.numpy.plan import planned, planned_whole
from tetrad._src.numpy.promote import call, common_shape
from tetrad._src.util import errors, frames


def ndim(a: Any) -> int:
    """The number of axes of an array; 0 for numbers.

    >>> import tetrad.numpy as jnp
    >>> jnp.ndim(jnp.ones((2, 3)))
    2
    """
    return a.ndim if isinstance(a, Value) else np.ndim(_no_list(a, "jnp.ndim"))


def shape(a: Any) -> tuple[int, ...]:
    """The extents of the axes of an array.

    >>> import tetrad.numpy as jnp
    >>> jnp.shape(jnp.ones((2, 3)))
    (2, 3)
    """
    return a.shape if isinstance(a, Value) else np.shape(_no_list(a, "jnp.shape"))


def _no_list(a: Any, name: str) -> Any:
    if isinstance(a, (list, tuple)):
        frames.warn(
            f"{name}: a {type(a).__name__} is no array; write jnp.array(…) or use NumPy",
            DeprecationWarning,
        )
    return a


def size(a: Any, axis: Any = None) -> int:
    """The number of elements of an array, or the extent of an axis (or several).

    >>> import tetrad.numpy as jnp
    >>> jnp.size(jnp.ones((2, 3)), 1)
    3
    """
    extents = shape(a)
    if axis is None:
        return math.prod(extents)
    axes = axes_argument(axis, len(extents), "jnp.size")
    return math.prod([extents[i] for i in axes])


# ------------------------------------------------------------------------------- reshape


@planned()
def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Value:
    """The elements of `a`, in row-major order, in another shape of the same size.

    One extent may be -1: it is what remains. With order "F" the elements are read and
    written in column-major order. TypeError if the sizes differ.

    >>> import tetrad.numpy as jnp
    >>> jnp.reshape(jnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    return reshaped(value(a, "jnp.reshape", "a"), shape, order, copy, "jnp.reshape")


def reshaped(x: Value, shape: Any, order: str, copy: bool | None, name: str) -> Value:
    extents = _new_shape(x, shape, name)
    if order not in ("C", "F"):
        raise ValueError(f'{name}: order must be "C" or "F", got {order!r}')
    if order == "F":
        backwards = tuple(reversed(range(x.ndim)))
        turned = lax.reshape(lax.transpose(x, backwards), extents[::-1])
        return lax.transpose(turned, tuple(reversed(range(len(extents)))))
    result = lax.reshape(x, extents)
    return fresh_copy(result) if copy and result is x else result


def _new_shape(x: Value, shape: Any, name: str) -> tuple[int, ...]:
    vector = isinstance(shape, (np.ndarray, Value)) and shape.ndim == 1
    if vector or isinstance(shape, (list, tuple)):
        extents = [static_int(n, name, "every extent of the shape") for n in shape]
    else:
        extents = [static_int(shape, name, "the shape")]
    holes = extents.count(-1)
    known = math.prod([n for n in extents if n != -1])
    if any(n < -1 for n in extents) or holes > 1:
        raise errors.ShapeError(
            f"{name}: extents must be >= 0, and one may be -1 (what remains), got"
            f" {tuple(extents)}"
        )
    if holes:
        if known == 0 or x.size % known:
            raise errors.ShapeError(_size_message(x, extents, known, name))
        extents[extents.index(-1)] = x.size // known
    elif known != x.size:
        raise errors.ShapeError(_size_message(x, extents, known, name))
    return tuple(extents)


def _size_message(x: Value, extents: Sequence[int], known: int, name: str) -> str:
    target = tuple(extents)
    if -1 in extents:
        problem = f"{x.size} elements do not divide by {known}"
    else:
        problem = f"{x.size} elements do not fill {known} places"
    return f"{call(name)}: cannot reshape {x.aval.long_name()} to {target}: {problem}"


@planned()
def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Value:
    """The elements of `a` in row-major order (order "F": column-major), as a vector.

    >>> import tetrad.numpy as jnp
    >>> jnp.ravel(jnp.ones((2, 2)))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    no_sharding("jnp.ravel", out_sharding)
    x = value(a, "jnp.ravel", "a")
    if order == "K":
        raise NotImplementedError('jnp.ravel: order "K" means "C" here; write that')
    return reshaped(x, (x.size,), order, None, "jnp.ravel")


@planned()
def expand_dims(a: Any, axis: Any) -> Value:
    """`a` with axes of extent 1 inserted at the positions `axis` of the result.

    ValueError if a position is out of range or named twice.

    >>> import tetrad.numpy as jnp
    >>> jnp.expand_dims(jnp.ones(3), 0).shape
    (1, 3)
    """
    x = value(a, "jnp.expand_dims", "a")
    count = len(axis) if isinstance(axis, (list, tuple)) else 1
    new = axes_argument(axis, x.ndim + count, "jnp.expand_dims")
    return lax.expand_dims(x, new)


@planned()
def squeeze(a: Any, axis: Any = None) -> Value:
    """`a` without axes of extent 1: all of them, or those named by `axis`.

    ValueError if a named axis has another extent.

    >>> import tetrad.numpy as jnp
    >>> jnp.squeeze(jnp.ones((1, 3, 1)), 0).shape
    (3, 1)
    """
    x = value(a, "jnp.squeeze", "a")
    if axis is None:
        axes: tuple[int, ...] = tuple([i for i, n in enumerate(x.shape) if n == 1])
    else:
        axes = axes_argument(axis, x.ndim, "jnp.squeeze")
    for i in axes:
        if x.shape[i] != 1:
            raise ValueError(
                f"{call('jnp.squeeze')}: axis {i} of {x.aval.long_name()} has extent"
                f" {x.shape[i]}, only axes of extent 1 can go"
            )
    return lax.squeeze(x, axes)


@planned_whole
def atleast_1d(*arys: Any) -> Any:
    """Each argument with at least one axis: numbers become vectors of one element.

    >>> import tetrad.numpy as jnp
    >>> jnp.atleast_1d(1.).shape
    (1,)
    """
    return _each(
        arys, "jnp.atleast_1d", lambda x: x if x.ndim else lax.reshape(x, (1,))
    )


@planned_whole
def atleast_2d(*arys: Any) -> Any:
    """Each argument with at least two axes: vectors become rows.

    >>> import tetrad.numpy as jnp
    >>> jnp.atleast_2d(jnp.ones(3)).shape
    (1, 3)
    """

    def grow(x: Value) -> Any:
        return x if x.ndim >= 2 else lax.reshape(x, (1, x.size))

    return _each(arys, "jnp.atleast_2d", grow)


@planned_whole
def atleast_3d(*arys: Any) -> Any:
    """Each argument with at least three axes: (n,) becomes (1, n, 1), (m, n) (m, n, 1).

    >>> import tetrad.numpy as jnp
    >>> jnp.atleast_3d(jnp.ones(3)).shape
    (1, 3, 1)
    """

    def grow(x: Value) -> Any:
        if x.ndim >= 3:
            return x
        if x.ndim == 2:
            return lax.reshape(x, (*x.shape, 1))
        return lax.reshape(x, (1, x.size, 1))

    return _each(arys, "jnp.atleast_3d", grow)


def _each(arys: Sequence[Any], name: str, grow: Any) -> Any:
    if len(arys) == 1 and isinstance(arys[0], (list, tuple)):
        raise TypeError(
            f"{name} takes arrays; write {name}(*arrays) for a list of them"
        )
    grown = [grow(value(x, name)) for x in arys]
    return grown[0] if len(grown) == 1 else grown


# ------------------------------------------------------------------------- order of axes


@planned()
def transpose(a: Any, axes: Any = None) -> Value:
    """Axis i of the result is axis axes[i] of `a`; without `axes` they are reversed.

    ValueError unless `axes` names every axis once.

    >>> import tetrad.numpy as jnp
    >>> jnp.transpose(jnp.ones((2, 3))).shape
    (3, 2)
    """
    x = value(a, "jnp.transpose", "a")
    return transposed(x, axes, "jnp.transpose")


def transposed(x: Value, axes: Any, name: str) -> Value:
    if axes is None:
        order = tuple(range(x.ndim))[::-1]
    else:
        order = axes_argument(tuple(axes), x.ndim, name, "axes")
        if len(order) != x.ndim:
            raise errors.ShapeError(
                f"{name}: axes must name each of the {x.ndim} axes of"
                f" {x.aval.long_name()} once, got {tuple(axes)}"
            )
    return lax.transpose(x, order)


permute_dims = transpose


@planned()
def matrix_transpose(x: Any, /) -> Value:
    """`x` with its last two axes swapped. ValueError if it has fewer.

    >>> import tetrad.numpy as jnp
    >>> jnp.matrix_transpose(jnp.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    v = value(x, "jnp.matrix_transpose", "x")
    if v.ndim < 2:
        raise ValueError(
            f"{call('jnp.matrix_transpose')}: a matrix transpose needs at least 2 axes,"
            f" got {v.aval.long_name()}"
        )
    return swapped(v, v.ndim - 2, v.ndim - 1)


def swapped(x: Value, first: int, second: int) -> Value:
    order = list(range(x.ndim))
    order[first], order[second] = order[second], order[first]
    return lax.transpose(x, tuple(order))


@planned()
def swapaxes(a: Any, axis1: int, axis2: int) -> Value:
    """`a` with two axes exchanged. ValueError if one is out of range.

    >>> import tetrad.numpy as jnp
    >>> jnp.swapaxes(jnp.ones((2, 3)), 0, 1).shape
    (3, 2)
    """
    x = value(a, "jnp.swapaxes", "a")
    first = axis_argument(axis1, x.ndim, "jnp.swapaxes", "axis1")
    return swapped(x, first, axis_argument(axis2, x.ndim, "jnp.swapaxes", "axis2"))


@planned()
def moveaxis(a: Any, source: Any, destination: Any) -> Value:
    """`a` with the axes `source` at the positions `destination`, the others in order.

    ValueError if the two differ in length.

    >>> import tetrad.numpy as jnp
    >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    name = "jnp.moveaxis"
    x = value(a, name, "a")
    old = axes_argument(source, x.ndim, name, "source")
    new = axes_argument(destination, x.ndim, name, "destination")
    if len(old) != len(new):
        raise ValueError(
            f"{name}: source and destination must have one length, got {source} and"
            f" {destination}"
        )
    order = [i for i in range(x.ndim) if i not in old]
    for position, axis in sorted(zip(new, old)):
        order.insert(position, axis)
    return lax.transpose(x, tuple(order))


def rollaxis(a: Any, axis: int, start: int = 0) -> Value:
    """`a` with `axis` moved in front of the axis that is at `start`.

    ValueError for axes that do not exist.

    >>> import tetrad.numpy as jnp
    >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = value(a, "jnp.rollaxis", "a")
    old = axis_argument(axis, x.ndim, "jnp.rollaxis")
    new = x.ndim
    if start != x.ndim:  # behind all axes
        new = axis_argument(start, x.ndim, "jnp.rollaxis", "start")
    return moveaxis(x, old, new - (old < new))


# ---------------------------------------------------------------------- stretch and turn


@planned()
def broadcast_to(array: Any, shape: Any) -> Value:
    """`array` repeated along axes of extent 1 and new leading axes, to `shape`.

    ValueError if an extent is neither 1 nor that of `shape`.

    >>> import tetrad.numpy as jnp
    >>> jnp.broadcast_to(jnp.arange(2), (2, 2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    x = value(array, "jnp.broadcast_to", "array")
    extents = shape_argument(shape, "jnp.broadcast_to")
    return spread(x, extents, call("jnp.broadcast_to"))


def broadcast_arrays(*args: Any) -> list[Value]:
    """The arguments broadcast to one shape. ValueError if they do not fit.

    >>> import tetrad.numpy as jnp
    >>> [x.shape for x in jnp.broadcast_arrays(jnp.ones((2, 1)), jnp.ones(3))]
    [(2, 3), (2, 3)]
    """
    name = "jnp.broadcast_arrays"
    xs = operands(name, args)
    if not xs:
        return []
    extents = common_shape(name, xs)
    return [spread(x, extents, name) for x in xs]


@planned()
def flip(m: Any, axis: Any = None) -> Value:
    """`m` with its elements in reverse order along `axis` (None: along all axes).

    >>> import tetrad.numpy as jnp
    >>> jnp.flip(jnp.arange(3))
    Array([2, 1, 0], dtype=int32)
    """
    x = value(m, "jnp.flip", "m")
    return lax.rev(x, axes_argument(axis, x.ndim, "jnp.flip"))


def flipud(m: Any) -> Value:
    """`m` reversed along axis 0.

    >>> import tetrad.numpy as jnp
    >>> jnp.flipud(jnp.arange(3))
    Array([2, 1, 0], dtype=int32)
    """
    x = value(m, "jnp.flipud", "m")
    return lax.rev(x, (axis_argument(0, x.ndim, "jnp.flipud"),))


def fliplr(m: Any) -> Value:
    """`m` reversed along axis 1.

    >>> import tetrad.numpy as jnp
    >>> jnp.fliplr(jnp.arange(4).reshape(2, 2))
    Array([[1, 0],
           [3, 2]], dtype=int32)
    """
    x = value(m, "jnp.fliplr", "m")
    return lax.rev(x, (axis_argument(1, x.ndim, "jnp.fliplr"),))


@planned()
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Value:
    """`m` turned by k quarter turns in the plane of `axes`, from the first to the second.

    >>> import tetrad.numpy as jnp
    >>> jnp.rot90(jnp.arange(4).reshape(2, 2))
    Array([[1, 3],
           [0, 2]], dtype=int32)
    """
    name = "jnp.rot90"
    x = value(m, name, "m")
    pair = axes_argument(tuple(axes), x.ndim, name, "axes")
    if len(pair) != 2:
        raise ValueError(f"{name}: axes must be two axes, got {axes}")
    first, second = pair
    turns = static_int(k, name, "k") % 4
    if turns == 2:
        return lax.rev(x, (first, second))
    if turns == 1:
        return swapped(lax.rev(x, (second,)), first, second)
    if turns == 3:
        return lax.rev(swapped(x, first, second), (second,))
    return x


@planned()
def roll(a: Any, shift: Any, axis: Any = None) -> Value:
    """`a` with elements moved on by `shift` along `axis`; what leaves comes in again.

    Without `axis`, the flattened array is rolled. Several axes take several shifts, or
    one for all. The shift may be traced.

    >>> import tetrad.numpy as jnp
    >>> jnp.roll(jnp.arange(4), 1)
    Array([3, 0, 1, 2], dtype=int32)
    """
    name = "jnp.roll"
    x = value(a, name, "a")
    if axis is None:
        flat = lax.reshape(x, (x.size,))
        return lax.reshape(roll(flat, shift, 0), x.shape)
    axes = [axis] if not isinstance(axis, (list, tuple)) else list(axis)
    axes = [axis_argument(i, x.ndim, name) for i in axes]
    for i, by in zip(axes, _shifts(shift, len(axes), name)):
        if x.shape[i]:
            x = _rolled(x, by, i)
    return x


def _shifts(shift: Any, count: int, name: str) -> list[Any]:
    if isinstance(shift, (list, tuple)):
        shifts = list(shift)
    elif np.ndim(shift) == 0 or (isinstance(shift, Value) and shift.ndim == 0):
        shifts = [shift]
    else:
        shifts = list(shift)
    if len(shifts) == 1:
        shifts *= count
    if len(shifts) != count:
        raise ValueError(f"{name}: {len(shifts)} shifts for {count} axes")
    return shifts


def _rolled(x: Value, shift: Any, axis: int) -> Any:
    n = x.shape[axis]
    if not isinstance(shift, Value):
        cut = -static_int(shift, "jnp.roll", "shift") % n
        if cut == 0:
            return x
        head = lax.slice_in_dim(x, 0, cut, axis=axis)
        tail = lax.slice_in_dim(x, cut, n, axis=axis)
        return lax.concatenate([tail, head], axis)
    start = lax.sub(np.int32(n), lax.rem(_modulo(shift, n), np.int32(n)))
    return lax.dynamic_slice_in_dim(lax.concatenate([x, x], axis), start, n, axis)


def _modulo(shift: Value, n: int) -> Any:
    """`shift` as an int32 in 0 … n - 1."""
    rest = lax.rem(lax.convert_element_type(shift, np.int32), np.int32(n))
    return lax.rem(lax.add(rest, np.int32(n)), np.int32(n))


@planned_whole
def resize(a: Any, new_shape: Any) -> Value:
    """The elements of `a`, repeated or cut off, in `new_shape`; zeros if `a` is empty.

    >>> import tetrad.numpy as jnp
    >>> jnp.resize(jnp.arange(3), 5)
    Array([0, 1, 2, 0, 1], dtype=int32)
    """
    x = value(a, "jnp.resize", "a")
    extents = shape_argument(new_shape, "jnp.resize")
    total = math.prod(extents)
    flat = lax.reshape(x, (x.size,))
    if x.size == 0:
        return lax.full(extents, x.dtype.type(0))
    copies = -(-total // x.size)
    if copies > 1:
        flat = lax.concatenate([flat] * copies, 0)
    return lax.reshape(lax.slice(flat, (0,), (total,)), extents)
