"""The text of running folds: along contiguous rows, and down columns.

What comes in: the name of a fold, an element type, the direction. What goes out: the
functions of one kernel, without shapes.

Along a row, vectors are folded in registers (log₂ lanes steps) and joined with what came
before, the carry. Down columns each lane is a carry of its own. Carries are wider than
elements where that helps: sums and log-sums of single precision are carried in double,
sums of double precision in two doubles, of which the second holds the rounding errors.
Floats of 16 bits and fewer are computed in single precision, and each result is rounded once.

Long rows are cut into blocks whose bounds depend on nothing but the extent: `totals`
folds each block, `starts` turns totals into the carries with which blocks begin, and
`blocks` does what `rows` does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from tetrad._src.cpu import schedule
from tetrad._src.cpu.kernels import transpose
from tetrad._src.cpu.kernels.sort_text import (
    REPAIRED,
    code_of,
    element_of,
    integer,
)
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.registers import (
    COMPLEX,
    FLOATS,
    NARROW_FLOATS,
    REAL_OF,
    SIGNED,
    SIZE,
    bit_width,
)
from tetrad._src.cpu.scalar import Value

BLOCK = 16384  # elements of a long row; a multiple of all numbers of lanes
STRIP = 512  # columns that a task takes along

WIDER = {"f32": "f64", "c64": "c128"}
LEAST_GAP = {"f32": -87.0, "f64": -708.0}

State = list[Value]


class Fold:
    """The arithmetic of one fold: `join` of elements, and carries."""

    def __init__(self, w: Writer, name: str, type: str) -> None:
        self.w = w
        self.name = name
        self.stored = "u8" if type == "i1" else type
        self.type = "f32" if type in NARROW_FLOATS else self.stored
        # Extremes of floats are found among codes of the same order.
        self.coded = type if name in ("max", "min") and type in FLOATS else ""
        if self.coded:
            self.stored = self.type = integer(type)
        smooth = name in ("add", "logaddexp")
        self.carry_type = WIDER.get(self.type, self.type) if smooth else self.type
        # What is lost in rounding is kept, where no wider type does that.
        self.double = name == "add" and self.type in ("f64", "c128")

    # Elements

    def load(self, pointer: str, mask: Value | None) -> Value:
        x = self.w.load(pointer, self.stored, mask)
        x = self.code(x) if self.coded else self.w.relabel(x, self.type)
        return x if mask is None else self.w.select(mask, x, self.identity(self.type))

    def code(self, x: Value) -> Value:
        """A signed integer in the place of a float; NaN becomes the extreme one."""
        code = code_of(self.w, x, self.coded, True)
        if self.name == "max":
            return code
        if self.coded not in REPAIRED:
            return code + 1  # all codes are taken: that of NaN wraps around
        largest = (1 << (8 * SIZE[x.type] - 1)) - 1
        return self.w.select(self.w.eq(code, largest), ~largest, code)

    def store(self, x: Value, pointer: str, mask: Value | None) -> None:
        if self.coded:
            if self.name == "min" and self.coded not in REPAIRED:
                x = x - 1
            x = element_of(self.w, x, self.coded)
        if self.name == "logaddexp" and x.type in COMPLEX:
            x = self.principal(x)
        if self.stored in NARROW_FLOATS:
            x = self.w.round_narrow(x, self.stored)
        self.w.store(x, pointer, mask)

    def principal(self, x: Value) -> Value:
        """A logarithm with its imaginary part brought between −π and π."""
        w = self.w
        angle = w.convert(w.imag(x), "f64")
        turns = w.round(w.mul(angle, 1 / math.tau))
        angle = w.sub(angle, w.mul(turns, math.tau))
        return w.complex(w.real(x), w.convert(angle, REAL_OF[x.type]))

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
        infinity = float("inf" if self.name == "min" else "-inf")
        if type in FLOATS:
            return w.constant(infinity, type)
        if type in COMPLEX:
            return w.constant(complex(infinity, infinity), type)
        bits = bit_width(type)
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
        if x.type in COMPLEX:
            gap = w.sub(w.min(x, y), largest)
            near = w.gt(w.real(gap), LEAST_GAP[REAL_OF[x.type]])
            gap = w.select(near, gap, w.constant(0, x.type))
            return w.select(near, w.add(largest, w.log1p(w.exp(gap))), largest)
        gap = w.neg(w.abs(w.sub(x, y)))
        # What is further below is nothing, as is NaN, the gap of equal infinities.
        near = w.gt(gap, LEAST_GAP[x.type])
        gap = w.select(near, gap, LEAST_GAP[x.type])
        return w.select(near, w.add(largest, w.log1p(w.exp(gap))), largest)

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
        """The rounded sum and what is lost; −0 if nothing is, or the sum is infinite."""
        w = self.w
        if x.type in COMPLEX:
            real = self.two_sum(w.real(x), w.real(y))
            imag = self.two_sum(w.imag(x), w.imag(y))
            return w.complex(real[0], imag[0]), w.complex(real[1], imag[1])
        total, lost = w.two_sum(x, y)
        return total, w.select(w.compare("one", lost, 0.0), lost, -0.0)

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
        self.lanes = schedule.lanes(wide)
        self.w = Writer(self.lanes)
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
        self, source: str, target: str, at: str, mask: Value | None, carry: State
    ) -> State:
        """One vector; the carry after it."""
        w, fold = self.w, self.fold
        x = self.prefix(fold.load(w.point_to(source, at, fold.stored), mask))
        y = fold.append([w.spread(v) for v in carry], x)
        fold.store(y, w.point_to(target, at, fold.stored), mask)
        last = w.lane(x, 0 if self.reverse else w.lanes - 1)
        with w.one_lane():
            return fold.join_states(carry, fold.lift(last))

    def walk(self, source: str, target: str, low: str, high: str, carry: State) -> None:
        """Elements low..high after a scalar carry."""
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

    def total(self, source: str, low: str, high: str, buffers: list[str]) -> State:
        """All elements low..high, folded in each lane first."""
        w, fold = self.w, self.fold
        state = fold.start()
        length = w.i("and", w.i("sub", high, low), -w.lanes)
        whole = w.i("add", low, length)
        for first, last in ((low, whole), (whole, high)):
            loop = w.begin(first, last, w.lanes, registers(w, state))
            state = renamed(w, state, loop.carried)
            tail = first == whole
            mask = w.mask(w.i("sub", high, loop.index)) if tail else None
            x = fold.load(w.point_to(source, loop.index, fold.stored), mask)
            after = fold.join_states(state, fold.lift(x))
            w.end(loop, [ref for _, ref in registers(w, after)])
        for value, buffer in zip(state, buffers):
            w.store(value, buffer)
        with w.one_lane():
            return self.merged(buffers)

    def merged(self, buffers: list[str]) -> State:
        """The lanes of a carry in memory, folded one after the other."""
        w, fold = self.w, self.fold
        total = fold.start()
        loop = w.begin("0", str(self.lanes), 1, registers(w, total))
        before = renamed(w, total, loop.carried)
        lane = [
            w.load(w.point_to(buffer, loop.index, value.type), value.type)
            for value, buffer in zip(total, buffers)
        ]
        after = fold.join_states(before, lane)
        w.end(loop, [ref for _, ref in registers(w, after)])
        return renamed(w, total, loop.carried)

    def buffers(self) -> list[str]:
        """Room for the vectors of a carry; to be asked for outside of loops."""
        return [
            self.w.raw(f"alloca [{self.lanes * SIZE[v.type]} x i8], align 64")
            for v in self.fold.start()
        ]

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
        return w.point_to(self.source, start, type), w.point_to(
            self.target, start, type
        )

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
    buffers = rows.buffers()
    task = w.begin("%lo", "%hi", 1)
    row, low, high = words.block(task.index)
    source, _ = words.row(row)
    total = rows.total(source, low, high, buffers)
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


WHOLE: dict[str, Callable[[RowWords], None]] = {"rows": _rows}
CUT: dict[str, Callable[[RowWords], None]] = {
    "totals": _totals,
    "starts": _starts,
    "blocks": _blocks,
}


# ------------------------------------------------------------------------- columns


class Columns:
    """Walks down a strip of columns, whose carries are kept in memory.

    Words: source, target, n, inner, strips; a task is a strip.
    """

    def __init__(self, fold: str, type: str, reverse: bool) -> None:
        w = self.w = Writer(schedule.lanes(SIZE[type] >= 8))
        self.fold = Fold(w, fold, type)
        self.types = [value.type for value in self.fold.start()]
        self.states = [
            w.raw(f"alloca [{STRIP * SIZE[carry]} x i8], align 64")
            for carry in self.types
        ]
        self.source, self.target = w.word("ptr"), w.word("ptr")
        n, inner, strips = w.word(), w.word(), w.word()
        task = w.begin("%lo", "%hi", 1)
        outer = w.i("udiv", task.index, strips)
        strip = w.i("sub", task.index, w.i("mul", outer, strips))
        first = w.i("mul", strip, STRIP)
        self.width = w.smaller_index(w.i("sub", inner, first), str(STRIP))
        self.whole = w.i("and", self.width, -w.lanes)
        origin = w.i("add", w.i("mul", w.i("mul", outer, n), inner), first)
        fill = w.begin("0", self.width, w.lanes)
        self.save(self.fold.start(), fill.index)
        w.end(fill)
        loop = w.begin("0", n, 1)
        k = loop.index
        if reverse:
            k = w.i("sub", w.i("sub", n, 1), k)
        self.row(w.i("add", origin, w.i("mul", k, inner)))
        w.end(loop)
        w.end(task)

    def row(self, start: str) -> None:
        w = self.w
        main = w.begin("0", self.whole, w.lanes)
        self.step(start, main.index, None)
        w.end(main)
        with w.when(w.less(self.whole, self.width)):
            mask = w.mask(w.i("sub", self.width, self.whole))
            self.step(start, self.whole, mask)

    def step(self, start: str, column: str, mask: Value | None) -> None:
        """One vector of a row."""
        w, fold = self.w, self.fold
        at = w.i("add", start, column)
        x = fold.load(w.point_to(self.source, at, fold.stored), mask)
        state = [
            w.load(w.point_to(place, column, type), type)
            for place, type in zip(self.states, self.types)
        ]
        state = fold.join_states(state, fold.lift(x))
        self.save(state, column)
        fold.store(fold.lower(state), w.point_to(self.target, at, fold.stored), mask)

    def save(self, state: State, column: str) -> None:
        w = self.w
        for value, place in zip(state, self.states):
            w.store(value, w.point_to(place, column, value.type))


@functools.cache
def text(
    fold: str, type: str, reverse: bool, symbols: tuple[str, ...], bits: int
) -> str:
    """A module with some of the functions, for vectors of so many bits."""
    functions = []
    for name in symbols:
        if name == "columns":
            writer = Columns(fold, type, reverse).w
        elif name in WHOLE or name in CUT:
            words = RowWords(Rows(fold, type, reverse))
            (WHOLE.get(name) or CUT[name])(words)
            writer = words.w
        else:
            writer = transpose.write(SIZE[type])
        functions.append((name, writer))
    return module(functions)
