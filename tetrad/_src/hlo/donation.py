"""Which inputs of a jaxpr may give their memory to outputs.

What comes in: a jaxpr. What goes out: for some outputs, the input whose memory they may
take. Naming a pair costs a copy whenever the input must stay, so only two kinds are
named: inputs that a call inside marks as donated, and arrays of which some elements are
replaced, where the copy is needed anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Var
from tetrad._src.core.op import Kind
from tetrad._src.passes.donation import marked
from tetrad._src.passes.plan import UpdateCopy
from tetrad._src.passes.simplify import opened


def donations(jaxpr: Jaxpr, by_value: Sequence[bool]) -> dict[int, int]:
    """The input for each output that may share its memory."""
    places: dict[Atom, int] = {
        var: i for i, (var, scalar) in enumerate(zip(jaxpr.ins, by_value)) if not scalar
    }
    plain = opened(jaxpr)
    makers: dict[Atom, Eqn] = {var: eqn for eqn in plain.eqns for var in eqn.outs}
    pairs: dict[int, int] = {}
    for j, atom in enumerate(plain.outs):
        source = places.get(_updated(atom, makers))
        if source is not None and atom not in places and source not in pairs.values():
            pairs[j] = source
    for source in marked(jaxpr):
        if by_value[source] or source in pairs.values():
            continue
        for j, atom in enumerate(jaxpr.outs):
            same = _fits(jaxpr.in_avals[source], jaxpr.out_avals[j])
            if same and j not in pairs and type(atom) is Var and atom not in places:
                pairs[j] = source
                break
    return pairs


def _updated(atom: Atom, makers: dict[Atom, Eqn]) -> Atom:
    """The array of which `atom` is a copy with some elements replaced."""
    while True:
        eqn = makers.get(atom)
        if eqn is None or eqn.op.kind is not Kind.UPDATE:
            return atom
        atom = eqn.ins[0]


def update_copies(jaxpr: Jaxpr, donated: dict[int, int]) -> tuple[UpdateCopy, ...]:
    """The updates of inputs that copy unless the output takes over the input's memory.

    What the plugin copies inside of a program is not known.
    """
    plain = opened(jaxpr)
    makers: dict[Atom, Eqn] = {var: eqn for eqn in plain.eqns for var in eqn.outs}
    copies = []
    for output, source in donated.items():
        eqn = makers.get(plain.outs[output])
        if eqn is not None and eqn.op.kind is Kind.UPDATE:
            size = jaxpr.in_avals[source].nbytes
            copies.append(UpdateCopy(output, source, size, 1, eqn.where))
    return tuple(copies)


def _fits(x: Aval, y: Aval) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype
