"""What a kernel made by hand is: its operands, its words, its launches.

A kernel is found by the name that an
operation's `kernel` rule gives. Its builder gets the parameters, the operands as they
lie in memory, and the avals of the results, and returns a `KernelCall`: text, launches
and scratch memory. It says through `takes` which strides it can read; other operands are
made dense first.

A function has the signature of every launch, `void f(ptr %args, i64 %lo, i64 %hi)`, and
reads the words of its launch from `%args`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval

GRAIN = 20_000  # nanoseconds that a chunk of heavy tasks should last


class Operand(NamedTuple):
    """An operand in memory: element `i` lies at offset + Σ strides·i elements."""

    aval: Aval
    strides: tuple[int, ...]
    offset: int


class In(NamedTuple):
    """A word: the address of operand `number`, plus bytes. The offset is included."""

    number: int
    bytes: int = 0


class Out(NamedTuple):
    """A word: the address of result `number`, plus bytes."""

    number: int
    bytes: int = 0


class Tmp(NamedTuple):
    """A word: the address of scratch block `number`, plus bytes."""

    number: int
    bytes: int = 0


class Launch(NamedTuple):
    """A call of `symbol` over `total` tasks, `chunk` at a time."""

    symbol: str
    words: Sequence[int | In | Out | Tmp]
    total: int = 1
    chunk: int = 1


class KernelCall(NamedTuple):
    """What a builder returns. `text` defines `symbols` (it may be shared by many calls:
    it is assembled once); `temporaries` are bytes; `work` is in nanoseconds."""

    text: str
    symbols: Sequence[str]
    launches: Sequence[Launch]
    temporaries: Sequence[int] = ()
    work: float = 1000.0


def _dense(
    parameters: Any, position: int, aval: Aval, strides: tuple[int, ...]
) -> bool:
    """Takes operands that lie densely in row-major order."""
    return all(s == d or n == 1 for s, d, n in zip(strides, aval.strides, aval.shape))


def _as_it_is(parameters: Any, position: int, aval: Aval) -> tuple[int, ...]:
    """Wants the axes in their own order."""
    return tuple(range(aval.ndim))


class Kernel(NamedTuple):
    """A kernel made by hand.

    `takes(parameters, position, aval, strides)` says whether an operand is read where
    it lies. If not, it is copied so that its axes are dense in the order that
    `order(parameters, position, aval)` lists; its strides then say so.
    """

    build: Callable[[Any, list[Operand], list[Aval]], KernelCall]
    takes: Callable[[Any, int, Aval, tuple[int, ...]], bool] = _dense
    order: Callable[[Any, int, Aval], tuple[int, ...]] = _as_it_is
