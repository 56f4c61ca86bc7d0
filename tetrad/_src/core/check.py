"""What a legal jaxpr is: every pass is followed by this check in tests."""

from __future__ import annotations

from tetrad._src.core.jaxpr import Jaxpr, Literal, Var
from tetrad._src.core.op import infer


class IllFormed(AssertionError):
    """A pass produced a program that breaks the grammar or the types."""


def check(jaxpr: Jaxpr) -> Jaxpr:
    """Raises IllFormed unless variables are bound once, before use, with right types."""
    bound: set[Var] = set(jaxpr.ins)
    if len(bound) != len(jaxpr.ins):
        raise IllFormed("an input is listed twice")
    for eqn in jaxpr.eqns:
        for atom in eqn.ins:
            if type(atom) is not Literal and atom not in bound:
                raise IllFormed(f"{eqn.op.name} uses a variable before it is bound")
        out = infer(eqn.op, tuple([v.aval for v in eqn.ins]))
        inferred = list(out) if eqn.op.multiple else [out]
        if [a.strong() for a in inferred] != [v.aval.strong() for v in eqn.outs]:
            raise IllFormed(
                f"{eqn.op.name} gives {[str(a) for a in inferred]}, the equation says"
                f" {[str(v.aval) for v in eqn.outs]}"
            )
        for var in eqn.outs:
            if var in bound:
                raise IllFormed(f"{eqn.op.name} binds a variable twice")
            bound.add(var)
        for sub in eqn.op.jaxprs():
            check(sub)
    for atom in jaxpr.outs:
        if type(atom) is not Literal and atom not in bound:
            raise IllFormed("an output is never bound")
    return jaxpr
