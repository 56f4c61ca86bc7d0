"""The largest elements of rows, in descending order, and their places.

In: an operand whose axis is last and dense; out: the launches. A row becomes records (see
`sort_text`) whose codes descend. While there are many more than wanted, they are split at
a pivot, and only the part in which the last of the wanted ones lies is split further.
What lies before the end of that part is sorted.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.cpu import engine
from tetrad._src.cpu.kernels import sort, sort_radix, transpose
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Operand, Out, Tmp
from tetrad._src.cpu.kernels.sort_text import (
    Function,
    Texts,
    words_of,
    write_numbers,
    write_records,
)
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.registers import SIZE

_FRONT = """
; Moves the first k records, and perhaps some more, to the front; how many there are.
define internal i64 @front(ptr %records, i64 %n, i64 %k, ptr %scratch) nounwind {
entry:
  br label %narrow
narrow:
  %low = phi i64 [ 0, %entry ], [ %low.next, %found ]
  %high = phi i64 [ %n, %entry ], [ %high.next, %found ]
  %open = icmp slt i64 %low, %k
  br i1 %open, label %split, label %all
split:
  %start = getelementptr i64, ptr %records, i64 %low
  %length = sub i64 %high, %low
  %count = call i64 @tetrad_split_records(ptr %start, i64 %length, ptr %scratch)
  %stuck = icmp eq i64 %count, 0
  br i1 %stuck, label %leave, label %found
found:
  %middle = add i64 %low, %count
  %enough = icmp sge i64 %middle, %k
  %low.next = select i1 %enough, i64 %low, i64 %middle
  %high.next = select i1 %enough, i64 %middle, i64 %high
  br label %narrow
all:
  ret i64 %low
leave:
  ret i64 %high
}
"""


def order(parameters: Any, position: int, aval: Aval) -> tuple[int, ...]:
    """The axis last."""
    return sort.last(aval.ndim, parameters["axis"])


def takes(parameters: Any, position: int, aval: Aval, strides: tuple[int, ...]) -> bool:
    """Reads operands that are dense in that order."""
    return sort.is_dense(aval, strides, order(parameters, position, aval))


def _task(type: str) -> Function:
    """Words: n, k, chunk, scratch, stride, offset, source, values, places."""
    w = Function(1)
    n, k, chunk = w.word(), w.word(), w.word()
    memory = w.word("ptr")
    stride, offset = w.word(), w.word()
    source, values, places = w.word("ptr"), w.word("ptr"), w.word("ptr")
    part = w.i("mul", w.i("udiv", "%lo", chunk), stride)
    records = w.point_to(memory, part, "u8")
    scratch = w.point_to(records, offset, "u8")
    loop = w.begin("%lo", "%hi", 1)
    x = w.point_to(source, w.i("mul", loop.index, n), type)
    first = w.i("mul", loop.index, k)
    value, place = w.point_to(values, first, type), w.point_to(places, first, "i32")
    w.line(f"call void @encode(ptr {x}, ptr {records}, i64 0, i64 {n})")
    count = w.raw(f"call i64 @front(ptr {records}, i64 {n}, i64 {k}, ptr {scratch})")
    rest = f"ptr {records}, i64 {count}, ptr {scratch}"
    w.line(f"call void @tetrad_sort_records({rest})")
    if len(words_of((type,))) > 1:
        w.line(f"call void @ties1(ptr {x}, {rest})")
    w.line(f"call void @take0(ptr {x}, ptr {records}, ptr {value}, i64 0, i64 {k})")
    w.line(f"call void @numbers(ptr {records}, ptr {place}, i64 0, i64 {k})")
    w.end(loop)
    return w


@functools.cache
def text(type: str, turned: tuple[int, ...], bits: int) -> str:
    """The module for an element type, with functions that transpose elements of the
    sizes `turned`, for vectors of so many bits."""
    texts = Texts()
    write_records(texts, (type,), 1, down=True)
    write_numbers(texts)
    texts.parts.append(_FRONT)
    texts.launch(_task(type), "top_rows")
    for size in turned:
        texts.launch(transpose.write(size), f"transpose{size}")
    texts.declarations.add("declare void @tetrad_sort_records(ptr, i64, ptr)")
    texts.declarations.add("declare i64 @tetrad_split_records(ptr, i64, ptr)")
    return texts.text()


def build(parameters: Any, operands: list[Operand], results: list[Aval]) -> KernelCall:
    """The kernel `top_k`."""
    k, axis = parameters["k"], parameters["axis"]
    aval = operands[0].aval
    type = element_type(aval.dtype)
    n = aval.shape[axis]
    sort.check_extent(n, "a top_k")
    bits = engine.vector_bits()
    sort.define_core(bits, 64)
    outer, inner = math.prod(aval.shape[:axis]), math.prod(aval.shape[axis + 1 :])
    rows = outer * inner
    chunk = sort.rows_of_chunk(rows, n)
    offset = (n + sort_radix.SLACK) * 8 + 127 & -128
    temporaries = [2 * offset * -(-rows // chunk)]
    targets: list[transpose.Word] = [Out(0), Out(1)]
    sizes = (SIZE[type], 4)
    turned = inner > 1 and k > 1
    if turned:
        temporaries += [rows * k * size for size in sizes]
        targets = [Tmp(1), Tmp(2)]
    words = (n, k, chunk, Tmp(0), 2 * offset, offset, In(0), *targets)
    launches = [Launch("top_rows", words, rows if k else 0, chunk)]
    if turned:
        launches += [
            transpose.launch(size, target, Out(number), outer, inner, k)
            for number, (size, target) in enumerate(zip(sizes, targets))
        ]
    module = text(type, tuple(sorted(set(sizes))) if turned else (), bits)
    symbols = tuple(sorted({launch.symbol for launch in launches}))
    work = rows * (3.0 * n + 20.0 * k) + 300.0
    return KernelCall(module, symbols, launches, temporaries, work)
