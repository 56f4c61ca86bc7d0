"""Indexing: `x[…]` with ints, slices, `...`, None, integer arrays and bool arrays.

An index comes in as the user wrote it. `parse` takes it apart into one entry for each
axis of the array (`Static` int, `Span` of a slice, `Dynamic` index array) and None for
new axes. Without arrays the result is a slice; with them, slices are taken first and
the arrays drive one `gather`.

Outside transformations, starts of slices are arguments of the program, not part of it,
so that `x[i]` for changing `i` compiles once; while a program is staged they are static.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import STATE, Tracer, Value, active, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import static_advice
from tetrad._src.numpy.convert import from_host
from tetrad._src.numpy.elementwise import number
from tetrad._src.numpy.plan import Planner
from tetrad._src.numpy.promote import broadcast_shapes, call
from tetrad._src.ops import bounds, keys
from tetrad._src.util import errors, frames, source, tree
from tetrad._src.util.config import config
from tetrad._src.util.memo import Cache

Shape = tuple[int, ...]


# ------------------------------------------------------------------------------- entries


@dataclasses.dataclass(slots=True)
class Static:
    """An integer counted from 0: known while the program is built, or an operand."""

    at: Any


@dataclasses.dataclass(slots=True)
class Span:
    """`size` elements from `start`, `step` apart (negative: backwards)."""

    start: int
    size: int
    step: int

    @property
    def low(self) -> int:
        """The smallest index that is touched."""
        return self.start + min(0, (self.size - 1) * self.step) if self.size else 0

    @property
    def extent(self) -> int:
        """How many indices lie from the smallest to the largest."""
        return (self.size - 1) * abs(self.step) + 1 if self.size else 0

    def whole(self, n: int) -> bool:
        return self.size == n and self.step == 1


@dataclasses.dataclass(slots=True)
class Dynamic:
    """An array of integers (perhaps without axes); `counted` if none is negative."""

    index: Any
    counted: bool = False


Entry = Static | Span | Dynamic | None


@dataclasses.dataclass(slots=True)
class Index:
    """An index taken apart: entries in the order written, None for new axes.

    `gap` is the entry in front of which `...` stands for no axis, if it does: index
    arrays on both sides of it are not side by side, as in NumPy.
    """

    entries: list[Entry]
    name: str
    gap: int | None = None

    def arrays(self) -> list[Dynamic]:
        return [e for e in self.entries if type(e) is Dynamic]

    def look(self, shape: Shape, how: str) -> None:
        """Looks at the index arrays, as far as `bounds` asks for it."""
        given = []
        axis = 0
        for e in self.entries:
            if type(e) is Dynamic:
                given.append((e.index, bounds.limit(axis, shape[axis], e.counted, how)))
            axis += e is not None
        if given:
            bounds.look(given, shape, self.name)

    def gathers(self) -> bool:
        """Whether index arrays with axes take part."""
        return any(aval_of(e.index).ndim for e in self.arrays())


# --------------------------------------------------------------------------------- parse


def parse(idx: Any, shape: Shape, name: str, lenient: bool = False) -> Index:
    """Takes `idx` apart for an array of `shape`.

    Integers out of range become index arrays: `Index.look` or a mode deals with them.
    `lenient`: also where JAX has an error of them.
    """
    items = [_host_array(i) for i in idx] if isinstance(idx, tuple) else [idx]
    items = _without_masks([_item(i, name) for i in items], shape, name)
    count = len([i for i in items if i is not None and i is not Ellipsis])
    if count > len(shape):
        raise IndexError(
            f"{call(name)}: Too many indices: array is {len(shape)}-dimensional, but"
            f" {count} were indexed (shape {shape})"
        )
    places = [n for n, i in enumerate(items) if i is Ellipsis]
    if len(places) > 1:
        raise IndexError(f"{call(name)}: an index may hold one ellipsis (...)")
    place = places[0] if places else len(items)
    rest = [slice(None)] * (len(shape) - count)
    items[place : place + 1] = rest
    entries: list[Entry] = []
    axis = 0
    for item in items:
        if item is None:
            entries.append(None)
            continue
        entries.append(_entry(item, axis, shape, name, lenient))
        axis += 1
    gap = place if places and not rest else None
    return Index(entries, name, gap)


def _host_array(item: Any) -> Any:
    """A list among several indices as an array; other items as they are."""
    if not isinstance(item, (list, tuple)):
        return item
    leaves = tree.leaves(item)
    if any(isinstance(leaf, Value) for leaf in leaves):
        whole = [type(leaf) is int or _is_whole(leaf) for leaf in leaves]
        return _stacked(item) if all(whole) else item
    try:
        found = np.asarray(item)
    except ValueError:
        return item
    if found.size == 0:
        return found.astype(np.int32)
    return found if found.dtype.kind in "iub" else item


def _is_whole(x: Any) -> bool:
    return isinstance(x, (Value, np.integer)) and aval_of(x).kind in "iu"


def _stacked(item: Any) -> Any:
    """Nested lists of integers, some of them arrays, as one index array."""
    if not isinstance(item, (list, tuple)):
        return lax.convert_element_type(item, np.int32)
    rows = [lax.expand_dims(_stacked(i), (0,)) for i in item]
    return lax.concatenate(rows, 0)


def _item(item: Any, name: str) -> Any:
    """One item of an index: an int, slice, None, Ellipsis, or an array."""
    if item is None or item is Ellipsis or type(item) in (int, slice):
        return item
    if isinstance(item, (bool, np.bool_)):
        return np.asarray(item)
    if isinstance(item, (Value, np.ndarray)):
        kind = aval_of(item).kind
        if kind not in "iub":
            raise TypeError(
                f"{call(name)}: Indexer must have integer or boolean type, got indexer with"
                f" type {aval_of(item).long_name()}; convert it with .astype(int)"
            )
        if isinstance(item, np.ndarray) and item.ndim == 0 and kind != "b":
            return int(item)
        return item
    if isinstance(item, (list, tuple)):
        raise TypeError(
            f"{call(name)}: Using a non-tuple sequence for multidimensional indexing is not"
            f" allowed; a list is no index. Write {_indexed(name)}[jnp.array({item!r})], so that"
            " the copy to the device is visible, or arr[tuple(seq)] for one index an axis"
        )
    if isinstance(item, str):
        raise TypeError(
            f"{call(name)}: JAX does not support string indexing: arrays have no fields,"
            f" got index {item!r}"
        )
    try:
        return operator.index(item)
    except TypeError:
        hint = "; // divides integers without rest" if isinstance(item, float) else ""
        raise TypeError(
            f"{call(name)}: Indexer must have integer or boolean type, got indexer with type"
            f" {type(item).__name__}: an index is an integer, a slice, ..., None or an array"
            f" of integers or bools, not {item!r}{hint}"
        ) from None


def is_mask(item: Any) -> bool:
    """Whether an item of an index is an array of bools."""
    return isinstance(item, (Value, np.ndarray)) and aval_of(item).kind == "b"


def _without_masks(items: list[Any], shape: Shape, name: str) -> list[Any]:
    """Bool arrays become the index arrays of their true elements."""
    if not any(is_mask(i) for i in items):
        return items
    result: list[Any] = []
    used = len([i for i in items if i is not None and i is not Ellipsis])
    used += sum([i.ndim - 1 for i in items if is_mask(i)])
    axis = 0
    for item in items:
        if item is Ellipsis:
            axis += len(shape) - used
        elif is_mask(item):
            check_mask(item, shape[axis : axis + item.ndim], name)
            result.extend(_true_places(item, name))
            axis += item.ndim
            continue
        elif item is not None:
            axis += 1
        result.append(item)
    return result


def check_mask(mask: Any, shape: Shape, name: str) -> None:
    fits = mask.ndim == len(shape)
    fits = fits and all(m in (0, n) for m, n in zip(mask.shape, shape))
    if not fits:
        raise IndexError(
            f"{call(name)}: boolean index did not match shape of the axes it picks from;"
            f" it has {mask.shape}, they have {shape}"
        )


def _true_places(mask: Any, name: str) -> list[Any]:
    if isinstance(mask, Tracer):
        raise errors.NonConcreteBooleanIndexError(_unknown_count(mask, name))
    host = np.asarray(mask)
    return [i.astype(np.int32) for i in np.nonzero(host)]


def bool_axes(x: Any, idx: Any) -> tuple[Any, Any, Any] | None:
    """`x` and an index without scalar bools that pick the same, or None.

    True and False pick from no axis and add one of extent 1 or 0: they become arrays of
    indices along new axes of `x`. The third result is the index that drops those axes.
    """
    items = idx if isinstance(idx, tuple) else (idx,)
    if not any(_is_scalar_bool(i) for i in items):
        return None
    wider: list[Any] = []
    without: list[Any] = []
    chosen: list[Any] = []
    for item in items:
        if _is_scalar_bool(item):
            wider.append(None)
            without.append(0)
            chosen.append(np.zeros(int(bool(item)), np.int32))
            continue
        chosen.append(item)
        if item is None:
            continue
        axes = np.ndim(item) if is_mask(item) else 1
        taken = [Ellipsis] if item is Ellipsis else [slice(None)] * axes
        wider += taken
        without += taken
    return getitem(x, tuple(wider)), tuple(chosen), tuple(without)


def _is_scalar_bool(item: Any) -> bool:
    if isinstance(item, (bool, np.bool_)):
        return True
    return is_mask(item) and np.ndim(item) == 0 and not isinstance(item, Tracer)


def _unknown_count(mask: Tracer, name: str) -> str:
    text = call(name)
    problem = (
        f"{text}: the result's shape would depend on how many elements of the traced"
        f" {mask.aval.long_name()} mask are true."
    )
    if ".at" in text:
        return (
            f"{problem} With a mask, x.at[mask].set(v) takes a number v, or an array that"
            " broadcasts to the axes behind the mask; for other values write"
            " jnp.where(mask, values, x) with values of the shape of x"
        )
    words = source.subscript(text) or ("x", "mask")
    array, index = words if len("".join(words)) <= 30 else ("x", "mask")
    return (
        f"{problem} Keep the shape and choose with jnp.where({index}, {array}, 0); or name"
        f" the size of the result: {array}[jnp.nonzero({index}, size=n, fill_value=0)];"
        f" {array}.at[{index}].set(scalar) works"
    )


_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1


def _entry(item: Any, axis: int, shape: Shape, name: str, lenient: bool) -> Entry:
    n = shape[axis]
    if type(item) is int:
        if -n <= item < n:
            return Static(item + n if item < 0 else item)
        if lenient or (n and not config.jax_check_static_indices):
            return Dynamic(np.int32(max(_LOWEST, min(item, _HIGHEST))))
        raise IndexError(
            f"{call(name)}: index {item} out of bounds for axis {axis} with size {n}"
            f" (shape {shape})"
        )
    if type(item) is slice:
        return _span(item, n, name)
    if isinstance(item, np.ndarray):
        return Dynamic(*_index_array(item, name))
    return Dynamic(item, item.aval.kind == "u")


def _index_array(host: np.ndarray, name: str) -> tuple[Any, bool]:
    """An index array of the host on the device, and whether no index is negative."""
    made = from_host(host.astype(np.int32), name)
    low, _ = bounds.remember(made, host)
    return made, low >= 0


def on_device(idx: Any, name: str) -> Any:
    """An index with the index arrays of the host on the device, so that it is planned."""
    if type(idx) is np.ndarray:
        return _index_array(idx, name)[0] if _is_index_array(idx) else idx
    if type(idx) is tuple and any([_is_index_array(item) for item in idx]):
        return tuple(
            [_index_array(i, name)[0] if _is_index_array(i) else i for i in idx]
        )
    return idx


def _is_index_array(item: Any) -> bool:
    return type(item) is np.ndarray and item.dtype.kind in "iu" and item.ndim > 0


def _span(item: slice, n: int, name: str) -> Span:
    try:
        start, stop, step = item.indices(n)
    except TypeError:
        start, stop, step = slice(
            *[_slice_end(end, name) for end in (item.start, item.stop, item.step)]
        ).indices(n)
    except ValueError:
        raise ValueError(f"{call(name)}: the step of a slice must not be 0") from None
    except errors.TracerIntegerConversionError:
        ends = (item.start, item.stop, item.step)
        traced = next(end for end in ends if isinstance(end, Tracer))
        raise IndexError(_traced_slice(name, traced)) from None
    size = len(range(start, stop, step))
    return Span(start if size else 0, size, step if size > 1 else 1)


def _slice_end(end: Any, name: str) -> Any:
    if end is None:
        return None
    if isinstance(end, Tracer):
        raise IndexError(_traced_slice(name, end))
    try:
        return operator.index(end)
    except TypeError:
        raise TypeError(
            f"{call(name)}: the ends of a slice must be integers or None, got {end!r}"
        ) from None


def _traced_slice(name: str, end: Tracer) -> str:
    array = _indexed(name)
    return (
        f"{call(name)}: the ends of a slice must be known when the program is built, got"
        f" a traced {end.aval.long_name()}. For a window of fixed length write"
        f" jax.lax.dynamic_slice_in_dim({array}, start, length); to leave elements out,"
        f" mask them with jnp.where; or {static_advice(end)}"
    )


def _indexed(name: str) -> str:
    """The array that is indexed, in the user's words."""
    words = source.subscript(call(name))
    return words[0] if words is not None and len(words[0]) <= 24 else "x"


# --------------------------------------------------------------------------------- reads


_first_axis: Cache = Cache("reads of x[i]", limit=4096)
_reads = Planner("reads of x[...]")


@frames.trims_itself
def getitem(x: Any, idx: Any) -> Any:
    """`x[idx]`."""
    try:
        eager = not active()
        if eager and type(idx) is int:
            plan = _first_axis.get(x.aval)
            if plan is None:
                plan = _plan_first_axis(x.aval)
            if plan and -plan[3] <= idx < plan[3]:
                window, squeezed, zeros, n, keyed = plan
                process = STATE.trace.process
                start = idx + n if idx < 0 else idx
                out = process(squeezed, (process(window, (x, start, *zeros)),))
                if keyed:
                    keys.picked(x, start, out)
                return out
        idx = on_device(idx, "x[i]")
        found = signature(idx, x.aval.shape, eager)
        if found is None:
            lifted = bool_axes(x, idx)
            if lifted is not None:
                x, idx, _ = lifted
            index = parse(idx, x.aval.shape, "x[i]")
            index.look(x.aval.shape, "read")
            return read(x, index, None, None, eager)
        key, operands, arrays = found
        if arrays:
            look(arrays, x.aval.shape, True, "x[i]", "read")

        def compute(x: Any, *operands: Any) -> Any:
            index = parse(idx, x.aval.shape, "x[i]")
            put_operands(index, operands, eager)
            return read(x, index, None, None, eager)

        out = _reads.run((x.aval, eager, key), compute, (x, *operands))
        if eager and getattr(x, "note", None) is not None:
            keys.note_of(out)  # now: it is not known any more when the work is done
        return out
    except Exception as error:
        frames.trim_traceback(error)
        # The frame that raised leads to this one, which shall hold nothing.
        x = idx = found = operands = arrays = index = out = None  # type: ignore
        raise


def _plan_first_axis(aval: Any) -> Any:
    if not aval.shape or not aval.shape[0]:
        return None
    sizes = (1, *aval.shape[1:])
    zeros = (0,) * (aval.ndim - 1)
    keyed = keys.may_hold(aval)
    plan = lax.DynamicSlice(sizes), lax.Squeeze((0,)), zeros, aval.shape[0], keyed
    _first_axis[aval] = plan
    return plan


_ENDS = (int, type(None))


def signature(idx: Any, shape: Shape, eager: bool) -> Any:
    """(what of an index decides the operations, what is an operand of them, the arrays
    with their axes), or None.

    Index arrays are operands, and if `eager` the integers too, counted from 0. None if
    the index is wrong or unusual: `parse` then says why.
    """
    items = idx if type(idx) is tuple else (idx,)
    key: list[Any] = []
    operands: list[Any] = []
    arrays: list[Any] = []
    axis, ndim = 0, len(shape)
    for position, item in enumerate(items):
        kind = type(item)
        if item is None:
            key.append(None)
            continue
        if item is Ellipsis:
            behind = [1 for other in items[position + 1 :] if other is not None]
            axis = ndim - len(behind)
            key.append(Ellipsis)
            continue
        if axis >= ndim or axis < 0:
            return None
        if kind is int:
            n = shape[axis]
            if not -n <= item < n:
                return None
            key.append(int if eager else item)
            if eager:
                operands.append(item + n if item < 0 else item)
        elif kind is slice:
            start, stop, step = item.start, item.stop, item.step
            if not (
                type(start) in _ENDS and type(stop) in _ENDS and type(step) in _ENDS
            ):
                return None
            key.append((start, stop, step))
        elif isinstance(item, Value) and item.aval.kind in "iu":
            key.append(item.aval)
            operands.append(item)
            arrays.append((item, axis))
        else:
            return None
        axis += 1
    return tuple(key), operands, arrays


def look(arrays: Any, shape: Shape, wraps: bool, name: str, how: str) -> None:
    """Looks at index arrays as `signature` gives them, as far as `bounds` asks for it."""
    setting = config.tetrad_bounds
    if setting == "off":
        return
    given = []
    for index, axis in arrays:
        n = shape[axis]
        if setting == "warn" and bounds.inside(index, n):
            continue
        counted = not wraps or index.aval.kind == "u"
        given.append((index, bounds.limit(axis, n, counted, how)))
    if given:
        bounds.look(given, shape, name)


def put_operands(index: Index, operands: Sequence[Any], eager: bool) -> None:
    """Puts operands as `signature` lists them into an index."""
    rest = iter(operands)
    for entry in index.entries:
        if type(entry) is Dynamic:
            entry.index = next(rest)
        elif type(entry) is Static and eager:
            entry.at = next(rest)


def read(x: Value, index: Index, mode: Any, fill: Any, eager: bool) -> Any:
    """The elements of `x` at `index`; `mode` says what index arrays read outside.

    `eager`: starts of slices become arguments of the program, not part of it.
    """
    arrays = index.arrays()
    if not arrays:
        return _new_axes(_sliced(x, index, eager), index)
    clips = mode in (None, lax.GatherScatterMode.CLIP)
    clips = clips or mode is lax.GatherScatterMode.PROMISE_IN_BOUNDS
    if clips and not index.gathers():
        return _new_axes(_sliced(x, index, eager), index)
    return _gathered(x, index, mode, fill, eager)


def _axis_entries(index: Index) -> list[Any]:
    return [e for e in index.entries if e is not None]


def _sliced(x: Value, index: Index, eager: bool) -> Any:
    """`x` with its spans taken, and its integer axes taken and dropped."""
    entries = _axis_entries(index)
    dynamic = eager or bool(index.arrays())
    shape = x.shape
    if all(type(e) is Span and e.whole(n) for e, n in zip(entries, shape)):
        return x
    if 0 in shape:
        _check_axes_have_elements(entries, x, index)
    if dynamic and not any(type(e) is Span and e.size == 0 for e in entries):
        x = _dynamic_slice(x, entries)
    else:
        x = _static_slice(x, entries)
    return lax.squeeze(x, [i for i, e in enumerate(entries) if type(e) is not Span])


def _dynamic_slice(x: Value, entries: Sequence[Any]) -> Any:
    starts: list[Any] = []
    sizes = []
    for e, n in zip(entries, x.shape):
        if type(e) is Span:
            starts.append(e.low)
            sizes.append(e.extent)
        else:
            starts.append(e.at if type(e) is Static else from_zero(e, n))
            sizes.append(1)
    # An index that is not known stays in the program, where checks look at it.
    known = all([type(e) is Span or type(e) is Static for e in entries])
    if tuple(sizes) != x.shape or not known:
        x = lax.DynamicSlice(tuple(sizes))(x, *starts)
    backwards = [i for i, e in enumerate(entries) if type(e) is Span and e.step < 0]
    x = lax.rev(x, backwards)
    steps = [abs(e.step) if type(e) is Span else 1 for e in entries]
    return lax.slice(x, [0] * len(sizes), x.shape, steps)


def _static_slice(x: Value, entries: Sequence[Any]) -> Any:
    """Where an index is not known, another span is empty: any element will do."""
    starts, limits, steps, backwards = [], [], [], []
    for axis, e in enumerate(entries):
        if type(e) is Span:
            low = e.low
        else:
            # An argument of the program, where a start is one, is not known either.
            low = e.at if type(e) is Static and type(e.at) is int else 0
        extent = e.extent if type(e) is Span else 1
        starts.append(low)
        limits.append(low + extent)
        steps.append(abs(e.step) if type(e) is Span else 1)
        if type(e) is Span and e.step < 0:
            backwards.append(axis)
    return lax.rev(lax.slice(x, starts, limits, steps), backwards)


def from_zero(entry: Dynamic, n: int) -> Any:
    """An index array with negative indices counted from the end."""
    index = entry.index
    if not isinstance(index, Value):
        return np.int32(index + n if index < 0 else index)
    aval = index.aval
    if aval.dtype.itemsize < 4:
        index = lax.convert_element_type(index, np.int32)
    elif aval.weak_type:
        index = lax.convert_element_type(index, aval.dtype)
    if entry.counted:
        return index
    below = lax.lt(index, number(index, 0))
    return lax.select(below, lax.add(index, number(index, n)), index)


def _new_axes(x: Any, index: Index) -> Any:
    """`x` with the new axes of an index that has no arrays with axes."""
    new = []
    position = 0
    for e in index.entries:
        if e is None:
            new.append(position)
        if e is None or type(e) is Span:
            position += 1
    return lax.expand_dims(x, new) if new else x


# ------------------------------------------------------------------------------- gathers


def layout(index: Index) -> tuple[Shape, list[str], int]:
    """The shape of the index arrays together, and the axes of the result in order.

    Axes are "array", "span" and "new". The arrays' axes stand where the first array or
    integer stands if those are side by side, else in front, as in NumPy.
    """
    arrays = index.arrays()
    together = broadcast_index_shapes(index, arrays)
    places = [
        i for i, e in enumerate(index.entries) if isinstance(e, (Static, Dynamic))
    ]
    beside = places[-1] - places[0] == len(places) - 1
    if index.gap is not None and places[0] < index.gap <= places[-1]:
        beside = False
    order: list[str] = []
    at = 0
    if not beside:
        order += ["array"] * len(together)
    for i, e in enumerate(index.entries):
        if i == places[0] and beside:
            at = len(order)
            order += ["array"] * len(together)
        if e is None:
            order.append("new")
        elif type(e) is Span:
            order.append("span")
    return together, order, at


def broadcast_index_shapes(index: Index, arrays: Sequence[Dynamic]) -> Shape:
    shapes = [aval_of(e.index).shape for e in arrays]
    try:
        return broadcast_shapes(*shapes)
    except ValueError as error:
        raise IndexError(f"{call(index.name)}: index arrays of {error}") from None


def _gathered(x: Value, index: Index, mode: Any, fill: Any, eager: bool) -> Any:
    together, order, _ = layout(index)
    x, arrays = _spans_taken(x, index, eager)
    axes = tuple([axis for axis, _ in arrays])
    columns = [from_zero(e, x.shape[axis]) for axis, e in arrays]
    indices = index_vectors(columns, together)
    old = [kind for kind in order if kind != "new"]
    numbers = lax.GatherDimensionNumbers(
        tuple([i for i, kind in enumerate(old) if kind == "span"]), axes, axes
    )
    sizes = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    if 0 in x.shape and 0 not in _shape_without(x.shape, axes):
        _check_reads_nothing(x, together, index)
        sizes = tuple([min(1, n) if i in axes else n for i, n in enumerate(x.shape)])
    op_mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else mode
    result = lax.gather(x, indices, numbers, sizes, mode=op_mode, fill_value=fill)
    new = [i for i, kind in enumerate(order) if kind == "new"]
    return lax.expand_dims(result, new) if new else result


def _shape_without(shape: Shape, axes: Sequence[int]) -> Shape:
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def _check_axes_have_elements(entries: list[Any], x: Value, index: Index) -> None:
    if any(n == 0 and type(e) is Dynamic for e, n in zip(entries, x.shape)):
        raise _picks_nothing(x, index)


def _check_reads_nothing(x: Value, together: Shape, index: Index) -> None:
    if 0 not in together:
        raise _picks_nothing(x, index)


def _picks_nothing(x: Value, index: Index) -> IndexError:
    return IndexError(
        f"{call(index.name)}: every index is out of bounds for axis {x.shape.index(0)} with"
        f" size 0 of shape {x.shape}: there is no element to pick"
    )


def _spans_taken(
    x: Value, index: Index, eager: bool
) -> tuple[Value, list[tuple[int, Dynamic]]]:
    """`x` sliced along its spans and integers, and the axes of its index arrays then."""
    entries = _axis_entries(index)
    rest = [
        Span(0, n, 1) if type(e) is Dynamic else e for e, n in zip(entries, x.shape)
    ]
    x = _sliced(x, Index(list(rest), index.name), eager)
    kept = [e for e in entries if type(e) is not Static]
    return x, [(axis, e) for axis, e in enumerate(kept) if type(e) is Dynamic]


def index_vectors(columns: Sequence[Any], shape: Shape) -> Any:
    """Index arrays and numbers, broadcast to `shape`, side by side along a last axis."""
    dtype: Any = np.dtype(np.int32)
    if any(isinstance(c, Value) and c.dtype.itemsize == 8 for c in columns):
        dtype = np.dtype(np.int64)
    wide = []
    for column in columns:
        if isinstance(column, Value):
            column = lax.convert_element_type(column, dtype)
            old = column.aval.shape
            axes = tuple(range(len(shape) - len(old), len(shape)))
            wide.append(lax.broadcast_in_dim(column, (*shape, 1), axes))
        else:
            wide.append(lax.full((*shape, 1), dtype.type(column)))
    return wide[0] if len(wide) == 1 else lax.concatenate(wide, len(shape))
