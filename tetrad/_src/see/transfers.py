"""`tetrad.see.transfers()`: what was copied where, and where Python waited, line by line.

Listens to `events.transfers` and `events.waits` for the duration of a block. A read of an
array gives one entry: the bytes copied, and for how long Python waited for them.
"""

from __future__ import annotations

import html
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tetrad._src.runtime import events
from tetrad._src.runtime.ledger import human
from tetrad._src.util.frames import format_where
from tetrad._src.util.words import counted

MOST = 100_000  # entries that are kept one by one; sums are exact beyond
ROWS = 20  # lines that a table shows
HOST = "host"


class Entry(NamedTuple):
    """One copy or one wait."""

    direction: str  # "host → cpu:0", "cpu:0 → host", "cpu:0 → cpu:1"; "" if only waited
    nbytes: int  # copied
    where: str  # file and line
    reason: str  # "float()", "print", "if", "np.asarray", "device_put", …
    seconds: float  # for which Python waited

    @property
    def copied(self) -> bool:
        """Whether bytes were copied; if not, Python waited or looked."""
        return self.nbytes > 0


class Line(NamedTuple):
    """What one line caused, for one reason."""

    where: str
    reason: str
    direction: str
    times: int
    nbytes: int
    seconds: float


class _Sum:
    """What belongs together so far."""

    __slots__ = ("count", "nbytes", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.nbytes = 0
        self.seconds = 0.0


class Transfers:
    """What a block copied between host and devices, and where it waited.

    Iterating gives the entries in order. `count`, `total` (bytes) and `seconds` sum up.
    """

    def __init__(self) -> None:
        self._entries: list[Any] = []
        self._sums: dict[tuple[Any, str, str], _Sum] = {}
        self._last: dict[int, tuple[Any, str, int, _Sum]] = {}  # by thread
        self._lock = threading.Lock()
        self._stack = ExitStack()

    def __enter__(self) -> Transfers:
        self._stack.enter_context(events.transfers.heard_by(self._hear))
        self._stack.enter_context(events.waits.heard_by(self._hear_wait))
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
        self._last.clear()

    # -- listening -------------------------------------------------------------------

    def _hear(self, fact: events.Transfer) -> None:
        source = HOST if fact.source is None else str(fact.source)
        target = HOST if fact.target is None else str(fact.target)
        with self._lock:
            self._note(f"{source} → {target}", fact.nbytes, fact.where, fact.reason)

    def _hear_wait(self, fact: events.Wait) -> None:
        with self._lock:
            last = self._last.get(threading.get_ident())
            if last is None or last[:2] != (fact.where, fact.reason):
                self._note("", 0, fact.where, fact.reason)
                last = self._last[threading.get_ident()]
            _, _, index, total = last
            total.seconds += fact.seconds
            if index >= 0:
                self._entries[index][4] += fact.seconds

    def _note(self, direction: str, nbytes: int, where: Any, reason: str) -> None:
        key = (where, reason, direction)
        total = self._sums.get(key)
        if total is None:
            total = self._sums[key] = _Sum()
        total.count += 1
        total.nbytes += nbytes
        index = -1
        if len(self._entries) < MOST:
            index = len(self._entries)
            self._entries.append([direction, nbytes, where, reason, 0.0])
        self._last[threading.get_ident()] = (where, reason, index, total)

    # -- asked ------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Entry]:
        for direction, nbytes, where, reason, seconds in list(self._entries):
            yield Entry(direction, nbytes, format_where(where), reason, seconds)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def copies(self) -> list[Entry]:
        """The entries that copied bytes."""
        return [entry for entry in self if entry.copied]

    @property
    def waits(self) -> list[Entry]:
        """The entries that made Python wait for a device, or look at its memory."""
        return [entry for entry in self if not entry.direction.startswith(HOST)]

    @property
    def count(self) -> int:
        """How many copies and waits there were."""
        return sum([total.count for total in self._sums.values()])

    @property
    def total(self) -> int:
        """The bytes copied."""
        return sum([total.nbytes for total in self._sums.values()])

    @property
    def seconds(self) -> float:
        """For how long Python waited."""
        return sum([total.seconds for total in self._sums.values()])

    @property
    def by_line(self) -> list[Line]:
        """The sums for each line and reason: most bytes first, then most waiting."""
        lines: dict[tuple[str, str, str], list[Any]] = {}
        for (where, reason, direction), total in list(self._sums.items()):
            key = (format_where(where), reason, direction)
            sums = lines.setdefault(key, [0, 0, 0.0])
            sums[0] += total.count
            sums[1] += total.nbytes
            sums[2] += total.seconds
        found = [Line(*key, *sums) for key, sums in lines.items()]
        return sorted(found, key=lambda x: (-x.nbytes, -x.seconds, -x.times))

    # -- shown and saved ----------------------------------------------------------------

    def _head(self) -> str:
        copies = sum([line.times for line in self.by_line if line.nbytes])
        return (
            f"{counted(copies, 'copy', 'copies')} of {human(self.total)},"
            f" {counted(self.count - copies, 'wait')} without a copy;"
            f" Python waited {self.seconds * 1e3:.1f} ms"
        )

    def __str__(self) -> str:
        rows = self.by_line
        if not rows:
            return "nothing was copied, and nobody waited"
        lines = [self._head()]
        wide = max([len(row.direction) for row in rows[:ROWS]])
        for row in rows[:ROWS]:
            lines.append(
                f"  {human(row.nbytes):>10}  {row.times:>6} ×  {row.seconds * 1e3:8.1f} ms"
                f"  {row.direction:{wide}}  {row.where}  {row.reason}"
            )
        if len(rows) > ROWS:
            lines.append(f"  … and {len(rows) - ROWS} more lines")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = [
            (
                human(row.nbytes),
                str(row.times),
                f"{row.seconds * 1e3:.1f} ms",
                row.direction,
                row.where,
                row.reason,
            )
            for row in self.by_line
        ]
        heads = ("bytes", "times", "waited", "direction", "line", "reason")
        body = [
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in cells
        ]
        return (
            f"<p>{html.escape(self._head())}</p><table><thead><tr>"
            + "".join(f"<th>{head}</th>" for head in heads)
            + f"</tr></thead><tbody>{''.join(body)}</tbody></table>"
        )

    def data(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and numbers, as `.json` files hold it."""
        return {
            "count": self.count,
            "total": self.total,
            "seconds": self.seconds,
            "by_line": [line._asdict() for line in self.by_line],
            "entries": [entry._asdict() for entry in self],
        }

    def save(self, path: Any) -> None:
        """Writes a file: `.html` the table, `.json` the data, `.txt` the text.

        Raises:
          ValueError: if the name ends otherwise.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind == ".html":
            text = (
                '<!doctype html><meta charset="utf-8"><meta name="color-scheme"'
                ' content="light dark"><title>Transfers</title><style>body{font:15px'
                " system-ui;margin:2em}td,th{padding:.2em .8em;text-align:left}</style>"
                f"<h1>Transfers</h1>{self._repr_html_()}"
            )
        elif kind == ".json":
            text = json.dumps(self.data(), indent=1, ensure_ascii=False)
        elif kind == ".txt":
            text = f"{self}\n"
        else:
            raise ValueError(
                f"transfers are saved as .html, .json or .txt, not {path.name!r}"
            )
        path.write_text(text, encoding="utf-8")


def transfers() -> Transfers:
    """What a block copies between host and devices, and where it makes Python wait.

    Each entry has a direction, bytes, the line, the reason (`float()`, `print`, `if`,
    `np.asarray`, `.item()`, `device_get`, `device_put`, an operand that had to be
    converted or moved) and the seconds that Python waited. Numbers are arguments of
    programs, and no transfers.

    On the CPU, NumPy sees the memory of an array: reading it, as `np.asarray(x)` does, is
    listed as a wait with 0 bytes copied. On other devices it is a copy.

    >>> import numpy as np, tetrad as jax, tetrad.numpy as jnp
    >>> with jax.see.transfers() as t:
    ...     x = jnp.array(np.ones(1000, "float32"))
    ...     if x.sum() > 3:
    ...         total = float(x.sum())
    >>> [(entry.direction, entry.nbytes, entry.reason) for entry in t]
    [('host → cpu:0', 4000, 'jnp.array'), ('cpu:0 → host', 0, 'if'), ('cpu:0 → host', 0, 'float()')]
    >>> t.count, t.total
    (3, 4000)
    """
    return Transfers()
