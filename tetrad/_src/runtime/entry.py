"""Entries: what inference found out about an operation on operands of given types.

An entry is made once for an operation and the types of its operands, and is then the
identity of every node that does the same. Calls are known by structure, so that a fresh
function with the same jaxpr has the entry of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.core.op import Flow, Kind, Op, infer
from tetrad._src.runtime.array import Array
from tetrad._src.util.config import config
from tetrad._src.util.memo import Cache, memo_on_first

LIGHT_CALL_EQUATIONS = 32  # calls up to this size are recorded like one operation
LIGHT_CALL_BYTES = 1 << 16

entries: dict[bool, Cache] = {
    x64: Cache(f"recorded operations, x64={x64}", limit=65536) for x64 in (False, True)
}
_calls = Cache("recorded calls", limit=8192)  # by structure
_host_calls = Cache("recorded calls of Python", limit=128)  # hold users' closures
_recent_calls = Cache("recent calls", limit=512)  # by identity
_projections = Cache("projections", limit=8192)


class Origins:
    """Two ports, which `wiring` fills: the language may note what an array consists of.

    `wanted` says of which results it wants to; `note` does so, before the recording
    forgets how the array was made.
    """

    wanted: ClassVar[Callable[[Op, tuple[Aval, ...], Aval], bool]]
    note: ClassVar[Callable[[Array], None]]


class Entry:
    """What is known of an operation on operands of given types.

    Identity is the key: two nodes with the same entry do the same. `in_avals` are the
    operand types; `weight` counts equations, `load` estimates the bytes moved. `several`
    says that the results are projections of a node that no user holds. `updates` says
    that the result is the first operand with some elements changed. `alone` is the
    program of this one operation on distinct arrays, once it was needed. `traced`: see
    `Origins`. `plain` says that it has one result, and is not traced. `targets` are the
    devices that a call says it runs on, with their lines.
    """

    __slots__ = (
        "op", "aval", "avals", "in_avals", "by_value", "weight", "load", "heavy",
        "several", "projections", "updates", "alone", "calls_host", "traced", "plain",
        "targets",
    )  # fmt: skip
    projected = False

    def __init__(self, op: Op, args: Sequence[Any]) -> None:
        self.op = op
        self.in_avals = in_avals = tuple([aval_of(a) for a in args])
        self.by_value = tuple([type(a) is not Array for a in args])
        out = infer(op, in_avals)
        self.avals: tuple[Aval, ...] = tuple(out) if op.multiple else (out,)
        self.aval: Aval = self.avals[0] if self.avals else Aval((), np.dtype(bool))
        self.load = _load(op, in_avals, self.avals)
        self.weight = 1
        self.heavy = False
        self.several = op.multiple and len(self.avals) != 1
        self.projections = [_projection(i, a) for i, a in enumerate(self.avals)]
        self.updates = _updates(op)
        self.alone: Any = None
        self.calls_host = False
        self.targets: dict[Any, Any] = {}
        self.traced = not op.multiple and Origins.wanted(op, in_avals, self.aval)
        self.plain = not (self.several or self.traced)
        if op.kind is Kind.CALL:
            _require(op, in_avals)
            self.weight = sum([len(j.eqns) for j in (*op.jaxprs(), *op.stands_for)])
            self.calls_host = calls_host(op)
            self.targets = targets(op)
            self.heavy = self.calls_host or loops(op)
            if not getattr(op, "recorded", False):
                much = self.weight > LIGHT_CALL_EQUATIONS
                self.heavy |= much or self.load > LIGHT_CALL_BYTES


def _updates(op: Op) -> bool:
    """Whether an operation changes elements of its first operand."""
    if getattr(op, "recorded", False):
        (jaxpr,) = op.jaxprs()
        last = jaxpr.eqns[-1]
        number = last.op.updates
        updated = number is not None and last.ins[number] is jaxpr.ins[0]
        return updated and jaxpr.outs == last.outs
    return op.updates == 0


def _load(op: Op, in_avals: Sequence[Aval], avals: Sequence[Aval]) -> int:
    """An estimate of the bytes that an operation moves."""
    if op.kind is Kind.UPDATE:  # touches the elements that it replaces
        return sum([a.nbytes for a in in_avals[1:]])
    if getattr(op, "recorded", False):
        parts = [
            _load(eqn.op, [x.aval for x in eqn.ins], [x.aval for x in eqn.outs])
            for jaxpr in op.jaxprs()
            for eqn in jaxpr.eqns
        ]
        return sum(parts)
    return sum([a.nbytes for a in (*in_avals, *avals)])


def _require(op: Op, avals: Sequence[Aval]) -> None:
    """Raises what keeps `op` from running, now and not when its result is needed."""
    if op.require is not None:
        op.require(*avals)
    for jaxpr in (*op.jaxprs(), *op.stands_for):
        for eqn in jaxpr.eqns:
            if eqn.op.kind is Kind.CALL:
                _require(eqn.op, [atom.aval for atom in eqn.ins])


def loops(op: Op) -> bool:
    """Whether the operation repeats something. It is submitted alone then: it may take
    long, and what Ctrl-C stops should not take other arrays along."""
    if op.flow is not None and op.flow is not Flow.BRANCH:
        return True
    held = (*op.jaxprs(), *op.stands_for)
    return any([loops(eqn.op) for jaxpr in held for eqn in jaxpr.eqns])


def calls_host(op: Op) -> bool:
    """Whether Python is called on the way. Such a call is submitted alone and at once,
    and returns when it is done."""
    held = (*op.jaxprs(), *op.stands_for)
    return op.host is not None or any([_calls_host(j) for j in held])


@memo_on_first
def _calls_host(jaxpr: Jaxpr) -> bool:
    return any([calls_host(eqn.op) for eqn in jaxpr.eqns])


def targets(op: Op) -> dict[Any, Any]:
    """The devices where a call puts arrays, with the first line that says so."""
    found: dict[Any, Any] = {}
    for jaxpr in (*op.jaxprs(), *op.stands_for):
        for device, where in _targets(jaxpr).items():
            found.setdefault(device, where)
    return found


@memo_on_first
def _targets(jaxpr: Jaxpr) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for eqn in jaxpr.eqns:
        target = eqn.op.target
        if target is not None:
            if target.is_committed:
                found.setdefault(target.device, eqn.where)
        elif eqn.op.kind is Kind.CALL:
            for device, where in targets(eqn.op).items():
                found.setdefault(device, where)
    return found


class Projection:
    """The entry of one output of an operation with several."""

    __slots__ = ("index", "aval", "weight", "load")
    projected = True
    several = False
    alone = None
    plain = False
    traced = False
    calls_host = False

    def __init__(self, index: int, aval: Aval) -> None:
        self.index = index
        self.aval = aval
        self.weight = 0
        self.load = 0


def _projection(index: int, aval: Aval) -> Projection:
    found = _projections.get((index, aval))
    if found is None:
        found = _projections.setdefault((index, aval), Projection(index, aval))
    return found  # type: ignore[no-any-return]


def entry_of(op: Op, args: Sequence[Any]) -> Entry:
    """The entry of `op` on such operands, inferred now if it is new."""
    kinds = tuple([a.aval if type(a) is Array else type(a) for a in args])
    key: Any = (op, *kinds)
    if not op.multiple:
        cache = entries[config.x64]
    else:
        cache = _recent_calls
        key = (op, config.x64, *kinds)
    entry: Entry | None = cache.get(key)
    if entry is not None:
        return entry
    if op.kind is Kind.CALL:
        structure = (op.structural(), config.x64, kinds)
        entry = _calls.get(structure) or _host_calls.get(structure)
        if entry is None:
            entry = Entry(op, args)
            calls = _host_calls if entry.calls_host else _calls
            entry = calls.setdefault(structure, entry)
        if entry.calls_host:
            return entry  # type: ignore[no-any-return]
    else:
        entry = Entry(op, args)
    return cache.setdefault(key, entry)  # type: ignore[no-any-return]
