"""What a loop computes anew in each turn although it never changes.

In: the jaxpr of a turn, whose first inputs are the same in all turns. Out: a jaxpr of
what can be computed once before the loop, and the rest. Index maps and counts stay in
the loop: they cost nothing where they are, and memory outside. Control flow and calls of
Python stay too, since a turn that never comes need not end, and must not call.
"""

from __future__ import annotations

from collections.abc import Sequence

from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Var
from tetrad._src.core.op import Kind


def hoist(jaxpr: Jaxpr, consts: int) -> tuple[Jaxpr, Jaxpr] | None:
    """(before, turn); None if all depends on the turn.

    `before` takes the first `consts` inputs. `turn` takes these, the results of
    `before`, and the other inputs.
    """
    steady: set[Var] = set(jaxpr.ins[:consts])
    free: list[Eqn] = []  # steady, but not worth hoisting by themselves
    early: list[Eqn] = []
    late: list[Eqn] = []
    for eqn in jaxpr.eqns:
        if not _is_steady(eqn, steady):
            late.append(eqn)
            continue
        steady.update(eqn.outs)
        (free if _is_free(eqn) else early).append(eqn)
    if not early:
        return None
    first_part = {*_needed(free, early), *early}
    second_part = {*free, *late}
    before = [eqn for eqn in jaxpr.eqns if eqn in first_part]
    late_eqns = [eqn for eqn in jaxpr.eqns if eqn in second_part]
    used: set[Atom] = set(jaxpr.outs).union(*[eqn.ins for eqn in late_eqns])
    results = [var for eqn in early for var in eqn.outs if var in used]
    first, rest = jaxpr.ins[:consts], jaxpr.ins[consts:]
    return (
        Jaxpr(first, before, results, jaxpr.name),
        Jaxpr([*first, *results, *rest], late_eqns, jaxpr.outs, jaxpr.name),
    )


def _is_steady(eqn: Eqn, steady: set[Var]) -> bool:
    op = eqn.op
    if op.effects or op.flow is not None or op.host is not None:
        return False
    return all([atom in steady for atom in eqn.ins if type(atom) is Var])


def _is_free(eqn: Eqn) -> bool:
    op = eqn.op
    if op.restride is not None or op.coordinates is not None:
        return True
    # An expression of literals alone is computed where it is used.
    return op.kind is Kind.ELEMENTWISE and not any([type(a) is Var for a in eqn.ins])


def _needed(free: Sequence[Eqn], early: Sequence[Eqn]) -> list[Eqn]:
    """The equations among `free` that the `early` ones need."""
    wanted = {atom for eqn in early for atom in eqn.ins}
    found = []
    for eqn in reversed(free):
        if not wanted.isdisjoint(eqn.outs):
            found.append(eqn)
            wanted.update(eqn.ins)
    return found
