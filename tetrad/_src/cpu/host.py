"""Calls of Python in the middle of a native program.

A step that calls Python is a launch whose words are the address of the cancel flag, the
number of a `Site`, then the addresses of operands and results. What it launches,
`tetrad_host`, calls the function of this run that reaches Python, and stops the program
unless that says that all is well. (Behind the flag of such a run stand three more words:
that function, what it answers, and when it was called last.)

Callbacks happen on the thread that started the program, where the user's code runs, with
its settings and thread-local state. Mostly the program itself runs there, too. After
turns of its loops and after long steps it has Python look, now and then, whether Ctrl-C
was pressed. Only if it has kernels with loops inside of them, which Python cannot
interrupt, it runs on another thread (`_Worker`), and has the first one make its calls.
The thread of the stream is never held up: a callback may use arrays, wait for them, and
start other programs.

An exception, of a callback or Ctrl-C, stops the program through its flag and goes on in
the thread that started it. Nobody gets to see the results then.

Read `Site` and `launch`, `HostRun.run`, `_served`, then `HostRun.run_apart` and what
follows.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.cpu.launch import VALUE, Launch
from tetrad._src.cpu.native_pool import JOB, Status
from tetrad._src.cpu.pool import native
from tetrad._src.passes.ir import Call
from tetrad._src.runtime import host, lazy, threads
from tetrad._src.runtime.device import Device
from tetrad._src.util import dtypes

CALL_NS = 10_000.0
EXTRA = 3  # words behind the flag
LOOK_NS = 20_000_000  # nanoseconds after which Python looks for Ctrl-C
NEVER = 1 << 62  # a time of the last call that lets nobody look
PATIENCE = 0.1  # seconds for which a stopped program is waited for
POLL = 0.05  # seconds after which a thread looks whether the other one still answers
SPARE = 16  # threads that are kept for later programs

_TEXT = f"""
declare i32 @clock_gettime(i32, ptr)

define internal void @enter(ptr %flag, ptr %words) nounwind {{
entry:
  %p_python = getelementptr i64, ptr %flag, i64 1
  %python = load ptr, ptr %p_python
  %p_answer = getelementptr i64, ptr %flag, i64 2
  store i64 0, ptr %p_answer
  call void %python(ptr %words)
  %answer = load volatile i64, ptr %p_answer
  %failed = icmp eq i64 %answer, 0
  br i1 %failed, label %stop, label %leave
stop:
  store atomic i64 1, ptr %flag seq_cst, align 8
  br label %leave
leave:
  ret void
}}

define dso_local void @tetrad_host(ptr %args, i64 %lo, i64 %hi) nounwind {{
entry:
  %flag = load ptr, ptr %args
  %words = getelementptr i64, ptr %args, i64 1
  call void @enter(ptr %flag, ptr %words)
  ret void
}}

define dso_local void @tetrad_tick(ptr %args, i64 %lo, i64 %hi) nounwind {{
entry:
  %time = alloca [2 x i64]
  %flag = load ptr, ptr %args
  %x = call i32 @clock_gettime(i32 0, ptr %time)
  %seconds = load i64, ptr %time
  %p_rest = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %p_rest
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  %p_last = getelementptr i64, ptr %flag, i64 3
  %last = load i64, ptr %p_last
  %since = sub i64 %now, %last
  %due = icmp sgt i64 %since, {LOOK_NS}
  br i1 %due, label %look, label %leave
look:
  store i64 %now, ptr %p_last
  call void @enter(ptr %flag, ptr null)
  br label %leave
leave:
  ret void
}}
"""
_SYMBOLS = ("tetrad_host", "tetrad_tick")
CALL = (_TEXT, "tetrad_host", _SYMBOLS)  # what a step launches
TICK = (_TEXT, "tetrad_tick", _SYMBOLS)  # what turns of loops launch, and long steps

_reach_python = ctypes.CFUNCTYPE(None, ctypes.c_int64)
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

    def call(self, words: int, device: Device) -> None:
        """Makes the call with what lies at the addresses behind the first word."""
        count = len(self.in_avals) + len(self.out_avals)
        addresses = (ctypes.c_int64 * (1 + count)).from_address(words)[1:]
        operands = [
            lazy.put(_view(address, aval), aval, device.free, told=False)
            for address, aval in zip(addresses, self.in_avals)
        ]
        results = host.call(self.op, operands)
        places = addresses[len(self.in_avals) :]
        for address, aval, result in zip(places, self.out_avals, results):
            ctypes.memmove(address, result.ctypes.data, aval.nbytes)


def _site_at(words: int) -> Site:
    return _sites[ctypes.c_int64.from_address(words).value]


def _view(address: int, aval: Aval) -> np.ndarray[Any, Any]:
    """What lies at an address, until the program goes on."""
    block: Any = (ctypes.c_uint8 * aval.nbytes).from_address(address)
    dtype: np.dtype[Any] = aval.dtype.held if dtypes.is_key(aval.dtype) else aval.dtype
    view: np.ndarray[Any, Any] = np.frombuffer(block, dtype)
    return view.reshape(aval.shape)


def launch(step: Call) -> Launch:
    """The launch of a step that calls Python; the program keeps its `site` alive."""
    made = Launch()
    made.site = Site(step.parameters["op"], step.in_avals, step.out_avals)
    made.flags.append(0)
    made.words.extend((0, made.site.number))
    for read in step.reads:
        made.pointer(VALUE, read.value, read.offset * read.dtype.itemsize)
    for value in step.values:
        made.pointer(VALUE, value, 0)
    made.total = made.chunk = 1
    made.work = CALL_NS
    made.loops = CALL
    return made


# ------------------------------------------------- the thread that started the program


class HostRun:
    """One run of a program on a device; `flag` is the address of its cancel flag.

    `apart` says that the program has kernels with loops inside of them.
    """

    __slots__ = (
        "address", "flag", "device", "keep", "apart", "error", "ended",
        "asked", "answers", "stopped", "status",
    )  # fmt: skip

    def __init__(
        self, address: int, flag: int, device: Device, apart: bool, keep: Any
    ) -> None:
        self.address = address
        self.flag = flag
        self.device = device
        self.apart = apart
        self.keep = keep  # the memory that the program works on
        self.error: BaseException | None = None
        self.ended = False
        self.stopped = False
        self.status: int = Status.PENDING

    def run(self) -> None:
        """Runs the program to its end; raises what a callback raised."""
        if self.apart and threads.count() > 1:
            self.run_apart()
        else:
            self.run_here()
        if self.status != Status.DONE:
            raise RuntimeError(
                "a program with callbacks ended because Python could not be called; what"
                " it said about that is on the standard error stream"
            )

    def prepare(self, python: Any, last: int) -> None:
        """Writes the words behind the flag."""
        words = (ctypes.c_int64 * (1 + EXTRA)).from_address(self.flag)
        words[1] = ctypes.cast(python, ctypes.c_void_p).value or 0
        words[3] = last

    def well(self) -> None:
        """Tells the program, which waits, to go on."""
        ctypes.c_int64.from_address(self.flag + 16).value = 1

    def end(self) -> None:
        word = ctypes.c_int64.from_address(self.address + 8 * JOB["STATUS"])
        self.status = word.value
        self.ended = True

    def run_here(self) -> None:
        """Runs the program on this thread."""
        server = _served(self)
        next(server)
        python = _reach_python(server.send)
        self.prepare(python, time.time_ns())
        try:
            runner = native()
            run = runner.run_long if self.apart else runner.run_blocking
            run(self.address)
        finally:
            self.end()
            server.close()
            error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # which refers to this frame

    # ------------------------------------------------------------- on another thread

    def run_apart(self) -> None:
        """Has another thread run the program; makes its calls on this one."""
        self.asked: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[None] = queue.SimpleQueue()
        process = os.getpid()
        self.prepare(_enter, NEVER)
        _give(self)
        try:
            while (words := self.asked.get()) is not None:
                _site_at(words).call(words, self.device)
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

    def stop(self) -> None:
        """Stops the program, and waits a little for it: it may be in a long kernel."""
        self.stopped = True
        memory = self.keep
        if memory is not None:  # the flag is part of it
            ctypes.c_int64.from_address(self.flag).value = 1
        self.answers.put(None)
        end = time.monotonic() + PATIENCE
        while not self.ended and time.monotonic() < end:
            try:
                self.asked.get(timeout=POLL / 10)
            except queue.Empty:
                continue


def _served(run: HostRun) -> Generator[None, int, None]:
    """What the program resumes to have a call made: it sends the address of words, or 0
    to have Python look for Ctrl-C, which comes up here.

    A generator, since there is no moment between the program and its `try` at which an
    exception could come up and be lost.
    """
    while True:
        try:
            words = yield
            while True:
                if words:
                    _site_at(words).call(words, run.device)
                run.well()
                words = yield
        except BaseException as error:
            if run.ended:
                return
            run.error = error


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
            run.end()
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


def _ask(words: int) -> None:
    """Has the thread that started the program make a call."""
    run = _current.run
    if run is None or run.stopped:
        return
    run.asked.put(words)
    while True:
        try:
            run.answers.get(timeout=POLL)
            break
        except queue.Empty:
            if run.stopped:
                break
    if not run.stopped:
        run.well()


_enter: Callable[[int], None] = _reach_python(_ask)


def _after_fork_in_child() -> None:
    _idle.clear()  # threads exist in the parent only
    _current.run = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
