"""Words in messages: the known name nearest to a misspelt one, counts, short lines."""

from __future__ import annotations

from collections.abc import Iterable


def distance(a: str, b: str) -> int:
    """How many letters to insert, delete, replace or swap with a neighbour.

    >>> distance("flaot32", "float32")
    1
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        previous, before = before, row
        row = [i + 1]
        for j, y in enumerate(b):
            cost = min(before[j] + (x != y), before[j + 1] + 1, row[j] + 1)
            if i and j and x == b[j - 1] and a[i - 1] == y:
                cost = min(cost, previous[j - 1] + 1)
            row.append(cost)
    return row[-1]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` may be a misspelling of.

    >>> nearest("int23", ["int8", "int32", "float32"])
    'int32'
    """
    found = min([(distance(word, k), k) for k in known], default=(99, ""))
    return found[1] if found[0] <= max(1, len(word) // 4) else None


def counted(count: int, thing: str, things: str = "") -> str:
    """A number of things.

    >>> counted(2, "piece"), counted(1, "copy", "copies"), counted(0, "copy", "copies")
    ('2 pieces', '1 copy', '0 copies')
    """
    return f"{count} {thing}" if count == 1 else f"{count} {things or thing + 's'}"


def cut(text: str, width: int) -> str:
    """The text, or its beginning if it has more than `width` characters.

    >>> cut("abcdef", 4), cut("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= width else text[: width - 1] + "…"
