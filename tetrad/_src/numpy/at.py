"""Updates: `x.at[idx].set(v)`, `.add`, `.multiply`, …, which give a new array.

Integers and slices with step 1 name a window, which is replaced as one
(`dynamic_update_slice`): the recorder does that in place if nobody else holds `x`. A
bool mask becomes a choice between old and new. Everything else is a scatter.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value, active, aval_of
from tetrad._src.numpy import elementwise, lax
from tetrad._src.numpy.convert import operand
from tetrad._src.numpy.create import spread
from tetrad._src.numpy.dtype import int_dtype
from tetrad._src.numpy.elementwise import no_sharding, number
from tetrad._src.numpy.index import (
    Index,
    Span,
    Static,
    bool_axes,
    check_mask,
    from_zero,
    getitem,
    index_vectors,
    is_mask,
    layout,
    look,
    on_device,
    parse,
    put_operands,
    read,
    signature,
)
from tetrad._src.numpy.plan import LONG, Planner
from tetrad._src.numpy.promote import broadcast, call, to
from tetrad._src.ops import keys
from tetrad._src.util import dtypes, frames

Combine = Callable[[Any, Any], Any]

NAME = "x.at[i]"


class At:
    """`x.at`: index it to name the elements to update."""

    __slots__ = ("array",)

    def __init__(self, array: Value) -> None:
        self.array = array

    def __getitem__(self, idx: Any) -> AtIndex:
        return AtIndex(self.array, idx)

    def __setitem__(self, idx: Any, values: Any) -> None:
        raise TypeError(
            "x.at[i] = v changes nothing, since arrays never change: write"
            " x = x.at[i].set(v), and x = x.at[i].add(v) for +="
        )

    def _needs_index(self, *args: Any, **options: Any) -> Any:
        raise TypeError(
            "x.at needs an index before the update: write x.at[i].set(v), or"
            " x.at[:].set(v) for all elements"
        )

    get = set = add = subtract = multiply = mul = divide = power = _needs_index
    min = max = apply = _needs_index

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


def _add(x: Any, y: Any) -> Any:
    return lax.bitwise_or(x, y) if aval_of(x).kind == "b" else lax.add(x, y)


def _mul(x: Any, y: Any) -> Any:
    return lax.bitwise_and(x, y) if aval_of(x).kind == "b" else lax.mul(x, y)


def _updater(
    method: str, combine: Combine | None, scatter: Any, doc: str
) -> Callable[..., Any]:
    """A method of `AtIndex` that is one operation."""

    def update(self: AtIndex, values: Any, **options: Any) -> Any:
        x = self._take(sys.getrefcount(self))
        try:
            return _update(x, self.idx, values, method, combine, scatter, options)
        except Exception:
            del self, x, values  # which the frame that raised leads to
            raise

    update.__name__ = method
    update.__qualname__ = f"AtIndex.{method}"
    update.__doc__ = doc
    return update


class AtIndex:
    """`x.at[idx]`: the elements of `x` at `idx`, to be read or updated.

    Every method gives a new array and takes: `mode` ("drop" or "fill": indices out of
    range change nothing; "clip": they are moved inside; "promise_in_bounds": there are
    none), and the promises `indices_are_sorted` and `unique_indices`. Integers out of
    range are an IndexError unless a mode is given. Where an index names an element
    twice, `add`, `multiply`, `min` and `max` combine all values; `set` keeps one.
    """

    __slots__ = ("array", "idx")

    def __init__(self, array: Value, idx: Any) -> None:
        self.array = array
        self.idx = idx

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.idx!r})"

    def _in_place(self, values: Any) -> Any:
        raise TypeError(
            "arrays never change: instead of x.at[i] += v write x = x.at[i].add(v), and so"
            " with subtract, multiply, divide and power"
        )

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = _in_place

    def _take(self, references: int) -> Value:
        """The array; forgets it if this object is a temporary, to own nothing of it."""
        array = self.array
        if references <= _TEMPORARY:
            del self.array
        return array

    @frames.hide_frames
    def get(
        self,
        *,
        mode: Any = None,
        fill_value: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        wrap_negative_indices: bool = True,
        out_sharding: Any = None,
    ) -> Any:
        """The elements. Mode "fill" reads `fill_value` (else NaN) out of range."""
        x, idx = self.array, _unwrapped(self.idx, wrap_negative_indices)
        lifted = bool_axes(x, idx)
        if lifted is not None:
            x, idx, _ = lifted
        no_sharding("x.at[i].get", out_sharding)
        found = _mode(mode, "x.at[i].get")
        index = parse(idx, x.shape, NAME, lenient=mode is not None)
        _negative_wraps(index, wrap_negative_indices)
        if mode is None:
            index.look(x.shape, "read")
        return read(x, index, found, fill_value, not active())

    set = _updater(
        "set",
        None,
        lax.Scatter,
        "The array with the elements replaced by `values`, which broadcast.",
    )
    add = _updater(
        "add", _add, lax.ScatterAdd, "The array with `values` added to the elements."
    )
    subtract = _updater(
        "subtract",
        lax.sub,
        lax.ScatterSub,
        "The array with `values` subtracted from the elements.",
    )
    multiply = mul = _updater(
        "multiply",
        _mul,
        lax.ScatterMul,
        "The array with the elements multiplied by `values`.",
    )
    min = _updater(
        "min",
        lax.min,
        lax.ScatterMin,
        "The array with min(element, value) in place of the elements.",
    )
    max = _updater(
        "max",
        lax.max,
        lax.ScatterMax,
        "The array with max(element, value) in place of the elements.",
    )

    @frames.hide_frames
    def divide(self, values: Any, **options: Any) -> Any:
        """The array with the elements divided by `values`; integers become floats."""
        x = self._take(sys.getrefcount(self))
        name = "x.at[i].divide"
        if x.aval.kind in "fc":
            return _factored(x, self.idx, values, elementwise.divide, options, name)
        return elementwise.divide(x, _factors(x, self.idx, values, options))

    @frames.hide_frames
    def power(self, values: Any, **options: Any) -> Any:
        """The array with the elements to the power of `values`."""
        x = self._take(sys.getrefcount(self))
        name = "x.at[i].power"
        return _factored(x, self.idx, values, elementwise.power, options, name)

    @frames.hide_frames
    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """The array with `func`, an elementwise function, applied to the elements once."""
        x = self._take(sys.getrefcount(self))
        picked = _lone_mask(self.idx, x)
        if picked is not None:
            mask, axis = picked
            return _masked(x, mask, axis, to(func(x), x.dtype, False, NAME))
        old = _elements(x, self.idx, options)
        return AtIndex(x, self.idx).set(func(old), **options)


def _references_of_a_temporary() -> int:
    """What sys.getrefcount gives inside a method called on a temporary object."""

    class Probe:
        def method(self) -> int:
            return sys.getrefcount(self)

    return Probe().method()


_TEMPORARY = _references_of_a_temporary()


def _mode(mode: Any, name: str) -> Any:
    if mode is None or isinstance(mode, lax.GatherScatterMode):
        return mode
    try:
        return lax.GatherScatterMode.from_any(mode)
    except ValueError:
        raise ValueError(
            f'{name}: mode must be "fill", "drop", "clip" or "promise_in_bounds", got'
            f" {mode!r}"
        ) from None


def _unwrapped(idx: Any, wrap: bool) -> Any:
    """The index with negative integers as arrays, where they do not count from the end."""
    if wrap:
        return idx
    entries = idx if isinstance(idx, tuple) else (idx,)
    return tuple(
        [
            lax.full((), int_dtype().type(entry)) if _is_negative(entry) else entry
            for entry in entries
        ]
    )


def _is_negative(entry: Any) -> bool:
    whole = isinstance(entry, (int, np.integer)) and not isinstance(entry, bool)
    return whole and int(entry) < 0


def _negative_wraps(index: Index, wrap: bool) -> None:
    if not wrap:
        for entry in index.arrays():
            entry.counted = True


# ------------------------------------------------------------------- divide and power


def _factored(
    x: Value,
    idx: Any,
    values: Any,
    combine: Combine,
    options: dict[str, Any],
    name: str,
) -> Any:
    """`combine(element, values)` at the elements, without an array as large as `x`.

    Where an index names an element several times, the product of its values counts.
    """
    if isinstance(values, (list, tuple)) or bool_axes(x, idx) is not None:
        return combine(x, _factors(x, idx, values, options))
    v = _in_dtype(operand(values, name, "values"), x, name)
    picked = _lone_mask(idx, x)
    if picked is not None:
        mask, axis = picked
        if _fits(aval_of(v).shape, x.shape[axis + mask.ndim :]):
            return _masked(x, mask, axis, combine(x, _spread(v, x.shape)))
    old = _elements(x, idx, options)
    if aval_of(v).shape:
        v = _fitted(v, old.shape, name)
    index = parse(idx, x.shape, NAME, lenient=options.get("mode") is not None)
    _, (_, unique), _ = _options(options, name)
    if unique or math.prod(_scatter_layout(index)[0]) <= 1:
        return AtIndex(x, idx).set(combine(old, v), **options)
    x = AtIndex(x, idx).set(1, **options)
    x = AtIndex(x, idx).multiply(v, **options)
    new = combine(old, _elements(x, idx, options))
    return AtIndex(x, idx).set(new, **options)


def _elements(x: Value, idx: Any, options: dict[str, Any]) -> Any:
    """The elements that an update changes; at the border, what it will drop."""
    index = parse(idx, x.shape, NAME, lenient=options.get("mode") is not None)
    return read(x, index, None, None, not active())


def _factors(x: Value, idx: Any, values: Any, options: dict[str, Any]) -> Any:
    """An array like `x` of ones, multiplied by `values` at the elements."""
    ones = spread(number(x, 1), x.shape, NAME)
    return AtIndex(ones, idx).multiply(values, **options)


# -------------------------------------------------------------------------------- update


_updates = Planner("updates")


def _update(
    x: Value,
    idx: Any,
    values: Any,
    method: str,
    combine: Combine | None,
    scatter: Any,
    options: dict[str, Any],
) -> Any:
    name = f"x.at[i].{method}"
    try:
        if isinstance(values, (list, tuple)):
            raise TypeError(
                f"{name} takes an array or a number: write jnp.array({values!r})"
            )
        v = operand(values, name, "values")
        if not isinstance(v, Value):
            v = _in_dtype(v, x, name)
        idx = _unwrapped(idx, options.get("wrap_negative_indices", True))
        eager = not active()
        idx = on_device(idx, NAME)
        found = signature(idx, x.shape, eager)
        if found is None:
            return _update_anew(x, idx, v, name, combine, scatter, options)
        key, operands, arrays = found
        if arrays and options.get("mode") is None:
            wraps = options.get("wrap_negative_indices", True)
            look(arrays, x.shape, wraps, name, "write")

        def compute(x: Any, v: Any, *operands: Any) -> Any:
            mode, promises, wrap = _options(options, name)
            index = parse(idx, x.shape, NAME, lenient=options.get("mode") is not None)
            _negative_wraps(index, wrap)
            put_operands(index, operands, eager)
            v = _in_dtype(v, x, name)
            if _names_window(index):
                return _window_update(x, index, v, combine, name)
            return _scattered(x, index, v, scatter, mode, promises, name)

        plan = (x.aval, aval_of(v), method, eager, key, tuple(options.items()))
        long = LONG if keys.may_hold(x.aval) else 2  # noted where they come from
        return _updates.run(plan, compute, (x, v, *operands), long)
    except Exception as error:
        frames.trim_traceback(error)
        # The frame that raised leads to this one, which shall hold nothing.
        x = idx = values = v = found = operands = arrays = None  # type: ignore
        raise


def _update_anew(
    x: Value,
    idx: Any,
    v: Any,
    name: str,
    combine: Combine | None,
    scatter: Any,
    options: dict[str, Any],
) -> Any:
    """An update whose index holds bools or host arrays, or is wrong."""
    mode, promises, wrap = _options(options, name)
    v = _in_dtype(v, x, name)
    picked = _lone_mask(idx, x)
    if picked is not None:
        mask, axis = picked
        if _fits(aval_of(v).shape, x.shape[axis + mask.ndim :]):
            new = v if combine is None else combine(x, _spread(v, x.shape))
            return _masked(x, mask, axis, new)
    lifted = bool_axes(x, idx)
    if lifted is not None:
        wider, chosen, without = lifted
        new = _update_anew(wider, chosen, v, name, combine, scatter, options)
        return getitem(new, without)
    index = parse(idx, x.shape, NAME, lenient=options.get("mode") is not None)
    _negative_wraps(index, wrap)
    if mode is None:
        index.look(x.shape, "write")
    if _names_window(index):
        return _window_update(x, index, v, combine, name)
    return _scattered(x, index, v, scatter, mode, promises, name)


_PROMISES = ("indices_are_sorted", "unique_indices")


def _options(options: dict[str, Any], name: str) -> tuple[Any, tuple[bool, bool], bool]:
    known = {*_PROMISES, "mode", "out_sharding", "wrap_negative_indices"}
    for key in options:
        if key not in known:
            raise TypeError(f"{name} has no argument {key!r}")
    no_sharding(name, options.get("out_sharding"))
    mode = _mode(options.get("mode"), name)
    is_sorted, unique = [bool(options.get(key, False)) for key in _PROMISES]
    return mode, (is_sorted, unique), bool(options.get("wrap_negative_indices", True))


def _in_dtype(v: Any, x: Value, name: str) -> Any:
    """`v` in the dtype of `x`; warns if that loses what `v` can express."""
    aval = aval_of(v)
    if aval.dtype == x.dtype:
        return v
    if type(v) is int and x.dtype == np.float32:
        return float(v)
    joined, _ = dtypes.lattice_result(
        (aval.dtype, aval.weak_type), (x.dtype, x.weak_type)
    )
    if joined != x.dtype:
        frames.warn(
            f"{name}: values of {aval.dtype.name} are converted to the {x.dtype.name} of"
            " the array, which loses information; convert them yourself with .astype",
            FutureWarning,
        )
        if not isinstance(v, Value):
            return np.asarray(v).astype(x.dtype)[()]
    return to(v, x.dtype, False, name)


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    return len(shape) <= len(target) and all(
        a in (1, b) for a, b in zip(shape[::-1], target[::-1])
    )


def _spread(v: Any, shape: tuple[int, ...]) -> Any:
    """`v` in `shape`, unless it is a scalar, which operations take as such."""
    return broadcast(v, shape) if isinstance(v, Value) and v.aval.shape else v


# ----------------------------------------------------------------------------------- mask


def _lone_mask(idx: Any, x: Value) -> Any:
    """(mask, first of its axes) if the index `idx` picks by one bool array alone."""
    items = idx if isinstance(idx, tuple) else (idx,)
    found = None
    axis = 0
    for position, item in enumerate(items):
        if item is Ellipsis:
            behind = items[position + 1 :]
            if found is None:
                axis = x.ndim - sum([max(getattr(i, "ndim", 1), 1) for i in behind])
        elif _is_full_slice(item):
            axis += found is None
        elif found is None and is_mask(item) and item.ndim and 0 not in item.shape:
            found = item
        else:
            return None
    if found is None or axis < 0:
        return None
    return (operand(found, NAME) if isinstance(found, np.ndarray) else found), axis


def _is_full_slice(item: Any) -> bool:
    return type(item) is slice and item == slice(None)


def _masked(x: Value, mask: Value, axis: int, new: Any) -> Any:
    """`new` where `mask` (of the axes from `axis` on), else `x`."""
    check_mask(mask, x.shape[axis : axis + mask.ndim], NAME)
    axes = tuple(range(axis, axis + mask.ndim))
    wide = lax.broadcast_in_dim(mask, x.shape, axes)
    return lax.replace(wide, x, _spread(new, x.shape))


# --------------------------------------------------------------------------------- windows


def _names_window(index: Index) -> bool:
    return all(
        e is None or type(e) is Static or (type(e) is Span and abs(e.step) == 1)
        for e in index.entries
    )


def _result_shape(index: Index) -> tuple[int, ...]:
    """The shape of `x[idx]` without index arrays."""
    shape = []
    for e in index.entries:
        if e is None:
            shape.append(1)
        elif type(e) is Span:
            shape.append(e.size)
    return tuple(shape)


def _window_update(
    x: Value, index: Index, v: Any, combine: Combine | None, name: str
) -> Any:
    entries = [e for e in index.entries if e is not None]
    window = tuple([e.size if type(e) is Span else 1 for e in entries])
    if 0 in window:
        return x
    starts = [e.low if type(e) is Span else e.at for e in entries]  # type: ignore[union-attr]
    if isinstance(v, Value) and v.aval.shape:
        v = _as_window(v, index, window, name)
    if combine is not None:
        whole = window == x.shape
        old = x if whole else lax.DynamicSlice(window)(x, *starts)
        v = combine(old, v)
    elif not isinstance(v, Value) or not v.aval.shape:
        v = lax.full(window, v)
    if window == x.shape:
        return lax.convert_element_type(v, x.dtype, x.weak_type)
    return lax.DynamicUpdateSlice()(x, v, *starts)


def _as_window(v: Value, index: Index, window: tuple[int, ...], name: str) -> Any:
    """`v`, which broadcasts to the shape of `x[idx]`, in the shape of the window."""
    v = _fitted(v, _result_shape(index), name)
    v = lax.reshape(v, window)
    entries = [e for e in index.entries if e is not None]
    return lax.rev(
        v, [i for i, e in enumerate(entries) if type(e) is Span and e.step < 0]
    )


def _fitted(v: Value, shape: tuple[int, ...], name: str) -> Any:
    """`v` broadcast to `shape`; leading axes of extent 1 too many are dropped."""
    extra = v.ndim - len(shape)
    if extra > 0 and v.shape[:extra] == (1,) * extra:
        v = lax.reshape(v, v.shape[extra:])
    if not _fits(v.shape, shape):
        raise ValueError(
            f"{call(name)}: values are {v.aval.long_name()}, the elements have shape"
            f" {shape}; values must broadcast to that"
        )
    return broadcast(v, shape)


# -------------------------------------------------------------------------------- scatters


def _scattered(
    x: Value,
    index: Index,
    v: Any,
    scatter: Any,
    mode: Any,
    promises: tuple[bool, bool],
    name: str,
) -> Any:
    """One scatter: arrays, integers and starts of spans make up the index vectors."""
    together, order, kinds, strided = _scatter_layout(index)
    extents = _scatter_shape(index, together, kinds)
    v = _fitted_or_full(v, extents, name)
    # New axes go; then axes of the arrays, of strided spans, and of whole windows.
    v = lax.squeeze(v, [i for i, kind in enumerate(kinds) if kind == "new"])
    kinds = [kind for kind in kinds if kind != "new"]
    v = lax.rev(v, _backwards(index, kinds))
    lanes = [i for i, kind in enumerate(kinds) if kind == "array"]
    steps = [i for i, kind in enumerate(kinds) if kind == "strided"]
    window = [i for i, kind in enumerate(kinds) if kind == "span"]
    if strided:
        v = lax.transpose(v, (*lanes, *steps, *window))
        window = list(range(len(lanes) + len(steps), len(kinds)))
    shape = (*together, *[e.size for e in strided])
    axes, columns, inserted = _columns(x, index, strided)
    numbers = lax.ScatterDimensionNumbers(tuple(window), tuple(inserted), tuple(axes))
    indices = index_vectors(columns, shape)
    op_mode = lax.GatherScatterMode.FILL_OR_DROP if mode is None else mode
    is_sorted, unique = promises
    # One index vector, or one for each step of a span, never names an element twice.
    unique = unique or math.prod(together) <= 1
    return scatter(numbers, is_sorted, unique, op_mode)(x, indices, v)


def _backwards(index: Index, kinds: list[str]) -> list[int]:
    """The axes of the values that run against the axes of the array."""
    spans = iter([e for e in index.entries if type(e) is Span])
    axes = []
    for i, kind in enumerate(kinds):
        if kind in ("span", "strided") and next(spans).step == -1:
            axes.append(i)
    return axes


def _scatter_layout(index: Index) -> tuple[Any, Any, list[str], list[Span]]:
    strided = [e for e in index.entries if type(e) is Span and abs(e.step) > 1]
    if index.arrays():
        together, order, _ = layout(index)
    else:
        together = ()
        order = [
            "new" if e is None else "span"
            for e in index.entries
            if not isinstance(e, Static)
        ]
    spans = iter([e for e in index.entries if type(e) is Span])
    kinds = []
    for kind in order:
        if kind == "span":
            kind = "strided" if abs(next(spans).step) > 1 else "span"
        kinds.append(kind)
    return together, order, kinds, strided


def _scatter_shape(index: Index, together: Any, kinds: list[str]) -> tuple[int, ...]:
    """The shape of `x[idx]`."""
    spans = iter([e.size for e in index.entries if type(e) is Span])
    lanes = iter(together)
    shape = []
    for kind in kinds:
        if kind == "new":
            shape.append(1)
        else:
            shape.append(next(lanes) if kind == "array" else next(spans))
    return tuple(shape)


def _fitted_or_full(v: Any, shape: tuple[int, ...], name: str) -> Any:
    if isinstance(v, Value) and v.aval.shape:
        return _fitted(v, shape, name)
    return lax.full(shape, v)


def _columns(
    x: Value, index: Index, strided: list[Span]
) -> tuple[list[int], list[Any], list[int]]:
    """(axis, start) of everything that positions a window, and the axes it is thin in."""
    axes: list[int] = []
    columns: list[Any] = []
    inserted: list[int] = []
    entries = [e for e in index.entries if e is not None]
    behind = len(strided)
    turn = 0
    for axis, e in enumerate(entries):
        if type(e) is Span and abs(e.step) == 1:
            if e.whole(x.shape[axis]):
                continue
            start: Any = e.low
        elif type(e) is Span:
            turn += 1
            start = _counted_vector(e, behind - turn)
            inserted.append(axis)
        else:
            start = e.at if isinstance(e, Static) else from_zero(e, x.shape[axis])  # type: ignore[arg-type]
            if isinstance(start, Value) and behind:
                start = lax.reshape(start, (*start.aval.shape, *[1] * behind))
            inserted.append(axis)
        axes.append(axis)
        columns.append(start)
    return axes, columns, inserted


def _counted_vector(span: Span, behind: int) -> Any:
    """The indices of a span as a vector with `behind` more axes of extent 1."""
    vector = lax.iota(np.int32, span.size)
    vector = lax.add(lax.mul(vector, span.step), span.start)
    return lax.reshape(vector, (span.size, *[1] * behind))
