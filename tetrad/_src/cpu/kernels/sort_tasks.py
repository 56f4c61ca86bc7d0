"""The functions that a sort launches: whole rows, or the stages of long rows.

What comes in: element types and how many of them are keys. What goes out: the text of
one module. Each function reads the same words:

    n, chunk, scratch, stride, offset, bounds, blocks, parts, inputs…, results…

Many rows are sorted by `sort_rows`, each by one thread, which works in a part of
`scratch` of its own: codes or records, and `offset` bytes later the memory that the
sort needs. Few long rows go through stages: `encode_blocks` (a task is a block of a
row), `split` (once with 1 part a row, then 2, 4; the bounds of parts are kept in
`bounds`), `sort_parts`, `finish_blocks`, and `mend` (a task is a row).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from tetrad._src.cpu.kernels import transpose
from tetrad._src.cpu.kernels.sort_radix import SLACK
from tetrad._src.cpu.kernels.sort_text import (
    REPAIRED,
    Function,
    Texts,
    plain_code,
    words_of,
    write_plain,
    write_records,
)
from tetrad._src.cpu.registers import COMPLEX, SIZE

BLOCK = 16384  # elements that a task encodes or takes
PARTS = 8  # of a long row
BOUND_WORDS = PARTS + 1  # of a row in `bounds`


class Call:
    """The words of a launch, and the calls that a row consists of."""

    def __init__(self, types: tuple[str, ...], keys: int) -> None:
        self.types = types
        self.keys = keys
        self.plain = is_plain(types)
        self.type = plain_code(types[0]) if self.plain else "i64"
        self.kind = self.type if self.plain else "records"
        w = self.w = Function(1)
        self.n, self.chunk = w.word(), w.word()
        self.scratch = w.word("ptr")
        self.stride, self.offset = w.word(), w.word()
        self.bounds = w.word("ptr")
        self.blocks, self.parts = w.word(), w.word()
        self.ins = [w.word("ptr") for _ in types]
        self.outs = [w.word("ptr") for _ in types]

    def memory(self, number: str) -> tuple[str, str]:
        """Codes, and scratch memory, of one row."""
        w = self.w
        start = w.i("mul", number, self.stride)
        codes = w.point_to(self.scratch, start, "u8")
        return codes, w.point_to(codes, self.offset, "u8")

    def row(self, number: str) -> tuple[list[str], list[str]]:
        """The rows of inputs and results."""
        w = self.w
        start = w.i("mul", number, self.n)
        return (
            [w.point_to(x, start, t) for x, t in zip(self.ins, self.types)],
            [w.point_to(x, start, t) for x, t in zip(self.outs, self.types)],
        )

    def encode(self, ins: list[str], codes: str, low: str, high: str) -> None:
        self.w.line(
            f"call void @encode(ptr {ins[0]}, ptr {codes}, i64 {low}, i64 {high})"
        )

    def sort(self, ins: list[str], codes: str, length: str, scratch: str) -> None:
        """The sort of codes from a pointer on, and of ties."""
        w = self.w
        call = f"ptr {codes}, i64 {length}, ptr {scratch})"
        w.line(f"call void @tetrad_sort_{self.kind}({call}")
        if not self.plain and len(words_of(self.types[: self.keys])) > 1:
            rows = ", ".join([f"ptr {x}" for x in ins[: self.keys]])
            w.line(f"call void @ties1({rows}, {call}")

    def finish(
        self, ins: list[str], codes: str, outs: list[str], low: str, high: str
    ) -> None:
        w = self.w
        span = f"i64 {low}, i64 {high}"
        if self.plain:
            w.line(f"call void @decode(ptr {codes}, ptr {outs[0]}, {span})")
            return
        for position, (x, y) in enumerate(zip(ins, outs)):
            w.line(f"call void @take{position}(ptr {x}, ptr {codes}, ptr {y}, {span})")

    def mend(self, ins: list[str], codes: str, outs: list[str]) -> None:
        if self.plain and self.types[0] in REPAIRED:
            rows = f"ptr {ins[0]}, ptr {codes}, ptr {outs[0]}"
            self.w.line(f"call void @mend_row({rows}, i64 {self.n})")


def is_plain(types: tuple[str, ...]) -> bool:
    """Whether elements are sorted as codes, without records."""
    return len(types) == 1 and types[0] not in COMPLEX


def is_narrow(types: tuple[str, ...]) -> bool:
    """Whether what is sorted has 32 bits, not 64."""
    return is_plain(types) and SIZE[types[0]] < 8


def _sort_rows(call: Call) -> None:
    w = call.w
    codes, scratch = call.memory(w.i("udiv", "%lo", call.chunk))
    loop = w.begin("%lo", "%hi", 1)
    ins, outs = call.row(loop.index)
    call.encode(ins, codes, "0", call.n)
    call.sort(ins, codes, call.n, scratch)
    call.finish(ins, codes, outs, "0", call.n)
    call.mend(ins, codes, outs)
    w.end(loop)


def _block(call: Call, task: str) -> tuple[str, str, str]:
    """Row, and first and last element, of a block."""
    w = call.w
    row = w.i("udiv", task, call.blocks)
    number = w.i("sub", task, w.i("mul", row, call.blocks))
    low = w.i("mul", number, BLOCK)
    return row, low, w.smaller_index(w.i("add", low, BLOCK), call.n)


def _encode_blocks(call: Call) -> None:
    w = call.w
    loop = w.begin("%lo", "%hi", 1)
    row, low, high = _block(call, loop.index)
    codes, _ = call.memory(row)
    ins, _ = call.row(row)
    call.encode(ins, codes, low, high)
    w.end(loop)


def _finish_blocks(call: Call) -> None:
    w = call.w
    loop = w.begin("%lo", "%hi", 1)
    row, low, high = _block(call, loop.index)
    codes, _ = call.memory(row)
    call.finish(call.row(row)[0], codes, call.row(row)[1], low, high)
    w.end(loop)


class _Part:
    """A part of a row: where it begins and ends, and its memory."""

    def __init__(self, call: Call, task: str) -> None:
        w = call.w
        self.row = w.i("udiv", task, call.parts)
        number = w.i("sub", task, w.i("mul", self.row, call.parts))
        step = w.i("udiv", str(PARTS), call.parts)
        at = w.i("mul", number, step)
        bounds = w.point_to(call.bounds, w.i("mul", self.row, BOUND_WORDS), "i64")
        low = w.point_to(bounds, at, "i64")
        high = w.point_to(low, step, "i64")
        self.middle = w.point_to(low, w.i("lshr", step, 1), "i64")
        first = w.raw(f"load i64, ptr {low}")
        last = w.raw(f"load i64, ptr {high}")
        is_first = w.raw(f"icmp eq i64 {number}, 0")
        is_last = w.raw(f"icmp eq i64 {w.i('add', number, 1)}, {call.parts}")
        self.first = w.raw(f"select i1 {is_first}, i64 0, i64 {first}")
        self.last = w.raw(f"select i1 {is_last}, i64 {call.n}, i64 {last}")
        self.length = w.i("sub", self.last, self.first)
        codes, scratch = call.memory(self.row)
        self.codes = w.point_to(codes, self.first, call.type)
        # Each part may write a little beyond what it needs.
        beyond = w.i("add", self.first, w.i("mul", at, SLACK))
        self.scratch = w.point_to(scratch, beyond, call.type)


def _split(call: Call) -> None:
    w = call.w
    loop = w.begin("%lo", "%hi", 1)
    part = _Part(call, loop.index)
    count = w.raw(
        f"call i64 @tetrad_split_{call.kind}"
        f"(ptr {part.codes}, i64 {part.length}, ptr {part.scratch})"
    )
    w.line(f"store i64 {w.i('add', part.first, count)}, ptr {part.middle}")
    w.end(loop)


def _sort_parts(call: Call) -> None:
    w = call.w
    loop = w.begin("%lo", "%hi", 1)
    part = _Part(call, loop.index)
    ins, _ = call.row(part.row)
    call.sort(ins, part.codes, part.length, part.scratch)
    w.end(loop)


def _mend(call: Call) -> None:
    w = call.w
    loop = w.begin("%lo", "%hi", 1)
    ins, outs = call.row(loop.index)
    call.mend(ins, call.memory(loop.index)[0], outs)
    w.end(loop)


TASKS: dict[str, Callable[[Call], None]] = {
    "sort_rows": _sort_rows,
    "encode_blocks": _encode_blocks,
    "split": _split,
    "sort_parts": _sort_parts,
    "finish_blocks": _finish_blocks,
    "mend": _mend,
}


@functools.cache
def text(types: tuple[str, ...], keys: int, symbols: tuple[str, ...], bits: int) -> str:
    """A module with some of the tasks for operands of these types, and functions
    that transpose, for vectors of so many bits."""
    texts = Texts()
    if is_plain(types):
        write_plain(texts, types[0])
    else:
        write_records(texts, types, keys)
    for name in symbols:
        if name in TASKS:
            call = Call(types, keys)
            TASKS[name](call)
            texts.launch(call.w, name)
        else:
            size = int(name.removeprefix("transpose"))
            texts.launch(transpose.write(size), name)
    texts.declarations.add(f"declare void @tetrad_sort_{call.kind}(ptr, i64, ptr)")
    texts.declarations.add(f"declare i64 @tetrad_split_{call.kind}(ptr, i64, ptr)")
    return texts.text()
