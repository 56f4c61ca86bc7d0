"""Products of a matrix and a vector, of sizes where a call of BLAS costs more than it does.

In: a matrix that is contiguous along one axis, and a vector. A task gives a group of
results. Along rows (the summed axis is contiguous) a group is as many rows as a vector
has lanes, each with an accumulator of its own; at the end the accumulators are added up
across their lanes, all at once. Along columns a group is a few vectors of results, with
several accumulators each. The order of sums follows from the extents alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from tetrad._src.cpu import schedule
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Out
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.scalar import SIZE, Value

TYPES = ("f32", "f64")
LARGEST = 512 << 10  # bytes of the matrix
SMALLEST = 8  # of either extent
ROWS = 8  # rows that are summed in one loop: their addresses fit into registers
STRIP = 4  # vectors of results, at most
SUMS = 8  # accumulators of all of them
WORK = 1 << 17  # elements of one chunk
NS = 0.03  # an element


class Product(NamedTuple):
    """result[f] = Σ_d matrix[f, d] · vector[d], and which operand is the matrix."""

    matrix: int
    free: int
    depth: int
    free_stride: int
    depth_stride: int
    vector_stride: int


def fits(product: Product, type: str) -> bool:
    """Whether the kernel takes such a product."""
    free, depth = product.free, product.depth
    if type not in TYPES or min(free, depth) < SMALLEST:
        return False
    if free * depth * SIZE[type] > LARGEST:
        return False
    return _along_rows(product) or product.free_stride == 1


def _along_rows(product: Product) -> bool:
    return product.depth_stride == 1 and product.vector_stride == 1


def build(product: Product, type: str) -> KernelCall:
    """The launch of a product."""
    lanes = schedule.lanes(type == "f64")
    if _along_rows(product):
        group, far = lanes, product.free_stride
        name, text = f"matvec_rows_{type}", _rows_text(type, lanes)
    else:
        strip = _strip(product.free, lanes)
        group, far = strip * lanes, product.depth_stride
        name = f"matvec_columns_{strip}_{type}"
        text = _columns_text(type, lanes, strip)
    words = (
        In(product.matrix),
        In(1 - product.matrix),
        Out(0),
        product.free,
        product.depth,
        far,
        product.vector_stride,
    )
    chunk = max(1, WORK // (group * product.depth))
    launch = Launch(name, words, -(-product.free // group), chunk)
    work = 20.0 + NS * product.free * product.depth
    return KernelCall(text, (name,), (launch,), (), work)


def _strip(free: int, lanes: int) -> int:
    """Vectors of results in a group: no more than there are, up to `STRIP`."""
    strip = STRIP
    while strip > 1 and strip // 2 * lanes >= free:
        strip //= 2
    return strip


@functools.cache
def _rows_text(type: str, lanes: int) -> str:
    w = Writer(lanes)
    matrix, vector, result = w.word("ptr"), w.word("ptr"), w.word("ptr")
    free, depth, far = w.word(), w.word(), w.word()
    rows = _Rows(w, type, vector, depth)
    steps = [w.i("mul", far, str(row)) for row in range(min(ROWS, lanes))]
    complete = w.i("sdiv", free, str(lanes))
    task = w.begin("%lo", w.smaller_index("%hi", complete), 1)
    first = w.i("mul", task.index, str(lanes))
    parts = []
    for start in range(0, lanes, ROWS):
        base = w.i("mul", w.i("add", first, str(start)), far)
        parts.append(rows.sums(w.point_to(matrix, base, type), steps))
    w.store(rows.joined(parts), w.point_to(result, first, type))
    w.end(task)
    # Of the rows that are missing in the last group, the last row takes the place.
    with w.when(w.less(complete, "%hi")):
        last_row = w.i("sub", free, "1")
        first = w.i("mul", complete, str(lanes))
        parts = []
        for start in range(0, lanes, ROWS):
            steps = []
            for row in range(start, start + min(ROWS, lanes)):
                at = w.smaller_index(w.i("add", first, str(row)), last_row)
                steps.append(w.i("mul", at, far))
            parts.append(rows.sums(matrix, steps))
        mask = w.mask(w.i("sub", free, first))
        w.store(rows.joined(parts), w.point_to(result, first, type), mask)
    return module([(f"matvec_rows_{type}", w)])


class _Rows:
    """Sums of rows times the vector."""

    def __init__(self, w: Writer, type: str, vector: str, depth: str) -> None:
        self.w = w
        self.type = type
        self.vector = vector
        self.depth = depth
        self.whole = w.i("and", depth, str(-w.lanes))

    def sums(self, base: str, steps: list[str]) -> Value:
        """Some of the sums over the lanes of a group of rows, see `_across`."""
        w, type = self.w, self.type
        register = w.register(type)
        carried = [(register, w.constant(0, type).ref)] * len(steps)
        for start, end in (("0", self.whole), (self.whole, self.depth)):
            loop = w.begin(start, end, w.lanes, carried)
            mask = w.mask(w.i("sub", end, loop.index)) if start != "0" else None
            x = w.load(w.point_to(self.vector, loop.index, type), type, mask)
            at = w.point_to(base, loop.index, type)
            nexts = []
            for step, old in zip(steps, loop.carried):
                y = w.load(w.point_to(at, step, type), type, mask)
                nexts.append(w.fma(x, y, Value(w, old, type)).ref)
            w.end(loop, nexts)
            carried = [(register, ref) for ref in loop.carried]
        return self.across([Value(w, ref, type) for _, ref in carried], 1)

    def joined(self, parts: list[Value]) -> Value:
        """Lane i of the result is the sum of row i."""
        return self.across(parts, self.w.lanes // len(parts))

    def across(self, sums: list[Value], bit: int) -> Value:
        """Adds up lanes: first those that differ in `bit`, then in the next one, …

        Values 2n and 2n + 1 become one; the lanes of the latter have `bit` set.
        """
        w = self.w
        lanes = range(w.lanes)
        while len(sums) > 1:
            stay = [lane + w.lanes * bool(lane & bit) for lane in lanes]
            swap = [(lane ^ bit) + w.lanes * bool(lane & bit) for lane in lanes]
            sums = [
                w.add(self.mixed(a, b, stay), self.mixed(a, b, swap))
                for a, b in zip(sums[::2], sums[1::2])
            ]
            bit *= 2
        return sums[0]

    def mixed(self, a: Value, b: Value, order: list[int]) -> Value:
        w, register = self.w, self.w.register(self.type)
        lanes = ", ".join([f"i32 {lane}" for lane in order])
        return w.emit(
            self.type,
            f"shufflevector {register} {a.ref}, {register} {b.ref},"
            f" <{w.lanes} x i32> <{lanes}>",
        )


@functools.cache
def _columns_text(type: str, lanes: int, strip: int) -> str:
    w = Writer(lanes)
    columns = _Columns(w, type, strip)
    width = strip * lanes
    complete = w.i("sdiv", columns.free, str(width))
    task = w.begin("%lo", w.smaller_index("%hi", complete), 1)
    columns.group(w.i("mul", task.index, str(width)), False)
    w.end(task)
    with w.when(w.less(complete, "%hi")):
        columns.group(w.i("mul", complete, str(width)), True)
    return module([(f"matvec_columns_{strip}_{type}", w)])


class _Columns:
    """Sums of elements of the vector times lines of the matrix."""

    def __init__(self, w: Writer, type: str, strip: int) -> None:
        self.w = w
        self.type = type
        self.strip = strip
        self.sums = SUMS // strip
        self.matrix, self.vector, self.result = (w.word("ptr") for _ in range(3))
        self.free, self.depth, self.far, self.step = (w.word() for _ in range(4))

    def group(self, first: str, masked: bool) -> None:
        """The results from number `first` on; `masked` if some are none."""
        w, type, strip = self.w, self.type, self.strip
        places = [w.i("add", first, str(n * w.lanes)) for n in range(strip)]
        masks: list[Value | None] = [None] * strip
        if masked:
            left = [w.larger_index(w.i("sub", self.free, at), "0") for at in places]
            masks = [w.mask(count) for count in left]
        register = w.register(type)
        zero = w.constant(0, type).ref
        whole = w.i("and", self.depth, str(-self.sums))
        loop = w.begin("0", whole, self.sums, [(register, zero)] * SUMS)
        nexts = []
        for number in range(self.sums):
            row = w.i("add", loop.index, str(number))
            olds = loop.carried[number * strip : (number + 1) * strip]
            nexts += self.line(row, places, masks, olds)
        w.end(loop, nexts)
        rest = w.begin(
            whole, self.depth, 1, [(register, ref) for ref in loop.carried[:strip]]
        )
        w.end(rest, self.line(rest.index, places, masks, rest.carried))
        for number, (at, mask) in enumerate(zip(places, masks)):
            sums = [rest.carried[number], *loop.carried[strip + number :: strip]]
            totals = [Value(w, ref, type) for ref in sums]
            while len(totals) > 1:
                totals = [w.add(a, b) for a, b in zip(totals[::2], totals[1::2])]
            w.store(totals[0], w.point_to(self.result, at, type), mask)

    def line(
        self,
        row: str,
        places: list[str],
        masks: Sequence[Value | None],
        olds: Sequence[str],
    ) -> list[str]:
        """One element of the vector times a strip of the matrix, added to sums."""
        w, type = self.w, self.type
        at = w.point_to(self.vector, w.i("mul", row, self.step), type)
        x = w.load_scalar_broadcast(at, type)
        line = w.point_to(self.matrix, w.i("mul", row, self.far), type)
        sums = []
        for place, mask, old in zip(places, masks, olds):
            y = w.load(w.point_to(line, place, type), type, mask)
            sums.append(w.fma(x, y, Value(w, old, type)).ref)
        return sums
