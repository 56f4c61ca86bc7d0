"""The message of `OutOfMemoryError`: what was asked, what fills the device, what to do.

In: the facts that the backend and the recorder noted (`ledger.Asked`). Out: a `Report`,
which becomes `error.report`, and its text of at most 25 lines. All is found at the moment
at which the error leaves the library, while the user's frames still run. Read `describe`,
then `Report`, then the rules for hints in `exhausted_hints.py`.
"""

from __future__ import annotations

import gc
import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.runtime import counts
from tetrad._src.runtime.array import Array, Deleted
from tetrad._src.runtime.ledger import UNLIMITED, Asked, human, place_key
from tetrad._src.see import exhausted_hints as hints
from tetrad._src.util import errors, frames, source
from tetrad._src.util.locks import make_rlock
from tetrad._src.util.owners import Owner, owners_of
from tetrad._src.util.words import counted, cut

TOP = 10  # arrays, and rows, that are shown
NAMED = 6  # arrays at each end of a row whose names are looked for
CHECKED = os.environ.get("TETRAD_CHECK", "") not in ("", "0")


class LiveArray(NamedTuple):
    """An array that lives while memory ran out."""

    nbytes: int
    shape: tuple[int, ...]
    dtype: str
    where: str  # the line that made it
    names: list[str]  # the variables that hold it


class Row(NamedTuple):
    """Live arrays of one type, made by one line."""

    arrays: list[Array]
    ends: list[Array]  # the first and the last of them
    owners: list[list[Owner]]  # of these

    @property
    def nbytes(self) -> int:
        return sum([x.aval.nbytes for x in self.arrays])


class Report:
    """What an `OutOfMemoryError` knows, as data; `str` gives its text.

    `asked` and `in_use` count bytes, `limit` is None where the device has no known one.
    `operation` is what asked, `where` its line and `source` the text of that line.
    `arrays` are the ten largest alive. `pending_arrays` and `pending_bytes` are what is
    recorded and not computed. `hint` says what to change, and `rule` which rule chose it:
    "update", "vmap", "grows", "captured", "large" or "general".
    """

    device: str
    asked: int
    in_use: int
    limit: int | None
    chosen: bool  # whether the user set the limit
    operation: str
    where: str
    source: str
    arrays: list[LiveArray]
    pending_arrays: int
    pending_bytes: int
    others: int  # bytes in use by no array of Python's: views, running work
    rule: str
    hint: str

    def __init__(self, asked: Asked) -> None:
        ledger = asked.device.ledger
        self.device = str(asked.device)
        self.asked = asked.nbytes
        self.in_use = ledger.now
        self.limit = None if ledger.limit == UNLIMITED else ledger.limit
        self.chosen = ledger.chosen is not None and ledger.limit == ledger.chosen
        place = asked.where
        self.where = frames.format_where(place)
        self.source = frames.source_at(place)
        self.operation = _operation(asked)
        live, pending = _arrays_of(asked.device)
        self.pending_arrays = len(pending)
        self.pending_bytes = sum([x.aval.nbytes for x in pending])
        self.others = max(0, self.in_use - sum([x.aval.nbytes for x in live]))
        rows = _rows(live, pending)  # a report holds no arrays
        self.arrays = _largest(rows)
        self.rule, self.hint = hints.choose(self, asked, rows)
        self._table = [_row_text(row) for row in rows[:TOP]]
        rest = rows[TOP:]
        if rest:
            size = human(sum([row.nbytes for row in rest]))
            count = sum([len(row.arrays) for row in rest])
            self._table.append(f"  … and {counted(count, 'array')}, {size}")

    def __str__(self) -> str:
        lines = [
            f"{self.device} has no room for {human(self.asked)} more, for"
            f" {self.operation} at {self.where} (RESOURCE_EXHAUSTED)"
        ]
        if self.source:
            lines.append(f"    {cut(self.source, 100)}")
        used = f"In use: {human(self.in_use)}"
        if self.chosen:
            assert self.limit is not None
            used += f" of the {human(self.limit)} that jax.set_memory_limit allows."
        elif self.limit is not None:
            used += f" of the {human(self.limit)} that there are."
        else:
            used += "."
        if self._table:
            lines.append(f"{used} The largest arrays alive:")
            lines += self._table
        else:
            lines.append(used)
        if self.others:
            lines.append(
                f"  {human(self.others)} are in NumPy views of arrays, or in running work."
            )
        if self.pending_arrays:
            lines.append(
                f"Recorded and not computed yet: {counted(self.pending_arrays, 'array')},"
                f" {human(self.pending_bytes)}."
            )
        lines.append(f"Hint: {self.hint}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Report: {self.asked} bytes asked, {self.in_use} in use: {self.rule}>"


def describe(error: errors.OutOfMemoryError) -> None:
    """Writes the report and the text of an error."""
    with _one_at_a_time:
        try:
            report = Report(error.asked)
            error.report = report
            error.args = (str(report),)
        except Exception:  # the error itself matters more than its words
            if CHECKED:
                raise


# What one report gathers would be met by another as what holds arrays.
_one_at_a_time = make_rlock()


# --------------------------------------------------------------------------- what asked


def _operation(asked: Asked) -> str:
    """`x * 2`, or the like, and what it makes."""
    words = frames.expression_at(*asked.where) if asked.where is not None else None
    if words is not None:
        words = cut(words, source.LONGEST)
    told = f"`{words}`" if words else "an array"
    if asked.role == "copy":
        return f"the host data that {told} copies" if words else "a copy of host data"
    op = asked.op
    node = None if asked.node is None else asked.node()
    if op is None and node is not None and node.entry is not None:
        entry = node.args[0].entry if node.entry.projected else node.entry
        op = None if entry is None else entry.op
        if asked.role == "result":
            told += f", which makes {node.aval.long_name()},"
    if asked.role == "intermediates":
        told = f"what {told} computes on its way"
        found = None if op is None else largest_of(op.jaxprs())
        if found is not None:
            made = frames.format_where(found[2])
            told += f" (the largest is {found[1].long_name()}, made at {made})"
    return told


def largest_of(jaxprs: Sequence[Jaxpr]) -> tuple[int, Any, Any] | None:
    """(bytes, type, place) of the largest value that jaxprs compute."""
    found: tuple[int, Any, Any] | None = None
    for jaxpr in jaxprs:
        for eqn in jaxpr.eqns:
            inner = largest_of(eqn.op.jaxprs())
            own = [(v.aval.nbytes, v.aval, eqn.where) for v in eqn.outs]
            for candidate in [*own, inner]:
                if candidate and (found is None or candidate[0] > found[0]):
                    found = candidate
    return found


# --------------------------------------------------------------------------- what lives


def _arrays_of(device: Any) -> tuple[list[Array], list[Array]]:
    """The arrays with memory on a device, one for each buffer; and the pending ones."""
    live: dict[int, Array] = {}
    nodes = []
    for x in gc.get_objects():
        if type(x) is not Array or getattr(x, "aval", None) is None:
            continue
        buffer = x.buffer
        if type(buffer) is Deleted or x.placement.device is not device:
            continue
        if buffer is None:
            if x.entry is not None:  # else its value waits on the host
                nodes.append(x)
        else:
            live.setdefault(id(buffer), x)
    x = None  # type: ignore[assignment]
    return list(live.values()), _wanted(nodes)


def _wanted(nodes: list[Array]) -> list[Array]:
    """The pending arrays that somebody besides other pending arrays holds."""
    held = counts.count(nodes)
    known: dict[int, int] = {}
    for node in nodes:
        for arg in node.args:
            if type(arg) is Array and arg.buffer is None:
                known[id(arg)] = known.get(id(arg), 0) + 1
        if node.tape is not None:
            known[id(node)] = known.get(id(node), 0) + 1
    node = arg = None  # type: ignore[assignment]
    return [x for x, n in zip(nodes, held) if n > counts.LEAF + known.get(id(x), 0)]


def _rows(live: list[Array], pending: list[Array]) -> list[Row]:
    """Live arrays by line and type, the most bytes first, with names."""
    groups: dict[Any, list[Array]] = {}
    for x in live:
        if x.aval.nbytes:
            groups.setdefault((place_key(x.where), x.aval), []).append(x)
    ordered = sorted(groups.values(), key=lambda xs: -sum(x.aval.nbytes for x in xs))
    ends = [
        xs if len(xs) <= 2 * NAMED else xs[:NAMED] + xs[-NAMED:] for xs in ordered[:TOP]
    ]
    ends += [[] for _ in ordered[TOP:]]
    flat = [x for xs in ends for x in xs]
    skip = [live, pending, flat, *ordered, *ends, groups]
    owners = iter(owners_of(flat, skip))
    named = [[next(owners) for _ in xs] for xs in ends]
    return list(map(Row, ordered, ends, named))


def _largest(rows: Sequence[Row]) -> list[LiveArray]:
    """The largest arrays, those of the fullest rows first among equals."""
    found = []
    for row in rows[:TOP]:
        for x, owners in zip(row.ends, row.owners):
            aval = x.aval
            place = frames.format_where(x.where)
            names = [str(owner) for owner in owners]
            dtype = str(aval.dtype)
            found.append(LiveArray(aval.nbytes, aval.shape, dtype, place, names))
    found.sort(key=lambda x: -x.nbytes)
    return found[:TOP]


def _row_text(row: Row) -> str:
    x = row.arrays[0]
    count = len(row.arrays)
    size = human(x.aval.nbytes)
    many = f"{count} × " if count > 1 else ""
    place = frames.format_where(x.where)
    names = _names(row)
    return cut(f"  {many}{size}  {x.aval.long_name()}  made at {place}  {names}", 140)


def _names(row: Row) -> str:
    """`history[0]` … `history[16]` in train"""
    if len(row.arrays) == 1:
        owners = row.owners[0]
        captured = hints.captured_by(row.arrays[0])
        if owners:
            return "held by " + ", ".join(map(str, owners))
        return f"captured by the jitted function {captured}" if captured else ""
    common = Counter(_holder(owner) for owners in row.owners for owner in owners)
    named = [
        max(owners, key=lambda owner: common[_holder(owner)])
        for owners in row.owners
        if owners
    ]
    named.sort(key=_natural)
    if not named:
        return ""
    if len(named) == 1 or str(named[0]) == str(named[-1]):
        return f"held by {named[0]} and others"
    first, last = named[0], named[-1]
    mark = "," if len(row.arrays) == 2 else " …"
    if first.kind == last.kind and first.inside == last.inside:
        return f"held by `{first.name}`{mark} {last}"
    return f"held by {first}{mark} {last}"


def _holder(owner: Owner) -> tuple[str, str]:
    """The variable through which an owner holds: `history` of `history[3]`."""
    return re.split(r"[.\[]", owner.name)[0], owner.inside


def _natural(owner: Owner) -> list[tuple[int, str]]:
    """A key under which `x[9]` comes before `x[10]`."""
    parts = re.split(r"(\d+)", owner.name)
    return [(int(p), "") if p.isdigit() else (0, p) for p in parts]
