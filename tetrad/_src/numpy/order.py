"""Sorting, and what sorted arrays tell: ranks, quantiles, distinct elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.numpy import convert, lax
from tetrad._src.numpy.at import AtIndex
from tetrad._src.numpy.axes import (
    axes_argument,
    axis_argument,
    listed,
    others,
    static_int,
)
from tetrad._src.numpy.convert import describe, operand, value
from tetrad._src.numpy.dtype import dtype_argument, int_dtype
from tetrad._src.numpy.elementwise import no_out, number
from tetrad._src.numpy.plan import planned, planned_whole
from tetrad._src.numpy.promote import broadcast, call, inexact, promote_floats, to
from tetrad._src.numpy.search import true_places
from tetrad._src.util import dtypes, errors


def _one_axis(x: Value, axis: int | None, name: str) -> tuple[Value, int]:
    if axis is None:
        return lax.reshape(x, (x.size,)), 0
    return x, axis_argument(axis, x.ndim, name)


def _only_stable(kind: Any, order: Any, name: str) -> None:
    if order is not None:
        raise ValueError(
            f"{name}: arrays have no fields, so there is no order argument"
        )
    if kind not in (None, "quicksort", "mergesort", "heapsort", "stable"):
        raise ValueError(f"{name}: there is no kind of sorting {kind!r}")


@planned()
def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Value:
    """The elements in rising order along `axis` (None: flattened); NaN comes last.

    >>> import tetrad.numpy as jnp
    >>> jnp.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    name = "jnp.sort"
    _only_stable(kind, order, name)
    x, along = _one_axis(value(a, name, "a"), axis, name)
    result = lax.sort(x, along, bool(stable))
    return lax.rev(result, (along,)) if descending else result


@planned()
def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Value:
    """The indices that sort along `axis` (None: flattened); equal ones keep their order.

    >>> import tetrad.numpy as jnp
    >>> jnp.argsort(jnp.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    name = "jnp.argsort"
    _only_stable(kind, order, name)
    x, along = _one_axis(value(a, name, "a"), axis, name)
    found = int_dtype() if dtype is None else dtype_argument(dtype, name)
    if dtypes.kind(found) not in "iu":
        raise TypeError(f"{name}: dtype must be an integer dtype, got {found.name}")
    if x.shape[along] > int(dtypes.iinfo(found).max) + 1:
        raise ValueError(
            f"{name}: {found.name} cannot count the {x.shape[along]} elements of axis {along}"
        )
    places = lax.broadcasted_iota(found, x.shape, along)
    if descending:
        # Sorted backwards from the end, equal elements come out in their first order.
        x, places = lax.rev(x, (along,)), lax.rev(places, (along,))
    result = lax.sort((x, places), along, bool(stable), 1)[1]
    return lax.rev(result, (along,)) if descending else result


def lexsort(keys: Any, axis: int = -1) -> Value:
    """The indices that sort by several keys, the last one first.

    >>> import tetrad.numpy as jnp
    >>> jnp.lexsort((jnp.array([2, 1, 0]), jnp.array([0, 0, 1])))
    Array([1, 0, 2], dtype=int32)
    """
    name = "jnp.lexsort"
    arrays = [value(k, name) for k in listed(keys, name, "keys")]
    if not arrays:
        raise TypeError(f"{name}: there is no key to sort by")
    if any(k.shape != arrays[0].shape for k in arrays):
        raise ValueError(
            f"{name}: keys must have one shape, got {[k.shape for k in arrays]}"
        )
    if not arrays[0].ndim:
        return lax.full((), int_dtype().type(0))
    along = axis_argument(axis, arrays[0].ndim, name)
    places = lax.broadcasted_iota(int_dtype(), arrays[0].shape, along)
    return lax.sort((*arrays[::-1], places), along, True, len(arrays))[-1]


def sort_complex(a: Any) -> Value:
    """The elements sorted along the last axis, as complex numbers.

    >>> import tetrad.numpy as jnp
    >>> jnp.sort_complex(jnp.array([2., 1.]))
    Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    x = sort(value(a, "jnp.sort_complex", "a"))
    if x.aval.kind == "c":
        return x
    wide = x.dtype.itemsize == 8
    return lax.convert_element_type(x, np.complex128 if wide else np.complex64)


def partition(a: Any, kth: int, axis: int = -1) -> Value:
    """An order along `axis` with the kth smallest element in place, smaller ones before.

    >>> import tetrad.numpy as jnp
    >>> jnp.partition(jnp.array([3, 1, 2]), 1)
    Array([1, 2, 3], dtype=int32)
    """
    _check_kth(value(a, "jnp.partition", "a"), kth, axis, "jnp.partition")
    return sort(a, axis)


def argpartition(a: Any, kth: int, axis: int = -1) -> Value:
    """Indices that put the kth smallest element in place along `axis`: see `partition`.

    >>> import tetrad.numpy as jnp
    >>> jnp.argpartition(jnp.array([3, 1, 2]), 1)
    Array([1, 2, 0], dtype=int32)
    """
    _check_kth(value(a, "jnp.argpartition", "a"), kth, axis, "jnp.argpartition")
    return argsort(a, axis)


def _check_kth(x: Value, kth: int, axis: int, name: str) -> None:
    n = x.shape[axis_argument(axis, x.ndim, name)]
    if not -n <= static_int(kth, name, "kth") < n:
        raise ValueError(f"{call(name)}: kth={kth} is out of range for {n} elements")


# -------------------------------------------------------------------------------- quantiles


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


@planned_whole
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Value:
    """The q-quantiles along `axis`, q in [0, 1]: the values below which lie q of all.

    Between two elements, `method` interpolates ("linear"), or takes the "lower",
    "higher", "nearest" or "midpoint". With `weights`, method "inverted_cdf" gives the
    first element up to which lies the share q of the weight. The axes of `q` come first in the result. NaN
    where an element is NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.quantile(jnp.array([1., 2., 4.]), 0.75)
    Array(3., dtype=float32)
    """
    _never_overwritten("jnp.quantile", overwrite_input)
    method = interpolation or method
    return _quantile(a, q, axis, out, method, keepdims, False, "jnp.quantile", weights)


@planned_whole
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Value:
    """As `quantile`, ignoring NaN; NaN where nothing else is.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanquantile(jnp.array([1., jnp.nan, 3.]), 0.5)
    Array(2., dtype=float32)
    """
    _never_overwritten("jnp.nanquantile", overwrite_input)
    method = interpolation or method
    return _quantile(
        a, q, axis, out, method, keepdims, True, "jnp.nanquantile", weights
    )


@planned_whole
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Value:
    """The q-percentiles along `axis`, q in [0, 100]: see `quantile`.

    >>> import tetrad.numpy as jnp
    >>> jnp.percentile(jnp.array([1., 2., 4.]), 50)
    Array(2., dtype=float32)
    """
    _never_overwritten("jnp.percentile", overwrite_input)
    _check_shares(q, "jnp.percentile", 100)
    (share,) = promote_floats("jnp.percentile", q)
    share = lax.div(share, number(share, 100))
    method = interpolation or method
    return _quantile(
        a, share, axis, out, method, keepdims, False, "jnp.percentile", weights
    )


@planned_whole
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    interpolation: Any = None,
) -> Value:
    """As `percentile`, ignoring NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanpercentile(jnp.array([1., jnp.nan, 3.]), 50)
    Array(2., dtype=float32)
    """
    _never_overwritten("jnp.nanpercentile", overwrite_input)
    _check_shares(q, "jnp.nanpercentile", 100)
    (share,) = promote_floats("jnp.nanpercentile", q)
    share = lax.div(share, number(share, 100))
    method = interpolation or method
    return _quantile(
        a, share, axis, out, method, keepdims, True, "jnp.nanpercentile", weights
    )


@planned()
def median(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Value:
    """The middle element along `axis` in sorted order, or the mean of the middle two.

    >>> import tetrad.numpy as jnp
    >>> jnp.median(jnp.array([1., 9., 2.]))
    Array(2., dtype=float32)
    """
    _never_overwritten("jnp.median", overwrite_input)
    return _quantile(a, 0.5, axis, out, "midpoint", keepdims, False, "jnp.median")


@planned_whole
def nanmedian(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Value:
    """As `median`, ignoring NaN.

    >>> import tetrad.numpy as jnp
    >>> jnp.nanmedian(jnp.array([1., jnp.nan, 3.]))
    Array(2., dtype=float32)
    """
    _never_overwritten("jnp.nanmedian", overwrite_input)
    return _quantile(a, 0.5, axis, out, "midpoint", keepdims, True, "jnp.nanmedian")


def _quantile(
    a: Any,
    q: Any,
    axis: Any,
    out: Any,
    method: str,
    keepdims: bool,
    skip: bool,
    name: str,
    weights: Any = None,
) -> Any:
    no_out(name, out)
    if (weights is None) != (method != "inverted_cdf"):
        raise ValueError(
            f'{name}: weights and method="inverted_cdf" go together, got method={method!r}'
            f" and weights={'None' if weights is None else '…'}"
        )
    if weights is None and method not in _METHODS:
        raise ValueError(f"{name}: method must be one of {_METHODS}, got {method!r}")
    x = value(a, name, "a")
    if x.aval.kind == "c":
        raise ValueError(f"{name}: complex numbers have no order, got {describe(x)}")
    _check_shares(q, name)
    dtype = x.dtype
    if x.aval.kind == "f" and dtype.itemsize == 1:  # has no numbers for all positions
        x = lax.convert_element_type(x, np.float32)
        q = lax.convert_element_type(operand(q, name, "q"), np.float32)
        result = _quantile(x, q, axis, out, method, keepdims, skip, name, weights)
        return lax.convert_element_type(result, dtype)
    x, share = [value(v, name) for v in _both_floats(x, q, name)]
    if share.ndim > 2:
        raise ValueError(f"{name}: q has at most 2 axes, got {describe(share)}")
    axes = axes_argument(axis, x.ndim, name)
    rest = others(x.ndim, axes)
    lanes = tuple([x.shape[i] for i in rest])
    n = math.prod([x.shape[i] for i in axes])
    if n == 0:
        raise ValueError(
            f"{call(name)}: {describe(x)} has no element along axes {axes}"
        )
    shape = x.shape

    def in_lanes(x: Any) -> Any:
        return lax.reshape(lax.transpose(x, (*rest, *axes)), (*lanes, n))

    flat = lax.reshape(share, (share.size,))
    if weights is None:
        x = lax.sort(in_lanes(x), len(lanes))
        picked = _interpolated(x, flat, n, method, skip)
    else:
        w = in_lanes(_weights_like(x, weights, axes, name))
        picked = _by_weight(in_lanes(x), w, flat, skip)
    # (lanes…, q) becomes (q…, lanes…).
    picked = lax.transpose(picked, (len(lanes), *range(len(lanes))))
    picked = lax.reshape(picked, (*share.shape, *lanes))
    if not keepdims:
        return picked
    kept = [1 if i in axes else extent for i, extent in enumerate(shape)]
    return lax.reshape(picked, (*share.shape, *kept))


def _check_shares(q: Any, name: str, whole: int = 1) -> None:
    """ValueError where a number known at once is no share of a whole.

    Arrays are not looked at; beyond its ends they mean the ends.
    """
    if isinstance(q, (Value, str)) or q is None:
        return
    numbers = np.asarray(q)
    if numbers.dtype.kind in "iuf" and np.any((numbers < 0) | (numbers > whole)):
        raise ValueError(f"{call(name)}: q must be in [0, {whole}], got {q!r}")


def _weights_like(x: Value, weights: Any, axes: Any, name: str) -> Any:
    """Weights for the elements of `x`, from one for each or each along the axes."""
    w = lax.convert_element_type(value(weights, name, "weights"), x.dtype)
    if w.shape == x.shape:
        return w
    if w.shape != tuple([x.shape[i] for i in axes]):
        raise ValueError(
            f"{name}: weights {describe(w)} must have the shape of {describe(x)}, or that"
            f" of the axes {tuple(axes)}"
        )
    return lax.broadcast_in_dim(w, x.shape, tuple(axes))


def _by_weight(x: Any, w: Any, share: Any, skip: bool) -> Any:
    """The first element of each lane up to which lies a share of the weight."""
    last = x.ndim - 1
    nans = lax.ne(x, x)
    if skip:
        w = lax.select(nans, number(w, 0), w)
    x, w = lax.sort((x, w), last, True, 1)
    sums = lax.cumsum(w, last)
    total = lax.slice_in_dim(sums, x.shape[last] - 1, x.shape[last], axis=last)
    part = lax.div(sums, lax.broadcast_in_dim(total, sums.shape, tuple(range(x.ndim))))
    wide = (*part.shape, share.shape[0])
    part = lax.broadcast_in_dim(part, wide, tuple(range(x.ndim)))
    share = lax.broadcast_in_dim(share, wide, (x.ndim,))
    before = lax.bitwise_or(lax.lt(part, share), lax.eq(part, number(part, 0)))
    place = lax.reduce_sum(lax.convert_element_type(before, np.int32), (last,))
    place = lax.min(place, np.int32(x.shape[last] - 1))
    result = _at(x, place)
    if skip:
        return result
    missing = lax.reduce_or(nans, (last,))
    missing = lax.broadcast_in_dim(missing, result.shape, tuple(range(last)))
    return lax.select(missing, number(result, math.nan), result)


def _both_floats(x: Value, q: Any, name: str) -> list[Any]:
    share = operand(q, name, "q")
    dtype = inexact(aval_of(x).dtype)
    return [
        lax.convert_element_type(x, dtype),
        to(share, dtype, False, name)
        if aval_of(share).kind != "f"
        else lax.convert_element_type(share, dtype),
    ]


def _interpolated(x: Any, share: Any, n: int, method: str, skip: bool) -> Any:
    """Element q · (n - 1) of each lane of x (sorted along its last axis), for each q."""
    lanes = x.shape[:-1]
    shape = (*lanes, share.shape[0])
    share = lax.broadcast_in_dim(share, shape, (len(lanes),))
    nans = lax.ne(x, x)
    counts = lax.reduce_sum(
        lax.convert_element_type(lax.bitwise_not(nans), x.dtype), (len(lanes),)
    )
    counts = lax.broadcast_in_dim(counts, shape, tuple(range(len(lanes))))
    last = lax.sub(counts, number(counts, 1)) if skip else number(share, n - 1)
    place = lax.mul(share, last)
    low = lax.floor(place)
    weight = lax.sub(place, low)
    low = lax.convert_element_type(low, np.int32)
    high = lax.convert_element_type(lax.ceil(place), np.int32)
    lower, upper = [
        _at(x, lax.clamp(np.int32(0), place, np.int32(n - 1))) for place in (low, high)
    ]
    if method == "lower":
        result = lower
    elif method == "higher":
        result = upper
    elif method == "nearest":
        result = lax.select(lax.gt(weight, number(weight, 0.5)), upper, lower)
    elif method == "midpoint":
        result = lax.mul(lax.add(lower, upper), number(lower, 0.5))
    else:
        rest = lax.sub(number(weight, 1), weight)
        result = lax.add(lax.mul(lower, rest), lax.mul(upper, weight))
    missing = lax.ne(counts, number(counts, n))
    if skip:
        missing = lax.eq(counts, number(counts, 0))
    return lax.select(missing, number(result, math.nan), result)


def _at(x: Any, places: Any) -> Any:
    """x[…, places[…, j]] along the last axis."""
    lead = x.ndim - 1
    index = [
        lax.reshape(lax.iota(np.int32, n), (n, *[1] * (lead - i)))
        for i, n in enumerate(x.shape[:-1])
    ]
    return AtIndex(x, (*index, places)).get(mode="clip")


# --------------------------------------------------------------------------------- distinct


class Unique(NamedTuple):
    """What `unique` found."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The distinct elements in rising order (with `axis`, the distinct slices).

    Optionally also: the index of the first of each, the place of every element among
    them, and how often each occurs. Their number depends on the values, so these must
    be known, unless `size` says it: more are cut, fewer filled with `fill_value` (the
    least element).

    >>> import tetrad.numpy as jnp
    >>> jnp.unique(jnp.array([3, 1, 1]))
    Array([1, 3], dtype=int32)
    """
    name = "jnp.unique"
    x = value(ar, name, "ar")
    along = None if axis is None else axis_argument(axis, x.ndim, name)
    if size is None:
        found = _unique_on_host(x, along, equal_nan, name)
    else:
        count = static_int(size, name, "size")
        found = _unique_to_size(x, count, fill_value, equal_nan, along)
    wanted = (True, return_index, return_inverse, return_counts)
    result = tuple([part for part, want in zip(found, wanted) if want])
    return result[0] if len(result) == 1 else result


def _never_overwritten(name: str, overwrite_input: bool) -> None:
    """Refuses NumPy's permission to spoil the argument."""
    if overwrite_input:
        raise ValueError(
            f"{name}: arrays never change, so overwrite_input must be False; leave it out"
        )


def known(x: Value, name: str) -> np.ndarray:
    """The elements on the host; an error of a traced array."""
    if isinstance(x, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: the shape of the result depends on the values of a traced"
            f" {describe(x)}. Give its size: {name}(x, size=n), or compute it outside of"
            " transformations"
        )
    return np.asarray(x)


def _unique_on_host(x: Value, axis: int | None, equal_nan: bool, name: str) -> Unique:
    host = known(x, name)
    wide = host.astype(np.float32) if host.dtype.kind == "V" else host
    values, index, inverse, counts = np.unique(
        wide, True, True, True, axis, equal_nan=equal_nan
    )
    parts = [
        values.astype(host.dtype),
        *[part.astype(int_dtype()) for part in (index, inverse, counts)],
    ]
    if axis is None:
        parts[2] = parts[2].reshape(host.shape)
    return Unique(*[convert.array_beside(part, x) for part in parts])


def _unique_to_size(
    x: Value, size: int, fill: Any, equal_nan: bool, axis: int | None
) -> Unique:
    """The distinct slices along an axis (None: elements), cut or filled to `size`."""
    if axis is None:
        found = _unique_to_size(lax.reshape(x, (x.size,)), size, fill, equal_nan, 0)
        return found._replace(
            inverse_indices=lax.reshape(found.inverse_indices, x.shape)
        )
    slices = lax.moveaxis(x, axis, 0)
    n = slices.shape[0]
    if n == 0 and size and fill is None:
        raise ValueError("jnp.unique: an empty array has no element to fill with")
    if n == 0:
        none = [lax.full((k,), int_dtype().type(0)) for k in (size, 0, size)]
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        values = lax.full(shape, operand(fill or 0, "jnp.unique"), x.dtype)
        return Unique(values, *none)
    width = math.prod(slices.shape[1:])
    table = lax.reshape(slices, (n, width))
    columns = [
        lax.squeeze(lax.slice_in_dim(table, j, j + 1, axis=1), (1,))
        for j in range(width)
    ] or [lax.full((n,), np.int32(0))]
    places = lax.iota(np.int32, n)
    *ordered, order = lax.sort((*columns, places), 0, True, len(columns))
    changes = _changes(ordered, n, equal_nan and x.ndim == 1)
    first = lax.concatenate([lax.full((1,), np.bool_(True)), changes], 0)
    starts = true_places(first, size)
    missing = lax.lt(starts, np.int32(0))
    starts = lax.max(starts, np.int32(0))
    index = AtIndex(order, starts).get(mode="fill", fill_value=0)
    values = AtIndex(slices, index).get(mode="fill", fill_value=0)
    if fill is not None:
        filler = broadcast(
            to(operand(fill, "jnp.unique"), x.dtype, False, "jnp"), values.shape
        )
        gone = lax.broadcast_in_dim(missing, values.shape, (0,))
        values = lax.select(gone, filler, values)
    group = lax.sub(lax.cumsum(lax.convert_element_type(first, np.int32)), np.int32(1))
    inverse = AtIndex(lax.full((n,), np.int32(0)), order).set(group)
    counts = AtIndex(lax.full((size,), np.int32(0)), group).add(1, mode="drop")
    parts = [lax.convert_element_type(v, int_dtype()) for v in (index, inverse, counts)]
    return Unique(lax.moveaxis(values, 0, axis), *parts)


def _changes(columns: Sequence[Any], n: int, equal_nan: bool) -> Any:
    """Whether each but the first of n sorted rows differs from the one before it."""
    found = lax.full((n - 1,), np.bool_(False))
    for column in columns:
        later, earlier = (
            lax.slice(column, (1,), (n,)),
            lax.slice(column, (0,), (n - 1,)),
        )
        differs = lax.ne(later, earlier)
        if equal_nan and aval_of(column).inexact:
            nans = lax.bitwise_and(lax.ne(later, later), lax.ne(earlier, earlier))
            differs = lax.bitwise_and(differs, lax.bitwise_not(nans))
        found = lax.bitwise_or(found, differs)
    return found


class UniqueAll(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueAll:
    """(values, first indices, inverse, counts) of the distinct elements: see `unique`.

    >>> import tetrad.numpy as jnp
    >>> jnp.unique_all(jnp.array([3, 1, 1])).counts
    Array([2, 1], dtype=int32)
    """
    return UniqueAll(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueCounts:
    """(values, counts) of the distinct elements: see `unique`.

    >>> import tetrad.numpy as jnp
    >>> jnp.unique_counts(jnp.array([3, 1, 1])).counts
    Array([2, 1], dtype=int32)
    """
    return UniqueCounts(
        *unique(
            x, False, False, True, equal_nan=False, size=size, fill_value=fill_value
        )
    )


def unique_inverse(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> UniqueInverse:
    """(values, inverse) of the distinct elements: see `unique`.

    >>> import tetrad.numpy as jnp
    >>> jnp.unique_inverse(jnp.array([3, 1, 1])).inverse_indices
    Array([1, 0, 0], dtype=int32)
    """
    return UniqueInverse(
        *unique(
            x, False, True, False, equal_nan=False, size=size, fill_value=fill_value
        )
    )


def unique_values(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> Value:
    """The distinct elements in rising order: see `unique`.

    >>> import tetrad.numpy as jnp
    >>> jnp.unique_values(jnp.array([3, 1, 1]))
    Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)
