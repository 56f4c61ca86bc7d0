"""Control flow that works element by element becomes part of a kernel.

In: an operation that states a `flow`. Out: a `Found`, if all that its jaxprs compute is
elementwise over one space, or scalar: a `Form` for the kernel, which then has the loop
inside of it, with everything that is carried in registers. Points that need no other
points go through their turns on their own, so this is right for any order of points.

Literals and counts are the same in all turns, and are lifted out of them. Arrays of one
element count as scalars; over a space of one point everything is scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Flow, Kind
from tetrad._src.passes.ir import PICK, Form, Shape, Turn, is_wide
from tetrad._src.passes.simplify import simplify

if TYPE_CHECKING:
    from tetrad._src.passes.graph import Machine

CONST, CARRY, STACKED = range(3)  # roles of the operands of control flow
LONGEST = 2000.0  # instructions: longer turns take long to compile as one kernel
INNER = "inner"
COUNTER = Aval((), np.dtype(np.int64))

Names = dict[Var, int]


def flow_roles(op: Any, count: int) -> list[int]:
    """What each of `count` operands is to the jaxprs that `op` runs."""
    if op.flow is Flow.BRANCH:
        return [CONST] * count
    if op.flow is Flow.WHILE:
        consts = op.cond_nconsts + op.body_nconsts
        return [CONST] * consts + [CARRY] * (count - consts)
    stacked = count - op.num_consts - op.num_carry
    return [CONST] * op.num_consts + [CARRY] * op.num_carry + [STACKED] * stacked


class Found(NamedTuple):
    """How a kernel runs the control flow of an operation.

    `lifted` are literals, and equations of counts. `operands` are the positions of the
    operands that the form works on, `stacked` those it reads a slice of each turn.
    """

    form: Form
    space: Shape
    lifted: tuple[Any, ...]
    operands: tuple[int, ...]
    stacked: tuple[int, ...]
    cost: float  # instructions of a turn
    long: bool  # has 64-bit registers


class Unfit(Exception):
    """The jaxprs do something that is not elementwise."""


def find(op: Any, avals: Sequence[Aval], machine: Machine) -> Found | None:
    """What a kernel needs to run `op` on such operands; None if it cannot."""
    if op.flow is Flow.SCAN and op.length == 0:
        return None
    memo = op.jaxprs()[0].memo
    key = (INNER, op.structural(), tuple(avals))
    if key not in memo:
        try:
            memo[key] = _Finder(op, avals, machine).found()
        except Unfit:
            memo[key] = None
    found: Found | None = memo[key]
    return found


class _Finder:
    """Translates the jaxprs of an operation."""

    def __init__(self, op: Any, avals: Sequence[Aval], machine: Machine) -> None:
        self.op = op
        self.avals = avals
        self.machine = machine
        self.lifted: list[Any] = []
        self.wide_lifted: list[bool] = []
        self.cost = 0.0  # instructions that a turn takes
        self.size = 0.0  # instructions that are written down
        self.long = False
        self.space: Shape = ()

    def found(self) -> Found:
        op, avals = self.op, self.avals
        roles = flow_roles(op, len(avals))
        jaxprs = [simplify(jaxpr) for jaxpr in op.jaxprs()]
        stacked = [p for p, role in enumerate(roles) if role is STACKED]
        shapes = [a.shape for a, role in zip(avals, roles) if role is CARRY]
        shapes += [avals[p].shape[1:] for p in stacked]
        if op.flow is Flow.SCAN:
            shapes += [a.shape for a in jaxprs[0].out_avals[op.num_carry :]]
        elif op.flow is Flow.BRANCH:
            shapes += [a.shape for a in jaxprs[0].out_avals]
        self.space = self.space_of(shapes)
        used = self.used(jaxprs)
        operands = [
            p
            for p, role in enumerate(roles)
            if role is CARRY or role is CONST and (p in used or p == 0 and self.branch)
        ]
        form = self.form(op, avals, jaxprs, operands)
        if self.size > LONGEST:
            raise Unfit
        for p in operands:
            self.see(avals[p])
        return Found(
            form, self.space, tuple(self.lifted), tuple(operands), tuple(stacked),
            self.cost, self.long,
        )

    @property
    def branch(self) -> bool:
        return self.op.flow is Flow.BRANCH

    # ------------------------------------------------------------------------ shapes

    def space_of(self, shapes: Sequence[Shape]) -> Shape:
        """The one shape that is not of one element."""
        wide = {shape for shape in shapes if _size(shape) != 1}
        if len(wide) > 1 or any(_size(shape) == 0 for shape in wide):
            raise Unfit
        return wide.pop() if wide else ()

    def see(self, aval: Aval) -> bool:
        """Whether a value differs from point to point; notes what registers it needs."""
        if is_wide(aval.dtype):
            self.long = True
        if aval.size == 1:
            return False
        if aval.shape != self.space:
            raise Unfit
        return True

    def used(self, jaxprs: Sequence[Jaxpr]) -> set[int]:
        """The positions of operands that the jaxprs use."""
        found: set[int] = set()
        for number, jaxpr in enumerate(jaxprs):
            atoms = set(jaxpr.outs).union(*[eqn.ins for eqn in jaxpr.eqns])
            for p, var in zip(positions(self.op, number, len(jaxpr.ins)), jaxpr.ins):
                if var in atoms:
                    found.add(p)
        return found

    # ------------------------------------------------------------------------- forms

    def form(
        self,
        op: Any,
        avals: Sequence[Aval],
        jaxprs: Sequence[Jaxpr],
        operands: Sequence[int],
    ) -> Form:
        """The form of `op`, whose operands are those at the positions `operands`."""
        roles = flow_roles(op, len(avals))
        kept = [*operands, *[p for p, role in enumerate(roles) if role is STACKED]]
        if op.flow is Flow.BRANCH:
            kept = kept[1:]
        number = {p: n for n, p in enumerate(kept)}
        ins = [avals[p] for p in kept]
        for n, p in enumerate(kept):
            if roles[p] is STACKED:
                ins[n] = Aval(avals[p].shape[1:], avals[p].dtype)
        turns = []
        for which, jaxpr in enumerate(jaxprs):
            names = {}
            for p, var in zip(positions(op, which, len(jaxpr.ins)), jaxpr.ins):
                if p in number:
                    names[var] = number[p]
            turns.append((jaxpr, names))
        kind = op.flow.value
        if op.flow is Flow.WHILE:
            turns, kind = self.condition(op, turns, kind)
        length = 0
        if op.flow is Flow.SCAN:
            length = self.lift(Literal(op.length, COUNTER), False)
        made = [_TurnMaker(self, ins).turn(jaxpr, names) for jaxpr, names in turns]
        consts = sum([roles[p] is CONST for p in operands]) - (op.flow is Flow.BRANCH)
        if op.flow is Flow.BRANCH:
            wide = tuple([self.see(a) for a in jaxprs[0].out_avals])
        else:
            carried = [p for p in operands if roles[p] is CARRY]
            wide = tuple([self.see(avals[p]) for p in carried])
        return Form(kind, consts, wide, length, tuple(made))

    def condition(
        self, op: Any, turns: list[tuple[Jaxpr, Names]], kind: str
    ) -> tuple[list[tuple[Jaxpr, Names]], str]:
        """The condition of a while: a scalar, or whether some point goes on."""
        if not getattr(op, "by_lane", False):
            return turns, kind
        (test, names), body = turns
        first = test.ins[op.cond_nconsts]
        if self.see(first.aval):
            kind = "lanes"
        return [(Jaxpr([first], [], [first]), {first: names[first]}), body], kind

    def lift(self, what: Any, wide: bool) -> int:
        self.lifted.append(what)
        self.wide_lifted.append(wide)
        return ~(len(self.lifted) - 1)


class _TurnMaker:
    """Translates one jaxpr, whose operands have the types `ins`."""

    def __init__(self, finder: _Finder, ins: Sequence[Aval]) -> None:
        self.finder = finder
        self.machine = finder.machine
        self.wide = [finder.see(aval) for aval in ins]
        self.entries: list[tuple[Any, ...]] = []
        self.names: Names = {}

    def turn(self, jaxpr: Jaxpr, names: Names) -> Turn:
        self.names.update(names)
        for eqn in jaxpr.eqns:
            self.add(eqn)
        outs = tuple([self.ref(atom) for atom in jaxpr.outs])
        for aval in jaxpr.out_avals:
            self.finder.see(aval)
        return Turn(tuple(self.wide), tuple(self.entries), outs)

    def ref(self, atom: Atom) -> int:
        if type(atom) is Literal:
            if atom.aval.shape:
                raise Unfit
            return self.finder.lift(atom, False)
        return self.names[atom]  # type: ignore[index]

    def is_wide(self, ref: int) -> bool:
        return self.wide[ref] if ref >= 0 else self.finder.wide_lifted[~ref]

    def enter(self, entry: tuple[Any, ...], wide: bool) -> int:
        self.entries.append(entry)
        self.wide.append(wide)
        return len(self.wide) - 1

    def add(self, eqn: Eqn) -> None:
        op = eqn.op
        for var in eqn.outs:
            self.finder.see(var.aval)
        if op.effects:
            raise Unfit
        if op.flow is not None:
            self.add_flow(eqn)
        elif op.kind is Kind.ELEMENTWISE and op.scalar is not None:
            self.add_map(eqn)
        elif op.coordinates is not None:
            (var,) = eqn.outs
            self.names[var] = self.finder.lift(eqn, self.finder.see(var.aval))
        elif op.restride is not None:
            self.names[eqn.outs[0]] = self.view(eqn)
        else:
            raise Unfit

    def add_map(self, eqn: Eqn) -> None:
        op = eqn.op
        refs = [self.ref(atom) for atom in eqn.ins]
        wide = any([self.is_wide(ref) for ref in refs])
        types = tuple([atom.aval.dtype for atom in eqn.ins])
        cost = self.machine.cost(op, types)
        self.finder.cost += cost
        self.finder.size += cost
        made = self.enter((op, *refs), wide)
        if not op.multiple:
            self.names[eqn.outs[0]] = made
            return
        for number, var in enumerate(eqn.outs):
            self.names[var] = self.enter((PICK, made, number), wide)

    def view(self, eqn: Eqn) -> int:
        """An index map changes nothing if it repeats a scalar, or keeps all in place."""
        x, out = eqn.ins[0], eqn.outs[0].aval
        if x.aval.size == 1:
            return self.ref(x)
        moved = None
        if eqn.op.starts is None and out.size == x.aval.size:
            moved = eqn.op.restride(x.aval, x.aval.strides, 0)
        if moved is None or moved[1] != out.strides or moved[2] != 0:
            raise Unfit
        return self.ref(x)

    def add_flow(self, eqn: Eqn) -> None:
        """Control flow inside of control flow, over the same space."""
        op: Any = eqn.op
        avals = [atom.aval for atom in eqn.ins]
        roles = flow_roles(op, len(avals))
        jaxprs = [simplify(jaxpr) for jaxpr in op.jaxprs()]
        results = jaxprs[-1].out_avals
        if STACKED in roles or op.flow is Flow.SCAN and len(results) > op.num_carry:
            raise Unfit
        finder = self.finder
        outside, finder.op = finder.op, op
        used = finder.used(jaxprs)
        finder.op = outside
        operands = [
            p
            for p, role in enumerate(roles)
            if role is CARRY or p in used or p == 0 and op.flow is Flow.BRANCH
        ]
        before = finder.cost
        form = finder.form(op, avals, jaxprs, operands)
        turns = getattr(op, "length", None)
        if op.flow is not Flow.BRANCH:
            finder.cost = before + (finder.cost - before) * min(turns or 10, 100)
        made = self.enter((form, *[self.ref(eqn.ins[p]) for p in operands]), False)
        for number, var in enumerate(eqn.outs):
            self.names[var] = self.enter((PICK, made, number), form.wide[number])


def positions(op: Any, number: int, count: int) -> range | list[int]:
    """Which operands of `op` are the inputs of its jaxpr `number`."""
    if op.flow is Flow.BRANCH:
        return range(1, count + 1)
    if op.flow is Flow.SCAN:
        return range(count)
    first, consts = op.cond_nconsts, op.cond_nconsts + op.body_nconsts
    if number == 0:
        return [*range(first), *range(consts, consts + count - first)]
    return range(first, first + count)


def _size(shape: Shape) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size
