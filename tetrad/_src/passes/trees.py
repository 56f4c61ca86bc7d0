"""Which way a reduction adds up: a function of the extents alone.

In: a space and the axes that are folded. Out: a `Tree`. Since neither fusion, nor the
layout of operands, nor the number of threads enters, they cannot change a bit of the
result. An operand that cannot be walked as its tree wants is made dense first. Blocks of
folds in which order does not matter may be cut anew when the kernel is lowered.

Extents of 1 are ignored. If the last axis is folded, or few elements follow the last
folded one, vectors run along the latter (`rows`): short neighbouring folded axes are
merged into one range of at least `LONG` elements, so that a range of rows is walked with
the same accumulators. If the last axis is kept, or the folded range is very short,
vectors run along kept axes, the last one at least (`columns`), and every lane folds in
sequence, `FOLD` elements at a time.

Long folds are cut into blocks whose states are merged by a second fold: rows into
ranges of about `BLOCK` elements, columns into runs of a multiple of `FOLD` elements.
"""

from __future__ import annotations

from typing import NamedTuple

from tetrad._src.util.memo import Cache

LONG = 128  # merge trailing folded axes up to this length
SHORT = 32  # folded ranges below this run in columns
NARROW = 8  # kept elements behind the folded ones, too few for a vector
BLOCK = 8192  # elements of one block of rows
FOLD = 64  # elements that a column adds before it adds to its total

ROWS = "rows"
COLUMNS = "columns"


class Tree(NamedTuple):
    """How a reduction is walked. `blocks` states per output are merged at the end."""

    kind: str
    inner: tuple[int, ...]  # rows: the merged folded axes; columns: the vector axis
    kept: tuple[int, ...]  # other kept axes with extents above 1
    outer: tuple[int, ...]  # other folded axes with extents above 1
    outputs: int  # number of results
    length: int  # rows: extent of the merged axes; columns: extent of the vector axis
    rows: int  # product of the outer folded extents
    run: int  # outer elements in one block
    segment: int  # rows: inner elements in one block
    blocks: int


_trees: Cache = Cache("reduction trees", limit=4096)


def tree(space: tuple[int, ...], axes: tuple[int, ...]) -> Tree:
    """The tree of a reduction of `space` over `axes`."""
    key = (space, axes)
    found = _trees.get(key)
    if found is None:
        found = _trees.setdefault(key, _tree(space, axes))
    return found  # type: ignore[no-any-return]


def _tree(space: tuple[int, ...], axes: tuple[int, ...]) -> Tree:
    dims = [d for d in range(len(space)) if space[d] != 1]
    folded = [d for d in dims if d in axes]
    kept = [d for d in dims if d not in axes]
    outputs = _product(space, kept)
    if not folded:
        return Tree(ROWS, (), tuple(kept), (), outputs, 1, 1, 1, 1, 1)
    if not kept or dims[-1] in axes:
        group = _trailing(dims, axes)
        short = _product(space, group) < SHORT
        if not short or not kept or space[kept[-1]] < NARROW:
            return _rows(space, kept, folded, group, outputs)
    else:
        behind = [d for d in kept if d > folded[-1]]
        group = _trailing([d for d in dims if d not in behind], axes)
        if _product(space, behind) < NARROW and _product(space, group) >= SHORT:
            return _rows(space, kept, folded, group, outputs)
    return _columns(space, kept, folded, outputs)


def _rows(
    space: tuple[int, ...],
    kept: list[int],
    folded: list[int],
    group: list[int],
    outputs: int,
) -> Tree:
    inner: list[int] = []
    length = 1
    while group and (not inner or length < LONG):
        inner.insert(0, group.pop())
        length *= space[inner[0]]
    outer = [d for d in folded if d not in inner]
    count = _product(space, outer)
    segment = length
    run = max(count, 1)
    if outputs < FOLD and length * count > 2 * BLOCK:
        if length > 2 * BLOCK:
            segment, run = BLOCK, 1
        else:
            run = max(1, BLOCK // max(length, 1))
    blocks = -(-count // run) * -(-length // max(segment, 1))
    return Tree(
        ROWS,
        tuple(inner),
        tuple(kept),
        tuple(outer),
        outputs,
        length,
        count,
        run,
        max(segment, 1),
        max(blocks, 1),
    )


def crosses(space: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether vectors run along folded axes in front of kept ones.

    What is written for each element would be scattered.
    """
    form = tree(space, axes)
    if form.kind is not ROWS or not form.inner or not form.kept:
        return False
    return max(form.kept) > max(form.inner)


def _columns(
    space: tuple[int, ...], kept: list[int], folded: list[int], outputs: int
) -> Tree:
    count = _product(space, folded)
    length = space[kept[-1]]
    run = max(count, 1)
    tasks = outputs // max(length, 1) * -(-length // 64)
    if tasks < 16 and outputs * count > 8 * BLOCK and count > FOLD:
        wanted = -(-4 * BLOCK // max(outputs, 1))
        run = max(FOLD, -(-wanted // FOLD) * FOLD)
    blocks = max(1, -(-count // run))
    return Tree(
        COLUMNS,
        (kept[-1],),
        tuple(kept[:-1]),
        tuple(folded),
        outputs,
        length,
        count,
        run,
        1,
        blocks,
    )


def _trailing(dims: list[int], axes: tuple[int, ...]) -> list[int]:
    """The folded axes behind the last kept one of `dims`."""
    group: list[int] = []
    for d in reversed(dims):
        if d not in axes:
            break
        group.insert(0, d)
    return group


def _product(space: tuple[int, ...], dims: list[int]) -> int:
    result = 1
    for d in dims:
        result *= space[d]
    return result


def collapses(
    strides: tuple[int, ...], space: tuple[int, ...], dims: tuple[int, ...]
) -> bool:
    """Whether the axes `dims` can be walked as one range with one stride."""
    for left, right in zip(dims, dims[1:]):
        if strides[left] != strides[right] * space[right]:
            return False
    return True
