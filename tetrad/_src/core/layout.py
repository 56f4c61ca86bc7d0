"""Laying text out in lines: a document says where a line may break, `render` decides.

    Doc ::= str                      text on one line
          | Break                    a space, or a line break
          | Concat Doc*
          | Nest n Doc               line breaks inside indent by n more
          | Group Doc                all breaks inside are spaces, if that fits the line
          | Note str                 a remark at the end of the line, right of all lines

A group fits if its own text ends within the width; what follows it does not count.
Nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Doc = Any

WIDTH = 80


class Break:
    """A space (or `flat`) where the line goes on, a line break where it does not."""

    __slots__ = ("flat",)

    def __init__(self, flat: str = " ") -> None:
        self.flat = flat


class Concat:
    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[Doc]) -> None:
        self.parts = tuple(parts)


class Nest:
    __slots__ = ("indent", "doc")

    def __init__(self, indent: int, doc: Doc) -> None:
        self.indent = indent
        self.doc = doc


class Group:
    __slots__ = ("doc",)

    def __init__(self, doc: Doc) -> None:
        self.doc = doc


class Note:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def concat(*parts: Doc) -> Concat:
    return Concat(parts)


def joined(separator: Doc, docs: Iterable[Doc]) -> Concat:
    """`docs` with `separator` between them."""
    parts: list[Doc] = []
    for doc in docs:
        if parts:
            parts.append(separator)
        parts.append(doc)
    return Concat(parts)


def filled(docs: Iterable[Doc], comma: str = "") -> Concat:
    """`docs` in lines that are filled before the next one starts."""
    return joined(concat(comma, Group(Break())), docs)


def _fits(doc: Doc, room: int) -> bool:
    """Whether `doc` on one line takes at most `room` columns."""
    stack = [doc]
    while stack:
        if room < 0:
            return False
        doc = stack.pop()
        kind = type(doc)
        if kind is str:
            room -= len(doc)
        elif kind is Break:
            room -= len(doc.flat)
        elif kind is Concat:
            stack.extend(reversed(doc.parts))
        elif kind is not Note:
            stack.append(doc.doc)
    return room >= 0


def render(doc: Doc, width: int = WIDTH) -> str:
    """The text of a document, in lines of `width` where its breaks allow that."""
    out: list[str] = []
    notes: dict[int, list[str]] = {}
    line = 0
    column = 0
    stack: list[tuple[Doc, int, bool]] = [(doc, 0, False)]
    while stack:
        doc, indent, flat = stack.pop()
        kind = type(doc)
        if kind is str:
            out.append(doc)
            column += len(doc)
        elif kind is Break:
            if flat:
                out.append(doc.flat)
                column += len(doc.flat)
            else:
                out.append("\n" + " " * indent)
                column = indent
                line += 1
        elif kind is Concat:
            stack.extend([(part, indent, flat) for part in reversed(doc.parts)])
        elif kind is Note:
            notes.setdefault(line, []).append(doc.text)
        elif kind is Nest:
            stack.append((doc.doc, indent + doc.indent, flat))
        else:
            stack.append((doc.doc, indent, flat or _fits(doc.doc, width - column)))
    text = "".join(out)
    return _with_notes(text.split("\n"), notes) if notes else text


def _with_notes(lines: list[str], notes: dict[int, list[str]]) -> str:
    width = max(map(len, lines))
    for number, remarks in notes.items():
        lines[number] = f"{lines[number]:<{width}} # {', '.join(remarks)}"
    return "\n".join(lines)
