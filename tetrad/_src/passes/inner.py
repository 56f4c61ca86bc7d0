"""Control flow that works element by element becomes part of a kernel.

In: an operation that states a `flow`. Out: a `Found`, if all that its jaxprs compute is
elementwise over one space, or scalar: a `Form` for the kernel, which then has the loop
inside of it, with everything that is carried in registers. Points that need no other
points go through their turns on their own, so this is right for any order of points.
Arrays that do not fit into registers stay in memory, see `turn`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr, Literal
from tetrad._src.core.op import Flow
from tetrad._src.passes.ir import Form, Shape, Strides
from tetrad._src.passes.machine import Machine
from tetrad._src.passes.roles import CARRY, CONST, STACKED, flow_roles, used_operands
from tetrad._src.passes.simplify import simplify
from tetrad._src.passes.turn import Count, Kept, Stored, Unfit, form_of, layout, points

TINY = 16  # elements of an array that is taken apart
INNER = "inner"


class Found(NamedTuple):
    """How a kernel runs the control flow of an operation.

    `lifted` are literals and counts. `operands` are the positions of the operands whose
    elements the form works on, `stacked` those it reads a slice of each turn. `arrays`
    are the positions of the operands that stay in memory; those that are carried are
    updated there. `walks` says of every array that accesses name which of `arrays` it
    is, and with which strides it is walked over the space.
    """

    form: Form
    space: Shape
    lifted: tuple[Literal | Count, ...]
    operands: tuple[int, ...]
    stacked: tuple[int, ...]
    arrays: tuple[int, ...]
    walks: tuple[tuple[int, Strides], ...]
    cost: float  # instructions of a turn
    long: bool  # has 64-bit registers


def find(op: Any, avals: Sequence[Aval], machine: Machine) -> Found | None:
    """What a kernel needs to run `op` on such operands; None if it cannot."""
    if op.flow is Flow.SCAN and op.length == 0:
        return None
    memo = op.jaxprs()[0].memo
    key = (INNER, op.structural(), tuple(avals))
    if key not in memo:
        memo[key] = None
        jaxprs = [simplify(jaxpr) for jaxpr in op.jaxprs()]
        for space, tiny in _spaces(op, avals, jaxprs):
            try:
                memo[key] = _found(op, avals, jaxprs, Kept(machine, space, tiny))
                break
            except Unfit:
                continue
    found: Found | None = memo[key]
    return found


def _spaces(
    op: Any, avals: Sequence[Aval], jaxprs: Sequence[Jaxpr]
) -> list[tuple[Shape, int]]:
    """The spaces that may do, best ones first, and how small tiny arrays are."""
    roles = flow_roles(op, len(avals))
    shapes = [a.shape for a, role in zip(avals, roles) if role is CARRY]
    shapes += [a.shape[1:] for a, role in zip(avals, roles) if role is STACKED]
    if op.flow is Flow.SCAN:
        shapes += [a.shape for a in jaxprs[0].out_avals[op.num_carry :]]
    elif op.flow is Flow.BRANCH:
        shapes += [a.shape for a in jaxprs[0].out_avals]
    wide = list({shape for shape in shapes if math.prod(shape) != 1})
    if any(0 in shape for shape in wide):
        return []
    spaces = [(shape, TINY) for shape in wide] if len(wide) == 1 else []
    common = 0
    for extents in zip(*wide):
        if len(set(extents)) > 1:
            break
        common += 1
    for rank in range(common, 0, -1):
        if all(math.prod(shape[rank:]) <= TINY for shape in wide):
            spaces.append((wide[0][:rank], TINY))
    if all(math.prod(shape) <= TINY for shape in wide):
        spaces.insert(min(1, len(spaces)), ((), TINY))
    # Some arrays stay in memory: at first the large ones, then all.
    spaces += [((), TINY), ((), 1)]
    return list(dict.fromkeys(spaces))


def _found(
    op: Any, avals: Sequence[Aval], jaxprs: Sequence[Jaxpr], kept: Kept
) -> Found:
    operands = used_operands(op, jaxprs, len(avals))
    roles = flow_roles(op, len(avals))
    stored: dict[int, Stored] = {}
    for p in operands:
        if not kept.fits(avals[p]):
            stored[p] = kept.array(avals[p], roles[p] is CARRY)
    form, results = form_of(kept, op, avals, jaxprs, operands, stored)
    plain = [p for p in operands if p not in stored]
    kept.see_all([avals[p] for p in plain])
    stacked = [p for p, role in enumerate(roles) if role is STACKED]
    return Found(
        form,
        kept.space,
        tuple(kept.lifted),
        tuple(plain),
        tuple(stacked),
        tuple(stored),
        tuple(kept.walks),
        kept.cost,
        kept.long,
    )


__all__ = ["CONST", "Count", "Found", "find", "layout", "points"]
