"""What a device held over time, recorded while somebody looks.

In: the changes that a ledger tells its listeners. Out: a `History`: what was there at the
beginning, by birth line, and a bounded list of changes. When the list is full, changes
that lie close together are summed by line, in such a way that the peaks stay.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from tetrad._src.runtime.ledger import Ledger, by_place, place_key

LIMIT = 20_000  # changes that a history keeps


class Change(NamedTuple):
    """Memory was taken or given back."""

    time: float  # `perf_counter()`
    held: int  # bytes in use afterwards
    line: Any  # the birth line, as a place
    nbytes: int  # more, or less


class History:
    """The changes of one ledger from `start` to `stop`.

    `peak` is the largest number of bytes in use at once, `allocated` the sum of all bytes
    that were taken, in `allocations` pieces.
    """

    def __init__(self, ledger: Ledger, limit: int = LIMIT) -> None:
        self.ledger = ledger
        self.limit = limit
        self.before: list[tuple[Any, int]] = []  # (line, bytes) at the start
        self.changes: list[Change] = []
        self.started = self.stopped = 0.0
        self.begin = self.end = self.peak = 0
        self.allocated = self.allocations = 0
        self.copies = self.copied = 0  # by updates, before the start
        self._thinning = threading.Lock()

    def start(self) -> None:
        ledger = self.ledger
        holdings = ledger.holdings()
        self.before = [
            (where, sum([h[0] for h in group])) for where, group in by_place(holdings)
        ]
        self.begin = self.peak = ledger.now
        self.copies, self.copied = ledger.copies, ledger.copied
        self.started = perf_counter()
        ledger.listeners = (*ledger.listeners, self)

    def stop(self) -> None:
        self.end = self.ledger.now
        self.stopped = perf_counter()
        listeners = self.ledger.listeners
        self.ledger.listeners = tuple([x for x in listeners if x is not self])

    def at_peak(self) -> list[tuple[Any, int]]:
        """(line, bytes) at the first moment at which most was in use."""
        changes = self.changes[:]
        top = max(range(len(changes)), key=lambda i: changes[i].held, default=-1)
        if top < 0 or changes[top].held <= self.begin:
            return self.before
        sums: dict[Any, tuple[Any, int]] = {}
        steps = [(c.line, c.nbytes) for c in changes[: top + 1]]
        for line, nbytes in [*self.before, *steps]:
            key = place_key(line)
            known = sums[key][1] if key in sums else 0
            sums[key] = line, known + nbytes
        return list(sums.values())

    def changed(self, held: int, line: Any, nbytes: int) -> None:
        """The ledger says: `held` bytes now, `nbytes` more."""
        if nbytes > 0:
            self.allocated += nbytes
            self.allocations += 1
            if held > self.peak:
                self.peak = held
        changes = self.changes
        changes.append(Change(perf_counter(), held, line, nbytes))
        if len(changes) > self.limit and self._thinning.acquire(blocking=False):
            try:
                self._thin()
            finally:
                self._thinning.release()

    def _thin(self) -> None:
        """Makes at most half of the list of it. Others may go on appending."""
        count = len(self.changes)
        known = self.changes[:count]
        size = 4
        made = known
        while len(made) > self.limit // 2 and size <= 2 * count:
            made = thinned(known, size)
            size *= 2
        if len(made) > self.limit // 2:  # as many lines as changes
            made = thinned([c._replace(line=None) for c in known], size)
        self.changes[:count] = made


def thinned(changes: Sequence[Change], size: int) -> list[Change]:
    """The same course with groups of `size` changes summed by line.

    Each group is summed up to its highest point and from there on.
    """
    made: list[Change] = []
    held = changes[0].held - changes[0].nbytes if changes else 0
    for first in range(0, len(changes), size):
        group = changes[first : first + size]
        top = max(range(len(group)), key=lambda i: group[i].held)
        for part in (group[: top + 1], group[top + 1 :]):
            for line, nbytes in _sums(part):
                held += nbytes
                made.append(Change(part[-1].time, held, line, nbytes))
    return made


def _sums(changes: Sequence[Change]) -> list[tuple[Any, int]]:
    """(line, bytes) that differ from 0, those that became less first."""
    sums: dict[Any, tuple[Any, int]] = {}
    for change in changes:
        key = place_key(change.line)
        nbytes = sums[key][1] if key in sums else 0
        sums[key] = change.line, nbytes + change.nbytes
    return sorted([s for s in sums.values() if s[1]], key=lambda s: s[1])
