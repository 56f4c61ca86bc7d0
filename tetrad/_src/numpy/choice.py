"""Choosing between arrays, and picking elements: `where`, `clip`, `take` and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.at import AtIndex
from tetrad._src.numpy.axes import axis_argument, listed
from tetrad._src.numpy.convert import describe, operand, operands, value
from tetrad._src.numpy.create import spread
from tetrad._src.numpy.elementwise import maximum, minimum, no_out, number
from tetrad._src.numpy.index import Dynamic, Index, Span, getitem, look, read
from tetrad._src.numpy.logic import as_bool
from tetrad._src.numpy.plan import Planner, planned, planned_whole
from tetrad._src.numpy.promote import (
    broadcast_shapes,
    call,
    common_shape,
    lattice,
    promote_dtypes,
    same_dtype,
    shapes_message,
    stretch,
    to,
)
from tetrad._src.numpy.search import nonzero
from tetrad._src.ops import bounds
from tetrad._src.util import dtypes, errors


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """x where `condition` is true (not 0), else y, element by element.

    The three broadcast; x and y promote to one dtype. With the condition alone, the
    indices of its true elements: see `nonzero`. TypeError if one of x, y is missing.

    >>> import tetrad.numpy as jnp
    >>> jnp.where(jnp.array([True, False]), jnp.array([1, 2]), 0)
    Array([1, 0], dtype=int32)
    """
    name = "jnp.where"
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise TypeError(f"{name}: give both x and y, or neither")
    if size is not None or fill_value is not None:
        raise ValueError(f"{name}: size and fill_value are for the condition alone")
    mask = operand(condition, name, "condition")
    x, y = operand(x, name, "x"), operand(y, name, "y")
    x, y = _beside(x, y), _beside(y, x)
    if not isinstance(mask, Value):
        return chosen(mask, x, y, name)
    return _choices.run(
        (mask.aval, aval_of(x), aval_of(y)),
        lambda mask, x, y: chosen(mask, x, y, name),
        (mask, x, y),
    )


_choices = Planner("where")


def _beside(x: Any, y: Any) -> Any:
    """A number as the array beside it has its elements, if nothing is lost by that."""
    if type(x) is int and isinstance(y, Value) and y.aval.kind == "f":
        return number(y, x)
    return x


def chosen(mask: Any, x: Any, y: Any, name: str) -> Any:
    """x where `mask`, else y, for operands as `operand` gives them."""
    try:
        shape = broadcast_shapes(*[aval_of(v).shape for v in (mask, x, y)])
    except ValueError as error:
        raise ValueError(shapes_message(name, [mask, x, y], str(error))) from None
    pairs = [(aval_of(v).dtype, aval_of(v).weak_type) for v in (x, y)]
    dtype, weak = lattice(name, pairs)
    x, y = [stretch(to(v, dtype, weak, name), shape) for v in (x, y)]
    mask = stretch(as_bool(mask), shape)
    result = lax.select(mask, x, y)
    return lax.convert_element_type(result, dtype, weak)


@planned_whole
def select(
    condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0
) -> Value:
    """The element of the first choice whose condition is true, else `default`.

    All broadcast to one shape. ValueError unless there are as many choices as conditions.

    >>> import tetrad.numpy as jnp
    >>> x = jnp.arange(4)
    >>> jnp.select([x < 1, x < 3], [x, -x], 9)
    Array([ 0, -1, -2,  9], dtype=int32)
    """
    name = "jnp.select"
    condlist, choicelist = [
        listed(given, name, argument)
        for given, argument in ((condlist, "condlist"), (choicelist, "choicelist"))
    ]
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"{name}: {len(condlist)} conditions and {len(choicelist)} choices; there"
            " must be as many, at least one"
        )
    *choices, last = same_dtype(name, operands(name, [*choicelist, default]))
    result = last
    for mask, choice in zip(reversed(condlist), reversed(choices)):
        result = chosen(operand(mask, name), choice, result, name)
    return value(result, name)


def piecewise(
    x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any
) -> Value:
    """Functions (or values) of x on the parts of its domain that conditions name.

    Later conditions win; a function more than there are conditions is for the rest.

    >>> import tetrad.numpy as jnp
    >>> jnp.piecewise(jnp.arange(3.), [jnp.arange(3) > 1], [lambda v: 10 * v, 0.])
    Array([ 0.,  0., 20.], dtype=float32)
    """
    name = "jnp.piecewise"
    v = value(x, name, "x")
    if isinstance(condlist, (Value, np.ndarray)):
        alone = condlist.ndim == v.ndim and condlist.shape == v.shape
        condlist = [condlist] if alone else [*condlist]  # type: ignore[misc]
    masks = listed(condlist, name, "condlist")
    functions = listed(funclist, name, "funclist")
    if len(functions) == len(masks) + 1:
        result = _piece(functions.pop(), v, args, kw)
    elif len(functions) == len(masks):
        result = lax.full(v.shape, number(v, 0))
    else:
        raise ValueError(
            f"{name}: {len(masks)} conditions take as many functions, or one more; got"
            f" {len(functions)}"
        )
    for mask, function in zip(masks, functions):
        piece = _piece(function, v, args, kw)
        result = chosen(operand(mask, name), piece, result, name)
    return lax.convert_element_type(result, v.dtype)


def _piece(function: Any, x: Value, args: Any, kw: Any) -> Any:
    if callable(function):
        return operand(function(x, *args, **kw), "jnp.piecewise")
    return operand(function, "jnp.piecewise")


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Value:
    """choices[a[i]][i], element by element; all broadcast.

    Mode "clip" or "wrap" brings indices into range; "raise", the default, looks at the
    indices, which must be known: ValueError where one is out of range.

    >>> import tetrad.numpy as jnp
    >>> jnp.choose(jnp.array([0, 1]), [jnp.array([1, 2]), jnp.array([3, 4])], mode="clip")
    Array([1, 4], dtype=int32)
    """
    name = "jnp.choose"
    no_out(name, out)
    index = value(a, name, "a")
    if isinstance(choices, (Value, np.ndarray)):
        choices = [choices[i] for i in range(choices.shape[0])]  # type: ignore[index]
    options = promote_dtypes(name, *listed(choices, name, "choices"))
    shape = common_shape(name, [index, *options])
    n = len(options)
    if mode == "raise":
        host = np.asarray(index)
        if host.size and (host.min() < 0 or host.max() >= n):
            raise ValueError(f"{name}: an index is out of range for {n} choices")
    elif mode == "wrap":
        index = index % n
    elif mode != "clip":
        raise ValueError(
            f'{name}: mode must be "raise", "wrap" or "clip", got {mode!r}'
        )
    index = stretch(index, shape)
    result = spread(options[0], shape, name)
    for i, option in enumerate(options[1:], 1):
        at = lax.ge(index, number(index, i))
        result = lax.select(at, stretch(option, shape), result)
    return result


def clip(
    arr: Any = None,
    /,
    min: Any = None,
    max: Any = None,
    *,
    a: Any = None,
    a_min: Any = None,
    a_max: Any = None,
) -> Value:
    """The elements held between `min` and `max`; None leaves a side open.

    min(max(x, `min`), `max`), with broadcasting. TypeError for complex numbers.

    >>> import tetrad.numpy as jnp
    >>> jnp.clip(jnp.arange(5), 1, 3)
    Array([1, 1, 2, 3, 3], dtype=int32)
    """
    name = "jnp.clip"
    numbers = type(min) in _NUMBERS and type(max) in _NUMBERS
    if numbers and isinstance(arr, Value) and arr.aval.dtype in _WIDE:  # as a rule
        operands = arr, float(min), float(max)
        return _clips_between.run(arr.aval, _between, operands)  # type: ignore[no-any-return]
    arr = a if arr is None else arr
    low = a_min if min is None else min
    high = a_max if max is None else max
    if arr is None:
        raise TypeError(f"{name}: the array is missing")
    x = operand(arr, name, "arr")
    ends = [v if v is None else _bound(x, operand(v, name), name) for v in (low, high)]
    given = [v for v in ends if v is not None]
    avals = tuple([aval_of(v) for v in (x, *given)])
    if "c" in [aval.kind for aval in avals]:
        raise ValueError(
            f"{call(name)}: Complex values have no ordering and cannot be clipped;"
            " clip .real and .imag apart"
        )
    if not isinstance(x, Value):
        return value(_clipped(x, ends[0], ends[1], name), name)
    sides = low is not None, high is not None

    def function(x: Any, *given: Any) -> Any:
        rest = iter(given)
        low, high = [next(rest) if side else None for side in sides]
        return _clipped(x, low, high, name)

    return _clips.run((sides, avals), function, (x, *given))  # type: ignore[no-any-return]


_clips = Planner("clip")
_clips_between = Planner("clip between numbers")
_NUMBERS = (int, float)
# Floats to which a Python number is rounded once, as an operand of its own.
_WIDE = (np.dtype(np.float32), np.dtype(np.float64))


def _between(x: Any, low: Any, high: Any) -> Any:
    return _clipped(x, low, high, "jnp.clip")


def _bound(x: Any, bound: Any, name: str) -> Any:
    """A number as the array `x` has its elements, if their dtype stays."""
    kind = x.aval.kind if isinstance(x, Value) else ""
    if (type(bound) is int and kind in ("f", "i", "u")) or (
        type(bound) is float and kind == "f"
    ):
        return to(bound, x.aval.dtype, x.aval.weak_type, name)
    return bound


def _clipped(x: Any, low: Any, high: Any, name: str) -> Any:
    """min(max(x, low), high) of operands, where None leaves a side open."""
    if low is not None:
        x = maximum.slow(x, low, name)
    if high is not None:
        x = minimum.slow(x, high, name)
    return x


@planned_whole
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Value:
    """x with NaN replaced by `nan`, and infinities by the largest finite numbers.

    `posinf` and `neginf` name other replacements. Integers come back unchanged.

    >>> import tetrad.numpy as jnp
    >>> jnp.nan_to_num(jnp.array([jnp.nan, 1.]))
    Array([0., 1.], dtype=float32)
    """
    v = operand(x, "jnp.nan_to_num", "x")
    kind = aval_of(v).kind
    if kind == "c":
        parts = [
            nan_to_num(part, copy, nan, posinf, neginf)
            for part in (lax.real(v), lax.imag(v))
        ]
        return lax.complex(*parts)
    if kind != "f":
        return value(v, "jnp.nan_to_num")
    limits = dtypes.finfo(aval_of(v).dtype)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    result = lax.select(lax.ne(v, v), number_or_array(nan, v), v)
    infinity = number(v, np.inf)
    result = lax.select(lax.eq(v, infinity), number_or_array(high, v), result)
    result = lax.select(lax.eq(v, number(v, -np.inf)), number_or_array(low, v), result)
    return lax.convert_element_type(result, aval_of(v).dtype, aval_of(v).weak_type)


def number_or_array(new: Any, x: Any) -> Any:
    """A replacement in the dtype of `x`."""
    aval = aval_of(x)
    new = to(
        operand(new, "jnp.nan_to_num"), aval.dtype, aval.weak_type, "jnp.nan_to_num"
    )
    return stretch(new, aval.shape)


# ----------------------------------------------------------------------------------- take


def _take_mode(mode: Any, name: str) -> Any:
    if mode in (None, "fill"):
        return lax.GatherScatterMode.FILL_OR_DROP
    if mode in ("clip", "promise_in_bounds"):
        return lax.GatherScatterMode.from_any(mode)
    if isinstance(mode, lax.GatherScatterMode) or mode == "wrap":
        return mode
    if mode == "raise":
        raise NotImplementedError(
            f'{name}: mode "raise" would wait for the values; use "fill" or "clip"'
        )
    raise ValueError(
        f'{name}: mode must be "fill", "clip", "wrap" or "promise_in_bounds", got {mode!r}'
    )


def _look(
    name: str, a: Any, indices: Any, axis: Any, mode: Any, wraps: bool = True
) -> None:
    """Looks at indices of which nothing is said for those out of range."""
    if mode is None and indices.aval.kind in "iu":
        shape = (a.size,) if axis is None else a.shape
        axis = 0 if axis is None else axis % max(a.ndim, 1)
        look([(indices, axis)], shape, wraps, name, "take")


def _places(indices: Any, name: str) -> Any:
    """The indices as an array; of NumPy's it is noted how far they reach."""
    places = value(indices, name, "indices")
    if isinstance(indices, (np.ndarray, np.generic, int)) and places.aval.kind in "iu":
        bounds.remember(places, np.asarray(indices))
    return places


def _look_take(
    a: Any, indices: Any, axis: Any = None, out: None = None, mode: Any = None, **_: Any
) -> None:
    if mode is None and not (axis is None and bounds.inside(indices, a.size)):
        _look("jnp.take", a, indices, axis, mode)


def _look_along(
    arr: Any,
    indices: Any,
    axis: Any = -1,
    mode: Any = None,
    *_: Any,
    wrap_negative_indices: Any = None,
    **__: Any,
) -> None:
    wraps = wrap_negative_indices is not False
    _look("jnp.take_along_axis", arr, indices, axis, mode, wraps)


@planned(2, before=_look_take)
def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: Any = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Value:
    """The elements of `a` at `indices` along `axis` (None: of the flattened array).

    Indices out of range read `fill_value`, NaN by default (integers: their extreme);
    mode "clip" moves them inside, "wrap" takes them modulo the extent.

    >>> import tetrad.numpy as jnp
    >>> jnp.take(jnp.array([5, 6, 7]), jnp.array([2, 0]))
    Array([7, 5], dtype=int32)
    """
    name = "jnp.take"
    no_out(name, out)
    x = value(a, name, "a")
    if axis is None:
        x = lax.reshape(x, (x.size,)) if x.ndim != 1 else x
        along = 0
    else:
        along = axis_argument(axis, x.ndim, name)
    found = _take_mode(mode, name)
    if type(indices) is int:
        least = -x.shape[along] if found is lax.GatherScatterMode.FILL_OR_DROP else 0
        if least <= indices < x.shape[along]:  # as x[..., i, ...]
            index = (slice(None),) * along + (indices,) if along else indices
            return getitem(x, index)  # type: ignore[no-any-return]
    places = _places(indices, name)
    if places.aval.kind not in "iu":
        raise TypeError(
            f"{call(name)}: indices must be integers, got {describe(places)}"
        )
    _look(name, x, places, along, mode)
    if found == "wrap":
        places = places % x.shape[along]
        found = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    clipped = found is lax.GatherScatterMode.CLIP
    entries: list[Any] = [Span(0, n, 1) for n in x.shape]
    entries[along] = Dynamic(places, clipped or places.aval.kind == "u")
    return read(x, Index(entries, name), found, fill_value, False)


@planned(2, before=_look_along)
def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Value:
    """arr[…, indices[…, j, …], …]: picks along `axis`, lane by lane.

    Both have one rank; the other axes broadcast. None picks from the flattened array.
    Indices out of range read `fill_value` (NaN by default); see `take` for modes.
    Negative indices count from the end; in mode "promise_in_bounds" only if
    `wrap_negative_indices=True`.

    >>> import tetrad.numpy as jnp
    >>> x = jnp.array([[3, 1], [2, 5]])
    >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
    Array([[1, 3],
           [2, 5]], dtype=int32)
    """
    name = "jnp.take_along_axis"
    x, places = value(arr, name, "arr"), _places(indices, name)
    if places.aval.kind not in "iu":
        raise TypeError(
            f"{call(name)}: take_along_axis indices must be of integer type, got"
            f" {places.dtype.name}"
        )
    if axis is None:
        if places.ndim != 1:
            raise ValueError(f"{name}: axis=None takes a vector of indices")
        x, axis = lax.reshape(x, (x.size,)), 0
    if x.ndim != places.ndim:
        raise ValueError(
            f"{call(name)}: arr is {describe(x)}, indices are {describe(places)}; they"
            " must have as many axes"
        )
    along = axis_argument(axis, x.ndim, name)
    found = _take_mode(None if mode == "one_hot" else mode, name)
    counted = found is lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if wrap_negative_indices is not None:
        counted = not wrap_negative_indices
    _look(name, x, places, along, mode, not counted)
    if found == "wrap":
        places = places % x.shape[along]
        found, counted = lax.GatherScatterMode.PROMISE_IN_BOUNDS, True
    return _picked(x, places, along, found, fill_value, counted, name)


def _picked(
    x: Value, places: Value, axis: int, mode: Any, fill: Any, counted: bool, name: str
) -> Any:
    """Lanes are batch axes of one gather; axes of extent 1 broadcast."""
    shape = list(x.shape)
    shape[axis] = 1
    wide = list(places.shape)
    wide[axis] = 1
    try:
        lanes = broadcast_shapes(tuple(shape), tuple(wide))
    except ValueError:
        raise errors.ShapeError(
            f"{call(name)}: arr is {describe(x)}, indices are {describe(places)}; their"
            f" extents must broadcast along every axis but axis {axis}"
        ) from None
    x = spread(x, lanes[:axis] + (x.shape[axis],) + lanes[axis + 1 :], name)
    full = lanes[:axis] + (places.shape[axis],) + lanes[axis + 1 :]
    places = spread(places, full, name)
    entries: list[Any] = []
    for i, n in enumerate(full):
        if i == axis:
            entries.append(Dynamic(places, counted or places.aval.kind == "u"))
        else:
            lane = lax.iota(np.int32, n)
            tail = [1] * (len(full) - 1 - i)
            entries.append(Dynamic(lax.reshape(lane, (n, *tail)), True))
    return read(x, Index(entries, name), mode, fill, False)


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: Any = None,
) -> Value:
    """`arr` with `values` at the elements that `take_along_axis` reads; `inplace=False`.

    ValueError for inplace=True: arrays never change.

    >>> import tetrad.numpy as jnp
    >>> x = jnp.zeros((2, 2))
    >>> jnp.put_along_axis(x, jnp.array([[1], [0]]), 5., 1, inplace=False)
    Array([[0., 5.],
           [5., 0.]], dtype=float32)
    """
    name = "jnp.put_along_axis"
    if inplace:
        raise ValueError(
            f"{name}: arrays never change; x = {name}(x, …, inplace=False)"
        )
    x, places = value(arr, name, "arr"), value(indices, name, "indices")
    if axis is None:
        flat = lax.reshape(x, (x.size,))
        return lax.reshape(AtIndex(flat, places).set(values, mode=mode), x.shape)
    along = axis_argument(axis, x.ndim, name)
    lanes = [
        places
        if i == along
        else lax.reshape(lax.iota(np.int32, n), (n, *[1] * (x.ndim - 1 - i)))
        for i, n in enumerate(x.shape)
    ]
    return AtIndex(x, tuple(lanes)).set(values, mode=mode)


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Value:
    """The slices of `a` along `axis` whose condition is true; their number is `size`.

    Without `size`, the condition must be known when the program is built. A condition
    may be longer than the axis, if nothing is true there: ValueError otherwise.

    >>> import tetrad.numpy as jnp
    >>> jnp.compress(jnp.array([True, False, True]), jnp.arange(3))
    Array([0, 2], dtype=int32)
    """
    name = "jnp.compress"
    no_out(name, out)
    x = value(a, name, "a")
    mask = value(condition, name, "condition")
    if axis is None:
        x = lax.reshape(x, (x.size,))
        axis = 0
    along = axis_argument(axis, x.ndim, name)
    if mask.ndim != 1:
        raise ValueError(f"{name}: condition must be a vector, got {describe(mask)}")
    mask = _fitting(mask, x.shape[along], name)
    (places,) = nonzero(mask, size=size, fill_value=x.shape[along])
    return take(x, places, along, mode="fill", fill_value=fill_value)


def extract(
    condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0
) -> Value:
    """The elements of `arr` whose condition is true, flattened: see `compress`.

    >>> import tetrad.numpy as jnp
    >>> jnp.extract(jnp.arange(4) > 1, jnp.arange(4))
    Array([2, 3], dtype=int32)
    """
    mask = value(condition, "jnp.extract", "condition")
    flat = lax.reshape(mask, (mask.size,))
    x = value(arr, "jnp.extract", "arr")
    x = lax.reshape(x, (x.size,))
    flat = _fitting(flat, x.size, "jnp.extract")
    return compress(flat, x, size=size, fill_value=fill_value)


def _fitting(mask: Any, n: int, name: str) -> Any:
    """A mask without what stands beyond `n` elements, where nothing may be true."""
    if mask.size <= n:
        return mask
    if not isinstance(mask, Tracer) and np.asarray(mask[n:]).any():
        raise ValueError(
            f"{name}: the condition has {mask.size} elements, and one is true beyond"
            f" the {n} of the array"
        )
    return mask[:n]
