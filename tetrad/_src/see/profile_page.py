"""Profiles as HTML: a page of its own, and a piece for notebooks.

In: a `Profile`. Out: text. The page needs nothing from elsewhere and no script; its
styles are those of the memory report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.runtime.ledger import human
from tetrad._src.see.page import ROWS, Row, document, piece, table, tiles
from tetrad._src.util.sizes import duration

HEADS = ("time", "share", "calls", "moved", "GB/s", "GFLOP/s")
OWN = """\
.tetrad table.time{margin-bottom:28px}
.tetrad table.time thead th:last-child:not(:first-child){text-align:right;
 padding-right:14px}
"""


def page(report: Any) -> str:
    """The page of a `Profile`."""
    return document("Time", [], _body(report), style=OWN)


def fragment(report: Any) -> str:
    """The same without a frame, for notebooks."""
    return piece(_body(report), OWN)


def _body(report: Any) -> list[str]:
    return [
        _tiles(report),
        _table(report.rows, "By source line", False),
        _table(report.kernels, "By kernel", True),
    ]


def _tiles(report: Any) -> str:
    shown = [
        ("the block", report.wall),
        ("Python", report.python),
        ("compiling", report.compiling),
        ("running short programs", report.running),
        ("waiting", report.waiting),
        ("devices", report.device),
    ]
    return tiles([(name, duration(seconds), "") for name, seconds in shown])


def _table(rows: Sequence[Any], caption: str, by_kernel: bool) -> str:
    if not rows:
        return "<p>No kernel ran.</p>"
    largest = rows[0].seconds or 1.0
    shown = []
    for row in rows[:ROWS]:
        name, more = row.where, row.source
        if by_kernel:
            name, more = f"{row.name} {row.types}".strip(), row.where
        shown.append(Row(name, more, row.seconds / largest, 0, False, _cells(row)))
    heads = ("kernel" if by_kernel else "line", *HEADS)
    parts = [table(caption, heads, shown, "time")]
    if len(rows) > ROWS:
        parts.append(f"<p>… and {len(rows) - ROWS} more.</p>")
    return "\n".join(parts)


def _cells(row: Any) -> list[str]:
    return [
        duration(row.seconds),
        f"{100 * row.share:.0f} %",
        str(row.calls),
        human(int(row.nbytes)),
        rate(row.gigabytes_per_second),
        rate(row.gigaflops),
    ]


def rate(value: float | None) -> str:
    """A number of GB/s or GFLOP/s, or nothing."""
    return f"{value:.3g}" if value else ""
