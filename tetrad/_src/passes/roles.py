"""What the operands of control flow are to the jaxprs that it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.core.op import Flow

CONST, CARRY, STACKED = range(3)


def flow_roles(op: Any, count: int) -> list[int]:
    """The role of each of `count` operands; the index of a branch is a constant."""
    if op.flow is Flow.BRANCH:
        return [CONST] * count
    if op.flow is Flow.WHILE:
        consts = op.cond_nconsts + op.body_nconsts
        return [CONST] * consts + [CARRY] * (count - consts)
    stacked = count - op.num_consts - op.num_carry
    return [CONST] * op.num_consts + [CARRY] * op.num_carry + [STACKED] * stacked


def positions(op: Any, number: int, count: int) -> Sequence[int]:
    """Which operands of `op` are the `count` inputs of its jaxpr `number`."""
    if op.flow is Flow.BRANCH:
        return range(1, count + 1)
    if op.flow is Flow.SCAN:
        return range(count)
    first, consts = op.cond_nconsts, op.cond_nconsts + op.body_nconsts
    if number == 0:
        return [*range(first), *range(consts, consts + count - first)]
    return range(first, first + count)


def used_operands(op: Any, jaxprs: Sequence[Jaxpr], count: int) -> list[int]:
    """The positions of operands that the jaxprs need, but for stacked ones."""
    used: set[int] = {0} if op.flow is Flow.BRANCH else set()
    for number, jaxpr in enumerate(jaxprs):
        atoms = set(jaxpr.outs).union(*[eqn.ins for eqn in jaxpr.eqns])
        for p, var in zip(positions(op, number, len(jaxpr.ins)), jaxpr.ins):
            if var in atoms:
                used.add(p)
    roles = flow_roles(op, count)
    return [
        p
        for p, role in enumerate(roles)
        if role is CARRY or role is CONST and p in used
    ]
