"""`tetrad.see.profile()`: where the time goes, by source line and by kernel.

In: the record of a block (`collect.py`). Out: a report that prints as tables, has its
numbers in `rows` and `kernels`, and is saved as a trace (`trace.py`) or as a page
(`profile_page.py`).

A kernel that was fused from several lines stands at all of them: `train.py:12–15`. What
a loop does stands at the lines of its body, unless the loop is one kernel.

Read `Row`, `Profile`, then `_rows` (parts of programs become lines).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from tetrad._src.runtime.ledger import human
from tetrad._src.see import profile_page, trace
from tetrad._src.see.collect import Collector, Record
from tetrad._src.see.profile_page import rate
from tetrad._src.util import frames
from tetrad._src.util.sizes import duration
from tetrad._src.util.words import counted, cut

SHOWN = 20  # lines of a printed table
KERNELS = 10  # kernels of a printed table
FILES = 3  # files that the name of a row lists
LONGEST_SOURCE = 48  # characters
FORMATS = (".json", ".html")


class Row(NamedTuple):
    """What one line of source cost, or one kernel: a row of a table.

    A row by line has no `name`; it stands for all kernels that serve just these lines.
    """

    where: str  # "train.py:12–15"
    source: str  # the text of the first of these lines
    name: str  # of the kernel: its operations
    types: str  # what the kernel works on
    seconds: float  # on devices
    share: float  # of all seconds on devices
    calls: int  # how often kernels ran
    nbytes: float  # moved from and to memory
    operations: float | None  # of arithmetic; None if nobody can count them

    @property
    def gigabytes_per_second(self) -> float:
        return self.nbytes / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gigaflops(self) -> float | None:
        """10⁹ arithmetic operations a second."""
        if self.operations is None:
            return None
        return self.operations / self.seconds / 1e9 if self.seconds else 0.0


class Waiting(NamedTuple):
    """How long Python waited for a device at one line."""

    where: str
    reason: str  # "float()", "block_until_ready", ...
    seconds: float
    times: int


class Profile:
    """Where the time of a block went; see `tetrad.see.profile`.

    `wall` is the time of the block, in seconds, as all times here. For the thread of the
    block it is the sum of `python` (running Python, which records operations; also in
    programs that call Python), `compiling`, `running` (short programs, which it runs
    itself) and `waiting` (for devices). `device` is what devices computed, also while
    Python went on. `rows` are the lines, `kernels` the kernels, `waits` the lines that
    waited; dearest first.
    """

    def __init__(self) -> None:
        self._collector: Collector | None = None
        self._record: Record | None = None

    def __enter__(self) -> Profile:
        if self._collector is not None or self._record is not None:
            raise RuntimeError("a profile is of one block; call see.profile() again")
        self._collector = Collector()
        self._collector.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._collector is not None
        collector, self._collector = self._collector, None
        self._record = collector.stop(complete=error is None)
        parts = list(_parts(self._record))
        self._device = sum([part.seconds for part in parts])
        self._kernels = _joined(parts, by_kernel=True)
        self._rows = _joined(parts, by_kernel=False)

    @property
    def record(self) -> Record:
        """What was measured."""
        if self._record is None:
            raise RuntimeError(
                "the profile is complete at the end of its block:"
                " with tetrad.see.profile() as p: ..., then print(p)"
            )
        return self._record

    @property
    def wall(self) -> float:
        return self.record.wall

    @property
    def python(self) -> float:
        return self.record.python

    @property
    def waiting(self) -> float:
        return self.record.waiting

    @property
    def compiling(self) -> float:
        return self.record.compiling

    @property
    def running(self) -> float:
        return self.record.here

    @property
    def device(self) -> float:
        """Seconds of kernels on all devices."""
        return self._device if self.record else 0.0

    @property
    def programs(self) -> int:
        """How many programs ran; one that ran twice counts twice."""
        return self.record.runs

    @property
    def rows(self) -> list[Row]:
        return self._rows if self.record else []

    @property
    def kernels(self) -> list[Row]:
        return self._kernels if self.record else []

    @property
    def waits(self) -> list[Waiting]:
        found = [
            Waiting(label([where]) if where else "", reason, seconds, int(times))
            for (where, reason), (times, seconds) in self.record.waits.items()
        ]
        return sorted(found, key=lambda w: -w.seconds)

    def save(self, path: str | Path) -> Path:
        """Writes the profile to a file; its ending says how.

        `.json`: a trace in Chrome's format, for ui.perfetto.dev and chrome://tracing.
        `.html`: a page with the tables.

        Raises:
          ValueError: if the ending is another one.
        """
        target = Path(path)
        if target.suffix == ".json":
            words = json.dumps(trace.chrome(self.record))
        elif target.suffix == ".html":
            words = profile_page.page(self)
        else:
            raise ValueError(
                f"a profile is saved as {' or '.join(FORMATS)}, got {str(path)!r}"
            )
        target.write_text(words, encoding="utf-8")
        return target

    def __str__(self) -> str:
        if self._record is None:
            return "a profile whose block has not ended"
        lines = [self.summary()]
        if self.rows:
            lines += ["", *_table(self.rows, SHOWN)]
            lines += ["", *_table(self.kernels, KERNELS)]
        waits = [w for w in self.waits if w.where][:KERNELS]
        if waits:
            lines += ["", f"  {'waited':>9}  {'times':>5}  line"]
        for w in waits:
            lines.append(
                f"  {duration(w.seconds):>9}  {w.times:>5}  {w.where}  {w.reason}"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def summary(self) -> str:
        """The sums in words."""
        parts = [
            ("Python", self.python),
            ("compiling", self.compiling),
            ("running short programs", self.running),
            ("waiting", self.waiting),
        ]
        told = ", ".join([f"{name} {duration(seconds)}" for name, seconds in parts])
        calls = sum([row.calls for row in self.rows])
        return (
            f"{duration(self.wall)}: {told}\n"
            f"devices computed {duration(self.device)}: {counted(calls, 'kernel')} in"
            f" {counted(self.programs, 'program')}"
        )

    def _repr_html_(self) -> str:
        return profile_page.fragment(self) if self._record is not None else str(self)


def profile() -> Profile:
    """Measures where the time of a block goes, by source line and by kernel.

    Eager code, `jit`, loops and products alike. On the CPU every kernel is timed; on
    other platforms whole programs, one after the other. What is pending at the end of
    the block is computed and waited for. Nothing is measured outside of such blocks.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> x = jnp.ones((300, 300))
    >>> with jax.see.profile() as p:
    ...     y = (jnp.sin(x) @ x).sum()
    >>> sorted({kernel.name for kernel in p.kernels})
    ['dot_general', 'reduce_sum', 'sin']
    """
    return Profile()


# ------------------------------------------------------------- parts of programs to lines


class _Part(NamedTuple):
    """A step of a program, in all its runs."""

    lines: tuple[tuple[str, int], ...]
    backward: bool
    name: str
    types: str
    seconds: float
    calls: int
    nbytes: float
    operations: float | None


def _parts(record: Record) -> Iterable[_Part]:
    for key, sums in record.sums.items():
        of, origins = record.origins(key)
        joined: dict[int, list[float]] = {}
        for number, (turns, seconds) in sums.items():
            total = joined.setdefault(of.get(number, -1), [0, 0.0])
            total[0] = max(total[0], turns)  # several launches can be one step
            total[1] += seconds
        for step, (turns, seconds) in joined.items():
            if step < 0:
                continue
            o = origins[step]
            count = None if o.operations is None else o.operations * turns
            lines = tuple(sorted({_line(place) for place in o.places}))
            back = [getattr(place, "backward", False) for place in o.places]
            backward = bool(back) and all(back)
            nbytes = o.nbytes * turns
            calls = int(turns)
            yield _Part(lines, backward, o.name, o.types, seconds, calls, nbytes, count)


def _line(place: Any) -> tuple[str, int]:
    location = frames.line_of(place)
    return location.file, location.line


def _joined(parts: Sequence[_Part], by_kernel: bool) -> list[Row]:
    """Rows of the parts that have the same lines, or are the same kernel there."""
    groups: dict[Any, list[_Part]] = {}
    for part in parts:
        name = (part.name, part.types) if by_kernel else ("", "")
        groups.setdefault((part.lines, part.backward, *name), []).append(part)
    total = sum([part.seconds for part in parts])
    rows = []
    for (lines, backward, name, types), members in groups.items():
        seconds = sum([m.seconds for m in members])
        counts = [m.operations for m in members]
        known = [c for c in counts if c is not None]
        where = _label(lines) + (" (backward)" if backward else "")
        rows.append(
            Row(
                where,
                frames.source_line(*lines[0]) if lines else "",
                name,
                types,
                seconds,
                seconds / total if total else 0.0,
                sum([m.calls for m in members]),
                sum([m.nbytes for m in members]),
                sum(known) if len(known) == len(counts) else None,
            )
        )
    return sorted(rows, key=lambda row: -row.seconds)


def label(places: Sequence[Any]) -> str:
    """Places as people name them: `train.py:12–15, 90`."""
    return _label(tuple(sorted({_line(place) for place in places})))


def _label(lines: Sequence[tuple[str, int]]) -> str:
    files: dict[str, list[int]] = {}
    for file, line in lines:
        files.setdefault(file, []).append(line)
    words = []
    for file, numbers in list(files.items())[:FILES]:
        first = str(frames.Location(file, numbers[0], "")).rpartition(":")[0]
        words.append(f"{first}:{_ranges(numbers)}")
    if len(files) > FILES:
        words.append("…")
    return " and ".join(words) or "an unknown line"


def _ranges(numbers: Sequence[int]) -> str:
    """`12–15, 90` of sorted numbers."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    words = [str(a) if a == b else f"{a}–{b}" for a, b in found]
    return ", ".join(words[:4] + (["…"] if len(words) > 4 else []))


# ------------------------------------------------------------------------------ the table


def _table(rows: Sequence[Row], most: int) -> list[str]:
    by_kernel = bool(rows and rows[0].name)
    last = "kernel" if by_kernel else "line"
    lines = [
        f"  {'time':>9}  share  {'calls':>7}  {'moved':>10}  {'GB/s':>6}"
        f"  {'GFLOP/s':>7}  {last}"
    ]
    for row in rows[:most]:
        what = f"{row.name} {row.types}  {row.where}" if by_kernel else row.where
        if not by_kernel and row.source:
            what += f"  {cut(row.source, LONGEST_SOURCE)}"
        lines.append(
            f"  {duration(row.seconds):>9}  {100 * row.share:>3.0f} %"
            f"  {row.calls:>7}  {human(int(row.nbytes)):>10}"
            f"  {rate(row.gigabytes_per_second):>6}  {rate(row.gigaflops):>7}  {what}"
        )
    if len(rows) > most:
        rest = sum([row.seconds for row in rows[most:]])
        lines.append(f"  {duration(rest):>9}  in {len(rows) - most} more {last}s")
    return lines
