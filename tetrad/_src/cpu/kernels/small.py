"""LU, Cholesky and triangular systems of many small matrices, one problem a lane.

A routine of LAPACK spends its time on small matrices before and after the arithmetic.
Here a task takes as many problems as a vector has lanes. Their elements are gathered so
that element `e` of all problems is one vector; then one text does for every lane what
the textbook does for one matrix, and what is made is scattered. Extents are words of the
launch, so one function serves every size.

In: the problems as `lapack` describes them: dense, matrices in the order of Fortran. A
last task that would be incomplete takes some problems of the one before it again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from tetrad._src.cpu import schedule
from tetrad._src.cpu.kernels.base import GRAIN, In, KernelCall, Launch, Out, Tmp
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.registers import SIZE, Value

TYPES = ("f32", "f64")
LARGEST = 32  # rows and columns
Shape = tuple[int, ...]


def fits(routine: str, type: str, shapes: tuple[Shape, ...], batch: int) -> bool:
    """Whether these kernels take such problems."""
    if routine not in _PLANS or type not in TYPES or batch < _lanes(type):
        return False
    return all(1 <= extent <= LARGEST for shape in shapes for extent in shape)


def build(
    routine: str, type: str, options: tuple[str, ...], shapes: list[Shape], batch: int
) -> KernelCall:
    """The launch of a routine over a batch of problems."""
    lanes = _lanes(type)
    words, scratch, flops, text = _PLANS[routine](type, options, shapes)
    scratch *= lanes * SIZE[type]
    cost = 60.0 * sum(map(math.prod, shapes)) + flops / 2  # nanoseconds a task
    tasks = -(-batch // lanes)
    chunk = max(1, min(int(GRAIN / cost), -(-tasks // 4)))
    space = scratch * -(-tasks // chunk)
    launch = Launch(routine, (chunk, Tmp(0), scratch, batch, *words), tasks, chunk)
    return KernelCall(text, (routine,), [launch], [space], tasks * cost + 300.0)


def _lanes(type: str) -> int:
    return schedule.lanes(type == "f64")


_Plan = tuple[tuple[int | In | Out, ...], int, float, str]


def _getrf(type: str, options: tuple[str, ...], shapes: list[Shape]) -> _Plan:
    ((columns, rows),) = shapes
    steps = min(rows, columns)
    words = (In(0), Out(0), Out(1), rows, columns, steps)
    return words, rows * columns, rows * columns * steps, _getrf_text(type)


def _potrf(type: str, options: tuple[str, ...], shapes: list[Shape]) -> _Plan:
    ((n, _),) = shapes
    down, across = (1, n) if options[0] == "L" else (n, 1)
    words = (In(0), Out(0), n, down, across)
    return words, n * n + 1, n**3 / 3, _potrf_text(type)


def _trsm(type: str, options: tuple[str, ...], shapes: list[Shape]) -> _Plan:
    """Every case is M·X = B with M lower triangular, for some strides and starts."""
    (n, _), (columns, rows) = shapes
    side, triangle, form, diagonal = options
    right = side == "R"
    turned = (form != "N") != right
    down, across = (n, 1) if turned else (1, n)
    along, beside = (rows, 1) if right else (1, rows)
    first = start = 0
    if (triangle == "L") == turned:  # upper: the last unknown is found first
        first, down, across = (n - 1) * (down + across), -down, -across
        start, along = (n - 1) * along, -along
    count = rows if right else columns
    words = (
        *(In(0), In(1), Out(0), n, rows * columns),
        *(first, down, across, start, along, beside, count),
    )
    text = _trsm_text(type, diagonal == "U")
    return words, n * n + rows * columns, n * rows * columns, text


_PLANS: dict[str, Callable[[str, tuple[str, ...], list[Shape]], _Plan]] = {
    "getrf": _getrf,
    "potrf": _potrf,
    "trsm": _trsm,
}


# ------------------------------------------------------------------------ the texts


class _Lanes:
    """The problems of a task: `lanes` of them, whose elements become vectors."""

    def __init__(self, type: str) -> None:
        self.type = type
        self.w = w = Writer(_lanes(type))
        chunk, scratch, stride = w.word(), w.word("ptr"), w.word()
        self.batch = w.word()
        number = w.i("udiv", "%lo", chunk)
        self.memory = w.point_to(scratch, w.i("mul", number, stride), "u8")

    def begin(self) -> None:
        """Opens the loop over tasks."""
        w = self.w
        self.task = w.begin("%lo", "%hi", 1)
        start = w.i("mul", self.task.index, w.lanes)
        self.first = w.smaller_index(start, w.i("sub", self.batch, w.lanes))

    def finished(self, name: str) -> str:
        """The text of the kernel."""
        self.w.end(self.task)
        return module([(name, self.w)])

    def vector(self, memory: str, element: str) -> str:
        """Where the vector of an element stands."""
        return self.w.point_to(
            memory, self.w.i("mul", element, self.w.lanes), self.type
        )

    def load(self, memory: str, element: str) -> Value:
        return self.w.load(self.vector(memory, element), self.type)

    def store(self, x: Value, memory: str, element: str) -> None:
        self.w.store(x, self.vector(memory, element))

    def apart(self, elements: str) -> Value:
        """How far the problems are apart, lane by lane."""
        w = self.w
        size = w.raw(f"trunc i64 {elements} to i32")
        return w.lane_index("i32") * w.broadcast(size, "i32")

    def gather(self, source: str, elements: str, memory: str) -> None:
        """Element by element, from the problems to vectors."""
        w, type = self.w, self.type
        base = w.point_to(source, w.i("mul", self.first, elements), type)
        apart = self.apart(elements)
        loop = w.begin("0", elements, 1)
        x = w.gather(w.point_to(base, loop.index, type), apart, type)
        self.store(x, memory, loop.index)
        w.end(loop)

    def scatter(
        self, memory: str, elements: str, target: str, plus: Value | None = None
    ) -> None:
        """Element by element, from vectors to the problems."""
        w, type = self.w, self.type
        base = w.point_to(target, w.i("mul", self.first, elements), type)
        apart = self.apart(elements)
        loop = w.begin("0", elements, 1)
        x = self.load(memory, loop.index)
        x = x if plus is None else x + plus
        w.scatter(x, w.point_to(base, loop.index, type), apart)
        w.end(loop)


@functools.cache
def _getrf_text(type: str) -> str:
    """Rows are exchanged so that pivots are largest; what is eliminated stays in place."""
    t = _Lanes(type)
    w = t.w
    source, target, pivots = w.word("ptr"), w.word("ptr"), w.word("ptr")
    rows, columns, steps = w.word(), w.word(), w.word()
    elements = w.i("mul", rows, columns)
    a = t.memory
    t.begin()
    t.gather(source, elements, a)
    chosen = w.point_to(pivots, w.i("mul", t.first, steps), "i32")
    apart = t.apart(steps)
    step = w.begin("0", steps, 1)
    k = step.index
    below = w.i("add", k, 1)
    corner = w.i("mul", k, rows)
    at = _largest(t, a, corner, k, rows)
    w.scatter(at + 1, w.point_to(chosen, k, "i32"), apart)
    _exchange(t, a, k, at, rows, columns)
    pivot = t.load(a, w.i("add", corner, k))
    pivot = w.select(w.eq(pivot, 0.0), 1.0, pivot)  # all below is zero and stays so
    row = w.begin(below, rows, 1)
    place = w.i("add", corner, row.index)
    t.store(t.load(a, place) / pivot, a, place)
    w.end(row)
    column = w.begin(below, columns, 1)
    other = w.i("mul", column.index, rows)
    factor = t.load(a, w.i("add", other, k))
    row = w.begin(below, rows, 1)
    place = w.i("add", other, row.index)
    taken = t.load(a, w.i("add", corner, row.index)) * factor
    t.store(t.load(a, place) - taken, a, place)
    w.end(row)
    w.end(column)
    w.end(step)
    t.scatter(a, elements, target)
    return t.finished("getrf")


def _largest(t: _Lanes, a: str, corner: str, k: str, rows: str) -> Value:
    """The row from k on with the largest element of a column, lane by lane."""
    w, type = t.w, t.type
    best = w.abs(t.load(a, w.i("add", corner, k)))
    at = w.broadcast(w.raw(f"trunc i64 {k} to i32"), "i32")
    kinds = [(w.register(type), best.ref), (w.register("i32"), at.ref)]
    row = w.begin(w.i("add", k, 1), rows, 1, kinds)
    best, at = w.value(row.carried[0], type), w.value(row.carried[1], "i32")
    x = w.abs(t.load(a, w.i("add", corner, row.index)))
    more = w.gt(x, best)
    here = w.broadcast(w.raw(f"trunc i64 {row.index} to i32"), "i32")
    found = w.end(row, [w.select(more, x, best).ref, w.select(more, here, at).ref])
    return w.value(found[1], "i32")


def _exchange(t: _Lanes, a: str, k: str, at: Value, rows: str, columns: str) -> None:
    """Row k and row `at` change places, in lanes where these differ."""
    w = t.w
    same = w.broadcast(w.raw(f"trunc i64 {k} to i32"), "i32")
    moved = w.ne(at, same)
    bits = w.raw(f"bitcast {w.register('i1')} {moved.ref} to i{w.lanes}")
    lane = at * w.lanes + w.lane_index("i32")
    with w.when(w.raw(f"icmp ne i{w.lanes} {bits}, 0")):
        column = w.begin("0", columns, 1)
        start = w.i("mul", column.index, rows)
        upper = t.load(a, w.i("add", start, k))
        base = t.vector(a, start)
        lower = w.gather(base, lane, t.type)
        t.store(lower, a, w.i("add", start, k))
        w.scatter(upper, base, lane)
        w.end(column)


@functools.cache
def _potrf_text(type: str) -> str:
    """The factor takes the place of its triangle; where a pivot is not positive, NaN."""
    t = _Lanes(type)
    w = t.w
    source, target, n = w.word("ptr"), w.word("ptr"), w.word()
    down, across = w.word(), w.word()
    elements = w.i("mul", n, n)
    a = t.memory
    t.begin()
    t.gather(source, elements, a)
    t.store(w.constant(0.0, type), a, elements)  # NaN in lanes that have failed

    def place(row: str, column: str) -> str:
        return w.i("add", w.i("mul", row, down), w.i("mul", column, across))

    step = w.begin("0", n, 1)
    k = step.index
    pivot = t.load(a, place(k, k))
    failed = w.select(w.gt(pivot, 0.0), 0.0, w.constant(math.nan, type))
    t.store(t.load(a, elements) + failed, a, elements)
    root = w.sqrt(pivot)
    t.store(root, a, place(k, k))
    below = w.i("add", k, 1)
    row = w.begin(below, n, 1)
    t.store(t.load(a, place(row.index, k)) / root, a, place(row.index, k))
    w.end(row)
    column = w.begin(below, n, 1)
    factor = t.load(a, place(column.index, k))
    row = w.begin(column.index, n, 1)
    here = place(row.index, column.index)
    taken = t.load(a, place(row.index, k)) * factor
    t.store(t.load(a, here) - taken, a, here)
    w.end(row)
    w.end(column)
    w.end(step)
    t.scatter(a, elements, target, plus=t.load(a, elements))
    return t.finished("potrf")


@functools.cache
def _trsm_text(type: str, unit: bool) -> str:
    """Forward substitution."""
    t = _Lanes(type)
    w = t.w
    matrix, source, target = w.word("ptr"), w.word("ptr"), w.word("ptr")
    n, elements = w.word(), w.word()
    first, down, across = w.word(), w.word(), w.word()
    start, along, beside, count = w.word(), w.word(), w.word(), w.word()
    square = w.i("mul", n, n)
    a = t.memory
    x = t.vector(a, square)
    t.begin()
    t.gather(matrix, square, a)
    t.gather(source, elements, x)
    side = w.begin("0", count, 1)
    begin = w.i("add", start, w.i("mul", side.index, beside))
    row = w.begin("0", n, 1)
    here = w.i("add", begin, w.i("mul", row.index, along))
    line = w.i("add", first, w.i("mul", row.index, down))
    known = w.begin("0", row.index, 1, [(w.register(type), t.load(x, here).ref)])
    factor = t.load(a, w.i("add", line, w.i("mul", known.index, across)))
    found = t.load(x, w.i("add", begin, w.i("mul", known.index, along)))
    left = w.value(known.carried[0], type) - factor * found
    (total,) = w.end(known, [left.ref])
    value = w.value(total, type)
    if not unit:
        value = value / t.load(a, w.i("add", line, w.i("mul", row.index, across)))
    t.store(value, x, here)
    w.end(row)
    w.end(side)
    t.scatter(x, elements, target)
    return t.finished("trsm")
