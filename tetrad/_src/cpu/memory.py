"""Memory of the CPU device: aligned blocks, and a cache of free ones.

`allocate` and `release` talk to the system; `give` puts a block that nobody needs any
more into the free lists, `take` gets one out. Blocks are handled by size class
(`size_class`), so that arrays of nearly equal length share them. Every free block
carries the stream ticket of its last use: work that runs on the stream may take it at
once, since the stream keeps order; work that runs inline may take it only when that
ticket is done. No block with a pending ticket is ever returned to the system.

An address from `allocate` is a multiple of 64. Large blocks start at varying offsets
into their first page, because streams of equal page offset disturb each other.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

ALIGNMENT = 64
PADDING = 128  # behind every block, so that kernels may process whole vectors
MAP_FROM = 4 << 20  # blocks from this size on are mapped, with huge pages
HUGE_PAGE = 2 << 20
COLOURS = 8
COLOUR_STEP = 9 * ALIGNMENT
CACHE_LIMIT = 1 << 30

_PROT_READ_WRITE = 3
_MAP_PRIVATE_ANONYMOUS = 0x22 if sys.platform == "linux" else 0x1002
_MADV_HUGEPAGE = 14
_FAILED = ctypes.c_void_p(-1).value
_MAPPED = hasattr(mmap, "MAP_PRIVATE")


class AllocationFailed(MemoryError):
    """The system has no block of `nbytes` bytes, even after the free lists emptied."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(f"the system has no room for {nbytes} bytes")
        self.nbytes = nbytes


def size_class(nbytes: int) -> int:
    """The size of the block that holds `nbytes`: quarter steps between powers of two,
    plus padding, so that a power of two stays in a class of its own."""
    if nbytes <= 256:
        return (nbytes + 63 & -64 or 64) + PADDING
    step = 1 << ((nbytes - 1).bit_length() - 3)
    return (nbytes + step - 1 & -step) + PADDING


class _System:
    """The allocator of the C library, and page mappings for large blocks."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        size = ctypes.c_size_t
        pointer = ctypes.c_void_p
        self.align = library.aligned_alloc
        self.align.restype = pointer
        self.align.argtypes = [size, size]
        self.free = library.free
        self.free.restype = None
        self.free.argtypes = [pointer]
        self.colour = 0
        self.trim_heap = getattr(library, "malloc_trim", None)
        if _MAPPED:
            integer = ctypes.c_int
            self.map = library.mmap
            self.map.restype = pointer
            self.map.argtypes = [pointer, size, integer, integer, integer, size]
            self.unmap = library.munmap
            self.unmap.argtypes = [pointer, size]
            self.advise = library.madvise
            self.advise.argtypes = [pointer, size, integer]

    def allocate(self, nbytes: int) -> int | None:
        if nbytes < MAP_FROM or not _MAPPED:
            address = self.align(ALIGNMENT, (nbytes + ALIGNMENT - 1) & -ALIGNMENT)
            return address or None
        length = _mapping_length(nbytes)
        start = self.map(
            None, length + HUGE_PAGE, _PROT_READ_WRITE, _MAP_PRIVATE_ANONYMOUS, -1, 0
        )
        if start is None or start == _FAILED:
            return None
        base = (start + HUGE_PAGE - 1) & -HUGE_PAGE
        if base > start:
            self.unmap(start, base - start)
        rest = start + HUGE_PAGE - base
        if rest:
            self.unmap(base + length, rest)
        if sys.platform == "linux":
            self.advise(base, length, _MADV_HUGEPAGE)
        self.colour = (self.colour + 1) % COLOURS
        return int(base + self.colour * COLOUR_STEP)

    def trim(self) -> None:
        """Has the C library return what it keeps for later, where it can."""
        if self.trim_heap is not None:
            self.trim_heap(0)

    def release(self, address: int, nbytes: int) -> None:
        if nbytes < MAP_FROM or not _MAPPED:
            self.free(address)
        else:
            self.unmap(address & -HUGE_PAGE, _mapping_length(nbytes))


def _mapping_length(nbytes: int) -> int:
    return (nbytes + COLOURS * COLOUR_STEP + mmap.PAGESIZE - 1) & -mmap.PAGESIZE


@functools.cache
def _system() -> _System:
    if sys.platform == "win32":
        raise NotImplementedError("the CPU backend needs a POSIX system; use WSL")
    return _System()


def allocate(nbytes: int) -> int:
    """A new block, aligned to 64 bytes, from the system; contents are undefined."""
    address = _system().allocate(nbytes)
    if address is None:
        trim()
        address = _system().allocate(nbytes)
        if address is None:
            raise AllocationFailed(nbytes)
    return address


def release(address: int, nbytes: int) -> None:
    """Return a block of `allocate(nbytes)` to the system."""
    _system().release(address, nbytes)


def machine_bytes() -> int | None:
    """The memory that this process may have: the machine's, or its cgroup's."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    for path in (
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ):
        try:
            with open(path) as file:
                memory = min(memory, int(file.read()))
        except (OSError, ValueError):
            continue
    return memory


def _cache_limit() -> int:
    memory = machine_bytes()
    return CACHE_LIMIT if memory is None else min(CACHE_LIMIT, memory // 8)


def _nothing_pending() -> int:
    return sys.maxsize


class _Free:
    """The free lists. The lock is re-entrant: a garbage collection inside `take` may
    finalise an array whose block comes back through `give`."""

    def __init__(self) -> None:
        self.lists: dict[int, deque[tuple[int, int]]] = {}
        self.lock = threading.RLock()
        self.cached = 0
        self.limit = _cache_limit()
        self.done: Callable[[], int] = _nothing_pending

    def take(self, size: int, ticket_done: int) -> tuple[int, int] | None:
        """A free block of a size class and the ticket of its last use, or None.

        Only blocks whose ticket is at most `ticket_done` qualify: the stream's last
        done ticket for work that runs now, a huge number for work that the stream will
        run.
        """
        with self.lock:
            entries = self.lists.get(size)
            if not entries:
                return None
            # The block given last is the likeliest to be in the processor's caches.
            if entries[-1][1] <= ticket_done:
                self.cached -= size
                return entries.pop()
            if entries[0][1] <= ticket_done:
                self.cached -= size
                return entries.popleft()
        return None

    def give(self, address: int, size: int, ticket: int, new: Any = deque) -> None:
        """Put a block of a size class into the free lists; `ticket` used it last
        (0: none)."""
        with self.lock:
            entries = self.lists.get(size)
            if entries is None:
                entries = self.lists[size] = new()
            entries.append((address, ticket))
            self.cached += size
        if self.cached > self.limit:
            self.shrink(self.limit - self.limit // 4)

    def shrink(self, goal: int) -> int:
        """Release blocks that are done, large ones first, until `goal` bytes remain."""
        done = self.done()
        freed = 0
        with self.lock:
            for size in sorted(self.lists, reverse=True):
                entries = self.lists[size]
                for _ in range(len(entries)):
                    if self.cached <= goal:
                        return freed
                    address, ticket = entries.popleft()
                    if ticket > done:
                        entries.append((address, ticket))
                        continue
                    self.cached -= size
                    freed += size
                    _system().release(address, size)
                if not entries:
                    del self.lists[size]
        return freed


_free = _Free()

# Bound methods, so that a finaliser that holds one works while the process ends.
take = _free.take
give = _free.give


def _after_fork_in_child() -> None:
    # A thread of the parent may have held the lock.
    _free.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def trim() -> int:
    """Return all free blocks whose tickets are done to the system; the bytes freed."""
    freed = _free.shrink(0)
    _system().trim()
    return freed


def shrink(goal: int) -> int:
    """Return free blocks whose tickets are done until `goal` bytes remain; the bytes."""
    return _free.shrink(goal)


def cached_bytes() -> int:
    """Bytes in the free lists."""
    return _free.cached


def cached_blocks() -> int:
    """Blocks in the free lists."""
    return sum([len(entries) for entries in list(_free.lists.values())])


def cache_limit() -> int:
    """How many bytes the free lists may hold."""
    return _free.limit


def set_cache_limit(nbytes: int) -> None:
    """Bound the free lists; at the start 1 GiB or an eighth of the memory."""
    if nbytes < 0:
        raise ValueError(f"the cache limit must not be negative, got {nbytes}")
    _free.limit = nbytes
    if _free.cached > nbytes:
        _free.shrink(nbytes)


def set_clock(done: Callable[[], int]) -> None:
    """Say how to read the last done ticket, which bounds what may be released."""
    _free.done = done


_make_view = ctypes.pythonapi.PyMemoryView_FromMemory
_make_view.restype = ctypes.py_object
_make_view.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_READ = 0x100
_WRITE = 0x200


def view(address: int, nbytes: int, writable: bool = True) -> memoryview:
    """The bytes of a block, without a copy; the block must outlive the view."""
    made: memoryview = _make_view(address, nbytes, _WRITE if writable else _READ)
    return made
