"""Runs on the stream that may still be going on, and those that Ctrl-C stopped.

A `Run` is noted for every job that the stream got: it keeps the job's memory alive, and
knows which earlier jobs compute what it reads. When Ctrl-C ends a wait, `interrupted`
asks the running job to stop if it has a loop, since a loop may never end by itself, and
the job that was waited for. What they compute, and what is computed from that, is lost:
`check` raises when somebody asks for it. All other arrays stay as they are.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from typing import Any

from tetrad._src.cpu import pool
from tetrad._src.cpu.native_pool import JOB, Status
from tetrad._src.runtime.failures import Failure

REASON = (
    "Ctrl-C stopped the loop that computes it. Other arrays are intact; run the line"
    " again to have this one."
)


class Run:
    """One job on the stream. `flag` is the address of its cancel flag, or 0."""

    __slots__ = ("ticket", "address", "flag", "reads", "line", "keep", "failure")

    def __init__(
        self, address: int, flag: int, reads: Sequence[int], line: Any, keep: Any
    ) -> None:
        self.ticket = 0
        self.address = address
        self.flag = flag
        self.reads = reads  # tickets of the jobs that compute its operands
        self.line = line
        self.keep = keep
        self.failure: Failure | None = None  # if it may have been stopped

    @property
    def status(self) -> int:
        return ctypes.c_int64.from_address(self.address + 8 * JOB["STATUS"]).value

    def stop(self) -> None:
        ctypes.c_int64.from_address(self.flag).value = 1


class Runs:
    """What a backend has on the stream; `lost` holds the runs that may have stopped."""

    __slots__ = ("running", "lost")

    def __init__(self) -> None:
        self.running: deque[Run] = deque()
        self.lost: dict[int, Run] = {}
        pool.interrupts.append(self.interrupted)

    def note(self, run: Run, ticket: int, done: int) -> None:
        """A job was submitted; forgets those that are done."""
        run.ticket = ticket
        self.running.append(run)
        self.forget(done)

    def forget(self, done: int) -> None:
        """Lets go of the jobs up to ticket `done`."""
        running = self.running
        while running and running[0].ticket <= done:
            running.popleft()

    def interrupted(self, awaited: int) -> None:
        """Ctrl-C came while job `awaited` was waited for."""
        current = pool.native().done + 1
        stopped: set[int] = set()
        for run in list(self.running):
            if run.ticket < current:
                continue
            asked = run.ticket in (current, awaited)
            causes = stopped.intersection(run.reads)
            if causes or asked and run.flag:
                if causes:
                    run.failure = self.lost[min(causes)].failure
                else:
                    run.failure = Failure(run.line, REASON)
                stopped.add(run.ticket)
                self.lost[run.ticket] = run
                if run.flag:
                    run.stop()

    def check(self, ticket: int) -> None:
        """Raises if the job was stopped, or reads what a stopped job did not compute."""
        run = self.lost.get(ticket)
        if run is None:
            return
        pool.native().wait(ticket)
        if run.status == Status.DONE:
            for read in run.reads:
                self.check(read)
            del self.lost[ticket]
            return
        assert run.failure is not None
        raise run.failure.error(run.line)
