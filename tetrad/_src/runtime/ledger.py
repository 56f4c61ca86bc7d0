"""What a device holds: every live buffer, its bytes, its birth line; now, peak, limit.

A backend makes one `Ledger` a device, notes each allocation and release in it, and asks
it before allocating. Sums by source line are made only when somebody looks, so noting
costs one dictionary entry. Who wants to know what happens over time registers a listener
(`history.py`); while nobody does, that costs the test of an empty tuple.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, Protocol, TypeAlias

from tetrad._src.util import errors
from tetrad._src.util.frames import format_where
from tetrad._src.util.sizes import human as human

UNLIMITED = 1 << 62


# What is known of a live buffer: its bytes; the user line that asked for the memory, as a
# place; what the backend wants kept; the type of the array it was made for, None for
# temporary memory; and when that was (`perf_counter()`). A plain tuple is made fastest,
# and a report of many makes none.
Holding: TypeAlias = tuple[int, Any, Any, Any, float]


class Listener(Protocol):
    """Hears of each change: bytes held after it, the birth line, bytes more or less."""

    def changed(self, held: int, line: Any, nbytes: int) -> None: ...


class Ledger:
    """The account of one device."""

    __slots__ = (
        "held", "peak", "limit", "machine", "chosen", "count", "total", "largest",
        "copies", "copied", "live", "reclaim", "settle", "listeners",
    )  # fmt: skip

    def __init__(self) -> None:
        self.held = 0  # bytes in live buffers, and in dead ones not yet settled
        self.peak = 0
        self.machine = UNLIMITED  # what the device has
        self.chosen: int | None = None  # what the user allows
        self.limit = UNLIMITED  # the lesser of both
        self.count = 0  # allocations ever made
        self.total = 0  # bytes ever allocated
        self.largest = 0
        self.copies = 0  # updates that copied the array, ever
        self.copied = 0  # bytes that they copied
        self.live: dict[int, Holding] = {}  # by address
        self.reclaim: Callable[[], None] = _nothing  # drops what only dead work holds
        self.settle: Callable[[], None] = _nothing  # forgets buffers that have died
        self.listeners: tuple[Listener, ...] = ()

    @property
    def now(self) -> int:
        """Bytes in live buffers."""
        self.settle()
        return self.held

    def note(
        self, address: int, nbytes: int, line: Any, keep: Any = None, aval: Any = None
    ) -> None:
        self.live[address] = (nbytes, line, keep, aval, perf_counter())
        self.count += 1
        self.total += nbytes
        if nbytes > self.largest:
            self.largest = nbytes
        self.held = held = self.held + nbytes
        if held > self.peak:
            self.peak = held
        if self.listeners:
            for listener in self.listeners:
                listener.changed(held, line, nbytes)

    def forget(self, address: int) -> None:
        entry = self.live.pop(address, None)
        if entry is not None:
            self.held = held = self.held - entry[0]
            if self.listeners:
                for listener in self.listeners:
                    listener.changed(held, entry[1], -entry[0])

    def retype(self, address: int, aval: Any) -> None:
        """The memory holds an array of another type from now on; it keeps its line."""
        entry = self.live.get(address)
        if entry is not None:
            nbytes, line, keep, _, born = entry
            self.live[address] = (nbytes, line, keep, aval, born)

    def holdings(self) -> list[Holding]:
        """The live buffers, the oldest first."""
        self.settle()
        return list(self.live.values())

    def admits(self, nbytes: int) -> bool:
        """Whether `nbytes` more stay within the limit, after dropping dead work."""
        if self.now + nbytes <= self.limit:
            return True
        self.reclaim()
        return self.now + nbytes <= self.limit

    def choose(self, nbytes: int | None) -> None:
        """Sets the limit of the user; None: there is none."""
        self.chosen = nbytes
        self.limit = self.machine if nbytes is None else min(nbytes, self.machine)

    def reset_peak(self) -> None:
        self.peak = self.now

    def by_line(self) -> list[tuple[str, int, int]]:
        """(line, bytes, buffers) for the live buffers, largest first."""
        nbytes: Counter[str] = Counter()
        buffers: Counter[str] = Counter()
        for where, holdings in by_place(self.holdings()):
            place = format_where(where)
            nbytes[place] += sum([h[0] for h in holdings])
            buffers[place] += len(holdings)
        return [(place, n, buffers[place]) for place, n in nbytes.most_common()]

    def stats(self) -> dict[str, int]:
        """Under the names that JAX uses for GPU devices."""
        self.reclaim()
        known = {} if self.limit == UNLIMITED else {"bytes_limit": self.limit}
        return {
            "num_allocs": self.count,
            "bytes_in_use": self.now,
            "peak_bytes_in_use": self.peak,
            "largest_alloc_size": self.largest,
            "bytes_reserved": 0,
            "peak_bytes_reserved": 0,
            **known,
        }


def _nothing() -> None:
    return None


def place_key(where: Any) -> Any:
    """What is the same for equal places; code objects are slow to compare and hash."""
    return where if where is None else (id(where[0]), where[1])


def by_place(holdings: Iterable[Holding]) -> list[tuple[Any, list[Holding]]]:
    """Holdings grouped by the instruction that asked for them."""
    groups: dict[Any, tuple[Any, list[Holding]]] = {}
    for holding in holdings:
        where = holding[1]
        key = place_key(where)
        group = groups.get(key)
        if group is None:
            group = groups[key] = (where, [])
        group[1].append(holding)
    return list(groups.values())


class Asked:
    """What was asked of a device that could not give it: the facts for the message."""

    __slots__ = ("device", "nbytes", "where", "role", "op", "node")

    def __init__(self, device: Any, nbytes: int, where: Any, role: str) -> None:
        self.device = device
        self.nbytes = nbytes
        self.where = where
        self.role = role  # "result", "intermediates" or "copy" (of host data)
        self.op: Any = None  # the operation, once it is known
        self.node: Any = None  # a weak reference to the array that was to be computed


def out_of_memory(
    device: Any, nbytes: int, line: Any, role: str
) -> errors.OutOfMemoryError:
    """What a backend raises; the runtime makes room and tries again.

    The words are found when the error reaches the user, see `see/exhausted.py`.
    """
    return errors.OutOfMemoryError(
        f"{device} cannot give {human(nbytes)} more for what {format_where(line)} asks",
        Asked(device, nbytes, line, role),
    )
