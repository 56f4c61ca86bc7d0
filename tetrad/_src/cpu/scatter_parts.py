"""Scatters whose updates are split among threads.

In: how a scatter combines elements (`op.combine`), and what changes nothing (`op.initial`).
Out: texts of two kernels around that of the scatter. Each part of the updates goes to an
array of its own, which `fill` has set; `merge` combines the target with these arrays, one
after the other. How many parts there are follows from the extents alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tetrad._src.cpu import schedule
from tetrad._src.cpu.launch import SCRATCH, VALUE, Launch
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.scalar import SIZE, Value
from tetrad._src.passes.ir import Scatter

Code = tuple[str, str, tuple[str, ...]]  # text, symbol, all symbols


def around(
    launch: Launch, scatter: Scatter, avals: Sequence[Any]
) -> tuple[list[Launch], list[int]]:
    """The launches of a scatter that is split, and the bytes of its arrays."""
    aval = avals[scatter.value]
    type = element_type(aval.dtype)
    parts = launch.total
    launch.fixes = [
        (at, SCRATCH, 0, 0) if (what, number) == (VALUE, scatter.value) else fix
        for fix in launch.fixes
        for at, what, number, _ in (fix,)
    ]
    before, after = Launch(), Launch()
    before.loops = fill(scatter.op, type)
    before.pointer(SCRATCH, 0, 0)
    before.total, before.chunk = parts * aval.size, schedule.CHUNK
    after.loops = merge(scatter.op, type)
    after.pointer(VALUE, scatter.value, 0)
    after.pointer(SCRATCH, 0, 0)
    after.words.extend((aval.size, parts))
    after.total, after.chunk = aval.size, max(1, schedule.CHUNK // parts)
    for extra in (before, after):
        extra.work = schedule.nanoseconds(1.0, 1) * parts * aval.size
    return [before, launch, after], [parts * aval.nbytes]


def _writer(type: str) -> Writer:
    return Writer(schedule.lanes(SIZE[type] >= 8))


@functools.lru_cache(maxsize=256)
def fill(op: Any, type: str) -> Code:
    """Sets elements lo to hi of an array. Words: the array."""
    w = _writer(type)
    pointer = w.word("ptr")
    loop = w.begin("%lo", "%hi", w.lanes)
    mask = w.mask(w.i("sub", "%hi", loop.index))
    at = w.point_to(pointer, loop.index, type)
    w.store(op.initial(w, type), at, mask)
    w.end(loop)
    name = f"scatter_fill_{type}"
    return module([(name, w)]), name, (name,)


@functools.lru_cache(maxsize=256)
def merge(op: Any, type: str) -> Code:
    """Combines elements lo to hi. Words: target, parts, elements and number of parts."""
    w = _writer(type)
    target, parts = w.word("ptr"), w.word("ptr")
    size, count = w.word(), w.word()
    loop = w.begin("%lo", "%hi", w.lanes)
    mask = w.mask(w.i("sub", "%hi", loop.index))
    place = w.point_to(target, loop.index, type)
    total = w.load(place, type, mask)
    types = [w.register(type)] * len(total.parts)
    inner = w.begin("0", count, 1, list(zip(types, total.parts)))
    old = Value(w, inner.carried[0], type, *inner.carried[1:])
    index = w.i("add", w.i("mul", inner.index, size), loop.index)
    new = w.load(w.point_to(parts, index, type), type, mask)
    w.end(inner, op.combine(w, old, new).parts)
    w.store(old, place, mask)
    w.end(loop)
    name = f"scatter_merge_{type}"
    return module([(name, w)]), name, (name,)
