"""Jaxprs of control flow as the entries of a `Turn`, for loops inside of kernels.

In: a jaxpr, and what its inputs are. Out: a `Turn`, or `Unfit` if the jaxpr does more
than work element by element.

A value is the `Refs` of its elements: one if it has the axes of the space, or is a
scalar; several if it has tiny axes behind those of the space. Index maps and
concatenations only rename elements. Or a value is a `Stored` array, or a view of one,
which elements are fetched from, one at a time. A loop that carries such an array writes
elements into it where it is, as long as nobody reads what it was before.

Literals and counts are the same in all turns, and are lifted out of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Flow, Kind
from tetrad._src.passes.ir import (
    PICK,
    Access,
    Form,
    Shape,
    Strides,
    Turn,
    Where,
    is_wide,
)
from tetrad._src.passes.machine import Machine
from tetrad._src.passes.roles import (
    CARRY,
    CONST,
    STACKED,
    flow_roles,
    positions,
    used_operands,
)
from tetrad._src.passes.simplify import simplify

LONGEST = 2000.0  # instructions: longer turns take long to compile as one kernel
FETCH_COST = 4.0
COUNTER = Aval((), np.dtype(np.int64))

Refs = tuple[int, ...]


class Unfit(Exception):
    """The jaxprs do something that a turn cannot."""


class Count(NamedTuple):
    """A lifted coordinate: element `index` of what `op` counts."""

    op: Any
    aval: Aval
    index: Shape  # type: ignore[assignment]


class Stored(NamedTuple):
    """A view of array number `array`, as it was after `version` updates.

    `starts` are (reference, limit, stride): run-time offsets along axes.
    """

    array: int
    version: int
    aval: Aval
    strides: Strides
    offset: int = 0
    starts: tuple[tuple[int, int, int], ...] = ()


Held = Refs | Stored
Names = dict[Var, Held]


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


class Kept:
    """What all turns of one kernel share: lifted values, arrays, costs."""

    def __init__(self, machine: Machine, space: Shape, tiny: int) -> None:
        self.machine = machine
        self.space = space
        self.tiny = tiny  # elements of an array that is taken apart
        self.lifted: list[Literal | Count] = []
        self.wide_lifted: list[bool] = []
        self.cost = 0.0  # instructions that a turn takes
        self.size = 0.0  # instructions that are written down
        self.long = False  # some registers have 64 bits
        self.versions: list[int] = []  # of the arrays: how often each was updated
        self.carried: list[bool] = []  # whether the arrays may be updated
        self.walks: list[
            tuple[int, Strides]
        ] = []  # arrays, with strides over the space

    def fits(self, aval: Aval) -> bool:
        """Whether a value is taken apart into elements."""
        _, rest = layout(aval, self.space)
        return 0 < math.prod(rest) <= self.tiny

    def see(self, aval: Aval) -> tuple[bool, ...]:
        """For each element of a value whether it differs from point to point."""
        if not self.fits(aval):
            raise Unfit
        if is_wide(aval.dtype):
            self.long = True
        wide, rest = layout(aval, self.space)
        return (wide,) * math.prod(rest)

    def see_all(self, avals: Sequence[Aval]) -> tuple[bool, ...]:
        return tuple([wide for aval in avals for wide in self.see(aval)])

    def lift(self, what: Literal | Count, wide: bool) -> int:
        self.lifted.append(what)
        self.wide_lifted.append(wide)
        return ~(len(self.lifted) - 1)

    def number(self, value: int) -> int:
        """A lifted number that no key depends on."""
        return self.lift(Literal(value, COUNTER), False)

    def spend(self, cost: float) -> None:
        self.cost += cost
        self.size += cost
        if self.size > LONGEST:
            raise Unfit

    def array(self, aval: Aval, carried: bool) -> Stored:
        """A new array in memory."""
        self.versions.append(0)
        self.carried.append(carried)
        return Stored(len(self.versions) - 1, 0, aval, aval.strides)

    def walk(self, array: int, strides: Strides) -> int:
        """The number of an array as it is walked over the space."""
        key = (array, strides)
        if key not in self.walks:
            self.walks.append(key)
        return self.walks.index(key)

    def updated(self, old: Stored) -> Stored:
        """The array after an update; the old one is gone."""
        self.check(old)
        if old.strides != old.aval.strides or old.offset or old.starts:
            raise Unfit
        self.versions[old.array] += 1
        return old._replace(version=self.versions[old.array])

    def check(self, x: Stored) -> None:
        """Raises if the array is not what it was any more."""
        if x.version != self.versions[x.array]:
            raise Unfit


class Parts(NamedTuple):
    """The operands of a form: references, arrays, and how wide the former are."""

    held: dict[int, Held]  # by position
    wide: tuple[bool, ...]


def form_of(
    kept: Kept,
    op: Any,
    avals: Sequence[Aval],
    jaxprs: Sequence[Jaxpr],
    operands: Sequence[int],
    stored: dict[int, Stored],
) -> tuple[Form, list[Held]]:
    """The form of `op`, and where its results are: picks of it, or arrays.

    `operands` are the positions of what the form gets, `stored` those of arrays.
    """
    roles = flow_roles(op, len(avals))
    plain = [p for p in operands if p not in stored]
    parts = _parts(kept, op, avals, plain, stored)
    turns: list[tuple[Jaxpr, Names]] = []
    for which, jaxpr in enumerate(jaxprs):
        places = positions(op, which, len(jaxpr.ins))
        turns.append(
            (
                jaxpr,
                {
                    v: parts.held[p]
                    for p, v in zip(places, jaxpr.ins)
                    if p in parts.held
                },
            )
        )
    kind = op.flow.value
    if getattr(op, "by_lane", False):
        turns[0], kind = _any_lane(kept, op, *turns[0])
    length = kept.number(op.length) if op.flow is Flow.SCAN else 0
    made: list[Turn] = []
    results: list[Held] = []
    versions = list(kept.versions)
    latest = versions
    for jaxpr, names in turns:
        if op.flow is Flow.BRANCH:
            kept.versions = list(versions)
        maker = TurnMaker(kept, parts.wide)
        made.append(maker.turn(jaxpr, names))
        results = maker.results
        latest = [max(a, b) for a, b in zip(latest, kept.versions)]
    if op.flow is Flow.BRANCH:
        kept.versions = latest
        if any([type(x) is Stored for x in results]):
            raise Unfit
        wide = kept.see_all(jaxprs[0].out_avals)
        return Form(kind, len(parts.wide), wide, length, tuple(made)), results
    _check_carried(kept, results, operands, roles, stored)
    wide = kept.see_all([avals[p] for p in plain if roles[p] is CARRY])
    consts = kept.see_all([avals[p] for p in plain if roles[p] is CONST])
    return Form(kind, len(consts), wide, length, tuple(made)), results


def _parts(
    kept: Kept,
    op: Any,
    avals: Sequence[Aval],
    plain: Sequence[int],
    stored: dict[int, Stored],
) -> Parts:
    """Numbers for the elements of operands, in the order of the operands."""
    roles = flow_roles(op, len(avals))
    order = [*plain, *[p for p, role in enumerate(roles) if role is STACKED]]
    if op.flow is Flow.BRANCH:
        order = order[1:]
    held: dict[int, Held] = dict(stored)
    wide: list[bool] = []
    for p in order:
        aval = avals[p]
        if roles[p] is STACKED:
            aval = Aval(aval.shape[1:], aval.dtype)
        seen = kept.see(aval)
        held[p] = tuple(range(len(wide), len(wide) + len(seen)))
        wide.extend(seen)
    return Parts(held, tuple(wide))


def _check_carried(
    kept: Kept,
    results: Sequence[Held],
    operands: Sequence[int],
    roles: Sequence[int],
    stored: dict[int, Stored],
) -> None:
    """Raises unless every carried array is still where it was, and whole."""
    carries = [p for p in operands if roles[p] is CARRY]
    for p, after in zip(carries, results):
        if (p in stored) != (type(after) is Stored):
            raise Unfit
        if type(after) is Stored:
            was = stored[p]
            kept.check(after)
            if after._replace(version=was.version) != was:
                raise Unfit
    if any([type(x) is Stored for x in results[len(carries) :]]):
        raise Unfit
    for p, x in stored.items():
        if roles[p] is CONST:  # every turn must see what the first one saw
            kept.check(x)


def _any_lane(
    kept: Kept, op: Any, test: Jaxpr, names: Names
) -> tuple[tuple[Jaxpr, Names], str]:
    """The condition of a loop of lanes: the first carry itself."""
    first = test.ins[op.cond_nconsts]
    if len(names[first]) > 1:
        raise Unfit
    kind = "lanes" if kept.see(first.aval)[0] else "while"
    return (Jaxpr([first], [], [first]), {first: names[first]}), kind


class TurnMaker:
    """Translates one jaxpr; `wide` is about the elements of its operands."""

    def __init__(self, kept: Kept, wide: Sequence[bool]) -> None:
        self.kept = kept
        self.machine = kept.machine
        self.space = kept.space
        self.wide = list(wide)
        self.entries: list[tuple[Any, ...]] = []
        self.names: Names = {}
        self.results: list[Held] = []

    def turn(self, jaxpr: Jaxpr, names: Names) -> Turn:
        self.names.update(names)
        for eqn in jaxpr.eqns:
            self.add(eqn)
        self.results = [self.held(atom) for atom in jaxpr.outs]
        outs = [ref for x in self.results if not isinstance(x, Stored) for ref in x]
        return Turn(tuple(self.wide), tuple(self.entries), tuple(outs))

    def held(self, atom: Atom) -> Held:
        if type(atom) is Var:
            return self.names[atom]
        self.kept.see(atom.aval)
        scalar = Aval((), atom.aval.dtype)
        value = atom.val  # type: ignore[union-attr]
        if not atom.aval.shape:
            return (self.kept.lift(Literal(value, scalar), False),)
        if not isinstance(value, np.ndarray):
            raise Unfit
        return tuple(
            [self.kept.lift(Literal(x, scalar), False) for x in value.reshape(-1)]
        )

    def refs(self, atom: Atom) -> Refs:
        """The elements of a value; those of an array in memory are fetched."""
        x = self.held(atom)
        return self.fetched(x) if type(x) is Stored else x  # type: ignore[return-value]

    def is_wide(self, ref: int) -> bool:
        return self.wide[ref] if ref >= 0 else self.kept.wide_lifted[~ref]

    def enter(self, entry: tuple[Any, ...], wide: bool) -> int:
        self.entries.append(entry)
        self.wide.append(wide)
        return len(self.wide) - 1

    def add(self, eqn: Eqn) -> None:
        op = eqn.op
        if op.effects:
            raise Unfit
        if op.flow is not None:
            self.add_flow(eqn)
            return
        if op.kind is Kind.ELEMENTWISE and op.scalar is not None:
            self.add_map(eqn)
            return
        if op.coordinates is not None:
            made: Held = self.counts(eqn)
        elif op.restride is not None:
            made = self.view(eqn)
        elif op.regions is not None:
            made = self.joined(eqn)
        elif op.kind is Kind.INDEXED:
            made = self.gathered(eqn)
        elif op.kind is Kind.UPDATE:
            made = self.updated(eqn)
        else:
            raise Unfit
        self.names[eqn.outs[0]] = made

    def add_map(self, eqn: Eqn) -> None:
        op = eqn.op
        for var in eqn.outs:
            self.kept.see(var.aval)
        operands = [self.refs(atom) for atom in eqn.ins]
        types = tuple([atom.aval.dtype for atom in eqn.ins])
        cost = self.machine.cost(op, types)
        found: list[list[int]] = [[] for _ in eqn.outs]
        for number in range(max([len(refs) for refs in operands])):
            refs = [r[number] if len(r) > 1 else r[0] for r in operands]
            wide = any([self.is_wide(ref) for ref in refs])
            self.kept.spend(cost)
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

    def view(self, eqn: Eqn) -> Held:
        """The elements under an index map."""
        op, out = eqn.op, eqn.outs[0].aval
        x = self.held(eqn.ins[0])
        if type(x) is Stored:
            return self.view_stored(eqn, x)
        refs: Refs = x  # type: ignore[assignment]
        aval = eqn.ins[0].aval
        if aval.size == 1:
            return refs * len(self.kept.see(out))
        known, starts = self.starts(eqn, aval.strides)
        moved = op.restride(aval, aval.strides, known)
        if moved is None or starts:
            raise Unfit
        _, strides, offset = moved
        self.kept.see(out)
        wide, rest = layout(out, self.space)
        was_wide, _ = layout(aval, self.space)
        rank = len(self.space) if wide else 0
        if was_wide and not wide:
            raise Unfit
        if wide:
            before = aval.strides[:rank] if was_wide else (0,) * rank
            self.along(strides[:rank], before)
        found = self.inside(rest, strides[rank:], offset)
        if min(found) < 0 or max(found) >= len(refs):
            raise Unfit
        return tuple([refs[n] for n in found])

    def starts(
        self, eqn: Eqn, strides: Strides
    ) -> tuple[int, list[tuple[int, int, int]]]:
        """The offset that known starts add to an index map, and the other starts."""
        if eqn.op.starts is None:
            return 0, []
        total = 0
        unknown = []
        for start in eqn.op.starts(*[atom.aval for atom in eqn.ins]):
            source = eqn.ins[start.operand]
            if start.limit == 0:
                continue
            if type(source) is Literal and np.ndim(source.val) == 0:
                number = min(max(int(source.val), 0), start.limit)
                total += number * strides[start.axis]
                continue
            (ref,) = self.refs(source)
            unknown.append((ref, start.limit, strides[start.axis]))
        return total, unknown

    def joined(self, eqn: Eqn) -> Refs:
        """The elements of a concatenation, or of something padded."""
        out = eqn.outs[0].aval
        self.kept.see(out)
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
        self.kept.see(out)
        coefficients, offset = op.coordinates()
        wide, rest = layout(out, self.space)
        rank = len(self.space) if wide else 0
        if any(coefficients[:rank]):
            return tuple(
                [self.kept.lift(Count(op, out, index), True) for index in points(rest)]
            )
        scalar = Aval((), out.dtype)
        return tuple(
            [
                self.kept.lift(Literal(out.dtype.type(number), scalar), False)
                for number in self.inside(rest, coefficients[rank:], offset)
            ]
        )

    # ------------------------------------------------------------ arrays in memory

    def view_stored(self, eqn: Eqn, x: Stored) -> Held:
        """A view of a view of an array; fetched at once if it is small."""
        self.kept.check(x)
        known, starts = self.starts(eqn, x.strides)
        moved = eqn.op.restride(x.aval, x.strides, x.offset + known)
        if moved is None:
            raise Unfit
        _, strides, offset = moved
        out = eqn.outs[0].aval
        made = x._replace(
            aval=out, strides=strides, offset=offset, starts=(*x.starts, *starts)
        )
        return self.fetched(made) if self.kept.fits(out) else made

    def fetched(self, x: Stored) -> Refs:
        """The elements of a small view."""
        kept = self.kept
        kept.check(x)
        kept.see(x.aval)
        wide, rest = layout(x.aval, self.space)
        rank = len(self.space)
        over = x.strides[:rank] if wide else (0,) * rank
        apart = any([self.is_wide(ref) for ref, _, _ in x.starts])
        if apart and any(over):
            raise Unfit
        operands = [ref for ref, _, _ in x.starts]
        operands += [kept.number(limit) for _, limit, _ in x.starts]
        operands += [kept.number(stride) for _, _, stride in x.starts]
        steady = not kept.carried[x.array]
        found = []
        for offset in self.inside(rest, x.strides[rank if wide else 0 :], x.offset):
            access = Access(kept.walk(x.array, over), _units(x.starts), steady, False)
            kept.spend(FETCH_COST)
            refs = (*operands, kept.number(offset))
            found.append(self.enter((access, *refs), apart or any(over)))
        return tuple(found)

    def gathered(self, eqn: Eqn) -> Refs:
        """Elements at computed coordinates."""
        out = eqn.outs[0].aval
        x = self.held(eqn.ins[0])
        if type(x) is not Stored or self.space or len(eqn.ins) != 2:
            raise Unfit
        self.kept.see(out)
        return tuple(
            [
                self.enter(self.point(eqn, x, index, out, ()), False)
                for index in points(out.shape)
            ]
        )

    def point(
        self, eqn: Eqn, x: Stored, index: Shape, outer: Aval, more: Refs
    ) -> tuple[Any, ...]:
        """The entry of an access at the coordinates that the operation computes."""
        kept = self.kept
        kept.check(x)
        if x.strides != x.aval.strides or x.offset or x.starts:
            raise Unfit
        vectors = self.refs(eqn.ins[1])
        operands = [*vectors]
        operands += [kept.number(extent) for extent in x.aval.shape]
        operands += [kept.number(stride) for stride in x.aval.strides]
        kept.spend(3 * FETCH_COST)
        steady = not kept.carried[x.array]
        where = Where(eqn.op, x.aval.ndim, index, outer.shape, eqn.ins[1].aval.shape)
        access = Access(kept.walk(x.array, ()), (), steady, bool(more), where)
        return (access, *operands, *more)

    def updated(self, eqn: Eqn) -> Held:
        """An array with some elements replaced, where it is."""
        kept, op = self.kept, eqn.op
        x = self.held(eqn.ins[0])
        if type(x) is not Stored or self.space or not kept.carried[x.array]:
            raise Unfit
        if op.point is not None:
            outer = eqn.ins[-1].aval
            new = self.refs(eqn.ins[-1])
            if len(eqn.ins) != 3:
                raise Unfit
            for number, index in enumerate(points(outer.shape)):
                entry = self.point(eqn, x, index, outer, (new[number],))
                self.enter(entry, False)
            return kept.updated(x)
        window = eqn.ins[1].aval
        new = self.refs(eqn.ins[1])
        kept.check(x)
        known, starts = self.starts(eqn, x.aval.strides)
        operands = [ref for ref, _, _ in starts]
        operands += [kept.number(limit) for _, limit, _ in starts]
        operands += [kept.number(stride) for _, _, stride in starts]
        places = self.inside(window.shape, x.aval.strides, known)
        for number, offset in enumerate(places):
            access = Access(kept.walk(x.array, ()), _units(starts), False, True)
            kept.spend(FETCH_COST)
            refs = (*operands, kept.number(offset), new[number])
            self.enter((access, *refs), False)
        return kept.updated(x)

    # ------------------------------------------------------------------ inner flows

    def add_flow(self, eqn: Eqn) -> None:
        """Control flow inside of control flow, over the same space."""
        op: Any = eqn.op
        avals = [atom.aval for atom in eqn.ins]
        roles = flow_roles(op, len(avals))
        jaxprs = [simplify(jaxpr) for jaxpr in op.jaxprs()]
        if STACKED in roles:
            raise Unfit
        if op.flow is Flow.SCAN and len(jaxprs[0].outs) > op.num_carry:
            raise Unfit
        kept = self.kept
        operands = used_operands(op, jaxprs, len(avals))
        stored = {}
        for p in operands:
            x = self.held(eqn.ins[p])
            if type(x) is Stored:
                kept.check(x)
                stored[p] = x
        if any(
            [roles[p] is CARRY and not kept.carried[x.array] for p, x in stored.items()]
        ):
            raise Unfit
        before = kept.cost
        form, results = form_of(kept, op, avals, jaxprs, operands, stored)
        if op.flow is not Flow.BRANCH:
            kept.cost = before + (kept.cost - before) * getattr(op, "length", 10)
        refs = [
            ref for p in operands if p not in stored for ref in self.refs(eqn.ins[p])
        ]
        made = self.enter((form, *refs), False)
        number = 0
        for var, held in zip(eqn.outs, results):
            if type(held) is Stored:
                self.names[var] = held
                continue
            elements = []
            for wide in kept.see(var.aval):
                elements.append(self.enter((PICK, made, number), wide))
                number += 1
            self.names[var] = tuple(elements)


def _units(starts: Sequence[tuple[int, int, int]]) -> tuple[bool, ...]:
    """Of each start, whether its stride is 1."""
    return tuple([stride == 1 for _, _, stride in starts])
