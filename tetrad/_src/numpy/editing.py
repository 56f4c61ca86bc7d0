"""Elements put in, taken out and overwritten; each gives a new array."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value
from tetrad._src.numpy import lax
from tetrad._src.numpy.at import AtIndex
from tetrad._src.numpy.axes import axes_argument, axis_argument
from tetrad._src.numpy.convert import describe, value
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.index import look
from tetrad._src.numpy.promote import broadcast, call
from tetrad._src.util import dtypes, errors


def _flattened(arr: Any, axis: int | None, name: str) -> tuple[Any, int]:
    x = value(arr, name, "arr")
    if axis is None:
        return lax.reshape(x, (x.size,)), 0
    return x, axis_argument(axis, x.ndim, name)


def _static_places(obj: Any, n: int, name: str) -> np.ndarray:
    """The positions that an integer, slice, or array of integers or bools names."""
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    if isinstance(obj, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: where elements go must be known when the program is built, got a"
            f" traced {describe(obj)}"
        )
    host = np.asarray(obj)
    if host.dtype == bool:
        return np.flatnonzero(host)
    return host.astype(np.int64)


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Value:
    """`arr` without the slices along `axis` that `obj` names (None: flattened).

    `obj` is an integer, a slice, or an array of integers or bools, known when the
    program is built; integers may be traced if they are one, or if
    `assume_unique_indices`. IndexError if out of range.

    >>> import tetrad.numpy as jnp
    >>> jnp.delete(jnp.arange(4), 1)
    Array([0, 2, 3], dtype=int32)
    """
    name = "jnp.delete"
    x, along = _flattened(arr, axis, name)
    n = x.shape[along]
    traced = isinstance(obj, Tracer) and obj.aval.kind in "iu"
    if traced and (obj.size == 1 or assume_unique_indices):
        return _without(x, along, obj)
    places = _static_places(obj, n, name)
    if places.size and (places.min() < -n or places.max() >= n):
        raise IndexError(
            f"{call(name)}: index out of range for axis {along} of extent {n}"
        )
    keep = np.ones(n, bool)
    keep[places] = False
    rest = np.flatnonzero(keep).astype(np.int32)
    return x[(slice(None),) * along + (rest,)]


def _without(x: Any, axis: int, places: Value) -> Any:
    """`x` without the slices at traced `places`, which are distinct."""
    n = x.shape[axis]
    flat: Any = lax.reshape(places, (places.size,))
    kept: Any = lax.full((n,), np.bool_(True))
    kept = AtIndex(kept, flat).set(False)
    # Where the slices that stay come from: their numbers in order, those that go last.
    rank = lax.sort((lax.bitwise_not(kept), lax.iota(np.int32, n)), 0, True, 1)[1]
    rest = lax.slice(rank, (0,), (n - flat.shape[0],))
    return AtIndex(x, (slice(None),) * axis + (rest,)).get(mode="clip")


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Value:
    """`arr` with `values` put in before the positions `obj` along `axis`.

    Positions are known when the program is built; a lone one may be traced. IndexError
    if out of range.

    >>> import tetrad.numpy as jnp
    >>> jnp.insert(jnp.arange(3), 1, 9)
    Array([0, 9, 1, 2], dtype=int32)
    """
    name = "jnp.insert"
    x, along = _flattened(arr, axis, name)
    n = x.shape[along]
    if isinstance(obj, Tracer) and obj.aval.kind in "iu" and not obj.ndim:
        # Put in front, then moved behind the elements that come before it.
        front = insert(x, 0, values, along if axis is not None else None)
        count = front.shape[along] - n
        place: Any = lax.convert_element_type(obj, np.int32)
        place = lax.select(lax.lt(place, np.int32(0)), place + n, place)
        line: Any = lax.iota(np.int32, n + count)
        inside = lax.bitwise_and(lax.ge(line, place), lax.lt(line, place + count))
        source = lax.select(lax.lt(line, place), line + count, line)
        source = lax.select(inside, line - place, source)
        return AtIndex(front, (slice(None),) * along + (source,)).get(mode="clip")
    places = _static_places(obj, n, name)
    if places.size and (places.min() < -n or places.max() > n):
        raise IndexError(
            f"{call(name)}: index out of range for axis {along} of extent {n}"
        )
    v = lax.convert_element_type(value(values, name, "values"), x.dtype)
    scalar = places.ndim == 0
    places = np.where(places < 0, places + n, places).reshape(-1)
    if scalar and v.ndim and axis is not None:
        v = lax.reshape(v, (1,) * (x.ndim - v.ndim) + v.shape)
        v = lax.transpose(v, _front_to(v.ndim, along))
    elif v.ndim == 0:
        v = lax.reshape(v, (1,) * x.ndim)
    else:
        v = lax.reshape(v, (1,) * (x.ndim - v.ndim) + v.shape)
    count = v.shape[along] if places.size == 1 else places.size
    if places.size == 1:
        places = np.repeat(places, count)
    order = np.argsort(places, kind="stable")
    slots = np.empty(count, np.int64)
    slots[order] = places[order] + np.arange(count)
    shape = [count if i == along else e for i, e in enumerate(x.shape)]
    v = broadcast(v, tuple(shape))
    rest = np.setdiff1d(np.arange(n + count), slots)
    source = np.empty(n + count, np.int32)
    source[rest] = np.arange(n)
    source[slots] = n + np.arange(count)
    both = lax.concatenate([x, v], along)
    return both[(slice(None),) * along + (source,)]


def _front_to(ndim: int, axis: int) -> tuple[int, ...]:
    order = list(range(1, ndim))
    order.insert(axis, 0)
    return tuple(order)


def fill_diagonal(
    a: Any, val: Any, wrap: bool = False, *, inplace: bool = True
) -> Value:
    """`a` with `val` on its main diagonal; write inplace=False, arrays never change.

    ValueError unless all extents are equal, or there are two.

    >>> import tetrad.numpy as jnp
    >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 1., inplace=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    name = "jnp.fill_diagonal"
    if inplace:
        raise NotImplementedError(
            f"{name}: arrays never change; write x = {name}(x, val, inplace=False)"
        )
    if wrap:
        raise NotImplementedError(f"{name}: wrap=True is not available")
    x = value(a, name, "a")
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) != 1):
        raise ValueError(f"{name}: needs two axes, or equal extents, got {describe(x)}")
    n = min(x.shape)
    line = lax.iota(np.int32, n)
    v = _in_dtype_of(x, val, name, "val")
    if v.ndim:
        v = lax.reshape(v, (v.size,))
        v = v[np.arange(n) % v.shape[0]]
    return AtIndex(x, (line,) * x.ndim).set(v)


def _in_dtype_of(x: Value, v: Any, name: str, argument: str) -> Any:
    """The values of an argument as an array in the dtype of `x`."""
    if type(v) is int:
        dtypes.check_narrowing(v, x.dtype, f"{name}: the Python integer")
    return lax.convert_element_type(value(v, name, argument), x.dtype)


def put(
    a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True
) -> Value:
    """`a` with v[i] at the flat index ind[i]; write inplace=False, arrays never change.

    Mode "wrap" goes around, "clip" brings indices into 0 … size − 1; by default negative
    ones count from the end first.

    >>> import tetrad.numpy as jnp
    >>> jnp.put(jnp.zeros(3), jnp.array([0, 2]), jnp.array([7., 8.]), inplace=False)
    Array([7., 0., 8.], dtype=float32)
    """
    name = "jnp.put"
    if inplace:
        raise ValueError(
            f"{name}: arrays never change; x = {name}(x, …, inplace=False)"
        )
    x, places = value(a, name, "a"), value(ind, name, "ind")
    if mode is None and x.size:
        look([(places, 0)], (x.size,), True, name, "put")
    places = lax.reshape(places, (places.size,))
    new = _in_dtype_of(x, v, name, "v")
    new = lax.reshape(new, (new.size,))
    if not places.size or not new.size:
        return x
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f'{name}: mode must be None, "clip" or "wrap", got {mode!r}')
    if mode is None:
        size = number(places, x.size)
        places = lax.select(places < 0, lax.add(places, size), places)
    if mode == "wrap":
        places = places % x.size
    else:
        places = lax.clamp(
            number(places, 0), places, number(places, max(x.size - 1, 0))
        )
    new = new[np.arange(places.size) % new.shape[0]]
    flat = lax.reshape(x, (x.size,))
    changed = AtIndex(flat, places).set(new, mode="drop")
    return lax.reshape(changed, x.shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Value:
    """`arr` with its elements where `mask` is true replaced by vals[0], vals[1], … in turn.

    Write inplace=False: arrays never change.

    >>> import tetrad.numpy as jnp
    >>> jnp.place(jnp.arange(4), jnp.arange(4) > 1, jnp.array([7, 8]), inplace=False)
    Array([0, 1, 7, 8], dtype=int32)
    """
    name = "jnp.place"
    if inplace:
        raise ValueError(
            f"{name}: arrays never change; x = {name}(x, …, inplace=False)"
        )
    x, picks, new = value(arr, name), value(mask, name), value(vals, name)
    if picks.size != x.size:
        raise ValueError(
            f"{name}: {describe(x)} needs a mask of its size, got {describe(picks)}"
        )
    if not new.size and x.size:
        raise ValueError(f"{name}: vals is {describe(new)}, there is nothing to place")
    if not x.size:
        return x
    new = lax.reshape(new, (new.size,))
    picks = lax.reshape(lax.convert_element_type(picks, np.bool_), (x.size,))
    rank = lax.cumsum(lax.convert_element_type(picks, np.int32)) - 1
    chosen = AtIndex(new, rank % new.shape[0]).get(mode="clip")
    flat = lax.reshape(x, (x.size,))
    result = lax.select(picks, lax.convert_element_type(chosen, x.dtype), flat)
    return lax.reshape(result, x.shape)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Value:
    """An array without the zeros at its front ("f") and back ("b").

    Along each axis in `axis` (None: all), slices full of zeros go. The shape of the
    result depends on the values, so they must be known.

    >>> import tetrad.numpy as jnp
    >>> jnp.trim_zeros(jnp.array([0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int32)
    """
    name = "jnp.trim_zeros"
    x = value(filt, name, "filt")
    if isinstance(x, Tracer):
        raise errors.ConcretizationTypeError(
            f"{name}: the shape of the result depends on the traced {describe(x)}"
        )
    if not isinstance(trim, str) or not trim or trim.lower().strip("fb"):
        raise TypeError(f'{name}: trim must be "f", "b" or "fb", got {trim!r}')
    axes = axes_argument(axis, x.ndim, name)
    places = np.nonzero(np.asarray(x))
    window = [slice(None)] * x.ndim
    for i in axes:
        found, n = places[i], x.shape[i]
        if not found.size:
            window[i] = slice(0, 0)
            continue
        start = int(found.min()) if "f" in trim.lower() else 0
        stop = int(found.max()) + 1 if "b" in trim.lower() else n
        window[i] = slice(start, stop)
    return x[tuple(window)]  # type: ignore[no-any-return, index]
