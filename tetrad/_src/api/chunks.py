"""`vmap(f, chunk_size=k)`: the lanes of a `vmap`, k at a time.

In: what runs some lanes, and the values they are mapped over. Out: the results of all
lanes. Whole chunks are the steps of one loop, the lanes that are left follow; all of it
is one program, in which slices of the operands are read where they are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.api.jit import jit
from tetrad._src.control.loop import fori_loop
from tetrad._src.control.scan import scan
from tetrad._src.core.bind import STATE, aval_of, base_trace
from tetrad._src.ops.index import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from tetrad._src.ops.slices import concatenate, slice_in_dim
from tetrad._src.ops.views import broadcast_in_dim, moveaxis, reshape

# (values with their lanes in front, how many) -> results with their lanes in front, and
# which of them have lanes
Run = Callable[[Sequence[Any], int], tuple[list[Any], list[bool]]]


def check_chunk_size(chunk_size: Any, axis_name: Any) -> int | None:
    """The number of lanes to take at a time; None: all."""
    if chunk_size is None:
        return None
    size = -1
    if not isinstance(chunk_size, bool):
        try:
            size = operator.index(chunk_size)
        except TypeError:
            raise TypeError(
                "vmap: chunk_size is the number of lanes to compute at a time, an int, or"
                f" None for all; got {chunk_size!r} of type {type(chunk_size).__name__}"
            ) from None
    if size < 1:
        raise ValueError(
            "vmap: chunk_size is the number of lanes to compute at a time, from 1 on, or"
            f" None for all; got {chunk_size!r}"
        )
    if axis_name is not None:
        raise ValueError(
            f"vmap: axis_name={axis_name!r} is for functions that look at all lanes at"
            " once, as lax.psum does, and chunk_size takes a few at a time: leave one out"
        )
    return size


def in_chunks(
    run: Run, values: Sequence[Any], axes: Sequence[int], size: int, chunk: int
) -> tuple[list[Any], list[int | None]]:
    """The results of `run` for all lanes, and where each is mapped.

    `values` are mapped along `axes`, which have `size` lanes, more than `chunk`.
    """
    lanes = _Lanes(run, axes, size, chunk)
    # Only what nobody differentiates may be written piece by piece: the derivative would
    # go over all that is there, in each step.
    plain = STATE.trace is base_trace()
    results = jit(lanes.written if plain else lanes.stacked)(list(values))
    return results, [0 if mapped else None for mapped in lanes.mapped]


class _Lanes:
    """A function of some lanes, and how all of them are divided into chunks."""

    def __init__(self, run: Run, axes: Sequence[int], size: int, chunk: int) -> None:
        self.run = run
        self.axes = axes
        self.size = size
        self.chunk = chunk
        self.chunks, self.rest = divmod(size, chunk)
        self.whole = self.chunks * chunk  # how many lanes are in whole chunks
        self.mapped: list[bool] = []  # which results have lanes

    def some(self, parts: Sequence[Any], count: int) -> tuple[Any, ...]:
        """The results for `count` lanes, which stand in front."""
        outs, self.mapped = self.run(parts, count)
        return tuple(outs)

    def front(self, values: Sequence[Any]) -> list[Any]:
        """The values with their lanes in front."""
        return [moveaxis(v, at, 0) if at else v for v, at in zip(values, self.axes)]

    def stacked(self, values: Sequence[Any]) -> list[Any]:
        """Each step of a loop takes a chunk; what the steps give is put together."""
        values = self.front(values)
        chunk, whole = self.chunk, self.whole
        split = (self.chunks, chunk)
        heads = [
            reshape(slice_in_dim(v, 0, whole), (*split, *aval_of(v).shape[1:]))
            for v in values
        ]
        _, outs = scan(lambda _, parts: ((), self.some(parts, chunk)), (), heads)
        results = [
            reshape(y, (whole, *aval_of(y).shape[2:])) if mapped else y[0]
            for y, mapped in zip(outs, self.mapped)
        ]
        if not self.rest:
            return results
        left = [slice_in_dim(v, whole, self.size) for v in values]
        return [
            concatenate([y, tail], 0) if mapped else y
            for y, tail, mapped in zip(results, self.some(left, self.rest), self.mapped)
        ]

    def written(self, values: Sequence[Any]) -> list[Any]:
        """Each step of a loop writes a chunk to its place, and nothing is put together.

        The first chunk, or the lanes left over, say what the results look like.
        """
        chunk, rest = self.chunk, self.rest
        start, end = (self.whole, self.size) if rest else (0, chunk)
        parts = [
            slice_in_dim(v, start, end, axis=at) for v, at in zip(values, self.axes)
        ]
        edge = self.some(self.front(parts), end - start)
        results = [
            dynamic_update_slice_in_dim(_repeated(y, self.size), y, start, 0)
            if mapped
            else y
            for y, mapped in zip(edge, self.mapped)
        ]

        def step(i: Any, results: Sequence[Any]) -> list[Any]:
            at = i * chunk
            parts = [
                dynamic_slice_in_dim(v, at, chunk, axis)
                for v, axis in zip(values, self.axes)
            ]
            outs = self.some(self.front(parts), chunk)
            return [
                dynamic_update_slice_in_dim(whole, out, at, 0) if mapped else whole
                for whole, out, mapped in zip(results, outs, self.mapped)
            ]

        done: list[Any] = fori_loop(0 if rest else 1, self.chunks, step, results)
        return done


def _repeated(y: Any, size: int) -> Any:
    """The first lane of `y`, of any type, `size` times: a place to write results to."""
    shape = aval_of(y).shape[1:]
    return broadcast_in_dim(y[0], (size, *shape), tuple(range(1, 1 + len(shape))))
