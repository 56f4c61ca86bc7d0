"""Kernels that visit the same rows become bands, so that rows stay in the caches.

In: the steps of a plan. Out: the same, where neighbouring kernels are joined to a `Band`
if running all of them on one row (a few rows) before the next gives the same results:
the fold of a row is what the next kernel needs for that row, and nothing else. Softmax
and normalisations read and write memory once that way.

A band has one space, whose trailing axes are the rows. Its kernels fold rows, or visit
their elements, or visit one element for each row. What one of them writes, a later one
must read in the same row. Every kernel computes what it would compute alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.avals import dense_strides
from tetrad._src.passes.ir import (
    COORDINATE,
    POINT,
    Band,
    Branch,
    Kernel,
    Loop,
    Plan,
    Read,
    Shape,
    Step,
    Strides,
)
from tetrad._src.passes.trees import ROWS, collapses, tree

LONGEST = 1 << 17  # elements of a row that may stay in the caches
FEWEST = 16  # rows; fewer are only joined if all of them are small
SMALL = 1 << 16  # elements
NEAR = 4  # strides along rows of what is read: larger ones are walked in tiles


def join(plan: Plan, steps: list[Step]) -> list[Step]:
    """The steps of a block, with bands."""
    joined: list[Step] = []
    band: _Band | None = None
    for step in steps:
        if type(step) is Branch:
            step.blocks = [join(plan, block) for block in step.blocks]
        elif type(step) is Loop:
            step.test, step.body = join(plan, step.test), join(plan, step.body)
        if type(step) is Kernel:
            if band is not None and band.takes(step):
                band.add(step)
                continue
            joined += _closed(band)
            band = _begun(step)
            if band is None:
                joined.append(step)
            continue
        joined += _closed(band)
        band = None
        joined.append(step)
    return joined + _closed(band)


def _closed(band: _Band | None) -> list[Step]:
    if band is None:
        return []
    if len(band.kernels) == 1:
        return list(band.kernels)
    return [Band(band.kernels, band.inner, band.rows, band.length)]


def _begun(kernel: Kernel) -> _Band | None:
    """A band that starts with this kernel, if it folds rows that may stay in caches."""
    if kernel.inner is not None or not kernel.reductions:
        return None
    space = kernel.space
    form = tree(space, kernel.reductions[0].axes)
    if form.kind is not ROWS or form.blocks > 1 or form.outer or not form.kept:
        return None
    if 0 in space or not form.inner or max(form.kept) > min(form.inner):
        return None
    few = form.outputs < FEWEST and form.outputs * form.length > SMALL
    if few or form.length > LONGEST:
        return None
    band = _Band(space, form.kept, form.inner, form.outputs, form.length)
    band.add(kernel)
    return band


class _Band:
    """A band while it grows."""

    def __init__(
        self, space: Shape, kept: Shape, inner: Shape, rows: int, length: int
    ) -> None:
        self.space = space
        self.kept = kept
        self.inner = inner
        self.rows = rows
        self.length = length
        self.kernels: list[Kernel] = []
        self.made: dict[int, tuple[Strides, int]] = {}  # how values written here lie
        extents = dense_strides(tuple([space[d] for d in kept]))
        self.one = dict(zip(kept, extents))  # strides of one element for each row

    def add(self, kernel: Kernel) -> None:
        self.kernels.append(kernel)
        single = tuple([self.one.get(d, 0) for d in range(len(self.space))])
        whole = kernel.space == self.space
        for write in kernel.writes:
            self.made[write.value] = (write.strides if whole else single, write.offset)
        for reduction in kernel.reductions:
            for value in reduction.values:
                self.made[value] = (single, 0)

    def takes(self, kernel: Kernel) -> bool:
        """Whether the kernel may run on a row as soon as the others have."""
        if kernel.inner is not None or kernel.scatters or kernel.ragged:
            return False
        if kernel.space != self.space:
            return self.takes_single(kernel)
        for reduction in kernel.reductions:
            form = tree(self.space, reduction.axes)
            if form.kind is not ROWS or form.blocks > 1 or form.inner != self.inner:
                return False
            if form.kept != self.kept:
                return False
        last = self.inner[-1]
        for strides in _maps(kernel):
            if not collapses(strides, self.space, self.inner):
                return False
        if any(abs(read.strides[last]) > NEAR for read in kernel.reads):
            return False
        return self.reads_rows(kernel, self.space, range(len(self.space)))

    def takes_single(self, kernel: Kernel) -> bool:
        """The same for a kernel over one element for each row."""
        space = kernel.space
        axes = [d for d in range(len(space)) if space[d] != 1]
        if [space[d] for d in axes] != [self.space[d] for d in self.kept]:
            return False
        if kernel.reductions:
            return False
        for strides in _maps(kernel):
            if not collapses(strides, space, tuple(axes)):
                return False
        dense = dense_strides(space)
        if any(write.strides != dense or write.offset for write in kernel.writes):
            return False
        return self.reads_rows(kernel, space, axes)

    def reads_rows(self, kernel: Kernel, space: Shape, axes: Sequence[int]) -> bool:
        """Whether it reads in the same row what was written here."""
        points = {entry[2] for entry in kernel.entries if entry[0] == POINT}
        for number, read in enumerate(kernel.reads):
            if read.value not in self.made:
                continue
            if number in points or read.terms or read.step:
                return False
            if not self.same_row(read, space, axes):
                return False
        return not any(value in self.made for value in _starts(kernel))

    def same_row(self, read: Read, space: Shape, axes: Sequence[int]) -> bool:
        strides, offset = self.made[read.value]
        if read.offset != offset:
            return False
        if space == self.space:
            pairs = zip(range(len(space)), range(len(space)))
        else:
            pairs = zip(axes, self.kept)
        for here, there in pairs:
            if self.space[there] == 1:
                continue
            if read.strides[here] != strides[there]:
                return False
        return True


def _maps(kernel: Kernel) -> list[Strides]:
    """How a kernel walks everything that it touches."""
    found = [read.strides for read in kernel.reads]
    found.extend([write.strides for write in kernel.writes])
    for entry in kernel.entries:
        if entry[0] == COORDINATE:
            found.append(entry[1].strides)
        elif entry[0] == POINT:
            found.extend([c.strides for c in entry[4] if c is not None])
    return found


def _starts(kernel: Kernel) -> list[int]:
    """The values that say where accesses begin."""
    places: list[Any] = [*kernel.reads, *kernel.writes]
    for entry in kernel.entries:
        if entry[0] == COORDINATE:
            places.append(entry[1])
        elif entry[0] == POINT:
            places.extend([c for c in entry[4] if c is not None])
    return [t.source for place in places for t in place.terms if type(t.source) is int]
