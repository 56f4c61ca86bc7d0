"""Collectives: operations across the lanes of a named axis, as `lax.psum`.

In: a value of one lane, under `vmap(..., axis_name=...)`. Out: what the lanes give
together. An operation refers to axes by name until it meets the `vmap` that maps the
name; its batch rule then turns it into operations on the whole array. So none is left
when a program runs, and none has a rule for a machine.

Read `Named`, `Psum`, `AllGather`, then the public functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis, Op, Whole
from tetrad._src.ops.arithmetic import add, clamp, min, mul, sub
from tetrad._src.ops.axes import check_axis
from tetrad._src.ops.compare import bitwise_and, ge, lt, select
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.gather import index_take
from tetrad._src.ops.index import dynamic_index_in_dim
from tetrad._src.ops.reduce import reduce_max, reduce_min
from tetrad._src.ops.slices import concatenate, index_in_dim, slice_in_dim
from tetrad._src.ops.views import (
    broadcast_in_dim,
    broadcasted_iota,
    moveaxis,
    reduce_sum,
    reshape,
    zeros,
)
from tetrad._src.transforms import vmap
from tetrad._src.util import tree

INT32 = np.dtype(np.int32)
Names = tuple[Any, ...]
Mask = tuple[bool, ...]


class Named(Op):
    """An operation across the axes named `axes`."""

    axes: Names

    aligned = False

    @property
    def axis_names(self) -> Names:
        return self.axes


class _Fold(Named):
    """One value from those of all lanes."""

    axes: Names

    fold: ClassVar[Any]

    def type(self, x: Aval) -> Aval:
        return x

    def shared(self, x: Any, size: int) -> Any:
        """What `size` lanes give that all have the value `x`."""
        return x

    def batch(self, axis: Axis, mapped: Mask, x: Any) -> Any:
        if axis.name not in self.axes:
            return self(x)
        rest = tuple([name for name in self.axes if name != axis.name])
        out = type(self).fold(x, (0,)) if mapped[0] else self.shared(x, axis.size)
        return Whole(type(self)(rest)(out) if rest else out)


class Psum(_Fold):
    """The sum of the values of all lanes."""

    axes: Names

    accepts = "fcui"
    linear = ((0,),)
    fold = staticmethod(reduce_sum)

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (self(ct),)

    def shared(self, x: Any, size: int) -> Any:
        return mul(x, aval_of(x).dtype.type(size))


class Pmax(_Fold):
    """The largest of the values of all lanes."""

    axes: Names

    fold = staticmethod(reduce_max)


class Pmin(_Fold):
    """The smallest of the values of all lanes."""

    axes: Names

    fold = staticmethod(reduce_min)


class AxisIndex(Named):
    """The number of the lane."""

    axes: Names

    def type(self) -> Aval:
        return Aval((), INT32)

    def batch(self, axis: Axis, mapped: Mask) -> Any:
        return broadcasted_iota(INT32, (axis.size,), 0)


class AllGather(Named):
    """The values of all lanes along a new axis `dimension`."""

    axes: Names
    dimension: int
    size: int

    linear = ((0,),)

    def type(self, x: Aval) -> Aval:
        shape = list(x.shape)
        shape.insert(self.dimension, self.size)
        return x.update(shape=shape)

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        total = Psum(self.axes)(ct)
        lane = AxisIndex(self.axes)()
        return (dynamic_index_in_dim(total, lane, self.dimension, keepdims=False),)

    def batch(self, axis: Axis, mapped: Mask, x: Any) -> Any:
        if axis.name not in self.axes:
            return AllGather(self.axes, self.dimension + 1, self.size)(x)
        if mapped[0]:
            return Whole(moveaxis(x, 0, self.dimension))
        return Whole(vmap.move_mapped(axis, x, None, self.dimension))


class Ppermute(Named):
    """Lane `target` gets the value of lane `source`, for each (source, target).

    Lanes that are no target get zeros.
    """

    axes: Names
    perm: tuple[tuple[int, int], ...]

    accepts = "fcuib"
    linear = ((0,),)

    def type(self, x: Aval) -> Aval:
        return x

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        back = tuple([(target, source) for source, target in self.perm])
        return (Ppermute(self.axes, back)(ct),)

    def batch(self, axis: Axis, mapped: Mask, x: Any) -> Any:
        if axis.name not in self.axes:
            return self(x)
        if not mapped[0]:
            x = vmap.spread(axis, x)
        sources = {target: source for source, target in self.perm}
        runs: list[list[int]] = []  # first source (or -1), length
        for target in range(axis.size):
            source = sources.get(target, -1)
            last = runs[-1] if runs else None
            follows = last is not None and (
                source == last[0] + last[1] if last[0] >= 0 else source < 0
            )
            if follows and last is not None and (source < 0) == (last[0] < 0):
                last[1] += 1
            else:
                runs.append([source, 1])
        shape = aval_of(x).shape[1:]
        parts = [
            zeros(Aval((length, *shape), aval_of(x).dtype))
            if source < 0
            else slice_in_dim(x, source, source + length)
            for source, length in runs
        ]
        return concatenate(parts, 0) if len(parts) > 1 else parts[0]


# ------------------------------------------------------------------------------ functions


def _names(axis_name: Any, function: str) -> Names:
    """The names as a tuple; NameError for one that no surrounding `vmap` maps."""
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    for name in names:
        if vmap.axis_size(name) is None:
            around = [str(known) for known, _ in vmap.named_axes()]
            known = (
                f"the axes here are {', '.join(around)}" if around else "none is here"
            )
            raise NameError(
                f"lax.{function}: no axis is named {name!r} ({known}). Name one with"
                f" vmap(f, axis_name={name!r})."
            )
    return names


def _no_groups(groups: Any, function: str) -> None:
    if groups is not None:
        raise NotImplementedError(
            f"lax.{function}: axis_index_groups is not available; give the lanes two"
            " axes with nested vmaps, and name one of them"
        )


def axis_size(axis_name: Any) -> int:
    """The number of lanes of a named axis (of several, their product).

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.vmap(lambda x: x * jax.lax.axis_size("i"), axis_name="i")(jnp.ones(2)).tolist()
    [2.0, 2.0]
    """
    total = 1
    for name in _names(axis_name, "axis_size"):
        total *= vmap.axis_size(name) or 1
    return total


def axis_index(axis_name: Any) -> Any:
    """The number of the lane along a named axis, an int32.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.axis_index("i"), axis_name="i")(jnp.ones(3)).tolist()
    [0, 1, 2]
    """
    index: Any = None
    for name in _names(axis_name, "axis_index"):
        lane = AxisIndex((name,))()
        index = lane if index is None else index * INT32.type(axis_size(name)) + lane
    return index


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The sum over the lanes of a named axis, of each array in the pytree `x`.

    Bools are counted: their sum is an int32.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.ones(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    _no_groups(axis_index_groups, "psum")
    names = _names(axis_name, "psum")
    size = axis_size(axis_name)

    def total(leaf: Any) -> Any:
        if aval_of(leaf).kind == "b":
            leaf = convert_element_type(leaf, INT32)
        if isinstance(leaf, (int, float, complex)):
            return leaf * size
        return Psum(names)(leaf)

    return tree.map(total, x)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean over the lanes of a named axis, of each array in the pytree `x`."""
    size = axis_size(axis_name)
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    return tree.map(lambda leaf: leaf / size, total)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The largest value of the lanes of a named axis, elementwise."""
    _no_groups(axis_index_groups, "pmax")
    return tree.map(Pmax(_names(axis_name, "pmax")), x)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The smallest value of the lanes of a named axis, elementwise."""
    _no_groups(axis_index_groups, "pmin")
    return tree.map(Pmin(_names(axis_name, "pmin")), x)


def all_gather(
    x: Any,
    axis_name: Any,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
) -> Any:
    """The values of all lanes along `axis`: a new one, or joined to that one if `tiled`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.all_gather(x, "i"), axis_name="i")(jnp.arange(2)).tolist()
    [[0, 1], [0, 1]]
    """
    _no_groups(axis_index_groups, "all_gather")
    (name,) = _names(axis_name, "all_gather")
    size = axis_size(name)

    def gather(leaf: Any) -> Any:
        shape = aval_of(leaf).shape
        at = check_axis(axis, len(shape) + (not tiled), "all_gather")
        gathered = AllGather((name,), at, size)(leaf)
        if not tiled:
            return gathered
        return reshape(gathered, (*shape[:at], size * shape[at], *shape[at + 1 :]))

    return tree.map(gather, x)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends the value of lane `source` to lane `target` for each pair in `perm`.

    Lanes that are no target get zeros.
    """
    (name,) = _names(axis_name, "ppermute")
    size = axis_size(name)
    pairs = tuple([(int(source), int(target)) for source, target in perm])
    ends = [lane for pair in pairs for lane in pair]
    if any(not 0 <= lane < size for lane in ends):
        raise ValueError(
            f"lax.ppermute: perm={pairs} names lanes outside of 0 to {size - 1}, the"
            f" lanes of {name!r}"
        )
    targets = [target for _, target in pairs]
    if len(set(targets)) < len(targets):
        raise ValueError(f"lax.ppermute: perm={pairs} sends two lanes to the same one")
    return tree.map(Ppermute((name,), pairs), x)


def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Lane `i` gets the value of lane `perm[i]`."""
    return ppermute(x, axis_name, [(source, i) for i, source in enumerate(perm)])


def psum_scatter(
    x: Any,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """The sum over the lanes, of which each lane gets its part along an axis."""
    _no_groups(axis_index_groups, "psum_scatter")
    (name,) = _names(axis_name, "psum_scatter")
    size = axis_size(name)

    def scatter(leaf: Any) -> Any:
        shape = aval_of(leaf).shape
        at = check_axis(scatter_dimension, len(shape), "psum_scatter")
        if shape[at] % size or (not tiled and shape[at] != size):
            raise ValueError(
                f"lax.psum_scatter: axis {at} of {aval_of(leaf).long_name()} must have"
                f" {'a multiple of ' if tiled else ''}{size} elements, the lanes of"
                f" {name!r}"
            )
        split = (*shape[:at], size, shape[at] // size, *shape[at + 1 :])
        total = psum(reshape(leaf, split) if tiled else leaf, name)
        return dynamic_index_in_dim(total, axis_index(name), at, keepdims=False)

    return tree.map(scatter, x)


def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Splits an axis among the lanes, and joins what all lanes send along another."""
    _no_groups(axis_index_groups, "all_to_all")
    (name,) = _names(axis_name, "all_to_all")
    size = axis_size(name)

    def exchange(leaf: Any) -> Any:
        shape = aval_of(leaf).shape
        at = check_axis(split_axis, len(shape), "all_to_all")
        to = check_axis(concat_axis, len(shape), "all_to_all")
        if shape[at] % size or (not tiled and shape[at] != size):
            raise ValueError(
                f"lax.all_to_all: axis {at} of {aval_of(leaf).long_name()} must have"
                f" {'a multiple of ' if tiled else ''}{size} elements, the lanes of"
                f" {name!r}"
            )
        part = (*shape[:at], size, shape[at] // size, *shape[at + 1 :])
        every = all_gather(reshape(leaf, part), name)
        mine = dynamic_index_in_dim(every, axis_index(name), at + 1, keepdims=False)
        if not tiled:
            mine = reshape(mine, (size, *shape[:at], *shape[at + 1 :]))
            return moveaxis(mine, 0, to)
        joined = moveaxis(mine, 0, to)
        own = aval_of(joined).shape
        return reshape(joined, (*own[:to], own[to] * own[to + 1], *own[to + 2 :]))

    return tree.map(exchange, x)


_RAGGED = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


def _check_ragged(
    function: str, rows: Aval, into: Aval, numbers: Sequence[Any], name: Any
) -> None:
    if not rows.ndim or rows.shape[1:] != into.shape[1:] or rows.dtype != into.dtype:
        raise TypeError(
            f"lax.{function}: operand and output must be arrays of one dtype that differ"
            f" in their first axis at most, got {rows.long_name()} and {into.long_name()}"
        )
    size = axis_size(name)
    for argument, given in zip(_RAGGED, numbers):
        aval = aval_of(given)
        if aval.shape != (size,) or aval.kind not in "iu":
            raise ValueError(
                f"lax.{function}: {argument} must be {size} integers, one for each lane"
                f" of {name!r}, got {aval.long_name()}"
            )


def ragged_all_to_all(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> Any:
    """Each lane sends a slice of rows to each, of any size; what arrives goes into `output`.

    From lane i, rows input_offsets[j] to input_offsets[j] + send_sizes[j] of `operand` go
    to lane j, into its `output` from row output_offsets[j] of lane i on. Rows that nobody
    sends to stay. Lane j expects recv_sizes[i] rows; it takes no more.

    Args:
      operand: rows to send.
      output: rows that receive; of the same dtype, and the same shape but for its rows.
      input_offsets, send_sizes, output_offsets, recv_sizes: a vector of integers each,
        with an element for each lane.
      axis_name: the axis of the lanes.

    TypeError or ValueError if these do not fit.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> send = lambda x, sizes, to: jax.lax.ragged_all_to_all(
    ...     x, jnp.zeros(3), jnp.array([0, sizes[0]]), sizes, to, sizes, axis_name="i")
    >>> x = jnp.array([[1., 2., 3.], [4., 5., 6.]])
    >>> sizes, to = jnp.array([[1, 2], [2, 1]]), jnp.array([[0, 0], [1, 2]])
    >>> jax.vmap(send, axis_name="i")(x, sizes, to).tolist()
    [[1.0, 4.0, 5.0], [2.0, 3.0, 6.0]]
    """
    function = "ragged_all_to_all"
    _no_groups(axis_index_groups, function)
    (name,) = _names(axis_name, function)
    size = axis_size(name)
    rows, into = aval_of(operand), aval_of(output)
    numbers = input_offsets, send_sizes, output_offsets, recv_sizes
    _check_ragged(function, rows, into, numbers, name)
    if not rows.shape[0]:
        return output
    last = rows.shape[0] - 1
    me = axis_index(name)
    starts, sizes, targets = [
        dynamic_index_in_dim(
            all_gather(convert_element_type(given, INT32), name), me, 1, keepdims=False
        )
        for given in (input_offsets, send_sizes, output_offsets)
    ]
    every = all_gather(operand, name)
    place = broadcasted_iota(INT32, (into.shape[0],), 0)
    taken = convert_element_type(recv_sizes, INT32)
    for lane in range(size):
        start, count, target, most = [
            index_in_dim(x, lane, keepdims=False)
            for x in (starts, sizes, targets, taken)
        ]
        count = min(count, most)
        offset = sub(place, target)
        arrives = bitwise_and(ge(offset, INT32.type(0)), lt(offset, count))
        source = clamp(INT32.type(0), add(offset, start), INT32.type(last))
        sent = index_take(index_in_dim(every, lane, keepdims=False), (source,), (0,))
        mask = broadcast_in_dim(arrives, into.shape, (0,))
        output = select(mask, sent, output)
    return output


def psend(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends from lane to lane, to be received later: not available, see `ppermute`."""
    raise NotImplementedError(
        "lax.psend and lax.precv are not available, sending and receiving are one"
        f" operation; write lax.ppermute(x, {axis_name!r}, {list(perm)})"
    )


def precv(
    token: Any, out_shape: Any, axis_name: Any, perm: Sequence[tuple[int, int]]
) -> Any:
    """Receives what `psend` sent: not available, see `ppermute`."""
    raise NotImplementedError(
        "lax.psend and lax.precv are not available, sending and receiving are one"
        f" operation; write lax.ppermute(x, {axis_name!r}, {list(perm)}) where x is sent"
    )


def pswapaxes(x: Any, axis_name: Any, axis: int) -> Any:
    """Swaps the axis `axis` with the axis of the lanes, which is as long.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> swap = jax.vmap(lambda row: jax.lax.pswapaxes(row, "i", 0), axis_name="i")
    >>> swap(jnp.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    return all_to_all(x, axis_name, axis, axis)


def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """What lane `source` of a named axis has, for all lanes.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> spread = jax.vmap(lambda x: jax.lax.pbroadcast(x, "i", 1), axis_name="i")
    >>> spread(jnp.array([3, 4, 5])).tolist()
    [4, 4, 4]
    """
    (name,) = _names(axis_name, "pbroadcast")
    size = axis_size(name)
    if not 0 <= source < size:
        raise ValueError(
            f"lax.pbroadcast: source must be a lane from 0 to {size - 1}, got {source}"
        )

    def of_source(leaf: Any) -> Any:
        return slice_in_dim(all_gather(leaf, name), source, source + 1)

    return tree.map(lambda x: reshape(of_source(x), aval_of(x).shape), x)


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """The pytree `x`, said to vary along named axes, or not to ("varying", "reduced", …).

    In JAX the types of values inside of `shard_map` say along which axes they vary. Types
    do not know it here, so the values are given back as they are.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> f = jax.vmap(lambda x: jax.lax.pcast(x, "i", to="varying"), axis_name="i")
    >>> f(jnp.arange(2)).tolist()
    [0, 1]
    """
    kinds = ("varying", "unreduced", "reduced", "invarying")
    if to not in kinds:
        raise ValueError(f"lax.pcast: to must be one of {kinds}, got {to!r}")
    _names(axis_name, "pcast")
    return x
