"""Arrays made of arrays: joined, stacked, cut up, repeated, padded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import axis_argument, static_int
from tetrad._src.numpy.convert import describe, operand, value
from tetrad._src.numpy.dtype import dtype_argument
from tetrad._src.numpy.elementwise import no_out, no_sharding
from tetrad._src.numpy.plan import Planner, planned, planned_whole, planned_with_floats
from tetrad._src.numpy.promote import call, same_dtype
from tetrad._src.numpy.shape import atleast_1d, atleast_2d, atleast_3d
from tetrad._src.util import errors


def _arrays(arrays: Any, name: str, dtype: Any = None) -> list[Value]:
    """The arrays of a sequence (or the rows of an array) in one dtype."""
    if isinstance(arrays, (Value, np.ndarray)):
        whole = value(arrays, name)
        if not whole.ndim:
            raise TypeError(f"{name} takes a sequence of arrays, got {describe(whole)}")
        arrays = [whole[i] for i in range(whole.shape[0])]
    try:
        listed = list(arrays)
    except TypeError:
        raise TypeError(f"{name} takes a sequence of arrays, got {arrays!r}") from None
    if not listed:
        raise ValueError(f"{call(name)}: there is no array to join")
    xs = [operand(x, name, f"element {i}") for i, x in enumerate(listed)]
    if dtype is None:
        xs = same_dtype(name, xs)
    else:
        found = dtype_argument(dtype, name)
        xs = [lax.convert_element_type(x, found) for x in xs]
    return [x if isinstance(x, Value) else lax.full((), x) for x in xs]


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Value:
    """The arrays one after the other along `axis` (None: flattened first).

    They are promoted to one dtype. TypeError unless they agree in all other extents.

    >>> import tetrad.numpy as jnp
    >>> jnp.concatenate([jnp.arange(2), jnp.arange(3)])
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    name = "jnp.concatenate"
    if dtype is not None:
        return joined(_arrays(arrays, name, dtype), axis, name)
    return _by_plan(
        _joins, arrays, axis, lambda xs: joined(_arrays(xs, name), axis, name)
    )


def concat(arrays: Any, /, *, axis: int | None = 0) -> Value:
    """The arrays one after the other along `axis`: see `concatenate`.

    >>> import tetrad.numpy as jnp
    >>> jnp.concat([jnp.arange(2), jnp.arange(2)])
    Array([0, 1, 0, 1], dtype=int32)
    """
    name = "jnp.concat"
    return _by_plan(
        _joins, arrays, axis, lambda xs: joined(_arrays(xs, name), axis, name)
    )


_joins = Planner("concatenate")
_stacks = Planner("stack")


def _by_plan(
    planner: Planner, arrays: Any, axis: Any, function: Callable[[Any], Any]
) -> Any:
    """`function(arrays)`, planned if these are a list of arrays."""
    if type(axis) is not int or type(arrays) not in (list, tuple) or not arrays:
        return function(arrays)
    if not all([isinstance(x, Value) for x in arrays]):
        return function(arrays)
    key = (axis, *[x.aval for x in arrays])
    return planner.run(key, lambda *xs: function(xs), tuple(arrays), 1)


def joined(xs: list[Value], axis: int | None, name: str) -> Any:
    if isinstance(axis, (Value, np.ndarray)) and axis.ndim:
        raise TypeError(
            f"{call(name)}: axis is {describe(axis)}. The arrays to join are one argument,"
            f" a list: {name}([a, b])"
        )
    if axis is None:
        xs = [lax.reshape(x, (x.size,)) for x in xs]
        axis = 0
    if not xs[0].ndim:
        raise ValueError(
            f"{call(name)}: numbers cannot be joined along an axis; write jnp.stack, or"
            " jnp.array"
        )
    along = axis_argument(axis, xs[0].ndim, name)
    rest = xs[0].aval.drop((along,)).shape
    for i, x in enumerate(xs):
        if x.ndim != xs[0].ndim or x.aval.drop((along,)).shape != rest:
            raise errors.ShapeError(
                f"{call(name)}: array 0 is {describe(xs[0])}, array {i} is {describe(x)};"
                f" all extents but that of axis {along} must agree"
            )
    return lax.concatenate(xs, along)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Value:
    """The arrays, all of one shape, along a new axis at position `axis`.

    ValueError if shapes differ.

    >>> import tetrad.numpy as jnp
    >>> jnp.stack([jnp.arange(2), jnp.arange(2)])
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    no_out("jnp.stack", out)
    name = "jnp.stack"
    if dtype is not None:
        return _stacked(_arrays(arrays, name, dtype), axis, name)
    return _by_plan(
        _stacks, arrays, axis, lambda xs: _stacked(_arrays(xs, name), axis, name)
    )


def _stacked(xs: list[Value], axis: int, name: str) -> Any:
    for i, x in enumerate(xs):
        if x.shape != xs[0].shape:
            raise errors.ShapeError(
                f"{call(name)}: array 0 is {describe(xs[0])}, array {i} is {describe(x)};"
                " only arrays of one shape can be stacked"
            )
    along = axis_argument(axis, xs[0].ndim + 1, name)
    return lax.concatenate([lax.expand_dims(x, (along,)) for x in xs], along)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Value, ...]:
    """The parts of an array along `axis`, without that axis.

    >>> import tetrad.numpy as jnp
    >>> jnp.unstack(jnp.arange(2))
    (Array(0, dtype=int32), Array(1, dtype=int32))
    """
    v = value(x, "jnp.unstack", "x")
    along = axis_argument(axis, v.ndim, "jnp.unstack")
    index: list[Any] = [slice(None)] * along
    return tuple([v[(*index, i)] for i in range(v.shape[along])])


@planned_whole
def vstack(tup: Any, dtype: Any = None) -> Value:
    """The arrays on top of each other: joined along axis 0, vectors as rows.

    >>> import tetrad.numpy as jnp
    >>> jnp.vstack([jnp.arange(2), jnp.arange(2)])
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    xs = [atleast_2d(x) for x in _arrays(tup, "jnp.vstack", dtype)]
    return joined(xs, 0, "jnp.vstack")


@planned_whole
def hstack(tup: Any, dtype: Any = None) -> Value:
    """The arrays side by side: joined along axis 1, vectors along axis 0.

    >>> import tetrad.numpy as jnp
    >>> jnp.hstack([jnp.arange(2), jnp.arange(2)])
    Array([0, 1, 0, 1], dtype=int32)
    """
    xs = [atleast_1d(x) for x in _arrays(tup, "jnp.hstack", dtype)]
    return joined(xs, 0 if xs[0].ndim == 1 else 1, "jnp.hstack")


@planned_whole
def dstack(tup: Any, dtype: Any = None) -> Value:
    """The arrays behind each other: joined along axis 2.

    >>> import tetrad.numpy as jnp
    >>> jnp.dstack([jnp.arange(2), jnp.arange(2)]).shape
    (1, 2, 2)
    """
    xs = [atleast_3d(x) for x in _arrays(tup, "jnp.dstack", dtype)]
    return joined(xs, 2, "jnp.dstack")


@planned_whole
def column_stack(tup: Any) -> Value:
    """Vectors as the columns of a matrix; matrices side by side.

    >>> import tetrad.numpy as jnp
    >>> jnp.column_stack([jnp.arange(2), jnp.arange(2)])
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """
    xs = _arrays(tup, "jnp.column_stack")
    columns = [x if x.ndim >= 2 else lax.reshape(x, (x.size, 1)) for x in xs]
    return joined(columns, 1, "jnp.column_stack")


@planned_whole
def block(arrays: Any) -> Value:
    """An array made of nested lists of blocks: innermost lists join along the last axis.

    >>> import tetrad.numpy as jnp
    >>> jnp.block([[jnp.ones((1, 1)), jnp.zeros((1, 2))]])
    Array([[1., 0., 0.]], dtype=float32)
    """
    depth = _depth(arrays)
    leaves = _leaves(arrays)
    rank = max([depth, *[aval_of(operand(x, "jnp.block")).ndim for x in leaves]])
    return _blocks(arrays, depth, rank)


def _depth(x: Any) -> int:
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError("jnp.block: a list of blocks is empty")
    depths = {_depth(item) for item in x}
    if len(depths) > 1:
        raise ValueError("jnp.block: lists are nested to different depths")
    return 1 + depths.pop()


def _leaves(x: Any) -> list[Any]:
    return (
        [leaf for item in x for leaf in _leaves(item)] if isinstance(x, list) else [x]
    )


def _blocks(x: Any, depth: int, rank: int) -> Any:
    if not isinstance(x, list):
        v = value(x, "jnp.block")
        return lax.reshape(v, (1,) * (rank - v.ndim) + v.shape)
    parts = _arrays([_blocks(item, depth - 1, rank) for item in x], "jnp.block")
    return joined(parts, rank - depth, "jnp.block")


@planned_with_floats
def append(arr: Any, values: Any, axis: int | None = None) -> Value:
    """`values` behind `arr` along `axis` (None: both flattened).

    >>> import tetrad.numpy as jnp
    >>> jnp.append(jnp.arange(2), 7)
    Array([0, 1, 7], dtype=int32)
    """
    xs = _arrays([arr, values], "jnp.append")
    if axis is None:
        xs = [lax.reshape(x, (x.size,)) for x in xs]
    return joined(xs, 0 if axis is None else axis, "jnp.append")


# ------------------------------------------------------------------------------- cut up


@planned_whole
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """The parts of an array along `axis`: equal ones, or cut before given indices.

    ValueError if a number of sections does not divide the extent (see `array_split`).

    >>> import tetrad.numpy as jnp
    >>> jnp.split(jnp.arange(4), 2)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split(ary, indices_or_sections, axis, "jnp.split", True)


@planned_whole
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """As `split`, but the first parts may be longer by one.

    >>> import tetrad.numpy as jnp
    >>> [part.size for part in jnp.array_split(jnp.arange(7), 3)]
    [3, 2, 2]
    """
    return _split(ary, indices_or_sections, axis, "jnp.array_split", False)


def _split(ary: Any, sections: Any, axis: int, name: str, equal: bool) -> list[Value]:
    x = value(ary, name, "ary")
    along = axis_argument(axis, x.ndim, name)
    n = x.shape[along]
    if (
        isinstance(sections, Value)
        and sections.ndim
        or isinstance(sections, (list, tuple, np.ndarray))
    ):
        cuts = [static_int(c, name, "every index") for c in sections]  # type: ignore[union-attr]
        edges = [0, *[max(0, min(n, c + n if c < 0 else c)) for c in cuts], n]
    else:
        count = static_int(sections, name, "the number of sections")
        if count <= 0 or (equal and n % count):
            raise ValueError(
                f"{call(name)}: {n} elements along axis {along} do not make {count} equal"
                f" parts; jnp.array_split makes unequal ones"
            )
        size, more = divmod(n, count)
        edges = [i * size + min(i, more) for i in range(count + 1)]
    parts = []
    for start, stop in zip(edges, edges[1:]):
        parts.append(lax.slice_in_dim(x, start, max(start, stop), axis=along))
    return parts


@planned_whole
def vsplit(ary: Any, indices_or_sections: Any) -> list[Value]:
    """The parts of an array along axis 0: see `split`.

    >>> import tetrad.numpy as jnp
    >>> [part.shape for part in jnp.vsplit(jnp.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split(ary, indices_or_sections, 0, "jnp.vsplit", True)


@planned_whole
def hsplit(ary: Any, indices_or_sections: Any) -> list[Value]:
    """The parts of an array along axis 1 (of a vector, axis 0): see `split`.

    >>> import tetrad.numpy as jnp
    >>> [part.shape for part in jnp.hsplit(jnp.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    x = value(ary, "jnp.hsplit", "ary")
    return _split(x, indices_or_sections, min(1, x.ndim - 1), "jnp.hsplit", True)


@planned_whole
def dsplit(ary: Any, indices_or_sections: Any) -> list[Value]:
    """The parts of an array along axis 2: see `split`.

    >>> import tetrad.numpy as jnp
    >>> [part.shape for part in jnp.dsplit(jnp.ones((1, 1, 4)), 2)]
    [(1, 1, 2), (1, 1, 2)]
    """
    return _split(ary, indices_or_sections, 2, "jnp.dsplit", True)


# ------------------------------------------------------------------------------ repeated


@planned()
def tile(A: Any, reps: Any) -> Value:
    """`A` repeated reps[i] times along axis i; missing axes are added in front.

    >>> import tetrad.numpy as jnp
    >>> jnp.tile(jnp.arange(2), 2)
    Array([0, 1, 0, 1], dtype=int32)
    """
    x = value(A, "jnp.tile", "A")
    counts = reps if isinstance(reps, (list, tuple, np.ndarray)) else (reps,)
    times = [static_int(r, "jnp.tile", "every repeat") for r in counts]
    rank = max(len(times), x.ndim)
    times = [1] * (rank - len(times)) + times
    shape = (1,) * (rank - x.ndim) + x.shape
    wide = [n for pair in zip(times, shape) for n in pair]
    x = lax.broadcast_in_dim(lax.reshape(x, shape), wide, tuple(range(1, 2 * rank, 2)))
    return lax.reshape(x, [t * n for t, n in zip(times, shape)])


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Value:
    """Each element repeated along `axis` (None: of the flattened array).

    `repeats` is a number, or one for each element; if traced, `total_repeat_length`
    has to say how long the result is (it is cut, or filled with the last element).

    >>> import tetrad.numpy as jnp
    >>> jnp.repeat(jnp.array([1, 2]), 2)
    Array([1, 1, 2, 2], dtype=int32)
    """
    no_sharding("jnp.repeat", out_sharding)
    name = "jnp.repeat"
    x = value(a, name, "a")
    if axis is None:
        x = lax.reshape(x, (x.size,))
        axis = 0
    along = axis_argument(axis, x.ndim, name)
    n = x.shape[along]
    if isinstance(repeats, Tracer) or total_repeat_length is not None:
        return _repeat_to(x, repeats, along, total_repeat_length, name)
    counts = np.asarray(repeats)
    if counts.ndim == 0 or counts.size == 1:
        times = static_int(counts.reshape(())[()], name, "repeats")
        if times < 0:
            raise ValueError(f"{name}: repeats must not be negative, got {times}")
        shape = x.shape
        wide = (*shape[: along + 1], times, *shape[along + 1 :])
        axes = tuple([i if i <= along else i + 1 for i in range(x.ndim)])
        final = (*shape[:along], n * times, *shape[along + 1 :])
        return lax.reshape(lax.broadcast_in_dim(x, wide, axes), final)
    if counts.shape != (n,):
        raise ValueError(
            f"{name}: repeats must be one number, or one for each of the {n} elements"
            f" along axis {along}, got shape {counts.shape}"
        )
    places = np.repeat(np.arange(n, dtype=np.int32), counts)
    return x[(slice(None),) * along + (places,)]


def _repeat_to(x: Any, repeats: Any, axis: int, total: int | None, name: str) -> Any:
    if total is None:
        raise errors.ConcretizationTypeError(
            f"{name}: the length of the result depends on the traced repeats; say it:"
            f" {name}(x, repeats, total_repeat_length=n)"
        )
    total = static_int(total, name, "total_repeat_length")
    n = x.shape[axis]
    counts = value(repeats, name, "repeats")
    counts = lax.broadcast_in_dim(counts, (n,), (0,) if counts.ndim else ())
    ends = lax.cumsum(counts)
    # Element i of the result comes from the first element whose end is beyond i.
    position = lax.broadcasted_iota(np.int32, (total, n), 0)
    limits = lax.broadcast_in_dim(
        lax.convert_element_type(ends, np.int32), (total, n), (1,)
    )
    passed = lax.convert_element_type(lax.ge(position, limits), np.int32)
    places = lax.min(lax.reduce_sum(passed, (1,)), np.int32(max(n - 1, 0)))
    return x[(slice(None),) * axis + (places,)]
