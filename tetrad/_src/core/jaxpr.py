"""Jaxprs: straight-line programs over typed variables.

    Jaxpr ::= { lambda ; in* . let Eqn* in (Atom*) }
    Eqn   ::= out* = op in*                    in: Atom, out: Var
    Atom  ::= Var | Literal

A variable is bound once, before it is used. Every closed-over array is an operand: what
a function closes over becomes leading inputs when it is staged, and operations that
hold jaxprs take it as leading operands, so a jaxpr owns no arrays. (Arrays that a rule
makes while a jaxpr is rewritten are array literals.)

Here: the data, structural keys, evaluation and dead-code elimination. `check.py` states
what is legal, `text.py` prints, `stage.py` makes jaxprs from Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE
from tetrad._src.core.op import Op, Parameters
from tetrad._src.util import frames
from tetrad._src.util.memo import memo_on_first


class Var:
    """A variable; identity is its name."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval}"


class Literal:
    """A constant operand: a scalar, or an array that a rewrite made."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: Aval) -> None:
        self.val = val
        self.aval = aval

    def __repr__(self) -> str:
        return f"Literal({self.val}):{self.aval}"


Atom = Var | Literal


class Eqn:
    """`outs = op(*ins)`, with the user line `where` it was written."""

    __slots__ = ("op", "ins", "outs", "where")

    def __init__(
        self, op: Op, ins: Sequence[Atom], outs: Sequence[Var], where: Any = None
    ) -> None:
        self.op = op
        self.ins = ins
        self.outs = outs
        self.where = where

    @property
    def primitive(self) -> type:
        return type(self.op)

    @property
    def params(self) -> Parameters:
        params = Parameters(self.op.params)
        params.op = self.op
        return params

    invars = property(lambda self: self.ins)
    outvars = property(lambda self: self.outs)

    @property
    def source_info(self) -> SourceInfo:
        return SourceInfo(self.where)


class SourceInfo:
    """Where an equation comes from: the user's line, and the scopes around it."""

    __slots__ = ("place",)

    def __init__(self, place: Any) -> None:
        self.place = place

    @property
    def name_stack(self) -> str:
        """The scopes and transformations around the line: `model/vmap(layer)`."""
        return frames.name_stack(self.place)

    def __str__(self) -> str:
        if self.place is None:
            return ""
        return (
            f"{frames.format_where(self.place)} ({frames.line_of(self.place).function})"
        )


class Jaxpr:
    """A program: inputs, equations, outputs; `memo` caches what is derived from it."""

    __slots__ = (
        "ins",
        "eqns",
        "outs",
        "in_avals",
        "out_avals",
        "effects",
        "memo",
        "name",
        "__weakref__",
    )

    def __init__(
        self,
        ins: Sequence[Var],
        eqns: Sequence[Eqn],
        outs: Sequence[Atom],
        name: str = "",
    ) -> None:
        self.ins = list(ins)
        self.eqns = list(eqns)
        self.outs = list(outs)
        self.name = name
        self.in_avals = tuple([v.aval for v in ins])
        self.out_avals = tuple([v.aval for v in outs])
        self.effects: frozenset[Any] = frozenset().union(
            *[e.op.effects for e in eqns if e.op.effects]
        )
        self.memo: dict[Any, Any] = {}

    invars = property(lambda self: self.ins)
    outvars = property(lambda self: self.outs)
    constvars = property(lambda self: [])

    # Where JAX has a jaxpr with its constants (a `ClosedJaxpr`), here stands a jaxpr.
    jaxpr = property(lambda self: self)
    consts = property(lambda self: [])
    literals = property(lambda self: [])

    def structural_key(self) -> Any:
        """A hashable, equal for jaxprs that differ only in their variables."""
        key = self.memo.get("key")
        if key is None:
            key = self.memo["key"] = Key(_structure(self))
        return key

    def __repr__(self) -> str:
        return f"<jaxpr of {len(self.eqns)} equations>"


class OpenJaxpr(Jaxpr):
    """A jaxpr whose first inputs stand for arrays that are kept beside it."""

    __slots__ = ("closed",)

    def __init__(self, jaxpr: Jaxpr, closed: int) -> None:
        super().__init__(jaxpr.ins, jaxpr.eqns, jaxpr.outs, jaxpr.name)
        self.memo = jaxpr.memo
        self.closed = closed

    constvars = property(lambda self: self.ins[: self.closed])
    invars = property(lambda self: self.ins[self.closed :])


class Key:
    """A long hashable that computes its hash once."""

    __slots__ = ("value", "hash")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.hash = hash(value)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is Key and self.hash == other.hash and self.value == other.value
        )


def _literal_key(literal: Literal) -> Any:
    value = literal.val
    if getattr(value, "shape", ()):
        return ("array", id(value))
    return (literal.aval, type(value).__name__, repr(value))


def _structure(jaxpr: Jaxpr) -> tuple[Any, ...]:
    number: dict[Any, int] = {}

    def name(atom: Atom) -> Any:
        return number[atom] if type(atom) is Var else _literal_key(atom)  # type: ignore[arg-type]

    parts: list[Any] = [jaxpr.in_avals]
    for var in jaxpr.ins:
        number[var] = len(number)
    for eqn in jaxpr.eqns:
        parts.append((eqn.op.structural(), *[name(v) for v in eqn.ins]))
        for var in eqn.outs:
            number[var] = len(number)
    parts.append(tuple([name(v) for v in jaxpr.outs]))
    return tuple(parts)


# On the `memo` of a jaxpr: what a user calls those of its inputs that are donated.
DONOR_NAMES = "donor names"


class Why:
    """Why a function was traced; kept on the `memo` of its jaxpr, under this class.

    `told` says that a compilation has given it as its reason already.
    """

    __slots__ = ("function", "reason", "told")

    def __init__(self, function: str, reason: str) -> None:
        self.function = function
        self.reason = reason
        self.told = False

    def __str__(self) -> str:
        return f"`{self.function}`: {self.reason}"


# ------------------------------------------------------------------------ evaluation


def eval_jaxpr(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Replays `jaxpr` on `args` in the current trace, with its own source lines."""
    if len(args) != len(jaxpr.ins):
        raise TypeError(f"the jaxpr takes {len(jaxpr.ins)} inputs, got {len(args)}")
    env = dict(zip(jaxpr.ins, args))
    last = last_uses(jaxpr)
    outside = STATE.where
    named = getattr(outside, "names", None)  # scopes around what is replayed
    try:
        for eqn, dead in zip(jaxpr.eqns, last):
            where = frames.within(outside, eqn.where) if named else eqn.where
            STATE.where = where or outside
            results = eqn.op(*[read(env, v) for v in eqn.ins])
            if eqn.op.multiple:
                env.update(zip(eqn.outs, results))
            else:
                env[eqn.outs[0]] = results
            results = None
            for var in dead:
                env.pop(var, None)
    finally:
        STATE.where = outside
    return [read(env, v) for v in jaxpr.outs]


def read(env: dict[Var, Any], atom: Atom) -> Any:
    return atom.val if type(atom) is Literal else env[atom]  # type: ignore[index]


@memo_on_first
def last_uses(jaxpr: Jaxpr) -> list[list[Var]]:
    """For each equation, the variables that nobody needs after it."""
    seen = {v for v in jaxpr.outs if type(v) is Var}
    result: list[list[Var]] = []
    for eqn in reversed(jaxpr.eqns):
        dead = []
        for var in (*eqn.ins, *eqn.outs):
            if type(var) is Var and var not in seen:
                seen.add(var)
                dead.append(var)
        result.append(dead)
    result.reverse()
    return result


# --------------------------------------------------------------------------- rewriting


@memo_on_first
def dce(
    jaxpr: Jaxpr, used: tuple[bool, ...], keep_ins: bool = True
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """Drops what the `used` outputs do not need; effects stay.

    Returns the smaller jaxpr and which inputs it uses (all stay if `keep_ins`).
    """
    live = {v for v, u in zip(jaxpr.outs, used) if u and type(v) is Var}
    eqns = []
    same = all(used)
    for eqn in reversed(jaxpr.eqns):
        if not (eqn.op.effects or any(v in live for v in eqn.outs)):
            same = False
            continue
        if eqn.op.dce is not None:
            smaller = _without_unused(eqn, live)
            same = same and smaller is eqn
            eqn = smaller
        eqns.append(eqn)
        live.update([v for v in eqn.ins if type(v) is Var])
    used_ins = tuple([v in live for v in jaxpr.ins])
    if same and (keep_ins or all(used_ins)):
        return jaxpr, used_ins  # so that it is not looked through again
    kept = jaxpr.ins if keep_ins else [v for v, u in zip(jaxpr.ins, used_ins) if u]
    results = [v for v, u in zip(jaxpr.outs, used) if u]
    return Jaxpr(kept, eqns[::-1], results, jaxpr.name), used_ins


def _without_unused(eqn: Eqn, live: set[Var]) -> Eqn:
    """The equation without results that nobody needs, and what only they need."""
    used_outs = tuple([v in live for v in eqn.outs])
    op, used_ins, *kept = eqn.op.dce(used_outs)
    kept_outs = kept[0] if kept else used_outs
    if op is eqn.op and all(used_ins) and all(kept_outs):
        return eqn
    outs = [v for v, k in zip(eqn.outs, kept_outs) if k]
    ins = [v for v, u in zip(eqn.ins, used_ins) if u]
    return Eqn(op, ins, outs, eqn.where)


def subjaxprs(jaxpr: Jaxpr) -> Iterable[Jaxpr]:
    for eqn in jaxpr.eqns:
        yield from eqn.op.jaxprs()
