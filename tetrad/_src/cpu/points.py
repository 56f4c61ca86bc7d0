"""Reads and writes at computed coordinates: what gathers and scatters do per element.

In: the `point` rule of an operation, which computes coordinates from those of the
element and from indices that it loads. Out: a value, or a read-modify-write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tetrad._src.core.op import Point
from tetrad._src.cpu.loops import UNIFORM, Loops, PointRead, PointWrite
from tetrad._src.cpu.scalar import Value

if TYPE_CHECKING:
    from tetrad._src.cpu.body import Body, Row

Load = Callable[[int, Sequence[Any]], Value]


def operand_ranks(loops: Loops) -> list[tuple[int, int]]:
    """(number, rank) of the operands of points whose extents and strides are words.

    Numbers below 1000 are reads, 1000 is the target of a scatter, 1001 its updates.
    """
    found: dict[int, int] = {}
    for entry in loops.entries:
        if entry[0] == "point":
            found.update(zip(entry[1].reads, entry[1].ranks))
    if loops.scatter is not None:
        scatter = loops.scatter
        for number, (read, rank) in enumerate(zip(scatter.reads, scatter.ranks)):
            if read >= 0:
                found[read] = rank
            else:
                found[1000 if number == 0 else 1001] = rank
    return sorted(found.items())


def coordinates(body: Body, row: Row, numbers: Sequence[int], j: str) -> list[Value]:
    """The coordinates of the element, as i64 values of the current lanes."""
    w = body.w
    found = []
    for number in numbers:
        if w.lanes == 1:
            step = w.i("mul", j, body.inner_of_coordinate(number))
            found.append(w.value(w.i("add", row.counts[number], step), "i64"))
            continue
        access = body.loops.coordinates[number]
        if access.kind == UNIFORM:
            found.append(w.broadcast(row.counts[number], "i64"))
        else:
            found.append(body.count(row, number, j))
    return found


def address(
    body: Body, shape: tuple[list[str], list[str]], coords: Sequence[Value]
) -> Value:
    """The element number of coordinates in a dense array, in the lanes."""
    w = body.w
    total: Value | None = None
    for coord, stride in zip(coords, shape[1]):
        term = w.binary("mul", coord, w.broadcast(stride, "i64"))
        total = term if total is None else w.binary("add", total, term)
    return w.constant(0, "i64") if total is None else total


def evaluate(
    body: Body,
    row: Row,
    point: PointRead | PointWrite,
    shapes: list[Any],
    pointers: list[str],
    coords: list[Value],
    mask: Value | None,
) -> Point:
    """The result of the `point` rule."""
    w = body.w

    def load(operand: int, at: Sequence[Any]) -> Value:
        values = [_as_value(w, c) for c in at]
        index = address(body, shapes[operand], values)
        return w.gather(pointers[operand], index, point.types[operand], mask)

    def extent(operand: int, axis: int) -> Value:
        return w.broadcast(shapes[operand][0][axis], "i64")

    outside = w.extent
    w.extent = extent
    try:
        found: Point = point.op.point(w, coords, load)
    finally:
        w.extent = outside
    return found


def _as_value(w: Any, coord: Any) -> Value:
    return coord if isinstance(coord, Value) else w.constant(coord, "i64")


def read(body: Body, row: Row, point: PointRead, j: str, mask: Value | None) -> Value:
    """The element of operand 0 where the point rule says, or its fill value."""
    w = body.w
    shapes = [body.shapes[number] for number in point.reads]
    pointers = [row.reads[number] for number in point.reads]
    coords = coordinates(body, row, point.coordinates, j)
    found = evaluate(body, row, point, shapes, pointers, coords, mask)
    index = address(body, shapes[0], [_as_value(w, c) for c in found.coords])
    type = point.types[0]
    inside = found.inside
    if inside is None:
        return w.gather(pointers[0], index, type, mask)
    wanted = inside if mask is None else w.binary("and", inside, mask)
    value = w.gather(pointers[0], index, type, wanted)
    fill = found.fill
    if fill is None:
        return value
    if not isinstance(fill, Value):
        fill = w.constant(fill, type)
    return w.select(inside, value, fill)


def write(body: Body, row: Row, new: Value, j: str) -> None:
    """Combines one element into the target (the writer has one lane)."""
    w = body.w
    point = body.loops.scatter
    assert point is not None
    shapes = []
    pointers = []
    for number, operand in enumerate(point.reads):
        if operand >= 0:
            shapes.append(body.shapes[operand])
            pointers.append(row.reads[operand])
        else:
            shapes.append(body.shapes[1000 if number == 0 else 1001])
            pointers.append(body.root.writes[0])
    coords = coordinates(body, row, point.coordinates, j)
    found = evaluate(body, row, point, shapes, pointers, coords, None)
    index = address(body, shapes[0], [_as_value(w, c) for c in found.coords])

    def store() -> None:
        pointer = w.point_to(pointers[0], index.ref, point.types[0])
        old = w.load(pointer, point.types[0])
        w.store(point.op.combine(w, old, new), pointer)

    if found.inside is None:
        store()
    else:
        with w.when(found.inside.ref):
            store()
