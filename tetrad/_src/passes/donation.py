"""Which inputs of a jaxpr the user gave away: those that a call inside marks so."""

from __future__ import annotations

from tetrad._src.core.jaxpr import Atom, Jaxpr


def marked(jaxpr: Jaxpr) -> list[int]:
    """The numbers of the inputs that calls mark as donated."""
    places: dict[Atom, int] = {}
    found: list[int] = []
    for eqn in jaxpr.eqns:
        donated = getattr(eqn.op, "donated", ())
        if not donated:
            continue
        places = places or {var: i for i, var in enumerate(jaxpr.ins)}
        for atom, given in zip(eqn.ins, donated):
            if given and atom in places and places[atom] not in found:
                found.append(places[atom])
    return found
