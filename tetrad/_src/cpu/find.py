"""The template of folds along rows that give the index of an element.

In: a kernel with one such fold, whose operand is cheap to compute again. The element is
found first, by its own fold (`Op.peak`), which need not carry indices along. A row is
visited in blocks that stay in the first cache; the block with the element is then looked
through for the first place where it is. Short rows (`find_short`) are looked through to
their end: a branch that depends on the place would cost more. Words are those of
`reduce.write_rows`.
"""

from __future__ import annotations

from tetrad._src.cpu.body import Body, Row
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import FIND_SHORT, Fold, Loops
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
    find = _find_short if loops.template == FIND_SHORT else _find
    best, at = find(w, body, task)
    task.end([[best, at]])
    return w


def _find(w: Writer, body: Body, task: RowTask) -> tuple[Value, Value]:
    """The most extreme element of what a task visits, and its first place."""
    op, type = body.loops.folds[0].op, body.loops.folds[0].types[0]
    peaks = _peaks(w, body)
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


def _peaks(w: Writer, body: Body) -> Folds:
    """The fold to the element."""
    fold = body.loops.folds[0]
    peak = fold.op.peak(fold.types[0])
    return Folds(w, [Fold(peak, fold.refs, fold.types, fold.types)])


def _find_short(w: Writer, body: Body, task: RowTask) -> tuple[Value, Value]:
    """As `_find`, without a branch that depends on elements."""
    peaks = _peaks(w, body)
    row, length = task.row, task.length
    states = fold_row(w, body, peaks, row, [], task.rows, task.part, length)
    merged = peaks.across(states)
    with w.one_lane():
        (best,) = peaks.folders[0].finish(merged[0])
    hits = _Hits(w, body, row, best)
    step = TOGETHER * w.lanes
    whole = w.i("and", length, -step)
    main = w.begin("0", whole, step, [("i64", length)])
    found = [
        hits.at(w.i("add", main.index, number * w.lanes), None)
        for number in range(TOGETHER)
    ]
    (place,) = w.end(main, [_earlier(w, main.carried[0], main.index, found)])
    tail = w.begin(whole, length, w.lanes, [("i64", place)])
    found = [hits.before(tail.index, length)]
    (place,) = w.end(tail, [_earlier(w, tail.carried[0], tail.index, found)])
    return best, w.value(place, "i64")


def _earlier(w: Writer, place: str, start: str, found: list[Value]) -> str:
    """`place`, or the first hit in the vectors from `start` on, if that comes first."""
    lane = w.first_lane(*found)
    none = w.less(str(len(found) * w.lanes - 1), lane)
    here = w.raw(f"select i1 {none}, i64 {place}, i64 {w.i('add', start, lane)}")
    return w.smaller_index(place, here)


class _Hits:
    """Where in a row the element is."""

    def __init__(self, w: Writer, body: Body, row: Row, best: Value) -> None:
        self.w, self.body, self.row = w, body, row
        self.best = w.spread(best)

    def at(self, index: str, mask: Value | None) -> Value:
        """The lanes of a vector that have it."""
        fold = self.body.loops.folds[0]
        x = self.body.vector(self.row, index, mask)[fold.refs[0]]
        found: Value = fold.op.same(self.w, x, self.best)
        return found if mask is None else self.w.binary("and", mask, found)

    def before(self, index: str, end: str) -> Value:
        """The same, of a vector that may reach beyond the end."""
        return self.at(index, self.w.mask(self.w.i("sub", end, index)))


def _place(
    w: Writer, body: Body, row: Row, best: Value, part: tuple[str, str]
) -> Value:
    """The first place in a part of a row where `best` is."""
    hits = _Hits(w, body, row, best)

    def several(at: str) -> str:
        found = hits.at(at, None)
        for number in range(1, TOGETHER):
            more = hits.at(w.i("add", at, number * w.lanes), None)
            found = w.binary("or", found, more)
        return w.any_lane(found)

    start, end = part
    step = TOGETHER * w.lanes
    whole = w.i("add", start, w.i("and", w.i("sub", end, start), -step))
    at = w.first(start, whole, step, several)
    at = w.first(at, end, w.lanes, lambda i: w.any_lane(hits.before(i, end)))
    lane = w.first_lane(hits.before(at, end))
    # If another thread writes to the array meanwhile, there may be no such place.
    place = w.smaller_index(w.i("add", at, lane), w.i("sub", end, 1))
    return w.value(place, "i64")
