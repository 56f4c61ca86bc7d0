"""Padding: more elements before and after an array along its axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy import functional, lax, order, reduce
from tetrad._src.numpy.axes import axis_argument, static_int
from tetrad._src.numpy.convert import operand, value
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.util import dtypes


@planned_whole
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Value:
    """`array` with more elements before and after it along each axis.

    `pad_width` is n, (before, after), or one such pair for each axis. Modes: "constant"
    (constant_values=0), "edge", "reflect" and "symmetric" (reflect_type="even"),
    "wrap", "linear_ramp" (end_values=0), "maximum", "minimum", "mean", "median" (each
    with stat_length), "empty", or a function (vector, (before, after), axis, options)
    that gives a padded vector its new elements. ValueError for widths that do not fit.

    >>> import tetrad.numpy as jnp
    >>> jnp.pad(jnp.arange(3), (1, 2))
    Array([0, 0, 1, 2, 0, 0], dtype=int32)
    """
    name = "jnp.pad"
    x = value(array, name, "array")
    widths = _pairs(pad_width, x.ndim, name, "pad_width")
    widths = [
        tuple([static_int(w, name, "pad_width") for w in pair]) for pair in widths
    ]
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError(f"{name}: pad_width must not be negative, got {pad_width}")
    if mode == "constant":
        fill = _pairs(kwargs.pop("constant_values", 0), x.ndim, name, "constant_values")
        _no_more(kwargs, mode)
        return _pad_constant(x, widths, fill)
    if mode == "empty":
        _no_more(kwargs, mode)
        return _pad_constant(x, widths, [(0, 0)] * x.ndim)
    if callable(mode):
        return _pad_by(x, widths, mode, kwargs)
    if mode not in _PADDERS:
        known = ", ".join(["constant", "empty", *_PADDERS])
        raise NotImplementedError(f"{name}: mode must be one of {known}, got {mode!r}")
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = _PADDERS[mode](x, axis, before, after, dict(kwargs))
    return x


def _pad_by(
    x: Any, widths: Any, fill: Callable[..., Any], options: dict[str, Any]
) -> Any:
    """Every vector along every axis is given to the function of a user."""
    x = _pad_constant(x, widths, [(0, 0)] * x.ndim)
    for axis, pair in enumerate(widths):
        x = functional.apply_along_axis(fill, axis, x, pair, axis, options)
    return x


def _pairs(given: Any, ndim: int, name: str, argument: str) -> list[Any]:
    """One (before, after) for each axis."""
    if isinstance(given, dict):
        result = [(0, 0)] * ndim
        for axis, pair in given.items():
            pair = pair if isinstance(pair, (list, tuple)) else (pair, pair)
            result[axis_argument(axis, ndim, name)] = tuple(pair)
        return result
    if not isinstance(given, (list, tuple, np.ndarray)):
        return [(given, given)] * ndim
    items = list(given)
    if len(items) == 1 and not isinstance(items[0], (list, tuple, np.ndarray)):
        return [(items[0], items[0])] * ndim
    if len(items) == 2 and not any(
        isinstance(i, (list, tuple, np.ndarray)) for i in items
    ):
        return [tuple(items)] * ndim
    pairs = [
        tuple(i) if isinstance(i, (list, tuple, np.ndarray)) else (i, i) for i in items
    ]
    pairs = [p * 2 if len(p) == 1 else p for p in pairs]
    if len(pairs) == 1:
        pairs *= ndim
    if len(pairs) != ndim or any(len(p) != 2 for p in pairs):
        raise ValueError(
            f"{name}: {argument} must be a number, a pair, or a pair for each of the"
            f" {ndim} axes, got {given}"
        )
    return pairs


def _no_more(kwargs: dict[str, Any], mode: str) -> None:
    for key in kwargs:
        raise ValueError(
            f"jnp.pad: unsupported keyword arguments for mode {mode!r}: {key!r}"
        )


def _pad_constant(x: Any, widths: Any, fills: Any) -> Any:
    flat = [f for pair in fills for f in pair]
    first = flat[0] if flat else 0
    if all(f is first for f in flat) or all(
        not isinstance(f, Value) and f == first for f in flat
    ):
        config = [(before, after, 0) for before, after in widths]
        return lax.pad(x, _filler(first, x), config)
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, fills)):
        for width, fill, at_start in ((before, low, True), (after, high, False)):
            config = [(0, 0, 0)] * x.ndim
            config[axis] = (width, 0, 0) if at_start else (0, width, 0)
            x = lax.pad(x, _filler(fill, x), config)
    return x


def _filler(fill: Any, x: Any) -> Any:
    fill = operand(fill, "jnp.pad", "constant_values")
    if isinstance(fill, Value):
        return lax.convert_element_type(fill, x.dtype)
    if type(fill) is int:
        what = "jnp.pad: of constant_values, the Python integer"
        dtypes.check_narrowing(fill, x.dtype, what)
    return np.asarray(fill).astype(x.dtype)[()]


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
    return lax.slice_in_dim(x, start, stop, axis=axis)


def _around(before: Any, x: Any, after: Any, axis: int) -> Any:
    return lax.concatenate([before, x, after], axis)


def _need_elements(x: Any, axis: int, mode: str) -> None:
    if x.shape[axis] == 0:
        raise ValueError(f"jnp.pad: mode {mode!r} needs elements along axis {axis}")


def _pad_edge(x: Any, axis: int, before: int, after: int, options: Any) -> Any:
    _no_more(options, "edge")
    _need_elements(x, axis, "edge")
    n = x.shape[axis]
    return _around(
        _stretched(_part(x, axis, 0, 1), axis, before),
        x,
        _stretched(_part(x, axis, n - 1, n), axis, after),
        axis,
    )


def _stretched(line: Any, axis: int, width: int) -> Any:
    """A slice of extent 1 repeated `width` times along `axis`."""
    shape = [width if i == axis else n for i, n in enumerate(line.shape)]
    return lax.broadcast_in_dim(line, shape, tuple(range(line.ndim)))


def _pad_wrap(x: Any, axis: int, before: int, after: int, options: Any) -> Any:
    _no_more(options, "wrap")
    _need_elements(x, axis, "wrap")
    n = x.shape[axis]
    places = np.arange(-before, n + after) % n
    return x[(slice(None),) * axis + (places.astype(np.int32),)]


def _pad_mirror(symmetric: bool) -> Any:
    mode = "symmetric" if symmetric else "reflect"

    def padder(x: Any, axis: int, before: int, after: int, options: Any) -> Any:
        kind = options.pop("reflect_type", "even")
        _no_more(options, mode)
        if kind not in ("even", "odd"):
            raise ValueError(
                f'jnp.pad: reflect_type must be "even" or "odd", got {kind!r}'
            )
        _need_elements(x, axis, mode)
        if kind == "odd":
            return _pad_odd(x, axis, before, after, symmetric)
        n = x.shape[axis]
        places = np.arange(-before, n + after)
        if symmetric:
            places = places % (2 * n)
            places = np.where(places >= n, 2 * n - 1 - places, places)
        elif n == 1:
            places = np.zeros_like(places)
        else:
            places = places % (2 * n - 2)
            places = np.where(places >= n, 2 * n - 2 - places, places)
        return x[(slice(None),) * axis + (places.astype(np.int32),)]

    return padder


def _pad_odd(x: Any, axis: int, before: int, after: int, symmetric: bool) -> Any:
    """Mirrored in the point at the edge: 2 · edge - reflection, as often as needed."""
    shift = 0 if symmetric else 1
    while before or after:
        n = x.shape[axis]
        room = max(n - shift, 1)
        left, right = min(before, room), min(after, room)
        one_element = n == 1 and not symmetric
        first, last = _part(x, axis, 0, 1), _part(x, axis, n - 1, n)
        parts = []
        if left:
            low = 0 if one_element else shift
            mirrored = lax.rev(_part(x, axis, low, low + left), (axis,))
            parts.append(_twice_less(first, mirrored, axis))
        parts.append(x)
        if right:
            high = n if one_element else n - shift
            mirrored = lax.rev(_part(x, axis, high - right, high), (axis,))
            parts.append(_twice_less(last, mirrored, axis))
        x = lax.concatenate(parts, axis)
        before -= left
        after -= right
    return x


def _twice_less(edge: Any, mirrored: Any, axis: int) -> Any:
    wide = _stretched(edge, axis, mirrored.shape[axis])
    return lax.sub(lax.add(wide, wide), mirrored)


def _pad_ramp(x: Any, axis: int, before: int, after: int, options: Any) -> Any:
    ends = _pairs(options.pop("end_values", 0), x.ndim, "jnp.pad", "end_values")[axis]
    _no_more(options, "linear_ramp")
    _need_elements(x, axis, "linear_ramp")
    n = x.shape[axis]
    left = _ramp(_part(x, axis, 0, 1), ends[0], axis, before)
    right = lax.rev(_ramp(_part(x, axis, n - 1, n), ends[1], axis, after), (axis,))
    return _around(left, x, right, axis)


def _ramp(edge: Any, end: Any, axis: int, width: int) -> Any:
    """`width` elements from `end` towards `edge`, which itself is left out."""
    dtype = edge.dtype
    whole = edge.aval.kind in "iu"
    edge = lax.convert_element_type(edge, np.float32) if whole else edge
    wide = _stretched(edge, axis, width)
    steps = lax.broadcasted_iota(wide.dtype, wide.shape, axis)
    ratio = lax.div(steps, number(steps, max(width, 1)))
    end = _filler(end, wide)
    ramp = lax.add(lax.mul(lax.sub(wide, end), ratio), end)
    ramp = lax.floor(ramp) if whole else ramp
    return lax.convert_element_type(ramp, dtype)


def _pad_with(reduction: Any, mode: str) -> Any:
    def padder(x: Any, axis: int, before: int, after: int, options: Any) -> Any:
        lengths = _pairs(
            options.pop("stat_length", None), x.ndim, "jnp.pad", "stat_length"
        )
        _no_more(options, mode)
        _need_elements(x, axis, mode)
        n = x.shape[axis]
        low, high = [n if k is None else min(k, n) for k in lengths[axis]]
        left = _statistic(reduction, _part(x, axis, 0, low), axis)
        right = _statistic(reduction, _part(x, axis, n - high, n), axis)
        return _around(
            _stretched(left, axis, before), x, _stretched(right, axis, after), axis
        )

    return padder


def _statistic(reduction: Any, x: Any, axis: int) -> Any:
    result = reduction(x, axis=axis, keepdims=True)
    if x.aval.kind in "iu" and result.aval.kind == "f":
        result = lax.round(result, lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.convert_element_type(result, x.dtype)


_PADDERS = {
    "edge": _pad_edge,
    "reflect": _pad_mirror(False),
    "symmetric": _pad_mirror(True),
    "wrap": _pad_wrap,
    "linear_ramp": _pad_ramp,
    "maximum": _pad_with(reduce.max, "maximum"),
    "minimum": _pad_with(reduce.min, "minimum"),
    "mean": _pad_with(reduce.mean, "mean"),
    "median": _pad_with(order.median, "median"),
}
