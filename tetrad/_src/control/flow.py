"""What `cond`, `while` and `scan` share: operations that run their jaxprs other than once.

A machine knows them by `Op.flow` alone. Arrays that the functions close over are leading
operands. Every rule rewrites the jaxprs (each rewrite is remembered on the jaxpr it
starts from) and makes another operation of the same kind; an operation on given jaxprs
is one object (`made`), so what is derived from it is remembered too.

Read `FlowOp`, then the helpers for masks and for the inputs and outputs of jaxprs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tetrad._src.control import keys
from tetrad._src.control.call import Mask, axis_names
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Value
from tetrad._src.core.jaxpr import Jaxpr, Var
from tetrad._src.core.op import Flow
from tetrad._src.ops.families import Call
from tetrad._src.util.memo import memo_on_first


class FlowOp(Call):
    """An operation that chooses or repeats the jaxprs that it holds."""

    aligned = False
    flow: ClassVar[Flow | None]

    def __call__(self, *args: Any) -> Any:
        trace = STATE.trace
        outs = trace.process(self, args)
        keys.called(trace, self, args, outs)
        return outs

    @property
    def effects(self) -> frozenset[Any]:
        found: frozenset[Any] | None = self.__dict__.get("_effects")
        if found is None:
            found = frozenset().union(*[j.effects for j in self.jaxprs()])
            self.__dict__["_effects"] = found
        return found

    @property
    def axis_names(self) -> tuple[Any, ...]:
        names: dict[Any, None] = {}
        for jaxpr in self.jaxprs():
            names.update(dict.fromkeys(axis_names(jaxpr)))
        return tuple(names)


@memo_on_first
def made(jaxpr: Jaxpr, cls: type[FlowOp], *fields: Any) -> Any:
    """The operation `cls(jaxpr, *fields)`; one object for the same jaxprs and fields."""
    return cls(jaxpr, *fields)


# -------------------------------------------------------------------------------- masks


def either(one: Mask, other: Mask) -> Mask:
    return tuple([a or b for a, b in zip(one, other)])


def joined(masks: Sequence[Mask]) -> Mask:
    """What is set in any of `masks`."""
    return tuple([any(column) for column in zip(*masks)])


def fixpoint(step: Callable[[Mask], Mask], start: Mask) -> Mask:
    """The smallest mask that contains `start` and what `step` makes of it."""
    while True:
        grown = either(start, step(start))
        if grown == start:
            return start
        start = grown


def cut(values: Sequence[Any], *counts: int) -> list[Any]:
    """`values` in pieces of the given lengths, and the rest."""
    pieces = []
    at = 0
    for count in counts:
        pieces.append(values[at : at + count])
        at += count
    pieces.append(values[at:])
    return pieces


def chosen(values: Sequence[Any], mask: Mask, value: bool = True) -> list[Any]:
    """The values where `mask` is `value`."""
    return [v for v, on in zip(values, mask) if on == value]


# ------------------------------------------------------------------------------- jaxprs


@memo_on_first
def reached(jaxpr: Jaxpr, mask: Mask) -> Mask:
    """Which outputs depend on the inputs in `mask`."""
    seen: set[Any] = {v for v, on in zip(jaxpr.ins, mask) if on}
    for eqn in jaxpr.eqns:
        if not seen.isdisjoint([v for v in eqn.ins if type(v) is Var]):
            seen.update(eqn.outs)
    return tuple([type(v) is Var and v in seen for v in jaxpr.outs])


@memo_on_first
def permuted(
    jaxpr: Jaxpr, ins: tuple[int, ...], outs: tuple[int, ...] | None = None
) -> Jaxpr:
    """`jaxpr` with its inputs (and outputs) in another order, or some left out."""
    results = jaxpr.outs if outs is None else [jaxpr.outs[i] for i in outs]
    return Jaxpr([jaxpr.ins[i] for i in ins], jaxpr.eqns, results, jaxpr.name)


@memo_on_first
def with_unused(jaxpr: Jaxpr, avals: tuple[Aval, ...]) -> Jaxpr:
    """`jaxpr` with further inputs that it does not use."""
    more = [Var(aval) for aval in avals]
    return Jaxpr(jaxpr.ins + more, jaxpr.eqns, jaxpr.outs, jaxpr.name)


def same_types(one: Sequence[Aval], other: Sequence[Aval]) -> bool:
    """Whether avals agree but for weak types."""
    return len(one) == len(other) and all(
        a.strong() is b.strong() for a, b in zip(one, other)
    )


def described(avals: Sequence[Aval]) -> str:
    return f"({', '.join([a.long_name() for a in avals])})"


def unchanged(ins: Sequence[Any], outs: Sequence[Any], init: Sequence[Any]) -> Mask:
    """Which parts of a carry no step changes; their start is an array."""
    return tuple([a is b and isinstance(x, Value) for a, b, x in zip(ins, outs, init)])
