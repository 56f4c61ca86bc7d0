"""Loops: a kernel with its shape taken away, ready to be written as machine code.

    Loops    ::= template lanes outer inner-classes Entry* Write* Fold* flags
    template ::= flat | rows | fold_rows | fold_whole | fold_columns | find_rows
               | find_short | tiles | scatter | turns
    class    ::= c | b | s | t          stride along vectors: 1, 0, any; read in tiles

A `Loops` is the key of the kernel cache: equal ones have equal text. Extents, strides,
offsets, pointers and scalars are words that the kernel reads at run time, in the order
in which `words` lists them; `lower` fills them in and the templates read them.

Words   ::= (pointer term*) per read, word per scalar, (pointer term*) per write,
            (offset term*) per coordinate, per read or write at computed coordinates
            the extents and strides of its array, per fold (result pointers, state
            pointers), extents, parameters, strides,
            of inner control flow the steps of its reads and stores and the address of
            the word that says to stop
Term    ::= source limit stride
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tetrad._src.passes.ir import Inner
from tetrad._src.passes.text import inner_lines

FIND_ROWS = "find_rows"
FIND_SHORT = "find_short"
FLAT = "flat"
FOLD_ROWS = "fold_rows"
FOLD_WHOLE = "fold_whole"
FOLD_COLUMNS = "fold_columns"
ROWS = "rows"
SCATTER = "scatter"
TILES = "tiles"
TURNS = "turns"

CONTIGUOUS = "c"
UNIFORM = "b"
STRIDED = "s"
ACROSS = "t"


class Comb(NamedTuple):
    """Every `step`-th element, or (-1) all backwards.

    Accesses that together touch the elements between, too, share one `leader`: their
    pointers are the same, and the access starts `phase` elements behind it.
    """

    step: int
    phase: int
    leader: int


class Access(NamedTuple):
    """How a read or a write moves along the vectors."""

    type: str
    kind: str  # c, b, s or t
    terms: tuple[str, ...]  # per term: the type of its source, "*" before it in memory
    comb: Comb | None = None  # of strided ones, if the stride is known and small


class Fold(NamedTuple):
    """A reduction: the entries it folds, with their types, and its results' types."""

    op: Any
    refs: tuple[int, ...]
    types: tuple[str, ...]
    results: tuple[str, ...]


class PointRead(NamedTuple):
    """A read at computed coordinates, behind where read `read` is."""

    op: Any
    read: int
    rank: int  # of the array
    refs: tuple[int, ...]  # entries: the numbers of index vectors
    coordinates: tuple[int, ...]  # numbers of coordinates, -1 where none is needed
    narrow: bool  # 32 bits hold every coordinate


class PointWrite(NamedTuple):
    """A write at computed coordinates: entry `ref`, behind where write 0 is."""

    op: Any
    ref: int
    rank: int  # of the target
    refs: tuple[int, ...]
    coordinates: tuple[int, ...]
    narrow: bool
    updates: int  # rank of the updates


class Loops(NamedTuple):
    """One shape-erased kernel."""

    template: str
    lanes: int
    outer: int  # axes around the vectors; of folds: kept axes around
    inner: int  # folds: folded axes around the vectors
    reads: tuple[Access, ...]
    scalars: tuple[str, ...]
    writes: tuple[tuple[int, Access], ...]
    coordinates: tuple[Access, ...]
    entries: tuple[tuple[Any, ...], ...]
    folds: tuple[Fold, ...]
    scatter: PointWrite | None
    split: (
        bool  # rows are cut into segments, folds into blocks; flat ranges end exactly
    )
    stream: int  # 1: prefetch, 2: and store past the caches
    flow: Inner | None = None  # control flow at every point
    vectors: int = 1  # side by side, of folds down columns


def text(loops: Loops, name: str) -> str:
    """The form as people read it."""
    lines = [f"{name}: {loops.template} lanes={loops.lanes} outer={loops.outer}"]
    if loops.folds:
        lines[0] += f" inner={loops.inner}"
    lines[0] += " split" * loops.split + " stream" * loops.stream
    names: dict[int, str] = {}
    for number, entry in enumerate(loops.entries):
        names[number] = f"%{number}"
        lines.append(f"  %{number} = {_entry_text(loops, entry)}")
    for ref, access in loops.writes:
        lines.append(f"  write {_access_text(access)} %{ref}")
    for fold in loops.folds:
        refs = " ".join(f"%{r}" for r in fold.refs)
        results = " ".join(fold.results)
        lines.append(f"  fold {fold.op!r} {refs} -> {results}")
    if loops.scatter is not None:
        lines.append(f"  scatter {loops.scatter.op.name} %{loops.scatter.ref}")
    if loops.flow is not None:
        lines.extend(inner_lines(loops.flow))
    return "\n".join(lines)


def _access_text(access: Access) -> str:
    words = {"c": "contiguous", "b": "uniform", "s": "strided", "t": "across"}
    terms = "".join(f" + start {t}" for t in access.terms)
    comb = ""
    if access.comb is not None:
        comb = f" by {access.comb.step} from {access.comb.phase}"
    return f"{access.type} {words[access.kind]}{comb}{terms}"


def _entry_text(loops: Loops, entry: tuple[Any, ...]) -> str:
    head = entry[0]
    if head == "read":
        return f"read {_access_text(loops.reads[entry[1]])}"
    if head == "scalar":
        return f"scalar {loops.scalars[entry[1]]}"
    if head == "coordinate":
        return f"coordinate {_access_text(loops.coordinates[entry[1]])}"
    if head == "pick":
        return f"pick %{entry[1]} {entry[2]}"
    if head == "point":
        point = entry[1]
        refs = " ".join(f"%{ref}" for ref in point.refs)
        return f"point {point.op.name} {_access_text(loops.reads[point.read])} {refs}"
    return " ".join([repr(head), *[f"%{r}" for r in entry[1:]]])
