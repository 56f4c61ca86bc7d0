"""Profiles as HTML: a page of its own, and a piece for notebooks.

In: a `Profile`. Out: text. The page needs nothing from elsewhere and no script; its
styles are those of the memory report.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tetrad._src.runtime.ledger import human
from tetrad._src.see.page import PAGE, PARTS, program_name, text
from tetrad._src.see.picture import STYLE, VARIABLES
from tetrad._src.see.timeit import duration

ROWS = 200  # of a table
OWN = """\
.tetrad table.time{margin-bottom:28px}
.tetrad table.time thead th:last-child:not(:first-child){text-align:right;
 padding-right:14px}
"""


def page(report: Any) -> str:
    """The page of a `Profile`."""
    name = program_name()
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>Time of {text(name)}</title>",
            f"<style>\n{VARIABLES}{STYLE}{PARTS}{PAGE}{OWN}</style>",
            "</head>",
            '<body class="tetrad">',
            "<main>",
            "<header>",
            f"<h1>Time of <code>{text(name)}</code></h1>",
            f"<p>{time.strftime('%Y-%m-%d %H:%M')}</p>",
            "</header>",
            *_body(report),
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def fragment(report: Any) -> str:
    """The same without a frame, for notebooks."""
    style = f"<style>\n{VARIABLES}{STYLE}{PARTS}{OWN}</style>"
    return "\n".join(['<div class="tetrad">', style, *_body(report), "</div>", ""])


def _body(report: Any) -> list[str]:
    return [
        _tiles(report),
        _table(report.rows, "By source line", False),
        _table(report.kernels, "By kernel", True),
    ]


def _tiles(report: Any) -> str:
    tiles = [
        ("the block", report.wall),
        ("Python", report.python),
        ("compiling", report.compiling),
        ("running short programs", report.running),
        ("waiting", report.waiting),
        ("devices", report.device),
    ]
    return "\n".join(
        [
            '<dl class="tiles">',
            *[
                f"<div><dt>{name}</dt><dd>{duration(seconds)}</dd></div>"
                for name, seconds in tiles
            ],
            "</dl>",
        ]
    )


HEADS = ("time", "share", "calls", "moved", "GB/s", "GFLOP/s")


def _table(rows: Sequence[Any], caption: str, by_kernel: bool) -> str:
    if not rows:
        return "<p>No kernel ran.</p>"
    first = "kernel" if by_kernel else "line"
    parts = [
        f'<table role="table" class="time"><caption>{caption}</caption>',
        '<thead role="rowgroup"><tr role="row">',
        *[
            f'<th role="columnheader" scope="col">{head}</th>'
            for head in (first, *HEADS)
        ],
        '</tr></thead>\n<tbody role="rowgroup">',
    ]
    largest = rows[0].seconds or 1.0
    for row in rows[:ROWS]:
        name, more = row.where, row.source
        if by_kernel:
            name, more = f"{row.name} {row.types}".strip(), row.where
        parts.append(
            f'<tr role="row"><th role="rowheader" scope="row">'
            f'<code class="place">{text(name)}</code>'
            f'<code class="source">{text(more)}</code>'
            f'<i class="bar" style="width:{100 * row.seconds / largest:.1f}%;'
            f'background:var(--c0)"></i></th>'
            + "".join(
                [
                    f'<td role="cell" data-head="{head}" class=number>{cell}</td>'
                    for head, cell in zip(HEADS, _cells(row))
                ]
            )
            + "</tr>"
        )
    parts += ["</tbody>", "</table>"]
    if len(rows) > ROWS:
        parts.append(f"<p>… and {len(rows) - ROWS} more.</p>")
    return "\n".join(parts)


def _cells(row: Any) -> list[str]:
    flops = row.gigaflops
    speed = row.gigabytes_per_second
    return [
        duration(row.seconds),
        f"{100 * row.share:.0f} %",
        str(row.calls),
        human(int(row.nbytes)),
        f"{speed:.3g}" if speed else "",
        f"{flops:.3g}" if flops else "",
    ]
