"""LLVM at work: the text of a module in, the bytes of an object file out.

`compile_object` is the only entry used in production. llvmlite is imported at the first
compile, never at import. llvmlite serialises every call with one lock; where its shared
library offers the entry points by name, each compile instead runs in an LLVM context
of its own, outside that lock, so that several threads compile at the same time.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from tetrad._src.cpu import native_host


class CompileError(RuntimeError):
    """LLVM refused a module; the message holds LLVM's words and the offending line."""


class Target(NamedTuple):
    """What every module is compiled for, and llvmlite's object for it."""

    triple: str
    data_layout: str
    cpu: str
    features: str
    description: Any

    @property
    def header(self) -> str:
        return (
            f'target datalayout = "{self.data_layout}"\n'
            f'target triple = "{self.triple}"\n'
        )


_setup_lock = threading.Lock()
_target: Target | None = None
_local = threading.local()
_idle_machines: dict[int, list[Any]] = {}


def binding() -> Any:
    """The module llvmlite.binding, imported now if not before."""
    return importlib.import_module("llvmlite.binding")


def _llvmlite_lock() -> Any:
    if "llvmlite.binding.ffi" not in sys.modules:
        return None
    return getattr(getattr(binding().ffi.lib, "_lock", None), "_lock", None)


def before_fork() -> None:
    """Let no other thread be inside llvmlite while this one forks."""
    lock = _llvmlite_lock()
    if lock is not None:
        lock.acquire()


def after_fork(in_child: bool) -> None:
    """Undo `before_fork`; in the child, nobody else holds our lock."""
    global _setup_lock
    if in_child:
        _setup_lock = threading.Lock()
    lock = _llvmlite_lock()
    if lock is not None:
        # It is not ours if llvmlite was imported in between.
        with contextlib.suppress(RuntimeError):
            lock.release()


def target() -> Target:
    """The compilation target: the host, or the CPU named by TETRAD_CPU."""
    global _target
    with _setup_lock:
        if _target is None:
            _target = _find_target()
        return _target


def _find_target() -> Target:
    llvm = binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    triple = llvm.get_process_triple()
    description = llvm.Target.from_triple(triple)
    cpu = native_host.requested_cpu()
    features = ""
    if not cpu:
        cpu = llvm.get_host_cpu_name()
        features = llvm.get_host_cpu_features().flatten()
    machine = _make_machine(description, cpu, features, 2)
    layout = str(machine.target_data)
    return Target(triple, layout, cpu, features, description)


def _make_machine(description: Any, cpu: str, features: str, opt: int) -> Any:
    return description.create_target_machine(
        cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="small"
    )


def target_machine(opt: int) -> Any:
    """This thread's target machine for an optimisation level (they are not shared)."""
    machines: dict[int, Any] | None = getattr(_local, "machines", None)
    if machines is None:
        machines = {}
        _local.machines = machines
    machine = machines.get(opt)
    if machine is None:
        goal = target()
        machine = _make_machine(goal.description, goal.cpu, goal.features, opt)
        machines[opt] = machine
    return machine


@contextlib.contextmanager
def _borrowed_machine(opt: int) -> Iterator[Any]:
    """A target machine that no other thread uses meanwhile."""
    goal = target()
    idle = _idle_machines.setdefault(opt, [])
    try:
        machine = idle.pop()
    except IndexError:
        machine = _make_machine(goal.description, goal.cpu, goal.features, opt)
    try:
        yield machine
    finally:
        idle.append(machine)


def compile_object(text: str, *, opt: int = 2, passes: bool = False) -> bytes:
    """Compile module text without a target header to an object file."""
    with _borrowed_machine(opt) as machine:
        return _compile_with(machine, text, passes)


def _compile_with(machine: Any, text: str, passes: bool) -> bytes:
    full = target().header + text
    raw = None if passes else _raw_entry_points()
    if raw is not None:
        return raw.compile(full, machine)
    llvm = binding()
    context = llvm.create_context()
    try:
        module = llvm.parse_assembly(full, context)
    except RuntimeError as error:
        raise _compile_error(str(error), full) from None
    try:
        module.verify()
        if passes:
            _light_passes(module, machine)
        return bytes(machine.emit_object(module))
    except RuntimeError as error:
        raise _compile_error(str(error), full) from None
    finally:
        module.close()


def emit_assembly(text: str, *, opt: int = 2) -> str:
    """The assembly that `compile_object` would produce, for people to read."""
    llvm = binding()
    full = target().header + text
    machine = target_machine(opt)
    try:
        module = llvm.parse_assembly(full, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise _compile_error(str(error), full) from None
    return str(machine.emit_assembly(module))


_PROBE = """
define dso_local void @probe(ptr %p) nounwind "prefer-vector-width"="512" {
  %x = load <16 x i32>, ptr %p, align 64
  %y = add <16 x i32> %x, %x
  store <16 x i32> %y, ptr %p, align 64
  ret void
}
"""


@functools.cache
def widest_vectors() -> int:
    """The widest integer vectors of the target in bits, read off code that uses them."""
    assembly = emit_assembly(_PROBE)
    if "zmm" in assembly:
        return 512
    return 256 if "ymm" in assembly else 128


def _light_passes(module: Any, machine: Any) -> None:
    """Inline what asks for it, promote allocas, fold, drop dead code; no vectoriser."""
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(2)
    builder = llvm.create_pass_builder(machine, options)
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.add_dead_code_elimination_pass()
    manager.run(module, builder)


def _compile_error(message: str, text: str) -> CompileError:
    return CompileError(f"LLVM refused the module: {message.strip()}")


class _Raw:
    """llvmlite's exported functions, called without its lock."""

    def __init__(self, library: ctypes.CDLL) -> None:
        pointer = ctypes.c_void_p
        text = ctypes.c_char_p
        out = ctypes.POINTER(pointer)

        def bind(name: str, result: Any, *arguments: Any) -> Any:
            entry = library[name]
            entry.restype = result
            entry.argtypes = list(arguments)
            return entry

        self.context = bind("LLVMPY_ContextCreate", pointer)
        self.drop_context = bind("LLVMPY_ContextDispose", None, pointer)
        self.parse = bind("LLVMPY_ParseAssembly", pointer, pointer, text, out)
        self.verify = bind("LLVMPY_VerifyModule", ctypes.c_bool, pointer, out)
        self.drop_module = bind("LLVMPY_DisposeModule", None, pointer)
        self.emit = bind(
            "LLVMPY_TargetMachineEmitToMemory",
            pointer,
            pointer,
            pointer,
            ctypes.c_int,
            out,
        )
        self.start = bind("LLVMPY_GetBufferStart", pointer, pointer)
        self.size = bind("LLVMPY_GetBufferSize", ctypes.c_size_t, pointer)
        self.drop_buffer = bind("LLVMPY_DisposeMemoryBuffer", None, pointer)
        self.drop_string = bind("LLVMPY_DisposeString", None, pointer)

    def message(self, out: ctypes.c_void_p) -> str:
        if not out.value:
            return "no message"
        words = ctypes.string_at(out.value).decode(errors="replace")
        self.drop_string(out)
        return words

    def compile(self, text: str, machine: Any) -> bytes:
        context = self.context()
        try:
            return self.compile_in(context, text, machine)
        finally:
            self.drop_context(context)

    def compile_in(self, context: int, text: str, machine: Any) -> bytes:
        out = ctypes.c_void_p()
        module = self.parse(context, text.encode(), ctypes.byref(out))
        if not module:
            raise _compile_error(self.message(out), text)
        try:
            if self.verify(module, ctypes.byref(out)):
                raise _compile_error(self.message(out), text)
            handle = ctypes.cast(machine._ptr, ctypes.c_void_p)
            buffer = self.emit(handle, module, 1, ctypes.byref(out))
            if not buffer:
                raise _compile_error(self.message(out), text)
        finally:
            self.drop_module(module)
        try:
            return ctypes.string_at(self.start(buffer), self.size(buffer))
        finally:
            self.drop_buffer(buffer)


_raw: _Raw | None = None
_raw_tried = False


def _raw_entry_points() -> _Raw | None:
    global _raw, _raw_tried
    if not _raw_tried:
        with _setup_lock:
            if not _raw_tried:
                try:
                    _raw = _Raw(ctypes.CDLL(binding().ffi.lib._name))
                except (AttributeError, OSError):
                    _raw = None  # another llvmlite: its public, serialised interface
                _raw_tried = True
    return _raw
