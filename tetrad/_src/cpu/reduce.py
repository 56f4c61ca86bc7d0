"""Templates of reductions: along rows, and down columns.

Both visit the kept axes around the vectors in tasks, cut further into blocks if `split`
says so. A block that is not the only one of its result stores its state; a second fold,
over states (`MergeStates`), gives the result. If the blocks are few (`fold_whole`), one
task visits them in turn and merges them like that fold. What else the kernel computes is
written on the way.

Words after the common ones: per fold the pointers of its results, then those of its
stored states; the extents of kept axes, then of folded axes; then the numbers of
`passes.trees.Tree`; then two strides of stored states; then strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.cpu import schedule
from tetrad._src.cpu.body import Body, Row
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.loops import FOLD_WHOLE, Fold, Loops
from tetrad._src.cpu.registers import SMALL_FLOATS
from tetrad._src.cpu.scalar import SIZE, Value
from tetrad._src.util.memo import Cache

SETS = 4  # vectors of accumulators along a row, if no other type widens the kernel
WIDE = ("f64", "i64", "u64", "c128")
FOLD = 64  # rows that a column adds before it adds to its total
MOST_STATES = 32  # blocks of one task of `fold_whole`

State = list[Value]


class MergeStates:
    """The fold of states that `op` left, as a fold of its own."""

    name = "merge"

    def __init__(self, op: Any, types: tuple[str, ...]) -> None:
        self.op = op
        self.types = types  # of the elements that were folded first

    def __repr__(self) -> str:
        return f"merge[{self.op!r}]"


_merges: Cache = Cache("folds of states", limit=4096)


def merge_states(op: Any, types: tuple[str, ...]) -> MergeStates:
    """The one `MergeStates` of an operation, so that kernels are found again."""
    if isinstance(op, MergeStates):
        return op
    found: MergeStates | None = _merges.get((op, types))
    if found is None:
        found = _merges.setdefault((op, types), MergeStates(op, types))
    return found


_state_types: Cache = Cache("types of states", limit=4096)


def state_types(fold: Fold) -> tuple[str, ...]:
    """The types of the state of a fold."""
    key = (fold.op, fold.types)
    found = _state_types.get(key)
    if found is None:
        block = Writer(1)
        found = tuple([v.type for v in Folder(block, fold).initial()])
        _state_types[key] = found
    return found


def any_order(fold: Fold) -> bool:
    """Whether the order of elements has no influence on the result."""
    merging = type(fold.op) is MergeStates
    op, types = (fold.op.op, fold.op.types) if merging else (fold.op, fold.types)
    return op.any_order is not None and all([op.any_order(type) for type in types])


class Folder:
    """The rules of one fold, over states that are lists of values."""

    def __init__(self, block: Any, fold: Fold) -> None:
        self.block = block
        self.fold = fold
        op = fold.op
        self.merging = type(op) is MergeStates
        self.base = op.op if self.merging else op
        types = op.types if self.merging else fold.types
        self.type: Any = types[0] if len(types) == 1 else types
        self.one = False
        # Floats of 8 bits and fewer are folded in single precision and rounded once.
        self.small = self.type if self.type in SMALL_FLOATS else ""
        # Accumulators are as many as the fold would have in a kernel of its own: element
        # i goes to number i modulo that, and they are merged in halves, so that what else
        # is in the kernel, and makes vectors shorter, does not change the result.
        wide = any(type in WIDE for type in types)
        self.any_order = any_order(fold)
        self.pairs = (
            self.any_order
            and self.base.pair is not None
            and not (self.merging or self.small)
        )
        self.sets = SETS * schedule.lanes(wide) // block.lanes

    def initial(self) -> State:
        state = self.base.initial(self.block, self.type)
        self.one = isinstance(state, Value)
        return self._widened([state] if self.one else list(state))

    def _widened(self, values: Sequence[Value]) -> State:
        if not self.small:
            return list(values)
        convert = self.block.convert
        return [convert(v, "f32") if v.type == self.small else v for v in values]

    def _in(self, state: State) -> Any:
        return state[0] if self.one else tuple(state)

    def _out(self, state: Any) -> State:
        return [state] if isinstance(state, Value) else list(state)

    def step(self, state: State, xs: Sequence[Value], index: Any) -> State:
        if self.merging:
            return self.merge(state, list(xs))
        xs = self._widened(xs)
        x = xs[0] if len(xs) == 1 else tuple(xs)
        return self._out(self.base.step(self.block, self._in(state), x, index))

    def pair(self, state: State, x: Value, y: Value) -> State:
        """Folds two vectors into the same accumulators."""
        return self._out(self.base.pair(self.block, self._in(state), x, y))

    def merge(self, state: State, other: State) -> State:
        merged = self.base.merge(self.block, self._in(state), self._in(other))
        return self._out(merged)

    def finish(self, state: State) -> State:
        if self.base.finish is None:
            finished = state
        else:
            finished = self._out(self.base.finish(self.block, self._in(state)))
        if not self.small:
            return finished
        convert = self.block.convert
        return [convert(v, self.small) if v.type == "f32" else v for v in finished]


class Folds:
    """All folds of a kernel: pointers, and states as one flat list of registers."""

    def __init__(self, w: Writer, folds: Sequence[Fold]) -> None:
        self.w = w
        self.folders = [Folder(w, fold) for fold in folds]
        self.types = [[v.type for v in f.initial()] for f in self.folders]
        self.pairs = all(folder.pairs for folder in self.folders)
        self.any_order = all(folder.any_order for folder in self.folders)
        self.results: list[list[str]] = []
        self.states: list[list[str]] = []

    def read_words(self) -> None:
        """The pointers of results and of stored states."""
        w = self.w
        for folder, types in zip(self.folders, self.types):
            self.results.append([w.word("ptr") for _ in folder.fold.results])
            self.states.append([w.word("ptr") for _ in types])

    def keep_states(self) -> None:
        """Has states stored on the stack."""
        w = self.w
        with w.one_lane():
            self.states = [
                [w.raw(f"alloca [{MOST_STATES * SIZE[t]} x i8], align 64") for t in ts]
                for ts in self.types
            ]

    def start(self) -> list[State]:
        return [folder.initial() for folder in self.folders]

    def start_sets(self) -> list[list[State]]:
        """Vectors of accumulators; a fold that has fewer than others lacks the last."""
        count = max(folder.sets for folder in self.folders)
        return [
            [folder.initial() if n < folder.sets else [] for folder in self.folders]
            for n in range(count)
        ]

    def step_set(
        self,
        sets: list[list[State]],
        number: int,
        values: dict[int, Any],
        index: str,
        mask: Any,
    ) -> None:
        """Folds one vector into the accumulators that follow number - 1."""
        places = [number % folder.sets for folder in self.folders]
        states = [sets[place][f] for f, place in enumerate(places)]
        for f, state in enumerate(self.step(states, values, index, mask)):
            sets[places[f]][f] = state

    def pair_set(
        self, sets: list[list[State]], number: int, values: Sequence[dict[int, Any]]
    ) -> None:
        """Folds two vectors into the same accumulators."""
        for f, folder in enumerate(self.folders):
            (ref,) = folder.fold.refs
            states = sets[number % folder.sets]
            states[f] = folder.pair(states[f], values[0][ref], values[1][ref])

    def turned(self, sets: list[list[State]]) -> list[list[State]]:
        """Number 1 is number 0 now, and so on."""
        counts = [folder.sets for folder in self.folders]
        return [
            [
                sets[(n + 1) % count][f] if n < count else []
                for f, count in enumerate(counts)
            ]
            for n in range(len(sets))
        ]

    def merge_sets(self, sets: list[list[State]]) -> list[State]:
        merged = []
        for f, folder in enumerate(self.folders):
            states = [sets[n][f] for n in range(folder.sets)]
            while len(states) > 1:
                half = len(states) // 2
                pairs = zip(states[:half], states[half:])
                states = [folder.merge(a, b) for a, b in pairs]
            merged.append(states[0])
        return merged

    def carried(self, sets: Sequence[list[State]]) -> list[tuple[str, str]]:
        """Registers of states, with their LLVM types, for a loop to carry."""
        w = self.w
        return [
            (w.register(value.type), part)
            for states in sets
            for state in states
            for value in state
            for part in value.parts
        ]

    def renamed(self, sets: Sequence[list[State]], refs: Sequence[str]) -> Any:
        """The same states in other registers."""
        names = iter(refs)
        return [
            [
                [
                    Value(self.w, *_take(names, value))  # type: ignore[misc]
                    for value in state
                ]
                for state in states
            ]
            for states in sets
        ]

    def step(
        self, states: list[State], values: dict[int, Any], index: str, mask: Any
    ) -> list[State]:
        """Folds one vector in; lanes outside the mask keep their state."""
        w = self.w
        result = []
        for folder, state in zip(self.folders, states):
            start = len(w.lines)
            at = w.binary("add", w.broadcast(index, "i64"), w.lane_index("i64"))
            made = len(w.lines)
            xs = [values[ref] for ref in folder.fold.refs]
            new = folder.step(state, xs, at)
            if not any(f"{at.ref}," in s or s.endswith(at.ref) for s in w.lines[made:]):
                del w.lines[start:made]
            if mask is not None:
                new = [w.select(mask, a, b) for a, b in zip(new, state)]
            result.append(new)
        return result

    def step_rows(
        self, states: list[State], values: dict[int, Any], index: str, mask: Any
    ) -> list[State]:
        """As `step`, where all lanes have the same index."""
        w = self.w
        result = []
        for folder, state in zip(self.folders, states):
            start = len(w.lines)
            at = w.broadcast(index, "i64")
            made = len(w.lines)
            xs = [values[ref] for ref in folder.fold.refs]
            new = folder.step(state, xs, at)
            if not any(f"{at.ref}," in s or s.endswith(at.ref) for s in w.lines[made:]):
                del w.lines[start:made]
            result.append(new)
        return result

    def merge(self, states: list[State], others: list[State]) -> list[State]:
        return [
            folder.merge(state, other)
            for folder, state, other in zip(self.folders, states, others)
        ]

    def across(self, states: list[State]) -> list[State]:
        """All lanes of each state merged, as scalars.

        Vectors are halved. Turning whole vectors around and looking at lane 0 at the end
        is miscompiled by LLVM 22 where merging compares and selects.
        """
        w = self.w
        lanes = w.lanes
        while w.lanes > 1:
            half = w.lanes // 2
            low = [[w.half(v, 0) for v in state] for state in states]
            high = [[w.half(v, half) for v in state] for state in states]
            w.lanes = half
            states = self.merge(low, high)
        w.lanes = lanes
        return states

    def merge_stored(self, count: str) -> list[State]:
        """The first `count` stored states merged, in the order of `fold_row`."""
        w = self.w
        sets = self.start_sets()
        for number in range(-(-MOST_STATES // w.lanes)):
            first = number * w.lanes
            mask = w.mask(w.larger_index(w.i("sub", count, first), "0"))
            for f, folder in enumerate(self.folders):
                states = sets[number % folder.sets]
                pointers = zip(self.states[f], self.types[f])
                stored = [
                    w.load(w.point_to(p, str(first), t), t, mask) for p, t in pointers
                ]
                new = folder.merge(states[f], stored)
                states[f] = [w.select(mask, a, b) for a, b in zip(new, states[f])]
        return self.across(self.merge_sets(sets))

    def store_results(self, states: list[State], at: str, mask: Any = None) -> None:
        w = self.w
        for folder, state, pointers in zip(self.folders, states, self.results):
            for value, pointer in zip(folder.finish(state), pointers):
                w.store(value, w.point_to(pointer, at, value.type), mask)

    def store_states(self, states: list[State], at: str, mask: Any = None) -> None:
        w = self.w
        for state, pointers in zip(states, self.states):
            for value, pointer in zip(state, pointers):
                w.store(value, w.point_to(pointer, at, value.type), mask)


def _take(names: Any, value: Value) -> tuple[Any, ...]:
    ref = next(names)
    if value.imag:
        return ref, value.type, next(names)
    return ref, value.type


class RowTask:
    """What a task along rows visits: one block of one result, or all of them."""

    def __init__(self, w: Writer, body: Body, folds: Folds) -> None:
        self.w, self.body, self.folds = w, body, folds
        loops = body.loops
        self.split = loops.split
        kept = [w.word() for _ in range(loops.outer)]
        self.folded = [w.word() for _ in range(loops.inner)]
        self.length, self.count = w.word(), w.word()
        if self.split:
            self.run, self.segment = w.word(), w.word()
            self.segments, self.blocks = w.word(), w.word()
            self.by_output, self.by_block = w.word(), w.word()
        body.read_strides(loops.outer + loops.inner)
        self.loop = w.begin("%lo", "%hi", 1)
        self.output = self.loop.index
        self.rows, self.part = ("0", self.count), ("0", self.length)
        if self.split and loops.template != FOLD_WHOLE:
            self.output = w.i("udiv", self.loop.index, self.blocks)
            first = w.i("mul", self.output, self.blocks)
            self.choose_block(w.i("sub", self.loop.index, first))
        index = body.split(self.output, kept)
        self.row = body.place(body.root, index, range(loops.outer))

    def choose_block(self, block: str) -> None:
        """Visits a block of the result."""
        w, self.block = self.w, block
        runs = w.i("udiv", block, self.segments)
        part = w.i("sub", block, w.i("mul", runs, self.segments))
        low = w.i("mul", runs, self.run)
        self.rows = (low, w.smaller_index(w.i("add", low, self.run), self.count))
        first = w.i("mul", part, self.segment)
        last = w.smaller_index(w.i("add", first, self.segment), self.length)
        self.part = (first, last)

    def fold(self) -> list[State]:
        """The state of what is visited, one scalar for each part."""
        states = fold_row(
            self.w,
            self.body,
            self.folds,
            self.row,
            self.folded,
            self.rows,
            self.part,
            self.length,
        )
        return self.folds.across(states)

    def end(self, merged: list[State]) -> None:
        """Stores the result, or the state if there are other blocks; ends the task."""
        w, folds, output = self.w, self.folds, self.output
        with w.one_lane():
            if not self.split or self.body.loops.template == FOLD_WHOLE:
                folds.store_results(merged, output)
            else:
                single = w.raw(f"icmp eq i64 {self.blocks}, 1")
                place = w.i("mul", output, self.by_output)
                place = w.i("add", place, w.i("mul", self.block, self.by_block))
                w.choose(
                    single,
                    lambda: folds.store_results(merged, output),
                    lambda: folds.store_states(merged, place),
                )
        w.end(self.loop)


def write_rows(loops: Loops) -> Writer:
    """Vectors run along folded axes."""
    w = Writer(loops.lanes)
    body = Body(w, loops)
    folds = Folds(w, loops.folds)
    folds.read_words()
    if loops.template != FOLD_WHOLE:
        task = RowTask(w, body, folds)
        task.end(task.fold())
        return w
    folds.keep_states()
    task = RowTask(w, body, folds)
    blocks = w.begin("0", task.blocks, 1)
    task.choose_block(blocks.index)
    merged = task.fold()
    with w.one_lane():
        folds.store_states(merged, blocks.index)
    w.end(blocks)
    task.end(folds.merge_stored(task.blocks))
    return w


def fold_row(
    w: Writer,
    body: Body,
    folds: Folds,
    row: Row,
    folded: list[str],
    rows: tuple[str, str],
    part: tuple[str, str],
    length: str,
) -> list[State]:
    """The states of a part of some rows, still one per lane."""
    loops = body.loops
    first, last = part
    sets = folds.start_sets()
    outer = None
    if folded:
        outer = w.begin(rows[0], rows[1], 1, folds.carried(sets))
        sets = folds.renamed(sets, outer.carried)
        index = body.split(outer.index, folded)
        axes = range(loops.outer, loops.outer + loops.inner)
        row = body.place(row, index, axes)
        origin = w.i("mul", outer.index, length)
    else:
        origin = "0"
    body.hoist(row)
    step = len(sets) * w.lanes
    whole = w.i("add", first, w.i("and", w.i("sub", last, first), -step))
    main = w.begin(first, whole, step, folds.carried(sets))
    sets = folds.renamed(sets, main.carried)
    new = [list(states) for states in sets]
    met: list[dict[int, Any]] = []
    for number in range(len(sets)):
        at = w.i("add", main.index, number * w.lanes)
        met.append(body.vector(row, at, None, prefetch=True))
        body.write(row, met[-1], at, None)
        if not folds.pairs:
            folds.step_set(new, number, met.pop(), w.i("add", origin, at), None)
        elif len(met) == 2:
            folds.pair_set(new, number // 2, met)
            met.clear()
    w.end(main, [ref for _, ref in folds.carried(new)])
    sets = _walk_tail(w, body, folds, row, sets, (whole, last), origin)
    if outer is not None:
        refs = [ref for _, ref in folds.carried(sets)]
        w.end(outer, refs)
        sets = folds.renamed(sets, outer.carried)
    return folds.merge_sets(sets)


def _walk_tail(
    w: Writer,
    body: Body,
    folds: Folds,
    row: Row,
    sets: list[list[State]],
    part: tuple[str, str],
    origin: str,
) -> list[list[State]]:
    """The last vectors of a row: each goes to accumulators of its own, if order matters.

    The accumulators are turned with every vector, and on to where they began.
    """
    whole, last = part
    tail = w.begin(whole, last, w.lanes, folds.carried(sets))
    sets = folds.renamed(sets, tail.carried)
    new = [list(states) for states in sets]
    mask = w.mask(w.i("sub", last, tail.index))
    values = body.vector(row, tail.index, mask)
    body.write(row, values, tail.index, mask)
    folds.step_set(new, 0, values, w.i("add", origin, tail.index), mask)
    if folds.any_order:
        w.end(tail, [ref for _, ref in folds.carried(new)])
        return sets
    w.end(tail, [ref for _, ref in folds.carried(folds.turned(new))])
    some = w.less(whole, last)
    full = w.i("add", whole, len(sets) * w.lanes)
    full = w.raw(f"select i1 {some}, i64 {full}, i64 {whole}")
    turn = w.begin(tail.index, full, w.lanes, folds.carried(sets))
    sets = folds.renamed(sets, turn.carried)
    w.end(turn, [ref for _, ref in folds.carried(folds.turned(sets))])
    return sets


def write_columns(loops: Loops) -> Writer:
    """Vectors run along a kept axis; each lane folds in sequence."""
    w = Writer(loops.lanes)
    body = Body(w, loops)
    folds = Folds(w, loops.folds)
    folds.read_words()
    kept = [w.word() for _ in range(loops.outer)]
    folded = [w.word() for _ in range(loops.inner)]
    length, count, strips = w.word(), w.word(), w.word()
    run, blocks = count, "1"
    if loops.split:
        run, blocks, by_block = w.word(), w.word(), w.word()
    body.read_strides(loops.outer + loops.inner)
    task = w.begin("%lo", "%hi", 1)
    number, low, high, block = task.index, "0", count, "0"
    if loops.split:
        number = w.i("udiv", task.index, blocks)
        block = w.i("sub", task.index, w.i("mul", number, blocks))
        low = w.i("mul", block, run)
        high = w.smaller_index(w.i("add", low, run), count)
    outer = w.i("udiv", number, strips)
    strip = w.i("sub", number, w.i("mul", outer, strips))
    first = w.i("mul", strip, loops.vectors * w.lanes)
    row = body.place(body.root, body.split(outer, kept), range(loops.outer))
    columns = [w.i("add", first, v * w.lanes) for v in range(loops.vectors)]
    base = w.i("mul", outer, length)

    def walk(masks: list[Any]) -> None:
        totals = _walk_columns(w, body, folds, row, folded, (low, high), columns, masks)
        for at, mask, states in zip(columns, masks, totals):
            place = w.i("add", base, at)
            if not loops.split:
                folds.store_results(states, place, mask)
            else:
                beside = w.i("add", place, w.i("mul", block, by_block))
                folds.store_states(states, beside, mask)

    def partly() -> None:
        rest = [w.larger_index(w.i("sub", length, at), "0") for at in columns]
        walk([w.mask(count) for count in rest])

    if any(access.comb is not None for access in loops.reads):
        # Interleaved reads are cheap where no lane is masked.
        full = w.less(w.i("add", columns[-1], w.lanes - 1), length)
        w.choose(full, lambda: walk([None] * loops.vectors), partly)
    else:
        partly()
    w.end(task)
    return w


def _walk_columns(
    w: Writer,
    body: Body,
    folds: Folds,
    row: Row,
    folded: list[str],
    rows: tuple[str, str],
    columns: list[str],
    masks: Sequence[Value | None],
) -> list[list[State]]:
    """The states of a strip of columns."""
    loops = body.loops
    axes = range(loops.outer, loops.outer + loops.inner)
    totals = [folds.start() for _ in columns]
    group = w.begin(rows[0], rows[1], FOLD, folds.carried(totals))
    totals = folds.renamed(totals, group.carried)
    end = w.smaller_index(w.i("add", group.index, FOLD), rows[1])
    sets = [folds.start() for _ in columns]
    inner = w.begin(group.index, end, 1, folds.carried(sets))
    sets = folds.renamed(sets, inner.carried)
    here = body.place(row, body.split(inner.index, folded), axes)
    body.hoist(here)
    new = []
    for at, mask, states in zip(columns, masks, sets):
        values = body.vector(here, at, mask)
        body.write(here, values, at, mask)
        new.append(folds.step_rows(states, values, inner.index, None))
    w.end(inner, [ref for _, ref in folds.carried(new)])
    merged = [folds.merge(total, states) for total, states in zip(totals, sets)]
    w.end(group, [ref for _, ref in folds.carried(merged)])
    return totals  # type: ignore[no-any-return]
