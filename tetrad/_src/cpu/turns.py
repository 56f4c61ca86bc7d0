"""Kernels with control flow inside: loops and branches at every point of a space.

The points are walked like the rows of a map. For each vector of points the entries of
the kernel are computed, then the `Form` runs: what it carries stays in registers, and
what it reads and stores in each turn is addressed by pointers that move on. Values that
are the same for all points are kept as scalars; they are spread over the lanes where a
vector needs them. What does not change from turn to turn is computed before the first.

A loop looks at the cancel flag of its job now and then. Read `Turns.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.cpu import accesses
from tetrad._src.cpu.accesses import Local
from tetrad._src.cpu.body import Body, Row
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import CONTIGUOUS, UNIFORM, Loops
from tetrad._src.cpu.map import walk_rows
from tetrad._src.cpu.scalar import Value
from tetrad._src.passes.ir import PICK, Access, Form, Inner, Turn

POLL = 4096  # turns between looks at the cancel flag


Several = list[Local]
State = list[tuple[str, str]]  # registers that a loop carries: types and names


class Frame:
    """What is known while a turn is written: operands and entries, by number."""

    __slots__ = ("turn", "found", "spread")

    def __init__(self, turn: Turn, found: dict[int, Any]) -> None:
        self.turn = turn
        self.found = found
        self.spread: dict[int, Value] = {}

    def copy(self) -> Frame:
        made = Frame(self.turn, dict(self.found))
        made.spread = dict(self.spread)
        return made


def write_turns(loops: Loops) -> Writer:
    """The kernel of a map that runs control flow at every point."""
    assert loops.flow is not None
    w = Writer(loops.lanes)
    body = Body(w, loops)
    turns = Turns(w, body, loops.flow)
    one_way = loops.lanes == 1 or not (loops.flow.reads or loops.flow.stores)
    walk_rows(w, body, turns.visit, turns.read_words, masked=one_way)
    return w


class Turns:
    """Writes the control flow of one kernel."""

    def __init__(self, w: Writer, body: Body, inner: Inner) -> None:
        self.w = w
        self.body = body
        self.inner = inner
        self.stores = [number for number in inner.stores if number >= 0]

    def read_words(self) -> None:
        w = self.w
        self.steps = [w.word() for _ in (*self.inner.reads, *self.stores)]
        self.flag = w.word("ptr")

    def visit(self, row: Row, j: str, mask: Value | None) -> None:
        """Everything for the vector of points that starts at `j`."""
        self.row, self.j, self.mask = row, j, mask
        values = self.body.vector(row, j, mask)
        many = self.w.lanes > 1
        found = [
            Local(values[ref], many)
            if ref in values and not self.body.uniform[ref]
            else Local(row.scalars[ref], False)
            for ref in self.inner.refs
        ]
        self.lifted = found[: self.inner.lifted]
        self.spread: dict[int, Value] = {}
        for number in sorted(_spread_lifted(self.inner.form)):
            if many and not self.lifted[number].wide:
                self.spread[number] = self.w.spread(self.lifted[number].value)
        results = self.run(self.inner.form, found[self.inner.lifted :], True)
        for number, result in zip(self.inner.results, results):
            if number >= 0:
                self.store(number, row.writes[number], result)

    # Forms

    def run(self, form: Form, operands: list[Local], outermost: bool) -> Several:
        """The results of a form: what is carried at the end, or what a branch gives."""
        if form.kind == "branch":
            return self.branch(form, operands)
        consts = operands[: form.consts]
        carries = [
            self.shaped(x, wide) for x, wide in zip(operands[form.consts :], form.wide)
        ]
        if form.kind == "scan":
            return self.scan(form, consts, carries, outermost)
        return self.repeat(form, consts, carries)

    def scan(
        self, form: Form, consts: list[Local], carries: Several, outermost: bool
    ) -> Several:
        """A number of turns; only the outermost loop reads and stores slices."""
        w, inner = self.w, self.inner
        (turn,) = form.turns
        before = self.before(turn, consts)
        length = self.lifted[~form.length].value.ref
        state = self.state(carries)
        if outermost:
            state += [("ptr", self.row.reads[number]) for number in inner.reads]
            state += [("ptr", self.row.writes[number]) for number in self.stores]
        blocks = w.begin("0", length, POLL, state)
        end = w.smaller_index(w.i("add", blocks.index, str(POLL)), length)
        end = w.raw(f"select i1 {self.stopped()}, i64 {blocks.index}, i64 {end}")
        types = [type for type, _ in state]
        loop = w.begin(blocks.index, end, 1, list(zip(types, blocks.carried)))
        count = len(self.state(carries))
        frame = before.copy()
        here = self.restored(carries, loop.carried[:count])
        pointers = loop.carried[count:]
        slices = self.load(turn, pointers) if outermost else []
        self.bind(frame, form.consts, [*here, *slices])
        outs = self.turn(frame)
        if outermost:
            self.stack(pointers[len(inner.reads) :], outs[len(carries) :])
        after = [self.shaped(x, wide) for x, wide in zip(outs, form.wide)]
        nexts = [ref for _, ref in self.state(after)]
        for pointer, (step, type) in zip(pointers, self.moves()):
            nexts.append(w.point_to(pointer, step, type))
        w.end(loop, nexts)
        w.end(blocks, loop.carried)
        return self.restored(carries, blocks.carried[:count])

    def repeat(self, form: Form, consts: list[Local], carries: Several) -> Several:
        """Turns while a condition holds, or while it holds in some lane."""
        w = self.w
        test, turn = form.turns
        test_before, before = self.before(test, consts), self.before(turn, consts)
        state = self.state(carries)

        def more(refs: Sequence[str]) -> str:
            frame = test_before.copy()
            self.bind(frame, form.consts, self.restored(carries, refs))
            (going,) = self.turn(frame)
            if form.kind == "lanes":
                value = self.shaped(going, True).value
                if self.mask is not None:
                    value = w.binary("and", value, self.mask)
                going_on = w.any_lane(value)
            else:
                going_on = going.value.ref
            stopped = self.stopped()
            return w.raw(f"select i1 {stopped}, i1 false, i1 {going_on}")

        def step(refs: Sequence[str]) -> list[str]:
            frame = before.copy()
            self.bind(frame, form.consts, self.restored(carries, refs))
            outs = self.turn(frame)
            after = [self.shaped(x, wide) for x, wide in zip(outs, form.wide)]
            return [ref for _, ref in self.state(after)]

        return self.restored(carries, _while(w, state, more, step))

    def branch(self, form: Form, operands: list[Local]) -> Several:
        """One of the turns, by a scalar."""
        w = self.w
        index, *args = operands
        labels = [w.fresh_label() for _ in form.turns]
        cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(labels))
        w.line(f"switch i32 {index.value.ref}, label %{labels[-1]} [ {cases} ]")
        after = w.fresh_label()
        ends = []
        results: Several = []
        for label, turn in zip(labels, form.turns):
            w.start_block(label)
            outs = self.turn(Frame(turn, dict(enumerate(args))))
            results = [self.shaped(x, wide) for x, wide in zip(outs, form.wide)]
            state = self.state(results)
            ends.append((w.label, [ref for _, ref in state]))
            w.line(f"br label %{after}")
        w.start_block(after)
        refs = []
        for number, (type, _) in enumerate(self.state(results)):
            arms = ", ".join(f"[ {refs_[number]}, %{label} ]" for label, refs_ in ends)
            refs.append(w.raw(f"phi {type} {arms}"))
        return self.restored(results, refs)

    # Turns

    def before(self, turn: Turn, consts: list[Local]) -> Frame:
        """What of a turn can be computed before the first: all that does not change."""
        frame = Frame(turn, dict(enumerate(consts)))
        first = len(turn.wide) - len(turn.entries)
        for offset, entry in enumerate(turn.entries):
            refs = entry[1:2] if entry[0] == PICK else entry[1:]
            if _moves(entry[0]) or any(r >= 0 and r not in frame.found for r in refs):
                continue
            frame.found[first + offset] = self.entry(frame, first + offset, entry)
        for offset, entry in enumerate(turn.entries):
            if turn.wide[first + offset] and _spreads(entry[0]):
                for ref in entry[1:]:
                    if ref in frame.found:
                        self.wide(frame, ref)
        return frame

    def bind(self, frame: Frame, first: int, values: Sequence[Local]) -> None:
        """Gives operands from number `first` on their values."""
        frame.found.update(enumerate(values, first))

    def turn(self, frame: Frame) -> Several:
        """Computes the entries that are missing; the outputs."""
        turn = frame.turn
        first = len(turn.wide) - len(turn.entries)
        for offset, entry in enumerate(turn.entries):
            if first + offset not in frame.found:
                frame.found[first + offset] = self.entry(frame, first + offset, entry)
        return [self.local(frame, ref) for ref in turn.outs]

    def entry(self, frame: Frame, number: int, entry: tuple[Any, ...]) -> Any:
        head = entry[0]
        if type(head) is Form:
            return self.run(head, [self.local(frame, r) for r in entry[1:]], False)
        wide = frame.turn.wide[number]
        if type(head) is Access:
            operands = [self.local(frame, ref) for ref in entry[1:]]
            return accesses.access(self, head, operands, wide)
        if head == PICK:
            several = frame.found[entry[1]]
            if type(several) is list:
                return several[entry[2]]
            return Local(several.value.results[entry[2]], several.wide)
        if wide:
            values = [self.wide(frame, ref) for ref in entry[1:]]
            return Local(self.body.apply(head, values), True)
        with self.w.one_lane():
            values = [self.local(frame, ref).value for ref in entry[1:]]
            return Local(self.body.apply(head, values), False)

    def local(self, frame: Frame, ref: int) -> Local:
        found: Local = self.lifted[~ref] if ref < 0 else frame.found[ref]
        return found

    def wide(self, frame: Frame, ref: int) -> Value:
        """A value in the lanes."""
        x = self.local(frame, ref)
        if x.wide:
            return x.value
        known = self.spread.get(~ref) if ref < 0 else frame.spread.get(ref)
        if known is None:
            known = self.w.spread(x.value)
            if ref >= 0:
                frame.spread[ref] = known
        return known

    def shaped(self, x: Local, wide: bool) -> Local:
        """`x` as a value that is wide, or is not."""
        if x.wide or not wide or self.w.lanes == 1:
            return x
        return Local(self.w.spread(x.value), True)

    # Registers that loops carry

    def state(self, values: Sequence[Local]) -> State:
        w = self.w
        found: State = []
        for x in values:
            if x.wide:
                type = w.register(x.value.type)
            else:
                with w.one_lane():
                    type = w.register(x.value.type)
            found.extend([(type, part) for part in x.value.parts])
        return found

    def restored(self, like: Sequence[Local], refs: Sequence[str]) -> Several:
        """The same values in other registers."""
        names = iter(refs)
        made = []
        for x in like:
            ref = next(names)
            imag = next(names) if x.value.imag else ""
            made.append(Local(Value(self.w, ref, x.value.type, imag), x.wide))
        return made

    # Memory

    def moves(self) -> list[tuple[str, str]]:
        """By how many elements, of which type, the pointers move on each turn."""
        loops = self.body.loops
        types = [loops.reads[number].type for number in self.inner.reads]
        types += [loops.writes[number][1].type for number in self.stores]
        return list(zip(self.steps, types))

    def load(self, turn: Turn, pointers: Sequence[str]) -> Several:
        """The slices that a turn reads."""
        reads = list(self.row.reads)
        for number, pointer in zip(self.inner.reads, pointers):
            reads[number] = pointer
        row = Row(reads, self.row.writes, self.row.counts)
        found = []
        for number in self.inner.reads:
            access = self.body.loops.reads[number]
            if self.w.lanes > 1 and access.kind != UNIFORM:
                value = self.body.load(row, number, self.j, self.mask, False)
                found.append(Local(value, True))
            else:
                with self.w.one_lane():
                    found.append(Local(self.w.load(reads[number], access.type), False))
        return found

    def stack(self, pointers: Sequence[str], outs: Sequence[Local]) -> None:
        """Stores what a turn gives."""
        wanted = [x for number, x in zip(self.inner.stores, outs) if number >= 0]
        for number, pointer, x in zip(self.stores, pointers, wanted):
            self.store(number, pointer, x)

    def store(self, number: int, pointer: str, x: Local) -> None:
        w = self.w
        _, access = self.body.loops.writes[number]
        if w.lanes == 1 or access.kind == UNIFORM:
            with w.one_lane():
                w.store(x.value, pointer)
            return
        value = self.shaped(x, True).value
        if access.kind == CONTIGUOUS:
            w.store(value, w.point_to(pointer, self.j, access.type), self.mask)
            return
        if access.comb is not None:
            pointer = w.point_to(pointer, str(access.comb.phase), access.type)
        step = self.body.inner[len(self.body.loops.reads) + number]
        pointer = w.point_to(pointer, w.i("mul", self.j, step), access.type)
        w.scatter(value, pointer, self.body.steps(step), self.mask)

    def stopped(self) -> str:
        """An i1 register: whether the job is to stop."""
        w = self.w
        word = w.raw(f"load atomic i64, ptr {self.flag} monotonic, align 8")
        return w.raw(f"icmp ne i64 {word}, 0")


def _while(
    w: Writer,
    state: State,
    more: Callable[[Sequence[str]], str],
    step: Callable[[Sequence[str]], list[str]],
) -> list[str]:
    """`while more(state): state = step(state)`; the registers of the last state."""
    head, body, after = w.fresh_label(), w.fresh_label(), w.fresh_label()
    before = w.label
    w.line(f"br label %{head}")
    w.start_block(head)
    line = len(w.lines)
    names = [w.fresh() for _ in state]
    w.lines.extend([""] * len(state))
    go_on = more(names)
    w.line(f"br i1 {go_on}, label %{body}, label %{after}")
    w.start_block(body)
    nexts = step(names)
    last = w.label
    w.line(f"br label %{head}")
    for offset, (name, (type, start), following) in enumerate(zip(names, state, nexts)):
        w.lines[line + offset] = (
            f"  {name} = phi {type} [ {start}, %{before} ], [ {following}, %{last} ]"
        )
    w.start_block(after)
    return names


def _moves(head: Any) -> bool:
    """Whether an entry may give something else in the next turn, for equal operands."""
    if type(head) is Access:
        return head.store or not head.steady
    return type(head) is Form


def _spreads(head: Any) -> bool:
    """Whether an entry wants its operands in the lanes."""
    return head != PICK and type(head) is not Access and type(head) is not Form


def _spread_lifted(form: Form) -> set[int]:
    """The lifted values that vectors use."""
    found: set[int] = set()
    for turn in form.turns:
        first = len(turn.wide) - len(turn.entries)
        for offset, entry in enumerate(turn.entries):
            if type(entry[0]) is Form:
                found |= _spread_lifted(entry[0])
            elif _spreads(entry[0]) and turn.wide[first + offset]:
                found.update([~ref for ref in entry[1:] if ref < 0])
    return found
