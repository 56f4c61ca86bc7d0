"""Discrete Fourier transforms along the middle axis of x[outer, n, inner].

As many rows as a vector has lanes are transformed together: element j of all of them lies
in one vector of real and one of imaginary parts, so that no step ever moves data between
lanes. Rows that lie side by side (inner > 1) are read with plain loads.

Stockham's algorithm goes through the prime factors of n, fours first; what a stage reads
and writes are two halves of scratch memory. Roots of unity are computed in float64 by a
launch of their own. On the way out an element may be multiplied by a root of a longer
transform, of which this one is a part (`whole`): that root is a product of one of a
coarse and one of a fine table.

Read `Shape`, `build`, `_rows`; then the butterflies.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.cpu import blas, schedule
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Operand, Out, Tmp
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.registers import REAL_OF, SIZE
from tetrad._src.cpu.scalar import Value

TASKS = 8  # runs of rows, at most
STAGES = 32  # factors, at most
PAD = 5  # vectors between parts, or their addresses would differ by powers of two


def factors(n: int) -> list[int]:
    """The stages of a transform: fours, a two, then odd primes."""
    found = []
    while n % 4 == 0:
        found.append(4)
        n //= 4
    p = 2
    while n > 1:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1 if p == 2 else 2
        if p * p > n > 1:
            p = n
    return found


def build(parameters: Any, operands: list[Operand], results: list[Aval]) -> KernelCall:
    """The kernel `fft`."""
    aval = operands[0].aval
    outer, n, inner = aval.shape
    type = element_type(aval.dtype)
    size = SIZE[type]
    lanes = schedule.lanes(type == "c128")
    rows = outer * inner
    stages = factors(n)
    if len(stages) > STAGES or max(n, rows) > blas.INT_LIMIT:
        raise NotImplementedError(f"a Fourier transform of shape {aval.shape}")
    groups = -(-rows // lanes)
    tasks = max(1, min(groups, TASKS))
    run = -(-groups // tasks)
    tasks = -(-groups // run)
    scratch = 2 * (n + PAD) * lanes * size + 127 & -128
    whole, step = parameters["whole"], parameters["stride"]
    fine = max(1, math.isqrt(whole))
    coarse = -(-whole // fine) if whole else 0
    temporaries = [n * size, tasks * scratch, coarse * size, fine * size]
    sign = 1 if parameters["inverse"] else -1
    launches = [Launch("roots", (Tmp(0), n, sign, 1), n, 4096)]
    if whole:
        launches.append(Launch("roots", (Tmp(2), whole, sign, fine), coarse, 4096))
        launches.append(Launch("roots", (Tmp(3), whole, sign, 1), fine, 4096))
    words = [n, inner, rows, run, scratch, len(stages), sign]
    words += [whole, step, fine]
    pointers: list[Any] = [In(0), Out(0), Tmp(0), Tmp(1), Tmp(2), Tmp(3)]
    padded = stages + [1] * (STAGES - len(stages))
    launches.append(Launch("rows", (*words, *pointers, *padded), tasks))
    cost = rows * n * (1.0 + 0.5 * sum(p / 2 for p in stages)) / lanes + 1000.0
    return KernelCall(_text(type), ("roots", "rows"), launches, temporaries, cost)


def build_roots(
    parameters: Any, operands: list[Operand], results: list[Aval]
) -> KernelCall:
    """The kernel `roots`."""
    (aval,) = results
    count = aval.shape[0]
    step = 0 if parameters["squares"] else 1
    words = (Out(0), parameters["order"], parameters["sign"], step)
    text = _text(element_type(aval.dtype))
    launch = Launch("roots", words, count, 4096)
    return KernelCall(text, ("roots", "rows"), [launch], (), 20.0 * count)


@functools.cache
def _text(type: str) -> str:
    return module([("roots", _roots(type)), ("rows", _rows(type))])


def _roots(type: str) -> Writer:
    """Roots of unity by number. Words: where, of which order, the sign, the step from
    one number to the next; if that is 0 the numbers are squares."""
    w = Writer(1)
    out, order, sign, step = w.word("ptr"), w.word(), w.word(), w.word()
    loop = w.begin("%lo", "%hi", 1)
    square = w.raw(f"urem i64 {w.i('mul', loop.index, loop.index)}, {order}")
    by_step = w.raw(f"icmp ne i64 {step}, 0")
    turn = w.i("mul", loop.index, step)
    turn = w.raw(f"select i1 {by_step}, i64 {turn}, i64 {square}")
    # An angle of at most an eighth of a turn, from which sines and cosines are exact.
    eight = w.i("mul", turn, 8)
    octant = w.i("udiv", w.i("add", eight, order), w.i("mul", order, 2))
    rest = w.i("sub", eight, w.i("mul", octant, w.i("mul", order, 2)))
    share = w.raw(f"sitofp i64 {rest} to double")
    whole = w.raw(f"sitofp i64 {order} to double")
    angle = w.value(w.raw(f"fdiv double {share}, {whole}"), "f64") * (math.pi / 4)
    c, s = w.cos(angle), w.sin(angle)
    odd = w.raw(f"and i64 {octant}, 1")
    turned = w.value(w.raw(f"icmp ne i64 {odd}, 0"), "i1")
    low = w.raw(f"and i64 {octant}, 3")
    near = w.i("and", w.i("add", low, 1), 2)
    negative_c = w.raw(f"icmp ne i64 {near}, 0")
    negative_s = w.raw(f"icmp uge i64 {low}, 2")
    x, y = w.select(turned, s, c), w.select(turned, c, s)
    x = w.select(w.value(negative_c, "i1"), w.neg(x), x)
    y = w.select(w.value(negative_s, "i1"), w.neg(y), y)
    backwards = w.value(w.raw(f"icmp slt i64 {sign}, 0"), "i1")
    y = w.select(backwards, w.neg(y), y)
    part = REAL_OF[type]
    root = w.complex(w.convert(x, part), w.convert(y, part))
    w.store(root, w.point_to(out, loop.index, type))
    w.end(loop)
    return w


Butterfly = Callable[["_Rows", list[Value]], list[Value]]


class _Rows:
    """The function `rows` in the making."""

    def __init__(self, type: str) -> None:
        self.type = type
        self.part = REAL_OF[type]
        self.w = w = Writer(schedule.lanes(type == "c128"))
        self.lanes = w.lanes
        names = ("n", "inner", "rows", "run", "scratch_bytes", "stages", "sign")
        self.at = {name: w.word() for name in (*names, "whole", "step", "fine")}
        pointers = ("x", "y", "roots", "scratch", "coarse_roots", "fine_roots")
        self.at |= {name: w.word("ptr") for name in pointers}
        self.radices = w.raw(f"getelementptr i64, ptr %args, i64 {w.words}")
        sign = w.raw(f"sitofp i64 {self['sign']} to {self.real}")
        self.sign = w.broadcast(sign, self.part)
        self.half = w.i("mul", w.i("add", self["n"], PAD), w.lanes)

    @property
    def real(self) -> str:
        return "float" if self.part == "f32" else "double"

    def __getitem__(self, name: str) -> str:
        return self.at[name]

    # Elements in scratch: a vector of real parts, and one of imaginary parts behind all

    def get(self, memory: str, index: str) -> Value:
        w = self.w
        at = w.point_to(memory, w.i("mul", index, self.lanes), self.part)
        re = w.load(at, self.part)
        im = w.load(w.point_to(at, self.half, self.part), self.part)
        return w.complex(re, im)

    def put(self, x: Value, memory: str, index: str) -> None:
        w = self.w
        at = w.point_to(memory, w.i("mul", index, self.lanes), self.part)
        re, im = w.value(x.ref, self.part), w.value(x.imag, self.part)
        w.store(re, at)
        w.store(im, w.point_to(at, self.half, self.part))

    def root(self, index: str) -> Value:
        """A root in every lane."""
        w = self.w
        at = w.point_to(self["roots"], index, self.type)
        re = w.load_scalar_broadcast(at, self.part)
        im = w.load_scalar_broadcast(w.point_to(at, "1", self.part), self.part)
        return w.complex(re, im)

    def quarter(self, x: Value) -> Value:
        """x times i (or −i, forwards)."""
        w = self.w
        re, im = w.value(x.ref, self.part), w.value(x.imag, self.part)
        return w.complex(w.neg(im * self.sign), re * self.sign)

    def scaled(self, x: Value, factor: float) -> Value:
        w = self.w
        re, im = w.value(x.ref, self.part), w.value(x.imag, self.part)
        return w.complex(re * factor, im * factor)


class _Group:
    """Where the rows of a group lie, which the lanes of vectors hold.

    Rows side by side (`beside`) are read with plain loads. Of rows that follow each other
    the first `squared` elements are turned in registers, square by square.
    """

    def __init__(self, f: _Rows, number: str) -> None:
        w = f.w
        i = w.i
        self.f = f
        first = i("mul", number, f.lanes)
        block = i("udiv", first, f["inner"])
        column = i("sub", first, i("mul", block, f["inner"]))
        self.base = i("add", i("mul", block, i("mul", f["n"], f["inner"])), column)
        end = i("add", column, f.lanes)
        self.beside = w.raw(f"icmp sle i64 {end}, {f['inner']}")
        row = w.add(w.broadcast(first, "i64"), w.lane_index("i64"))
        inner = w.broadcast(f["inner"], "i64")
        self.mask = w.mask(i("sub", f["rows"], first))
        blocks = w.div(row, inner)
        self.columns = w.sub(row, w.mul(blocks, inner))
        area = w.broadcast(i("mul", f["n"], f["inner"]), "i64")
        self.places = w.add(w.mul(blocks, area), self.columns)
        whole_rows = w.raw(f"icmp eq i64 {f['inner']}, 1")
        full = w.raw(f"icmp sge i64 {i('sub', f['rows'], first)}, {f.lanes}")
        squares = w.raw(f"and i1 {whole_rows}, {full}")
        wide = i("and", f["n"], -f.lanes)
        self.squared = w.raw(f"select i1 {squares}, i64 {wide}, i64 0")

    def beside_at(self, pointer: str, index: str) -> str:
        """Element `index` of the first of rows that lie side by side."""
        w = self.f.w
        place = w.i("add", self.base, w.i("mul", index, self.f["inner"]))
        return w.point_to(pointer, place, self.f.type)

    def in_row(self, pointer: str, index: str, row: int) -> str:
        """Element `index` of a row that comes later."""
        w = self.f.w
        place = w.i("add", w.i("add", self.base, index), w.i("mul", self.f["n"], row))
        return w.point_to(pointer, place, self.f.type)

    def apart_at(self, pointer: str, index: str) -> str:
        """What `places` count from for element `index` of rows that lie anywhere."""
        w = self.f.w
        return w.point_to(pointer, w.i("mul", index, self.f["inner"]), self.f.type)

    def read(self, memory: str) -> None:
        """Brings the rows into scratch memory."""
        f, w, x = self.f, self.f.w, self.f["x"]

        def beside() -> None:
            at = w.begin("0", f["n"], 1)
            f.put(w.load(self.beside_at(x, at.index), f.type), memory, at.index)
            w.end(at)

        def apart() -> None:
            tile = w.begin("0", self.squared, f.lanes)
            taken = [
                w.load(self.in_row(x, tile.index, r), f.type) for r in range(f.lanes)
            ]
            for k, element in enumerate(_turned(f, taken)):
                f.put(element, memory, w.i("add", tile.index, k))
            w.end(tile)
            at = w.begin(self.squared, f["n"], 1)
            moved = self.apart_at(x, at.index)
            f.put(w.gather(moved, self.places, f.type, self.mask), memory, at.index)
            w.end(at)

        w.choose(self.beside, beside, apart)

    def write(self, memory: str) -> None:
        """Brings the rows from scratch memory to where results go."""
        f, w, y = self.f, self.f.w, self.f["y"]

        def beside() -> None:
            at = w.begin("0", f["n"], 1)
            w.store(f.get(memory, at.index), self.beside_at(y, at.index))
            w.end(at)

        def apart() -> None:
            tile = w.begin("0", self.squared, f.lanes)
            made = [f.get(memory, w.i("add", tile.index, k)) for k in range(f.lanes)]
            for r, row in enumerate(_turned(f, made)):
                w.store(row, self.in_row(y, tile.index, r))
            w.end(tile)
            at = w.begin(self.squared, f["n"], 1)
            element = f.get(memory, at.index)
            w.scatter(element, self.apart_at(y, at.index), self.places, self.mask)
            w.end(at)

        w.choose(self.beside, beside, apart)


def _rows(type: str) -> Writer:
    f = _Rows(type)
    w = f.w
    i = w.i
    groups = i("udiv", i("add", f["rows"], f.lanes - 1), f.lanes)
    stop = w.smaller_index(i("mul", "%hi", f["run"]), groups)
    own = w.point_to(f["scratch"], i("mul", "%lo", f["scratch_bytes"]), "u8")
    other = w.point_to(own, i("mul", f.half, 2), f.part)
    number = w.begin(i("mul", "%lo", f["run"]), stop, 1)
    group = _Group(f, number.index)
    group.read(own)
    source = _stages(f, own, other)
    with w.when(w.raw(f"icmp ne i64 {f['whole']}, 0")):
        _turn(f, source, group.columns)
    group.write(source)
    w.end(number)
    return w


def _turned(f: _Rows, rows: list[Value]) -> list[Value]:
    """A square of complex numbers with rows and columns exchanged."""
    w = f.w
    re = _square(f, [x.ref for x in rows])
    im = _square(f, [x.imag for x in rows])
    return [w.complex(w.value(a, f.part), w.value(b, f.part)) for a, b in zip(re, im)]


def _square(f: _Rows, rows: list[str]) -> list[str]:
    """The same for real vectors: blocks change places, from single lanes to halves."""
    lanes = f.lanes
    register = f.w.register(f.part)
    rows = list(rows)
    step = 1
    while step < lanes:
        low = [
            lane if not lane & step else lanes + lane - step for lane in range(lanes)
        ]
        high = [
            lane + step if not lane & step else lanes + lane for lane in range(lanes)
        ]
        for i in range(lanes):
            if not i & step:
                pair = (rows[i], rows[i | step])
                rows[i], rows[i | step] = (
                    _mixed(f, register, *pair, order) for order in (low, high)
                )
        step *= 2
    return rows


def _mixed(f: _Rows, register: str, x: str, y: str, order: list[int]) -> str:
    places = ", ".join([f"i32 {lane}" for lane in order])
    return f.w.raw(
        f"shufflevector {register} {x}, {register} {y}, <{len(order)} x i32> <{places}>"
    )


def _turn(f: _Rows, memory: str, columns: Value) -> None:
    """Multiplies element k of column j by the root number k·⌊j / step⌋ of the whole."""
    w = f.w
    column = w.div(columns, w.broadcast(f["step"], "i64"))
    at = w.begin("0", f["n"], 1)
    number = w.mul(column, w.broadcast(at.index, "i64"))
    number = w.rem(number, w.broadcast(f["whole"], "i64"))
    fine = w.broadcast(f["fine"], "i64")
    high = w.div(number, fine)
    low = w.sub(number, w.mul(high, fine))
    root = w.mul(
        w.gather(f["coarse_roots"], high, f.type),
        w.gather(f["fine_roots"], low, f.type),
    )
    f.put(w.mul(f.get(memory, at.index), root), memory, at.index)
    w.end(at)


def _stages(f: _Rows, own: str, other: str) -> str:
    """All stages; gives the memory in which the result is."""
    w = f.w
    i = w.i
    stage = w.begin("0", f["stages"], 1, [("ptr", own), ("ptr", other), ("i64", "1")])
    source, target, stride = stage.carried
    radix = w.raw(f"load i64, ptr {w.point_to(f.radices, stage.index, 'u64')}")
    length = i("udiv", f["n"], stride)
    parts = i("udiv", length, radix)

    def chosen(cases: list[tuple[int, Butterfly]]) -> None:
        if not cases:
            _any_radix(f, source, target, stride, parts, radix)
            return
        (number, butterfly), *rest = cases
        w.choose(
            w.raw(f"icmp eq i64 {radix}, {number}"),
            lambda: _radix(f, source, target, stride, parts, number, butterfly),
            lambda: chosen(rest),
        )

    chosen([(4, _four), (2, _two), (3, _three), (5, _five)])
    ends = w.end(stage, [target, source, i("mul", stride, radix)])
    return ends[0]


def _radix(
    f: _Rows,
    source: str,
    target: str,
    stride: str,
    parts: str,
    radix: int,
    butterfly: Butterfly,
) -> None:
    """A stage: y[j + s(pq + k)] = root^(sqk) · (DFTₚ of x[j + s(q + m·…)])[k]."""
    w = f.w
    i = w.i
    part = w.begin("0", parts, 1)
    step = i("mul", stride, part.index)
    roots = [f.root(i("mul", step, k)) for k in range(1, radix)]
    apart = i("mul", stride, parts)
    inner = w.begin("0", stride, 1)
    origin = i("add", inner.index, step)
    taken = [f.get(source, i("add", origin, i("mul", apart, k))) for k in range(radix)]
    made = butterfly(f, taken)
    made = [made[0], *[w.mul(x, root) for x, root in zip(made[1:], roots)]]
    first = i("add", inner.index, i("mul", step, radix))
    for k, x in enumerate(made):
        f.put(x, target, i("add", first, i("mul", stride, k)))
    w.end(inner)
    w.end(part)


def _two(f: _Rows, x: list[Value]) -> list[Value]:
    return [f.w.add(x[0], x[1]), f.w.sub(x[0], x[1])]


def _three(f: _Rows, x: list[Value]) -> list[Value]:
    w = f.w
    total, gap = w.add(x[1], x[2]), w.sub(x[1], x[2])
    middle = w.sub(x[0], f.scaled(total, 0.5))
    side = f.quarter(f.scaled(gap, math.sqrt(3) / 2))
    return [w.add(x[0], total), w.add(middle, side), w.sub(middle, side)]


def _four(f: _Rows, x: list[Value]) -> list[Value]:
    w = f.w
    even, gap = w.add(x[0], x[2]), w.sub(x[0], x[2])
    odd, side = w.add(x[1], x[3]), f.quarter(w.sub(x[1], x[3]))
    return [w.add(even, odd), w.add(gap, side), w.sub(even, odd), w.sub(gap, side)]


def _five(f: _Rows, x: list[Value]) -> list[Value]:
    w = f.w
    c1, c2 = math.cos(2 * math.pi / 5), math.cos(4 * math.pi / 5)
    s1, s2 = math.sin(2 * math.pi / 5), math.sin(4 * math.pi / 5)
    a, b = w.add(x[1], x[4]), w.add(x[2], x[3])
    c, d = w.sub(x[1], x[4]), w.sub(x[2], x[3])
    p = w.add(x[0], w.add(f.scaled(a, c1), f.scaled(b, c2)))
    q = w.add(x[0], w.add(f.scaled(a, c2), f.scaled(b, c1)))
    u = f.quarter(w.add(f.scaled(c, s1), f.scaled(d, s2)))
    v = f.quarter(w.sub(f.scaled(c, s2), f.scaled(d, s1)))
    return [
        w.add(x[0], w.add(a, b)),
        w.add(p, u),
        w.add(q, v),
        w.sub(q, v),
        w.sub(p, u),
    ]


def _any_radix(
    f: _Rows, source: str, target: str, stride: str, parts: str, radix: str
) -> None:
    """A stage of any prime: its small transform is computed term by term."""
    w = f.w
    i = w.i
    register = w.register(f.part)
    apart = i("mul", stride, parts)
    unit = i("udiv", f["n"], radix)
    part = w.begin("0", parts, 1)
    step = i("mul", stride, part.index)
    inner = w.begin("0", stride, 1)
    origin = i("add", inner.index, step)
    first = i("add", inner.index, i("mul", step, radix))
    k = w.begin("0", radix, 1)
    zeros = [(register, "zeroinitializer")] * 2
    term = w.begin("0", radix, 1, zeros)
    before = w.complex(
        w.value(term.carried[0], f.part), w.value(term.carried[1], f.part)
    )
    number = w.raw(f"urem i64 {i('mul', term.index, k.index)}, {radix}")
    x = f.get(source, i("add", origin, i("mul", apart, term.index)))
    total = w.add(before, w.mul(x, f.root(i("mul", unit, number))))
    re, im = w.end(term, [total.ref, total.imag])
    sums = w.complex(w.value(re, f.part), w.value(im, f.part))
    turned = w.mul(sums, f.root(i("mul", step, k.index)))
    f.put(turned, target, i("add", first, i("mul", stride, k.index)))
    w.end(k)
    w.end(inner)
    w.end(part)
