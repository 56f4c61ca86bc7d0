"""Elementwise expressions over arrays that are put together from parts.

In: a jaxpr, and which of its arrays are put together from which pieces (`patches`). Out:
a `Stencils`. If all that reads such an array is elementwise, maybe through slices, it
need not exist: the result of the expression is computed box by box, so that each box
lies in one piece of every array that is read. Shifted and padded neighbours are then
read where they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Var
from tetrad._src.core.op import Kind
from tetrad._src.passes.patches import Box, Piece, Shape, corner

MOST = 32  # boxes of one result

Cuts = tuple[frozenset[int], ...]  # where boxes end, along each axis
Pieced = dict[Var, list[Piece]]


class Stencils(NamedTuple):
    """Arrays that need not exist, and how others are computed therefore.

    `gone` are arrays put together from pieces that are never written. `boxes` says of
    elementwise values in which boxes they are to be computed. Those in `stored` must be
    in memory, since others than elementwise operations read them.
    """

    gone: set[Var]
    boxes: dict[Var, list[Box]]
    stored: set[Var]


def slice_start(op: Any, aval: Aval) -> tuple[Aval, Shape] | None:
    """Aval and start of the box that an index map takes out of an array of `aval`."""
    if op.restride is None or op.starts is not None or op.coordinates is not None:
        return None
    moved = op.restride(aval, aval.strides, 0)
    if moved is None or moved[1] != aval.strides or 0 in moved[0].shape:
        return None
    return moved[0], corner(moved[2], aval)


def find(jaxpr: Jaxpr, made: Pieced) -> Stencils:
    """What of the arrays `made` need not exist because of what reads them."""
    candidates = set(made)
    while candidates:
        search = _Search(jaxpr, made, candidates)
        failed = search.failed()
        if not failed:
            return Stencils(search.gone(), search.boxes, search.stored)
        candidates -= failed
    return Stencils(set(), {}, set())


class _Search:
    """One attempt: as if all `candidates` did not exist."""

    def __init__(self, jaxpr: Jaxpr, made: Pieced, candidates: set[Var]) -> None:
        self.made = made
        self.candidates = candidates
        self.cuts: dict[Var, Cuts] = {}
        self.below: dict[Var, frozenset[Var]] = {}  # candidates that a value reads
        self.boxes: dict[Var, list[Box]] = {}
        self.stored: set[Var] = set()
        self.bad: set[Var] = set()
        self.elementwise: set[Var] = set()  # candidates that such operations read
        for eqn in jaxpr.eqns:
            self.visit(eqn)
        for atom in jaxpr.outs:
            if type(atom) is Var and atom in self.below and atom not in self.boxes:
                self.bad |= self.below[atom]

    def gone(self) -> set[Var]:
        """Candidates that some elementwise operation reads."""
        found: set[Var] = set()
        for var in self.boxes:
            found |= self.below[var]
        return found

    def failed(self) -> set[Var]:
        """Candidates that must exist after all."""
        for var in self.stored:
            if var.aval.size >= sum([x.aval.size for x in self.below[var]]):
                self.bad |= self.below[var]  # one more array for one less
        return self.bad & self.candidates

    def visit(self, eqn: Eqn) -> None:
        read = [a for a in eqn.ins if type(a) is Var and a in self.below]
        out = eqn.outs[0]
        if out in self.made:
            self.join(out, eqn)
            for x in read:
                if x in self.boxes:
                    self.stored.add(x)
            return
        if not read:
            return
        if eqn.op.kind is Kind.ELEMENTWISE and not eqn.op.effects:
            self.map(eqn, read)
            return
        taken = slice_start(eqn.op, read[0].aval) if len(eqn.ins) == 1 else None
        if taken is not None and read[0] not in self.boxes:
            cuts = _shifted(self.cuts[read[0]], taken[1], taken[0].shape)
            self.cuts[out], self.below[out] = cuts, self.below[read[0]]
            return
        for x in read:
            if x in self.boxes:
                self.stored.add(x)
            else:
                self.bad |= self.below[x]

    def join(self, out: Var, eqn: Eqn) -> None:
        """An array that is put together: its pieces, and those of what they are from."""
        cuts = [set[int]() for _ in out.aval.shape]
        below = frozenset((out,)) if out in self.candidates else frozenset()
        for piece in self.made[out]:
            for axis, (low, extent) in enumerate(zip(piece.low, piece.shape)):
                cuts[axis] |= {low, low + extent}
            x = eqn.ins[piece.operand]
            if piece.start is None or type(x) is not Var or x not in self.below:
                continue
            if x in self.boxes:
                continue
            below |= self.below[x]
            moved = _shifted(self.cuts[x], piece.start, piece.shape)
            for axis, (low, inside) in enumerate(zip(piece.low, moved)):
                cuts[axis] |= {low + at for at in inside}
        if out in self.candidates:
            self.below[out] = below
            self.cuts[out] = tuple(
                [
                    frozenset(at for at in axis if 0 < at < extent)
                    for axis, extent in zip(cuts, out.aval.shape)
                ]
            )

    def map(self, eqn: Eqn, read: Sequence[Var]) -> None:
        """An elementwise operation: the boxes of all its operands at once."""
        cuts = [set[int]() for _ in eqn.outs[0].aval.shape]
        below: frozenset[Var] = frozenset()
        for x in read:
            below |= self.below[x]
            for axis, places in enumerate(self.cuts[x]):
                cuts[axis] |= places
        count = 1
        for inside in cuts:
            count *= len(inside) + 1
        if count > MOST:
            self.bad |= below
        joined = tuple([frozenset(inside) for inside in cuts])
        boxes = [] if count > MOST else list(_boxes(joined, eqn.outs[0].aval.shape))
        for out in eqn.outs:
            self.cuts[out], self.below[out] = joined, below
            self.boxes[out] = boxes


def _shifted(cuts: Cuts, start: Shape, shape: Shape) -> Cuts:
    """The cuts that lie inside of a box."""
    return tuple(
        [
            frozenset(at - first for at in inside if first < at < first + extent)
            for inside, first, extent in zip(cuts, start, shape)
        ]
    )


def _boxes(cuts: Cuts, shape: Shape) -> Iterator[Box]:
    """The boxes between cuts, in order."""
    ranges = []
    for inside, extent in zip(cuts, shape):
        ends = [0, *sorted(inside), extent]
        ranges.append(list(zip(ends[:-1], ends[1:])))
    for box in itertools.product(*ranges):
        yield tuple([a for a, _ in box]), tuple([b - a for a, b in box])
