"""Small rewrites that passes share: inlining calls, and lifting arrays out of jaxprs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Op
from tetrad._src.util import frames
from tetrad._src.util.memo import memo_on_first


def inline(jaxpr: Jaxpr, body_of: Callable[[Eqn], Jaxpr | None]) -> Jaxpr:
    """Replaces each equation for which `body_of` gives a jaxpr by its equations.

    These are in the scopes of the equation and in their own; those without a line of
    their own have that of the equation.
    """
    eqns: list[Eqn] = []
    env: dict[Var, Atom] = {}
    changed = False

    def subst(atom: Atom) -> Atom:
        return atom if type(atom) is Literal else env.get(atom, atom)  # type: ignore[arg-type]

    def emit(body: Jaxpr, renames: dict[Var, Atom], caller: Any = None) -> None:
        nonlocal changed
        named = getattr(caller, "names", None)
        for eqn in body.eqns:
            ins = [
                v if type(v) is Literal else renames.get(v, v)  # type: ignore[arg-type]
                for v in eqn.ins
            ]
            where = eqn.where or caller
            if named and eqn.where is not None:
                where = frames.within(caller, eqn.where)
            inner = body_of(eqn)
            if inner is None:
                outs = (
                    [Var(v.aval) for v in eqn.outs] if renames is not env else eqn.outs
                )
                renames.update(zip(eqn.outs, outs))
                eqns.append(Eqn(eqn.op, ins, outs, where))
                continue
            changed = True
            local: dict[Var, Atom] = dict(zip(inner.ins, ins))
            emit(inner, local, where)
            for var, atom in zip(eqn.outs, inner.outs):
                renames[var] = atom if type(atom) is Literal else local[atom]  # type: ignore[index]

    emit(jaxpr, env)
    if not changed:
        return jaxpr
    return Jaxpr(jaxpr.ins, eqns, [subst(v) for v in jaxpr.outs], jaxpr.name)


# ------------------------------------------------------------------------------- arrays


def _is_array(atom: Atom) -> bool:
    if type(atom) is not Literal:
        return False
    return isinstance(atom.val, (Value, np.ndarray))


@memo_on_first
def lift_arrays(jaxpr: Jaxpr) -> tuple[Jaxpr, tuple[Any, ...]]:
    """`jaxpr` with the arrays among its literals as leading inputs, and these arrays.

    Rewrites leave arrays that rules of a user close over as literals; a machine takes
    scalars only.
    """
    found: dict[int, tuple[Var, Any]] = {}

    def var_of(array: Any, aval: Any) -> Var:
        known = found.get(id(array))
        if known is None:
            known = found[id(array)] = Var(aval), array
        return known[0]

    def read(atom: Atom) -> Atom:
        return var_of(atom.val, atom.aval) if _is_array(atom) else atom  # type: ignore[union-attr]

    eqns = []
    changed = False
    for eqn in jaxpr.eqns:
        op = eqn.op
        ins = list(eqn.ins)
        if any([_is_array(atom) for atom in ins]):
            ins = [read(atom) for atom in ins]
        moved = lifted(op)
        if moved is not None:
            op, arrays, places, avals = moved
            ins = insert(ins, [var_of(a, t) for a, t in zip(arrays, avals)], places)
        if op is not eqn.op or ins != list(eqn.ins):
            changed = True
            eqn = Eqn(op, ins, eqn.outs, eqn.where)
        eqns.append(eqn)
    outs = [read(atom) for atom in jaxpr.outs]
    if not changed and not found:
        return jaxpr, ()
    leading = [var for var, _ in found.values()]
    made = Jaxpr(leading + jaxpr.ins, eqns, outs, jaxpr.name)
    return made, tuple([array for _, array in found.values()])


Lifted = tuple[Op, tuple[Any, ...], tuple[int, ...], tuple[Any, ...]]


def lifted(op: Op) -> Lifted | None:
    """The operation with the arrays that its jaxprs hold as operands, or None.

    Gives the operation, the arrays, the places among the operands of `op` before which
    they go, and their avals. An operation states with `lift(jaxprs, count)` what it is
    on jaxprs that take `count` more inputs first, and these places.
    """
    if op.lift is None:
        return None
    if "_lifted" in op.__dict__:
        known: Lifted | None = op.__dict__["_lifted"]
        return known
    result: Lifted | None = None
    pairs = [lift_arrays(jaxpr) for jaxpr in op.jaxprs()]
    vars_of: dict[int, tuple[Any, Any]] = {}
    for jaxpr, arrays in pairs:
        for var, array in zip(jaxpr.ins, arrays):
            vars_of[id(array)] = array, var.aval
    if vars_of:
        jaxprs = []
        for jaxpr, arrays in pairs:
            own = {id(a): var for var, a in zip(jaxpr.ins, arrays)}
            leading = [own.get(i) or Var(aval) for i, (_, aval) in vars_of.items()]
            ins = leading + jaxpr.ins[len(arrays) :]
            jaxprs.append(Jaxpr(ins, jaxpr.eqns, jaxpr.outs, jaxpr.name))
        made, places = op.lift(jaxprs, len(vars_of))
        arrays = tuple([array for array, _ in vars_of.values()])
        result = made, arrays, places, tuple([aval for _, aval in vars_of.values()])
    op.__dict__["_lifted"] = result
    return result


def insert(
    values: Sequence[Any], more: Sequence[Any], places: Sequence[int]
) -> list[Any]:
    """`values` with `more` before each of `places`, which are in order."""
    result: list[Any] = []
    at = 0
    for place in places:
        result += [*values[at:place], *more]
        at = place
    return [*result, *values[at:]]
