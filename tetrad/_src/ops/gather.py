"""Reading windows at many positions (`gather`), and adding at them (`scatter_add`).

What comes in: an array (the operand), integer index vectors along the last axis of
`indices`, and dimension numbers, which say what the axes of each mean. What goes out: a
window of the operand for each index vector, or the operand with windows combined in.
The two operations transpose each other, so they share this file; the other scatters
stand in scatter.py.

An index vector gives the start of a window along the axes `start_index_map`. Modes say
what happens to a window that sticks out: it is moved inside (CLIP), reads as
`fill_value` and is not written (FILL_OR_DROP), or the caller promises that there is none
(PROMISE_IN_BOUNDS; what is read is then moved inside and what is written dropped, so
that a broken promise touches no foreign memory).

Read the dimension numbers, the mode, `Windows` (where an element of a window lies), then
the operations.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.op import Along, Axis, Kind, Linear, Op, Point
from tetrad._src.ops import bounds
from tetrad._src.ops.arithmetic import max, min, neg
from tetrad._src.ops.axes import check_axes, check_shape, up
from tetrad._src.ops.elementwise import bitwise_and, ge, le, select
from tetrad._src.ops.families import Operand, Shape, check_operand
from tetrad._src.ops.reduce import reduce_and
from tetrad._src.ops.shape import (
    broadcast,
    broadcast_in_dim,
    concatenate,
    expand_dims,
    full_like,
    zeros,
)
from tetrad._src.ops.shape import slice as slice_of
from tetrad._src.util import dtypes
from tetrad._src.util.config import config


class GatherScatterMode(enum.Enum):
    """What happens to windows that stick out of the operand."""

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    def __str__(self) -> str:
        return f"GatherScatterMode.{self.name}"

    @staticmethod
    def from_any(mode: Any) -> GatherScatterMode:
        """The mode of a name, or of None, which is FILL_OR_DROP."""
        if isinstance(mode, GatherScatterMode):
            return mode
        found = _MODES.get(mode)
        if found is None:
            names = [name for name in _MODES if name]
            raise ValueError(
                f"mode must be one of {names} or a lax.GatherScatterMode, got {mode!r}"
            )
        return found


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
}


@dataclasses.dataclass(frozen=True)
class GatherDimensionNumbers:
    """What the axes of a gather mean.

    offset_dims: axes of the result that run along a window; the others run along the
      index vectors, in order.
    collapsed_slice_dims: axes of the operand along which windows have extent 1, which
      the result lacks.
    start_index_map: the operand axis that each entry of an index vector positions.
    operand_batching_dims, start_indices_batching_dims: pairs of axes of operand and
      indices that run along together.
    """

    offset_dims: Shape
    collapsed_slice_dims: Shape
    start_index_map: Shape
    operand_batching_dims: Shape = ()
    start_indices_batching_dims: Shape = ()

    def __post_init__(self) -> None:
        _freeze(self)


@dataclasses.dataclass(frozen=True)
class ScatterDimensionNumbers:
    """What the axes of a scatter mean.

    update_window_dims: axes of the updates that run along a window; the others run
      along the index vectors, in order.
    inserted_window_dims: axes of the operand along which windows have extent 1, which
      the updates lack.
    scatter_dims_to_operand_dims: the operand axis that each entry of an index vector
      positions.
    operand_batching_dims, scatter_indices_batching_dims: pairs of axes of operand and
      indices that run along together.
    """

    update_window_dims: Shape
    inserted_window_dims: Shape
    scatter_dims_to_operand_dims: Shape
    operand_batching_dims: Shape = ()
    scatter_indices_batching_dims: Shape = ()

    def __post_init__(self) -> None:
        _freeze(self)

    def as_gather(self) -> GatherDimensionNumbers:
        """The gather that reads where this scatter writes."""
        return GatherDimensionNumbers(
            self.update_window_dims,
            self.inserted_window_dims,
            self.scatter_dims_to_operand_dims,
            self.operand_batching_dims,
            self.scatter_indices_batching_dims,
        )


def _freeze(numbers: Any) -> None:
    """Makes every field a tuple of ints, so that equal numbers hash alike."""
    for field in dataclasses.fields(numbers):
        value = getattr(numbers, field.name)
        object.__setattr__(numbers, field.name, tuple([int(i) for i in value]))


# ----------------------------------------------------------------------------- windows


class Windows:
    """Where the elements of windows lie in an operand.

    `numbers` are those of a gather. `outer` is the array that has the window axes: the
    result of a gather, the updates of a scatter.
    """

    def __init__(self, numbers: GatherDimensionNumbers, operand_ndim: int) -> None:
        self.numbers = numbers
        self.operand_ndim = operand_ndim
        gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
        self.kept = [i for i in range(operand_ndim) if i not in gone]

    def check(self, what: str, operand: Aval, indices: Aval, outer_ndim: int) -> None:
        """Raises unless the dimension numbers fit the ranks."""
        n = self.numbers
        if indices.kind not in "iu":
            raise TypeError(
                f"lax.{what}: indices must be integers, got {indices.long_name()}"
            )
        if not indices.ndim or indices.shape[-1] != len(n.start_index_map):
            raise TypeError(
                f"lax.{what}: the last axis of the indices must have one entry for each"
                f" of the operand axes {n.start_index_map} that they position, got"
                f" {indices.long_name()}"
            )
        named = (*n.collapsed_slice_dims, *n.operand_batching_dims)
        for label, axes, ndim in (
            ("window", n.offset_dims, outer_ndim),
            ("collapsed and batching", named, operand.ndim),
            ("indexed", n.start_index_map, operand.ndim),
            ("batching", n.start_indices_batching_dims, indices.ndim - 1),
        ):
            if len(set(axes)) != len(axes) or any(not 0 <= i < ndim for i in axes):
                raise TypeError(
                    f"lax.{what}: the {label} axes {axes} must be different and at"
                    f" least 0 and less than {ndim}"
                )
        if set(n.operand_batching_dims) & set(n.start_index_map):
            raise TypeError(
                f"lax.{what}: operand axes {n.operand_batching_dims} are batched, so"
                f" the index vectors cannot position them: {n.start_index_map}"
            )
        if len(n.offset_dims) != len(self.kept):
            raise TypeError(
                f"lax.{what}: {operand.long_name()} keeps the axes {self.kept} in a"
                f" window, but {len(n.offset_dims)} window axes are named:"
                f" {n.offset_dims}"
            )
        batch = [operand.shape[i] for i in n.operand_batching_dims]
        beside = [indices.shape[i] for i in n.start_indices_batching_dims]
        if batch != beside:
            raise TypeError(
                f"lax.{what}: batching axes must have the same extents, got {batch} in"
                f" {operand.long_name()} and {beside} in {indices.long_name()}"
            )

    def point(
        self,
        block: Any,
        coords: Sequence[Any],
        load: Any,
        mode: GatherScatterMode,
        reads: bool,
        size_of: Any,
    ) -> tuple[list[Any], Any]:
        """The operand coordinates of element `coords` of the outer array, and the mask.

        `size_of(axis)` is the extent of a window along an operand axis: a number, or a
        value of the block.
        """
        n = self.numbers
        along = [c for i, c in enumerate(coords) if i not in n.offset_dims]
        where = dict(zip(self.kept, [coords[i] for i in n.offset_dims]))
        for axis, beside in zip(n.operand_batching_dims, n.start_indices_batching_dims):
            where[axis] = along[beside]
        clip = mode is GatherScatterMode.CLIP
        clip = clip or (reads and mode is GatherScatterMode.PROMISE_IN_BOUNDS)
        inside = None
        for entry, axis in enumerate(n.start_index_map):
            start = block.convert(load(1, (*along, entry)), block.index)
            limit = block.extent(0, axis) - size_of(axis)
            if clip:
                start = block.max(block.min(start, limit), 0)
            else:
                fits = block.and_(block.ge(start, 0), block.le(start, limit))
                inside = fits if inside is None else block.and_(inside, fits)
            where[axis] = start + where[axis] if axis in where else start
        zero = block.constant(0, block.index)
        return [where.get(axis, zero) for axis in range(self.operand_ndim)], inside

    def along(self, outer_ndim: int) -> Along:
        """The outer axes of the index vectors, and the axes that these do not move."""
        n = self.numbers
        vectors = tuple([i for i in range(outer_ndim) if i not in n.offset_dims])
        fixed = [
            (outer, axis)
            for axis, outer in zip(self.kept, n.offset_dims)
            if axis not in n.start_index_map
        ]
        for axis, beside in zip(n.operand_batching_dims, n.start_indices_batching_dims):
            fixed.append((vectors[beside], axis))
        return Along(vectors, tuple(fixed), len(n.start_index_map))


# ------------------------------------------------------------------------------- gather


def missing(dtype: Any) -> Any:
    """What a gather in FILL_OR_DROP mode reads outside, if nothing else is asked for."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return True
    if kind in "fc":
        return math.nan
    if kind == "K":
        return 0
    limits = dtypes.iinfo(dtype)
    return int(limits.min if kind == "i" else limits.max)


class Gather(Op):
    """Windows of `operand`, one for each index vector along the last axis of `indices`.

    out[…i, …w] = operand[start(indices[i]) + w], with the axes as `dimension_numbers`
    say, windows of shape `slice_sizes`, and windows that stick out as `mode` says.
    `indices_are_sorted` and `unique_indices` are promises of the caller. TypeError if
    the dimension numbers do not fit, a window is longer than the operand, or the
    indices are not integers. Source: https://openxla.org/stablehlo/spec#gather

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> rows = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> lax.gather(jnp.array([[1, 2], [3, 4]]), jnp.array([[1], [0], [1]]), rows, (1, 2))
    Array([[3, 4],
           [1, 2],
           [3, 4]], dtype=int32)
    """

    dimension_numbers: GatherDimensionNumbers
    slice_sizes: Shape
    indices_are_sorted: bool = False
    unique_indices: bool = False
    mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP
    fill_value: Any = None
    filler: Any = None  # the number that `fill_value` stands for, in the dtype's kind

    kind = Kind.INDEXED
    linear = ((0,),)
    aligned = False
    sets_weak = True
    hidden = ("filler",)

    def type(self, operand: Aval, indices: Aval) -> Aval:
        n = self.dimension_numbers
        along = indices.shape[:-1]
        ndim = len(along) + len(n.offset_dims)
        windows = Windows(n, operand.ndim)
        windows.check("gather", operand, indices, ndim)
        sizes = self.slice_sizes
        if len(sizes) != operand.ndim or any(
            not 0 <= size <= extent for size, extent in zip(sizes, operand.shape)
        ):
            raise TypeError(
                f"lax.gather: a window of shape {sizes} does not fit into"
                f" {operand.long_name()}; it needs as many axes, none longer"
            )
        gone = (*n.collapsed_slice_dims, *n.operand_batching_dims)
        if any(sizes[i] > 1 for i in gone):
            raise TypeError(
                f"lax.gather: slice_sizes must be at most 1 along the axes {gone}, which"
                f" the result lacks, got {sizes}"
            )
        shape = []
        rest = iter(along)
        window = iter([sizes[i] for i in windows.kept])
        for axis in range(ndim):
            shape.append(next(window) if axis in n.offset_dims else next(rest))
        return Aval(shape, operand.dtype, operand.weak_type)

    def transpose(self, ct: Any, operand: Any, indices: Any) -> tuple[Any, ...]:
        n = self.dimension_numbers
        numbers = ScatterDimensionNumbers(
            n.offset_dims,
            n.collapsed_slice_dims,
            n.start_index_map,
            n.operand_batching_dims,
            n.start_indices_batching_dims,
        )
        add = ScatterAdd(
            numbers, self.indices_are_sorted, self.unique_indices, self.mode
        )
        return add(zeros(operand.aval), indices, ct), None

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        operand, indices = primals
        ans = self(operand, indices)
        if tangents[0] is None:
            return ans, None
        # What is read outside does not depend on the operand: its tangent is zero.
        return ans, self.filling(0)(tangents[0], indices)

    def filling(self, value: Any) -> Gather:
        """The same gather with another value for what lies outside."""
        if self.mode is not GatherScatterMode.FILL_OR_DROP:
            return self
        n, sizes, is_sorted, unique, mode, _, _ = self.fields()
        return Gather(n, sizes, is_sorted, unique, mode, value, value)

    def batch(
        self, axis: Axis, mapped: Sequence[bool], operand: Any, indices: Any
    ) -> Any:
        n = self.dimension_numbers
        if mapped[0] and not mapped[1]:
            numbers = GatherDimensionNumbers(
                (0, *up(n.offset_dims)),
                up(n.collapsed_slice_dims),
                up(n.start_index_map),
                up(n.operand_batching_dims),
                n.start_indices_batching_dims,
            )
            return self.over(numbers, (axis.size, *self.slice_sizes))(operand, indices)
        if not mapped[0]:
            numbers = GatherDimensionNumbers(
                up(n.offset_dims),
                n.collapsed_slice_dims,
                n.start_index_map,
                n.operand_batching_dims,
                up(n.start_indices_batching_dims),
            )
            return self.over(numbers, self.slice_sizes)(operand, indices)
        numbers = GatherDimensionNumbers(
            up(n.offset_dims),
            up(n.collapsed_slice_dims),
            up(n.start_index_map),
            (0, *up(n.operand_batching_dims)),
            (0, *up(n.start_indices_batching_dims)),
        )
        lane = int(axis.size > 0)
        return self.over(numbers, (lane, *self.slice_sizes))(operand, indices)

    def over(self, numbers: GatherDimensionNumbers, sizes: Shape) -> Gather:
        """The same gather for other axes."""
        _, _, _, unique, mode, fill_value, filler = self.fields()
        return Gather(numbers, sizes, False, unique, mode, fill_value, filler)

    def point(self, block: Any, coords: Sequence[Any], load: Any) -> Point:
        windows = Windows(self.dimension_numbers, len(self.slice_sizes))
        found, inside = windows.point(
            block, coords, load, self.mode, True, self.slice_sizes.__getitem__
        )
        return Point(found, inside, self.filler)

    def along(self, rank: int) -> Along:
        return Windows(self.dimension_numbers, len(self.slice_sizes)).along(rank)

    def expand(self, operand: Any, indices: Any) -> Any:
        """Reads moved inside, then replaced by the fill value where they were outside."""
        n, sizes, is_sorted, unique, _, _, _ = self.fields()
        clipping = Gather(n, sizes, is_sorted, unique, GatherScatterMode.CLIP)
        out = clipping(operand, indices)
        if self.mode is not GatherScatterMode.FILL_OR_DROP:
            return out
        aval = aval_of(out)
        limit = highest_starts(n.start_index_map, aval_of(operand), sizes, indices)
        zero = aval_of(indices).dtype.type(0)
        fits = bitwise_and(ge(indices, zero), le(indices, limit))
        inside = reduce_and(fits, (aval_of(indices).ndim - 1,))
        along = [i for i in range(aval.ndim) if i not in n.offset_dims]
        inside = broadcast_in_dim(inside, aval.shape, along)
        return select(inside, out, full_like(out, self.filler))

    @property
    def hlo(self) -> Any:
        """StableHLO moves windows inside; the other mode is expanded."""
        if self.mode is GatherScatterMode.FILL_OR_DROP:
            return None
        return self._emit

    def _emit(self, emit: Any, operand: Any, indices: Any) -> Any:
        n = self.dimension_numbers
        entry = indices.aval.ndim - 1
        numbers = (
            f"#stablehlo.gather<offset_dims = {list(n.offset_dims)},"
            f" collapsed_slice_dims = {list(n.collapsed_slice_dims)},"
            f" operand_batching_dims = {list(n.operand_batching_dims)},"
            f" start_indices_batching_dims = {list(n.start_indices_batching_dims)},"
            f" start_index_map = {list(n.start_index_map)},"
            f" index_vector_dim = {entry}>"
        )
        return emit(
            "stablehlo.gather",
            operand,
            indices,
            dimension_numbers=numbers,
            slice_sizes=self.slice_sizes,
            indices_are_sorted=self.indices_are_sorted,
        )


def highest_starts(axes: Shape, operand: Aval, sizes: Shape, indices: Any) -> Any:
    """The last start along each indexed axis at which a window fits, for all vectors."""
    aval = aval_of(indices)
    largest = int(dtypes.iinfo(aval.dtype).max)
    limits = [operand.shape[i] - sizes[i] for i in axes]
    row = np.minimum(limits, largest).astype(aval.dtype)
    return broadcast_in_dim(row, aval.shape, (aval.ndim - 1,))


# ----------------------------------------------------------------------------- scatters


class ScatterOp(Op):
    """`operand` with windows of `updates` combined in, one for each index vector.

    `dimension_numbers`, `mode` and the promises are those of `Gather`.
    """

    dimension_numbers: ScatterDimensionNumbers
    indices_are_sorted: bool = False
    unique_indices: bool = False
    mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP

    kind = Kind.UPDATE
    updates = 0
    aligned = False
    sets_weak = True

    def type(self, operand: Aval, indices: Aval, updates: Aval) -> Aval:
        what = self.name.replace("-", "_")
        numbers = self.dimension_numbers.as_gather()
        windows = Windows(numbers, operand.ndim)
        windows.check(what, operand, indices, updates.ndim)
        if operand.dtype != updates.dtype:
            raise TypeError(
                f"lax.{what} needs an operand and updates of one dtype, got"
                f" {operand.long_name()} and {updates.long_name()}"
            )
        along = [n for i, n in enumerate(updates.shape) if i not in numbers.offset_dims]
        if along != list(indices.shape[:-1]):
            raise TypeError(
                f"lax.{what}: without the window axes {numbers.offset_dims}, the"
                f" updates {updates.long_name()} must have the shape"
                f" {indices.shape[:-1]} of the indices without their last axis"
            )
        for i, axis in zip(numbers.offset_dims, windows.kept):
            if updates.shape[i] > operand.shape[axis]:
                raise TypeError(
                    f"lax.{what}: the updates have windows of extent"
                    f" {updates.shape[i]} along axis {axis} of {operand.long_name()}"
                )
        return operand

    def batch(
        self,
        axis: Axis,
        mapped: Sequence[bool],
        operand: Any,
        indices: Any,
        updates: Any,
    ) -> Any:
        if not mapped[0]:
            operand = broadcast(operand, (axis.size,))
        if not mapped[2]:
            updates = broadcast(updates, (axis.size,))
        n = self.dimension_numbers
        if mapped[1]:
            numbers = ScatterDimensionNumbers(
                up(n.update_window_dims),
                up(n.inserted_window_dims),
                up(n.scatter_dims_to_operand_dims),
                (0, *up(n.operand_batching_dims)),
                (0, *up(n.scatter_indices_batching_dims)),
            )
        else:
            numbers = ScatterDimensionNumbers(
                (0, *up(n.update_window_dims)),
                up(n.inserted_window_dims),
                up(n.scatter_dims_to_operand_dims),
                up(n.operand_batching_dims),
                n.scatter_indices_batching_dims,
            )
        op = type(self)(numbers, False, self.unique_indices, self.mode)
        return op(operand, indices, updates)

    def reader(self, operand: Aval, updates: Aval, fill: Any) -> Gather:
        """The gather that reads, for each update, the element it goes to."""
        numbers = self.dimension_numbers.as_gather()
        sizes = [int(n > 0) for n in operand.shape]
        kept = Windows(numbers, operand.ndim).kept
        for i, axis in zip(numbers.offset_dims, kept):
            sizes[axis] = updates.shape[i]
        clipped = self.mode is GatherScatterMode.CLIP
        mode = GatherScatterMode.CLIP if clipped else GatherScatterMode.FILL_OR_DROP
        promises = (self.indices_are_sorted, self.unique_indices)
        return Gather(numbers, tuple(sizes), *promises, mode, fill, fill)

    def point(self, block: Any, coords: Sequence[Any], load: Any) -> Point:
        numbers = self.dimension_numbers.as_gather()
        inserted = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
        ndim = len(inserted) + len(numbers.offset_dims)
        windows = Windows(numbers, ndim)
        at = dict(zip(windows.kept, numbers.offset_dims))

        def size_of(axis: int) -> Any:
            return block.extent(2, at[axis]) if axis in at else 1

        found, inside = windows.point(block, coords, load, self.mode, False, size_of)
        return Point(found, inside)

    def along(self, rank: int) -> Along:
        numbers = self.dimension_numbers.as_gather()
        inserted = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
        ndim = len(inserted) + len(numbers.offset_dims)
        return Windows(numbers, ndim).along(rank)

    def expand(self, operand: Any, indices: Any, updates: Any) -> Any:
        """Windows that stick out are moved inside first, for backends that drop them."""
        reader = self.reader(aval_of(operand), aval_of(updates), 0)
        numbers = self.dimension_numbers
        axes = numbers.scatter_dims_to_operand_dims
        limit = highest_starts(axes, aval_of(operand), reader.slice_sizes, indices)
        zero = aval_of(indices).dtype.type(0)
        inside = max(min(indices, limit), full_like(indices, zero))
        promises = (False, self.unique_indices)
        promised = GatherScatterMode.PROMISE_IN_BOUNDS
        return type(self)(numbers, *promises, promised)(operand, inside, updates)

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        raise NotImplementedError

    @property
    def hlo(self) -> Any:  # type: ignore[override]
        """StableHLO drops windows that stick out; the other mode is expanded."""
        return None if self.mode is GatherScatterMode.CLIP else self._emit

    def _emit(self, emit: Any, operand: Any, indices: Any, updates: Any) -> Any:
        n = self.dimension_numbers
        entry = indices.aval.ndim - 1
        numbers = (
            f"#stablehlo.scatter<update_window_dims = {list(n.update_window_dims)},"
            f" inserted_window_dims = {list(n.inserted_window_dims)},"
            f" input_batching_dims = {list(n.operand_batching_dims)},"
            f" scatter_indices_batching_dims = {list(n.scatter_indices_batching_dims)},"
            f" scatter_dims_to_operand_dims = {list(n.scatter_dims_to_operand_dims)},"
            f" index_vector_dim = {entry}>"
        )
        scalar = Aval((), operand.aval.dtype)
        return emit(
            "stablehlo.scatter",
            operand,
            indices,
            updates,
            regions=[([scalar, scalar], self.combine)],
            scatter_dimension_numbers=numbers,
            indices_are_sorted=self.indices_are_sorted,
            unique_indices=self.unique_indices,
        )


class ScatterAdd(ScatterOp):
    """`operand` with windows of `updates` added, one for each index vector.

    out = operand; out[start(indices[i]) + w] += updates[…i, …w], in row-major order of
    the updates. Windows that stick out are treated as `mode` says. TypeError if the
    dimension numbers do not fit, dtypes differ or the indices are not integers.
    Source: https://openxla.org/stablehlo/spec#scatter

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> at = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_add(jnp.zeros(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), at)
    Array([0., 5., 0.], dtype=float32)
    """

    name = "scatter-add"
    accepts = "fcuib"
    linear = ((0, 2),)

    def transpose(
        self, ct: Any, operand: Any, indices: Any, updates: Any
    ) -> tuple[Any, ...]:
        ct_updates = None
        if isinstance(updates, Linear):
            ct_updates = self.reader(aval_of(ct), updates.aval, 0)(ct, indices)
        return (ct if isinstance(operand, Linear) else None, None, ct_updates)

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.add(old, new)

    def initial(self, block: Any, type: str) -> Any:
        if type.startswith("c"):
            return block.constant(complex(-0.0, -0.0), type)
        return block.constant(0 if type[0] in "iu" else -0.0, type)


class ScatterSub(ScatterOp):
    """`operand` with windows of `updates` subtracted, one for each index vector.

    As `scatter_add`, with −= for +=.

    >>> from tetrad import lax
    >>> import tetrad.numpy as jnp
    >>> at = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> lax.scatter_sub(jnp.zeros(3), jnp.array([[1], [1]]), jnp.array([2.0, 3.0]), at)
    Array([ 0., -5.,  0.], dtype=float32)
    """

    name = "scatter-sub"
    accepts = "fcui"
    linear = ((0, 2),)

    def transpose(
        self, ct: Any, operand: Any, indices: Any, updates: Any
    ) -> tuple[Any, ...]:
        ct_updates = None
        if isinstance(updates, Linear):
            read = self.reader(aval_of(ct), updates.aval, 0)
            ct_updates = neg(read(ct, indices))
        return (ct if isinstance(operand, Linear) else None, None, ct_updates)

    def combine(self, block: Any, old: Any, new: Any) -> Any:
        return block.sub(old, new)


# --------------------------------------------------------------------- public functions


def gather(
    operand: Operand,
    start_indices: Operand,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    operand = check_operand(operand, "gather")
    indices = check_operand(start_indices, "gather", 1)
    sizes = check_shape(slice_sizes, "gather")
    if mode is None and config.tetrad_bounds == "error":
        look_at_windows("gather", operand, indices, dimension_numbers, sizes)
    mode = GatherScatterMode.from_any(mode)
    filler = None
    if mode is GatherScatterMode.FILL_OR_DROP:
        if isinstance(fill_value, Value):
            raise TypeError(
                "lax.gather: fill_value must be a number known when the program is"
                f" built, got an array {fill_value.aval.long_name()}; use jnp.where for"
                " a computed one"
            )
        if fill_value is not None:
            fill_value = np.asarray(fill_value).item()
        dtype = aval_of(operand).dtype
        filler = missing(dtype) if fill_value is None else fill_value
    else:
        fill_value = None
    op = Gather(
        dimension_numbers,
        sizes,
        bool(indices_are_sorted),
        bool(unique_indices),
        mode,
        fill_value,
        filler,
    )
    return op(operand, indices)


gather.__doc__ = Gather.__doc__


def look_at_windows(
    name: str,
    operand: Any,
    indices: Any,
    numbers: GatherDimensionNumbers,
    sizes: Sequence[int],
) -> None:
    """Looks whether windows stick out, for a caller who did not say what then happens."""
    shape, along = aval_of(operand).shape, aval_of(indices).shape
    if not along or along[-1] != len(numbers.start_index_map):
        return  # an error of the operation itself
    given = []
    for entry, axis in enumerate(numbers.start_index_map):
        if axis >= len(shape) or axis >= len(sizes):
            return
        starts = [0] * (len(along) - 1) + [entry]
        ends = [*along[:-1], entry + 1]
        last = shape[axis] - sizes[axis]
        bound = bounds.Limit(axis, shape[axis], 0, last, "gather", sizes[axis])
        given.append((slice_of(indices, starts, ends), bound))
    bounds.look(given, shape, f"lax.{name}")


def take_along(x: Any, places: Any, axis: int) -> Any:
    """For each lane along `axis`, the elements of `x` at `places`, which lie inside.

    The other axes of both have the same extents.
    """
    shape = aval_of(x).shape
    others = tuple([i for i in range(len(shape)) if i != axis])
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    sizes = tuple([int(n > 0) for n in shape])
    promised = GatherScatterMode.PROMISE_IN_BOUNDS
    op = Gather(numbers, sizes, False, True, promised)
    return op(x, expand_dims(places, (len(shape),)))


def index_take(src: Operand, idxs: Sequence[Operand], axes: Sequence[int]) -> Any:
    """The elements of `src` at the indices `idxs[k]` along the axes `axes[k]`.

    The indices have one shape, which comes first in the result; the axes go. Indices
    are taken as they are: those outside are moved inside.

    >>> from tetrad import lax
    >>> lax.index_take(lax.iota("int32", 5), (lax.full((2,), 3),), (0,))
    Array([3, 3], dtype=int32)
    """
    src = check_operand(src, "index_take")
    shape = aval_of(src).shape
    axes = check_axes(axes, len(shape), "index_take")
    columns = [check_operand(i, "index_take", 1) for i in idxs]
    if len(columns) != len(axes) or not columns:
        raise ValueError(
            f"lax.index_take needs one array of indices for each axis of {axes}, got"
            f" {len(columns)}"
        )
    along = aval_of(columns[0]).shape
    stacked = concatenate([expand_dims(i, (len(along),)) for i in columns], len(along))
    window = [n for i, n in enumerate(shape) if i not in axes]
    offsets = tuple(range(len(along), len(along) + len(window)))
    numbers = GatherDimensionNumbers(offsets, tuple(sorted(axes)), axes)
    sizes = [1 if i in axes else n for i, n in enumerate(shape)]
    return gather(src, stacked, numbers, sizes, mode="clip")
