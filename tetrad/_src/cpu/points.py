"""Reads and writes at computed coordinates: what gathers and scatters do per element.

In: the `point` rule of an operation, which computes coordinates from index vectors (the
entries `refs`) and, where a window is moved, from those of the element. Out: a value, or
a read-modify-write.

An access moves with the surrounding loops like any other along the axes that no index
moves; the rule only adds an offset to it. Where the offset is the same all along a row,
it is computed once a row (`locate`), and the row is read or written by whole vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tetrad._src.cpu.loops import CONTIGUOUS, UNIFORM, Loops, PointRead, PointWrite
from tetrad._src.cpu.scalar import Value

if TYPE_CHECKING:
    from tetrad._src.cpu.body import Body, Row

TARGET, UPDATES = 1000, 1001  # numbers of arrays that are no reads
Shape = tuple[list[str], list[str]]  # extents and strides, as i64 registers


class Place(NamedTuple):
    """Where a point is: the elements to move on, and whether it is inside."""

    offset: Value
    inside: Value | None
    fill: Any


def operand_ranks(loops: Loops) -> list[tuple[int, int]]:
    """(number, rank) of the arrays whose extents and strides are words."""
    found: dict[int, int] = {}
    for entry in loops.entries:
        if entry[0] == "point":
            found[entry[1].read] = entry[1].rank
    if loops.scatter is not None:
        found[TARGET] = loops.scatter.rank
    return sorted(found.items())


def steady(
    loops: Loops, uniform: Sequence[bool], point: PointRead | PointWrite
) -> bool:
    """Whether the offset is the same all along a row."""
    counts = [loops.coordinates[n] for n in point.coordinates if n >= 0]
    same = all(count.kind == UNIFORM for count in counts)
    return same and all(uniform[ref] for ref in point.refs)


def locate(
    body: Body,
    row: Row,
    point: PointRead | PointWrite,
    shapes: Sequence[Shape | None],
    values: Any,
    j: str,
) -> Place:
    """Applies the rule, to one element or to the lanes of a vector.

    `shapes` are those of the operands, where the rule may ask for them; `values` are
    those of the entries.
    """
    w = body.w
    outside = w.extent, w.index
    narrow = w.lanes > 1 and point.narrow
    w.index = "i32" if narrow else "i64"

    def extent(operand: int, axis: int) -> Value:
        shape = shapes[operand]
        assert shape is not None
        return _count(w, shape[0][axis])

    def load(operand: int, at: Sequence[Any]) -> Any:
        return values[point.refs[at[-1]]]

    w.extent = extent
    try:
        coords = [_coordinate(body, row, n, j) for n in point.coordinates]
        found = point.op.point(w, coords, load)
        target = shapes[0]
        assert target is not None
        offset = w.constant(0, w.index)
        along = point.op.along(len(coords))
        fixed = [axis for _, axis in along.fixed]
        moved = [axis for axis in range(point.rank) if axis not in fixed]
        for number, axis in enumerate(moved):
            term = found.coords[axis]
            if axis != point.rank - 1:
                term = w.binary("mul", term, _count(w, target[1][axis]))
            offset = term if number == 0 else w.binary("add", offset, term)
    finally:
        w.extent, w.index = outside
    return Place(offset, found.inside, found.fill)


def _count(w: Any, ref: str) -> Value:
    """An i64 register as a coordinate in every lane."""
    if w.index == "i32":
        ref = w.raw(f"trunc i64 {ref} to i32")
    found: Value = w.broadcast(ref, w.index)
    return found


def _coordinate(body: Body, row: Row, number: int, j: str) -> Value | None:
    """A coordinate of the element, in the lanes; None if the rule does not need it."""
    w = body.w
    if number < 0:
        return None
    if w.lanes == 1:
        step = w.i("mul", j, body.inner_of_coordinate(number))
        return w.value(w.i("add", row.counts[number], step), "i64")
    return body.count(row, number, j)


def read(
    body: Body, row: Row, point: PointRead, j: str, mask: Value | None, values: Any
) -> Value:
    """The element of operand 0 where the point rule says, or its fill value."""
    w = body.w
    access = body.loops.reads[point.read]
    place = locate(body, row, point, (body.shapes[point.read],), values, j)
    index = place.offset
    step = body.inner[point.read]
    base = w.point_to(row.reads[point.read], w.i("mul", j, step), access.type)
    if access.kind != UNIFORM and w.lanes > 1:
        steps = body.steps(step)
        index = w.binary("add", index, w.convert(steps, index.type))
    inside = place.inside
    if inside is None:
        return w.gather(base, index, access.type, mask)
    wanted = inside if mask is None else w.binary("and", inside, mask)
    return _filled(w, w.gather(base, index, access.type, wanted), inside, place.fill)


def _filled(w: Any, value: Value, inside: Value, fill: Any) -> Value:
    if fill is None:
        return value
    if not isinstance(fill, Value):
        fill = w.constant(fill, value.type)
    found: Value = w.select(inside, value, fill)
    return found


def settle(body: Body, row: Row, number: int, point: PointRead) -> None:
    """Computes the offset of a row (the writer has one lane)."""
    w = body.w
    shapes = (body.shapes[point.read],)
    place = locate(body, row, point, shapes, row.scalars, "0")
    type = body.loops.reads[point.read].type
    pointer = w.point_to(row.reads[point.read], place.offset.ref, type)
    row.points[number] = (pointer, place.inside, place.fill)


def read_row(
    body: Body, row: Row, number: int, point: PointRead, j: str, mask: Value | None
) -> Value:
    """A vector of a row whose offset is known."""
    w = body.w
    pointer, inside, fill = row.points[number]
    if inside is None:
        return body.load_from(pointer, row, point.read, j, mask, False)
    inside = w.spread(inside)
    wanted = inside if mask is None else w.binary("and", inside, mask)
    value = body.load_from(pointer, row, point.read, j, wanted, False)
    return _filled(w, value, inside, fill)


# ------------------------------------------------------------------------------- writes


def locate_write(body: Body, row: Row, values: Any, j: str) -> Place:
    """Where the lanes of a vector go; outside is before the array."""
    w, point = body.w, body.loops.scatter
    assert point is not None
    shapes = (body.shapes[TARGET], None, body.shapes[UPDATES])
    offset, inside, _ = locate(body, row, point, shapes, values, j)
    if body.loops.writes[0][1].kind != UNIFORM and w.lanes > 1:
        steps = body.steps(body.inner[len(body.loops.reads)])
        offset = w.binary("add", offset, w.convert(steps, offset.type))
    if inside is not None:
        offset = w.select(inside, offset, w.constant(-1, offset.type))
    return Place(offset, inside, None)


def settle_write(body: Body, row: Row) -> Place:
    """The offset of a row that is written by whole vectors."""
    point = body.loops.scatter
    assert point is not None
    shapes = (body.shapes[TARGET], None, body.shapes[UPDATES])
    with body.w.one_lane():
        return locate(body, row, point, shapes, row.scalars, "0")


def write_row(
    body: Body, row: Row, place: Place, values: Any, j: str, mask: Value | None
) -> None:
    """Combines a vector of a row, whose elements are different ones of the target."""
    w, point = body.w, body.loops.scatter
    assert point is not None
    type = body.loops.writes[0][1].type
    base = w.point_to(row.writes[0], place.offset.ref, type)
    pointer = w.point_to(base, j, type)
    old = w.load(pointer, type, mask)
    w.store(point.op.combine(w, old, values[point.ref]), pointer, mask)


def by_rows(loops: Loops, uniform: Sequence[bool]) -> bool:
    """Whether a scatter may write whole vectors of its rows."""
    point = loops.scatter
    assert point is not None
    return loops.writes[0][1].kind == CONTIGUOUS and steady(loops, uniform, point)
