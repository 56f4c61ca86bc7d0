"""The engine: LLVM text in, callable machine code out.

`assemble(text, names)` returns a `Code` whose `symbols` map function names to addresses.
On the way it asks, in this order: the memory cache, the disk cache (`native_cache`),
the compiler (`native_llvm`); objects are loaded by `native_elf` on Linux x86-64 and by
LLVM's LLJIT elsewhere. Names that the text declares but does not define are looked up
in a table (`define_symbol`), then by resolvers registered for a prefix, then among our
own conversions (`native_builtins`), then in the C and mathematics libraries. Read `assemble`, `_produce`, `_load`.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple

from tetrad._src.cpu import (
    native_builtins,
    native_cache,
    native_elf,
    native_host,
    native_llvm,
)
from tetrad._src.runtime import threads
from tetrad._src.util.config import config

CompileError = native_llvm.CompileError
LoadError = native_elf.LoadError

SHORT = 16_000  # characters that LLVM compiles in a few hundredths of a second
OWN_LOADER = sys.platform == "linux" and native_host.machine() == "x86_64"


_loaded = [0]  # bytes of code that may be unmapped


class Code:
    """Loaded machine code; it is unmapped when the last reference to this object goes.

    Whoever keeps an address from `symbols` keeps the `Code` too. `pin` gives the code
    up to the end of the process, for code that other threads may be running in.
    """

    __slots__ = ("__weakref__", "_unload", "size", "symbols")

    def __init__(
        self, symbols: dict[str, int], size: int, unload: Callable[[], None]
    ) -> None:
        self.symbols = symbols
        self.size = size
        self._unload: Callable[[], None] | None = unload
        _loaded[0] += size

    def __getitem__(self, name: str) -> int:
        return self.symbols[name]

    def __repr__(self) -> str:
        return f"Code({', '.join(self.symbols)}; {self.size} bytes)"

    def pin(self) -> Code:
        """Never unmap this code."""
        if self._unload is not None:
            self._unload = None
            _loaded[0] -= self.size
        return self

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # The system frees everything at exit, when modules may be gone already.
        unload = getattr(self, "_unload", None)
        if unload is not None and not is_finalizing():
            unload()
            _loaded[0] -= self.size


class CompileRecord(NamedTuple):
    """One line of the compile statistics."""

    names: tuple[str, ...]
    milliseconds: float
    from_disk: bool


compiles: list[CompileRecord] = []

_lock = threading.Lock()
_cache: OrderedDict[bytes, Code] = OrderedDict()
_cache_bytes = 0
_in_work: dict[bytes, _Work] = {}
_symbols: dict[str, int] = {}
_resolvers: dict[str, Callable[[str], int | None]] = {}


def assemble(
    text: str, names: Sequence[str], *, opt: int = 2, passes: bool = False
) -> Code:
    """Compile function definitions and declarations (no target header) to addresses.

    `names` are the functions that the caller will ask for; they must be global. `opt`
    is the level of code generation, 0 to 3. `passes` runs a light mid-level pipeline,
    for large hand-written modules. Safe to call from several threads.
    """
    code = None
    while code is None:
        apart = len(text) > SHORT and _is_main() and threads.count() > 1
        code = _begin(text, names, opt, passes, apart).wait()
    for name in names:
        if name not in code.symbols:
            raise CompileError(
                f"the module does not define a global function {name!r}; "
                f"it defines {', '.join(code.symbols) or 'none'}"
            )
    return code


def assemble_all(modules: Sequence[tuple[str, Sequence[str]]]) -> list[Code]:
    """Compile several modules, on as many threads as there are modules."""
    if len(modules) > 1 and threads.count() > 1:
        for text, names in modules:
            _begin(text, names, 2, False, True)
    return [assemble(*module) for module in modules]


class _Work:
    """One module that is being compiled, by this thread or another one.

    LLVM cannot be stopped, and Python raises nothing while a thread is inside of it. So
    the main thread has another one compile what may take long, and waits: then Ctrl-C
    ends the wait. The code is there when somebody asks for it again.
    """

    __slots__ = ("code", "done", "error", "thread")

    def __init__(self) -> None:
        self.code: Code | None = None
        self.error: BaseException | None = None
        self.done = threading.Event()
        self.thread: threading.Thread | None = None

    def wait(self) -> Code | None:
        """The code; None if Ctrl-C stopped another thread that compiled it."""
        self.done.wait()
        if self.thread is not None:
            self.thread.join()
        if isinstance(self.error, KeyboardInterrupt) and not _is_main():
            return None
        if self.error is not None:
            raise self.error.with_traceback(None)
        return self.code

    def start(self, arguments: tuple[Any, ...]) -> bool:
        """Compiles on a thread of its own; no if the system refuses one."""
        thread = threading.Thread(
            target=_without_signals, args=(self, arguments), daemon=True
        )
        self.thread = thread
        try:
            thread.start()
        except RuntimeError:
            self.thread = None
            return False
        return True

    def end(self, key: bytes, error: BaseException | None) -> None:
        """Lets those go on who wait."""
        self.error = error
        with _lock:
            if _in_work.get(key) is self:
                del _in_work[key]
        self.done.set()

    def run(
        self,
        text: str,
        names: tuple[str, ...],
        key: bytes,
        opt: int,
        passes: bool,
        stored: bytes | None,
    ) -> None:
        problem: BaseException | None = None
        try:
            self.code = _produce(text, names, key, opt, passes, stored)
            _remember(key, self.code)
        except BaseException as error:
            problem = error
        finally:
            self.end(key, problem)


def _without_signals(work: _Work, arguments: tuple[Any, ...]) -> None:
    """What a thread of its own does; signals are for the main thread."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    work.run(*arguments)


def _begin(
    text: str, names: Sequence[str], opt: int, passes: bool, apart: bool
) -> _Work:
    """Compiles a module unless it is known or in work; `apart`: on another thread."""
    key = _digest(text, opt, passes)
    own = _Work()
    try:
        code = _remembered(key)
        if code is not None:
            own.code = code
            own.done.set()
            return own
        with _lock:
            work = _in_work.setdefault(key, own)
        if work is own:
            stored = _stored(key)
            arguments = (text, tuple(names), key, opt, passes, stored)
            if not (apart and stored is None and own.start(arguments)):
                own.run(*arguments)
        return work
    except BaseException as error:  # Ctrl-C: nobody may wait for this for ever
        if own.thread is None:
            own.end(key, error)
        raise


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def code_bytes() -> int:
    """Bytes of machine code that the memory cache holds."""
    return _cache_bytes


def loaded_bytes() -> int:
    """Bytes of machine code that is loaded, but for what stays to the end."""
    return _loaded[0]


def drop(kept: Container[int]) -> None:
    """Takes all code but the kept (by identity) out of the memory cache.

    What nobody refers to is unmapped then; the rest when it is let go.
    """
    global _cache_bytes
    dropped = []
    with _lock:
        for key, code in list(_cache.items()):
            if id(code) not in kept:
                del _cache[key]
                _cache_bytes -= code.size
                dropped.append(code)
    del dropped  # unmapping happens here, outside the lock


def forget() -> int:
    """Empty the memory cache; returns its bytes. Code that is in use stays loaded."""
    freed = _cache_bytes
    drop(())
    return freed


def define_symbol(name: str, address: int) -> None:
    """Let compiled text that declares `name` call `address`."""
    _symbols[name] = address


def add_resolver(prefix: str, resolve: Callable[[str], int | None]) -> None:
    """Ask `resolve` for names that start with `prefix`, at their first use."""
    _resolvers[prefix] = resolve


def lookup_symbol(name: str) -> int:
    """The address that compiled code gets for an external name."""
    address = _symbols.get(name)
    if address is not None:
        return address
    for prefix, resolve in _resolvers.items():
        if name.startswith(prefix):
            address = resolve(name)
            if address:
                _symbols[name] = address
                return address
    if name in native_builtins.NAMES:
        code = assemble(native_builtins.text(), native_builtins.NAMES).pin()
        _symbols.update(code.symbols)
        return code[name]
    for library in _system_libraries():
        try:
            entry = getattr(library, name)
        except AttributeError:
            continue
        address = ctypes.cast(entry, ctypes.c_void_p).value
        if address:
            _symbols[name] = address
            return address
    raise LoadError(
        f"compiled code refers to {name!r}, which nothing defines; "
        "call define_symbol(name, address) first"
    )


@functools.cache
def vector_bits() -> int:
    """Width of the vectors that code should use: 512, 256 or 128."""
    if native_host.machine() != "x86_64":
        return 128
    flags = native_host.flags()
    if not native_host.requested_cpu() and flags:
        if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
            return 512
        return 256 if "avx2" in flags else 128
    return native_llvm.widest_vectors()


def function(address: int, restype: Any, *argtypes: Any, gil: bool) -> Any:
    """A Python callable for machine code; `gil=False` releases the GIL during calls.

    The callable does not keep the code alive: hold its `Code`.
    """
    make = ctypes.PYFUNCTYPE if gil else ctypes.CFUNCTYPE
    return make(restype, *argtypes)(address)


def _digest(text: str, opt: int, passes: bool) -> bytes:
    state = hashlib.blake2b(text.encode(), digest_size=32)
    state.update(b"opt %d passes %d" % (opt, passes))
    return state.digest()


def _remembered(key: bytes) -> Code | None:
    with _lock:
        code = _cache.get(key)
        if code is not None:
            _cache.move_to_end(key)
        return code


def _remember(key: bytes, code: Code) -> None:
    global _cache_bytes
    evicted = []
    with _lock:
        _cache[key] = code
        _cache_bytes += code.size
        while _cache_bytes > config.tetrad_code_limit and len(_cache) > 1:
            _, old = _cache.popitem(last=False)
            _cache_bytes -= old.size
            evicted.append(old)


def _produce(
    text: str,
    names: tuple[str, ...],
    key: bytes,
    opt: int,
    passes: bool,
    stored: bytes | None,
) -> Code:
    """Loads the object, which is compiled and written to disk unless it is `stored`."""
    start = time.perf_counter()
    data = stored
    if data is None:
        data = native_llvm.compile_object(text, opt=opt, passes=passes)
        disk_key = _disk_key(key)
        if disk_key is not None:
            native_cache.write(disk_key, data)
    code = _load(data, names)
    milliseconds = (time.perf_counter() - start) * 1e3
    compiles.append(CompileRecord(names, milliseconds, stored is not None))
    return code


def _disk_key(key: bytes) -> bytes | None:
    identity = native_host.identity()
    return None if identity is None else native_cache.disk_key(key, identity)


def _stored(key: bytes) -> bytes | None:
    """The object on disk, if it is there."""
    disk_key = _disk_key(key)
    return None if disk_key is None else native_cache.read(disk_key)


def _load(data: bytes, names: tuple[str, ...]) -> Code:
    if not OWN_LOADER:
        return _load_with_lljit(data, names)
    loaded = native_elf.load(data, lookup_symbol)
    base, size = loaded.base, loaded.size

    def unload() -> None:
        native_elf.unload(base, size)

    return Code(loaded.symbols, size, unload)


_lljit: Any = None
_lljit_count = 0


def _load_with_lljit(data: bytes, names: tuple[str, ...]) -> Code:
    """Load through LLVM's own linker: for systems that `native_elf` does not know."""
    global _lljit, _lljit_count
    llvm = native_llvm.binding()
    native_llvm.target()
    with _lock:
        if _lljit is None:
            machine = native_llvm.target_machine(2)
            _lljit = llvm.create_lljit_compiler(machine)
        _lljit_count += 1
        library = f"tetrad{_lljit_count}"
    builder = llvm.JITLibraryBuilder()
    builder.add_object_img(data)
    builder.add_current_process()
    for name, address in list(_symbols.items()):
        builder.import_symbol(name, address)
    for name in names:
        builder.export_symbol(name)
    try:
        tracker = builder.link(_lljit, library)
    except RuntimeError as error:
        raise LoadError(f"LLVM cannot link the module: {error}") from None
    symbols = {name: tracker[name] for name in names}
    return Code(symbols, len(data), tracker.close)


def _after_fork_in_child() -> None:
    """Locks that threads of the parent held would stay locked for ever."""
    global _lock
    _lock = threading.Lock()
    _in_work.clear()
    native_llvm.after_fork(True)


def _after_fork_in_parent() -> None:
    native_llvm.after_fork(False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=native_llvm.before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )

_libraries: list[ctypes.CDLL] | None = None


def _system_libraries() -> list[ctypes.CDLL]:
    global _libraries
    if _libraries is None:
        found = [ctypes.CDLL(None)]
        for name in ("libm.so.6", "libgcc_s.so.1"):
            if sys.platform == "linux":
                try:
                    found.append(ctypes.CDLL(name))
                except OSError:
                    continue
        _libraries = found
    return _libraries
