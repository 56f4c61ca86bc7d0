"""Running totals along an axis, and differences, which undo them."""

from __future__ import annotations

import math
from typing import Any

from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import axes_argument, axis_argument, static_int
from tetrad._src.numpy.convert import describe, operand, value
from tetrad._src.numpy.dtype import dtype_argument, int_dtype
from tetrad._src.numpy.elementwise import no_out, number
from tetrad._src.numpy.plan import planned, planned_whole, planned_with_floats
from tetrad._src.numpy.promote import (
    broadcast,
    broadcast_shapes,
    call,
    promote_floats,
    same_dtype,
)
from tetrad._src.numpy.reduce import summed, widened
from tetrad._src.numpy.shape import moveaxis


def _running(
    a: Any, axis: Any, dtype: Any, out: Any, name: str, op: Any, nan_as: Any = None
) -> Any:
    no_out(name, out)
    x = value(a, name, "a")
    if axis is None:
        x = lax.reshape(x, (x.size,))
        axis = 0
    along = axis_argument(axis, x.ndim, name)
    if nan_as is not None and x.aval.inexact:
        x = lax.select(lax.ne(x, x), number(x, nan_as), x)
    found = None if dtype is None else dtype_argument(dtype, name)
    if found is not None:
        x = lax.convert_element_type(x, found)
    if x.aval.kind == "b":
        x = lax.convert_element_type(x, int_dtype())
    result = op(x, along)
    return result if found is None else lax.convert_element_type(result, found)


@planned()
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Value:
    """The running sums a[0], a[0] + a[1], … along `axis` (None: flattened).

    >>> import tetrad.numpy as jnp
    >>> jnp.cumsum(jnp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return _running(a, axis, dtype, out, "jnp.cumsum", lax.cumsum)


@planned()
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Value:
    """The running products a[0], a[0] · a[1], … along `axis` (None: flattened).

    >>> import tetrad.numpy as jnp
    >>> jnp.cumprod(jnp.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """
    return _running(a, axis, dtype, out, "jnp.cumprod", lax.cumprod)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Value:
    """As `cumsum`, with NaN taken as 0.

    >>> import tetrad.numpy as jnp
    >>> jnp.nancumsum(jnp.array([1., jnp.nan, 3.]))
    Array([1., 1., 4.], dtype=float32)
    """
    return _running(a, axis, dtype, out, "jnp.nancumsum", lax.cumsum, 0)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Value:
    """As `cumprod`, with NaN taken as 1.

    >>> import tetrad.numpy as jnp
    >>> jnp.nancumprod(jnp.array([2., jnp.nan, 3.]))
    Array([2., 2., 6.], dtype=float32)
    """
    return _running(a, axis, dtype, out, "jnp.nancumprod", lax.cumprod, 1)


def _with_start(
    x: Any, axis: Any, dtype: Any, include_initial: bool, name: str, op: Any, start: int
) -> Any:
    v = value(x, name, "x")
    if axis is None:
        if v.ndim != 1:
            raise ValueError(
                f"{name}: The input array has rank {v.ndim}, however axis was not set to an"
                f" explicit value. {describe(v)} has several axes; say which: axis=…"
            )
        axis = 0
    along = axis_argument(axis, v.ndim, name)
    if dtype is None:
        dtype = widened(v.dtype)
    out = _running(v, along, dtype, None, name, op)
    if not include_initial:
        return out
    config = [(int(i == along), 0, 0) for i in range(v.ndim)]
    return lax.pad(out, number(out, start), config)


@planned_whole
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Value:
    """The running sums along `axis`, with a 0 in front if `include_initial`.

    Narrow integers are added as the default integers, as in `sum`.

    >>> import tetrad.numpy as jnp
    >>> jnp.cumulative_sum(jnp.array([1, 2]), include_initial=True)
    Array([0, 1, 3], dtype=int32)
    """
    return _with_start(
        x, axis, dtype, include_initial, "jnp.cumulative_sum", lax.cumsum, 0
    )


@planned_whole
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Value:
    """The running products along `axis`, with a 1 in front if `include_initial`.

    Narrow integers are multiplied as the default integers, as in `prod`.

    >>> import tetrad.numpy as jnp
    >>> jnp.cumulative_prod(jnp.array([2, 3]), include_initial=True)
    Array([1, 2, 6], dtype=int32)
    """
    return _with_start(
        x, axis, dtype, include_initial, "jnp.cumulative_prod", lax.cumprod, 1
    )


# ---------------------------------------------------------------------------- differences


def _ends(x: Value, axis: int, step: int = 1) -> tuple[Any, Any]:
    """(all but the first `step`, all but the last `step`) along `axis`."""
    n = x.shape[axis]
    later = lax.slice_in_dim(x, min(step, n), n, axis=axis)
    return later, lax.slice_in_dim(x, 0, max(n - step, 0), axis=axis)


@planned()
def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Value:
    """The differences a[i + 1] - a[i] along `axis`, taken n times; of bools, xor.

    `prepend` and `append` are joined to `a` first, unless n is 0. ValueError for n < 0 or a scalar.

    >>> import tetrad.numpy as jnp
    >>> jnp.diff(jnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    name = "jnp.diff"
    x = value(a, name, "a")
    times = static_int(n, name, "n")
    if times < 0 or x.ndim == 0:
        raise ValueError(
            f"{name}: needs n >= 0 and an array with axes, got n={n}, {describe(x)}"
        )
    along = axis_argument(axis, x.ndim, name)
    parts = []
    for extra in (prepend, x, append) if times else (x,):
        if extra is not None:
            parts.append(_beside(operand(extra, name), x, along))
    if len(parts) > 1:
        x = lax.concatenate([value(p, name) for p in same_dtype(name, parts)], along)
    for _ in range(times):
        later, earlier = _ends(x, along)
        x = lax.ne(later, earlier) if x.aval.kind == "b" else lax.sub(later, earlier)
    return x


def _beside(extra: Any, x: Value, axis: int) -> Any:
    """`extra` as it can be joined to `x` along `axis`: numbers have extent 1 there."""
    if extra is x or aval_of(extra).ndim:
        return extra
    shape = [1 if i == axis else n for i, n in enumerate(x.shape)]
    return lax.broadcast_in_dim(value(extra, "jnp.diff"), shape, ())


@planned_whole
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Value:
    """The differences of the flattened array, with values in front and behind.

    >>> import tetrad.numpy as jnp
    >>> jnp.ediff1d(jnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x = value(ary, "jnp.ediff1d", "ary")
    x = diff(lax.reshape(x, (x.size,)))
    parts = [x]
    for extra, at in ((to_begin, 0), (to_end, 2)):
        if extra is not None:
            v = lax.convert_element_type(value(extra, "jnp.ediff1d"), x.dtype)
            parts.insert(at, lax.reshape(v, (v.size,)))
    return lax.concatenate(parts, 0)


@planned_with_floats
def gradient(
    f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None
) -> Any:
    """The slopes of `f` along each axis: central differences inside, one-sided at edges.

    Distances: none (1), one for all axes, or one (a number or coordinates) for each.
    ValueError for fewer than 2 elements.

    >>> import tetrad.numpy as jnp
    >>> jnp.gradient(jnp.array([0., 1., 4., 9.]))
    Array([1., 2., 4., 5.], dtype=float32)
    """
    name = "jnp.gradient"
    if edge_order not in (None, 1):
        raise NotImplementedError(f"{name}: only edge_order=1 is available")
    x = value(promote_floats(name, f)[0], name)
    axes = axes_argument(axis, x.ndim, name)
    steps = list(varargs) or [1.0]
    if len(steps) == 1:
        steps *= len(axes)
    if len(steps) != len(axes):
        raise TypeError(f"{name}: {len(varargs)} distances for {len(axes)} axes")
    slopes = [_slope(x, i, step, name) for i, step in zip(axes, steps)]
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(x: Value, axis: int, step: Any, name: str) -> Any:
    n = x.shape[axis]
    if n < 2:
        raise ValueError(
            f"{call(name)}: {describe(x)} has fewer than 2 elements in axis {axis}"
        )
    h = operand(step, name)

    def part(v: Any, start: int, stop: int) -> Any:
        return lax.slice_in_dim(v, start, stop, axis=axis)

    if aval_of(h).ndim == 0:
        first = (part(x, 1, 2) - part(x, 0, 1)) / h
        last = (part(x, n - 1, n) - part(x, n - 2, n - 1)) / h
        inner = (part(x, 2, n) - part(x, 0, n - 2)) / (2 * h)
        return lax.concatenate([first, inner, last], axis)
    gaps = diff(lax.convert_element_type(h, x.dtype))
    if gaps.shape != (n - 1,):
        raise ValueError(f"{name}: axis {axis} has {n} elements, got {describe(h)}")
    gaps = lax.broadcast_in_dim(
        gaps, [n - 1 if i == axis else 1 for i in range(x.ndim)], (axis,)
    )
    rises = diff(x, axis=axis) / gaps
    before, after = part(gaps, 0, n - 2), part(gaps, 1, n - 1)
    inner = (part(rises, 0, n - 2) * after + part(rises, 1, n - 1) * before) / (
        before + after
    )
    return lax.concatenate([part(rises, 0, 1), inner, part(rises, n - 2, n - 1)], axis)


@planned_with_floats
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Value:
    """The integral of `y` along `axis` by the trapezoidal rule.

    `x` are the coordinates; without them they lie `dx` apart.

    >>> import tetrad.numpy as jnp
    >>> jnp.trapezoid(jnp.array([0., 1., 2.]))
    Array(2., dtype=float32)
    """
    name = "jnp.trapezoid"
    width: Any
    if x is None:
        heights = value(promote_floats(name, y)[0], name)
        along = axis_argument(axis, heights.ndim, name)
        later, earlier = _ends(heights, along)
        pairs, step = later + earlier, operand(dx, name, "dx")
        if isinstance(step, Value):
            step = broadcast(step, broadcast_shapes(step.shape, pairs.shape))
        return summed(pairs * step, along, name=name) * 0.5
    else:
        heights, points = [
            value(v, name)
            for v in same_dtype(
                name, [operand(y, name, "y"), operand(x, name, "x")], floating=True
            )
        ]
        along = axis_argument(axis, heights.ndim, name)
        if points.ndim == 1:
            width = diff(points)
        else:
            across = axis_argument(axis, points.ndim, name)
            width = diff(moveaxis(points, across, -1))
    heights = moveaxis(heights, axis_argument(axis, heights.ndim, name), -1)
    later, earlier = _ends(heights, heights.ndim - 1)
    areas = (later + earlier) * width
    return summed(areas, -1, name=name) * 0.5


@planned_whole
def unwrap(
    p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi
) -> Value:
    """Angles without jumps: whole periods are added where neighbours are further apart.

    >>> import tetrad.numpy as jnp
    >>> jnp.unwrap(jnp.array([0, 4]), period=4)
    Array([0, 0], dtype=int32)
    """
    name = "jnp.unwrap"
    x = value(p, name, "p")
    if x.aval.kind not in "iu":
        x = value(promote_floats(name, x)[0], name)
    along = axis_argument(axis, x.ndim, name)
    steps: Any = diff(x, axis=along)
    half = period / 2
    least = half if discont is None else discont
    if x.aval.kind in "iu":
        low = -(period // 2)
        wrapped = (steps - low) % period + low
        if period % 2 == 0:
            wrapped = _up_where(wrapped, wrapped == low, steps > 0, period)
    else:
        wrapped = (steps + half) % period - half
        wrapped = _up_where(wrapped, wrapped == -half, steps > 0, period)
    correction = wrapped - steps
    correction = lax.select(abs(steps) < least, number(correction, 0), correction)
    config = [(int(i == along), 0, 0) for i in range(x.ndim)]
    total = lax.cumsum(correction, along)
    return x + lax.pad(total, number(total, 0), config)


def _up_where(x: Any, here: Any, rising: Any, period: Any) -> Any:
    return lax.select(lax.bitwise_and(here, rising), x + period, x)
