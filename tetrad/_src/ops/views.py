"""Operations that move all elements: index maps, and the sum that transposes one.

What comes in: one array (none for `iota`). What goes out: its elements in other places.
Nothing is computed but `reduce_sum`, which stands here because it is the transpose of
`broadcast_in_dim`, as that is of it. `slices.py` goes on with parts of arrays.

To the CPU an index map is `restride`: strides and offset of the operand, in elements,
become those of the result.

Read the classes, each followed by its public function; at the end, arrays made from
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Value, aval_of, home_of, making_at
from tetrad._src.core.mesh import no_sharding
from tetrad._src.core.op import Axis
from tetrad._src.ops.axes import check_axes, check_axis, check_shape, ints, up
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import Operand, Rearrange, Reduce, Shape, check_operand
from tetrad._src.ops.placing import DevicePut
from tetrad._src.util import dtypes
from tetrad._src.util.dtypes import canonicalize_dtype, check_narrowing

Strides = tuple[int, ...]
View = tuple[Aval, Strides, int]


# ------------------------------------------------------------------------------ broadcast


class BroadcastInDim(Rearrange):
    """Copies `operand` along new axes.

    Axis `i` of the operand becomes axis `broadcast_dimensions[i]` of the result of shape
    `shape`; its extent must be 1 or the extent there. ValueError otherwise.
    Source: https://openxla.org/stablehlo/spec#broadcast_in_dim

    >>> from tetrad import lax
    >>> lax.broadcast_in_dim(2.0, (3,), ())
    Array([2., 2., 2.], dtype=float32, weak_type=True)
    """

    shape: Shape
    broadcast_dimensions: Shape

    linear = ((0,),)

    def elide(self, x: Any, out: Aval) -> Any:
        return x if x.aval is out else None

    @property
    def hidden(self) -> tuple[str, ...]:
        return (
            ("shape",)
            if self.broadcast_dimensions
            else ("shape", "broadcast_dimensions")
        )

    def type(self, operand: Aval) -> Aval:
        dims = self.broadcast_dimensions
        if len(dims) != operand.ndim:
            raise ValueError(
                "lax.broadcast_in_dim: broadcast_dimensions must name one axis of the"
                f" result for each axis of {operand.long_name()}, got {dims}"
            )
        if any(a >= b for a, b in zip(dims, dims[1:])) or any(
            not 0 <= d < len(self.shape) for d in dims
        ):
            raise ValueError(
                "lax.broadcast_in_dim: broadcast_dimensions must be increasing axes of"
                f" the shape {self.shape}, got {dims}"
            )
        for extent, d in zip(operand.shape, dims):
            if extent not in (1, self.shape[d]):
                raise ValueError(
                    f"cannot broadcast {operand.long_name()} to shape {self.shape}"
                    f" along axes {dims}: extent {extent} is neither 1 nor"
                    f" {self.shape[d]}"
                )
        return Aval(self.shape, operand.dtype)

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        shape = operand.aval.shape
        dims = self.broadcast_dimensions
        new = [d for d in range(len(self.shape)) if d not in dims]
        stretched = [d for d, n in zip(dims, shape) if n != self.shape[d]]
        total = reduce_sum(ct, sorted(new + stretched))
        return (reshape(total, shape) if stretched else total,)

    def batch(self, axis: Axis, operand: Any) -> Any:
        dims = (0, *up(self.broadcast_dimensions))
        return BroadcastInDim((axis.size, *self.shape), dims)(operand)

    def simplify(self, operand: Any) -> Any:
        same = isinstance(operand, Value) and operand.aval.shape == self.shape
        return operand if same else None

    def restride(self, operand: Aval, strides: Strides, offset: int) -> View:
        result = [0] * len(self.shape)
        for d, extent, stride in zip(self.broadcast_dimensions, operand.shape, strides):
            if extent == self.shape[d]:
                result[d] = stride
        return self.type(operand), tuple(result), offset

    def hlo(self, emit: Any, operand: Any) -> Any:
        dims = self.broadcast_dimensions
        return emit("stablehlo.broadcast_in_dim", operand, broadcast_dimensions=dims)


def broadcast_in_dim(
    operand: Operand,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: Any = None,
) -> Any:
    if out_sharding is not None:
        no_sharding("lax.broadcast_in_dim", out_sharding)
    shape = check_shape(shape, "broadcast_in_dim")
    dims = ints(broadcast_dimensions, "broadcast_in_dim")
    if not isinstance(operand, Value):
        operand = check_operand(operand, "broadcast_in_dim")
    elif operand.aval.shape == shape and dims == tuple(range(len(shape))):
        return operand
    rising = tuple(sorted(dims))
    if dims != rising and len(dims) == aval_of(operand).ndim:
        order = sorted(range(len(dims)), key=dims.__getitem__)
        operand, dims = transpose(operand, order), rising
    return BroadcastInDim(shape, dims)(operand)


def broadcast(operand: Operand, sizes: Sequence[int]) -> Any:
    """Adds leading axes of extents `sizes`, along which `operand` is repeated.

    >>> from tetrad import lax
    >>> lax.broadcast(2, (2, 3)).shape
    (2, 3)
    """
    operand = check_operand(operand, "broadcast")
    sizes = check_shape(sizes, "broadcast")
    shape = aval_of(operand).shape
    dims = tuple(range(len(sizes), len(sizes) + len(shape)))
    return broadcast_in_dim(operand, sizes + shape, dims)


def broadcast_to_rank(x: Operand, rank: int) -> Any:
    """Adds leading axes of extent 1 until `x` has `rank` axes.

    >>> from tetrad import lax
    >>> lax.broadcast_to_rank(lax.iota("int32", 3), 2).shape
    (1, 3)
    """
    ndim = aval_of(x).ndim
    if ndim > rank:
        raise ValueError(
            f"lax.broadcast_to_rank: {aval_of(x).long_name()} has more than {rank} axes"
        )
    return expand_dims(x, tuple(range(rank - ndim)))


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """The shape that arrays of these shapes have together, by NumPy's rule.

    >>> from tetrad import lax
    >>> lax.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    checked = [check_shape(shape, "broadcast_shapes") for shape in shapes]
    rank = max(map(len, checked), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in checked]
    result = []
    for extents in zip(*padded):
        wide = {n for n in extents if n != 1}
        if len(wide) > 1:
            raise ValueError(f"shapes {', '.join(map(str, checked))} do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def expand_dims(array: Operand, dimensions: Sequence[int]) -> Any:
    """Adds axes of extent 1 at the positions `dimensions` of the result.

    >>> from tetrad import lax
    >>> lax.expand_dims(lax.iota("int32", 3), (0, 2)).shape
    (1, 3, 1)
    """
    array = check_operand(array, "expand_dims")
    shape = aval_of(array).shape
    ndim = len(shape) + len(tuple(dimensions))
    new = check_axes(dimensions, ndim, "expand_dims")
    kept = tuple([i for i in range(ndim) if i not in new])
    result = [1] * ndim
    for i, extent in zip(kept, shape):
        result[i] = extent
    return broadcast_in_dim(array, tuple(result), kept)


def fold_of_single(operand: Any, axes: Shape) -> Any:
    """What a fold gives if there is one element to fold everywhere; None otherwise."""
    if not axes:
        return operand
    shape = aval_of(operand).shape
    return squeeze(operand, axes) if all(shape[d] == 1 for d in axes) else None


class ReduceSum(Reduce):
    """Sums over `axes`, which the result does not have.

    Integers wrap. Raises TypeError for bools, ValueError for axes that are not there.
    Source: https://openxla.org/stablehlo/spec#reduce

    >>> from tetrad import lax
    >>> lax.reduce_sum(lax.iota("int32", 5), (0,))
    Array(10, dtype=int32)
    """

    axes: Shape

    accepts = "fcui"
    linear = ((0,),)
    fixed = {"out_sharding": None}

    def type(self, operand: Aval) -> Aval:
        return operand.drop(check_axes(self.axes, operand.ndim, self.name))

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        shape = operand.aval.shape
        kept = tuple([i for i in range(len(shape)) if i not in self.axes])
        return (broadcast_in_dim(ct, shape, kept),)

    def batch(self, axis: Axis, operand: Any) -> Any:
        return ReduceSum(up(self.axes))(operand)

    def simplify(self, operand: Any) -> Any:
        return fold_of_single(operand, self.axes)

    def initial(self, block: Any, type: str) -> tuple[Any, ...]:
        return (block.constant(0, type),)

    def any_order(self, type: str) -> bool:
        return type[0] in "iu"

    def step(self, block: Any, state: Any, x: Any, index: Any) -> tuple[Any, ...]:
        return (block.add(state[0], x),)

    def merge(self, block: Any, state: Any, other: Any) -> tuple[Any, ...]:
        return (block.add(state[0], other[0]),)

    def finish(self, block: Any, state: Any) -> Any:
        return state[0]

    hlo = "stablehlo.add"


def reduce_sum(operand: Operand, axes: Sequence[int]) -> Any:
    if not isinstance(operand, Value):
        operand = check_operand(operand, "reduce_sum")
    axes = check_axes(axes, aval_of(operand).ndim, "reduce_sum")
    if not axes and isinstance(operand, Value):
        return operand
    return ReduceSum(axes)(operand)


# -------------------------------------------------------------------------------- reshape


class Reshape(Rearrange):
    """The elements in row-major order, in the shape `new_sizes` of equal size.

    Raises ValueError if the sizes differ. `dimensions`, if given, transposes first.
    Source: https://openxla.org/stablehlo/spec#reshape

    >>> from tetrad import lax
    >>> lax.reshape(lax.iota("int32", 6), (2, 3))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """

    new_sizes: Shape

    linear = ((0,),)
    fixed = {"dimensions": None, "sharding": None}

    def type(self, operand: Aval) -> Aval:
        if math.prod(self.new_sizes) != operand.size:
            raise ValueError(
                f"cannot reshape {operand.long_name()} ({operand.size} elements) to"
                f" shape {self.new_sizes} ({math.prod(self.new_sizes)} elements)"
            )
        return Aval(self.new_sizes, operand.dtype)

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        return (reshape(ct, operand.aval.shape),)

    def batch(self, axis: Axis, operand: Any) -> Any:
        return Reshape((axis.size, *self.new_sizes))(operand)

    def simplify(self, operand: Any) -> Any:
        same = isinstance(operand, Value) and operand.aval.shape == self.new_sizes
        return operand if same else None

    def restride(self, operand: Aval, strides: Strides, offset: int) -> View | None:
        new = reshaped_strides(operand.shape, strides, self.new_sizes)
        return None if new is None else (self.type(operand), new, offset)

    hlo = "stablehlo.reshape"


def reshaped_strides(shape: Shape, strides: Strides, new: Shape) -> Strides | None:
    """The strides that read an array as shape `new` in row-major order, if any do.

    Works through both shapes from the last axis: the fewest trailing axes of equal size
    form a group, and within the old group the strides must be those of one flat run.
    """
    if 0 in shape:
        return Aval(new, np.dtype(bool)).strides
    old = [(n, s) for n, s in zip(shape, strides) if n != 1]
    result: list[int] = []
    at = len(new)
    while old:
        size, step = old.pop()
        while at and new[at - 1] == 1:
            at -= 1
            result.append(size * step)
        filled = 1
        run = step
        while filled < size or (at and new[at - 1] == 1):
            extent = new[at - 1]
            at -= 1
            result.append(run)
            run *= extent
            filled *= extent
            while filled > size:
                if not old:
                    return None
                outer, outer_step = old.pop()
                if outer_step != size * step:
                    return None
                size *= outer
            if size % filled:
                if not old:
                    return None
                outer, outer_step = old.pop()
                if outer_step != size * step:
                    return None
                size *= outer
    result.extend([1] * at)
    return tuple(reversed(result))


def reshape(
    operand: Operand,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    if out_sharding is not None:
        no_sharding("lax.reshape", out_sharding)
    new_sizes = check_shape(new_sizes, "reshape")
    if not isinstance(operand, Value):
        operand = check_operand(operand, "reshape")
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    if isinstance(operand, Value) and operand.aval.shape == new_sizes:
        return operand
    return Reshape(new_sizes)(operand)


def collapse(
    operand: Operand, start_dimension: int, stop_dimension: int | None = None
) -> Any:
    """Joins the axes from `start_dimension` up to `stop_dimension` into one.

    >>> from tetrad import lax
    >>> lax.collapse(lax.full((2, 3, 4), 0), 1).shape
    (2, 12)
    """
    shape = aval_of(operand).shape
    axes = range(len(shape))[start_dimension:stop_dimension]
    if not axes:
        raise ValueError(
            f"lax.collapse needs at least one axis of {aval_of(operand).long_name()},"
            f" got start_dimension {start_dimension}, stop_dimension {stop_dimension}"
        )
    joined = math.prod([shape[axis] for axis in axes])
    return reshape(operand, (*shape[: axes.start], joined, *shape[axes.stop :]))


def tile(operand: Operand, reps: Sequence[int]) -> Any:
    """`operand` repeated `reps[i]` times along axis `i`, end to end.

    >>> from tetrad import lax
    >>> lax.tile(lax.iota("int32", 2), (2,))
    Array([0, 1, 0, 1], dtype=int32)
    """
    operand = check_operand(operand, "tile")
    shape = aval_of(operand).shape
    reps = check_shape(reps, "tile")
    if len(reps) != len(shape):
        raise ValueError(
            f"lax.tile needs one number of repetitions for each axis of"
            f" {aval_of(operand).long_name()}, got {reps}"
        )
    wide = [n for pair in zip(reps, shape) for n in pair]
    copies = broadcast_in_dim(operand, wide, range(1, 2 * len(shape), 2))
    return reshape(copies, [n * r for n, r in zip(shape, reps)])


class Squeeze(Rearrange):
    """Without the axes `dimensions`, whose extents must be 1; ValueError otherwise.

    Source: https://numpy.org/doc/stable/reference/generated/numpy.squeeze.html

    >>> from tetrad import lax
    >>> lax.squeeze(lax.broadcast(1, (1, 3)), (0,)).shape
    (3,)
    """

    dimensions: Shape

    linear = ((0,),)

    def type(self, array: Aval) -> Aval:
        gone = check_axes(self.dimensions, array.ndim, "squeeze")
        for axis in gone:
            if array.shape[axis] != 1:
                raise ValueError(
                    "cannot select an axis to squeeze out which has size not equal to"
                    f" one: axis {axis} of {array.long_name()} has extent"
                    f" {array.shape[axis]}"
                )
        return array.drop(gone)

    def transpose(self, ct: Any, array: Any) -> tuple[Any, ...]:
        return (reshape(ct, array.aval.shape),)

    def batch(self, axis: Axis, array: Any) -> Any:
        return Squeeze(up(self.dimensions))(array)

    def restride(self, array: Aval, strides: Strides, offset: int) -> View:
        kept = [s for i, s in enumerate(strides) if i not in self.dimensions]
        return self.type(array), tuple(kept), offset

    hlo = "stablehlo.reshape"


def squeeze(array: Operand, dimensions: Sequence[int]) -> Any:
    array = check_operand(array, "squeeze")
    axes = check_axes(dimensions, aval_of(array).ndim, "squeeze")
    if not axes and isinstance(array, Value):
        return array
    return Squeeze(axes)(array)


# ------------------------------------------------------------------- order of axes, slices


class Transpose(Rearrange):
    """Axis `i` of the result is axis `permutation[i]` of `operand`.

    Raises ValueError unless `permutation` names every axis once.
    Source: https://openxla.org/stablehlo/spec#transpose

    >>> from tetrad import lax
    >>> lax.transpose(lax.broadcast(1, (2, 3)), (1, 0)).shape
    (3, 2)
    """

    permutation: Shape

    linear = ((0,),)

    def type(self, operand: Aval) -> Aval:
        if sorted(self.permutation) != list(range(operand.ndim)):
            raise ValueError(
                f"lax.transpose: {self.permutation} is not a permutation of the axes of"
                f" {operand.long_name()}"
            )
        return Aval([operand.shape[i] for i in self.permutation], operand.dtype)

    def inverse(self) -> Shape:
        order = range(len(self.permutation))
        return tuple(sorted(order, key=self.permutation.__getitem__))

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        return (Transpose(self.inverse())(ct),)

    def batch(self, axis: Axis, operand: Any) -> Any:
        return Transpose((0, *up(self.permutation)))(operand)

    def simplify(self, operand: Any) -> Any:
        if self.permutation == tuple(range(len(self.permutation))):
            return operand
        return None

    def restride(self, operand: Aval, strides: Strides, offset: int) -> View:
        permuted = tuple([strides[i] for i in self.permutation])
        return self.type(operand), permuted, offset

    def hlo(self, emit: Any, operand: Any) -> Any:
        return emit("stablehlo.transpose", operand, permutation=self.permutation)


def transpose(operand: Operand, permutation: Sequence[int]) -> Any:
    permutation = ints(permutation, "transpose")
    if not isinstance(operand, Value):
        operand = check_operand(operand, "transpose")
    elif permutation == tuple(range(operand.aval.ndim)):
        return operand
    return Transpose(permutation)(operand)


def moveaxis(operand: Operand, source: int, destination: int) -> Any:
    """`operand` with its axis `source` at position `destination`, the others in order."""
    ndim = aval_of(operand).ndim
    source = check_axis(source, ndim, "moveaxis")
    destination = check_axis(destination, ndim, "moveaxis")
    order = [i for i in range(ndim) if i != source]
    order.insert(destination, source)
    return transpose(operand, order)


class Rev(Rearrange):
    """Reverses the order of elements along `dimensions`.

    Source: https://openxla.org/stablehlo/spec#reverse

    >>> from tetrad import lax
    >>> lax.rev(lax.iota("int32", 3), (0,))
    Array([2, 1, 0], dtype=int32)
    """

    dimensions: Shape

    linear = ((0,),)

    def type(self, operand: Aval) -> Aval:
        check_axes(self.dimensions, operand.ndim, "rev")
        return operand

    def transpose(self, ct: Any, operand: Any) -> tuple[Any, ...]:
        return (Rev(self.dimensions)(ct),)

    def batch(self, axis: Axis, operand: Any) -> Any:
        return Rev(up(self.dimensions))(operand)

    def simplify(self, operand: Any) -> Any:
        shape = aval_of(operand).shape
        return operand if all(shape[i] <= 1 for i in self.dimensions) else None

    def restride(self, operand: Aval, strides: Strides, offset: int) -> View:
        reversed_strides = list(strides)
        for axis in self.dimensions:
            if operand.shape[axis]:
                offset += (operand.shape[axis] - 1) * strides[axis]
            reversed_strides[axis] = -strides[axis]
        return operand, tuple(reversed_strides), offset

    def hlo(self, emit: Any, operand: Any) -> Any:
        return emit("stablehlo.reverse", operand, dimensions=self.dimensions)


def rev(operand: Operand, dimensions: Sequence[int]) -> Any:
    operand = check_operand(operand, "rev")
    axes = check_axes(dimensions, aval_of(operand).ndim, "rev")
    if not axes and isinstance(operand, Value):
        return operand
    return Rev(axes)(operand)


# ----------------------------------------------------------------------- made from nothing


class Iota(Rearrange):
    """Counts 0, 1, 2, … along the axis `dimension` of a new array.

    Source: https://openxla.org/stablehlo/spec#iota

    >>> from tetrad import lax
    >>> lax.iota("float32", 3)
    Array([0., 1., 2.], dtype=float32)
    """

    dtype: Any
    shape: Shape
    dimension: int

    fixed = {"sharding": None}

    def type(self) -> Aval:
        return Aval(self.shape, self.dtype)

    def coordinates(self) -> tuple[Shape, int]:
        counted = [int(i == self.dimension) for i in range(len(self.shape))]
        return tuple(counted), 0

    def hlo(self, emit: Any) -> Any:
        return emit("stablehlo.iota", iota_dimension=self.dimension)


def broadcasted_iota(dtype: Any, shape: Sequence[int], dimension: int) -> Any:
    shape = check_shape(shape, "broadcasted_iota")
    dtype = canonicalize_dtype(dtype)
    if dtypes.kind(dtype) not in "fcui":
        raise TypeError(f"lax.iota counts in numbers, got dtype {dtype.name}")
    dimension = check_axis(dimension, len(shape), "broadcasted_iota")
    check_narrowing(max(shape[dimension] - 1, 0), dtype, "lax.iota: the last number")
    return Iota(dtype, shape, dimension)()


def iota(dtype: Any, size: int) -> Any:
    return broadcasted_iota(dtype, check_shape((size,), "iota"), 0)


def full(
    shape: Sequence[int],
    fill_value: Operand,
    dtype: Any = None,
    *,
    sharding: Any = None,
) -> Any:
    """An array of `shape` whose elements are all `fill_value`, a scalar.

    Without `dtype` the result has that of `fill_value`; with a `sharding` of one device it
    is made there. TypeError if `fill_value` has a shape.

    >>> from tetrad import lax
    >>> lax.full((2,), 7, "float32")
    Array([7., 7.], dtype=float32)
    """
    if sharding is not None:
        place = sharding.placement
        with making_at(place):
            made = full(shape, fill_value, dtype)
        return DevicePut(place)(made) if STATE.trace.stages else made
    shape = check_shape(shape, "full")
    return BroadcastInDim(shape, ())(_scalar(fill_value, dtype))


def _scalar(value: Operand, dtype: Any) -> Any:
    """`value` in `dtype`; not an operation if it is a number."""
    value = check_operand(value, "full", 1)
    if np.ndim(value):
        raise TypeError(
            f"lax.full: fill_value must be a scalar, got {aval_of(value).long_name()}."
            " Use jnp.full, which broadcasts."
        )
    if dtype is None:
        return value
    dtype = canonicalize_dtype(dtype)
    if isinstance(value, Value) or isinstance(dtype, dtypes.KeyDtype):
        return convert_element_type(value, dtype)
    if type(value) is int:
        dtypes.check_narrowing(value, dtype, "lax.full: the Python integer")
    return np.asarray(value).astype(dtype)[()]


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """An array of `shape` whose values are not specified; they are zero here.

    >>> from tetrad import lax
    >>> lax.empty((2, 3), "float32").shape
    (2, 3)
    """
    return full(shape, 0, dtype)


def full_like(
    x: Operand,
    fill_value: Operand,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    *,
    sharding: Any = None,
) -> Any:
    """`full` with the shape and dtype of `x` where they are not given.

    Without `sharding` it is made where `x` is committed, if it is.

    >>> from tetrad import lax
    >>> lax.full_like(lax.iota("int32", 2), 5)
    Array([5, 5], dtype=int32)
    """
    aval = aval_of(x)
    with making_at(home_of(x) if sharding is None else None):
        return full(
            aval.shape if shape is None else shape,
            fill_value,
            aval.dtype if dtype is None else dtype,
            sharding=sharding,
        )


def constant(aval: Aval, value: int) -> Any:
    """`value` everywhere: a NumPy scalar if `aval` has rank 0, so it stays a literal."""
    scalar = aval.dtype.type(value)
    return BroadcastInDim(aval.shape, ())(scalar) if aval.shape else scalar


def zeros(aval: Aval) -> Any:
    return constant(aval, 0)


def ones(aval: Aval) -> Any:
    return constant(aval, 1)


def zeros_like(x: Operand) -> Any:
    return constant(aval_of(x), 0)


def ones_like(x: Operand) -> Any:
    return constant(aval_of(x), 1)


for _function, _class in (
    (broadcast_in_dim, BroadcastInDim),
    (reduce_sum, ReduceSum),
    (reshape, Reshape),
    (squeeze, Squeeze),
    (transpose, Transpose),
    (rev, Rev),
    (iota, Iota),
    (broadcasted_iota, Iota),
):
    _function.__doc__ = _class.__doc__
