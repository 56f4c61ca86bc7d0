"""The template of writes at computed coordinates, in the order of the updates.

Two elements may go to one place, so that they cannot be written by whole vectors, unless
whole rows of the target are written (`_rows`): then the elements of a row are different
ones. Otherwise (`_elements`) vectors compute places and updates, and lay them down on
the stack; a scalar loop combines them into the target.

Words after the common ones: extents of outer axes, length of a row, length of a segment
of rows. A launch counts segments; each task visits all rows. Elements have one segment,
or (`split`) each segment goes to an array of its own, whose size is the next word; see
`scatter_parts`.
"""

from __future__ import annotations

from tetrad._src.cpu import points
from tetrad._src.cpu.body import Body, Row
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import Loops
from tetrad._src.cpu.registers import COMPLEX
from tetrad._src.cpu.scalar import SIZE, Value

UNROLL = 4  # elements that are written in one turn of the scalar loop


def write_scatter(loops: Loops) -> Writer:
    """The kernel of a scatter."""
    w = Writer(loops.lanes)
    body = Body(w, loops)
    extents = [w.word() for _ in range(loops.outer)]
    length, segment = w.word(), w.word()
    apart = w.word() if loops.split else "0"
    rows = "1"
    for extent in extents:
        rows = w.i("mul", rows, extent)
    body.read_strides(loops.outer)
    laid = _Laid(w, loops)
    task = w.begin("%lo", "%hi", 1)
    first = w.i("mul", task.index, segment)
    last = w.smaller_index(w.i("add", first, segment), length)
    root = body.root
    if loops.split:
        own = w.i("mul", task.index, apart)
        target = w.point_to(root.writes[0], own, loops.writes[0][1].type)
        root = Row(root.reads, [target], root.counts)
    line = w.begin("0", rows, 1)
    row = body.place(root, body.split(line.index, extents), range(loops.outer))
    body.hoist(row)
    if points.by_rows(loops, body.uniform):
        _row(w, body, row, first, last)
    else:
        _elements(w, body, row, laid, first, last)
    w.end(line)
    w.end(task)
    return w


def _row(w: Writer, body: Body, row: Row, first: str, last: str) -> None:
    place = points.settle_write(body, row)

    def write(j: str, mask: Value | None) -> None:
        values = body.vector(row, j, mask, prefetch=mask is None)
        points.write_row(body, row, place, values, j, mask)

    def whole() -> None:
        end = w.i("add", first, w.i("and", w.i("sub", last, first), -w.lanes))
        loop = w.begin(first, end, w.lanes)
        write(loop.index, None)
        w.end(loop)
        with w.when(w.less(end, last)):
            write(end, w.mask(w.i("sub", last, end)))

    if place.inside is None:
        whole()
    else:
        with w.when(place.inside.ref):
            whole()


class _Laid:
    """Room on the stack for a vector of places and one of updates."""

    def __init__(self, w: Writer, loops: Loops) -> None:
        point = loops.scatter
        assert point is not None
        self.type = loops.writes[0][1].type
        self.places = w.raw(f"alloca [{8 * w.lanes} x i8], align 64")
        # Bytes behind: bool and 16-bit floats are laid down as in memory.
        room = (16 if self.type in COMPLEX else SIZE[self.type]) * w.lanes
        self.updates = w.raw(f"alloca [{room} x i8], align 64")


def _elements(
    w: Writer, body: Body, row: Row, laid: _Laid, first: str, last: str
) -> None:
    point = body.loops.scatter
    assert point is not None
    end = w.i("add", first, w.i("and", w.i("sub", last, first), -w.lanes))

    def lay(j: str, mask: Value | None) -> tuple[str, bool]:
        values = body.vector(row, j, mask)
        place = points.locate_write(body, row, values, j)
        w.store(place.offset, laid.places)
        w.store(values[point.ref], laid.updates)
        return place.offset.type, place.inside is not None

    def write(index: str, base: str, kind: tuple[str, bool]) -> None:
        type, checked = kind
        with w.one_lane():
            at = w.load(w.point_to(laid.places, index, type), type)
            offset = w.convert(at, "i64").ref
            new = w.load(w.point_to(laid.updates, index, laid.type), laid.type)

            def combine() -> None:
                pointer = w.point_to(base, offset, laid.type)
                old = w.load(pointer, laid.type)
                w.store(point.op.combine(w, old, new), pointer)

            if not checked:
                combine()
                return
            with w.when(w.raw(f"icmp sge i64 {offset}, 0")):
                combine()

    def base_of(j: str) -> str:
        step = w.i("mul", j, body.inner[len(body.loops.reads)])
        return w.point_to(row.writes[0], step, laid.type)

    main = w.begin(first, end, w.lanes)
    kind = lay(main.index, None)
    base = base_of(main.index)
    inner = w.begin("0", str(w.lanes), min(UNROLL, w.lanes))
    for number in range(min(UNROLL, w.lanes)):
        write(w.i("add", inner.index, number), base, kind)
    w.end(inner)
    w.end(main)
    with w.when(w.less(end, last)):
        rest = w.i("sub", last, end)
        kind = lay(end, w.mask(rest))
        base = base_of(end)
        inner = w.begin("0", rest, 1)
        write(inner.index, base, kind)
        w.end(inner)
