"""The CPU backend: devices of this machine's memory, and programs run on them.

What the runtime calls through the port of `runtime/backend.py`. A buffer is a block of
aligned memory plus the stream ticket of the last job that touches it. A program of
microseconds runs at once on the calling thread if nothing it reads is still being
computed; everything else goes to the stream, in order, while Python goes on.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.cpu import compile as compiler
from tetrad._src.cpu import engine, host, memory, native_cache, residence
from tetrad._src.cpu.buffers import (
    WHENEVER,
    Buffer,
    HostView,
    bury,
    dead,
    host_dtype,
    large_buffer,
    settle,
    small_buffer,
)
from tetrad._src.cpu.native_pool import INSTRUCTION_WORDS, JOB, JOB_WORDS, Status
from tetrad._src.cpu.pool import INLINE, native
from tetrad._src.cpu.runs import Run, Runs
from tetrad._src.cpu.short import short_way
from tetrad._src.cpu.timed import Times, origins_of, timed
from tetrad._src.passes.origins import Origin
from tetrad._src.runtime import events
from tetrad._src.runtime import execute as execution
from tetrad._src.runtime import host as calls
from tetrad._src.runtime.device import Device
from tetrad._src.runtime.ledger import Ledger, out_of_memory
from tetrad._src.util.config import config


class Image:
    """A program in memory, as the native runner reads it."""

    __slots__ = (
        "header", "fix", "values", "args", "code", "address", "template",
        "runner", "sizes", "loops", "extra", "codes", "times", "fields",
    )  # fmt: skip

    def __init__(self, program: Any, times: Times | None = None) -> None:
        """With `times`, it notes there how long its launches take."""
        self.codes = residence.codes_of(program, program.used)
        self.runner = native()
        self.sizes = [
            (a, a.nbytes, memory.size_class(a.nbytes)) for a in program.out_avals
        ]
        self.fix = np.ascontiguousarray(program.fix, np.int64)
        code = program.code if times is None else timed(program.code)
        self.code = np.ascontiguousarray(code, np.int64)
        self.args = np.array(program.args, np.int64).reshape(-1)
        if not self.args.size:
            self.args = np.zeros(1, np.int64)
        self.fields = program.fields
        size = max(self.fields.size, 8)
        self.values = ctypes.create_string_buffer(size)
        header = np.zeros(JOB_WORDS, np.int64)
        header[JOB["POOL"]] = native().address
        header[JOB["FIX_COUNT"]] = self.fix.size // 3
        header[JOB["INSTRUCTION_COUNT"]] = self.code.size // 5
        header[JOB["FIX"]] = self.fix.ctypes.data
        header[JOB["VALUES"]] = ctypes.addressof(self.values)
        header[JOB["ARGUMENTS"]] = self.args.ctypes.data
        header[JOB["CODE"]] = self.code.ctypes.data
        header[JOB["TIMES"]] = 0 if times is None else times.address
        self.times = times
        self.header = header.data
        self.address = header.ctypes.data
        self.extra = 8 * host.EXTRA if program.sites else 0  # words behind the flag
        flag = bytes(8 + self.extra)
        self.template = header.tobytes() + flag + self.args.tobytes() + bytes(size)
        self.loops = program.loops or bool(program.sites)

    def instance(self, words: Sequence[Any]) -> tuple[Any, int, int]:
        """A copy for one run on the stream: the block, its address, its cancel flag's.

        `words` are the pointers and scalars of the run. The word behind the header is
        its cancel flag, if it has loops; its address is 0 if not.
        """
        block = ctypes.create_string_buffer(self.template, len(self.template))
        address = ctypes.addressof(block)
        flag = 8 * JOB_WORDS
        args = flag + 8 + self.extra
        values = args + self.args.nbytes
        struct.pack_into("q", block, 8 * JOB["VALUES"], address + values)
        struct.pack_into("q", block, 8 * JOB["ARGUMENTS"], address + args)
        self.fields.pack_into(block, values, *words)
        if not self.loops:
            return block, address, 0
        struct.pack_into("q", block, 8 * JOB["CANCEL"], address + flag)
        return block, address, address + flag


SMALL = 1 << 14  # bytes of host data that are copied twice
_STATUS = JOB["STATUS"]


class CpuBackend:
    """Programs on the processors of this machine."""

    platform = "cpu"
    version = "1"
    calls_host = True
    shares_host = True

    def __init__(self, count: int, reclaim: Callable[[], None]) -> None:
        self._devices = [Device(self, i, "cpu") for i in range(count)]
        limit = memory.machine_bytes()
        for device in self._devices:
            device.ledger.reclaim = reclaim
            device.ledger.settle = settle
            if limit is not None:  # beyond it the system would kill the process
                device.ledger.machine = limit
                device.ledger.choose(None)
        self._runs = Runs()

    def __repr__(self) -> str:
        return "<CPU backend>"

    platform_version = property(lambda self: f"tetrad {self.version}")

    def devices(self) -> Sequence[Device]:
        return self._devices

    local_devices = devices

    def device_count(self) -> int:
        return len(self._devices)

    def compile(self, jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> Any:
        program = compiler.compile(jaxpr, by_value)
        residence.admit(program, max([d.ledger.count for d in self._devices]))
        return program

    def copies(self, jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> tuple[Any, ...]:
        return compiler.copies(jaxpr, by_value)

    def cost(self, jaxpr: Jaxpr) -> dict[str, float]:
        return compiler.cost(jaxpr, (False,) * len(jaxpr.ins))

    def forget(self) -> int:
        """Drops compiled code and free memory; returns the bytes."""
        freed = self.make_room()
        return freed + residence.shrink(0)

    def caches(self) -> dict[str, tuple[int, int, int | None]]:
        """What is kept: entries, bytes and their limit, by name."""
        files, nbytes = native_cache.usage()
        return {
            "machine code": (
                residence.resident_programs(),
                engine.loaded_bytes(),
                config.tetrad_code_limit,
            ),
            "machine code on disk": (files, nbytes, native_cache.LIMIT),
            "free blocks": (
                memory.cached_blocks(),
                memory.cached_bytes(),
                memory.cache_limit(),
            ),
        }

    def origins(
        self, program: Any, places: Sequence[Any]
    ) -> tuple[dict[int, int], list[Origin]]:
        return origins_of(program, places)

    # -- memory ------------------------------------------------------------------

    def make_room(self) -> int:
        """Waits for all work, and gives memory that nobody needs to the system."""
        settle()
        native().drain()
        self._runs.forget(native().done)
        settle()
        return memory.trim()

    def _from_system(self, nbytes: int, size: int, ledger: Ledger) -> tuple[int, int]:
        """A block from the system; the free lists count, too, under the limit."""
        over = ledger.held + memory.cached_bytes() + nbytes - ledger.limit
        if over > 0:
            goal = max(0, memory.cached_bytes() - over)
            memory.shrink(goal)
            if memory.cached_bytes() > goal:  # the stream still uses the rest
                native().drain()
                memory.shrink(goal)
        return memory.allocate(size), 0

    def allocate(
        self,
        nbytes: int,
        size: int,
        device: Device,
        line: Any,
        after: int,
        aval: Aval | None = None,
        role: str = "result",
    ) -> Buffer:
        """A new buffer; `after` is the ticket that reused memory may still await."""
        found = bury(size, after) if dead else None
        ledger = device.ledger
        if ledger.held + nbytes > ledger.limit and not ledger.admits(nbytes):
            if found is not None:
                memory.give(found[0], size, found[1])
            raise out_of_memory(device, nbytes, line, role)
        if found is None:
            found = memory.take(size, after)
        if found is None:
            try:
                found = self._from_system(nbytes, size, ledger)
            except memory.AllocationFailed:
                raise out_of_memory(device, nbytes, line, role) from None
        make = small_buffer if size < memory.MAP_FROM else large_buffer
        buffer = make(found, size, ledger, self._runs)
        ledger.note(found[0], nbytes, line, buffer.block, aval)
        return buffer

    def put(
        self, host: np.ndarray[Any, Any], aval: Aval, device: Device, line: Any
    ) -> Buffer:
        dtype = host_dtype(aval)
        host = np.ascontiguousarray(host, None if host.dtype == dtype else dtype)
        nbytes = aval.nbytes
        size = memory.size_class(nbytes)
        done = native().done
        buffer = self.allocate(nbytes, size, device, line, done, aval, "copy")
        # To find an array's address takes longer than to copy a small one.
        source = host.tobytes() if nbytes <= SMALL else host.ctypes.data
        ctypes.memmove(buffer.pointer, source, nbytes)
        return buffer

    def get(self, buffer: Buffer, aval: Aval) -> np.ndarray[Any, Any]:
        """A read-only host array on the buffer itself."""
        buffer.wait()
        dtype = host_dtype(aval)
        host = np.asarray(HostView(buffer, aval.shape, dtype))
        return host if host.dtype == dtype else host.view(dtype)

    def wait(self, buffer: Buffer) -> None:
        buffer.wait()

    def finish(self) -> None:
        native().drain()

    # -- running -------------------------------------------------------------------

    def execute(
        self,
        program: Any,
        buffers: Sequence[Buffer],
        scalars: Sequence[Any],
        takeovers: Sequence[int | None],
        device: Device,
        lines: Sequence[Any],
        timing: events.Timing | None = None,
    ) -> list[Buffer]:
        if not (lines or program.sites):  # nothing that anybody could see
            return []
        image = self._image(program, device, timing)
        if self._runs.lost:
            for buffer in buffers:
                self._runs.check(buffer.made)
        work = program.work if None in takeovers else program.work_in_place
        done = image.runner.done
        if program.sites:  # runs by itself, beside the stream
            done = self._settle(buffers, takeovers)
            inline = True
        else:
            inline = work <= image.runner.longest_inline
            inline = inline and not _awaited(buffers, takeovers, done)
        after = done if inline else WHENEVER
        sizes = image.sizes
        outs = self._outs(program, sizes, buffers, takeovers, device, lines, after)
        pointers = [buffer.pointer for buffer in (*buffers, *outs)]
        arena = None
        if program.arena:
            arena = self._arena(program.arena, device, lines, after)
            pointers.append(arena.pointer)
        words = (*pointers, *scalars)
        if program.sites:
            block, address, flag = image.instance(words)
            keep = (block, image, program, buffers, outs, arena)
            made = host.HostRun(address, flag, device, program.apart, keep)
            calls.prepare(made.run)
            if timing is not None:
                timing.here = False
                timing.done = lambda: made.ended
        elif inline and work > INLINE:
            self._run_long(image, words, outs)
        elif inline:
            self._run_inline(image, words, outs)
        else:
            reads = [b.made for b in buffers if b.made > done]
            block, address, flag = image.instance(words)
            line = lines[0] if lines else None
            run = Run(address, flag, reads, line, (block, image, program))
            self._submit(run, done, buffers, outs, arena)
            if timing is not None:
                timing.here = False
                timing.done = lambda: image.runner.done >= run.ticket
        return outs

    def _image(
        self, program: Any, device: Device, timing: events.Timing | None
    ) -> Image:
        """The program in memory; one that takes times, if there is a `timing`."""
        image: Image | None = program.image
        program.used = device.ledger.count
        if image is None:
            image = program.image = Image(program)
            program.launch = short_way(program, image, self.allocate, self._runs)
        return image if timing is None else _measuring(program, timing)

    def _outs(
        self,
        program: Any,
        sizes: Sequence[tuple[Aval, int, int]],
        buffers: Sequence[Buffer],
        takeovers: Sequence[int | None],
        device: Device,
        lines: Sequence[Any],
        after: int,
    ) -> list[Buffer]:
        """The buffers of the results, new or taken over."""
        outs = []
        for (aval, nbytes, size), donor, line in zip(sizes, takeovers, lines):
            if donor is None:
                buffer = self.allocate(nbytes, size, device, line, after, aval)
            else:
                buffer = buffers[donor]
                if program.in_avals[donor] is not aval:
                    device.ledger.retype(buffer.pointer, aval)
            outs.append(buffer)
        return outs

    def _arena(
        self, nbytes: int, device: Device, lines: Sequence[Any], after: int
    ) -> Buffer:
        """Memory for what a program computes on its way."""
        size, line = memory.size_class(nbytes), lines[0] if lines else None
        role = "intermediates"
        return self.allocate(nbytes, size, device, line, after, None, role)

    def _run_inline(
        self, image: Image, words: Sequence[Any], outs: list[Buffer]
    ) -> None:
        """Runs a program of microseconds on this thread."""
        image.fields.pack_into(image.values, 0, *words)
        image.header[_STATUS] = 0
        execution.launched = True
        try:
            image.runner.run_inline(image.address)
        except KeyboardInterrupt as stop:  # raised when the program had run
            stop.results = outs  # type: ignore[attr-defined]
            raise

    def _run_long(self, image: Image, words: Sequence[Any], outs: list[Buffer]) -> None:
        """Runs a long program on this thread, where there is to be no other one."""
        _block, address, _ = image.instance(words)
        execution.launched = True
        try:
            native().run_long(address)
            if _status(address) != Status.DONE:
                raise KeyboardInterrupt
        except KeyboardInterrupt as stop:
            if _status(address) == Status.DONE:
                stop.results = outs  # type: ignore[attr-defined]
            raise

    def _submit(
        self,
        run: Run,
        done: int,
        buffers: Sequence[Buffer],
        outs: list[Buffer],
        arena: Buffer | None,
    ) -> None:
        """Puts a run on the stream, and notes what it reads and writes."""
        runner, runs = native(), self._runs
        last = runner.last
        execution.launched = True
        try:
            ticket = runner.submit(run.address)
            runs.note(run, ticket, done)
            _touch(ticket, buffers, outs, arena)
        except BaseException as stop:  # Ctrl-C: it may have got onto the stream
            if runner.last > last:
                runs.note(run, runner.last, done)
                _touch(runner.last, buffers, outs, arena)
                if run.flag:  # it may never end, so nobody will have its results
                    run.stop()
                else:
                    stop.results = outs  # type: ignore[attr-defined]
            raise

    def _settle(
        self, buffers: Sequence[Buffer], takeovers: Sequence[int | None]
    ) -> int:
        """Waits for what computes these buffers, and for readers of those that are
        written; the ticket that is done then."""
        runner = native()
        tickets = [buffer.made for buffer in buffers]
        tickets += [
            buffers[donor].block.ticket for donor in takeovers if donor is not None
        ]
        runner.wait(max(tickets, default=0))
        return runner.done


def _awaited(
    buffers: Sequence[Buffer], takeovers: Sequence[int | None], done: int
) -> bool:
    """Whether the stream, done with ticket `done`, still computes an operand, or still
    reads one that is taken over."""
    for buffer in buffers:
        if buffer.made > done:
            return True
    for donor in takeovers:
        if donor is not None and buffers[donor].block.ticket > done:
            return True
    return False


def _measuring(program: Any, timing: events.Timing) -> Image:
    """The program with launches that note their times."""
    times = Times(program.image.code.size // INSTRUCTION_WORDS)
    timing.spans = times.spans
    return Image(program, times)


def _status(job: int) -> int:
    return ctypes.c_int64.from_address(job + 8 * _STATUS).value


def _touch(
    ticket: int,
    buffers: Sequence[Buffer],
    outs: Sequence[Buffer],
    arena: Buffer | None,
) -> None:
    """Notes in buffers which job uses them, and which computes them."""
    for buffer in buffers:
        buffer.block.ticket = ticket
    for buffer in outs:
        buffer.block.ticket = ticket
        buffer.made = ticket
    if arena is not None:
        arena.block.ticket = ticket
