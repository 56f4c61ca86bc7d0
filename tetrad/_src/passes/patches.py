"""Arrays that are put together from parts, and what is put together from these.

In: the regions of operations such as concatenate and pad. Out: `Piece`s, boxes that do
not overlap and fill the array. An array that is only read to be put somewhere else, all
of it or a box of it (`unwritten` finds them), need not exist: its pieces are written to
where they end up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Var
from tetrad._src.core.op import Region

LEAST = 1 << 10  # elements of an array that is worth the trouble
MOST = 12  # pieces of one array

Shape = tuple[int, ...]
Box = tuple[Shape, Shape]  # where it begins, and its extents


class Piece(NamedTuple):
    """A box of an array: a box of operand `operand`, or filled with a scalar one."""

    operand: int
    start: Shape | None  # in the operand; None: a scalar
    low: Shape
    shape: Shape


def pieces(regions: Sequence[Region], aval: Aval, ranks: Sequence[int]) -> list[Piece]:
    """The pieces of an array with these regions; none if they are no boxes, or many."""
    found: list[Piece] = []
    for region in regions:
        if region.strides != aval.strides:
            return []
        if 0 in region.shape:
            continue
        low = corner(region.offset, aval)
        rank = ranks[region.operand]
        start = None if rank == 0 else (0,) * rank
        found = [part for old in found for part in _without(old, (low, region.shape))]
        found.append(Piece(region.operand, start, low, region.shape))
        if len(found) > MOST:
            return []
    return found


def corner(offset: int, aval: Aval) -> Shape:
    """The coordinates of an element of a dense array."""
    low = []
    for stride in aval.strides:
        low.append(offset // stride if stride else 0)
        offset -= low[-1] * stride
    return tuple(low)


def cut(piece: Piece, box: Box) -> Piece | None:
    """The part of a piece that lies in a box of its array; None if there is none."""
    low = [max(a, b) for a, b in zip(piece.low, box[0])]
    ends = zip(piece.low, piece.shape, *box)
    high = [min(a + n, b + m) for a, n, b, m in ends]
    if any(a >= b for a, b in zip(low, high)):
        return None
    start = piece.start
    if start is not None:
        start = tuple([s + a - b for s, a, b in zip(start, low, piece.low)])
    shape = tuple([b - a for a, b in zip(low, high)])
    return Piece(piece.operand, start, tuple(low), shape)


def _without(piece: Piece, box: Box) -> list[Piece]:
    """What is left of a piece outside of a box: slabs, axis by axis."""
    if cut(piece, box) is None:
        return [piece]
    parts = []
    low, shape = list(piece.low), list(piece.shape)
    for axis, (a, n) in enumerate(zip(*box)):
        end = low[axis] + shape[axis]
        for first, last in ((low[axis], min(a, end)), (max(a + n, low[axis]), end)):
            if first < last:
                slab = (*low[:axis], first, *low[axis + 1 :])
                size = (*shape[:axis], last - first, *shape[axis + 1 :])
                part = cut(piece, (slab, size))
                assert part is not None
                parts.append(part)
        first, last = max(low[axis], a), min(end, a + n)
        low[axis], shape[axis] = first, last - first
    return parts


def unwritten(jaxpr: Jaxpr) -> tuple[dict[Var, list[Piece]], set[Var]]:
    """The pieces of arrays put together in a jaxpr, and which need not exist."""
    made: dict[Var, list[Piece]] = {}
    for eqn in jaxpr.eqns:
        if eqn.op.regions is None or eqn.outs[0].aval.size < LEAST:
            continue
        avals = [atom.aval for atom in eqn.ins]
        regions = eqn.op.regions(*avals)
        found = pieces(regions, eqn.outs[0].aval, [aval.ndim for aval in avals])
        if found:
            made[eqn.outs[0]] = found
    if len(made) < 2:
        return made, set()  # nothing is put together twice
    readers: dict[Any, list[Eqn]] = {}
    for eqn in jaxpr.eqns:
        for atom in eqn.ins:
            if type(atom) is Var:
                readers.setdefault(atom, []).append(eqn)
    outs = {id(atom) for atom in jaxpr.outs}
    gone = set()
    for var in made:
        reads = _windows(var, var.aval, var.aval.strides, 0, made, readers, outs)
        if reads is not None and 0 < reads <= var.aval.size:
            gone.add(var)
    return made, gone


def _windows(
    var: Var,
    aval: Aval,
    strides: Shape,
    offset: int,
    made: dict[Var, list[Piece]],
    readers: dict[Any, list[Eqn]],
    outs: set[int],
) -> int | None:
    """How many elements others read of an array; None if not by putting boxes of it."""
    if id(var) in outs:
        return None
    total = 0
    for eqn in readers.get(var, ()):
        op = eqn.op
        if eqn.outs[0] in made:
            total += aval.size
            continue
        if op.restride is None or op.starts is not None or op.coordinates is not None:
            return None
        moved = op.restride(aval, strides, offset)
        if moved is None or moved[1] != strides:
            return None
        view, _, start = moved
        found = _windows(eqn.outs[0], view, strides, start, made, readers, outs)
        if found is None:
            return None
        total += found
    return total
