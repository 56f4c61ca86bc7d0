"""Launches: one call of a kernel, with the words that its function reads.

A word that is a pointer or a run-time scalar is listed in `fixes`, and filled in by the
program (see `job`).
"""

from __future__ import annotations

from typing import Any

from tetrad._src.cpu.literals import word_of
from tetrad._src.passes.ir import Scalar, Term

VALUE, SCRATCH, INPUT = range(3)  # what a fix refers to


class Launch:
    """One call of a kernel over `total` tasks, `chunk` at a time."""

    __slots__ = (
        "loops", "words", "fixes", "flags", "calls", "total", "chunk", "work", "site",
    )  # fmt: skip

    def __init__(self) -> None:
        self.site: Any = None  # of a call of Python, see `host`; there is no code then
        self.loops: Any = None  # a Loops, or the symbol of a hand-made kernel
        self.words: list[int] = []
        self.fixes: list[tuple[int, int, int, int]] = []  # position, what, id, offset
        self.flags: list[int] = []  # words that point to the cancel flag
        self.calls: list[tuple[int, Any]] = []  # words that point to other kernels
        self.total = 0
        self.chunk = 1
        self.work = 0.0

    def pointer(self, what: int, number: int, offset: int) -> None:
        self.fixes.append((len(self.words), what, number, offset))
        self.words.append(0)

    def scalar(self, scalar: Scalar) -> None:
        if scalar.position < 0:
            self.words.extend(word_of(scalar.literal, scalar.dtype))
            return
        self.fixes.append((len(self.words), INPUT, scalar.position, 0))
        self.words.append(0)

    def terms(self, terms: tuple[Term, ...]) -> None:
        for term in terms:
            if type(term.source) is Scalar:
                self.scalar(term.source)
            else:
                self.pointer(VALUE, term.source, 0)
            self.words.append(term.limit)
            self.words.append(term.stride)
