"""The backend of a PJRT plugin: its devices, and programs compiled from StableHLO.

What the runtime calls through the port of `runtime/backend.py`, by way of the package
pypjrt, which loads the plugin and speaks its C interface. Programs are submitted and
Python goes on; a buffer is ready when the plugin says so. Waiting polls, so that Ctrl-C
gets through. Which buffers a program takes over is decided when it runs: the module
names every pair that may share memory, and a run takes back those that may not.

Read `Buffer`, `Program`, then `PjrtBackend`.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Eqn, Jaxpr
from tetrad._src.core.text import jaxpr_text
from tetrad._src.hlo import types
from tetrad._src.hlo.donation import donations, update_copies
from tetrad._src.hlo.emit import emit
from tetrad._src.passes.origins import Origin, whole
from tetrad._src.passes.plan import UpdateCopy
from tetrad._src.runtime import events, waits
from tetrad._src.runtime import execute as execution
from tetrad._src.runtime.device import Device
from tetrad._src.runtime.events import Span, Timing
from tetrad._src.runtime.failures import Failure
from tetrad._src.runtime.ledger import UNLIMITED, Ledger, out_of_memory
from tetrad._src.util import errors
from tetrad._src.util.frames import format_where
from tetrad._src.util.locks import make_lock

SCALARS = 512  # numbers of recent programs that stay on the devices
EAGER_LOOKS = 32  # how often waiting asks before it sleeps
LONGEST_SLEEP = 0.001


class Buffer:
    """A buffer of the plugin that holds one array."""

    __slots__ = (
        "backend", "handle", "ledger", "line", "settled", "outcome", "__weakref__",
    )  # fmt: skip

    backend: PjrtBackend
    handle: int  # the plugin's pointer, which is also its key in the ledger
    ledger: Ledger | None
    line: Any
    settled: bool  # known to hold its value

    def __init__(
        self, backend: PjrtBackend, handle: int, ledger: Ledger | None, line: Any
    ) -> None:
        self.backend = backend
        self.handle = handle
        self.ledger = ledger
        self.line = line
        self.settled = False
        self.outcome: Outcome | None = None  # of the run that computes it

    def wait(self) -> None:
        """Returns when the value is there; raises what went wrong computing it."""
        if not self.settled:
            if events.waits.listeners:
                waits.told(self.backend.wait_for, self)
            else:
                self.backend.wait_for(self)

    def ready(self) -> bool:
        return self.settled or self.backend.is_ready(self)

    def address(self) -> int:
        """The address in the memory of the device."""
        return self.backend.address_of(self)

    def leave_ledger(self) -> None:
        """Its memory is somebody else's from now on."""
        if self.ledger is not None:
            self.ledger.forget(self.handle)
            self.ledger = None

    def __del__(self) -> None:
        self.leave_ledger()
        self.backend.destroy(self.handle)


class Outcome:
    """How a run ends: all buffers that it computes share it until they are there."""

    __slots__ = ("sources", "failure")

    def __init__(self, sources: Sequence[weakref.ref[Buffer]]) -> None:
        self.sources = sources  # what it reads that was not there yet
        self.failure: Failure | None = None

    def cause(self) -> Failure | None:
        """The failure of what it reads."""
        for source in self.sources:
            buffer = source()
            outcome = None if buffer is None else buffer.outcome
            if outcome is not None and outcome.failure is not None:
                return outcome.failure
        return None


class Program:
    """A compiled jaxpr."""

    __slots__ = (
        "in_avals", "out_avals", "by_value", "donors", "copies", "work", "nbytes",
        "jaxpr", "loaded", "donated", "new_kernels", "scratch", "__weakref__",
    )  # fmt: skip

    in_avals: tuple[Aval, ...]
    out_avals: tuple[Aval, ...]
    by_value: tuple[bool, ...]
    donors: tuple[int | None, ...]
    copies: tuple[UpdateCopy, ...]
    work: int
    launch = None  # nothing shorter than `execute`
    nbytes: int  # of all outputs
    jaxpr: Jaxpr
    loaded: Any
    donated: Mapping[int, int]  # output -> input that shares its memory if it may
    new_kernels: int
    scratch: int | None  # bytes that a run needs besides, once somebody asked

    @property
    def temporaries(self) -> int:
        """Bytes that a run needs for intermediate values."""
        if self.scratch is None:
            self.scratch = self.memory()["temp"]
        return self.scratch

    def text(self, stage: str) -> str:
        """A stage of the compilation: jaxpr or stablehlo."""
        if stage == "jaxpr":
            return jaxpr_text(self.jaxpr, lines=True, scopes=True)
        if stage == "stablehlo":
            return emit(self.jaxpr, self.donated)
        raise ValueError(
            f"there is no stage {stage!r}; the stages are jaxpr, stablehlo"
        )

    def cost(self) -> dict[str, float]:
        """What the plugin says that a run costs."""
        found = self.loaded.cost_analysis()
        return {name: x for name, x in found.items() if isinstance(x, (int, float))}

    def memory(self) -> dict[str, int]:
        """What the plugin says about temporaries and code."""
        found = self.loaded.compiled_memory_stats()
        return {
            "temp": int(found.get("temp_size_in_bytes", 0)),
            "code": int(found.get("generated_code_size_in_bytes", 0)),
        }

    def __del__(self) -> None:
        self.loaded.close()


class PjrtBackend:
    """Programs on the devices of one plugin."""

    calls_host = False
    shares_host = False

    def __init__(self, name: str, path: str, reclaim: Callable[[], None]) -> None:
        self.platform = name
        self.path = path
        self.pypjrt = importlib.import_module("pypjrt")
        self.problems = self.pypjrt.errors
        try:
            self.plugin = self.pypjrt.Plugin(path)
            self.client = self.pypjrt.Client.create(
                self.plugin, options=_options(self.plugin), allow_multiple=True
            )
        except (self.problems.PjrtError, OSError) as problem:
            raise RuntimeError(
                f"platform '{name}': the PJRT plugin at {path} did not start: {problem}"
            ) from None
        major, minor = self.plugin.api_version
        self.version = f"{major}.{minor}"
        self.closed = ""
        with self.client.devices() as found:
            self._addresses = [device.address for device in found]
            kinds = [device.kind for device in found]
        self._devices = [Device(self, i, kind) for i, kind in enumerate(kinds)]
        for device in self._devices:
            device.ledger.reclaim = reclaim
        self._scalars: OrderedDict[Any, Buffer] = OrderedDict()
        self._last: dict[int, weakref.ref[Buffer]] = {}  # what was submitted, by device
        self._scalars_lock = make_lock()
        self._programs: weakref.WeakSet[Program] = weakref.WeakSet()
        _open.add(self)

    def __repr__(self) -> str:
        return f"<PJRT backend {self.platform}: {self.path}>"

    @property
    def platform_version(self) -> str:
        return f"PJRT {self.version} from {self.path}"

    def devices(self) -> Sequence[Device]:
        return self._devices

    local_devices = devices

    def device_count(self) -> int:
        return len(self._devices)

    # -- compiling -----------------------------------------------------------------

    def compile(self, jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> Program:
        self.check_open()
        donated = donations(jaxpr, by_value)
        text = emit(jaxpr, donated)
        # Portable: one program for every device of the platform.
        several = len(self._devices) > 1
        options = self.pypjrt.CompileOptions(compile_portable_executable=several)
        try:
            loaded = self.client.compile(text, options=options)
        except self.problems.PjrtError as problem:
            where = jaxpr.eqns[-1].where if jaxpr.eqns else None
            raise self._failed("compile", problem, where) from None
        program = Program()
        program.loaded = loaded
        program.jaxpr = jaxpr
        program.in_avals = jaxpr.in_avals
        program.out_avals = jaxpr.out_avals
        program.by_value = by_value
        program.donated = donated
        program.donors = tuple([donated.get(j) for j in range(len(jaxpr.outs))])
        program.copies = update_copies(jaxpr, donated)
        program.nbytes = sum([aval.nbytes for aval in jaxpr.out_avals])
        program.work = sum([aval.nbytes for aval in jaxpr.in_avals]) + program.nbytes
        program.new_kernels = 1
        program.scratch = None
        self._programs.add(program)
        return program

    def copies(self, jaxpr: Jaxpr, by_value: tuple[bool, ...]) -> tuple[Any, ...]:
        return update_copies(jaxpr, donations(jaxpr, by_value))

    def cost(self, jaxpr: Jaxpr) -> dict[str, float]:
        return self.compile(jaxpr, (False,) * len(jaxpr.ins)).cost()

    def caches(self) -> dict[str, tuple[int, int, int | None]]:
        """What is kept: entries, bytes and their limit, by name."""
        with self._scalars_lock:
            nbytes: int = sum([key[1].itemsize for key in self._scalars])
            count = len(self._scalars)
        sizes = [program.memory()["code"] for program in list(self._programs)]
        return {
            f"numbers on {self.platform}": (count, nbytes, None),
            f"machine code of {self.platform}": (len(sizes), sum(sizes), None),
        }

    def forget(self) -> int:
        """Drops what is kept for later; programs go with the caches of the runtime."""
        with self._scalars_lock:
            freed: int = sum([key[1].itemsize for key in self._scalars])
            self._scalars.clear()
        return freed

    def make_room(self) -> int:
        """Waits for nothing: the plugin keeps its own order, and its own free memory."""
        return 0

    # -- running -------------------------------------------------------------------

    def execute(
        self,
        program: Program,
        buffers: Sequence[Buffer],
        scalars: Sequence[Any],
        takeovers: Sequence[int | None],
        device: Device,
        lines: Sequence[Any],
        timing: Timing | None = None,
    ) -> list[Buffer]:
        self.check_open()
        begin = time.perf_counter()
        ledger = device.ledger
        fresh = program.nbytes
        for j, donor in enumerate(takeovers):
            if donor is not None:
                fresh -= program.out_avals[j].nbytes
        if ledger.limit != UNLIMITED:
            fresh += program.temporaries
        line = lines[0] if lines else None
        if not ledger.admits(fresh):
            raise out_of_memory(device, fresh, line, "result")
        avals = program.in_avals[len(buffers) :]
        numbers = [self.number(x, aval, device) for x, aval in zip(scalars, avals)]
        arguments = [buffer.handle for buffer in (*buffers, *numbers)]
        kept = [i for j, i in program.donated.items() if takeovers[j] is None]
        try:
            try:
                handles = self._launch(program, arguments, kept, device)
            except self.problems.ResourceExhausted:
                ledger.reclaim()
                handles = self._launch(program, arguments, kept, device)
        except self.problems.ResourceExhausted:
            raise out_of_memory(device, fresh, line, "result") from None
        except self.problems.PjrtError as problem:
            raise self._failed("run", problem, lines[-1]) from None
        for donor in takeovers:
            if donor is not None:
                buffers[donor].leave_ledger()
        outs = [
            self._noted(handle, aval, ledger, line)
            for handle, aval, line in zip(handles, program.out_avals, lines)
        ]
        outcome = Outcome([weakref.ref(b) for b in buffers if not b.settled])
        for buffer in outs:
            buffer.outcome = outcome
        if outs:
            self._last[device.id] = weakref.ref(outs[-1])
        if timing is not None:  # the plugin tells when all of it is done, no more
            for buffer in outs:
                self.wait_for(buffer)
            end = time.perf_counter()
            timing.spans = lambda: [Span(0, 1, end - begin, begin, end)]
        return outs

    def origins(
        self, program: Program, places: Sequence[Any]
    ) -> tuple[dict[int, int], list[Origin]]:
        jaxpr = program.jaxpr
        if len(places) == len(jaxpr.eqns):
            eqns = [Eqn(e.op, e.ins, e.outs, p) for e, p in zip(jaxpr.eqns, places)]
            jaxpr = Jaxpr(jaxpr.ins, eqns, jaxpr.outs, jaxpr.name)
        cost = program.cost()
        nbytes, count = cost.get("bytes accessed", 0.0), cost.get("flops")
        return {0: 0}, [whole(jaxpr, nbytes, count)]

    def _launch(
        self,
        program: Program,
        arguments: Sequence[int],
        kept: Sequence[int],
        device: Device,
    ) -> list[int]:
        """Submits a program; gives the handles of its outputs."""
        call = self.plugin.args
        count = len(program.out_avals)
        row = _pointers(arguments)
        rows = _pointers([ctypes.addressof(row)])
        outputs = _pointers([0] * count)
        output_rows = _pointers([ctypes.addressof(outputs)])
        indices = (ctypes.c_int64 * max(len(kept), 1))(*kept)
        options = call(
            "PJRT_ExecuteOptions",
            non_donatable_input_indices=ctypes.addressof(indices),
            num_non_donatable_input_indices=len(kept),
        )
        request = call(
            "PJRT_LoadedExecutable_Execute_Args",
            executable=program.loaded.address,
            options=ctypes.addressof(options),
            argument_lists=ctypes.addressof(rows),
            num_devices=1,
            num_args=len(arguments),
            output_lists=ctypes.addressof(output_rows),
        )
        execution.launched = True
        if len(self._devices) > 1:
            request.execute_device = self._addresses[device.id]
        self.plugin.call("PJRT_LoadedExecutable_Execute", request)
        return [int(outputs[j]) for j in range(count)]

    def number(self, value: Any, aval: Aval, device: Device) -> Buffer:
        """A scalar argument on the device; recent ones are still there."""
        host = np.asarray(value, types.host_dtype(aval.dtype))
        key = (device.id, host.dtype, host.tobytes())
        with self._scalars_lock:
            found = self._scalars.get(key)
            if found is not None:
                self._scalars.move_to_end(key)
                return found
        made = Buffer(self, self._upload(host, aval, device), None, None)
        with self._scalars_lock:
            self._scalars[key] = made
            old = None
            if len(self._scalars) > SCALARS:
                old = self._scalars.popitem(last=False)
        del old  # freed outside the lock
        return made

    def _noted(self, handle: int, aval: Aval, ledger: Ledger, line: Any) -> Buffer:
        ledger.note(handle, aval.nbytes, line, None, aval)
        return Buffer(self, handle, ledger, line)

    def finish(self) -> None:
        for last in list(self._last.values()):
            buffer = last()
            if buffer is not None:
                self.wait_for(buffer)

    # -- transfers -----------------------------------------------------------------

    def put(
        self, host: np.ndarray[Any, Any], aval: Aval, device: Device, line: Any
    ) -> Buffer:
        self.check_open()
        ledger = device.ledger
        if not ledger.admits(aval.nbytes):
            raise out_of_memory(device, aval.nbytes, line, "copy")
        try:
            handle = self._upload(host, aval, device)
        except self.problems.ResourceExhausted:
            raise out_of_memory(device, aval.nbytes, line, "copy") from None
        except self.problems.PjrtError as problem:
            raise self._failed("store an array", problem, line) from None
        return self._noted(handle, aval, ledger, line)

    def _upload(self, host: np.ndarray[Any, Any], aval: Aval, device: Device) -> int:
        code = f"PJRT_Buffer_Type_{types.buffer_type(aval.dtype)}"
        host = np.ascontiguousarray(host, types.host_dtype(aval.dtype))
        extents = (ctypes.c_int64 * max(aval.ndim, 1))(*aval.shape)
        abi = self.plugin.abi
        request = self.plugin.args(
            "PJRT_Client_BufferFromHostBuffer_Args",
            client=self.client.address,
            data=host.ctypes.data,
            type=getattr(abi, code),
            dims=ctypes.addressof(extents),
            num_dims=aval.ndim,
            host_buffer_semantics=abi.PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
            device=self._addresses[device.id],
        )
        self.plugin.call("PJRT_Client_BufferFromHostBuffer", request)
        if request.done_with_host_buffer:
            self._event(request.done_with_host_buffer).close()
        return int(request.buffer)

    def get(self, buffer: Buffer, aval: Aval) -> np.ndarray[Any, Any]:
        """A read-only host array with a copy of the buffer."""
        self.check_open()
        buffer.wait()
        host = np.empty(aval.shape, types.host_dtype(aval.dtype))
        if host.size:
            layout, parts = self._row_major(aval.ndim)
            request = self.plugin.args(
                "PJRT_Buffer_ToHostBuffer_Args",
                src=buffer.handle,
                dst=host.ctypes.data,
                dst_size=host.nbytes,
                host_layout=ctypes.addressof(layout),
            )
            try:
                self.plugin.call("PJRT_Buffer_ToHostBuffer", request)
                if request.event:
                    self._event(request.event).consume()
            except self.problems.PjrtError as problem:
                raise self._failed("read an array", problem, buffer.line) from None
            del parts
        host.flags.writeable = False
        return host

    def _row_major(self, ndim: int) -> tuple[Any, Any]:
        """The layout of host arrays, and what it points to."""
        abi = self.plugin.abi
        order = (ctypes.c_int64 * max(ndim, 1))(*range(ndim - 1, -1, -1))
        layout = self.plugin.args("PJRT_Buffer_MemoryLayout")
        layout.type = abi.PJRT_Buffer_MemoryLayout_Type_Tiled
        layout.tiled.struct_size = abi.PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE
        layout.tiled.minor_to_major = ctypes.addressof(order)
        layout.tiled.minor_to_major_size = ndim
        return layout, order

    # -- buffers -------------------------------------------------------------------

    def wait(self, buffer: Buffer) -> None:
        buffer.wait()

    def wait_for(self, buffer: Buffer) -> None:
        """Polls until the buffer is ready: a signal gets through between two looks."""
        self.check_open()
        with self._ready_event(buffer) as event:
            looks = 0
            pause = 0.00002
            while not event.done():
                looks += 1
                time.sleep(0 if looks < EAGER_LOOKS else pause)
                if looks >= EAGER_LOOKS:
                    pause = min(1.5 * pause, LONGEST_SLEEP)
            try:
                event.result()
            except self.problems.PjrtError as problem:
                raise self._failure(buffer, problem).error(buffer.line) from None
        buffer.settled = True
        buffer.outcome = None

    def _failure(self, buffer: Buffer, problem: Exception) -> Failure:
        """Why a buffer has no value: the failure of what its run read, or of the run."""
        outcome = buffer.outcome
        if outcome is None:
            outcome = buffer.outcome = Outcome(())
        if outcome.failure is None:
            reason = f"{self.platform} says: {problem}"
            outcome.failure = outcome.cause() or Failure(buffer.line, reason)
        return outcome.failure

    def is_ready(self, buffer: Buffer) -> bool:
        self.check_open()
        with self._ready_event(buffer) as event:
            return bool(event.done())

    def _ready_event(self, buffer: Buffer) -> Any:
        request = self.plugin.args("PJRT_Buffer_ReadyEvent_Args", buffer=buffer.handle)
        self.plugin.call("PJRT_Buffer_ReadyEvent", request)
        return self._event(request.event)

    def _event(self, pointer: int) -> Any:
        return self.pypjrt.Event(self.plugin, pointer)

    def address_of(self, buffer: Buffer) -> int:
        self.check_open()
        request = self.plugin.args(
            "PJRT_Buffer_UnsafePointer_Args", buffer=buffer.handle
        )
        self.plugin.call("PJRT_Buffer_UnsafePointer", request)
        return int(request.buffer_pointer)

    def destroy(self, handle: int) -> None:
        """Gives the memory of a buffer back; the plugin waits for its last use."""
        if not self.closed:
            request = self.plugin.args("PJRT_Buffer_Destroy_Args", buffer=handle)
            self.plugin.call("PJRT_Buffer_Destroy", request)

    def _failed(self, what: str, problem: Exception, where: Any) -> Exception:
        return errors.JaxRuntimeError(
            f"{self.platform} could not {what} what {format_where(where)} asks for:"
            f" {problem}"
        )

    # -- the end ---------------------------------------------------------------------

    def check_open(self) -> None:
        if self.closed:
            raise RuntimeError(self.closed)

    def shut_down(self) -> None:
        """At the end of the process: everything goes, in the order that PJRT needs."""
        if self.closed:
            return
        with self._scalars_lock:
            self._scalars.clear()
        for device in self._devices:
            for handle in list(device.ledger.live):
                self.destroy(handle)
        self.closed = f"platform '{self.platform}' is shut down: the process ends"
        for program in list(self._programs):
            program.loaded.close()
        self.client.close()

    def abandon(self) -> None:
        """In a forked child: the plugin's threads are not here, so nothing may run."""
        self.closed = (
            f"platform '{self.platform}' was started before this process was forked and"
            " does not work in the child. Start processes by spawning"
            " (multiprocessing.set_start_method('spawn')), or use jax.devices("
            f"'{self.platform}') in the child only."
        )
        for kept in (self.client, *[program.loaded for program in self._programs]):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _pointers(values: Sequence[int]) -> Any:
    return (ctypes.c_void_p * max(len(values), 1))(*values)


def _options(plugin: Any) -> dict[str, Any] | None:
    """How the plugin's allocator should behave; for GPUs JAX's variables say."""
    if not plugin.is_gpu:
        return None
    fraction = os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
    eager = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    return {
        "preallocate": eager.lower() in ("1", "true"),
        "memory_fraction": float(fraction),
    }


_open: weakref.WeakSet[PjrtBackend] = weakref.WeakSet()


@atexit.register
def _shut_down_all() -> None:
    for backend in list(_open):
        backend.shut_down()


def _abandon_all() -> None:
    for backend in list(_open):
        backend.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)
