"""Calls of Python in the middle of a native program.

A step that calls Python is a launch of one function for all of them, whose words are
the number of a `Site`, then the addresses of operands and results. The program runs on
a thread of ours that does nothing else (`_Worker`); when it reaches a site it asks the
thread that started the program, which waits and makes the call. So a callback runs where
the user's code runs, with its settings and thread-local state, and Ctrl-C ends it as it
ends any Python code; and the thread of the stream is never held up: a callback may use
arrays, wait for them, and start other programs.

An exception, of a callback or Ctrl-C, stops the program through its cancel flag and goes
on in the thread that started it. Nobody gets to see the results then.

Read `Site`, `HostRun.run` (the thread that started the program), then `_enter` and
`_Worker` (the thread of the program).
"""

from __future__ import annotations

import ctypes
import itertools
import os
import queue
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.cpu.lower import VALUE, Launch
from tetrad._src.cpu.native_pool import JOB, Status
from tetrad._src.cpu.pool import native
from tetrad._src.passes.ir import Call
from tetrad._src.runtime import array as arrays
from tetrad._src.runtime import host
from tetrad._src.util import dtypes

CALL_NS = 30_000.0
PATIENCE = 0.1  # seconds for which a stopped program is waited for
POLL = 0.05  # seconds after which a thread looks whether the other one still answers
SPARE = 16  # threads that are kept for later programs
KEY = np.dtype(np.uint64)

_numbers = itertools.count(1)
_sites: weakref.WeakValueDictionary[int, Site] = weakref.WeakValueDictionary()


class Site:
    """A place in a program where Python is called."""

    __slots__ = ("number", "op", "in_avals", "out_avals", "__weakref__")

    def __init__(
        self, op: Any, in_avals: Sequence[Aval], out_avals: Sequence[Aval]
    ) -> None:
        self.number = next(_numbers)
        self.op = op
        self.in_avals = in_avals
        self.out_avals = out_avals
        _sites[self.number] = self

    def call(self, words: int) -> None:
        """Makes the call with what lies at the addresses behind the first word."""
        count = len(self.in_avals) + len(self.out_avals)
        addresses = (ctypes.c_int64 * (1 + count)).from_address(words)[1:]
        operands = [
            arrays.from_host(_view(address, aval), aval)
            for address, aval in zip(addresses, self.in_avals)
        ]
        results = host.call(self.op, operands)
        places = addresses[len(self.in_avals) :]
        for address, aval, result in zip(places, self.out_avals, results):
            ctypes.memmove(address, result.ctypes.data, aval.nbytes)


def _view(address: int, aval: Aval) -> np.ndarray[Any, Any]:
    """What lies at an address, until the program goes on."""
    block: Any = (ctypes.c_uint8 * aval.nbytes).from_address(address)
    dtype: np.dtype[Any] = KEY if dtypes.is_key(aval.dtype) else aval.dtype
    view: np.ndarray[Any, Any] = np.frombuffer(block, dtype)
    return view.reshape(aval.shape)


def launch(step: Call) -> Launch:
    """The launch of a step that calls Python; the program keeps its `site` alive."""
    made = Launch()
    made.site = Site(step.parameters["op"], step.in_avals, step.out_avals)
    made.words.append(made.site.number)
    for read in step.reads:
        made.pointer(VALUE, read.value, read.offset * read.dtype.itemsize)
    for value in step.values:
        made.pointer(VALUE, value, 0)
    made.total = made.chunk = 1
    made.work = CALL_NS
    return made


# ------------------------------------------------- the thread that started the program


class HostRun:
    """One run of a program, between the thread that started it and a worker."""

    __slots__ = (
        "address", "flag", "keep", "asked", "answers", "stopped", "finished", "status",
    )  # fmt: skip

    def __init__(self, address: int, flag: int, keep: Any) -> None:
        self.address = address
        self.flag = flag
        self.keep = keep  # the memory that the program works on
        self.asked: queue.SimpleQueue[tuple[Site, int] | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.stopped = False
        self.finished = False
        self.status: int = Status.PENDING

    def run(self) -> None:
        """Runs the program to its end; makes its calls on this thread."""
        process = os.getpid()
        _give(self)
        try:
            while True:
                request = self.asked.get()
                if request is None:
                    break
                site, words = request
                site.call(words)
                if os.getpid() != process:
                    raise RuntimeError(
                        "a callback forked, and the new process went on with the"
                        " program that called it; end the new process in the callback"
                        " with os._exit()"
                    )
                self.answers.put(None)
        except BaseException:
            if os.getpid() == process:
                self.stop()
            raise
        if self.status != Status.DONE:
            raise RuntimeError(f"a program with callbacks ended with {self.status}")

    def stop(self) -> None:
        """Stops the program, and waits a little for it: it may be in a long kernel."""
        memory = self.keep
        if memory is not None:  # the flag is part of it
            ctypes.c_int64.from_address(self.flag).value = 1
        self.stopped = True
        self.answers.put(None)
        end = time.monotonic() + PATIENCE
        while not self.finished and time.monotonic() < end:
            try:
                self.asked.get(timeout=POLL / 10)
            except queue.Empty:
                continue


# ------------------------------------------------------------ the thread of the program


class _Worker:
    """A thread that runs programs, one at a time."""

    __slots__ = ("inbox",)

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[HostRun] = queue.SimpleQueue()
        thread = threading.Thread(
            target=self.work, name="tetrad program with callbacks", daemon=True
        )
        thread.start()

    def work(self) -> None:
        run_blocking = native().run_blocking
        while True:
            run: Any = self.inbox.get()
            _current.run = run
            run_blocking(run.address)
            _current.run = None
            word = ctypes.c_int64.from_address(run.address + 8 * JOB["STATUS"])
            run.status = word.value
            run.finished = True
            run.keep = None
            asked, run = run.asked, None
            if len(_idle) >= SPARE:
                asked.put(None)
                return
            _idle.append(self)
            asked.put(None)


class _Current(threading.local):
    run: HostRun | None = None


_current = _Current()
_idle: list[_Worker] = []


def _give(run: HostRun) -> None:
    """Has a worker run it: an idle one, or a new one."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.inbox.put(run)


def _enter(words: int, low: int, high: int) -> None:
    """What the program calls: has the thread that started it make the call."""
    run = _current.run
    if run is None or run.stopped:
        return
    number = ctypes.c_int64.from_address(words).value
    run.asked.put((_sites[number], words))
    while True:
        try:
            run.answers.get(timeout=POLL)
            return
        except queue.Empty:
            if run.stopped:
                return


_entry = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(_enter)
entry_address: int = ctypes.cast(_entry, ctypes.c_void_p).value or 0


def _after_fork_in_child() -> None:
    _idle.clear()  # threads exist in the parent only
    _current.run = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
