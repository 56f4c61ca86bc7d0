"""`tetrad.see.keys()`: the family tree of random keys, with what each was used for.

In: the families that eager code made lately (`ops/keys.py`). Out: a tree as text, as SVG
and in notebooks. What one line did again and again, as in a loop, is one row with a count.

Read `_Node`, then `_grown` (families become nodes), then `Keys` and the drawings.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tetrad._src.ops import keys
from tetrad._src.ops.keys import WHOLE, Family, Use
from tetrad._src.util import frames
from tetrad._src.util.frames import Place

FEW = 8  # keys of a family up to which those that nobody used are shown
LONGEST_LINE = 56  # characters of a source line


class _Node:
    """Families that one line made of the same keys, and what their keys were used for."""

    def __init__(self, how: str, place: Place | None) -> None:
        self.how = how
        self.place = place
        self.families: list[Family] = []
        self.children: dict[Any, _Node] = {}
        # By number of the key, verb, line and whether it was a reuse: how often, where.
        self.uses: dict[Any, tuple[int, Place | None]] = {}


def _grown(families: Iterable[Family]) -> list[_Node]:
    """The roots of the tree."""
    roots: dict[Any, _Node] = {}
    nodes: dict[int, _Node] = {}

    def add(family: Family) -> _Node:
        lineage = [family]
        while id(lineage[-1]) not in nodes and lineage[-1].parent is not None:
            lineage.append(lineage[-1].parent[0])
        node = nodes.get(id(lineage[-1]))
        for member in reversed(lineage):
            if id(member) in nodes:
                continue
            node = _child(roots, node, member)
            nodes[id(member)] = node
            _enter(node, member)
        assert node is not None
        return node

    for family in families:
        add(family)
    return list(roots.values())


def _child(roots: dict[Any, _Node], node: _Node | None, family: Family) -> _Node:
    """The node that a family belongs to, below the node of its parent."""
    line = _identity(family.place)
    siblings = roots
    which: Any = None
    if node is not None:
        if node.how == family.how and _identity(node.place) == line:
            return node  # the next turn of a loop
        siblings = node.children
        _, which = family.parent or (None, None)
    key = family.how, line, which if type(which) is int else None
    found = siblings.get(key)
    if found is None:
        found = siblings[key] = _Node(family.how, family.place)
    return found


def _identity(place: Place | None) -> Any:
    return None if place is None else (id(place[0]), place[1])


def _enter(node: _Node, family: Family) -> None:
    """Notes the uses of the keys of a family that are not families themselves."""
    node.families.append(family)
    uses = [(which, use, False) for which, use in family.used.items()]
    uses += [(None, use, False) for _, use in family.parts or ()]
    uses += [(which, use, True) for which, use in family.again or ()]
    for which, use, again in uses:
        use = Use._make(use)
        if use.made is not None and not again:
            continue
        number = which if type(which) is int else None
        key = (number, _verb(use), _identity(use.place), again)
        count, _ = node.uses.get(key, (0, None))
        node.uses[key] = count + 1, use.place


def _verb(use: Use) -> str:
    """The name of what used a key."""
    inner: Any = () if use.op is None else use.op.jaxprs()
    name = inner[0].name if len(inner) == 1 else getattr(use.op, "name", "used")
    return str(name).removeprefix("random_").lstrip("_") or "used"


# -------------------------------------------------------------------------------- drawing


class Row(NamedTuple):
    """One row of the picture."""

    depth: int
    last: tuple[bool, ...]  # for each depth: whether no sibling follows
    text: str
    where: str
    source: str
    reused: bool


_MADE = {
    "words": "key from words",
    "array": "key of unknown origin",
    "fold": "fold_in",
    "inner": "split inside",
    "result": "result of a compiled function",
}


def _title(node: _Node) -> str:
    """What a node shows: how its keys were made, and how often."""
    family = node.families[0]
    if node.how == "seed":
        seed = family.data
        known = (
            isinstance(seed, int)
            or hasattr(seed, "dtype")
            and not hasattr(seed, "aval")
        )
        text = f"key({seed})" if known and family.size == 1 else "keys of seeds"
    elif node.how == "split":
        text = f"split into {family.size}" if family.parent is not None else "split"
    elif node.how == "fold" and len(node.families) == 1 and type(family.data) is int:
        text = f"fold_in({family.data})"
    else:
        text = _MADE.get(node.how, node.how)
    count = len(node.families)
    return text if count == 1 else f"{text}  ×{count}"


def _which(number: Any, family: Family) -> str:
    if family.size == 1 or number is None:
        return ""
    return "all: " if number == WHOLE else f"[{number}] "


def _rows(roots: list[_Node]) -> Iterator[Row]:
    for root in roots:
        yield from _branch(root, "", 0, ())


def _branch(
    node: _Node, prefix: str, depth: int, last: tuple[bool, ...]
) -> Iterator[Row]:
    family = node.families[0]
    where, source = _line(node.place)
    yield Row(depth, last, prefix + _title(node), where, source, False)
    below: list[Any] = []
    for (number, verb, _, again), (count, place) in node.uses.items():
        text = _which(number, family) + verb + (f"  ×{count}" if count > 1 else "")
        if again:
            text += "  ← used again"
        below.append((number, text, *_line(place), again))
    for (_, _, number), child in node.children.items():
        below.append((number, child, "", "", False))
    below += _unused(node, family)
    below.sort(key=lambda entry: (entry[0] is None, entry[0] or 0))
    for i, (number, what, where, source, again) in enumerate(below):
        end = (*last, i == len(below) - 1)
        if isinstance(what, _Node):
            yield from _branch(what, _which(number, family), depth + 1, end)
        else:
            yield Row(depth + 1, end, what, where, source, again)


def _unused(node: _Node, family: Family) -> list[Any]:
    """The keys of a small family that nobody used."""
    if len(node.families) > 1 or not 1 < family.size <= FEW or family.parts:
        return []
    if WHOLE in family.used:
        return []
    taken = {number for _, _, number in node.children} | set(family.used)
    return [
        (i, f"[{i}] not used", "", "", False)
        for i in range(family.size)
        if i not in taken
    ]


def _line(place: Place | None) -> tuple[str, str]:
    if place is None:
        return "", ""
    line = frames.line_of(place)
    text = frames.source_line(line.file, line.line)
    if len(text) > LONGEST_LINE:
        text = frames.expression_at(*place) or text
    if len(text) > LONGEST_LINE:
        text = text[: LONGEST_LINE - 1] + "…"
    return str(line), text


class Keys:
    """The family tree of random keys; as a context manager, of those made in a block."""

    def __init__(self) -> None:
        self._before: Family | None = None
        self._families: list[Family] | None = None

    def __enter__(self) -> Keys:
        self._before = keys.recent[-1] if keys.recent else None
        return self

    def __exit__(self, *exc: object) -> None:
        self._families = self._made()

    def _made(self) -> list[Family]:
        """The families that were made, the oldest first."""
        made: list[Family] = []
        for family in reversed(list(keys.recent)):
            if family is self._before:
                break
            made.append(family)
        return made[::-1]

    def rows(self) -> list[Row]:
        families = self._made() if self._families is None else self._families
        return list(_rows(_grown(families)))

    @property
    def reused(self) -> list[str]:
        """The lines where a key was used again."""
        return [row.where for row in self.rows() if row.reused]

    def __str__(self) -> str:
        rows = self.rows()
        if not rows:
            return "no random keys"
        left = [_indent(row) + row.text for row in rows]
        width = min(48, max(map(len, left)))
        wide = max([len(row.where) for row in rows])
        return "\n".join(
            [
                f"{text:{width}}  {row.where:{wide}}  {row.source}".rstrip()
                for text, row in zip(left, rows)
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """The tree as a picture: the text of an SVG file."""
        return _svg(self.rows())


def _indent(row: Row) -> str:
    if not row.depth:
        return ""
    bars = ["   " if end else "│  " for end in row.last[:-1]]
    return "".join(bars) + ("└─ " if row.last[-1] else "├─ ")


ROW = 22
STEP = 26
LETTER = 7.3


def _svg(rows: list[Row]) -> str:
    lines = [r.depth * STEP + len(r.text) * LETTER for r in rows]
    middle = max(lines, default=0) + 40
    width = middle + max([len(r.source) for r in rows], default=0) * LETTER + 16
    height = len(rows) * ROW + 16
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}"'
        f' viewBox="0 0 {width:.0f} {height}" font-family="ui-monospace, monospace"'
        ' font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    above: dict[int, float] = {}
    for i, row in enumerate(rows):
        y = i * ROW + 24
        x = 12 + row.depth * STEP
        if row.depth:
            corner = x - STEP + 6
            top = above.get(row.depth - 1, y)
            out.append(
                f'<path d="M{corner} {top + 6:.0f}V{y - 4}H{x - 4}" fill="none"'
                ' stroke="#9aa5b1"/>'
            )
        above[row.depth] = y
        colour = "#c62828" if row.reused else "#1f3b57" if not row.depth else "#222222"
        weight = ' font-weight="bold"' if row.reused else ""
        out.append(
            f'<text x="{x}" y="{y}" fill="{colour}"{weight}>{html.escape(row.text)}</text>'
        )
        if row.source:
            out.append(
                f'<text x="{middle:.0f}" y="{y}" fill="#6b7785">'
                f"{html.escape(row.source)}</text>"
            )
    return "\n".join([*out, "</svg>"]) + "\n"


def keys_of_block() -> Keys:
    """The family tree of the random keys of this process; in a `with` block, of the block.

    Each row is a line of the program: where keys were made, split, folded in, and what
    drew from them. A key that was used again is marked. `tree.svg()` draws it.

    >>> import tetrad as jax
    >>> with jax.see.keys() as tree:
    ...     a, b = jax.random.split(jax.random.key(0))
    ...     x = jax.random.normal(a)
    >>> print(tree)  # doctest: +ELLIPSIS
    key(0)                ...
    └─ split into 2       ...
       ├─ [0] normal      ...
       └─ [1] not used
    """
    return Keys()


keys_of_block.__name__ = "keys"
