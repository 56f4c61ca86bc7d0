"""`tetrad.see.compiles()`: what was compiled, for which line, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tetrad._src.runtime import execute
from tetrad._src.util.frames import format_where


class Compile:
    """One compilation."""

    def __init__(self, record: Any) -> None:
        self.where: str = format_where(record.where)
        self.equations: int = record.equations
        self.seconds: float = record.seconds
        self.kernels: int = record.kernels

    def __str__(self) -> str:
        return (
            f"{self.seconds * 1e3:8.1f} ms  {self.equations:5d} operations"
            f"  {self.kernels:3d} new kernels  {self.where}"
        )


class Compiles:
    """A list of compilations; as a context manager, those of a block."""

    def __init__(self) -> None:
        self._start = 0
        self._end: int | None = None

    def __enter__(self) -> Compiles:
        self._start = execute.compile_count
        return self

    def __exit__(self, *exc: object) -> None:
        self._end = execute.compile_count

    def __iter__(self) -> Iterator[Compile]:
        end = execute.compile_count if self._end is None else self._end
        for record in list(execute.compile_log):
            if self._start < record.number <= end:
                yield Compile(record)

    def __len__(self) -> int:
        end = execute.compile_count if self._end is None else self._end
        return end - self._start

    @property
    def kernels(self) -> int:
        """Machine-code kernels that were new; shapes do not make new ones."""
        return sum([c.kernels for c in self])

    @property
    def seconds(self) -> float:
        return sum([c.seconds for c in self])

    def __str__(self) -> str:
        rows = [str(c) for c in self]
        total = (
            f"{len(rows)} programs, {self.kernels} new kernels,"
            f" {self.seconds * 1e3:.0f} ms"
        )
        return "\n".join([*rows, total])

    __repr__ = __str__


def compiles() -> Compiles:
    """The programs compiled in this process; as a context manager, in a block.

    Eager code and `jit` alike: each row names the user's line that asked, the number
    of operations, the new machine-code kernels and the time.
    """
    return Compiles()
