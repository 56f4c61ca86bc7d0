"""`tetrad.see.memory()`: what the devices hold, their peaks, and which lines made it.

In: the ledgers of the devices, and for a block their histories. Out: a report that prints
as a table by source line, shows itself in notebooks, and is saved as a page, a picture or
data. `picture.py` draws, `page.py` writes the page.

Read `Line` (a row of the table), `DeviceMemory` (one device), then `Memory`.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tetrad._src.runtime import device as registry
from tetrad._src.runtime import flush
from tetrad._src.runtime.device import Device
from tetrad._src.runtime.history import History
from tetrad._src.runtime.ledger import Holding, by_place, human, place_key
from tetrad._src.see import page, picture
from tetrad._src.util import frames
from tetrad._src.util.sizes import signed
from tetrad._src.util.words import counted, cut

SHOWN = 20  # lines of a printed table
LONGEST_SOURCE = 56  # characters of a source line
FEW_TYPES = 2  # types that a row of a table names
FORMATS = (".html", ".svg", ".json")


class Line(NamedTuple):
    """What one source line has made: a row of the table.

    `peak` (bytes of this line when most was in use) and `change` (bytes since the
    beginning) are known of blocks only, else None.
    """

    place: str  # "train.py:12"
    source: str  # the text of the line
    nbytes: int  # in use
    arrays: int  # buffers in use
    change: int | None
    peak: int | None
    types: tuple[tuple[str, int], ...]  # ("float32[10]", how many), most bytes first
    oldest: float | None  # seconds since the oldest of them was made

    @property
    def largest(self) -> int:
        return max(self.nbytes, self.peak or 0)

    def what(self) -> str:
        """The types in words: `3 × float32[10], int32[2]`."""
        words = [
            name if count == 1 else f"{count} × {name}"
            for name, count in self.types[:FEW_TYPES]
        ]
        return ", ".join(words) + (", …" if len(self.types) > FEW_TYPES else "")


class Moment(NamedTuple):
    """Memory was taken or given back."""

    seconds: float  # since the block began
    bytes: int  # in use afterwards
    line: str  # the line that made what came or went
    delta: int  # bytes more, or less


class DeviceMemory:
    """The memory of one device at one moment, or over a `with` block."""

    def __init__(self, device: Device, history: History | None = None) -> None:
        ledger = device.ledger
        ledger.reclaim()
        holdings = ledger.holdings()
        self.device = device
        self.history = history
        self.bytes_in_use: int = ledger.now
        self.peak: int = ledger.peak if history is None else history.peak
        self.allocated: int = ledger.total if history is None else history.allocated
        self.allocations: int = ledger.count if history is None else history.allocations
        copies, copied = (0, 0) if history is None else (history.copies, history.copied)
        self.copies: int = ledger.copies - copies
        self.copied: int = ledger.copied - copied
        self.begin: int = 0 if history is None else history.begin
        self.limit: int | None = ledger.stats().get("bytes_limit")
        self.by_line: list[Line] = _lines(holdings, history)

    @property
    def current(self) -> int:
        """Bytes in use."""
        return self.bytes_in_use

    @property
    def delta(self) -> int:
        """Bytes in use now, less those at the beginning."""
        return self.bytes_in_use - self.begin

    def __str__(self) -> str:
        words = f"{self.device}: {human(self.bytes_in_use)} in use"
        words += f", peak {human(self.peak)}"
        if self.history is not None:
            pieces = counted(self.allocations, "piece")
            words += (
                f"; in this block {signed(self.delta)},"
                f" {human(self.allocated)} allocated in {pieces}"
            )
        return "\n".join([words, *_table(self.by_line)])


class Memory:
    """A report of all devices in use; as a context manager, of a block.

    Numbers are bytes, and sum over devices. In a block `peak`, `delta`, `allocated`,
    `allocations` and `copies` are those of the block; while the block runs they say how
    it stands. Without a block `peak` and `allocated` are those of the process.
    """

    def __init__(self) -> None:
        self._histories: dict[Device, History] = {}
        self._open = False
        self._stack = contextlib.ExitStack()
        self._look()

    def _look(self) -> None:
        flush.flush_quietly()
        self._devices = [
            DeviceMemory(device, self._histories.get(device))
            for device in registry.made_devices()
        ]

    def __enter__(self) -> Memory:
        flush.flush_quietly()
        self._stack.callback(registry.tell_of_backends(self._record))
        self._open = True
        return self

    def _record(self, backend: Any) -> None:
        """The devices of a backend are looked at from now on."""
        for device in backend.devices():
            history = self._histories[device] = History(device.ledger)
            history.start()
            self._stack.callback(history.stop)

    def __exit__(self, *exc: object) -> None:
        self._look()
        self._stack.close()
        self._open = False

    # -- numbers ---------------------------------------------------------------------

    @property
    def devices(self) -> list[DeviceMemory]:
        """What is known of each device."""
        if self._open:
            self._look()
        return self._devices

    @property
    def current(self) -> int:
        """Bytes in use: at the end of the block, or when the report was made."""
        return sum([d.bytes_in_use for d in self.devices])

    bytes_in_use = current

    @property
    def peak(self) -> int:
        """The most bytes that were in use at once."""
        return sum([d.peak for d in self.devices])

    @property
    def delta(self) -> int:
        """Bytes in use, less those at the start of the block."""
        return sum([d.delta for d in self.devices]) if self._histories else 0

    @property
    def allocated(self) -> int:
        """The sum of all bytes that were asked for, also of those given back since."""
        return sum([d.allocated for d in self.devices])

    @property
    def allocations(self) -> int:
        """In how many pieces `allocated` was asked for."""
        return sum([d.allocations for d in self.devices])

    @property
    def copies(self) -> int:
        """How often an update copied an array because others still held it."""
        return sum([d.copies for d in self.devices])

    @property
    def copied(self) -> int:
        """The bytes of these copies."""
        return sum([d.copied for d in self.devices])

    def timeline(self) -> list[Moment]:
        """Memory over time: (seconds, bytes in use, line, bytes more or less).

        Long histories are summed up by line where changes lie close together; the peaks
        stay.

        Raises:
          ValueError: if nothing was recorded, since there was no block.
        """
        histories = list(self._histories.values())
        if not histories:
            raise ValueError(
                "timeline(): only a block has a history. Write `with see.memory() as m:`"
                " around what you want to look at, then m.timeline()"
            )
        if self._open:
            self._look()
        changes = [(c.time, c.line, c.nbytes) for h in histories for c in h.changes]
        changes.sort(key=lambda change: change[0])
        start = min([h.started for h in histories])
        held = sum([h.begin for h in histories])
        names: dict[Any, str] = {}
        moments = []
        for at, line, nbytes in changes:
            held += nbytes
            key = place_key(line)
            name = names.get(key)
            if name is None:
                name = names[key] = frames.format_where(line)
            moments.append(Moment(at - start, held, name, nbytes))
        return moments

    # -- shown and saved -------------------------------------------------------------

    def __str__(self) -> str:
        used = [d for d in self.devices if d.by_line or d.peak or d.allocated]
        shown = used or self.devices[:1]
        text = "\n".join(map(str, shown)) or "no device has been used yet"
        if self._histories and self.copies:
            times = counted(self.copies, "time")
            text += (
                f"\nupdates copied their arrays {times}, {human(self.copied)}:"
                " see.copies() lists them"
            )
        return text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def html(self) -> str:
        """A page of its own: pictures of memory over time, and the table."""
        return page.page(self)

    def svg(self) -> str:
        """The picture of memory over time: the text of an SVG file."""
        used = [d for d in self.devices if d.history is not None]
        if not used:
            self.timeline()  # says what is missing
        busiest = max(used, key=lambda d: (d.allocated, d.peak))
        return picture.file(picture.chart(busiest))

    def data(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and numbers, as `.json` files hold it."""
        return {
            "current": self.current,
            "peak": self.peak,
            "delta": self.delta,
            "allocated": self.allocated,
            "allocations": self.allocations,
            "copies": self.copies,
            "copied": self.copied,
            "devices": [
                {
                    "device": str(d.device),
                    "current": d.bytes_in_use,
                    "peak": d.peak,
                    "by_line": [
                        {**line._asdict(), "types": [list(t) for t in line.types]}
                        for line in d.by_line
                    ],
                }
                for d in self.devices
            ],
            "timeline": [list(m) for m in self.timeline()] if self._histories else [],
        }

    def save(self, path: Any) -> None:
        """Writes a file: `.html` a page, `.svg` the picture, `.json` the data.

        Raises:
          ValueError: if the name ends otherwise.

        >>> import tetrad as jax, tetrad.numpy as jnp
        >>> with jax.see.memory() as m:
        ...     x = jnp.ones(1000) * 2
        >>> m.save("memory.html")  # doctest: +SKIP
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind == ".html":
            text = self.html()
        elif kind == ".svg":
            text = self.svg()
        elif kind == ".json":
            text = json.dumps(self.data(), indent=1) + "\n"
        else:
            raise ValueError(
                f"save({str(path)!r}): a report is saved as {', '.join(FORMATS[:2])} or"
                f" {FORMATS[2]}; give the file a name that ends so"
            )
        path.write_text(text, encoding="utf-8")


# --------------------------------------------------------------------- the table by line


def _lines(holdings: Iterable[Holding], history: History | None) -> list[Line]:
    """The rows of the table, the largest first."""
    now = time.perf_counter()
    groups: dict[str, list[Holding]] = {}
    before: Counter[str] = Counter()
    peak: Counter[str] = Counter()
    places: dict[str, Any] = {}
    for where, group in by_place(holdings):
        name = frames.format_where(where)
        places[name] = where
        groups.setdefault(name, []).extend(group)
    if history is not None:
        for counter, sums in ((before, history.before), (peak, history.at_peak())):
            for where, nbytes in sums:
                name = frames.format_where(where)
                places.setdefault(name, where)
                counter[name] += nbytes
    rows = []
    for name, where in places.items():
        group = groups.get(name, [])
        nbytes = sum([h[0] for h in group])
        row = Line(
            name,
            cut(frames.source_at(where), LONGEST_SOURCE),
            nbytes,
            len(group),
            None if history is None else nbytes - before[name],
            None if history is None else peak[name],
            _types(group),
            now - min([h[4] for h in group]) if group else None,
        )
        if group or row.change or row.peak:
            rows.append(row)
    return sorted(rows, key=lambda row: (-row.largest, row.place))


def _types(group: Sequence[Holding]) -> tuple[tuple[str, int], ...]:
    count: Counter[Any] = Counter()
    nbytes: Counter[Any] = Counter()
    for size, _, _, aval, _ in group:
        count[aval] += 1
        nbytes[aval] += size
    return tuple(
        [
            ("temporary" if aval is None else aval.long_name(), count[aval])
            for aval, _ in nbytes.most_common()
        ]
    )


_HEAD = ("now", "change", "at peak", "arrays", "oldest", "what", "line", "")


def _table(lines: Sequence[Line]) -> list[str]:
    """The lines of the printed table; columns that say nothing are left out."""
    if not lines:
        return []
    rows = [_HEAD]
    for line in lines[:SHOWN]:
        rows.append(
            (
                human(line.nbytes),
                "" if line.change is None else signed(line.change),
                "" if line.peak is None else human(line.peak),
                str(line.arrays),
                age(line.oldest),
                line.what(),
                line.place,
                line.source,
            )
        )
    columns = [
        i
        for i in range(len(_HEAD))
        if any(row[i] for row in rows[1:]) or i in (0, 3, 6)
    ]
    widths = [max(len(row[i]) for row in rows) for i in columns]
    texts = []
    for row in rows:
        cells = [
            row[i].ljust(width) if i >= 5 else row[i].rjust(width)
            for i, width in zip(columns, widths)
        ]
        texts.append("  " + "  ".join(cells).rstrip())
    if len(lines) > SHOWN:
        rest = sum([line.nbytes for line in lines[SHOWN:]])
        texts.append(f"  … and {len(lines) - SHOWN} more lines with {human(rest)}")
    return texts


def age(seconds: float | None) -> str:
    """0.0042 → 4 ms"""
    if seconds is None:
        return ""
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    for unit, length in (("s", 60.0), ("min", 60.0), ("h", 24.0)):
        if seconds < length:
            return (
                f"{seconds:.1f} {unit}" if seconds < 9.95 else f"{seconds:.0f} {unit}"
            )
        seconds /= length
    return f"{seconds:.1f} d"


def memory() -> Memory:
    """What every device in use holds: bytes now, peak, and a table by source line.

    Prints as a table; `save("memory.html")` writes a page with a picture of memory over
    time. As a context manager it measures a block: `m.peak`, `m.current`, `m.delta`,
    `m.allocated`, `m.copies`, and `m.timeline()`, the changes one by one. What has been
    recorded is submitted first, so that it counts.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> with jax.see.memory() as m:
    ...     x = jnp.ones((1000, 1000))
    ...     y = (x + 1).sum()
    >>> m.delta, m.peak >= 4_000_000
    (4000004, True)
    """
    return Memory()
