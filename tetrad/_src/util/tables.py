"""Tables and columns of text, for messages.

In: rows of cells, or two lists of lines. Out: one text. A row or line that the message
is about is marked with `>`; a note at its end says why.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

WINDOW = 12  # lines that a column shows of a long outline


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows in columns, the first as a head; a note in the last column marks a row.

    >>> print(table([("x", "shape", ""), ("a", "(3,)", ""), ("b", "(4,)", "<- not 3")]))
        x | shape
        --|------
        a | (3,)
      > b | (4,)    <- not 3
    """
    columns = len(rows[0]) - 1
    widths = [max(len(row[c]) for row in rows) for c in range(columns)]
    lines = []
    for number, row in enumerate(rows):
        cells = " | ".join(cell.ljust(w) for cell, w in zip(row, widths))
        lines.append(f"  {'>' if row[-1] else ' '} {cells}   {row[-1]}".rstrip())
        if number == 0:
            lines.append("    " + "-|-".join("-" * w for w in widths))
    return "\n".join(lines)


def marked_outline(lines: Sequence[str], marked: int | None) -> list[str]:
    """At most `WINDOW` of the lines, around the one that is marked with `>`."""
    first = max(0, (marked or 0) - WINDOW // 2)
    shown = [
        f"{'>' if first + i == marked else ' '} {line}"
        for i, line in enumerate(lines[first : first + WINDOW])
    ]
    if first:
        shown.insert(0, "  ...")
    if first + WINDOW < len(lines):
        shown.append("  ...")
    return shown


def side_by_side(left: Sequence[str], right: Sequence[str]) -> str:
    """Two lists of lines in two columns.

    >>> print(side_by_side(["one", "a"], ["other"]))
    one | other
    a   |
    """
    width = max([len(line) for line in left], default=0)
    rows = itertools.zip_longest(left, right, fillvalue="")
    return "\n".join(f"{one:<{width}} | {two}".rstrip() for one, two in rows)
