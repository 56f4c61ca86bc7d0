"""Running folds along an axis: sums, products, extremes, log-sums of exponentials.

In: an array; out: the launches. An axis with many elements behind it is folded in
columns; otherwise the operand is wanted with that axis last, and rows are folded, long
ones in blocks. Read here how a fold is cut into tasks, in `cumulative_text` what a task
does.
"""

from __future__ import annotations

import math
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.cpu import engine
from tetrad._src.cpu.kernels import cumulative_text, transpose
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Operand, Out, Tmp
from tetrad._src.cpu.kernels.cumulative_text import BLOCK, STRIP
from tetrad._src.cpu.kernels.sort import is_dense, last
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.registers import SIZE

NARROW = 8  # with fewer elements behind the axis, rows are better than columns
FEW = 8  # rows of which each is worth cutting
CHUNK = 32768  # elements

NANOSECONDS = {"add": 0.4, "mul": 0.4, "max": 0.3, "min": 0.3, "logaddexp": 6.0}


def _inner(parameters: Any, shape: tuple[int, ...]) -> int:
    return math.prod(shape[parameters["axis"] + 1 :])


def _by_rows(parameters: Any, shape: tuple[int, ...]) -> bool:
    return _inner(parameters, shape) < NARROW


def order(parameters: Any, position: int, aval: Aval) -> tuple[int, ...]:
    """The folded axis last if rows are folded."""
    if _by_rows(parameters, aval.shape):
        return last(aval.ndim, parameters["axis"])
    return tuple(range(aval.ndim))


def takes(parameters: Any, position: int, aval: Aval, strides: tuple[int, ...]) -> bool:
    """Reads operands that are dense in that order."""
    return is_dense(aval, strides, order(parameters, position, aval))


def build(parameters: Any, operands: list[Operand], results: list[Aval]) -> KernelCall:
    """The kernel `cumulative`."""
    fold, axis = parameters["fold"], parameters["axis"]
    aval = operands[0].aval
    type = element_type(aval.dtype)
    n = aval.shape[axis]
    inner = _inner(parameters, aval.shape)
    outer = math.prod(aval.shape[:axis])
    work = aval.size * NANOSECONDS[fold] * max(SIZE[type], 4) / 4 + 200.0
    temporaries: list[int] = []
    if _by_rows(parameters, aval.shape):
        target: transpose.Word = Out(0)
        if inner > 1:
            temporaries.append(aval.size * SIZE[type])
            target = Tmp(0)
        launches = _rows(target, outer * inner, n, temporaries)
        if inner > 1:
            size = SIZE[type]
            launches.append(transpose.launch(size, target, Out(0), outer, inner, n))
    else:
        launches = [_columns(outer, n, inner)]
    symbols = tuple([launch.symbol for launch in launches])
    text = cumulative_text.text(
        fold, type, parameters["reverse"], symbols, engine.vector_bits()
    )
    return KernelCall(text, symbols, launches, temporaries, work)


def _columns(outer: int, n: int, inner: int) -> Launch:
    strips = -(-inner // STRIP)
    chunk = max(1, CHUNK // max(n * min(STRIP, inner), 1))
    words = (In(0), Out(0), n, inner, strips)
    return Launch("columns", words, outer * strips if n else 0, chunk)


def _rows(
    target: transpose.Word, rows: int, n: int, temporaries: list[int]
) -> list[Launch]:
    if rows >= FEW or n < 4 * BLOCK:
        chunk = max(1, CHUNK // max(n, 1))
        return [Launch("rows", (In(0), target, 0, n, 1), rows if n else 0, chunk)]
    blocks = -(-n // BLOCK)
    temporaries.append(rows * blocks * 32)  # two complex numbers at most
    states = Tmp(len(temporaries) - 1)
    words = (In(0), target, states, n, blocks)
    return [
        Launch("totals", words, rows * blocks, 1),
        Launch("starts", words, rows, 1),
        Launch("blocks", words, rows * blocks, 1),
    ]
