"""Finding elements: where they are true, where they would be inserted, how often."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.numpy import convert, lax
from tetrad._src.numpy.at import AtIndex
from tetrad._src.numpy.axes import static_int
from tetrad._src.numpy.convert import describe, operand, value
from tetrad._src.numpy.create import linspace
from tetrad._src.numpy.dtype import int_dtype
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.logic import as_bool
from tetrad._src.numpy.plan import planned_whole, planned_with_numbers
from tetrad._src.numpy.promote import call, promote_dtypes, promote_floats, to
from tetrad._src.util import dtypes, errors

# ------------------------------------------------------------------------ true elements


def nonzero(
    a: Any, *, size: int | None = None, fill_value: Any = None
) -> tuple[Any, ...]:
    """The indices of the elements that are not 0: one array for each axis.

    Their number depends on the values, so they must be known, unless `size` says how
    many indices there shall be: more are cut, fewer filled with `fill_value` (0).

    >>> import tetrad.numpy as jnp
    >>> jnp.nonzero(jnp.array([0, 5, 0, 7]))
    (Array([1, 3], dtype=int32),)
    """
    name = "jnp.nonzero"
    x = value(a, name, "a")
    if not x.ndim:
        raise ValueError(f"{name}: a number has no axes; write jnp.nonzero(x[None])")
    if size is None:
        return _places(x, name)
    count = static_int(size, name, "size")
    mask = lax.reshape(lax.convert_element_type(as_bool(x), np.bool_), (x.size,))
    flat = lax.convert_element_type(true_places(mask, count), int_dtype())
    missing = lax.lt(flat, number(flat, 0))
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * x.ndim
    result = []
    for part, fill in zip(_unraveled(flat, x.shape), fills):
        filler = to(operand(0 if fill is None else fill, name), part.dtype, False, name)
        chosen = lax.select(missing, filler, part)
        result.append(lax.convert_element_type(chosen, int_dtype()))
    return tuple(result)


def _places(x: Value, name: str) -> tuple[Any, ...]:
    if isinstance(x, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: how many elements of the traced {describe(x)} are true is not known"
            f" here. Say how many indices there shall be: {name}(x, size=n,"
            " fill_value=0); or keep the shape and use the three-argument jnp.where"
        )
    dtype = int_dtype()
    return tuple(
        [convert.array_beside(i.astype(dtype), x) for i in np.nonzero(np.asarray(x))]
    )


def true_places(mask: Any, size: int) -> Any:
    """The positions of the first `size` true elements of a vector; -1 when they end."""
    n = aval_of(mask).shape[0]
    rank = lax.sub(lax.cumsum(lax.convert_element_type(mask, np.int32)), np.int32(1))
    target = lax.select(mask, rank, np.int32(size))
    blank = lax.full((size,), np.int32(-1))
    return AtIndex(blank, target).set(lax.iota(np.int32, n), mode="drop")


def _unraveled(flat: Any, shape: tuple[int, ...]) -> list[Any]:
    parts = []
    for n in reversed(shape):
        parts.append(lax.rem(flat, number(flat, max(n, 1))))
        flat = lax.div(flat, number(flat, max(n, 1)))
    return parts[::-1]


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Value:
    """The indices of the elements of the flattened array that are not 0: see `nonzero`.

    >>> import tetrad.numpy as jnp
    >>> jnp.flatnonzero(jnp.array([[0, 5], [7, 0]]))
    Array([1, 2], dtype=int32)
    """
    x = value(a, "jnp.flatnonzero", "a")
    return nonzero(lax.reshape(x, (x.size,)), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Value:
    """The indices of the elements that are not 0, one a row: see `nonzero`.

    >>> import tetrad.numpy as jnp
    >>> jnp.argwhere(jnp.array([[0, 5], [7, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    x = value(a, "jnp.argwhere", "a")
    if not x.ndim:
        rows = nonzero(lax.reshape(x, (1,)), size=size, fill_value=fill_value)[0].shape[
            0
        ]
        return lax.full((rows, 0), int_dtype().type(0))
    columns = nonzero(x, size=size, fill_value=fill_value)
    return lax.concatenate([lax.expand_dims(c, (1,)) for c in columns], 1)


# ---------------------------------------------------------------------- sorted positions


def _before(x: Any, y: Any) -> Any:
    """Whether x sorts before y; NaN comes last. Complex numbers compare by parts."""
    if aval_of(x).kind == "c":
        first, second = (lax.real(x), lax.real(y)), (lax.imag(x), lax.imag(y))
        other = lax.bitwise_or(_before(*first), _before(*first[::-1]))
        later = lax.bitwise_and(lax.bitwise_not(other), _before(*second))
        return lax.bitwise_or(_before(*first), later)
    less = lax.lt(x, y)
    if not aval_of(x).inexact:
        return less
    return lax.bitwise_or(less, lax.bitwise_and(lax.ne(y, y), lax.eq(x, x)))


def searchsorted(
    a: Any,
    v: Any,
    side: str = "left",
    sorter: Any = None,
    *,
    method: str = "scan",
) -> Value:
    """Where elements of `v` would be inserted into the sorted vector `a`.

    With side "left", a[i-1] < v ≤ a[i]; with "right", a[i-1] ≤ v < a[i]. `sorter`
    holds the indices that sort `a`. ValueError unless `a` is a vector.

    >>> import tetrad.numpy as jnp
    >>> jnp.searchsorted(jnp.array([1, 3, 5]), 4)
    Array(2, dtype=int32)
    """
    name = "jnp.searchsorted"
    if side not in ("left", "right"):
        raise ValueError(f'{name}: side must be "left" or "right", got {side!r}')
    if method not in ("scan", "scan_unrolled", "sort", "compare_all", "default"):
        raise ValueError(f"{name}: there is no method {method!r}")
    if type(v) is int and isinstance(a, Value) and a.aval.kind in "iu":
        v = _as_wide(v, a)
    return _searched(a, v, side, sorter, method)  # type: ignore[no-any-return]


@planned_with_numbers
def _searched(a: Any, v: Any, side: str, sorter: Any, method: str) -> Any:
    name = "jnp.searchsorted"
    table, x = [value(q, name) for q in promote_dtypes(name, a, v)]
    if table.ndim != 1:
        raise ValueError(f"{call(name)}: a must be a vector, got {describe(table)}")
    if sorter is not None:
        table = table[value(sorter, name, "sorter")]
    n = table.shape[0]
    if n == 0:
        return lax.full(x.shape, np.int32(0))
    if method == "compare_all":
        return _by_comparing(table, x, side)
    return _by_halving(table, x, side)


def _as_wide(v: int, a: Value) -> Any:
    """An integer that `a` cannot hold as an array of the default integers, if it fits."""
    own, default = np.iinfo(a.dtype), np.iinfo(int_dtype())
    if own.min <= v <= own.max or not default.min <= v <= default.max:
        return v
    return lax.full((), int_dtype().type(v))


def _by_comparing(table: Value, x: Value, side: str) -> Any:
    shape = (*x.shape, table.shape[0])
    wide_x = lax.broadcast_in_dim(x, shape, tuple(range(x.ndim)))
    wide_table = lax.broadcast_in_dim(table, shape, (x.ndim,))
    if side == "left":
        counts = _before(wide_table, wide_x)
    else:
        counts = lax.bitwise_not(_before(wide_x, wide_table))
    return lax.reduce_sum(lax.convert_element_type(counts, np.int32), (x.ndim,))


def _by_halving(table: Value, x: Value, side: str) -> Any:
    """Binary search: [low, high) holds the answer; a step for each bit of n."""
    n = table.shape[0]
    low = lax.full(x.shape, np.int32(0))
    high = lax.full(x.shape, np.int32(n))
    for _ in range(n.bit_length()):
        middle = lax.shift_right_arithmetic(lax.add(low, high), np.int32(1))
        probe = AtIndex(table, middle).get(mode="clip")
        if side == "left":
            right = _before(probe, x)
        else:
            right = lax.bitwise_not(_before(x, probe))
        right = lax.bitwise_and(right, lax.lt(low, high))
        low, high = (
            lax.select(right, lax.add(middle, np.int32(1)), low),
            lax.select(right, high, middle),
        )
    return low


@planned_whole
def digitize(
    x: Any, bins: Any, right: bool = False, *, method: str | None = None
) -> Value:
    """The number of the bin each element falls into: bins[i-1] ≤ x < bins[i].

    `right` puts the equality on the other side; `bins` rise or fall.

    >>> import tetrad.numpy as jnp
    >>> jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0., 1., 2.]))
    Array([1, 3], dtype=int32)
    """
    name = "jnp.digitize"
    method = "scan" if method is None else method
    edges = value(bins, name, "bins")
    if edges.ndim != 1:
        raise ValueError(f"{call(name)}: bins must be a vector, got {describe(edges)}")
    v = operand(x, name, "x")
    side = "right" if not right else "left"
    rising = searchsorted(edges, v, side, method=method)
    n = edges.shape[0]
    if n < 2:
        return rising
    above = searchsorted(lax.rev(edges, (0,)), v, side, method=method)
    falling = lax.sub(number(above, n), above)
    rises = lax.bitwise_not(_before(edges[-1], edges[0]))
    return lax.select(rises, rising, falling)


@planned_whole
def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Value:
    """Whether each element is one of `test_elements`; `invert` asks the opposite.

    >>> import tetrad.numpy as jnp
    >>> jnp.isin(jnp.arange(3), jnp.array([1]))
    Array([False,  True, False], dtype=bool)
    """
    name = "jnp.isin"
    x, tests = [value(q, name) for q in promote_dtypes(name, element, test_elements)]
    tests = lax.reshape(tests, (tests.size,))
    if not tests.size:
        return lax.full(x.shape, np.bool_(invert))
    if x.size * tests.size <= 1 << 16 or method == "compare_all":
        shape = (*x.shape, tests.shape[0])
        wide = lax.broadcast_in_dim(x, shape, tuple(range(x.ndim)))
        found = lax.reduce_or(
            lax.eq(wide, lax.broadcast_in_dim(tests, shape, (x.ndim,))), (x.ndim,)
        )
    else:
        table = lax.sort(tests)
        found = lax.eq(AtIndex(table, searchsorted(table, x)).get(mode="clip"), x)
    return lax.bitwise_not(found) if invert else found


@planned_with_numbers
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Value:
    """The piecewise linear function through the points (xp, fp), at x.

    Outside xp, the values `left` and `right` (fp[0] and fp[-1]; "extrapolate" goes on
    linearly). xp must rise. With `period`, x and xp are taken modulo it.

    >>> import tetrad.numpy as jnp
    >>> jnp.interp(2.5, jnp.arange(4.), jnp.arange(4.) ** 2)
    Array(6.5, dtype=float32)
    """
    name = "jnp.interp"
    at, knots = [value(v, name) for v in promote_floats(name, x, xp)]
    heights = value(promote_floats(name, fp)[0], name)
    if knots.ndim != 1 or knots.shape != heights.shape:
        raise ValueError(
            f"{call(name)}: xp and fp must be vectors of one length, got"
            f" {describe(knots)} and {describe(heights)}"
        )
    if period is not None:
        at, knots = at % period, knots % period
        knots, order = lax.sort((knots, lax.iota(np.int32, knots.shape[0])))
        heights = heights[order]
        knots = lax.concatenate([knots[-1:] - period, knots, knots[:1] + period], 0)
        heights = lax.concatenate([heights[-1:], heights, heights[:1]], 0)
    n = knots.shape[0]
    places = searchsorted(knots, at, "right")
    i = lax.clamp(number(places, 1), places, number(places, max(n - 1, 1)))
    upper, lower = AtIndex(knots, i), AtIndex(knots, i - 1)
    low = lower.get(mode="clip")
    gap = upper.get(mode="clip") - low
    base = AtIndex(heights, i - 1).get(mode="clip")
    rise = AtIndex(heights, i).get(mode="clip") - base
    # Where 1 / gap would overflow, knots count as one.
    flat = lax.lt(lax.abs(gap), number(gap, 4 * float(dtypes.finfo(gap.dtype).tiny)))
    slope = lax.select(
        flat, number(gap, 0), (at - low) / lax.select(flat, number(gap, 1), gap)
    )
    result = base + slope * rise
    if period is not None:
        return result
    if left != "extrapolate" if isinstance(left, str) else True:
        edge = (
            heights[0]
            if left is None
            else to(operand(left, name), result.dtype, False, name)
        )
        result = lax.select(lax.lt(at, knots[0]), edge, result)
    if right != "extrapolate" if isinstance(right, str) else True:
        edge = (
            heights[-1]
            if right is None
            else to(operand(right, name), result.dtype, False, name)
        )
        result = lax.select(lax.gt(at, knots[-1]), edge, result)
    return result


# ------------------------------------------------------------------------------ counting


def bincount(
    x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None
) -> Value:
    """How often each number 0, 1, 2, … occurs in x; with `weights`, their sums.

    The result has max(x) + 1 elements, or `length`, which has to be given where x is
    traced; larger numbers are then left out. Negative numbers count as 0.

    >>> import tetrad.numpy as jnp
    >>> jnp.bincount(jnp.array([0, 1, 1]))
    Array([1, 2], dtype=int32)
    """
    name = "jnp.bincount"
    v = value(x, name, "x")
    if v.aval.kind not in "iub":
        raise TypeError(f"{call(name)}: x must hold integers, got {describe(v)}")
    if v.ndim != 1:
        raise ValueError(f"{call(name)}: x must be a vector, got {describe(v)}")
    if length is None:
        if isinstance(v, Tracer):
            raise errors.ConcretizationTypeError(
                f"{name}: the length of the result depends on the traced x; say it:"
                f" {name}(x, length=n)"
            )
        host = np.asarray(v)
        length = max(int(host.max()) + 1 if host.size else 0, minlength)
    length = static_int(length, name, "length")
    v = lax.convert_element_type(v, np.int32) if v.dtype.itemsize < 4 else v
    places = lax.max(v, number(v, 0))
    if weights is None:
        ones: Any = np.int32(1)
        blank = lax.full((length,), int_dtype().type(0))
    else:
        ones = value(weights, name, "weights")
        if ones.shape != v.shape:
            raise ValueError(
                f"{call(name)}: {describe(v)} needs as many weights, got {describe(ones)}"
            )
        blank = lax.full((length,), ones.dtype.type(0))
    return AtIndex(blank, places).add(ones, mode="drop")


def histogram_bin_edges(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None
) -> Value:
    """The edges of `bins` bins of one width from min(a) to max(a), or over `range`.

    >>> import tetrad.numpy as jnp
    >>> jnp.histogram_bin_edges(jnp.array([0., 4.]), bins=2)
    Array([0., 2., 4.], dtype=float32)
    """
    name = "jnp.histogram_bin_edges"
    if isinstance(bins, str):
        raise NotImplementedError(
            f"{name}: give the number of bins, {bins!r} would make the shape depend on"
            " the values"
        )
    x = value(promote_floats(name, a)[0], name)
    if not isinstance(bins, (int, np.integer)):
        return lax.convert_element_type(value(bins, name, "bins"), x.dtype)  # type: ignore[no-any-return]
    if range is None and not x.size:
        range = (0, 1)
    if range is None:
        flat = lax.reshape(x, (x.size,))
        low, high = lax.reduce_min(flat, (0,)), lax.reduce_max(flat, (0,))
    else:
        low, high = [
            lax.full((), x.dtype.type(end))
            if not isinstance(end, Value)
            else lax.convert_element_type(end, x.dtype)
            for end in range
        ]
    point = lax.eq(low, high)
    half = number(low, 0.5)
    low, high = (
        lax.select(point, lax.sub(low, half), low),
        lax.select(point, lax.add(high, half), high),
    )
    return linspace(low, high, int(bins) + 1, dtype=x.dtype)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None
) -> tuple[Value, Value]:
    """(how many elements fall into each bin, the edges of the bins).

    The last bin includes its right edge. With `density`, counts over total and width.

    >>> import tetrad.numpy as jnp
    >>> jnp.histogram(jnp.array([0., 1., 4.]), bins=2)
    (Array([2., 1.], dtype=float32), Array([0., 2., 4.], dtype=float32))
    """
    name = "jnp.histogram"
    if weights is None:
        x = value(promote_floats(name, a)[0], name)
        w = lax.full(x.shape, x.dtype.type(1))
    else:
        x, w = [value(v, name) for v in promote_floats(name, a, weights)]
    edges: Any = histogram_bin_edges(x, bins, range)
    x, w = [lax.reshape(v, (v.size,)) for v in (x, w)]
    count = edges.shape[0] - 1
    place = searchsorted(edges, x, "right")
    place = lax.select(lax.eq(x, edges[-1]), number(place, count), place)
    counts: Any = bincount(place, w, length=count + 1)
    counts = counts[1:]
    if density:
        total = lax.reduce_sum(counts, (0,))
        widths = edges[1:] - edges[:-1]
        counts = counts / total / widths
    return counts, edges
