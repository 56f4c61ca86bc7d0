"""Small rewrites that passes share: inlining calls and renaming."""

from __future__ import annotations

from collections.abc import Callable

from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var


def inline(jaxpr: Jaxpr, body_of: Callable[[Eqn], Jaxpr | None]) -> Jaxpr:
    """Replaces each equation for which `body_of` gives a jaxpr by its equations."""
    eqns: list[Eqn] = []
    env: dict[Var, Atom] = {}
    changed = False

    def subst(atom: Atom) -> Atom:
        return atom if type(atom) is Literal else env.get(atom, atom)  # type: ignore[arg-type]

    def emit(body: Jaxpr, renames: dict[Var, Atom]) -> None:
        nonlocal changed
        for eqn in body.eqns:
            ins = [
                v if type(v) is Literal else renames.get(v, v)  # type: ignore[arg-type]
                for v in eqn.ins
            ]
            inner = body_of(eqn)
            if inner is None:
                outs = [Var(v.aval) for v in eqn.outs] if renames is not env else eqn.outs
                renames.update(zip(eqn.outs, outs))
                eqns.append(Eqn(eqn.op, ins, outs, eqn.where))
                continue
            changed = True
            local: dict[Var, Atom] = dict(zip(inner.ins, ins))
            emit(inner, local)
            for var, atom in zip(eqn.outs, inner.outs):
                renames[var] = atom if type(atom) is Literal else local[atom]  # type: ignore[index]

    emit(jaxpr, env)
    if not changed:
        return jaxpr
    return Jaxpr(jaxpr.ins, eqns, [subst(v) for v in jaxpr.outs], jaxpr.name)
