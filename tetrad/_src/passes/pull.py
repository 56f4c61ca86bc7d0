"""Expressions pulled into kernels.

In: a node of the graph and the kernel that wants it. Out: the number of the entry that
evaluates it there. Elementwise operations and scalars become entries; what is stored
becomes a read. An index map is not computed but remembered on the way down (`chain`) and
applied to the strides of what is read at the bottom.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.passes.graph import (
    COUNT,
    GATHER,
    GATHER_COST,
    VALUE,
    VIEW,
    Machine,
    Node,
    point_maps,
)
from tetrad._src.passes.ir import (
    COORDINATE,
    PICK,
    POINT,
    READ,
    SCALAR,
    Coordinate,
    Kernel,
    Read,
    Term,
    is_wide,
)

Strides = tuple[int, ...]
Chain = tuple[Any, ...]  # of (operation, aval of its operand, starts)


class Puller:
    """Pulls expressions into kernels."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def pull(self, kernel: Kernel, root: Node, chain: Chain) -> int:
        """The entry of `kernel` that evaluates `root` under the index maps `chain`."""
        memo = kernel.memo
        if root.aval.ndim == 0:
            chain = kernel.splat
        goal = (root, chain)
        found = memo.get(goal)
        if found is not None:
            return found
        work = [goal]
        while work:
            key = work[-1]
            if key in memo:
                work.pop()
                continue
            node, chain = key
            if node.kind == VALUE:
                memo[key] = self.enter_scalar(kernel, node.scalar)
            elif node.value >= 0:
                memo[key] = self.enter_read(kernel, node, chain)
            elif node.kind == COUNT:
                memo[key] = self.enter_count(kernel, node, chain)
            else:
                below = _below(kernel, node, chain)
                missing = [k for k in below if k not in memo]
                if missing:
                    work.extend(reversed(missing))
                    continue
                refs = [memo[k] for k in below]
                if node.kind == VIEW:
                    memo[key] = refs[0]
                elif node.kind == GATHER:
                    memo[key] = self.enter_gather(kernel, node, tuple(refs), chain)
                else:
                    memo[key] = self.enter_map(kernel, node, tuple(refs), chain)
            work.pop()
        return memo[goal]

    def enter(self, kernel: Kernel, entry: tuple[Any, ...], dtype: Any) -> int:
        if dtype.itemsize >= 8 and is_wide(dtype):
            kernel.wide = True
        kernel.entries.append(entry)
        kernel.dtypes.append(dtype)
        return len(kernel.entries) - 1

    def enter_scalar(self, kernel: Kernel, scalar: Any) -> int:
        # Scalars are never merged by value: the key must not depend on values.
        kernel.scalars.append(scalar)
        return self.enter(kernel, (SCALAR, len(kernel.scalars) - 1), scalar.dtype)

    def enter_read(self, kernel: Kernel, node: Node, chain: Chain) -> int:
        aval = node.aval
        strides, offset, terms = self.address(aval, aval.strides, chain)
        read = Read(node.value, aval.dtype, strides, offset, terms)
        place = kernel.places.get(read)
        if place is None:
            kernel.reads.append(read)
            kernel.walks.append(strides)
            place = self.enter(kernel, (READ, len(kernel.reads) - 1), aval.dtype)
            kernel.places[read] = place
        return place

    def address(
        self, aval: Aval, strides: Strides, chain: Chain, offset: int = 0
    ) -> tuple[Strides, int, tuple[Term, ...]]:
        """Applies index maps, innermost first, to strides."""
        terms: list[Term] = []
        for op, below, starts in chain:
            for source, axis, limit in starts:
                term_source = source.scalar if source.kind == VALUE else source.value
                terms.append(Term(term_source, source.aval.dtype, limit, strides[axis]))
            moved = op.restride(below, strides, offset)
            if moved is None:
                raise AssertionError(f"{op} cannot be read through strides {strides}")
            _, strides, offset = moved
        return strides, offset, tuple(terms)

    def enter_count(self, kernel: Kernel, node: Node, chain: Chain) -> int:
        coefficients, start = node.op.coordinates()
        strides, offset, terms = self.address(node.aval, coefficients, chain, start)
        kernel.walks.append(strides)
        entry = (COORDINATE, Coordinate(strides, offset, node.aval.dtype, terms))
        return self.enter(kernel, entry, node.aval.dtype)

    def enter_map(
        self, kernel: Kernel, node: Node, refs: tuple[int, ...], chain: Chain
    ) -> int:
        op = node.op
        if node.pick < 0:
            kernel.cost += node.own
            return self.enter(kernel, (op, *refs), node.aval.dtype)
        key: Any = (op, refs)
        all_results = kernel.memo.get(key)
        if all_results is None:
            kernel.cost += node.own
            all_results = self.enter(kernel, (op, *refs), node.aval.dtype)
            kernel.memo[key] = all_results
        return self.enter(kernel, (PICK, all_results, node.pick), node.aval.dtype)

    def enter_gather(
        self, kernel: Kernel, node: Node, refs: tuple[int, ...], chain: Chain
    ) -> int:
        source = node.ins[0]
        fixed, free = point_maps(node.op, node.aval.ndim, source.aval)
        coordinates: list[Coordinate | None] = []
        for unit in free:
            if unit is None:
                coordinates.append(None)
                continue
            strides, offset, terms = self.address(node.aval, unit, chain)
            kernel.walks.append(strides)
            coordinates.append(Coordinate(strides, offset, None, terms))
        strides, offset, terms = self.address(node.aval, fixed, chain)
        kernel.walks.append(strides)
        kernel.reads.append(
            Read(source.value, source.aval.dtype, strides, offset, terms)
        )
        entry = (POINT, node.op, len(kernel.reads) - 1, refs, tuple(coordinates))
        kernel.cost += GATHER_COST
        return self.enter(kernel, entry, node.aval.dtype)


def _below(kernel: Kernel, node: Node, chain: Chain) -> list[Any]:
    """What must be pulled before `node`: operands with their chains."""
    if node.kind == VIEW:
        x = node.ins[0]
        if x.aval.ndim == 0:
            return [(x, kernel.splat)]
        return [(x, ((node.op, x.aval, node.starts), *chain))]
    splat = kernel.splat
    if node.kind == GATHER:
        return [(x, chain) for x in node.ins[1:]]
    return [(x, splat if x.aval.ndim == 0 else chain) for x in node.ins]
