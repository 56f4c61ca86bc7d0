"""`tetrad.see.compiles()`: what was compiled, for which line, why, and how long it took.

Two things are shown in the order in which they happened: functions under `jit` that
were traced anew, with the argument that made it necessary, and programs that were
compiled, of eager code and of `jit` alike.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from tetrad._src.api.tracing import on_compile
from tetrad._src.control.signature import name_of
from tetrad._src.runtime import execute
from tetrad._src.util.frames import format_where


class Traced(NamedTuple):
    """A function that was traced, and why."""

    number: int
    after: int  # compilations before it
    function: str
    reason: str

    def __str__(self) -> str:
        return f"{'':11}  traced {self.function}: {self.reason}"


_traced: deque[Traced] = deque(maxlen=4096)
_numbers = itertools.count(1)


def _last() -> int:
    """The number of the last function that was traced."""
    return _traced[-1].number if _traced else 0


def _note(function: Any, reason: str) -> None:
    note = Traced(next(_numbers), execute.compile_count, name_of(function), reason)
    _traced.append(note)


on_compile.append(_note)


class Compile:
    """One compilation."""

    def __init__(self, record: Any) -> None:
        self.number: int = record.number
        self.where: str = format_where(record.where)
        self.equations: int = record.equations
        self.seconds: float = record.seconds
        self.kernels: int = record.kernels
        self.reason: str = record.reason

    def __str__(self) -> str:
        return (
            f"{self.seconds * 1e3:8.1f} ms  {self.equations:5d} operations"
            f"  {self.kernels:3d} new kernels  {self.where}\n{'':11}  because of"
            f" {self.reason}"
        )


class Compiles:
    """A list of compilations; as a context manager, those of a block."""

    def __init__(self) -> None:
        self._start = self._first = 0
        self._end: int | None = None
        self._until: int | None = None

    def __enter__(self) -> Compiles:
        self._start = execute.compile_count
        self._first = _last()
        return self

    def __exit__(self, *exc: object) -> None:
        self._end = execute.compile_count
        self._until = _last()

    def __iter__(self) -> Iterator[Compile]:
        end = execute.compile_count if self._end is None else self._end
        for record in list(execute.compile_log):
            if self._start < record.number <= end:
                yield Compile(record)

    def __len__(self) -> int:
        end = execute.compile_count if self._end is None else self._end
        return end - self._start

    @property
    def traced(self) -> list[Traced]:
        """The functions under `jit` that were traced, and why."""
        until = _last() if self._until is None else self._until
        return [t for t in list(_traced) if self._first < t.number <= until]

    @property
    def kernels(self) -> int:
        """Machine-code kernels that were new; shapes do not make new ones."""
        return sum([c.kernels for c in self])

    @property
    def seconds(self) -> float:
        return sum([c.seconds for c in self])

    def __str__(self) -> str:
        notes = self.traced
        rows = []
        for compiled in self:
            while notes and notes[0].after < compiled.number:
                rows.append(str(notes.pop(0)))
            rows.append(str(compiled))
        rows += map(str, notes)
        total = (
            f"{len(self)} programs, {self.kernels} new kernels,"
            f" {self.seconds * 1e3:.0f} ms"
        )
        return "\n".join([*rows, total])

    __repr__ = __str__


def compiles() -> Compiles:
    """The programs compiled in this process; as a context manager, in a block.

    Eager code and `jit` alike: each row names the user's line that asked, the number
    of operations, the new machine-code kernels, the time, and why it was compiled.
    Functions that `jit` traced stand between them with the reason: the argument that
    changed, from what to what.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> f = jax.jit(lambda x: x + 1)
    >>> with jax.see.compiles() as seen:
    ...     y = f(jnp.ones(3)), f(jnp.ones(4))
    >>> seen.traced[1].reason
    'argument `x` was float32[3], now float32[4]'
    """
    return Compiles()
