"""Row exchanges as a permutation: the pivots of LU, problem by problem."""

from __future__ import annotations

import functools
import math
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Operand, Out
from tetrad._src.cpu.llvm import Writer, module


@functools.cache
def _text() -> str:
    """Words: pivots of a problem, rows, the pivots, the permutations."""
    w = Writer(1)
    count, rows = w.word(), w.word()
    pivots, places = w.word("ptr"), w.word("ptr")
    problem = w.begin("%lo", "%hi", 1)
    mine = w.point_to(places, w.i("mul", problem.index, rows), "i32")
    taken = w.point_to(pivots, w.i("mul", problem.index, count), "i32")
    row = w.begin("0", rows, 1)
    number = w.raw(f"trunc i64 {row.index} to i32")
    w.line(f"store i32 {number}, ptr {w.point_to(mine, row.index, 'i32')}")
    w.end(row)
    turn = w.begin("0", count, 1)
    pivot = w.raw(f"load i32, ptr {w.point_to(taken, turn.index, 'i32')}")
    wide = w.raw(f"sext i32 {pivot} to i64")
    # A pivot that does not exist exchanges nothing.
    inside = w.raw(f"icmp ult i64 {wide}, {rows}")
    other = w.raw(f"select i1 {inside}, i64 {wide}, i64 {turn.index}")
    first = w.point_to(mine, turn.index, "i32")
    second = w.point_to(mine, other, "i32")
    x, y = w.raw(f"load i32, ptr {first}"), w.raw(f"load i32, ptr {second}")
    w.line(f"store i32 {y}, ptr {first}")
    w.line(f"store i32 {x}, ptr {second}")
    w.end(turn)
    w.end(problem)
    return module([("exchanges", w)])


def build(parameters: Any, operands: list[Operand], results: list[Aval]) -> KernelCall:
    """The kernel `exchanges`."""
    *batch, count = operands[0].aval.shape
    rows = parameters["permutation_size"]
    problems = math.prod(batch)
    words = (count, rows, In(0), Out(0))
    chunk = max(1, 16384 // max(count + rows, 1))
    launch = Launch("exchanges", words, problems, chunk)
    work = problems * 1.5 * (count + rows) + 300.0
    return KernelCall(_text(), ("exchanges",), [launch], (), work)
