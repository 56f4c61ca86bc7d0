"""Control flow that works element by element becomes part of a kernel.

In: an operation that states a `flow`. Out: a `Found`, if all that its jaxprs compute is
elementwise over one space, or scalar: a `Form` for the kernel, which then has the loop
inside of it, with everything that is carried in registers. Points that need no other
points go through their turns on their own, so this is right for any order of points.

Axes behind those of the space may be there if they are tiny: such an array is a tuple
of elements, each with an entry of its own, and index maps and concatenations of it only
rename elements. Arrays without the axes of the space are scalars, or tuples of scalars.
Literals and counts are the same in all turns, and are lifted out of them.

Read `layout`, `_Finder.found`, `_TurnMaker.add`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Flow, Kind
from tetrad._src.passes.ir import PICK, Form, Shape, Strides, Turn, is_wide
from tetrad._src.passes.simplify import simplify

if TYPE_CHECKING:
    from tetrad._src.passes.graph import Machine

CONST, CARRY, STACKED = range(3)  # roles of the operands of control flow
LONGEST = 2000.0  # instructions: longer turns take long to compile as one kernel
TINY = 16  # elements of an array that is taken apart
INNER = "inner"
COUNTER = Aval((), np.dtype(np.int64))

Refs = tuple[int, ...]
Names = dict[Var, Refs]


def flow_roles(op: Any, count: int) -> list[int]:
    """What each of `count` operands is to the jaxprs that `op` runs."""
    if op.flow is Flow.BRANCH:
        return [CONST] * count
    if op.flow is Flow.WHILE:
        consts = op.cond_nconsts + op.body_nconsts
        return [CONST] * consts + [CARRY] * (count - consts)
    stacked = count - op.num_consts - op.num_carry
    return [CONST] * op.num_consts + [CARRY] * op.num_carry + [STACKED] * stacked


class Count(NamedTuple):
    """A lifted coordinate: element `index` of what `op` counts."""

    op: Any
    aval: Aval
    index: Shape  # type: ignore[assignment]


class Found(NamedTuple):
    """How a kernel runs the control flow of an operation.

    `lifted` are literals and counts. `operands` are the positions of the operands that
    the form works on, `stacked` those it reads a slice of each turn.
    """

    form: Form
    space: Shape
    lifted: tuple[Literal | Count, ...]
    operands: tuple[int, ...]
    stacked: tuple[int, ...]
    cost: float  # instructions of a turn
    long: bool  # has 64-bit registers


class Unfit(Exception):
    """The jaxprs do something that is not elementwise."""


def layout(aval: Aval, space: Shape) -> tuple[bool, Shape]:
    """Whether an array has the axes of the space, and its other axes."""
    if aval.size == 1:
        return False, aval.shape
    rank = len(space)
    if rank and aval.shape[:rank] == space:
        return True, aval.shape[rank:]
    return False, aval.shape


def points(shape: Shape) -> Iterator[Shape]:
    """All indices into a tiny shape, in order."""
    return itertools.product(*[range(extent) for extent in shape])


def find(op: Any, avals: Sequence[Aval], machine: Machine) -> Found | None:
    """What a kernel needs to run `op` on such operands; None if it cannot."""
    if op.flow is Flow.SCAN and op.length == 0:
        return None
    memo = op.jaxprs()[0].memo
    key = (INNER, op.structural(), tuple(avals))
    if key not in memo:
        memo[key] = None
        jaxprs = [simplify(jaxpr) for jaxpr in op.jaxprs()]
        for space in _spaces(op, avals, jaxprs):
            try:
                memo[key] = _Finder(op, avals, machine, space).found(jaxprs)
                break
            except Unfit:
                continue
    found: Found | None = memo[key]
    return found


def _spaces(op: Any, avals: Sequence[Aval], jaxprs: Sequence[Jaxpr]) -> list[Shape]:
    """The spaces that may do, best ones first."""
    roles = flow_roles(op, len(avals))
    shapes = [a.shape for a, role in zip(avals, roles) if role is CARRY]
    shapes += [a.shape[1:] for a, role in zip(avals, roles) if role is STACKED]
    if op.flow is Flow.SCAN:
        shapes += [a.shape for a in jaxprs[0].out_avals[op.num_carry :]]
    elif op.flow is Flow.BRANCH:
        shapes += [a.shape for a in jaxprs[0].out_avals]
    wide = list({shape for shape in shapes if math.prod(shape) != 1})
    if any(0 in shape for shape in wide):
        return []
    if not wide:
        return [()]
    spaces = wide if len(wide) == 1 else []
    if all(math.prod(shape) <= TINY for shape in wide):
        spaces.append(())
    common = 0
    for extents in zip(*wide):
        if len(set(extents)) > 1:
            break
        common += 1
    for rank in range(common, 0, -1):
        if all(math.prod(shape[rank:]) <= TINY for shape in wide):
            spaces.append(wide[0][:rank])
    return list(dict.fromkeys(spaces))


class _Finder:
    """Translates the jaxprs of an operation."""

    def __init__(
        self, op: Any, avals: Sequence[Aval], machine: Machine, space: Shape
    ) -> None:
        self.op = op
        self.avals = avals
        self.machine = machine
        self.space = space
        self.lifted: list[Literal | Count] = []
        self.wide_lifted: list[bool] = []
        self.cost = 0.0  # instructions that a turn takes
        self.size = 0.0  # instructions that are written down
        self.long = False

    def found(self, jaxprs: Sequence[Jaxpr]) -> Found:
        op, avals = self.op, self.avals
        operands = used_operands(op, jaxprs, len(avals))
        form = self.form(op, avals, jaxprs, operands)
        for position in operands:
            self.see(avals[position])
        roles = flow_roles(op, len(avals))
        stacked = [p for p, role in enumerate(roles) if role is STACKED]
        return Found(
            form,
            self.space,
            tuple(self.lifted),
            tuple(operands),
            tuple(stacked),
            self.cost,
            self.long,
        )

    def see(self, aval: Aval) -> tuple[bool, ...]:
        """For each element of a value whether it differs from point to point."""
        if is_wide(aval.dtype):
            self.long = True
        wide, rest = layout(aval, self.space)
        count = math.prod(rest)
        if not 0 < count <= TINY:
            raise Unfit
        return (wide,) * count

    def see_all(self, avals: Sequence[Aval]) -> tuple[bool, ...]:
        return tuple([wide for aval in avals for wide in self.see(aval)])

    def lift(self, what: Literal | Count, wide: bool) -> int:
        self.lifted.append(what)
        self.wide_lifted.append(wide)
        return ~(len(self.lifted) - 1)

    def spend(self, cost: float) -> None:
        self.cost += cost
        self.size += cost
        if self.size > LONGEST:
            raise Unfit

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
        numbers: dict[int, Refs] = {}
        wide: list[bool] = []
        for p in kept:
            aval = avals[p]
            if roles[p] is STACKED:
                aval = Aval(aval.shape[1:], aval.dtype)
            seen = self.see(aval)
            numbers[p] = tuple(range(len(wide), len(wide) + len(seen)))
            wide.extend(seen)
        turns: list[tuple[Jaxpr, Names]] = []
        for which, jaxpr in enumerate(jaxprs):
            places = positions(op, which, len(jaxpr.ins))
            names = {v: numbers[p] for p, v in zip(places, jaxpr.ins) if p in numbers}
            turns.append((jaxpr, names))
        kind = op.flow.value
        if getattr(op, "by_lane", False):
            turns[0], kind = self.any_lane(op, *turns[0])
        length = 0
        if op.flow is Flow.SCAN:
            length = self.lift(Literal(op.length, COUNTER), False)
        made = [_TurnMaker(self, wide).turn(jaxpr, names) for jaxpr, names in turns]
        carried = [p for p in operands if roles[p] is CARRY]
        if op.flow is Flow.BRANCH:
            results = self.see_all(jaxprs[0].out_avals)
            return Form(kind, len(wide), results, length, tuple(made))
        results = self.see_all([avals[p] for p in carried])
        consts = self.see_all([avals[p] for p in operands if roles[p] is CONST])
        return Form(kind, len(consts), results, length, tuple(made))

    def any_lane(
        self, op: Any, test: Jaxpr, names: Names
    ) -> tuple[tuple[Jaxpr, Names], str]:
        """The condition of a loop of lanes: the first carry itself."""
        first = test.ins[op.cond_nconsts]
        if len(names[first]) > 1:
            raise Unfit
        kind = "lanes" if self.see(first.aval)[0] else "while"
        return (Jaxpr([first], [], [first]), {first: names[first]}), kind


class _TurnMaker:
    """Translates one jaxpr; `wide` is about the elements of its operands."""

    def __init__(self, finder: _Finder, wide: Sequence[bool]) -> None:
        self.finder = finder
        self.machine = finder.machine
        self.space = finder.space
        self.wide = list(wide)
        self.entries: list[tuple[Any, ...]] = []
        self.names: Names = {}

    def turn(self, jaxpr: Jaxpr, names: Names) -> Turn:
        self.names.update(names)
        for eqn in jaxpr.eqns:
            self.add(eqn)
        outs = [ref for atom in jaxpr.outs for ref in self.refs(atom)]
        return Turn(tuple(self.wide), tuple(self.entries), tuple(outs))

    def refs(self, atom: Atom) -> Refs:
        """The elements of a value."""
        if type(atom) is Var:
            return self.names[atom]
        self.finder.see(atom.aval)
        if not atom.aval.shape:
            return (self.finder.lift(atom, False),)  # type: ignore[arg-type]
        if not isinstance(atom.val, np.ndarray):  # type: ignore[union-attr]
            raise Unfit
        scalar = Aval((), atom.aval.dtype)
        return tuple(
            [
                self.finder.lift(Literal(x, scalar), False)
                for x in atom.val.reshape(-1)  # type: ignore[union-attr]
            ]
        )

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
            self.names[eqn.outs[0]] = self.counts(eqn)
        elif op.restride is not None:
            self.names[eqn.outs[0]] = self.view(eqn)
        elif op.regions is not None:
            self.names[eqn.outs[0]] = self.joined(eqn)
        else:
            raise Unfit

    def add_map(self, eqn: Eqn) -> None:
        op = eqn.op
        operands = [self.refs(atom) for atom in eqn.ins]
        types = tuple([atom.aval.dtype for atom in eqn.ins])
        cost = self.machine.cost(op, types)
        found: list[list[int]] = [[] for _ in eqn.outs]
        for number in range(max([len(refs) for refs in operands])):
            refs = [r[number] if len(r) > 1 else r[0] for r in operands]
            wide = any([self.is_wide(ref) for ref in refs])
            self.finder.spend(cost)
            made = self.enter((op, *refs), wide)
            if not op.multiple:
                found[0].append(made)
                continue
            for pick, into in enumerate(found):
                into.append(self.enter((PICK, made, pick), wide))
        for var, elements in zip(eqn.outs, found):
            self.names[var] = tuple(elements)

    # -------------------------------------------------------------- renamed elements

    def inside(self, shape: Shape, strides: Strides, offset: int) -> list[int]:
        """Where the elements of a tiny shape are."""
        return [
            offset + sum([i * stride for i, stride in zip(index, strides)])
            for index in points(shape)
        ]

    def along(self, strides: Strides, wanted: Strides) -> None:
        """Raises unless the axes of the space are walked as is wanted."""
        for extent, stride, want in zip(self.space, strides, wanted):
            if extent > 1 and stride != want:
                raise Unfit

    def view(self, eqn: Eqn) -> Refs:
        """The elements under an index map."""
        op, x, out = eqn.op, eqn.ins[0], eqn.outs[0].aval
        refs = self.refs(x)
        if x.aval.size == 1:
            return refs * len(self.finder.see(out))
        start = self.start(eqn)
        moved = op.restride(x.aval, x.aval.strides, start)
        if moved is None:
            raise Unfit
        _, strides, offset = moved
        wide, rest = layout(out, self.space)
        was_wide, _ = layout(x.aval, self.space)
        rank = len(self.space) if wide else 0
        if was_wide and not wide:
            raise Unfit
        if wide:
            known = x.aval.strides[:rank] if was_wide else (0,) * rank
            self.along(strides[:rank], known)
        found = self.inside(rest, strides[rank:], offset)
        if min(found) < 0 or max(found) >= len(refs):
            raise Unfit
        return tuple([refs[n] for n in found])

    def start(self, eqn: Eqn) -> int:
        """The offset that the starts of an index map add, if they are known."""
        x = eqn.ins[0].aval
        if eqn.op.starts is None:
            return 0
        total = 0
        for start in eqn.op.starts(*[atom.aval for atom in eqn.ins]):
            source = eqn.ins[start.operand]
            if start.limit == 0:
                continue
            if type(source) is not Literal or np.ndim(source.val):
                raise Unfit
            number = min(max(int(source.val), 0), start.limit)
            total += number * x.strides[start.axis]
        return total

    def joined(self, eqn: Eqn) -> Refs:
        """The elements of a concatenation, or of something padded."""
        out = eqn.outs[0].aval
        wide, rest = layout(out, self.space)
        rank = len(self.space) if wide else 0
        found: list[int | None] = [None] * math.prod(rest)
        for region in eqn.op.regions(*[atom.aval for atom in eqn.ins]):
            refs = self.refs(eqn.ins[region.operand])
            if region.shape[:rank] != self.space[:rank]:
                raise Unfit
            self.along(region.strides[:rank], out.strides)
            inside = self.inside(
                region.shape[rank:], region.strides[rank:], region.offset
            )
            if inside and (min(inside) < 0 or max(inside) >= len(found)):
                raise Unfit
            for number, place in enumerate(inside):
                found[place] = refs[number if len(refs) > 1 else 0]
        if None in found:
            raise Unfit
        return tuple(found)  # type: ignore[arg-type]

    def counts(self, eqn: Eqn) -> Refs:
        """Coordinates, lifted: literals if they are the same at all points."""
        op, out = eqn.op, eqn.outs[0].aval
        coefficients, offset = op.coordinates()
        wide, rest = layout(out, self.space)
        rank = len(self.space) if wide else 0
        if any(coefficients[:rank]):
            return tuple(
                [
                    self.finder.lift(Count(op, out, index), True)
                    for index in points(rest)
                ]
            )
        scalar = Aval((), out.dtype)
        return tuple(
            [
                self.finder.lift(Literal(out.dtype.type(number), scalar), False)
                for number in self.inside(rest, coefficients[rank:], offset)
            ]
        )

    # ------------------------------------------------------------------ inner flows

    def add_flow(self, eqn: Eqn) -> None:
        """Control flow inside of control flow, over the same space."""
        op: Any = eqn.op
        avals = [atom.aval for atom in eqn.ins]
        jaxprs = [simplify(jaxpr) for jaxpr in op.jaxprs()]
        if STACKED in flow_roles(op, len(avals)):
            raise Unfit
        if op.flow is Flow.SCAN and len(jaxprs[0].outs) > op.num_carry:
            raise Unfit
        finder = self.finder
        operands = used_operands(op, jaxprs, len(avals))
        before = finder.cost
        form = finder.form(op, avals, jaxprs, operands)
        turns = getattr(op, "length", 10)
        if op.flow is not Flow.BRANCH:
            finder.cost = before + (finder.cost - before) * turns
        refs = [ref for p in operands for ref in self.refs(eqn.ins[p])]
        made = self.enter((form, *refs), False)
        number = 0
        for var in eqn.outs:
            elements = []
            for wide in finder.see(var.aval):
                elements.append(self.enter((PICK, made, number), wide))
                number += 1
            self.names[var] = tuple(elements)


def used_operands(op: Any, jaxprs: Sequence[Jaxpr], count: int) -> list[int]:
    """The positions of operands that a form needs, but for stacked ones."""
    used: set[int] = {0} if op.flow is Flow.BRANCH else set()
    for number, jaxpr in enumerate(jaxprs):
        atoms = set(jaxpr.outs).union(*[eqn.ins for eqn in jaxpr.eqns])
        for p, var in zip(positions(op, number, len(jaxpr.ins)), jaxpr.ins):
            if var in atoms:
                used.add(p)
    roles = flow_roles(op, count)
    return [
        p
        for p, role in enumerate(roles)
        if role is CARRY or role is CONST and p in used
    ]


def positions(op: Any, number: int, count: int) -> Sequence[int]:
    """Which operands of `op` are the inputs of its jaxpr `number`."""
    if op.flow is Flow.BRANCH:
        return range(1, count + 1)
    if op.flow is Flow.SCAN:
        return range(count)
    first, consts = op.cond_nconsts, op.cond_nconsts + op.body_nconsts
    if number == 0:
        return [*range(first), *range(consts, consts + count - first)]
    return range(first, first + count)
