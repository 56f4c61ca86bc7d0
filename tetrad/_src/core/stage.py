"""Staging: a Python function over values becomes a jaxpr.

`stage` runs the function once on tracers and writes down every operation. Arrays and
outer tracers that the function closes over become extra leading inputs ("consts").
`restage` turns a jaxpr-to-jaxpr rewrite, written as a Python function, into a jaxpr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Tracer, Value, aval_of, base_trace
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tetrad._src.core.leaks import check_leaks, leak_message
from tetrad._src.core.op import Op, infer
from tetrad._src.util import dtypes, errors, frames
from tetrad._src.util.config import config


class StageTracer(Tracer):
    """A variable of the jaxpr that is being written, or a literal."""

    __slots__ = ("variable",)
    variable: Any

    def __init__(self, trace: Stage, var: Atom, origin: Any = None) -> None:
        self._trace = trace
        self.aval = var.aval
        self.variable = var
        self.origin = origin


def where() -> Any:
    """The user line that caused the operation being bound: (code, lasti)."""
    if STATE.where is not None:
        return STATE.where
    place = frames.user_frame()
    return _named(place) if STATE.scopes and place is not None else place


def _named(place: frames.Place) -> frames.Place:
    """The place with the names of the scopes around it, as far as they are inside of
    the function that is being staged, and of the transformations between them.
    """
    chain: list[Trace] = []
    trace: Trace | None = STATE.trace
    while trace is not None:
        chain.append(trace)
        if isinstance(trace, Stage):
            break
        trace = trace.parent
    names: list[str] = []
    passed = 0
    order = chain[::-1]
    for name, entered in STATE.scopes:
        if entered in order:
            depth = order.index(entered) + 1
            names += _transformations(order[passed:depth])
            names.append(name)
            passed = max(passed, depth)
    if not names:
        return place
    return frames.named(place, (*names, *_transformations(order[passed:])))


def _transformations(traces: Sequence[Trace]) -> list[str]:
    return [frames.Around(t.transformation) for t in traces if t.transformation]


class Stage(Trace):
    """Writes equations down."""

    stages = True

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.eqns: list[Eqn] = []
        self.consts: dict[int, tuple[Var, Any]] = {}
        self.closed = False

    def tracer(self, var: Var, origin: Any = None) -> StageTracer:
        return StageTracer(self, var, origin)

    def atom(self, x: Any) -> Atom:
        if type(x) is StageTracer and x._trace is self:
            atom: Atom = x.variable
            return atom
        if not isinstance(x, Value) and np.ndim(x) == 0:
            aval = aval_of(x)
            if type(x) is int:
                dtypes.check_narrowing(x, aval.dtype, "the Python integer")
            return Literal(x, aval)
        const = self.consts.get(id(x))
        if const is None:
            if isinstance(x, Tracer):
                check_ancestor(x, self)
            const = self.consts[id(x)] = (Var(aval_of(x)), x)
        return const[0]

    def process(self, op: Op, args: Sequence[Any]) -> Any:
        if op.stage is not None:
            done = op.stage(*args)
            if done is not NotImplemented:
                return done
        ins = [self.atom(a) for a in args]
        out = infer(op, tuple([a.aval for a in ins]))
        if op.elide is not None and type(self) is Stage:
            known = op.elide(ins[0], out)
            if known is not None:
                return StageTracer(self, known, STATE.where)
        line = where()
        if op.multiple:
            outs = [Var(a) for a in out]
            self.eqns.append(Eqn(op, ins, outs, line))
            return [StageTracer(self, v, line) for v in outs]
        var = Var(out)
        self.eqns.append(Eqn(op, ins, [var], line))
        return StageTracer(self, var, line)

    def close(
        self, ins: Sequence[Var], outs: Sequence[Any], name: str = ""
    ) -> tuple[Jaxpr, list[Any]]:
        """The jaxpr over (consts, ins), and the consts."""
        atoms = [self.atom(o) for o in outs]
        consts = list(self.consts.values())
        self.closed = True
        jaxpr = Jaxpr([v for v, _ in consts] + list(ins), self.eqns, atoms, name)
        return jaxpr, [c for _, c in consts]


def check_ancestor(tracer: Tracer, trace: Trace | None) -> None:
    """Raises unless `tracer` belongs to `trace` or to one it runs inside."""
    ancestor = trace
    while ancestor is not None:
        if ancestor is tracer._trace:
            return
        ancestor = ancestor.parent
    raise errors.UnexpectedTracerError(leak_message(tracer))


def stage(
    fun: Callable[..., Sequence[Any]], avals: Sequence[Aval], name: str = ""
) -> tuple[Jaxpr, list[Any]]:
    """Stages `fun` (flat values to a flat list): a jaxpr over (*consts, *ins)."""
    trace = Stage(STATE.trace)
    ins = [Var(a) for a in avals]
    origin = where()
    outside = STATE.trace
    try:  # not `with`: Ctrl-C may strike before a method like __exit__ acts
        STATE.trace = trace
        outs = fun(*[trace.tracer(v, origin) for v in ins])
        closed = trace.close(ins, outs, name)
    finally:
        STATE.trace = outside
        trace.ended = True
    if config.jax_check_tracer_leaks:
        del outs
        check_leaks(trace)
    return closed


def restage(
    fun: Callable[..., Sequence[Any]], avals: Sequence[Aval], name: str = ""
) -> Jaxpr:
    """Stages a rewrite, which closes over nothing but arrays made by rules."""
    trace = Stage(base_trace())
    ins = [Var(a) for a in avals]
    outside = STATE.trace
    line = STATE.where
    STATE.trace = trace
    STATE.where = line if line is None else (line[0], line[1])  # its scopes are outside
    try:
        outs = fun(*[trace.tracer(v) for v in ins])
        jaxpr, consts = trace.close(ins, outs, name)
    finally:
        STATE.trace = outside
        STATE.where = line
    if not consts:
        return jaxpr
    literals = {v: Literal(c, v.aval) for v, c in zip(jaxpr.ins, consts)}

    def subst(atom: Atom) -> Atom:
        return literals.get(atom, atom) if type(atom) is Var else atom

    eqns = [Eqn(e.op, [subst(v) for v in e.ins], e.outs, e.where) for e in jaxpr.eqns]
    return Jaxpr(ins, eqns, [subst(v) for v in jaxpr.outs], name)
