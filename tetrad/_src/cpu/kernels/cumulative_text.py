"""The text of running folds: along contiguous rows, and down columns.

What comes in: the name of a fold, an element type, the direction. What goes out: the
functions of one kernel, without shapes.

Along a row, vectors are folded in registers (log₂ lanes steps) and joined with what came
before, the carry. Down columns each lane is a carry of its own. Carries are wider than
elements where that helps: sums and log-sums of single precision are carried in double,
sums of double precision in two doubles, of which the second holds the rounding errors.
16-bit floats are computed in single precision, and each result is rounded once.

Long rows are cut into blocks whose bounds depend on nothing but the extent: `totals`
folds each block, `starts` turns totals into the carries with which blocks begin, and
`blocks` does what `rows` does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tetrad._src.cpu import schedule
from tetrad._src.cpu.kernels import transpose
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.registers import COMPLEX, FLOATS, HALF_FLOATS, REAL_OF, SIGNED, SIZE
from tetrad._src.cpu.scalar import Value

BLOCK = 16384  # elements of a long row; a multiple of all numbers of lanes
COLUMN_VECTORS = 4  # vectors side by side

WIDER = {"f32": "f64", "c64": "c128"}

State = list[Value]


class Fold:
    """The arithmetic of one fold: `join` of elements, and carries."""

    def __init__(self, w: Writer, name: str, type: str) -> None:
        self.w = w
        self.name = name
        self.stored = "u8" if type == "i1" else type
        self.type = "f32" if type in HALF_FLOATS else self.stored
        smooth = name in ("add", "logaddexp")
        self.carry_type = WIDER.get(self.type, self.type) if smooth else self.type
        # What is lost in rounding is kept, where no wider type does that.
        self.double = name == "add" and self.type in ("f64", "c128")

    # Elements

    def load(self, pointer: str, mask: Value | None) -> Value:
        x = self.w.load(pointer, self.stored, mask)
        x = self.w.relabel(x, self.type)
        return x if mask is None else self.w.select(mask, x, self.identity(self.type))

    def store(self, x: Value, pointer: str, mask: Value | None) -> None:
        if self.stored in HALF_FLOATS:
            x = self.w.round_half(x, self.stored)
        self.w.store(x, pointer, mask)

    def identity(self, type: str) -> Value:
        """What changes nothing when it is joined."""
        w = self.w
        if self.name == "add":
            # −0 + x = x for every x, also for −0.
            zero = -0.0 if type in FLOATS else 0
            if type in COMPLEX:
                part = w.constant(-0.0, REAL_OF[type])
                return w.complex(part, part)
            return w.constant(zero, type)
        if self.name == "mul":
            return w.constant(1, type)
        if type in FLOATS:
            return w.constant(float("inf" if self.name == "min" else "-inf"), type)
        bits = 8 * SIZE[type]
        least = -1 << (bits - 1) if type in SIGNED else 0
        return w.constant(least if self.name == "max" else ~least, type)

    def join(self, x: Value, y: Value) -> Value:
        w = self.w
        if self.name == "add":
            return w.add(x, y)
        if self.name == "mul":
            return w.mul(x, y)
        if self.name == "max":
            return w.max(x, y)
        if self.name == "min":
            return w.min(x, y)
        largest = w.max(x, y)
        gap = w.neg(w.abs(w.sub(x, y)))
        smooth = w.add(largest, w.log1p(w.exp(gap)))
        return w.select(w.is_finite(largest), smooth, largest)

    # Carries: one value, or two whose sum counts

    def start(self) -> State:
        first = self.identity(self.carry_type)
        return [first, first] if self.double else [first]

    def lift(self, x: Value) -> State:
        """An element as a carry."""
        wide = self.w.convert(x, self.carry_type)
        return [wide, self.identity(self.carry_type)] if self.double else [wide]

    def lower(self, state: State) -> Value:
        """A carry as an element."""
        total = self.w.add(*state) if self.double else state[0]
        return self.w.convert(total, self.type)

    def join_states(self, x: State, y: State) -> State:
        if not self.double:
            return [self.join(x[0], y[0])]
        total, lost = self.two_sum(x[0], y[0])
        return [total, self.w.add(self.w.add(x[1], y[1]), lost)]

    def two_sum(self, x: Value, y: Value) -> tuple[Value, Value]:
        """The rounded sum and what is lost; nothing if the sum is not finite."""
        w = self.w
        if x.type in COMPLEX:
            real = self.two_sum(w.real(x), w.real(y))
            imag = self.two_sum(w.imag(x), w.imag(y))
            return w.complex(real[0], imag[0]), w.complex(real[1], imag[1])
        total, lost = w.two_sum(x, y)
        return total, w.select(w.is_finite(total), lost, -0.0)

    def append(self, state: State, x: Value) -> Value:
        """Elements `x` after a carry, both in all lanes."""
        if self.double:
            return self.w.add(state[0], self.w.add(x, state[1]))
        return self.join(self.w.convert(state[0], self.type), x)


def registers(w: Writer, values: Sequence[Value]) -> list[tuple[str, str]]:
    """Types and names of all registers of values, for a loop to carry."""
    return [(w.register(v.type), part) for v in values for part in v.parts]


def renamed(w: Writer, values: Sequence[Value], refs: Sequence[str]) -> State:
    """The same values in other registers."""
    names = iter(refs)
    made = []
    for value in values:
        parts = [next(names) for _ in value.parts]
        made.append(Value(w, parts[0], value.type, *parts[1:]))
    return made


def save(w: Writer, state: State, pointer: str, number: str) -> None:
    """Stores a scalar carry as number `number` of a list."""
    place = w.i("mul", number, len(state))
    for offset, value in enumerate(state):
        at = w.i("add", place, offset)
        w.store(value, w.point_to(pointer, at, value.type))


def restore(w: Writer, fold: Fold, pointer: str, number: str) -> State:
    """Loads a scalar carry."""
    state = fold.start()
    place = w.i("mul", number, len(state))
    return [
        w.load(w.point_to(pointer, w.i("add", place, offset), v.type), v.type)
        for offset, v in enumerate(state)
    ]


# --------------------------------------------------------------------------- rows


class Rows:
    """Walks along rows."""

    def __init__(self, fold: str, type: str, reverse: bool) -> None:
        wide = SIZE[type] >= 8
        self.reverse = reverse
        self.w = Writer(schedule.lanes(wide))
        self.fold = Fold(self.w, fold, type)

    def prefix(self, x: Value) -> Value:
        """Each lane joined with all lanes before it."""
        w, lanes = self.w, self.w.lanes
        identity = self.fold.identity(x.type)
        register = w.register(x.type)
        by = 1
        while by < lanes:
            if self.reverse:
                order = list(range(by, lanes + by))
            else:
                order = [lane - by if lane >= by else lanes for lane in range(lanes)]
            mask = ", ".join([f"i32 {lane}" for lane in order])
            moved = [
                w.raw(
                    f"shufflevector {register} {ref}, {register} {none},"
                    f" <{lanes} x i32> <{mask}>"
                )
                for ref, none in zip(x.parts, identity.parts)
            ]
            x = self.fold.join(Value(w, moved[0], x.type, *moved[1:]), x)
            by *= 2
        return x

    def step(
        self, source: str, target: str | None, at: str, mask: Value | None, carry: State
    ) -> State:
        """One vector; the carry after it."""
        w, fold = self.w, self.fold
        x = self.prefix(fold.load(w.point_to(source, at, fold.stored), mask))
        if target is not None:
            y = fold.append([w.spread(v) for v in carry], x)
            fold.store(y, w.point_to(target, at, fold.stored), mask)
        last = w.lane(x, 0 if self.reverse else w.lanes - 1)
        with w.one_lane():
            return fold.join_states(carry, fold.lift(last))

    def walk(
        self, source: str, target: str | None, low: str, high: str, carry: State
    ) -> State:
        """Elements low..high after a scalar carry; the carry after them."""
        w, lanes = self.w, self.w.lanes
        length = w.i("sub", high, low)
        whole = w.i("and", length, -lanes)
        with w.one_lane():
            carried = registers(w, carry)
        main = w.begin("0", whole, lanes, carried)
        now = renamed(w, carry, main.carried)
        if self.reverse:
            at = w.i("sub", w.i("sub", high, lanes), main.index)
        else:
            at = w.i("add", low, main.index)
        now = self.step(source, target, at, None, now)
        w.end(main, [ref for _, ref in registers(w, now)])
        now = renamed(w, carry, main.carried)
        with w.one_lane():
            carried = registers(w, now)
        tail = w.begin(whole, length, lanes, carried)
        now = renamed(w, now, tail.carried)
        at = low if self.reverse else w.i("add", low, tail.index)
        mask = w.mask(w.i("sub", length, tail.index))
        now = self.step(source, target, at, mask, now)
        w.end(tail, [ref for _, ref in registers(w, now)])
        return renamed(w, now, tail.carried)

    def fresh(self) -> State:
        with self.w.one_lane():
            return self.fold.start()


class RowWords:
    """The words of a launch over rows."""

    def __init__(self, rows: Rows) -> None:
        w = self.w = rows.w
        self.rows = rows
        self.source, self.target = w.word("ptr"), w.word("ptr")
        self.states = w.word("ptr")
        self.n, self.blocks = w.word(), w.word()

    def row(self, number: str) -> tuple[str, str]:
        w, type = self.w, self.rows.fold.stored
        start = w.i("mul", number, self.n)
        return w.point_to(self.source, start, type), w.point_to(self.target, start, type)

    def block(self, task: str) -> tuple[str, str, str]:
        """Row, and first and last element, of a block."""
        w = self.w
        row = w.i("udiv", task, self.blocks)
        low = w.i("mul", w.i("sub", task, w.i("mul", row, self.blocks)), BLOCK)
        return row, low, w.smaller_index(w.i("add", low, BLOCK), self.n)


def _rows(words: RowWords) -> None:
    w = words.w
    task = w.begin("%lo", "%hi", 1)
    source, target = words.row(task.index)
    words.rows.walk(source, target, "0", words.n, words.rows.fresh())
    w.end(task)


def _totals(words: RowWords) -> None:
    w, rows = words.w, words.rows
    task = w.begin("%lo", "%hi", 1)
    row, low, high = words.block(task.index)
    source, _ = words.row(row)
    total = rows.walk(source, None, low, high, rows.fresh())
    with w.one_lane():
        save(w, total, words.states, task.index)
    w.end(task)


def _starts(words: RowWords) -> None:
    w, rows = words.w, words.rows
    task = w.begin("%lo", "%hi", 1)
    first = w.i("mul", task.index, words.blocks)
    with w.one_lane():
        carry = rows.fold.start()
        loop = w.begin("0", words.blocks, 1, registers(w, carry))
        carry = renamed(w, carry, loop.carried)
        at = loop.index
        if rows.reverse:
            at = w.i("sub", w.i("sub", words.blocks, 1), at)
        at = w.i("add", first, at)
        total = restore(w, rows.fold, words.states, at)
        save(w, carry, words.states, at)
        after = rows.fold.join_states(carry, total)
        w.end(loop, [ref for _, ref in registers(w, after)])
    w.end(task)


def _blocks(words: RowWords) -> None:
    w, rows = words.w, words.rows
    task = w.begin("%lo", "%hi", 1)
    row, low, high = words.block(task.index)
    source, target = words.row(row)
    with w.one_lane():
        carry = restore(w, rows.fold, words.states, task.index)
    rows.walk(source, target, low, high, carry)
    w.end(task)


ROW_TASKS: dict[str, Callable[[RowWords], None]] = {
    "rows": _rows,
    "totals": _totals,
    "starts": _starts,
    "blocks": _blocks,
}


# ------------------------------------------------------------------------- columns


def columns(fold_name: str, type: str, reverse: bool) -> Writer:
    """Words: source, target, n, inner, strips; a task is a strip of columns."""
    w = Writer(schedule.lanes(SIZE[type] >= 8))
    fold = Fold(w, fold_name, type)
    source, target = w.word("ptr"), w.word("ptr")
    n, inner, strips = w.word(), w.word(), w.word()
    task = w.begin("%lo", "%hi", 1)
    outer = w.i("udiv", task.index, strips)
    strip = w.i("sub", task.index, w.i("mul", outer, strips))
    first = w.i("mul", strip, COLUMN_VECTORS * w.lanes)
    origin = w.i("mul", w.i("mul", outer, n), inner)
    origin = w.i("add", origin, first)
    left = w.i("sub", inner, first)
    masks = [
        w.mask(w.larger_index(w.i("sub", left, v * w.lanes), "0"))
        for v in range(COLUMN_VECTORS)
    ]
    states = [fold.start() for _ in masks]
    flat = [value for state in states for value in state]
    loop = w.begin("0", n, 1, registers(w, flat))
    flat = renamed(w, flat, loop.carried)
    size = len(states[0])
    states = [flat[v * size : v * size + size] for v in range(COLUMN_VECTORS)]
    k = loop.index
    if reverse:
        k = w.i("sub", w.i("sub", n, 1), k)
    row = w.i("add", origin, w.i("mul", k, inner))
    after: State = []
    for v, (mask, state) in enumerate(zip(masks, states)):
        at = w.i("add", row, v * w.lanes)
        x = fold.load(w.point_to(source, at, fold.stored), mask)
        joined = fold.join_states(state, fold.lift(x))
        fold.store(fold.lower(joined), w.point_to(target, at, fold.stored), mask)
        after += joined
    w.end(loop, [ref for _, ref in registers(w, after)])
    w.end(task)
    return w


@functools.cache
def text(
    fold: str, type: str, reverse: bool, bits: int, turned: bool, by_rows: bool
) -> str:
    """The module, for vectors of so many bits."""
    if not by_rows:
        return module([("columns", columns(fold, type, reverse))])
    functions = []
    for name, write in ROW_TASKS.items():
        words = RowWords(Rows(fold, type, reverse))
        write(words)
        functions.append((name, words.w))
    if turned:
        size = SIZE[type]
        functions.append((f"transpose{size}", transpose.write(size)))
    return module(functions)
