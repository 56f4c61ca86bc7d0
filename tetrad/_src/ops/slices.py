"""Parts of arrays: cutting them out, padding around them, putting them together.

`slice` is an index map of its operand (`restride`); `pad` and `concatenate`, which
transpose it, fill `regions` of a new array.

Read the classes, each followed by its public functions.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.op import Axis, Linear, Region
from tetrad._src.ops.axes import check_axis, ints
from tetrad._src.ops.compare import select_n
from tetrad._src.ops.families import BOOL, Operand, Rearrange, Shape, check_operand
from tetrad._src.ops.functions import operands as check_operands
from tetrad._src.ops.views import (
    Strides,
    View,
    broadcast,
    broadcast_in_dim,
    constant,
    reduce_sum,
    reshape,
    squeeze,
)


def zero_of(x: Any) -> Any:
    """A scalar zero of the dtype of `x`."""
    return aval_of(x).dtype.type(0)


class Slice(Rearrange):
    """The elements from `start_indices` up to `limit_indices`, each `strides`-th.

    One number per axis, known when the program is built; 0 <= start <= limit <= extent
    and stride >= 1, or ValueError. The result has ceil((limit - start) / stride)
    elements along an axis. Source: https://openxla.org/stablehlo/spec#slice

    >>> from tetrad import lax
    >>> lax.slice(lax.iota("int32", 10), (1,), (8,), (3,))
    Array([1, 4, 7], dtype=int32)
    """

    start_indices: Shape
    limit_indices: Shape
    strides: Shape | None = None

    linear = ((0,),)

    @property
    def steps(self) -> Shape:
        return self.strides or (1,) * len(self.start_indices)

    def type(self, operand: Aval) -> Aval:
        counts = {len(self.start_indices), len(self.limit_indices), len(self.steps)}
        if counts != {operand.ndim}:
            raise ValueError(
                "lax.slice needs one start, limit and stride for each axis of"
                f" {operand.long_name()}, got start_indices {self.start_indices},"
                f" limit_indices {self.limit_indices}, strides {self.strides}"
            )
        shape = []
        for axis, (n, start, limit, step) in enumerate(
            zip(operand.shape, self.start_indices, self.limit_indices, self.steps)
        ):
            if not 0 <= start <= limit <= n or step < 1:
                raise ValueError(
                    f"lax.slice of {operand.long_name()}: along axis {axis}, 0 <= start"
                    f" <= limit <= {n} and stride >= 1 must hold, got start {start},"
                    f" limit {limit}, stride {step}"
                )
            shape.append(-(-(limit - start) // step))
        return Aval(shape, operand.dtype)

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        config = []
        for n, start, step, kept in zip(
            operand.aval.shape, self.start_indices, self.steps, aval_of(ct).shape
        ):
            used = (kept - 1) * step + 1 if kept else 0
            config.append((start, n - start - used, step - 1))
        return (pad(ct, zero_of(ct), config),)

    def batch(self, axis: Axis, operand: Any) -> Any:
        steps = None if self.strides is None else (1, *self.strides)
        starts = (0, *self.start_indices)
        return Slice(starts, (axis.size, *self.limit_indices), steps)(operand)

    def simplify(self, operand: Any) -> Any:
        return operand if self.type(aval_of(operand)).shape == operand.shape else None

    def restride(self, operand: Aval, strides: Strides, offset: int) -> View:
        for start, stride in zip(self.start_indices, strides):
            offset += start * stride
        stepped = tuple([s * step for s, step in zip(strides, self.steps)])
        return self.type(operand), stepped, offset

    def hlo(self, emit: Any, operand: Any) -> Any:
        return emit(
            "stablehlo.slice",
            operand,
            start_indices=self.start_indices,
            limit_indices=self.limit_indices,
            strides=self.steps,
        )


def slice(
    operand: Operand,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    starts = ints(start_indices, "slice")
    limits = ints(limit_indices, "slice")
    steps = None if strides is None else ints(strides, "slice")
    if steps is not None and all(step == 1 for step in steps):
        steps = None
    operand = check_operand(operand, "slice")
    whole = steps is None and starts == (0,) * len(limits)
    if whole and isinstance(operand, Value) and limits == operand.aval.shape:
        return operand
    return Slice(starts, limits, steps)(operand)


def slice_in_dim(
    operand: Operand,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """`slice` along one axis; negative indices count from the end.

    >>> from tetrad import lax
    >>> lax.slice_in_dim(lax.iota("int32", 5), 1, -1)
    Array([1, 2, 3], dtype=int32)
    """
    shape = aval_of(operand).shape
    axis = check_axis(axis, len(shape), "slice_in_dim")
    n = shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = n if limit_index is None else operator.index(limit_index)
    starts = [0] * len(shape)
    limits = list(shape)
    steps = [1] * len(shape)
    starts[axis] = start + n if start < 0 else start
    limits[axis] = limit + n if limit < 0 else limit
    steps[axis] = operator.index(stride)
    return slice(operand, starts, limits, steps)


def index_in_dim(
    operand: Operand, index: int, axis: int = 0, keepdims: bool = True
) -> Any:
    """The elements at `index` along one axis, which stays with extent 1 or goes.

    >>> from tetrad import lax
    >>> lax.index_in_dim(lax.iota("int32", 5), -1, keepdims=False)
    Array(4, dtype=int32)
    """
    shape = aval_of(operand).shape
    axis = check_axis(axis, len(shape), "index_in_dim")
    index = operator.index(index)
    if not -shape[axis] <= index < shape[axis]:
        raise IndexError(
            f"index {index} is out of range for axis {axis} of extent {shape[axis]}"
        )
    at = index % shape[axis]
    part = slice_in_dim(operand, at, at + 1, axis=axis)
    return part if keepdims else squeeze(part, (axis,))


class Pad(Rearrange):
    """`operand` surrounded by `padding_value`.

    `padding_config` has (low, high, interior) for each axis: elements before, after, and
    between each two. Negative low and high cut elements off.
    Source: https://openxla.org/stablehlo/spec#pad

    >>> from tetrad import lax
    >>> lax.pad(lax.iota("int32", 3), 9, [(1, 0, 1)])
    Array([9, 0, 9, 1, 9, 2], dtype=int32)
    """

    padding_config: tuple[tuple[int, int, int], ...]

    linear = ((0, 1),)
    aligned = False

    def type(self, operand: Aval, padding_value: Aval) -> Aval:
        if padding_value.shape:
            raise ValueError(
                "lax.pad: padding_value must be a scalar, got"
                f" {padding_value.long_name()}"
            )
        if padding_value.dtype != operand.dtype:
            raise TypeError(
                f"lax.pad: padding_value must have the dtype of the operand, got"
                f" {operand.long_name()} and {padding_value.long_name()}"
            )
        if len(self.padding_config) != operand.ndim:
            raise ValueError(
                "lax.pad: padding_config needs one (low, high, interior) for each axis"
                f" of {operand.long_name()}, got {self.padding_config}"
            )
        if any(min(entry) < 0 for entry in self.padding_config):
            raise ValueError(
                f"pad takes no negative padding, got {self.padding_config}"
            )
        shape = [
            low + n + max(n - 1, 0) * interior + high
            for n, (low, high, interior) in zip(operand.shape, self.padding_config)
        ]
        return Aval(shape, operand.dtype)

    def inner(self, x: Any, shape: Shape) -> Any:
        """The elements of `x`, of the padded shape, where the operand's elements are."""
        starts = []
        limits = []
        steps = []
        for n, (low, _, interior) in zip(shape, self.padding_config):
            starts.append(low)
            limits.append(low + max(n - 1, 0) * (interior + 1) + min(n, 1))
            steps.append(interior + 1)
        return slice(x, starts, limits, steps)

    def outside(self, shape: Shape) -> Any:
        """Where the result of padding an array of `shape` is padding."""
        return self(constant(Aval(shape, BOOL), False), np.bool_(True))

    def transpose(self, ct: Any, operand: Any, padding_value: Any) -> tuple[Any, ...]:
        linear = isinstance(operand, Linear)
        shape = operand.aval.shape if linear else aval_of(operand).shape
        inner = self.inner(ct, shape)
        around = None
        if isinstance(padding_value, Linear):
            # Not sum(ct) - sum(inner): that would cancel.
            rest = select_n(self.outside(shape), zero_of(ct), ct)
            around = reduce_sum(rest, range(len(shape)))
        return (inner if linear else None, around)

    def batch(
        self, axis: Axis, mapped: Sequence[bool], operand: Any, padding_value: Any
    ) -> Any:
        config = ((0, 0, 0), *self.padding_config)
        if not mapped[1]:
            return Pad(config)(operand, padding_value)
        if not mapped[0]:
            operand = broadcast(operand, (axis.size,))
        shape = aval_of(operand).shape
        padded = Pad(config)(operand, zero_of(operand))
        outside = Pad(config).outside(shape)
        filling = broadcast_in_dim(padding_value, aval_of(padded).shape, (0,))
        return select_n(outside, padded, filling)

    def simplify(self, operand: Any, padding_value: Any) -> Any:
        return None if any(map(any, self.padding_config)) else operand

    def regions(self, operand: Aval, padding_value: Aval) -> list[Region]:
        out = self.type(operand, padding_value)
        offset = 0
        strides = []
        for stride, (low, _, interior) in zip(out.strides, self.padding_config):
            offset += low * stride
            strides.append(stride * (interior + 1))
        return [
            Region(1, out.shape, 0, out.strides),
            Region(0, operand.shape, offset, tuple(strides)),
        ]

    def hlo(self, emit: Any, operand: Any, padding_value: Any) -> Any:
        lows, highs, interiors = (
            zip(*self.padding_config) if self.padding_config else ((), (), ())
        )
        return emit(
            "stablehlo.pad",
            operand,
            padding_value,
            edge_padding_low=lows,
            edge_padding_high=highs,
            interior_padding=interiors,
        )


def pad(
    operand: Operand,
    padding_value: Operand,
    padding_config: Sequence[tuple[int, int, int]],
) -> Any:
    operand, padding_value = check_operands("pad", (operand, padding_value))
    config = tuple([ints(entry, "pad") for entry in padding_config])
    if any(len(entry) != 3 or entry[2] < 0 for entry in config):
        raise ValueError(
            "lax.pad: each entry of padding_config must be (low, high, interior), and the"
            f" interior padding in padding_config must be nonnegative, got {config}"
        )
    grown = tuple([(max(low, 0), max(high, 0), inner) for low, high, inner in config])
    if isinstance(operand, Value) and not any(map(any, grown)):
        padded = operand
    else:
        padded = Pad(grown)(operand, padding_value)
    if grown == config:
        return padded
    starts = []
    limits = []
    for n, (low, high, _) in zip(aval_of(padded).shape, config):
        starts.append(max(-low, 0))
        limits.append(n - max(-high, 0))
        if starts[-1] > limits[-1]:
            raise ValueError(
                f"lax.pad: Dimension size after padding is not at least 0: negative padding"
                f" {config} cuts more than there is of {aval_of(operand).long_name()}"
            )
    return slice(padded, starts, limits)


class Concatenate(Rearrange):
    """The operands one after the other along the axis `dimension`.

    They must have one dtype and agree in the other extents, or TypeError, ValueError.
    Source: https://openxla.org/stablehlo/spec#concatenate

    >>> from tetrad import lax
    >>> x = lax.iota("int32", 2)
    >>> lax.concatenate([x, x], 0)
    Array([0, 1, 0, 1], dtype=int32)
    """

    dimension: int

    linear = "all"

    def type(self, *operands: Aval) -> Aval:
        if not operands:
            raise ValueError("concatenate needs at least one array")
        first = operands[0]
        axis = check_axis(self.dimension, first.ndim, "concatenate")
        total = 0
        for x in operands:
            if x.dtype != first.dtype:
                raise TypeError(
                    "lax.concatenate requires arguments to have the same dtypes, got"
                    f" {', '.join(a.long_name() for a in operands)}. Use"
                    " jnp.concatenate, which promotes dtypes."
                )
            if (
                x.ndim != first.ndim
                or x.drop((axis,)).shape != first.drop((axis,)).shape
            ):
                raise ValueError(
                    f"cannot concatenate along axis {axis}: the other extents differ,"
                    f" got {', '.join(a.long_name() for a in operands)}"
                )
            total += x.shape[axis]
        shape = list(first.shape)
        shape[axis] = total
        return Aval(shape, first.dtype)

    def transpose(self, ct: Any, *operands: Any) -> tuple[Any, ...]:
        starts = [0] * aval_of(ct).ndim
        limits = list(aval_of(ct).shape)
        cts = []
        at = 0
        for x in operands:
            linear = isinstance(x, Linear)
            size = (x.aval if linear else aval_of(x)).shape[self.dimension]
            starts[self.dimension] = at
            at += size
            limits[self.dimension] = at
            cts.append(slice(ct, starts, limits) if linear else None)
        return tuple(cts)

    def batch(self, axis: Axis, *operands: Any) -> Any:
        return Concatenate(self.dimension + 1)(*operands)

    def simplify(self, *operands: Any) -> Any:
        return operands[0] if len(operands) == 1 else None

    def regions(self, *operands: Aval) -> list[Region]:
        out = self.type(*operands)
        regions = []
        offset = 0
        for position, x in enumerate(operands):
            regions.append(Region(position, x.shape, offset, out.strides))
            offset += x.shape[self.dimension] * out.strides[self.dimension]
        return regions

    def hlo(self, emit: Any, *operands: Any) -> Any:
        return emit("stablehlo.concatenate", *operands, dimension=self.dimension)


def concatenate(operands: Operand | Sequence[Operand], dimension: int) -> Any:
    if not isinstance(operands, (list, tuple)):
        operands = [index_in_dim(operands, i, 0, False) for i in range(len(operands))]
    if len(operands) == 0:
        raise ValueError("lax.concatenate needs at least one array, got none")
    arrays = [check_operand(x, "concatenate", i) for i, x in enumerate(operands)]
    dimension = check_axis(dimension, aval_of(arrays[0]).ndim, "concatenate")
    if len(arrays) == 1 and isinstance(arrays[0], Value):
        return arrays[0]
    return Concatenate(dimension)(*arrays)


def stack(operands: Sequence[Operand], axis: int = 0) -> Any:
    """The operands, all of one shape, along a new axis.

    >>> from tetrad import lax
    >>> x = lax.iota("int32", 2)
    >>> lax.stack([x, x]).shape
    (2, 2)
    """
    arrays = [check_operand(x, "stack", i) for i, x in enumerate(operands)]
    if not arrays:
        raise ValueError("lax.stack needs at least one array, got none")
    shape = aval_of(arrays[0]).shape
    axis = check_axis(axis, len(shape) + 1, "stack")
    if any(aval_of(x).shape != shape for x in arrays):
        got = ", ".join(aval_of(x).long_name() for x in arrays)
        raise ValueError(f"lax.stack needs arrays of one shape, got {got}")
    wide = (*shape[:axis], 1, *shape[axis:])
    return concatenate([reshape(x, wide) for x in arrays], axis)


def unstack(x: Operand, axis: int = 0) -> tuple[Any, ...]:
    """The parts of `x` along `axis`, without that axis.

    >>> from tetrad import lax
    >>> lax.unstack(lax.iota("int32", 2))
    (Array(0, dtype=int32), Array(1, dtype=int32))
    """
    shape = aval_of(x).shape
    axis = check_axis(axis, len(shape), "unstack")
    return tuple([index_in_dim(x, i, axis, False) for i in range(shape[axis])])


def split(operand: Operand, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """`operand` cut along `axis` into parts of `sizes`, which add up to its extent.

    >>> from tetrad import lax
    >>> lax.split(lax.iota("int32", 3), (1, 2))
    [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    shape = aval_of(operand).shape
    axis = check_axis(axis, len(shape), "split")
    sizes = ints(sizes, "split")
    if sum(sizes) != shape[axis] or any(size < 0 for size in sizes):
        raise ValueError(
            f"lax.split: Sizes passed to split must be nonnegative, and the Sum of sizes"
            f" {sum(sizes)} must be equal to {shape[axis]}, the extent of axis {axis}; got"
            f" {sizes}"
        )
    parts = []
    at = 0
    for size in sizes:
        parts.append(slice_in_dim(operand, at, at + size, axis=axis))
        at += size
    return parts


for _function, _class in ((slice, Slice), (pad, Pad), (concatenate, Concatenate)):
    _function.__doc__ = _class.__doc__
