"""Readers of an array come before its update, which is then in place.

In: the equations of a jaxpr. Out: the same equations in an order in which those that
read an array stand before the one that updates it, unless they need its result. What
such a reader gives is later stored before the update, if it is small: see `Ahead`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.jaxpr import Eqn, Jaxpr, Var
from tetrad._src.core.op import Kind

FAR = 512  # equations behind an update among which readers are looked for


def readers_first(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with readers of an array before its update, where that is possible."""
    last: dict[Any, int] = {}
    updates = []
    for number, eqn in enumerate(jaxpr.eqns):
        for atom in eqn.ins:
            last[atom] = number
        if eqn.op.kind is Kind.UPDATE:
            updates.append((number, eqn))
    late = [eqn for number, eqn in updates if last[eqn.ins[0]] > number]
    if not late:
        return jaxpr
    eqns = list(jaxpr.eqns)
    for update in late:
        _move_readers(eqns, update)
    return Jaxpr(jaxpr.ins, eqns, jaxpr.outs, jaxpr.name)


def _move_readers(eqns: list[Eqn], update: Eqn) -> None:
    """Moves what reads the operand of `update`, and what that needs, before it."""
    old = update.ins[0]
    begin = next(n for n, eqn in enumerate(eqns) if eqn is update)
    behind = eqns[begin + 1 : begin + 1 + FAR]
    changed = set(update.outs)
    reading: set[Any] = {old}  # and what is made of it
    for eqn in behind:
        if eqn.op.effects or not changed.isdisjoint(eqn.ins):
            changed.update(eqn.outs)
        elif eqn.op.kind is not Kind.UPDATE and not reading.isdisjoint(eqn.ins):
            reading.update(eqn.outs)
    wanted = reading - {old}
    for eqn in reversed(behind):
        if changed.isdisjoint(eqn.outs) and not wanted.isdisjoint(eqn.outs):
            wanted.update([atom for atom in eqn.ins if type(atom) is Var])
    if not wanted:
        return
    first = [eqn for eqn in behind if _moves(eqn, wanted, changed)]
    rest = [eqn for eqn in behind if not _moves(eqn, wanted, changed)]
    eqns[begin : begin + 1 + FAR] = [*first, update, *rest]


def _moves(eqn: Eqn, wanted: set[Any], changed: set[Any]) -> bool:
    outs: Sequence[Any] = eqn.outs
    return not wanted.isdisjoint(outs) and changed.isdisjoint(outs)


class Ahead:
    """Finds values that read an array which is updated before they are used.

    They must be stored before the update, or it copies the array. Nodes are told in the
    order of their equations (`made`), and so is their use (`used`).
    """

    __slots__ = ("bases", "clock", "updated")

    def __init__(self) -> None:
        self.bases: dict[Any, dict[Any, int]] = {}  # arrays that a node reads; when
        self.updated: dict[Any, int] = {}
        self.clock = 0

    def made(self, node: Any) -> None:
        """An elementwise value or an index map over other nodes."""
        self.clock += 1
        found: dict[Any, int] = {}
        for x in node.ins:
            if x.stored:
                found[x] = self.clock
            else:
                found.update(self.bases.get(x, ()))
        self.bases[node] = found

    def update(self, base: Any) -> None:
        self.clock += 1
        self.updated[base] = self.clock

    def late(self, node: Any) -> Any:
        """An array that was updated since `node` was made of it."""
        for base, when in self.bases.get(node, {}).items():
            if self.updated.get(base, 0) > when:
                return base
        return None
