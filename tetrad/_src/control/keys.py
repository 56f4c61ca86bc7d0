"""How random keys flow through a jaxpr: which are used twice, and which the caller's are.

In: a jaxpr. Out: a `Summary`: the reuses inside of it; for each key among the inputs what
is done with it, so that a call can be written down with the keys of the caller; and for
each output whose key it is.

The analysis walks over the equations with families and uses of keys as eager code has them
(`ops/keys.py`), one family for each input. The branches of a `cond` are walked with the
same state, and what any of them uses is used. The body of a loop is walked a few times, as
it would run: a key that a later step uses again is the same in all steps. Data of
`fold_in` is compared by a number for each value, as in the elimination of common
subexpressions.

Read `Walk` from `step` on, then `Summary`, then the hooks at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Value, aval_of
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Literal, Var
from tetrad._src.core.op import Flow, infer
from tetrad._src.core.stage import where as user_place
from tetrad._src.ops import keys, random
from tetrad._src.ops.keys import WHOLE, Family, KeyOp, Note, Reuse, Use
from tetrad._src.util.config import config
from tetrad._src.util.frames import Place
from tetrad._src.util.memo import memo_on_first

TURNS = 3  # of a loop that are walked: a carry may become a constant after the first

Notes = list[Note | None]
Numbers = list[Any]


class Routine(str):
    """The name of a jaxpr that the library staged: its lines are no lines of the user."""

    __slots__ = ()


@memo_on_first
def touches(jaxpr: Jaxpr) -> bool:
    """Whether a jaxpr holds operations on keys."""
    return any(
        [
            isinstance(eqn.op, KeyOp)
            or bool(eqn.op.consumes)
            or any([touches(j) for j in eqn.op.jaxprs()])
            for eqn in jaxpr.eqns
        ]
    )


def _family_of(how: str, place: Place | None, aval: Aval, data: Any = None) -> Family:
    return Family(how, place, None, aval, data)


# --------------------------------------------------------------------------------- walks


class Walk:
    """One walk over a jaxpr; `reuses` are what it found."""

    def __init__(self) -> None:
        self.reuses: list[Reuse] = []
        self.kind = "twice"
        self.undo: list[Note] | None = None
        self.numbers: dict[Any, int] = {}
        self.count = 0
        self.routine: Eqn | None = None  # the equation that calls the current routine
        self.own: dict[int, Use] = {}  # what the current routine used, by identity
        self.caller: Place | None = None

    # -- values ----------------------------------------------------------------

    def fresh(self) -> tuple[str, int]:
        """A number like no other."""
        self.count += 1
        return "value", self.count

    def number(self, key: Any) -> Any:
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = self.fresh()  # type: ignore[assignment]
        return found

    # -- equations ---------------------------------------------------------------

    def run(
        self, jaxpr: Jaxpr, notes: Notes, numbers: Numbers
    ) -> tuple[Notes, Numbers]:
        """Walks over a jaxpr: the notes and numbers of its outputs."""
        env: dict[Any, Note | None] = dict(zip(jaxpr.ins, notes))
        named: dict[Any, Any] = dict(zip(jaxpr.ins, numbers))

        def note(atom: Any) -> Note | None:
            return env.get(atom) if type(atom) is Var else self.literal(atom)

        def number(atom: Any) -> Any:
            return named.get(atom) if type(atom) is Var else _value(atom)

        for eqn in jaxpr.eqns:
            given = [note(a) for a in eqn.ins]
            values = [number(a) for a in eqn.ins]
            outs, results = self.step(eqn, given, values)
            env.update(zip(eqn.outs, outs))
            named.update(zip(eqn.outs, results))
        return [note(a) for a in jaxpr.outs], [number(a) for a in jaxpr.outs]

    def literal(self, atom: Literal) -> Note | None:
        """Keys that a rewrite made an array literal."""
        return keys.note_of(atom.val) if isinstance(atom.val, Value) else None

    def step(self, eqn: Eqn, notes: Notes, numbers: Numbers) -> tuple[Notes, Numbers]:
        op = eqn.op
        rule = _RULES.get(type(op))
        if rule is not None:
            return [rule(self, eqn, notes, numbers)], [self.fresh()]
        if op.consumes:
            self.draw(eqn, notes)
            return [None] * len(eqn.outs), [self.fresh() for _ in eqn.outs]
        inner = op.jaxprs()
        if inner:
            return self.call(eqn, inner, notes, numbers)
        outs: Notes = [None] * len(eqn.outs)
        if notes and notes[0] is not None and len(eqn.outs) == 1:
            outs = [self.move(eqn, notes[0], numbers)]
            if len(notes) > 1 and outs[0] is None:
                avals = [a.aval for a in eqn.ins]
                outs = [keys.joined(op, notes, avals, eqn.outs[0].aval)]
        if op.effects:
            return outs, [self.fresh() for _ in eqn.outs]
        key = (op, *numbers)
        return outs, [self.number((key, i)) for i in range(len(eqn.outs))]

    def move(self, eqn: Eqn, note: Note, numbers: Numbers) -> Note | None:
        """The note of keys that were only moved."""
        op = eqn.op
        source, out = eqn.ins[0].aval, eqn.outs[0].aval
        if not keys.may_hold(out):
            return None
        starts = numbers[1:]
        if op.starts is not None and not all(isinstance(s, int) for s in starts):
            return _picked(note, out, tuple(starts))
        return keys.moved(op, note, source, starts, out)

    # -- what is done with keys ----------------------------------------------------

    def place(self, eqn: Eqn) -> Place | None:
        place: Place | None = (self.routine or eqn).where
        return place

    def use(self, eqn: Eqn, made: Family | None = None) -> Use:
        place = self.place(eqn)
        op = eqn.op if self.routine is None else self.routine.op
        if self.caller is None:
            return Use(place, op, made)
        return Use(self.caller, op, made, place)

    def used(self, note: Note, this: Use) -> Use | None:
        """Writes down a use; gives an earlier one of the same key."""
        if note[0].how == "joined":
            found = [self.used(member, this) for member in keys.each(note)]
            return next((earlier for earlier in found if earlier is not None), None)
        earlier = keys.use(note, this)
        if earlier is None:
            if self.undo is not None:
                self.undo.append(note)
            if self.routine is not None:
                self.own[id(this)] = this
            return None
        if self.routine is not None and id(earlier) in self.own:
            return None  # a routine knows what it does: of two draws it takes one
        return Use._make(earlier)

    def draw(self, eqn: Eqn, notes: Notes) -> None:
        """Numbers are drawn from the keys that the operation consumes."""
        for position in eqn.op.consumes:
            note = notes[position]
            if note is None or not eqn.outs[0].aval.size:
                continue
            this = self.use(eqn)
            earlier = self.used(note, this)
            if earlier is not None:
                self.found(note, earlier, this)

    def found(self, note: Note, earlier: Use, this: Use) -> None:
        self.reuses.append(Reuse(self.kind, None, note, earlier, this))

    def splits(self) -> bool:
        """Whether the current routine is `split` itself, not a sampler."""
        return (
            self.routine is not None
            and type(summary_of(self.routine.op.jaxprs()[0])) is Divides
        )

    def divide(self, eqn: Eqn, notes: Notes, numbers: Numbers) -> Note | None:
        note = notes[0]
        how = "split" if self.splits() else "inner"
        family = _family_of(how, self.place(eqn), eqn.outs[0].aval)
        if note is None:
            return family.note
        family.parent = note
        this = self.use(eqn, family)
        earlier = self.used(note, this)
        if earlier is not None:
            if earlier.made is not None and earlier._replace(made=family) == this:
                # One line splits one key twice: these are the same children.
                return earlier.made.note
            self.found(note, earlier, this)
        if note[0].folds is not None and how == "split":
            keys.unite(note, family)
        return family.note

    def fold(self, eqn: Eqn, notes: Notes, numbers: Numbers) -> Note | None:
        note = notes[0]
        if note is None:
            return None
        return keys.fold(note, numbers[1], self.place(eqn), eqn.outs[0].aval)

    def seed(self, eqn: Eqn, notes: Notes, numbers: Numbers) -> Note | None:
        return _family_of("seed", self.place(eqn), eqn.outs[0].aval, numbers[0]).note

    def clone(self, eqn: Eqn, notes: Notes, numbers: Numbers) -> Note | None:
        family = _family_of("clone", self.place(eqn), eqn.outs[0].aval)
        family.parent = notes[0]
        return family.note

    def wrap(self, eqn: Eqn, notes: Notes, numbers: Numbers) -> Note | None:
        if notes[0] is not None:
            return notes[0]
        return _family_of("words", self.place(eqn), eqn.outs[0].aval).note

    def unwrap(self, eqn: Eqn, notes: Notes, numbers: Numbers) -> Note | None:
        return notes[0]

    # -- operations that hold jaxprs -------------------------------------------------

    def call(
        self, eqn: Eqn, inner: Sequence[Jaxpr], notes: Notes, numbers: Numbers
    ) -> tuple[Notes, Numbers]:
        op = eqn.op
        fresh: tuple[Notes, Numbers]
        fresh = [None] * len(eqn.outs), [self.fresh() for _ in eqn.outs]
        if getattr(op, "repeats", False):
            return fresh
        held = any(n is not None for n in notes)
        if not held and not any([touches(j) for j in inner]):
            if op.effects:
                return fresh
            names = (*[id(j) for j in inner], *numbers)
            return fresh[0], [self.number((names, i)) for i in range(len(eqn.outs))]
        outside = self.routine, self.caller
        if self.routine is None:
            if isinstance(inner[0].name, Routine):
                self.routine = eqn
                self.own = {}
            elif op.flow is None:
                self.caller = self.caller or eqn.where
        try:
            if op.flow is Flow.BRANCH:
                return self.branch(inner, notes[1:], numbers[1:])
            if op.flow is Flow.WHILE:
                return self.while_loop(op, notes, numbers)
            if op.flow is Flow.SCAN:
                return self.scan(op, notes, numbers)
            if hasattr(op, "branches"):
                return self.lane_branches(eqn, inner, notes[1:], fresh)
            if len(inner) == 1 and len(inner[0].ins) == len(eqn.ins):
                return self.run(inner[0], notes, numbers)
            return fresh
        finally:
            self.routine, self.caller = outside

    def branch(
        self, branches: Sequence[Jaxpr], notes: Notes, numbers: Numbers
    ) -> tuple[Notes, Numbers]:
        """One of several: each starts from the same state; all their uses hold then."""
        outside, self.undo = self.undo, []
        found: list[tuple[Note, Use]] = []
        outs: Notes = []
        for branch in branches:
            results, _ = self.run(branch, notes, numbers)
            outs = (
                results
                if not outs
                else [a if _same(a, b) else None for a, b in zip(outs, results)]
            )
            found += [(note, keys.forget(note)) for note in reversed(self.undo)]
            self.undo.clear()
        self.undo = outside
        for note, this in found:
            self.used(note, this)
        return outs, [self.fresh() for _ in outs]

    def lane_branches(
        self, eqn: Eqn, branches: Sequence[Jaxpr], notes: Notes, fresh: Any
    ) -> tuple[Notes, Numbers]:
        """A branch for each lane: a key among the operands is one of its family."""
        inside, after = self.elements(notes, branches[0].in_avals, eqn.op.mapped)  # type: ignore[attr-defined]
        self.branch(branches, inside, [self.fresh() for _ in inside])
        after()
        return fresh  # type: ignore[no-any-return]

    def elements(
        self, notes: Notes, avals: Sequence[Aval], mapped: Sequence[bool]
    ) -> tuple[Notes, Callable[[], None]]:
        """One key of each family that is `mapped`; the second result, called after they
        were used, writes that down for the families."""
        inside = list(notes)
        made = []
        for i, (note, on) in enumerate(zip(notes, mapped)):
            if note is not None and on:
                family = _family_of("element", note[0].place, avals[i])
                family.parent = note
                inside[i] = family.note
                made.append((note, family))

        def after() -> None:
            for note, family in made:
                uses = [*family.used.values(), *[u for _, u in family.parts or ()]]
                if uses:
                    this = uses[0]._replace(made=None)
                    earlier = self.used(note, this)
                    if earlier is not None:
                        self.found(note, earlier, this)

        return inside, after

    # -- loops ---------------------------------------------------------------------

    def while_loop(
        self, op: Any, notes: Notes, numbers: Numbers
    ) -> tuple[Notes, Numbers]:
        first, second = op.cond_nconsts, op.cond_nconsts + op.body_nconsts
        carry, named = notes[second:], [self.fresh() for _ in notes[second:]]
        outside = self.kind
        for _ in range(TURNS):
            self.run(
                op.cond_jaxpr, notes[:first] + carry, numbers[:first] + list(named)
            )
            carry, named = self.run(  # type: ignore[assignment]
                op.body_jaxpr,
                notes[first:second] + carry,
                numbers[first:second] + list(named),
            )
            self.kind = "loop"
        self.kind = outside
        return carry, [self.fresh() for _ in carry]

    def scan(self, op: Any, notes: Notes, numbers: Numbers) -> tuple[Notes, Numbers]:
        first = op.num_consts
        second = first + op.num_carry
        body = op.jaxpr
        carry, named = notes[first:second], [self.fresh() for _ in range(op.num_carry)]
        outside = self.kind
        outs: Notes = []
        for step in range(min(op.length, TURNS)):
            xs, after = self.elements(
                notes[second:], body.in_avals[second:], [True] * len(notes[second:])
            )
            given = numbers[:first] + list(named) + [self.fresh() for _ in xs]
            outs, results = self.run(body, notes[:first] + carry + xs, given)
            carry, named = outs[: op.num_carry], results[: op.num_carry]
            if step == 0:
                after()
            self.kind = "loop"
        self.kind = outside
        ys = len(body.outs) - op.num_carry
        outs = carry + [None] * ys
        return outs, [self.fresh() for _ in outs]


_RULES: dict[type, Callable[..., Note | None]] = {
    random.RandomSplit: Walk.divide,
    random.RandomFoldIn: Walk.fold,
    random.RandomSeed: Walk.seed,
    random.RandomClone: Walk.clone,
    random.RandomWrap: Walk.wrap,
    random.RandomUnwrap: Walk.unwrap,
}


def _value(literal: Literal) -> Any:
    value = literal.val
    if isinstance(value, (bool, np.bool_)) or not np.isscalar(value):
        return "literal", id(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    return "literal", repr(value)


def _same(one: Note | None, other: Note | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one[0] is other[0]
        and type(one[1]) is type(other[1])
        and bool(np.array_equal(one[1], other[1]))
    )


def _picked(note: Note, out: Aval, starts: tuple[Any, ...]) -> Note | None:
    """The key at a computed place: its number is not known, only what it comes from."""
    family, which = note
    size = math.prod(keys.key_shape(out))
    if family.size == 1:
        return note
    if size == 1:
        return family, (id(which) if isinstance(which, np.ndarray) else which, starts)
    return None


# ----------------------------------------------------------------------------- summaries


class Sink(NamedTuple):
    """A key that a jaxpr uses: its note within, how, and the input it comes from."""

    note: Note
    use: Use
    position: int


class Summary:
    """What a jaxpr does with keys, for those who call it."""

    def __init__(self, jaxpr: Jaxpr) -> None:
        walk = Walk()
        self.inputs = [
            _family_of("input", None, aval, i) if keys.may_hold(aval) else None
            for i, aval in enumerate(jaxpr.in_avals)
        ]
        notes = [None if family is None else family.note for family in self.inputs]
        outs, _ = walk.run(jaxpr, notes, [walk.fresh() for _ in notes])
        self.routine = isinstance(jaxpr.name, Routine)
        self.reuses = [] if self.routine else walk.reuses
        self.outs = [
            note if keys.may_hold(aval) else None
            for note, aval in zip(outs, jaxpr.out_avals)
        ]
        self.sinks: list[Sink] = []
        for i, family in enumerate(self.inputs):
            if family is not None:
                self._collect(family, i)

    def _collect(self, family: Family, position: int) -> None:
        for which, use in family.used.items():
            if type(which) is int:
                self.sinks.append(Sink((family, which), use, position))
        for part, use in family.parts or ():
            self.sinks.append(Sink((family, part), use, position))
        for (which, number), note in (family.folds or {}).items():
            known = type(which) is int and type(number) is int
            if known and note[0].how == "fold":
                self._collect(note[0], position)

    @property
    def empty(self) -> bool:
        passes_on = any(note is not None for note in self.outs)
        return not (self.sinks or self.reuses or passes_on)

    def tell(self, op: Any, args: Sequence[Any], outs: Sequence[Any]) -> None:
        """Writes down what a call outside transformations did with keys."""
        place = outs[0].where if outs else user_place()
        for reuse in self.reuses:
            keys.report(reuse)
        given = _Given(self, args, place)
        for sink in self.sinks:
            note = given.note(sink.note)
            if note is None:
                continue
            this = Use(place, op, None, sink.use.inside or sink.use.place)
            earlier = keys.use(note, this)
            if earlier is not None:
                key = args[sink.position]
                keys.report(Reuse("twice", key, note, Use._make(earlier), this))
        for note, out in zip(self.outs, outs):
            if note is not None:
                found = given.note(note)
                if found is not None:
                    out.note = found


class _Given:
    """Notes within a jaxpr as notes of the arrays that it was called with."""

    def __init__(
        self, summary: Summary, args: Sequence[Any], place: Place | None
    ) -> None:
        self.args = args
        self.place = place
        self.known: dict[Family, Family] = {}
        self.inputs = summary.inputs

    def note(self, note: Note) -> Note | None:
        family, which = note
        if family.how == "input":
            outer = keys.note_of(self.args[family.data])
            return None if outer is None else _composed(outer, family, which)
        if family.how == "fold" and type(family.data) is int:
            parent = self.note(family.parent)  # type: ignore[arg-type]
            if parent is not None:
                made = keys.fold(parent, family.data, self.place, family.aval)
                return made if family.size == 1 else (made[0], which)
        return self.family(family), which

    def family(self, family: Family) -> Family:
        """A family that the call made, with the uses that it has already."""
        found = self.known.get(family)
        if found is None:
            parent = None if family.parent is None else self.note(family.parent)
            found = Family(family.how, self.place, parent, family.aval)
            found.used = {
                w: u._replace(place=self.place, inside=u.inside or u.place)
                for w, u in family.used.items()
            }
            found.parts = None if family.parts is None else list(family.parts)
            found.mixed = family.mixed
            self.known[family] = found
            keys.recent.append(found)
        return found


def _composed(outer: Note, family: Family, which: Any) -> Note | None:
    """Key number `which` of an input, by the note of what was given for it."""
    if family.size == 1 or (type(which) is int and which == WHOLE):
        return outer
    base, chosen = outer
    if isinstance(chosen, np.ndarray):
        picked = chosen.reshape(-1)[which]
        return base, (picked if isinstance(which, np.ndarray) else int(picked))
    return (base, which) if type(chosen) is int and chosen == WHOLE else None


class Draws(Summary):
    """Uses keys up as they are given; what keys it gives back are these, or new ones."""

    draws: list[tuple[int, Place | None]]
    passed: list[tuple[int, int]]  # (output, the input that it is)
    fresh: list[tuple[int, int]]  # (output, the input that it descends from or -1)

    def tell(self, op: Any, args: Sequence[Any], outs: Sequence[Any]) -> None:
        for position, inside in self.draws:
            keys.drawn(args[position], outs[0], op, inside)
        for number, position in self.passed:
            note = keys.note_of(args[position])
            if note is not None:
                outs[number].note = note
        for number, position in self.fresh:
            keys.given_back(outs[number], args[position] if position >= 0 else None)


class Divides(Summary):
    """A routine that splits a key, and does nothing else."""

    def tell(self, op: Any, args: Sequence[Any], outs: Sequence[Any]) -> None:
        keys.divided(args[0], outs[0], op)


@memo_on_first
def summary_of(jaxpr: Jaxpr) -> Summary | None:
    """What a jaxpr does with keys; None if that is nothing."""
    if not touches(jaxpr) and not any([keys.may_hold(a) for a in jaxpr.out_avals]):
        return None
    summary = Summary(jaxpr)
    if summary.empty:
        return None
    if summary.routine and len(jaxpr.ins) == len(jaxpr.outs) == len(summary.sinks) == 1:
        made = summary.sinks[0].use.made
        if made is not None and _same(summary.outs[0], made.note):
            summary.__class__ = Divides
            return summary
    if jaxpr.outs and not summary.reuses:
        _simplify(summary)
    return summary


def _simplify(summary: Summary) -> None:
    """Makes it `Draws`, which is quick, if that says all of it."""
    whole = [family.note if family is not None else None for family in summary.inputs]
    if not all([_same(sink.note, whole[sink.position]) for sink in summary.sinks]):
        return
    passed: list[tuple[int, int]] = []
    fresh: list[tuple[int, int]] = []
    families: list[Family] = []
    for number, note in enumerate(summary.outs):
        if note is None:
            continue
        family, which = note
        if family.how == "input":
            if not _same(note, whole[family.data]):
                return
            passed.append((number, family.data))
            continue
        if not isinstance(which, int) or which < 0 and family.used:
            return
        if family.mixed or family.parts or which in family.used:
            return
        families.append(family)
        if which < 0 and families.count(family) > 1:
            return
        while family.parent is not None and family.how != "input":
            family = family.parent[0]
        fresh.append((number, family.data if family.how == "input" else -1))
    summary.__class__ = Draws
    assert isinstance(summary, Draws)
    summary.passed, summary.fresh = passed, fresh
    summary.draws = [
        (position, None if summary.routine else use.inside or use.place)
        for _, use, position in summary.sinks
    ]


def summary_of_op(op: Any, args: Sequence[Any]) -> Summary | None:
    """The same for an operation that holds jaxprs, on operands like `args`."""
    if op.flow is None:
        inner = op.jaxprs()
        same = len(inner) == 1 and len(inner[0].ins) == len(args)
        return summary_of(inner[0]) if same else None
    if "_keys" in op.__dict__:
        known: Summary | None = op.__dict__["_keys"]
        return known
    found = None
    if any([touches(j) for j in op.jaxprs()]):
        ins = [Var(aval_of(a)) for a in args]
        outs = [Var(a) for a in infer(op, tuple([v.aval for v in ins]))]
        found = summary_of(Jaxpr(ins, [Eqn(op, ins, outs)], outs))
    op.__dict__["_keys"] = found
    return found


# --------------------------------------------------------------------------------- hooks


def unchecked() -> Any:
    """`with unchecked():` nobody looks at keys."""
    return config.scope("tetrad_key_check", "off")


def called(trace: Trace, op: Any, args: Sequence[Any], outs: Sequence[Any]) -> None:
    """Writes down what an operation that holds jaxprs did with keys.

    Where the call is only written into a jaxpr, whoever stages that looks at all of it.
    """
    if trace.stages:
        return
    summary = summary_of_op(op, args)
    if summary is None or config.key_check == "off":
        return
    if trace.eager:
        summary.tell(op, args, outs)
        return
    if op.flow is not None and STATE.where is None:  # the user's loop, no replay
        for reuse in summary.reuses:
            keys.report(reuse)
    if trace.lanes > 1 and summary.sinks:
        _check_lanes(trace, op, summary, args)


def check(jaxpr: Jaxpr, names: Callable[[], Sequence[str]]) -> Summary | None:
    """Reports the reuses inside of a jaxpr that a user's function became.

    `names` are those of its last inputs; what it closes over stands before them.
    """
    if config.key_check == "off":
        return None
    summary = summary_of(jaxpr)
    if summary is not None:
        for reuse in summary.reuses:
            keys.report(reuse._replace(origin=_origin(reuse.note, jaxpr, names)))
    return summary


def _origin(note: Note, jaxpr: Jaxpr, names: Callable[[], Sequence[str]]) -> str:
    """How the function came by a key, if it was given to it."""
    family = note[0]
    if family.how != "input":
        return ""
    words = names()
    at = family.data - (len(jaxpr.ins) - len(words))
    return f"to `{jaxpr.name}` as `{words[at]}`" if at >= 0 else ""


def _check_lanes(trace: Trace, op: Any, summary: Summary, args: Sequence[Any]) -> None:
    """Reports draws that are the same in each lane of `trace`."""
    shared = [
        family is not None
        and getattr(x, "_trace", None) is not trace
        and not keys.made_inside(trace, x)
        for family, x in zip(summary.inputs, args)
    ]
    if not any(shared):
        return
    found: dict[Any, list[Reuse]] = op.__dict__.setdefault("_lanes", {})
    mask = tuple(shared)
    if mask not in found:
        found[mask] = _drawn_by_all(op, [aval_of(x) for x in args], mask)
    for reuse in found[mask]:
        family = reuse.note[0]
        while family.parent is not None and family.how != "input":
            family = family.parent[0]
        key = args[family.data] if family.how == "input" else None
        inside = None if summary.routine else reuse.again.inside or reuse.again.place
        this = reuse.again._replace(place=user_place(), inside=inside)
        note = keys.note_of(key) or family.note
        keys.report(Reuse("lanes", key, note, this, this))


def _drawn_by_all(
    op: Any, avals: Sequence[Aval], shared: Sequence[bool]
) -> list[Reuse]:
    """The draws that two lanes make from one key, if they have `shared` operands."""
    walk = Walk()
    ins = [Var(a) for a in avals]
    outs = [Var(a) for a in infer(op, tuple(avals))]
    eqn = Eqn(op, ins, outs)
    families = [
        _family_of("input", None, a, i) if keys.may_hold(a) else None
        for i, a in enumerate(avals)
    ]
    numbers = [walk.fresh() for _ in ins]
    for kind in ("twice", "lanes"):
        walk.kind = kind
        given = [
            None if f is None else f.note if on else _family_of("lane", None, a).note
            for f, on, a in zip(families, shared, avals)
        ]
        walk.step(
            eqn, given, [n if on else walk.fresh() for n, on in zip(numbers, shared)]
        )
    return [
        reuse
        for reuse in walk.reuses
        if reuse.kind == "lanes" and reuse.again.made is None
    ]
