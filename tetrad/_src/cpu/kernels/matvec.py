"""Products of a matrix and a vector, of sizes where a call of BLAS costs more than it does.

In: a matrix that is contiguous along one axis, and a vector. A task gives a group of
results. Along rows (the summed axis is contiguous) a group is as many rows as a vector
has lanes, each with an accumulator of its own; at the end the accumulators are added up
across their lanes, all at once. Along columns a group is `STRIP` vectors of results. The
order of sums follows from the extents alone.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from tetrad._src.cpu import schedule
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Out
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.scalar import SIZE, Value

TYPES = ("f32", "f64")
LARGEST = 512 << 10  # bytes of the matrix
SMALLEST = 8  # of either extent
STRIP = 4  # vectors of results
SUMS = 2  # accumulators of each of them
WORK = 1 << 15  # elements of one chunk
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
    rows = _along_rows(product)
    name = f"matvec_{'rows' if rows else 'columns'}_{type}"
    group = lanes if rows else STRIP * lanes
    far = product.free_stride if rows else product.depth_stride
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
    text = _rows_text(type, lanes) if rows else _columns_text(type, lanes)
    return KernelCall(text, (name,), (launch,), (), work)


@functools.cache
def _rows_text(type: str, lanes: int) -> str:
    w = Writer(lanes)
    matrix, vector, result = w.word("ptr"), w.word("ptr"), w.word("ptr")
    free, depth, far = w.word(), w.word(), w.word()
    last_row = w.i("sub", free, "1")
    whole = w.i("and", depth, str(-lanes))
    task = w.begin("%lo", "%hi", 1)
    first = w.i("mul", task.index, str(lanes))
    rows = []
    for lane in range(lanes):
        row = w.smaller_index(w.i("add", first, str(lane)), last_row)
        rows.append(w.point_to(matrix, w.i("mul", row, far), type))
    register = w.register(type)
    zero = w.constant(0, type).ref
    loop = w.begin("0", whole, lanes, [(register, zero)] * lanes)
    x = w.load(w.point_to(vector, loop.index, type), type)
    nexts = []
    for row, old in zip(rows, loop.carried):
        y = w.load(w.point_to(row, loop.index, type), type)
        nexts.append(w.fma(x, y, Value(w, old, type)).ref)
    w.end(loop, nexts)
    tail = w.begin(whole, depth, lanes, [(register, ref) for ref in loop.carried])
    mask = w.mask(w.i("sub", depth, tail.index))
    x = w.load(w.point_to(vector, tail.index, type), type, mask)
    nexts = []
    for row, old in zip(rows, tail.carried):
        y = w.load(w.point_to(row, tail.index, type), type, mask)
        nexts.append(w.fma(x, y, Value(w, old, type)).ref)
    w.end(tail, nexts)
    sums = [Value(w, ref, type) for ref in tail.carried]
    total = _across(w, sums, type)
    mask = w.mask(w.i("sub", free, first))
    w.store(total, w.point_to(result, first, type), mask)
    w.end(task)
    return module([(f"matvec_rows_{type}", w)])


def _across(w: Writer, sums: list[Value], type: str) -> Value:
    """Lane i of the result is the sum over the lanes of value i."""
    register = w.register(type)
    bit = 1
    while len(sums) > 1:
        low, high = [], []
        for lane in range(w.lanes):
            if lane & bit:
                low.append(w.lanes + lane - bit)
                high.append(w.lanes + lane)
            else:
                low.append(lane)
                high.append(lane + bit)
        merged = []
        for a, b in zip(sums[::2], sums[1::2]):
            parts = []
            for order in (low, high):
                lanes = ", ".join(f"i32 {lane}" for lane in order)
                parts.append(
                    w.emit(
                        type,
                        f"shufflevector {register} {a.ref}, {register} {b.ref},"
                        f" <{w.lanes} x i32> <{lanes}>",
                    )
                )
            merged.append(w.add(parts[0], parts[1]))
        sums = merged
        bit *= 2
    return sums[0]


@functools.cache
def _columns_text(type: str, lanes: int) -> str:
    w = Writer(lanes)
    matrix, vector, result = w.word("ptr"), w.word("ptr"), w.word("ptr")
    free, depth, far, step = w.word(), w.word(), w.word(), w.word()
    pairs = w.i("and", depth, str(-SUMS))
    task = w.begin("%lo", "%hi", 1)
    first = w.i("mul", task.index, str(STRIP * lanes))
    columns, masks = [], []
    for number in range(STRIP):
        at = w.i("add", first, str(number * lanes))
        columns.append(at)
        masks.append(w.mask(w.larger_index(w.i("sub", free, at), "0")))
    register = w.register(type)
    zero = w.constant(0, type).ref
    start = [(register, zero)] * (STRIP * SUMS)
    loop = w.begin("0", pairs, SUMS, start)
    nexts = []
    for number in range(SUMS):
        row = w.i("add", loop.index, str(number))
        olds = loop.carried[number * STRIP : (number + 1) * STRIP]
        nexts += _columns_step(
            w, type, (matrix, vector), row, (far, step), columns, masks, olds
        )
    w.end(loop, nexts)
    rest = w.begin(pairs, depth, 1, [(register, ref) for ref in loop.carried[:STRIP]])
    nexts = _columns_step(
        w, type, (matrix, vector), rest.index, (far, step), columns, masks, rest.carried
    )
    w.end(rest, nexts)
    for number, (at, mask) in enumerate(zip(columns, masks)):
        total = Value(w, rest.carried[number], type)
        for other in range(1, SUMS):
            total = w.add(total, Value(w, loop.carried[other * STRIP + number], type))
        w.store(total, w.point_to(result, at, type), mask)
    w.end(task)
    return module([(f"matvec_columns_{type}", w)])


def _columns_step(
    w: Writer,
    type: str,
    pointers: tuple[str, str],
    row: str,
    strides: tuple[str, str],
    columns: list[str],
    masks: list[Value],
    olds: list[str],
) -> list[str]:
    """One element of the vector times a strip of the matrix, added to sums."""
    matrix, vector = pointers
    far, step = strides
    at = w.point_to(vector, w.i("mul", row, step), type)
    x = w.load_scalar_broadcast(at, type)
    line = w.point_to(matrix, w.i("mul", row, far), type)
    sums = []
    for column, mask, old in zip(columns, masks, olds):
        y = w.load(w.point_to(line, column, type), type, mask)
        sums.append(w.fma(x, y, Value(w, old, type)).ref)
    return sums
