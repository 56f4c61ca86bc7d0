"""What happens while a profile looks on: runs, waits, compilations, named stretches.

In: the events of the runtime. Out: a `Record`: seconds by part of each program, and a
timeline of at most `MOST` entries. Runs are taken in as soon as they are done, so that a
long block needs no more memory than a short one.

Read `Collector`, then `Record.kernels` and `Record.close`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import Any, NamedTuple

from tetrad._src.passes.origins import Origin
from tetrad._src.runtime import device as registry
from tetrad._src.runtime import events, execute, flush
from tetrad._src.runtime.events import Annotation, Run, Span, Wait

MOST = 100_000  # entries of the timeline
TOGETHER = 512  # runs that are looked at together

Key = tuple[Any, Any, tuple[Any, ...]]  # device, program, lines


class Stretch(NamedTuple):
    """Time that a thread of Python spent on something; seconds since the beginning."""

    what: str
    where: Any
    begin: float
    end: float
    thread: int


class Done(NamedTuple):
    """One run of a program: what its parts took."""

    key: Key
    spans: list[Span]


class Record:
    """What a block did."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.end = self.begin
        self.thread = threading.get_ident()
        self.sums: dict[Key, dict[int, list[float]]] = {}  # part -> [turns, seconds]
        self.runs = 0
        self.here = 0.0  # seconds that programs ran on the thread of the block
        self.timeline: list[Done] = []
        self.waits: dict[tuple[Any, str], list[float]] = {}  # -> [times, seconds]
        self.waited: list[Stretch] = []
        self.waiting = 0.0  # seconds of the thread of the block
        self.marks: list[Annotation] = []
        self.compiled: list[Stretch] = []
        self.left_out = 0  # entries that found no room in the timeline
        self._origins: dict[Key, tuple[dict[int, int], list[Origin]]] = {}

    def origins(self, key: Key) -> tuple[dict[int, int], list[Origin]]:
        """What the parts of a program are."""
        found = self._origins.get(key)
        if found is None:
            device, program, places = key
            found = self._origins[key] = device.backend.origins(program, places)
        return found

    @property
    def wall(self) -> float:
        return self.end - self.begin

    @property
    def compiling(self) -> float:
        return sum([stretch.end - stretch.begin for stretch in self.compiled])

    @property
    def python(self) -> float:
        """Seconds of the block's thread that are left: Python, which records."""
        rest = self.wall - self.waiting - self.here - self.compiling
        return max(rest, 0.0)


class Collector:
    """Fills a record while it listens."""

    def __init__(self) -> None:
        self.record = Record()
        self.pending: deque[tuple[Run, bool]] = deque()
        self.stack = contextlib.ExitStack()
        self.first = 0  # compilations before

    def start(self) -> None:
        """Begins with nothing pending, so that what is measured is the block's."""
        flush.flush_all()
        for backend in registry.made_backends():
            backend.finish()
        self.stack.enter_context(events.runs.heard_by(self.hear_run))
        self.stack.enter_context(events.waits.heard_by(self.hear_wait))
        self.stack.enter_context(events.marks.heard_by(self.hear_mark))
        self.first = execute.compile_count
        record = self.record
        record.thread = threading.get_ident()
        record.begin = record.end = time.perf_counter()

    def stop(self, complete: bool) -> Record:
        """Ends; `complete`: after submitting what is pending, and waiting for it."""
        record = self.record
        try:
            if complete:
                flush.flush_all()
                begin = time.perf_counter()
                for backend in registry.made_backends():
                    backend.finish()
                waited = time.perf_counter() - begin
                record.waiting += waited
                self.note_wait("end of the block", None, waited)
        finally:
            self.stack.close()
            record.end = time.perf_counter()
            self.settle()
            self.note_compilations()
        return record

    def hear_run(self, run: Run) -> None:
        here = threading.get_ident() == self.record.thread
        self.pending.append((run, here))
        if len(self.pending) >= TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Takes in the runs that are done, in order."""
        while self.pending:
            run, here = self.pending[0]
            if not run.timing.done():
                break
            self.pending.popleft()
            self.take(run, here)

    def take(self, run: Run, here: bool) -> None:
        record = self.record
        key = (run.device, run.program, run.places)
        sums = record.sums.setdefault(key, {})
        spans = run.timing.spans()
        record.runs += 1
        for span in spans:
            total = sums.setdefault(span.number, [0, 0.0])
            total[0] += span.turns
            total[1] += span.seconds
            if here and run.timing.here:
                record.here += span.seconds
        if len(record.timeline) < MOST:
            record.timeline.append(Done(key, spans))
        else:
            record.left_out += 1

    def hear_wait(self, wait: Wait) -> None:
        if threading.get_ident() == self.record.thread:
            self.record.waiting += wait.seconds
        self.note_wait(wait.reason, wait.where, wait.seconds)

    def note_wait(self, reason: str, where: Any, seconds: float) -> None:
        record = self.record
        total = record.waits.setdefault((where, reason), [0, 0.0])
        total[0] += 1
        total[1] += seconds
        end = time.perf_counter()
        if len(record.waited) < MOST:
            thread = threading.get_ident()
            stretch = Stretch(f"wait: {reason}", where, end - seconds, end, thread)
            record.waited.append(stretch)

    def hear_mark(self, mark: Annotation) -> None:
        if len(self.record.marks) < MOST:
            self.record.marks.append(mark)

    def note_compilations(self) -> None:
        record = self.record
        for compiled in list(execute.compile_log):
            if compiled.number > self.first and compiled.ended <= record.end:
                what = f"compile {compiled.equations} operations"
                begin = compiled.ended - compiled.seconds
                record.compiled.append(
                    Stretch(what, compiled.where, begin, compiled.ended, 0)
                )
