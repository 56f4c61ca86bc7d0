"""What the runtime tells whoever looks on: transfers, waits, copies and runs.

Reports (`see`) and guards listen here. While nobody listens, an event costs the test of
an empty tuple:

    if events.transfers.listeners:
        events.transfers.tell(Transfer(...))

Listeners are called in the thread in which it happens, before the act where they may
forbid it (guards, copies), after it where they want to know how long it took (waits,
runs). What a listener raises reaches the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from tetrad._src.util.locks import make_lock

T = TypeVar("T")

_lock = make_lock()


class Transfer(NamedTuple):
    """Bytes are about to go from one place to another; None stands for the host."""

    nbytes: int
    source: Any  # a Device, or None
    target: Any  # a Device, or None
    where: Any  # the user line that asks, as `frames.user_frame()` gives it
    reason: str  # what asked: "float()", "np.asarray", "device_put", "operand of …"
    kind: str = "implicit"  # or "explicit", or "constant", which no guard minds
    aval: Any = None  # the type of the array, all of which is read even if nbytes is 0


class Wait(NamedTuple):
    """Python waited for a device."""

    seconds: float
    where: Any
    reason: str  # as for a transfer, or "block_until_ready"


class Copy(NamedTuple):
    """An update is about to copy the array it updates, since others still hold it."""

    array: Any  # the old array
    nbytes: int
    where: Any  # the line of the update
    holders: int  # how many others hold it
    program: bool  # whether it happens inside a compiled program


class Run(NamedTuple):
    """A program has been given to a device."""

    program: Any  # the executable
    device: Any
    where: Any  # the last line that it serves
    submitted: float  # `time.perf_counter()` when it was submitted
    places: tuple[Any, ...]  # the lines of the operations in it, in order
    timing: Timing  # what the device measures


class Span(NamedTuple):
    """What one part of a program took in one run; times are of `time.perf_counter`."""

    number: int  # of the part, see `Backend.origins`
    turns: int  # how often it ran
    seconds: float  # of all that
    first: float  # when it began
    last: float  # when it ended


class Timing:
    """What a device measures of one run: filled in by the backend that runs it."""

    __slots__ = ("here", "done", "spans")

    def __init__(self) -> None:
        self.here = True  # whoever submitted it had it run before going on
        self.done: Callable[[], bool] = _yes
        self.spans: Callable[[], list[Span]] = _nothing  # once it is done


def _yes() -> bool:
    return True


def _nothing() -> list[Span]:
    return []


class Annotation(NamedTuple):
    """A stretch of the program that the user gave a name."""

    name: str
    begin: float  # `time.perf_counter()`
    end: float
    thread: int
    details: dict[str, Any]


class Event(Generic[T]):
    """One kind of event and those who listen."""

    __slots__ = ("listeners",)

    def __init__(self) -> None:
        self.listeners: tuple[Callable[[T], None], ...] = ()

    def tell(self, fact: T) -> None:
        for listener in self.listeners:
            listener(fact)

    @contextmanager
    def heard_by(self, listener: Callable[[T], None]) -> Iterator[None]:
        """Calls `listener` for each event of the block, in whichever thread."""
        with _lock:
            self.listeners = (*self.listeners, listener)
        try:
            yield
        finally:
            with _lock:
                listeners = list(self.listeners)
                listeners.remove(listener)
                self.listeners = tuple(listeners)


transfers: Event[Transfer] = Event()
guards: Event[Transfer] = Event()  # asked before; they may raise
waits: Event[Wait] = Event()
copies: Event[Copy] = Event()
runs: Event[Run] = Event()
marks: Event[Annotation] = Event()
