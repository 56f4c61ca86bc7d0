"""Several jaxprs of the same types, handled alike: the branches of `cond` and `switch`.

In: branches, and what is differentiated, mapped, known or used of their operands. Out:
branches again, over the same operands as each other, with the same results.

Read the transformations first, `split_branches` last; `speculative` judges whether a
branch may be computed for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tetrad._src.control.call import Mask, places
from tetrad._src.control.flow import chosen, described, joined, same_types
from tetrad._src.core.avals import Aval
from tetrad._src.core.effects import ORDERED_IO
from tetrad._src.core.jaxpr import Jaxpr, dce, eval_jaxpr
from tetrad._src.core.op import Axis, Flow, Kind
from tetrad._src.core.stage import restage
from tetrad._src.ops.views import zeros
from tetrad._src.transforms.jvp import jvp_jaxpr
from tetrad._src.transforms.linearize import split_jaxpr
from tetrad._src.transforms.transpose import transpose_jaxpr
from tetrad._src.transforms.vmap import batch_jaxpr
from tetrad._src.util.memo import memo_on_first

Branches = tuple[Jaxpr, ...]


def branch_types(branches: Branches, args: Sequence[Aval]) -> tuple[Aval, ...]:
    """The types of the results; weak where those of all branches are."""
    first = branches[0]
    for number, branch in enumerate(branches):
        if not same_types(branch.in_avals, args):
            raise TypeError(
                f"branch {number} takes {described(branch.in_avals)}, but the operands"
                f" are {described(args)}"
            )
        if not same_types(branch.out_avals, first.out_avals):
            raise TypeError(
                f"branch {number} gives {described(branch.out_avals)}, but branch 0"
                f" gives {described(first.out_avals)}"
            )
    columns = zip(*[branch.out_avals for branch in branches])
    return tuple(
        [
            column[0].update(weak_type=all(a.weak_type for a in column))
            for column in columns
        ]
    )


def jvp_branches(branches: Branches, nonzero: Mask) -> tuple[Branches, Mask]:
    mask = joined([jvp_jaxpr(b, nonzero)[1] for b in branches])
    return tuple([jvp_jaxpr(b, nonzero, mask)[0] for b in branches]), mask


def transpose_branches(branches: Branches, linear: Mask, nonzero: Mask) -> Branches:
    return tuple([transpose_jaxpr(b, linear, nonzero) for b in branches])


def batch_branches(
    branches: Branches, axis: Axis, mapped: Mask
) -> tuple[Branches, Mask]:
    none = (False,) * len(branches[0].outs)
    mask = joined([batch_jaxpr(b, axis, mapped, none)[1] for b in branches])
    return tuple([batch_jaxpr(b, axis, mapped, mask)[0] for b in branches]), mask


def dce_branches(branches: Branches, used: Mask) -> tuple[Branches, Mask]:
    used_ins = joined([dce(b, used)[1] for b in branches])
    smaller = [dce(b, used)[0] for b in branches]
    return tuple([_without_inputs(b, used_ins) for b in smaller]), used_ins


@memo_on_first
def _without_inputs(jaxpr: Jaxpr, kept: Mask) -> Jaxpr:
    return Jaxpr(chosen(jaxpr.ins, kept), jaxpr.eqns, jaxpr.outs, jaxpr.name)


class SplitBranches(NamedTuple):
    """Branches taken apart: all known parts give residuals for all unknown ones."""

    known: Branches
    unknown: Branches
    unknown_in: tuple[int, ...]  # i: operand i; ~j: residual j
    unknown_out: Mask


def split_branches(branches: Branches, unknown: Mask) -> SplitBranches:
    """Takes all branches apart alike.

    Residuals of different branches share a place if they have one type; a branch fills
    with zeros what only others need. A residual that is an operand stays one.
    """
    out_mask = joined([split_jaxpr(b, unknown).unknown_out for b in branches])
    parts = [split_jaxpr(b, unknown, out_mask) for b in branches]
    known_in = places(unknown, False)
    kept = out_mask.count(False)
    slots: list[Aval] = []
    by_branch: list[list[int]] = []  # for each residual: ~slot, or the operand it is
    for part in parts:
        free = list(range(len(slots)))
        number: dict[Any, int] = {}
        origins = []
        for atom, source in zip(part.known.outs[kept:], part.source):
            if source is not None:
                origins.append(known_in[source])
                continue
            if atom not in number:
                slot = next((k for k in free if slots[k] is atom.aval.strong()), None)
                if slot is None:
                    slot = len(slots)
                    slots.append(atom.aval.strong())
                else:
                    free.remove(slot)
                number[atom] = slot
            origins.append(~number[atom])
        by_branch.append(origins)
    passed = tuple(sorted({i for origins in by_branch for i in origins if i >= 0}))
    known = [
        _filled(part.known, kept, tuple(origins), tuple(slots))
        for part, origins in zip(parts, by_branch)
    ]
    later_in = (*[~j for j in range(len(slots))], *passed)
    avals = (*slots, *[branches[0].in_avals[i] for i in passed])
    later = [
        _taking(part.unknown, tuple([later_in.index(i) for i in origins]), avals)
        for part, origins in zip(parts, by_branch)
    ]
    return SplitBranches(
        tuple(known), tuple(later), (*later_in, *places(unknown, True)), out_mask
    )


@memo_on_first
def _filled(
    known: Jaxpr, kept: int, origins: tuple[int, ...], slots: tuple[Aval, ...]
) -> Jaxpr:
    """The known part of a branch, with a result for every slot of residuals."""

    def run(*args: Any) -> list[Any]:
        outs = eval_jaxpr(known, args)
        values = {~i: v for i, v in zip(origins, outs[kept:]) if i < 0}
        return outs[:kept] + [
            values[k] if k in values else zeros(a) for k, a in enumerate(slots)
        ]

    return restage(run, known.in_avals, known.name)


@memo_on_first
def _taking(later: Jaxpr, positions: tuple[int, ...], avals: tuple[Aval, ...]) -> Jaxpr:
    """The unknown part of a branch over the residuals of all branches."""

    def run(*args: Any) -> list[Any]:
        residuals = [args[position] for position in positions]
        return eval_jaxpr(later, [*residuals, *args[len(avals) :]])

    return restage(run, avals + later.in_avals[len(positions) :], later.name)


# ------------------------------------------------------------------------------ judgement

CHEAP = 1024  # scalar operations in one lane


@memo_on_first
def speculative(jaxpr: Jaxpr) -> bool:
    """Whether it does no harm to compute a branch that is not taken.

    It has no effects, it ends, and it costs little.
    """
    return not jaxpr.effects and cost(jaxpr) <= CHEAP


@memo_on_first
def harmful(jaxpr: Jaxpr) -> bool:
    """Whether it does harm to compute `jaxpr` again for a lane of a loop that is done.

    It has effects, perhaps never ends, or calls Python once for each lane. (A call that
    serves all lanes is made as long as some lane goes on.)
    """
    for eqn in jaxpr.eqns:
        op = eqn.op
        if op.effects or op.flow is Flow.WHILE:
            return True
        if op.host is not None and not op.vectorized:  # type: ignore[attr-defined]
            return True
        if any([harmful(inner) for inner in op.jaxprs()]):
            return True
    return False


def refuse_order(op: Any) -> None:
    """ValueError if lanes that go different ways would have ordered effects."""
    if ORDERED_IO in op.effects:
        raise ValueError(
            "Cannot `vmap` ordered IO callback: lanes have no order, and here each lane"
            " goes its own way through a cond or while_loop. Leave out ordered=True of"
            " io_callback, or loop over the lanes with jax.lax.map"
        )


@memo_on_first
def cost(jaxpr: Jaxpr) -> float:
    """Scalar operations that a jaxpr takes, roughly; infinite if perhaps it never ends.

    Nobody knows what a call of Python costs.
    """
    total = 0.0
    for eqn in jaxpr.eqns:
        op = eqn.op
        inner = [cost(j) for j in op.jaxprs()]
        if op.flow is Flow.WHILE or op.host is not None:
            return math.inf
        if op.flow is Flow.SCAN:
            total += inner[0] * op.length  # type: ignore[attr-defined]
        elif inner:
            total += sum(inner)
        elif op.kind is Kind.CONTRACT:
            sizes = [float(a.aval.size) for a in (*eqn.ins, *eqn.outs)]
            total += math.sqrt(math.prod(sizes))  # n² · n² · n² has the root n³
        elif op.kind is not Kind.REARRANGE:
            total += max([v.aval.size for v in (*eqn.outs, *eqn.ins)], default=0)
    return total
