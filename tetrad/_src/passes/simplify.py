"""Simplification: a jaxpr becomes a smaller one that the machine can compute.

Calls are inlined, operations that are given only in terms of others are expanded, local
algebra (`op.simplify`) is applied, equal equations are computed once, and what nobody
needs is dropped. None of this changes a bit of a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.bind import STATE
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, dce
from tetrad._src.core.op import Kind, Op
from tetrad._src.core.rewrite import inline
from tetrad._src.core.stage import StageTracer, restage
from tetrad._src.util.config import config
from tetrad._src.util.memo import Cache

RULES = ("scalar", "restride", "coordinates", "regions", "point", "step", "kernel")
ROUNDS = 64  # expansions inside expansions

NEVER, PERHAPS, ALWAYS = range(3)
_improve: Cache = Cache("rewritable operations", limit=8192)


def simplify(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr that is fused."""
    jaxpr = opened(jaxpr)
    for _ in range(ROUNDS):
        for eqn in jaxpr.eqns:
            if _improvable(eqn):
                break
        else:
            break
        smaller = _rewritten(jaxpr)
        if smaller is None:
            break
        jaxpr = smaller
    if len(jaxpr.eqns) > 1:
        jaxpr = _needed(_once(jaxpr))
    if _partly_used(jaxpr):
        jaxpr, _ = dce(jaxpr, (True,) * len(jaxpr.outs))
    return jaxpr


def opened(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with the bodies of calls in place of the calls."""
    return inline(jaxpr, _body)


def _body(eqn: Eqn) -> Jaxpr | None:
    """What a call is replaced by; all levels of calls go at once."""
    op = eqn.op
    if op.applies and getattr(op, "inlined", False):
        body: Jaxpr = op.jaxprs()[0]
        return body
    return None


def _partly_used(jaxpr: Jaxpr) -> bool:
    """Whether some control flow gives results that nobody reads."""
    flows = [eqn for eqn in jaxpr.eqns if eqn.op.flow is not None]
    if not flows:
        return False
    used = set(jaxpr.outs).union(*[eqn.ins for eqn in jaxpr.eqns])
    return any(
        [eqn.op.dce is not None and not used.issuperset(eqn.outs) for eqn in flows]
    )


def computable(op: Op) -> bool:
    """Whether the machine has a rule for the operation itself."""
    if op.flow is not None:
        return True
    if op.kind is Kind.CALL:
        return not getattr(op, "inlined", False) and op.expand is None
    return op.expand is None or any(getattr(op, rule) is not None for rule in RULES)


def _improvable(eqn: Eqn) -> bool:
    """Whether a rule may replace the equation."""
    op = eqn.op
    key = type(op) if op.kind is Kind.CALL else op
    how = _improve.get(key)
    if how is None:
        how = (
            ALWAYS if not computable(op) else NEVER if op.simplify is None else PERHAPS
        )
        _improve[key] = how
    if how != PERHAPS:
        return how == ALWAYS
    if op.kind is Kind.CONTRACT:
        return True
    for atom in eqn.ins:
        if type(atom) is Literal:
            return True
    if op.kind is Kind.ELEMENTWISE or not eqn.ins:
        return False
    if op.kind is Kind.REDUCE:
        return bool(eqn.ins[0].aval.size == eqn.outs[0].aval.size)
    return eqn.ins[0].aval.shape == eqn.outs[0].aval.shape


def _rewritten(jaxpr: Jaxpr) -> Jaxpr | None:
    """`jaxpr` with one round of rules applied; None if none of them did anything."""
    changed = False

    def apply(eqn: Eqn, args: list[Any]) -> Sequence[Any]:
        nonlocal changed
        op = eqn.op
        if _improvable(eqn):
            result = op.simplify(*args) if op.simplify is not None else None
            if result is None and not computable(op):
                result = op.expand(*args)
            if result is not None:
                changed = True
                return result if op.multiple else [result]
        result = op(*args)
        return result if op.multiple else [result]

    def replay(*args: Any) -> list[Any]:
        env: dict[Any, Any] = dict(zip(jaxpr.ins, args))

        def read(atom: Atom) -> Any:
            if type(atom) is not Literal:
                return env[atom]
            if atom.aval.dtype.itemsize < 8 or config.x64:
                return atom.val
            # A rule computes in double precision while 64-bit types are off.
            return StageTracer(STATE.trace, atom)  # type: ignore[arg-type]

        outside = STATE.where
        try:
            for eqn in jaxpr.eqns:
                STATE.where = eqn.where or outside
                results = apply(eqn, [read(atom) for atom in eqn.ins])
                env.update(zip(eqn.outs, results))
        finally:
            STATE.where = outside
        return [read(atom) for atom in jaxpr.outs]

    smaller = restage(replay, jaxpr.in_avals, jaxpr.name)
    return smaller if changed else None


def _literal_key(literal: Literal) -> Any:
    value = literal.val
    if getattr(value, "shape", ()):
        return id(value)
    return (literal.aval, type(value), repr(value))


def _once(jaxpr: Jaxpr) -> Jaxpr:
    """Computes equal equations once."""
    literals = False
    for eqn in jaxpr.eqns:
        for atom in eqn.ins:
            if type(atom) is Literal:
                literals = True
    if not literals:
        keys = {(eqn.op, *eqn.ins) for eqn in jaxpr.eqns}
        if len(keys) == len(jaxpr.eqns):
            return jaxpr
    seen: dict[Any, Eqn] = {}
    renames: dict[Any, Any] = {}
    eqns: list[Eqn] = []
    for eqn in jaxpr.eqns:
        op = eqn.op
        ins: Sequence[Any] = eqn.ins
        if renames:
            ins = [renames.get(atom, atom) for atom in ins]
        if op.effects or op.kind is Kind.CALL and op.host is None:
            eqns.append(Eqn(op, ins, eqn.outs, eqn.where))
            continue
        key = (
            op,
            *[_literal_key(atom) if type(atom) is Literal else atom for atom in ins],
        )
        first = seen.get(key)
        if first is not None:
            renames.update(zip(eqn.outs, first.outs))
            continue
        if ins is not eqn.ins:
            eqn = Eqn(op, ins, eqn.outs, eqn.where)
        seen[key] = eqn
        eqns.append(eqn)
    if not renames:
        return jaxpr
    outs = [renames.get(atom, atom) for atom in jaxpr.outs]
    return Jaxpr(jaxpr.ins, eqns, outs, jaxpr.name)


def _needed(jaxpr: Jaxpr) -> Jaxpr:
    """Without equations that nobody reads."""
    used = set(jaxpr.outs).union(*[eqn.ins for eqn in jaxpr.eqns])
    for eqn in jaxpr.eqns:
        if not eqn.op.effects and used.isdisjoint(eqn.outs):
            break
    else:
        return jaxpr
    live: set[Var] = {atom for atom in jaxpr.outs if type(atom) is Var}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.op.effects or any(var in live for var in eqn.outs):
            eqns.append(eqn)
            live.update([atom for atom in eqn.ins if type(atom) is Var])
    if len(eqns) == len(jaxpr.eqns):
        return jaxpr
    return Jaxpr(jaxpr.ins, eqns[::-1], jaxpr.outs, jaxpr.name)
