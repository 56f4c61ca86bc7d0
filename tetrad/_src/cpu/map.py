"""Templates without reductions: one flat range, and rows of an array.

`flat`: the launch counts elements; chunks are multiples of the vector length, and the
last vector may reach into the padding behind our own buffers, so there is no tail
unless accesses are strided, which would reach further.
`rows`: the launch counts rows, or segments of rows; the last vector of a row is masked.
"""

from __future__ import annotations

from collections.abc import Callable

from tetrad._src.cpu.body import Body, Row
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import FLAT, STRIDED, Loops
from tetrad._src.cpu.scalar import Value


def write_map(loops: Loops) -> Writer:
    """The kernel of a map."""
    writer = Writer(loops.lanes)
    body = Body(writer, loops)
    if loops.template == FLAT:
        _flat(writer, body)
    else:
        _rows(writer, body)
    return writer


def _flat(w: Writer, body: Body) -> None:
    body.read_strides(0)
    body.hoist(body.root)
    loops = body.loops
    accesses = [*loops.reads, *[access for _, access in loops.writes]]
    exact = loops.split or any([access.kind == STRIDED for access in accesses])
    whole = "%hi"
    if exact:
        whole = w.i("add", "%lo", w.i("and", w.i("sub", "%hi", "%lo"), -w.lanes))
    loop = w.begin("%lo", whole, w.lanes)
    values = body.vector(body.root, loop.index, None, loops.stream > 0)
    body.write(body.root, values, loop.index, None)
    w.end(loop)
    if exact:
        with w.when(w.less(whole, "%hi")):
            mask = w.mask(w.i("sub", "%hi", whole))
            body.write(body.root, body.vector(body.root, whole, mask), whole, mask)
    if body.loops.stream == 2:
        _fence(w)


def _fence(w: Writer) -> None:
    """Stores around the caches are complete only after a fence."""
    w.line("fence seq_cst")


def _rows(w: Writer, body: Body) -> None:
    def visit(row: Row, at: str, mask: Value | None) -> None:
        body.write(row, body.vector(row, at, mask), at, mask)

    walk_rows(w, body, visit)


def walk_rows(
    w: Writer,
    body: Body,
    visit: Callable[[Row, str, Value | None], None],
    read_words: Callable[[], None] | None = None,
    masked: bool = False,
) -> None:
    """Visits the vectors of all rows; the last one of a row has a mask.

    `read_words` reads what stands behind the common words. If `masked`, the visit is
    written once and all vectors have a mask, but for single elements.
    """
    loops = body.loops
    extents = [w.word() for _ in range(loops.outer)]
    length = w.word()
    count, segment = "1", length
    if loops.split:
        count, segment = w.word(), w.word()
    body.read_strides(loops.outer)
    if read_words is not None:
        read_words()
    task = w.begin("%lo", "%hi", 1)
    number, first, last = task.index, "0", length
    if loops.split:
        number = w.i("udiv", task.index, count)
        part = w.i("sub", task.index, w.i("mul", number, count))
        first = w.i("mul", part, segment)
        last = w.smaller_index(w.i("add", first, segment), length)
    index = body.split(number, extents)
    row = body.place(body.root, index, range(loops.outer))
    body.hoist(row)
    if masked:
        main = w.begin(first, last, w.lanes)
        mask = w.mask(w.i("sub", last, main.index)) if w.lanes > 1 else None
        visit(row, main.index, mask)
        w.end(main)
        w.end(task)
        return
    whole = w.i("add", first, w.i("and", w.i("sub", last, first), -w.lanes))
    main = w.begin(first, whole, w.lanes)
    visit(row, main.index, None)
    w.end(main)
    with w.when(w.less(whole, last)):
        visit(row, whole, w.mask(w.i("sub", last, whole)))
    w.end(task)
