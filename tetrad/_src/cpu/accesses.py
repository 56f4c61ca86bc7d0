"""Elements that the turns of a loop fetch from arrays in memory, or store there.

In: an `Access` and its operands. Out: a value, or a store. Starts are clamped, and so
are the coordinates of gathers, or else the element counts as missing; so no access
leaves its array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.cpu.body import Row
from tetrad._src.cpu.loops import UNIFORM
from tetrad._src.cpu.scalar import Value
from tetrad._src.passes.ir import Access, Where


class Local:
    """A value of a turn: one for all points, or `wide`, one for each lane."""

    __slots__ = ("value", "wide")

    def __init__(self, value: Value, wide: bool) -> None:
        self.value = value
        self.wide = wide


def access(turns: Any, head: Access, operands: list[Local], wide: bool) -> Local | None:
    """The element that is fetched; None if one is stored."""
    w = turns.w
    number = turns.inner.arrays[head.array]
    kind = turns.body.loops.reads[number]
    base = turns.row.reads[number]
    if head.where is not None:
        with w.one_lane():
            return _point(w, head, head.where, base, kind.type, operands)
    count = len(head.starts)
    starts, limits, strides = (
        operands[:count],
        operands[count : 2 * count],
        operands[2 * count : 3 * count],
    )
    if any([start.wide for start in starts]):
        index = _lanes_offset(w, head, starts, limits, strides, operands[3 * count])
        return Local(w.gather(base, index, kind.type, turns.mask), True)
    with w.one_lane():
        offset = operands[3 * count].value.ref
        for unit, start, limit, stride in zip(head.starts, starts, limits, strides):
            number_of = w.convert(start.value, "i64").ref
            clamped = w.larger_index(number_of, "0")
            clamped = w.smaller_index(clamped, limit.value.ref)
            if not unit:
                clamped = w.i("mul", clamped, stride.value.ref)
            offset = w.i("add", offset, clamped)
        pointer = w.point_to(base, offset, kind.type)
        if head.store:
            w.store(operands[-1].value, pointer)
            return None
        if not wide or kind.kind == UNIFORM:
            return Local(w.load(pointer, kind.type), False)
    reads = list(turns.row.reads)
    reads[number] = pointer
    row = Row(reads, turns.row.writes, turns.row.counts)
    return Local(turns.body.load(row, number, turns.j, turns.mask, False), True)


def _lanes_offset(
    w: Any,
    head: Access,
    starts: Sequence[Local],
    limits: Sequence[Local],
    strides: Sequence[Local],
    offset: Local,
) -> Value:
    """Where the element of every lane is."""
    total: Value = w.broadcast(offset.value.ref, "i64")
    for unit, start, limit, stride in zip(head.starts, starts, limits, strides):
        value = start.value if start.wide else w.spread(start.value)
        highest = w.broadcast(limit.value.ref, "i64")
        clamped = w.min(w.max(w.convert(value, "i64"), 0), highest)
        if not unit:
            step = w.broadcast(stride.value.ref, "i64")
            clamped = w.binary("mul", clamped, step)
        total = w.binary("add", total, clamped)
    return total


def _point(
    w: Any, head: Access, where: Where, base: str, type: str, operands: list[Local]
) -> Local | None:
    """An element at coordinates that the operation computes (in one lane)."""
    rank = where.rank
    values = [x.value for x in operands]
    new = values.pop() if head.store else None
    strides = values[len(values) - rank :]
    extents = values[len(values) - 2 * rank : len(values) - rank]
    vectors = values[: len(values) - 2 * rank]
    known: dict[int, int] = {}
    coords = []
    for number in where.index:
        coords.append(w.constant(number, "i64"))
        known[id(coords[-1])] = number

    def load(operand: int, at: Sequence[Any]) -> Value:
        place = 0
        for number, extent in zip(at, where.vectors, strict=True):
            if isinstance(number, Value):
                number = known[id(number)]
            place = place * extent + number
        return vectors[place]

    def extent(operand: int, axis: int) -> Value:
        if operand == 0:
            return extents[axis]
        found: Value = w.constant(where.outer[axis], "i64")
        return found

    outside = w.extent, w.index
    w.extent, w.index = extent, "i64"
    try:
        found = where.op.point(w, coords, load)
    finally:
        w.extent, w.index = outside
    place = w.constant(0, "i64")
    if rank:  # the stride of the last axis is 1
        place = found.coords[-1]
    for coord, stride in zip(found.coords[:-1], strides):
        place = w.binary("add", place, w.binary("mul", coord, stride))
    if found.inside is not None:
        place = w.select(found.inside, place, w.constant(0, "i64"))
    pointer = w.point_to(base, place.ref, type)
    old = w.load(pointer, type)
    if new is not None:
        mixed = where.op.combine(w, old, new)
        if found.inside is not None:
            mixed = w.select(found.inside, mixed, old)
        w.store(mixed, pointer)
        return None
    if found.inside is not None and found.fill is not None:
        fill = found.fill
        if not isinstance(fill, Value):
            fill = w.constant(fill, type)
        old = w.select(found.inside, old, fill)
    return Local(old, False)
