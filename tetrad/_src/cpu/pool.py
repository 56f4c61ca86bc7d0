"""Threads, the stream and program runs, from Python's side.

`native()` gives the one `Native` of the process: it runs jobs on the calling thread
(`run_inline`, `run_blocking`) or in order on the stream (`submit`, `wait`), and owns the
number of pool threads. The code is the text of `native_pool`; its threads hold no
Python state and never take the GIL. Nothing starts before it is needed: not the code,
not the stream's thread, not the workers. Read `Native`, then the fork hooks.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence

from tetrad._src.cpu import engine, memory, native_pool
from tetrad._src.cpu.native_pool import FIELDS, JOB, Opcode, Status
from tetrad._src.runtime import flush, threads

__all__ = ["Native", "Opcode", "Status", "make_job", "native"]

WAIT_NANOSECONDS = 40_000_000  # how long a wait may keep Ctrl-C waiting
WORKER_SPIN = 1000
CALLER_SPIN = 5000
STREAM_SPIN = 50  # jobs are long: who waits for one had better sleep
INLINE = 60_000  # nanoseconds of work up to which the caller waits for it
ALWAYS = 1 << 62  # more nanoseconds than any program takes
FORK_PATIENCE = 1.0  # seconds for which a fork waits for threads to stop

# Called with the awaited ticket when Ctrl-C ends a wait.
interrupts: list[Callable[[int], None]] = []


class Native:
    """Runs jobs; see `native_pool.JOB` for the words of a job.

    `run_inline(job)` runs on this thread and keeps the GIL: for programs of
    microseconds. `run_blocking(job)` releases it. Neither listens to Ctrl-C; long
    programs go to the stream. Where there is to be one thread only there is no stream:
    then `run_long(job)` runs them, and Ctrl-C sets their cancel flag.
    `longest_inline` says up to how many nanoseconds the caller runs a program itself.
    """

    def __init__(self) -> None:
        names = (
            "tetrad_pool",
            "tetrad_parallel_for",
            "tetrad_run",
            "stream_submit",
            "stream_wait",
            "resize_pool",
            "stop_stream",
            "run_guarded",
            "park_initialise",
        )
        code = engine.assemble(native_pool.pool_text(), names, passes=True).pin()
        self.address = code["tetrad_pool"]
        self.parallel_for = code["tetrad_parallel_for"]
        self.run = code["tetrad_run"]
        self._code = code
        block = memory.view(self.address, native_pool.STATE_BYTES)
        self._words = block.cast("i")
        self.tickets = block.cast("q")
        self._frozen = 0
        pointer = ctypes.c_void_p
        long = ctypes.c_int64
        make = engine.function
        self.run_inline: Callable[[int], None] = make(self.run, None, pointer, gil=True)
        self.run_blocking: Callable[[int], None] = make(
            self.run, None, pointer, gil=False
        )
        self._submit = make(code["stream_submit"], long, pointer, pointer, gil=True)
        self._wait = make(
            code["stream_wait"], ctypes.c_int, pointer, long, long, gil=False
        )
        self._resize = make(
            code["resize_pool"], ctypes.c_int, pointer, ctypes.c_int, gil=False
        )
        self._stop = make(code["stop_stream"], ctypes.c_int, pointer, gil=False)
        self._run_guarded = make(code["run_guarded"], None, pointer, gil=False)
        self._initialise = make(code["park_initialise"], None, gil=True)
        self._initialise()
        self._set("WANTED", threads.count() - 1)
        self._set_spins()
        threads.resize = self.set_num_threads
        tickets = self.tickets
        memory.set_clock(lambda: tickets[DONE])
        engine.define_symbol("tetrad_parallel_for", self.parallel_for)
        engine.define_symbol("tetrad_pool", self.address)

    def _set(self, name: str, value: int) -> None:
        self._words[FIELDS[name] // 4] = value

    def _get(self, name: str) -> int:
        return self._words[FIELDS[name] // 4]

    def _set_spins(self) -> None:
        # A thread that spins must not keep another from running.
        available = threads.processors()
        spare = self.num_threads <= available and available > 1
        self._set("WORKER_SPIN", WORKER_SPIN if spare else 0)
        self._set("CALLER_SPIN", CALLER_SPIN if spare else 0)
        self._set("STREAM_SPIN", STREAM_SPIN if spare else 0)
        self._set("WAIT_SPIN", STREAM_SPIN if spare else 0)
        self.longest_inline = INLINE if self.num_threads > 1 else ALWAYS

    @property
    def num_threads(self) -> int:
        """Threads that share one launch, the caller's included."""
        return self._get("WANTED") + 1

    def set_num_threads(self, count: int) -> None:
        """Use `count` threads for launches, the caller's included.

        With one thread there is no other one: also the stream's ends.
        """
        count = threads.checked(count)
        self.drain()
        while not self._resize(self.address, count - 1):
            time.sleep(0.001)  # a launch is running
        self._set_spins()
        while count == 1 and not self._stop(self.address):
            self.drain()  # another thread has submitted work

    def run_long(self, job: int) -> None:
        """Run a job on this thread; Ctrl-C sets its cancel flag, if it has one."""
        if threading.current_thread() is threading.main_thread():
            self._run_guarded(job)
        else:
            self.run_blocking(job)

    @property
    def threads_alive(self) -> int:
        """Native threads that exist now: workers, and 1 for the stream."""
        return self._get("ALIVE") + self._get("STREAM_STARTED")

    @property
    def last(self) -> int:
        """The ticket of the job submitted last; 0 if there was none."""
        return self.tickets[LAST]

    @property
    def done(self) -> int:
        """The ticket of the job finished last; jobs finish in order of tickets."""
        return self.tickets[DONE]

    def submit(self, job: int) -> int:
        """Append a job to the stream; its memory must live until its ticket is done."""
        ticket: int = self._submit(self.address, job)
        while ticket <= 0:
            if ticket < 0:
                raise RuntimeError(
                    "the system refuses to start a thread; lower the number of "
                    "processes or raise the limit (ulimit -u)"
                )
            self._make_room()
            ticket = self._submit(self.address, job)
        return ticket

    def _make_room(self) -> None:
        if self._get("FROZEN"):
            time.sleep(0.001)
        else:
            self._pause(self.last - native_pool.RING + 1)

    def wait(self, ticket: int) -> None:
        """Return when the ticket is done. Ctrl-C raises at once; the job goes on, unless
        one of `interrupts` stops it."""
        tickets = self.tickets
        if tickets[DONE] >= ticket:
            return
        if ticket > tickets[LAST]:
            raise ValueError(
                f"ticket {ticket} was never given out; the last is {self.last}"
            )
        while not self._pause(ticket):
            pass

    def _pause(self, ticket: int) -> bool:
        """Wait a little; whether the ticket is done."""
        try:
            done: int = self._wait(self.address, ticket, WAIT_NANOSECONDS)
            # Back in Python, where a pending signal raises.
        except KeyboardInterrupt:
            for interrupted in interrupts:
                interrupted(ticket)
            raise
        return bool(done)

    def drain(self) -> None:
        """Wait until every job submitted so far has finished."""
        self.wait(self.last)

    def cancel(self, job: int) -> None:
        """Ask a job to stop between chunks; it then ends with Status.CANCELLED."""
        flag = ctypes.c_int64.from_address(job + 8 * JOB["CANCEL"]).value
        if flag == 0:
            raise ValueError("this job was made without a cancel flag")
        ctypes.c_int64.from_address(flag).value = 1

    def before_fork(self) -> None:
        """Finish the stream's work, hold back new work, and end all threads.

        They start again when they are needed. A process that forks with threads may
        deadlock, and Python warns about it.
        """
        self._frozen += 1
        self._set("FROZEN", 1)
        self.drain()
        end = time.monotonic() + FORK_PATIENCE
        wanted = self._get("WANTED")
        while not self._stop(self.address) and time.monotonic() < end:
            self.drain()
        while not self._resize(self.address, wanted) and time.monotonic() < end:
            time.sleep(0.001)  # another thread of Python is in a launch

    def after_fork_in_parent(self) -> None:
        """Let work in again."""
        self._frozen = max(self._frozen - 1, 0)
        if not self._frozen:
            self._set("FROZEN", 0)

    def after_fork_in_child(self) -> None:
        """Forget the threads, which exist in the parent only; tickets go on."""
        self._frozen = 0
        for name in _RESET:
            self._set(name, 0)
        self.tickets[FIELDS["COUNT"] // 8] = 0
        self.tickets[FIELDS["FINISHED"] // 8] = 0
        self._initialise()


LAST = FIELDS["HEAD"] // 8
DONE = FIELDS["TAIL"] // 8
_RESET = (
    "SLEEPERS",
    "CALLER_SLEEPS",
    "LOCK",
    "STOP",
    "STARTED",
    "ALIVE",
    "STREAM_ASLEEP",
    "WAITERS",
    "SUBMIT_LOCK",
    "FROZEN",
    "STREAM_STARTED",
    "STREAM_STOP",
)

_native: Native | None = None
_native_lock = threading.Lock()


def native() -> Native:
    """The process's runner; made at the first call."""
    made = _native
    return _make_native() if made is None else made


def _make_native() -> Native:
    global _native
    with _native_lock:
        if _native is None:
            made = Native()
            atexit.register(made.drain)
            _native = made
        return _native


# Who holds the recorder's lock may be submitting work, so it comes first.


def _before_fork() -> None:
    flush.lock.acquire()
    if _native is not None:
        _native.before_fork()


def _after_fork_in_parent() -> None:
    if _native is not None:
        _native.after_fork_in_parent()
    flush.lock.release()


def _after_fork_in_child() -> None:
    global _native_lock
    _native_lock = threading.Lock()
    if _native is not None:
        _native.after_fork_in_child()
    flush.lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def make_job(
    code: Sequence[Sequence[int]],
    arguments: Sequence[int],
    *,
    fix: Sequence[tuple[int, int, int]] = (),
    values: Sequence[int] = (),
    cancel_flag: int = 0,
) -> Job:
    """Build a job in memory of its own; the runtime builds its jobs in bulk instead."""
    return Job(code, arguments, fix, values, cancel_flag)


class Job:
    """A job and the arrays it points to."""

    def __init__(
        self,
        code: Sequence[Sequence[int]],
        arguments: Sequence[int],
        fix: Sequence[tuple[int, int, int]],
        values: Sequence[int],
        cancel_flag: int,
    ) -> None:
        flat_code = []
        for instruction in code:
            padding = native_pool.INSTRUCTION_WORDS - len(instruction)
            flat_code += [*instruction, *[0] * padding]
        self.arguments = _words(arguments)
        self.values = _words(values)
        self._code = _words(flat_code)
        self._fix = _words([word for row in fix for word in row])
        self._header = _words(
            [
                native().address,
                Status.PENDING,
                len(fix),
                len(code),
                ctypes.addressof(self._fix),
                ctypes.addressof(self.values),
                ctypes.addressof(self.arguments),
                ctypes.addressof(self._code),
                cancel_flag,
                0,
            ]
        )
        self.address = ctypes.addressof(self._header)

    @property
    def status(self) -> Status:
        """Whether it ran."""
        return Status(self._header[JOB["STATUS"]])

    def reset(self) -> None:
        """Make it pending again; only while it is not running."""
        self._header[JOB["STATUS"]] = Status.PENDING


def _words(numbers: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * max(len(numbers), 1))(*numbers)
