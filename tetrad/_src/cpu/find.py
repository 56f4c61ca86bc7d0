"""The template of folds along rows that give the index of an element.

In: a kernel with one such fold, whose operand is cheap to compute again. The element is
found first, by its own fold (`Op.peak`), which need not carry indices along. A row is
visited in blocks that stay in the first cache; the block with the element is then looked
through for the first place where it is. Words are those of `reduce.write_rows`.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.cpu.body import Body, Row
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import Fold, Loops
from tetrad._src.cpu.reduce import Folds, RowTask, fold_row
from tetrad._src.cpu.scalar import Value

BLOCK = 8192  # elements of a row that are looked through
TOGETHER = 4  # vectors that are looked at before a branch


def write_find(loops: Loops) -> Writer:
    """Vectors run along the folded axis."""
    w = Writer(loops.lanes)
    body = Body(w, loops)
    folds = Folds(w, loops.folds)
    folds.read_words()
    task = RowTask(w, body, folds)
    best, at = _find(w, body, task)
    task.end([[best, at]])
    return w


def _find(w: Writer, body: Body, task: RowTask) -> tuple[Value, Value]:
    """The most extreme element of what a task visits, and its first place."""
    fold = body.loops.folds[0]
    op, type = fold.op, fold.types[0]
    peaks = Folds(w, [Fold(op.peak(type), fold.refs, fold.types, fold.types)])
    first, last = task.part
    with w.one_lane():
        least = op.initial(w, type)[0]
        register = w.register(type)
    loop = w.begin(first, last, BLOCK, [(register, least.ref), ("i64", first)])
    end = w.smaller_index(w.i("add", loop.index, BLOCK), last)
    part = (loop.index, end)
    states = fold_row(w, body, peaks, task.row, [], task.rows, part, task.length)
    merged = peaks.across(states)
    with w.one_lane():
        (x,) = peaks.folders[0].finish(merged[0])
        best = Value(w, loop.carried[0], type)
        take = op.overtakes(w, x, best)
        better = w.select(take, x, best).ref
        where = w.raw(f"select i1 {take.ref}, i64 {loop.index}, i64 {loop.carried[1]}")
    best_ref, start = w.end(loop, [better, where])
    best = Value(w, best_ref, type)
    end = w.smaller_index(w.i("add", start, BLOCK), last)
    body.hoist(task.row)
    return best, _place(w, body, task.row, best, (start, end))


def _place(
    w: Writer, body: Body, row: Row, best: Value, part: tuple[str, str]
) -> Value:
    """The first place in a part of a row where `best` is."""
    fold = body.loops.folds[0]
    spread = w.spread(best)

    def hits(at: str, mask: Value | None) -> Value:
        found: Any = fold.op.same(w, body.vector(row, at, mask)[fold.refs[0]], spread)
        return found if mask is None else w.binary("and", mask, found)

    def hits_before_end(at: str) -> Value:
        return hits(at, w.mask(w.i("sub", end, at)))

    def several(at: str) -> str:
        found = hits(at, None)
        for number in range(1, TOGETHER):
            more = hits(w.i("add", at, number * w.lanes), None)
            found = w.binary("or", found, more)
        return w.any_lane(found)

    start, end = part
    step = TOGETHER * w.lanes
    whole = w.i("add", start, w.i("and", w.i("sub", end, start), -step))
    at = w.first(start, whole, step, several)
    at = w.first(at, end, w.lanes, lambda i: w.any_lane(hits_before_end(i)))
    lane = w.first_lane(hits_before_end(at))
    # If another thread writes to the array meanwhile, there may be no such place.
    place = w.smaller_index(w.i("add", at, lane), w.i("sub", end, 1))
    return w.value(place, "i64")
