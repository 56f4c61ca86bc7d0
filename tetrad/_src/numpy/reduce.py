"""Reductions: sums, products, extrema, moments, and running totals along axes.

Each takes `axis` (None for all, an axis, or several), `keepdims`, and mostly `where`
(elements that count) and `initial` (a value taken in at the start).
"""

from __future__ import annotations

import builtins
import functools
import math
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import axes_argument, axis_argument, others
from tetrad._src.numpy.convert import operand, value
from tetrad._src.numpy.dtype import dtype_argument
from tetrad._src.numpy.elementwise import no_out, number, zero_like
from tetrad._src.numpy.logic import as_bool
from tetrad._src.numpy.plan import planned, planned_whole
from tetrad._src.numpy.promote import (
    broadcast,
    call,
    inexact,
    promote,
    to,
)
from tetrad._src.util import dtypes
from tetrad._src.util.config import config

Axes = tuple[int, ...]


# ------------------------------------------------------------------------------- tools


def widened(dtype: Any) -> Any:
    """The dtype sums have: bools and short integers become default integers."""
    kind = dtypes.kind(dtype)
    if kind not in "biu":
        return dtype
    default = dtypes.python_scalar_dtype(int, config.x64)
    if kind == "b":
        return default
    if dtype.itemsize >= default.itemsize:
        return dtype
    return np.dtype(f"{'u' if kind == 'u' else ''}int{8 * default.itemsize}")


def masked(x: Value, where: Any, filler: Any, name: str) -> Any:
    """`x` with `filler` where `where` is false."""
    if where is None:
        return x
    mask = mask_of(where, x.shape, name)
    if not isinstance(mask, Value):
        return x if mask else lax.full(x.shape, filler)
    return lax.select(mask, x, filler)


def mask_of(where: Any, shape: tuple[int, ...], name: str) -> Any:
    """What a reduction counts, of `shape` or a scalar; it must be bools."""
    mask = operand(where, name, "where")
    if aval_of(mask).kind != "b":
        raise ValueError(
            f"{name}: where must be None or a boolean array, got"
            f" {aval_of(mask).long_name()}; write"
            " where != 0"
        )
    if not isinstance(mask, Value):
        return mask
    try:
        return broadcast(mask, shape) if mask.ndim else mask
    except ValueError:
        raise ValueError(
            f"{name}: where is {mask.aval.long_name()}, which does not broadcast to the"
            f" shape {shape} of the array"
        ) from None


def kept_axes(result: Any, shape: tuple[int, ...], axes: Axes, keepdims: bool) -> Any:
    """The result of a reduction, with the reduced axes at extent 1 if `keepdims`."""
    if not keepdims:
        return result
    wide = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return lax.broadcast_in_dim(result, wide, others(len(shape), axes))


def with_initial(result: Any, initial: Any, combine: Any, name: str) -> Any:
    if initial is None:
        return result
    start = operand(initial, name, "initial")
    if aval_of(start).ndim:
        raise ValueError(
            f"{name}: initial value must be a scalar. Got array of shape"
            f" {aval_of(start).shape}"
        )
    return combine(result, to(start, aval_of(result).dtype, False, name))


def _need_numbers(kind: str) -> None:
    """Raises for dtypes that have no least and greatest value."""
    if kind not in "iufc":
        raise TypeError("random keys have no order")


def bottom(dtype: Any) -> Any:
    """The least value of a dtype, as a scalar."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return np.bool_(False)
    _need_numbers(kind)
    return dtype.type(dtypes.extremes(dtype)[0])


def top(dtype: Any) -> Any:
    """The greatest value of a dtype, as a scalar."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return np.bool_(True)
    _need_numbers(kind)
    return dtype.type(dtypes.extremes(dtype)[1])


# --------------------------------------------------------------------------- sum, product


def _short_float(dtype: Any) -> bool:
    return dtypes.kind(dtype) == "f" and dtype.itemsize <= 2


@planned()
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Value:
    """The sum Σ a of the elements along `axis`.

    Bools and short integers are added as default integers; 16-bit floats in float32.

    >>> import tetrad.numpy as jnp
    >>> jnp.sum(jnp.arange(6).reshape(2, 3), axis=1)
    Array([ 3, 12], dtype=int32)
    """
    return summed(a, axis, dtype, out, keepdims, initial, where, promote_integers)


def _folded(
    fold: Any,
    combine: Any,
    neutral: int,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
    *,
    name: str,
) -> Any:
    """A sum or a product; `name` is the function that the user called."""
    no_out(name, out)
    x = value(a, name, "a")
    axes = axes_argument(axis, x.ndim, name)
    x, final = _accumulated(x, dtype, promote_integers, name)
    if x.aval.kind == "b":  # asked for, as the dtype of the result
        fold, combine = _OF_BOOLS[combine]
    x = masked(x, where, number(x, neutral), name)
    result = with_initial(fold(x, axes), initial, combine, name)
    return lax.convert_element_type(
        kept_axes(result, aval_of(x).shape, axes, keepdims), final
    )


_OF_BOOLS = {
    lax.add: (lax.reduce_or, lax.bitwise_or),
    lax.mul: (lax.reduce_and, lax.bitwise_and),
}
summed = functools.partial(_folded, lax.reduce_sum, lax.add, 0, name="jnp.sum")
multiplied = functools.partial(_folded, lax.reduce_prod, lax.mul, 1, name="jnp.prod")


def _accumulated(
    x: Value, dtype: Any, promote_integers: bool, name: str
) -> tuple[Any, Any]:
    """`x` in the dtype in which it is accumulated, and the dtype of the result."""
    if dtype is not None:
        final = dtype_argument(dtype, name)
    elif promote_integers or x.aval.kind == "b":
        final = widened(x.dtype)
    else:
        final = x.dtype
    inside = np.dtype(np.float32) if _short_float(final) else final
    return lax.convert_element_type(x, inside), final


@planned()
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Value:
    """The product Π a of the elements along `axis`.

    Bools and short integers are multiplied as default integers.

    >>> import tetrad.numpy as jnp
    >>> jnp.prod(jnp.array([2., 3.]))
    Array(6., dtype=float32)
    """
    return multiplied(a, axis, dtype, out, keepdims, initial, where, promote_integers)


@planned()
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """The number of elements along `axis` that are not 0.

    >>> import tetrad.numpy as jnp
    >>> jnp.count_nonzero(jnp.array([0, 1, 2]))
    Array(2, dtype=int32)
    """
    x = value(a, "jnp.count_nonzero", "a")
    return summed(as_bool(x), axis, keepdims=keepdims, name="jnp.count_nonzero")


# ------------------------------------------------------------------------------ any, all


@planned()
def any(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Value:
    """Whether some element along `axis` is true (not 0).

    >>> import tetrad.numpy as jnp
    >>> jnp.any(jnp.array([False, True]))
    Array(True, dtype=bool)
    """
    return _logical(a, axis, out, keepdims, where, "jnp.any", lax.reduce_or, False)


@planned()
def all(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Value:
    """Whether every element along `axis` is true (not 0).

    >>> import tetrad.numpy as jnp
    >>> jnp.all(jnp.array([False, True]))
    Array(False, dtype=bool)
    """
    return _logical(a, axis, out, keepdims, where, "jnp.all", lax.reduce_and, True)


def _logical(
    a: Any,
    axis: Any,
    out: Any,
    keepdims: bool,
    where: Any,
    name: str,
    fold: Any,
    neutral: bool,
) -> Value:
    no_out(name, out)
    x = value(a, name, "a")
    axes = axes_argument(axis, x.ndim, name)
    x = lax.convert_element_type(as_bool(x), np.bool_)
    x = masked(x, where, np.bool_(neutral), name)
    return kept_axes(fold(x, axes), x.shape, axes, keepdims)


# ------------------------------------------------------------------------------- extrema


@planned()
def max(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Value:
    """The largest element along `axis`, NaN if there is one.

    Complex numbers are ordered by real part, then imaginary part. ValueError for no
    elements, or `where` without `initial`.

    >>> import tetrad.numpy as jnp
    >>> jnp.max(jnp.array([[1, 5], [4, 2]]), axis=0)
    Array([4, 5], dtype=int32)
    """
    return _extreme(a, axis, out, keepdims, initial, where, "jnp.max")


@planned()
def min(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Value:
    """The smallest element along `axis`, NaN if there is one.

    Complex numbers are ordered by real part, then imaginary part. ValueError for no
    elements, or `where` without `initial`.

    >>> import tetrad.numpy as jnp
    >>> jnp.min(jnp.array([[1, 5], [4, 2]]), axis=0)
    Array([1, 2], dtype=int32)
    """
    return _extreme(a, axis, out, keepdims, initial, where, "jnp.min")


amax = max
amin = min


def _extreme(
    a: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any, name: str
) -> Any:
    no_out(name, out)
    x = value(a, name, "a")
    axes = axes_argument(axis, x.ndim, name)
    largest = name in ("jnp.max", "jnp.nanmax", "jnp.ptp")
    if where is not None and initial is None:
        raise ValueError(
            f"{name}: with where, nothing may remain; say what then: {name}(x,"
            " where=…, initial=…)"
        )
    limit = bottom if largest else top
    x = masked(x, where, limit(x.dtype), name)
    if initial is None:
        check_not_empty(x, axes, name)
        result = lax.reduce_max(x, axes) if largest else lax.reduce_min(x, axes)
    elif math.prod([x.shape[i] for i in axes]) == 0:
        rest = tuple([x.shape[i] for i in others(x.ndim, axes)])
        result = lax.full(rest, limit(x.dtype))
    else:
        result = lax.reduce_max(x, axes) if largest else lax.reduce_min(x, axes)
    result = with_initial(result, initial, lax.max if largest else lax.min, name)
    return kept_axes(result, x.shape, axes, keepdims)


def check_not_empty(x: Value, axes: Axes, name: str) -> None:
    if math.prod([x.shape[i] for i in axes]) == 0:
        raise ValueError(
            f"{call(name)}: there is no element along axes {axes} of"
            f" {x.aval.long_name()}; give initial=… if that may happen"
        )


@planned()
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Value:
    """The largest minus the smallest element along `axis`.

    >>> import tetrad.numpy as jnp
    >>> jnp.ptp(jnp.array([1, 5, 3]))
    Array(4, dtype=int32)
    """
    no_out("jnp.ptp", out)
    x = value(a, "jnp.ptp", "a")
    return lax.sub(max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))


def _index_of_extreme(
    a: Any, axis: Any, out: Any, keepdims: bool, name: str, fold: Any
) -> Any:
    no_out(name, out)
    x = value(a, name, "a")
    shape = x.shape
    if axis is None:
        axes: Axes = tuple(range(x.ndim))
        x = lax.reshape(x, (x.size,))
        along = 0
    else:
        along = axis_argument(axis, x.ndim, name)
        axes = (along,)
    if x.shape[along] == 0:
        what = name.removeprefix("jnp.")
        raise ValueError(
            f"{call(name)}: attempt to get {what} of an empty sequence,"
            f" {x.aval.long_name()}"
        )
    index = fold(x, along, dtypes.python_scalar_dtype(int, config.x64))
    return kept_axes(index, shape, axes, keepdims)


@planned()
def argmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Value:
    """The index of the largest element along `axis`, the first of equal ones.

    Without `axis`, the index in the flattened array. A NaN counts as largest.
    ValueError for no elements.

    >>> import tetrad.numpy as jnp
    >>> jnp.argmax(jnp.array([1, 5, 3]))
    Array(1, dtype=int32)
    """
    return _index_of_extreme(a, axis, out, bool(keepdims), "jnp.argmax", lax.argmax)


@planned()
def argmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Value:
    """The index of the smallest element along `axis`, the first of equal ones.

    Without `axis`, the index in the flattened array. A NaN counts as smallest.
    ValueError for no elements.

    >>> import tetrad.numpy as jnp
    >>> jnp.argmin(jnp.array([4, 5, 3]))
    Array(2, dtype=int32)
    """
    return _index_of_extreme(a, axis, out, bool(keepdims), "jnp.argmin", lax.argmin)


# ------------------------------------------------------------------------------- moments


def _count(
    x: Any, axes: Axes, where: Any, dtype: Any, keepdims: bool, name: str
) -> Any:
    """How many elements count, as a host number or an array."""
    if where is None:
        total = math.prod([x.shape[i] for i in axes])
        return to(total, dtype, False, name)
    ones = lax.full(x.shape, np.bool_(True))
    picked = masked(ones, where, np.bool_(False), name)
    counts = summed(picked, axes, keepdims=keepdims, name=name)
    return lax.convert_element_type(counts, dtype)


@planned()
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Value:
    """The mean (Σ a) / n of the elements along `axis`; integers become floats.

    >>> import tetrad.numpy as jnp
    >>> jnp.mean(jnp.array([1, 2, 6]))
    Array(3., dtype=float32)
    """
    return averaged(a, axis, dtype, out, keepdims, where, "jnp.mean")


def averaged(
    a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, where: Any, name: str
) -> Any:
    no_out(name, out)
    x = value(a, name, "a")
    final = inexact(x.dtype) if dtype is None else dtype_argument(dtype, name)
    inside = np.dtype(np.float32) if _short_float(final) else final
    axes = axes_argument(axis, x.ndim, name)
    total = summed(x, axes, inside, None, keepdims, None, where, name=name)
    result = lax.div(total, _count(x, axes, where, inside, keepdims, name))
    return lax.convert_element_type(result, final)


@planned()
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Value:
    """The variance Σ |a - mean|² / (n - ddof) of the elements along `axis`.

    NaN where n ≤ ddof. `mean`, if known, has the reduced axes at extent 1.

    >>> import tetrad.numpy as jnp
    >>> jnp.var(jnp.array([1., 3.]))
    Array(1., dtype=float32)
    """
    return _variance(
        a, axis, dtype, out, ddof, keepdims, where, mean, correction, "jnp.var"
    )


def _variance(
    a: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    ddof: Any,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: Any,
    name: str,
) -> Any:
    no_out(name, out)
    x = value(a, name, "a")
    if correction is not None:
        if ddof:
            raise ValueError(f"{name}: ddof and correction mean the same; give one")
        ddof = correction
    given = inexact(x.dtype) if dtype is None else dtype_argument(dtype, name)
    inside = np.dtype(np.float32) if _short_float(given) else given
    if dtypes.kind(inside) != "c" and x.aval.kind == "c":
        raise ValueError(
            f"{name}: the mean of {x.aval.long_name()} is complex; dtype must be too"
        )
    x = lax.convert_element_type(x, inside)
    axes = axes_argument(axis, x.ndim, name)
    x = masked(x, where, number(x, 0), name)  # what is left out may be NaN
    if mean is None:
        center = averaged(x, axes, inside, None, True, where, name)
    else:
        center = to(operand(mean, name, "mean"), inside, False, name)
    offset = lax.sub(
        x, broadcast(center, x.shape) if isinstance(center, Value) else center
    )
    if dtypes.kind(inside) == "c":
        squares = lax.real(lax.mul(offset, lax.conj(offset)))
    else:
        squares = lax.square(offset)
    real = aval_of(squares).dtype
    total = summed(squares, axes, None, None, keepdims, None, where, name=name)
    count = _count(x, axes, where, real, keepdims, name)
    result = _over_freedom(total, count, ddof, real)
    final = real if dtype is None and dtypes.kind(given) == "c" else given
    return lax.convert_element_type(result, final)


def _over_freedom(total: Any, count: Any, ddof: Any, dtype: Any) -> Any:
    """total / (count - ddof), NaN where that is not positive."""
    if not isinstance(count, Value) and not isinstance(ddof, Value):
        freedom = float(count) - float(ddof)
        divisor = freedom if freedom > 0 else math.nan
        return lax.div(total, to(divisor, dtype, False, "jnp.var"))
    freedom = lax.sub(count, to(ddof, dtype, False, "jnp.var"))
    positive = lax.gt(freedom, zero_like(freedom))
    return lax.select(positive, lax.div(total, freedom), number(total, math.nan))


@planned()
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Value:
    """The standard deviation √(Σ |a - mean|² / (n - ddof)) along `axis`: see `var`.

    >>> import tetrad.numpy as jnp
    >>> jnp.std(jnp.array([1., 3.]))
    Array(1., dtype=float32)
    """
    x = value(a, "jnp.std", "a")
    given = x.dtype if dtype is None else dtype_argument(dtype, "jnp.std")
    small = dtypes.kind(given) == "f" and given.itemsize == 1
    result = lax.sqrt(
        _variance(
            x,
            axis,
            np.float32 if small else dtype,
            out,
            ddof,
            keepdims,
            where,
            mean,
            correction,
            "jnp.std",
        )
    )
    return lax.convert_element_type(result, given) if small else result


@planned_whole
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """The weighted mean Σ w a / Σ w along `axis`; with `returned`, also Σ w.

    `weights` has the shape of `a`, or that of the axes in `axis`. ValueError otherwise.

    >>> import tetrad.numpy as jnp
    >>> jnp.average(jnp.array([1., 4.]), weights=jnp.array([2., 1.]))
    Array(2., dtype=float32)
    """
    name = "jnp.average"
    x = value(a, name, "a")
    if weights is None:
        result = averaged(x, axis, None, None, keepdims, None, name)
        axes = axes_argument(axis, x.ndim, name)
        total = math.prod([x.shape[i] for i in axes])
        sums = lax.full(result.shape, result.dtype.type(total))
        return (result, sums) if returned else result
    w = value(weights, name, "weights")
    given = axis if isinstance(axis, (tuple, list)) else () if axis is None else (axis,)
    along = [axis_argument(i, x.ndim, name) for i in given]
    if w.shape != x.shape and w.shape != tuple([x.shape[i] for i in along]):
        raise ValueError(
            f"{name}: weights {w.aval.long_name()} must have the shape of"
            f" {x.aval.long_name()}, or that of the axes {tuple(along)}"
        )
    if along and w.ndim == len(along):
        order = sorted(builtins.range(w.ndim), key=along.__getitem__)
        w = lax.broadcast_in_dim(lax.transpose(w, order), x.shape, sorted(along))
    x, w = promote(name, x, w)
    dtype = inexact(aval_of(x).dtype)
    x, w = [lax.convert_element_type(v, dtype) for v in (x, w)]
    sums = summed(w, axis, keepdims=keepdims, name=name)
    result = lax.div(summed(lax.mul(x, w), axis, keepdims=keepdims, name=name), sums)
    return (result, sums) if returned else result
