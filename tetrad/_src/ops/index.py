"""Reading and writing windows of an array at positions known only when it runs.

What comes in: an array and one start per axis. What goes out: the window that begins
there (`dynamic_slice`), or the array with that window replaced
(`dynamic_update_slice`). Starts are moved so that the window lies inside the array.
Windows at many positions are read by `gather` and written by the scatters.

To the machine a dynamic slice is a view whose offset is known at run time: `restride`
gives its strides, `starts` what is added to its offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.op import Axis, Kind, Linear, Op, Start
from tetrad._src.ops import bounds
from tetrad._src.ops.axes import check_axis, check_shape
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.elementwise import add, lt, select
from tetrad._src.ops.families import Operand, Shape, check_operand
from tetrad._src.ops.gather import (
    Gather,
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from tetrad._src.ops.scatter import Scatter
from tetrad._src.ops.shape import (
    broadcast,
    broadcast_in_dim,
    reshape,
    squeeze,
    zeros,
)
from tetrad._src.ops.slices import concatenate, index_in_dim
from tetrad._src.ops.views import Strides, View
from tetrad._src.util.config import config

_ZERO = np.int32(0)


def _check_starts(name: str, array: Aval, starts: Sequence[Aval]) -> None:
    if len(starts) != array.ndim:
        raise TypeError(
            f"lax.{name} needs one start index for each axis of {array.long_name()},"
            f" got {len(starts)}"
        )
    for axis, start in enumerate(starts):
        if start.shape or start.kind not in "iu":
            raise TypeError(
                f"lax.{name}: the start index of axis {axis} must be a scalar integer,"
                f" got {start.long_name()}"
            )


def _check_window(name: str, array: Aval, window: Shape) -> None:
    fits = len(window) == array.ndim and all(
        0 <= size <= n for size, n in zip(window, array.shape)
    )
    if not fits:
        raise TypeError(
            f"lax.{name}: a window of shape {window} does not fit into"
            f" {array.long_name()}; it needs as many axes, none longer"
        )


def _stacked(axis: Axis, mapped: Sequence[bool], starts: Sequence[Any]) -> Any:
    """Starts, some mapped, as one index vector per lane: an array (size, axes)."""
    dtype: Any = np.dtype(np.int32)
    if any(aval_of(start).dtype.itemsize == 8 for start in starts):
        dtype = np.dtype(np.int64)
    columns = []
    for start, is_mapped in zip(starts, mapped):
        start = convert_element_type(start, dtype)
        dims = (0,) if is_mapped else ()
        columns.append(broadcast_in_dim(start, (axis.size, 1), dims))
    return concatenate(columns, 1)


def _of_one_dtype(emit: Any, starts: Sequence[Any]) -> tuple[Any, ...]:
    """The starts as StableHLO takes them: integers of one dtype."""
    if len({start.aval.dtype for start in starts}) < 2:
        return tuple(starts)
    wide = Aval((), np.dtype(np.int64))
    return tuple([emit("stablehlo.convert", x, result=wide) for x in starts])


class DynamicSlice(Op):
    """The window of shape `slice_sizes` that begins at the start indices.

    out[i] = operand[clamp(start, 0, operand.shape − slice_sizes) + i]: a window that
    would stick out is moved inside. TypeError unless there is one integer start and one
    size for each axis and the window fits.
    Source: https://openxla.org/stablehlo/spec#dynamic_slice

    >>> from tetrad import lax
    >>> lax.dynamic_slice(lax.iota("int32", 5), (3,), (3,))
    Array([2, 3, 4], dtype=int32)
    """

    slice_sizes: Shape

    kind = Kind.REARRANGE
    linear = ((0,),)
    aligned = False
    sets_weak = True

    def type(self, operand: Aval, *starts: Aval) -> Aval:
        _check_window("dynamic_slice", operand, self.slice_sizes)
        _check_starts("dynamic_slice", operand, starts)
        return Aval(self.slice_sizes, operand.dtype, operand.weak_type)

    def transpose(self, ct: Any, operand: Any, *starts: Any) -> tuple[Any, ...]:
        blank = zeros(operand.aval)
        written = DynamicUpdateSlice()(blank, ct, *starts)
        return written, *[None] * len(starts)

    def batch(
        self, axis: Axis, mapped: Sequence[bool], operand: Any, *starts: Any
    ) -> Any:
        if not any(mapped[1:]):
            sizes = (axis.size, *self.slice_sizes)
            return DynamicSlice(sizes)(operand, _ZERO, *starts)
        axes = tuple(range(len(starts)))
        one = Gather(
            GatherDimensionNumbers(axes, (), axes),
            self.slice_sizes,
            True,
            True,
            GatherScatterMode.CLIP,
        )
        indices = _stacked(axis, mapped[1:], starts)
        return one.batch(axis, (mapped[0], True), operand, indices)

    def simplify(self, operand: Any, *starts: Any) -> Any:
        return operand if self.slice_sizes == aval_of(operand).shape else None

    def starts(self, operand: Aval, *starts: Aval) -> list[Start]:
        return [
            Start(1 + i, i, n - size)
            for i, (n, size) in enumerate(zip(operand.shape, self.slice_sizes))
        ]

    def restride(self, operand: Aval, strides: Strides, offset: int) -> View:
        """The view at start 0; the machine adds the starts to its offset."""
        return Aval(self.slice_sizes, operand.dtype), strides, offset

    def hlo(self, emit: Any, operand: Any, *starts: Any) -> Any:
        starts = _of_one_dtype(emit, starts)
        sizes = self.slice_sizes
        return emit("stablehlo.dynamic_slice", operand, *starts, slice_sizes=sizes)


class DynamicUpdateSlice(Op):
    """`operand` with the window that begins at the start indices replaced by `update`.

    out[clamp(start, 0, operand.shape − update.shape) + i] = update[i]: a window that
    would stick out is moved inside. TypeError unless there is one integer start for
    each axis, the dtypes agree and the update fits.
    Source: https://openxla.org/stablehlo/spec#dynamic_update_slice

    >>> from tetrad import lax
    >>> lax.dynamic_update_slice(lax.iota("int32", 5), lax.full((2,), 9), (1,))
    Array([0, 9, 9, 3, 4], dtype=int32)
    """

    kind = Kind.UPDATE
    updates = 0
    linear = ((0, 1),)
    aligned = False
    sets_weak = True

    def type(self, operand: Aval, update: Aval, *starts: Aval) -> Aval:
        _check_window("dynamic_update_slice", operand, update.shape)
        _check_starts("dynamic_update_slice", operand, starts)
        if operand.dtype != update.dtype:
            raise TypeError(
                "lax.dynamic_update_slice needs an operand and an update of one dtype,"
                f" got {operand.long_name()} and {update.long_name()}"
            )
        return operand

    def transpose(
        self, ct: Any, operand: Any, update: Any, *starts: Any
    ) -> tuple[Any, ...]:
        window = update.aval if isinstance(update, Linear) else aval_of(update)
        ct_operand = ct_update = None
        if isinstance(operand, Linear):
            blank = zeros(Aval(window.shape, aval_of(ct).dtype))
            ct_operand = self(ct, blank, *starts)
        if isinstance(update, Linear):
            ct_update = DynamicSlice(window.shape)(ct, *starts)
        return ct_operand, ct_update, *[None] * len(starts)

    def batch(
        self,
        axis: Axis,
        mapped: Sequence[bool],
        operand: Any,
        update: Any,
        *starts: Any,
    ) -> Any:
        if not any(mapped[2:]):
            if not mapped[0]:
                operand = broadcast(operand, (axis.size,))
            if not mapped[1]:
                update = broadcast(update, (axis.size,))
            return self(operand, update, _ZERO, *starts)
        axes = tuple(range(len(starts)))
        one = Scatter(
            ScatterDimensionNumbers(axes, (), axes),
            True,
            True,
            GatherScatterMode.CLIP,
        )
        indices = _stacked(axis, mapped[2:], starts)
        which = (mapped[0], True, mapped[1])
        return one.batch(axis, which, operand, indices, update)

    def starts(self, operand: Aval, update: Aval, *starts: Aval) -> list[Start]:
        return [
            Start(2 + i, i, n - size)
            for i, (n, size) in enumerate(zip(operand.shape, update.shape))
        ]

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return new

    def hlo(self, emit: Any, operand: Any, update: Any, *starts: Any) -> Any:
        starts = _of_one_dtype(emit, starts)
        return emit("stablehlo.dynamic_update_slice", operand, update, *starts)


# --------------------------------------------------------------------- public functions


def _start_list(
    name: str, starts: Any, shape: Shape, negative: Any, sizes: Sequence[int]
) -> list[Any]:
    """One scalar start per axis; negative ones count from the end."""
    if isinstance(starts, (Value, np.ndarray)):
        if aval_of(starts).ndim != 1:
            raise TypeError(
                f"lax.{name}: start_indices must be a sequence of scalars or an array"
                f" of rank 1, got {aval_of(starts).long_name()}"
            )
        count = aval_of(starts).shape[0]
        starts = [index_in_dim(starts, i, keepdims=False) for i in range(count)]
    if not isinstance(starts, (list, tuple)):
        raise TypeError(
            f"lax.{name}: start_indices must have one index for each axis, got"
            f" {starts!r}"
        )
    if len(starts) != len(shape):
        raise ValueError(
            f"lax.{name}: start_indices must have one index for each axis of an array"
            f" of shape {shape}, got {len(starts)}"
        )
    flags = [negative] * len(shape) if isinstance(negative, bool) else list(negative)
    if len(flags) != len(shape):
        raise ValueError(
            f"lax.{name}: allow_negative_indices must be a bool or have one bool for"
            f" each of the {len(shape)} axes, got {negative!r}"
        )
    found = [
        _start(name, start, n, flag) for start, n, flag in zip(starts, shape, flags)
    ]
    if config.tetrad_bounds == "error":
        _look(name, starts, found, shape, flags, sizes)
    return found


def _look(
    name: str,
    starts: Sequence[Any],
    found: Sequence[Any],
    shape: Shape,
    flags: Sequence[Any],
    sizes: Sequence[int],
) -> None:
    """Looks whether a window would be moved inside."""
    given = []
    for axis, (start, n, size) in enumerate(zip(starts, shape, sizes)):
        if not isinstance(start, Value):
            start = int(start)
            start += n if flags[axis] and start < 0 else 0
        else:
            start = found[axis]
        given.append((start, bounds.Limit(axis, n, 0, n - size, "window", size)))
    bounds.look(given, shape, f"lax.{name}")


def _start(name: str, start: Any, n: int, negative: bool) -> Any:
    start = check_operand(start, name, 1)
    aval = aval_of(start)
    if aval.shape or aval.kind not in "iu":
        raise TypeError(
            f"lax.{name}: a start index must be a scalar integer, got"
            f" {aval.long_name()}"
        )
    if not isinstance(start, Value):
        start = int(start)
        if negative and start < 0:
            start += n
        return aval.dtype.type(max(start, 0))
    if not negative or aval.kind == "u":
        return start
    extent = aval.dtype.type(n)
    return select(lt(start, aval.dtype.type(0)), add(start, extent), start)


def dynamic_slice(
    operand: Operand,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    operand = check_operand(operand, "dynamic_slice")
    sizes = check_shape(slice_sizes, "dynamic_slice")
    starts = _start_list(
        "dynamic_slice",
        start_indices,
        aval_of(operand).shape,
        allow_negative_indices,
        sizes,
    )
    return DynamicSlice(sizes)(operand, *starts)


dynamic_slice.__doc__ = DynamicSlice.__doc__


def dynamic_update_slice(
    operand: Operand,
    update: Operand,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    operand = check_operand(operand, "dynamic_update_slice")
    update = check_operand(update, "dynamic_update_slice", 1)
    starts = _start_list(
        "dynamic_update_slice",
        start_indices,
        aval_of(operand).shape,
        allow_negative_indices,
        aval_of(update).shape,
    )
    return DynamicUpdateSlice()(operand, update, *starts)


dynamic_update_slice.__doc__ = DynamicUpdateSlice.__doc__


def _along(ndim: int, axis: int, start: Any) -> tuple[list[Any], int]:
    """Starts that are 0 but along one axis."""
    starts: list[Any] = [_ZERO] * ndim
    starts[axis] = start
    return starts, axis


def dynamic_slice_in_dim(
    operand: Operand,
    start_index: Operand,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_slice` along one axis; the others stay whole.

    >>> from tetrad import lax
    >>> lax.dynamic_slice_in_dim(lax.iota("int32", 5), 1, 2)
    Array([1, 2], dtype=int32)
    """
    shape = aval_of(check_operand(operand, "dynamic_slice_in_dim")).shape
    axis = check_axis(axis, len(shape), "dynamic_slice_in_dim")
    starts, _ = _along(len(shape), axis, start_index)
    sizes = list(shape)
    sizes[axis] = slice_size
    return dynamic_slice(
        operand, starts, sizes, allow_negative_indices=allow_negative_indices
    )


def dynamic_index_in_dim(
    operand: Operand,
    index: Operand,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The elements at `index` along one axis, which stays with extent 1 or goes.

    >>> from tetrad import lax
    >>> lax.dynamic_index_in_dim(lax.iota("int32", 5), 3, keepdims=False)
    Array(3, dtype=int32)
    """
    ndim = aval_of(check_operand(operand, "dynamic_index_in_dim")).ndim
    axis = check_axis(axis, ndim, "dynamic_index_in_dim")
    part = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return part if keepdims else squeeze(part, (axis,))


def dynamic_update_slice_in_dim(
    operand: Operand,
    update: Operand,
    start_index: Operand,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_update_slice` along one axis; the others begin at 0.

    >>> from tetrad import lax
    >>> lax.dynamic_update_slice_in_dim(lax.iota("int32", 4), lax.full((1,), 7), 2, 0)
    Array([0, 1, 7, 3], dtype=int32)
    """
    ndim = aval_of(check_operand(operand, "dynamic_update_slice_in_dim")).ndim
    axis = check_axis(axis, ndim, "dynamic_update_slice_in_dim")
    starts, _ = _along(ndim, axis, start_index)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: Operand,
    update: Operand,
    index: Operand,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`operand` with the elements at `index` along one axis replaced by `update`.

    `update` may lack the axis, or have it with extent 1.

    >>> from tetrad import lax
    >>> lax.dynamic_update_index_in_dim(lax.iota("int32", 3), 7, 1, 0)
    Array([0, 7, 2], dtype=int32)
    """
    array = aval_of(check_operand(operand, "dynamic_update_index_in_dim"))
    axis = check_axis(axis, array.ndim, "dynamic_update_index_in_dim")
    update = check_operand(update, "dynamic_update_index_in_dim", 1)
    if not isinstance(update, Value):
        update = np.asarray(update, array.dtype)
    shape = aval_of(update).shape
    if len(shape) != array.ndim:
        update = reshape(update, (*shape[:axis], 1, *shape[axis:]))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )
