"""Sorting rows of several operands together: stable, by the first `num_keys` of them.

In: operands whose sorted axis is last (`order` asks for that) and dense; out: the
launches. Read here how a sort is cut into tasks, in `sort_tasks` what a task does, in
`sort_text` how elements become integers that sort the same way, and in `sort_radix` and
`sort_vector` how integers are sorted.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.cpu import engine
from tetrad._src.cpu.kernels import sort_radix, sort_tasks, sort_vector, transpose
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Operand, Out, Tmp
from tetrad._src.cpu.kernels.transpose import Word
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.registers import FLOATS, SIZE

LONG = 1 << 15  # rows from here on may be sorted by several threads
FEW = 8  # unless there are so many
CHUNK = 16384  # elements that are sorted by one thread before it looks for more
CHUNKS = 64  # at most, as each has scratch memory of its own


def last(ndim: int, axis: int) -> tuple[int, ...]:
    """All axes, `axis` last."""
    return (*[d for d in range(ndim) if d != axis], axis)


def is_dense(aval: Aval, strides: tuple[int, ...], order: tuple[int, ...]) -> bool:
    """Whether the axes are dense in an order."""
    if 0 in aval.shape:
        return True
    expected = 1
    for d in reversed(order):
        if aval.shape[d] != 1 and strides[d] != expected:
            return False
        expected *= aval.shape[d]
    return True


def order(parameters: Any, position: int, aval: Aval) -> tuple[int, ...]:
    """The sorted axis last."""
    return last(aval.ndim, parameters["dimension"])


def takes(parameters: Any, position: int, aval: Aval, strides: tuple[int, ...]) -> bool:
    """Reads operands that are dense in that order."""
    return is_dense(aval, strides, order(parameters, position, aval))


@functools.cache
def define_core(vectors: int, bits: int) -> None:
    """Makes the functions known that sort integers of so many bits."""
    text = (sort_vector if vectors == 512 else sort_radix).module_text(bits)
    names = sort_radix.names(bits)
    code = engine.assemble(text, names).pin()
    for name in names:
        engine.define_symbol(name, code[name])


def check_extent(n: int, what: str) -> None:
    """Records number the elements of a row with 32 bits."""
    if n >> 32:
        raise NotImplementedError(
            f"{what} along an axis of {n} elements: the CPU sorts rows of fewer than"
            " 2**32 elements; sort pieces and merge them with searchsorted"
        )


def rows_of_chunk(rows: int, n: int) -> int:
    """Rows that one thread sorts before it looks for more."""
    return max(1, CHUNK // max(n, 1), -(-rows // CHUNKS))


def build(parameters: Any, operands: list[Operand], results: list[Aval]) -> KernelCall:
    """The kernel `sort`."""
    axis, keys = parameters["dimension"], parameters["num_keys"]
    shape = operands[0].aval.shape
    n = shape[axis]
    check_extent(n, "a sort")
    types = tuple([element_type(x.aval.dtype) for x in operands])
    bits = engine.vector_bits()
    define_core(bits, 32 if sort_tasks.is_narrow(types) else 64)
    inner = math.prod(shape[axis + 1 :])
    turned = inner > 1 and n > 1
    sort = _Sort(types, math.prod(shape), n, turned)
    if turned:
        sort.turn_back(math.prod(shape[:axis]), inner)
    symbols = tuple(sorted({launch.symbol for launch in sort.launches}))
    text = sort_tasks.text(types, keys, symbols, bits)
    return KernelCall(
        text, symbols, sort.launches, sort.temporaries, sort.nanoseconds()
    )


class _Sort:
    """How one sort is cut into launches."""

    def __init__(self, types: tuple[str, ...], size: int, n: int, turned: bool) -> None:
        self.types = types
        self.n = n
        self.size = size
        self.rows = size // n if n else 0
        self.launches: list[Launch] = []
        self.temporaries: list[int] = []
        count = len(types)
        self.ins: list[Word] = [In(number) for number in range(count)]
        self.outs: list[Word] = [Out(number) for number in range(count)]
        if turned:
            self.outs = [self.temporary(size * SIZE[type]) for type in types]
        self.width = 4 if sort_tasks.is_narrow(types) else 8
        if self.rows < FEW and n >= LONG:
            self.cut_long_rows()
        else:
            self.cut_rows()

    def temporary(self, nbytes: int) -> Tmp:
        self.temporaries.append(nbytes)
        return Tmp(len(self.temporaries) - 1)

    def cut_rows(self) -> None:
        """One thread sorts a whole row."""
        chunk = rows_of_chunk(self.rows, self.n)
        offset = self.bytes(self.n)
        stride = 2 * offset
        scratch = self.temporary(stride * -(-self.rows // chunk))
        words = self.words(chunk, scratch, stride, offset, 0, 0, 0)
        self.launches.append(Launch("sort_rows", words, self.rows, chunk))

    def cut_long_rows(self) -> None:
        """Several threads sort a row."""
        offset = self.bytes(self.n)
        stride = offset + self.bytes(self.n + sort_tasks.PARTS * sort_radix.SLACK)
        scratch = self.temporary(stride * self.rows)
        bounds = self.temporary(8 * self.rows * sort_tasks.BOUND_WORDS)
        blocks = -(-self.n // sort_tasks.BLOCK)

        def add(symbol: str, tasks: int, parts: int) -> None:
            words = self.words(1, scratch, stride, offset, bounds, blocks, parts)
            self.launches.append(Launch(symbol, words, self.rows * tasks, 1))

        add("encode_blocks", blocks, 0)
        parts = 1
        if engine.vector_bits() == 512:
            while parts < sort_tasks.PARTS:
                add("split", parts, parts)
                parts *= 2
        add("sort_parts", parts, parts)
        add("finish_blocks", blocks, 0)
        if sort_tasks.is_plain(self.types) and self.types[0] in FLOATS:
            add("mend", 1, 0)

    def bytes(self, elements: int) -> int:
        """Of a piece of memory for the sort, with room behind it."""
        return (elements + sort_radix.SLACK) * self.width + 127 & -128

    def words(self, *common: Word) -> tuple[Word, ...]:
        return (self.n, *common, *self.ins, *self.outs)

    def turn_back(self, outer: int, inner: int) -> None:
        """Moves the sorted axis to where it was."""
        for number, type in enumerate(self.types):
            source, target = self.outs[number], Out(number)
            self.launches.append(
                transpose.launch(SIZE[type], source, target, outer, inner, self.n)
            )

    def nanoseconds(self) -> float:
        """The estimated time on one thread."""
        steps = max(self.n, 2).bit_length() + 2
        return self.size * (0.4 * steps + 2.0 * len(self.types)) + 300.0
