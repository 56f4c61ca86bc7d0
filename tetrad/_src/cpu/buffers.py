"""Buffers of the CPU devices, and how their memory comes back when they die.

A buffer is a block of aligned memory plus the stream tickets of the jobs that compute it
and that use it last. Small blocks come back through weak references, large ones through
a finaliser, which gives their memory to the system at once.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.cpu import memory
from tetrad._src.cpu.pool import native
from tetrad._src.cpu.runs import Runs
from tetrad._src.runtime import events, waits
from tetrad._src.runtime.ledger import Ledger
from tetrad._src.util import dtypes

WHENEVER = 1 << 62  # a ticket that every block satisfies: the stream keeps order


class Block:
    """What outlives a buffer: where its memory is, and which job uses it last."""

    __slots__ = ("pointer", "size", "ticket", "ledger")

    pointer: int
    size: int  # size class
    ticket: int  # the last job on the stream that touches it
    ledger: Ledger


class SmallBlock(weakref.ref["Buffer"]):
    """A block that notices when nobody refers to its buffer any more.

    Its callback is no Python function: in one, Ctrl-C would be swallowed, for Python
    has nowhere to raise what happens while an object dies. So dead blocks only queue
    up, and whoever allocates or asks what is in use gives them back.
    """

    __slots__ = Block.__slots__

    pointer: int
    size: int
    ticket: int
    ledger: Ledger


dead: deque[SmallBlock] = deque()
_note_death: Any = dead.append


def bury(size: int = 0, after: int = 0) -> tuple[int, int] | None:
    """Gives back the blocks of buffers that nobody refers to any more.

    Keeps one of a size class for the caller, who may use it if its last ticket is at
    most `after`: what has just died is what is needed next, as a rule.
    """
    kept = None
    while dead:
        try:
            block = dead.popleft()
        except IndexError:  # another thread was faster
            break
        block.ledger.forget(block.pointer)
        if kept is None and block.size == size and block.ticket <= after:
            kept = block.pointer, block.ticket
        else:
            memory.give(block.pointer, block.size, block.ticket)
    return kept


def settle() -> None:
    """Gives back all blocks of buffers that nobody refers to any more."""
    bury()


class Buffer:
    """A block of memory that holds one array."""

    __slots__ = ("pointer", "block", "made", "runs", "__weakref__")

    pointer: int
    block: Any  # a SmallBlock, or a Block
    made: int  # the job that computes it, 0 if that was done at once
    runs: Runs

    def wait(self) -> None:
        """Waits until the array is computed; others may still read it."""
        if self.made:
            self._wait()

    def _wait(self) -> None:
        if self.made > native().done:
            if events.waits.listeners:
                waits.told(native().wait, self.made)
            else:
                native().wait(self.made)
        if self.runs.lost:
            self.runs.check(self.made)

    def ready(self) -> bool:
        return self.made <= native().done

    def address(self) -> int:
        return self.pointer


class LargeBuffer(Buffer):
    """A buffer whose memory goes back to the system at once."""

    __slots__ = ()

    def __del__(self, give: Any = memory.give) -> None:
        block = self.block
        block.ledger.forget(block.pointer)
        give(block.pointer, block.size, block.ticket)


_new = Buffer.__new__


def small_buffer(
    found: tuple[int, int], size: int, ledger: Ledger, runs: Runs
) -> Buffer:
    """A buffer on a small block: its address, and the ticket of its last use."""
    buffer = _new(Buffer)
    block = SmallBlock(buffer, _note_death)
    block.pointer = buffer.pointer = found[0]
    block.ticket = found[1]
    block.size = size
    block.ledger = ledger
    buffer.block = block
    buffer.made = 0
    buffer.runs = runs
    return buffer


def reused(
    nbytes: int,
    size: int,
    ledger: Ledger,
    line: Any,
    after: int,
    aval: Aval,
    runs: Runs,
) -> Buffer | None:
    """A new small buffer on a block that was used before; None if there is none, or if
    the limit is reached."""
    found = bury(size, after) if dead else memory.take(size, after)
    if found is None:
        return None
    if ledger.held + nbytes > ledger.limit:
        memory.give(found[0], size, found[1])
        return None
    buffer = small_buffer(found, size, ledger, runs)
    ledger.note(found[0], nbytes, line, buffer.block, aval)
    return buffer


def large_buffer(
    found: tuple[int, int], size: int, ledger: Ledger, runs: Runs
) -> Buffer:
    """A buffer on a block that the system mapped; see `small_buffer`."""
    buffer = _new(LargeBuffer)
    block = Block()
    block.pointer = buffer.pointer = found[0]
    block.ticket = found[1]
    block.size = size
    block.ledger = ledger
    buffer.block = block
    buffer.made = 0
    buffer.runs = runs
    return buffer


class HostView:
    """Lets NumPy see a buffer, and keeps the buffer for as long as NumPy does."""

    __slots__ = ("__array_interface__", "buffer")

    def __init__(
        self, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.buffer = buffer
        typestr = dtype.str if dtype.isbuiltin == 1 else f"<V{dtype.itemsize}"
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": typestr,
            "data": (buffer.pointer, True),
        }


def host_dtype(aval: Aval) -> np.dtype[Any]:
    """How NumPy holds the elements."""
    if dtypes.is_key(aval.dtype):
        return aval.dtype.held  # type: ignore[no-any-return]
    dtype: np.dtype[Any] = aval.dtype
    return dtype
