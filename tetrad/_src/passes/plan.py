"""Where values live: buffers of outputs, one arena for the rest, and what may be shared.

In: a `Plan` and the scratch memory that its steps want. Out: `Memory`: for every value a
slot (the number of a pointer that a run hands over: inputs by reference, then outputs,
then the arena) and a byte offset into it, and which input's buffer an output may take
over.

Two values share memory when the later one may overwrite the earlier: a `Copy` whose
source is not read afterwards, or an elementwise result over an operand that is read for
the last time there, in the same place. If the earlier value is an input, sharing is only
offered: the run decides, since only the run knows who else holds the input.

What a loop carries is copied at the end of a turn if the new value cannot be written over
the old one, unless their buffers change places (`exchange`).
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tetrad._src.core.avals import dense_strides
from tetrad._src.passes.exchange import exchange
from tetrad._src.passes.ir import (
    POINT,
    Band,
    Branch,
    Copy,
    Kernel,
    Loop,
    Plan,
    Step,
    Swap,
    Update,
)
from tetrad._src.passes.lives import Carried, Choice, Lives, read_values, written_values

# Bytes, first and last number, which values; or which scratch memory of a step.
Block = tuple[int, int, int, list[int], Step | None]

MANY = 200  # more blocks are placed by a faster, less tight way
ALIGNMENT = 64
PADDING = 128  # behind every value, so that kernels may process whole vectors


class Memory:
    """The slots and offsets of the values of a plan."""

    __slots__ = (
        "slots",
        "offsets",
        "scratch",
        "arena",
        "arena_slot",
        "donors",
        "copies",
        "swaps",
    )

    def __init__(self, count: int) -> None:
        self.slots: list[int] = [-1] * count
        self.offsets: list[int] = [0] * count
        self.scratch: dict[Step, list[int]] = {}  # offsets into the arena
        self.arena = 0
        self.arena_slot = 0
        self.donors: list[int | None] = []
        self.copies: list[UpdateCopy] = []
        self.swaps: list[Swap] = []

    def place(self, plan: Plan, value: int) -> tuple[int, int]:
        """The slot of a value, and the offset where it begins in the first turns."""
        offset = 0
        while value in plan.parts:
            part = plan.parts[value]
            offset += part.offset
            value = part.whole
        return self.slots[value], self.offsets[value] + offset


class UpdateCopy(NamedTuple):
    """An update that copies the array that it updates.

    If `output` is a number, it does so unless that output takes over the buffer of the
    old array. `source` is the slot of the input that the old array is, if it is one.
    """

    output: int | None
    source: int | None
    nbytes: int
    turns: int  # how often, as far as that is known beforehand
    where: Any


def allocate(
    plan: Plan, scratch: Mapping[Step, Sequence[int]], preferred: Sequence[int] = ()
) -> Memory:
    """The memory of a plan; `scratch` lists the bytes that steps want beside it.

    Outputs take the memory of `preferred` inputs rather than that of others.
    """
    memory = Memory(len(plan.avals))
    slot = 0
    for position in range(plan.inputs):
        if not plan.by_value[position]:
            memory.slots[position] = slot
            slot += 1
    for value in plan.outs:
        memory.slots[value] = slot
        slot += 1
    memory.arena_slot = slot
    memory.donors = [None] * len(plan.outs)
    if len(plan.steps) == 1 and len(plan.avals) == len(plan.outs):
        return memory  # one kernel that writes the results, of nothing
    lives = Lives(plan)
    shared, find = _share(plan, lives, memory, preferred)
    memory.copies = _update_copies(plan, lives, memory, find)
    memory.swaps = exchange(plan, lives, find, shared)
    if shared or any(scratch.values()):
        _pack(plan, lives, memory, shared, scratch)
    return memory


def _share(
    plan: Plan, lives: Lives, memory: Memory, preferred: Sequence[int]
) -> tuple[dict[int, list[int]], Callable[[int], int]]:
    """Joins values that can share memory; groups of those that the arena must hold.

    Groups are listed under their representative, which the function finds for a value.
    A group that contains an output lives in that output's buffer.
    """
    root: dict[int, int] = {}
    output = {value: j for j, value in enumerate(plan.outs)}
    given: set[int] = set()  # values that another one was written over
    received: set[int] = set()  # values that were written over another one
    offers: list[tuple[int, int]] = []

    def find(value: int) -> int:
        while value in root:
            value = root[value]
        return value

    over = _overwritable(plan, lives)
    for carried in lives.carries:
        if carried.passed:
            continue
        for value in _in_turn(plan, lives, over, carried):
            if value in given or value in received or value in output:
                break
            root[value] = carried.before
            given.update((carried.before, value))
            received.add(value)
    for target, sources in over.items():
        number = lives.first[target]
        for source in sources:
            if lives.last[source] > number and not chosen_over(
                plan, lives, source, target, lives.end
            ):
                continue
            if source < plan.inputs:
                offers.append((source, target))
            elif source in given or target in received or source in output:
                continue
            elif find(source) != find(target):
                root[find(source)] = find(target)
                given.add(source)
                received.add(target)
    groups: dict[int, list[int]] = {}
    for value in range(plan.inputs, len(plan.avals)):
        if value in plan.parts or lives.first[value] < 0 and value not in output:
            continue
        top = find(value)
        if top in output:
            memory.slots[value] = memory.slots[top]
        else:
            groups.setdefault(top, []).append(value)
    if preferred:
        offers.sort(key=lambda offer: offer[0] not in preferred)
    for source, target in offers:
        j = output.get(find(target))
        if j is None or memory.donors[j] is not None:
            continue
        if memory.slots[source] in memory.donors:
            continue
        if _starts_here(plan, lives, root, find(target), target):
            memory.donors[j] = memory.slots[source]
    return groups, find


def _update_copies(
    plan: Plan, lives: Lives, memory: Memory, find: Callable[[int], int]
) -> list[UpdateCopy]:
    """The updates that may copy. If loops update what they carry, it is the start of
    the loop that copies."""
    changed = {find(update.target): update for update in reversed(plan.updates)}
    updates = list(plan.updates)
    for source, target in plan.starts:
        update = changed.get(find(target))
        if update is not None and find(source) != find(target):
            updates.append(Update(source, target, update.where))
    output = {value: j for j, value in enumerate(plan.outs)}
    turns = dict(_turns(plan.steps, 1)) if updates else {}
    copies = []
    for source, target, where in updates:
        if source in plan.parts or lives.first[target] < 0:
            continue
        slot = memory.slots[source] if source < plan.inputs else None
        j = None
        if slot is not None:
            j = output.get(find(target))
            if j is None or memory.donors[j] != slot:
                j = None
        elif find(source) == find(target):
            continue
        size = plan.avals[source].nbytes
        copies.append(UpdateCopy(j, slot, size, turns.get(target, 1), where))
    return copies


def _turns(steps: Sequence[Step], turns: int) -> Iterator[tuple[int, int]]:
    """How often values are written, as far as that is known."""
    for step in steps:
        if type(step) is Branch:
            for block in step.blocks:
                yield from _turns(block, turns)
        elif type(step) is Loop:
            yield from _turns(step.test, turns)
            yield from _turns(step.body, turns * (step.length or 1))
        else:
            for value in written_values(step):
                yield value, turns


def _starts_here(
    plan: Plan, lives: Lives, root: dict[int, int], top: int, target: int
) -> bool:
    """Whether nothing of the group of output `top` is written before `target` is."""

    def written(value: int) -> tuple[int, int]:
        return lives.first[value], lives.inside.get(value, 0)

    begin = written(target)
    for value in range(plan.inputs, len(plan.avals)):
        at = value
        while at in root:
            at = root[at]
        if at == top and written(value) < begin:
            return False
    return True


def _overwritable(plan: Plan, lives: Lives) -> dict[int, list[int]]:
    """For each value, those that the step which writes it first may write it over."""
    found: dict[int, list[int]] = {}
    for number, step in lives.order:
        for source, target in _candidates(plan, step):
            if source in plan.parts or target in plan.parts:
                continue
            if lives.first[target] == number:
                found.setdefault(target, []).append(source)
    return found


def _in_turn(
    plan: Plan, lives: Lives, over: dict[int, list[int]], carried: Carried
) -> list[int]:
    """The values of a turn that may live where the carried value does.

    They are those that become the carried value of the next turn: the last one, what
    it is written over, and so on, as far back as is possible once the old value is not
    read any more.
    """
    chain: list[int] = []
    fitting = 0
    value: int | None = carried.after
    while value is not None and value >= plan.inputs and value not in plan.parts:
        number = lives.first[value]
        sources = over.get(value, ())
        chain.append(value)
        before = carried.before
        if (
            number > carried.last
            or before in sources
            and (
                number == carried.last
                or carried.last < carried.end
                and chosen_over(plan, lives, before, value, carried.end)
            )
        ):
            fitting = len(chain)
        value = next((s for s in sources if lives.last[s] <= number), None)
    return chain[:fitting]


def chosen_over(plan: Plan, lives: Lives, source: int, target: int, until: int) -> bool:
    """Whether every block of a branch may write its result `target` over `source`.

    Only one block runs, so another one may read the source after this one has written
    the target. Nobody may need the source behind the branch, up to number `until`.
    """
    reads = lives.reads.get(source, [])
    return any(
        _blocks_over(plan, lives, source, target, choice)
        and not any([choice.end <= read < until for read in reads])
        for choice in lives.choices
        if choice.begin <= lives.first[target] < choice.end
    )


def _blocks_over(
    plan: Plan, lives: Lives, source: int, target: int, choice: Choice
) -> bool:
    return len(choice.blocks) > 1 and all(
        _block_over(plan, lives, source, target, *block) for block in choice.blocks
    )


def _block_over(
    plan: Plan, lives: Lives, source: int, target: int, begin: int, end: int
) -> bool:
    """Whether the block from `begin` to `end` may write `target` over `source`."""
    steps = [(n, step) for n, step in lives.order if begin <= n < end]
    writing = [(n, step) for n, step in steps if target in written_values(step)]
    if not writing:
        return False
    first, step = writing[0]
    reads = [read for read in lives.reads.get(source, []) if begin <= read < end]
    late = [read for read in reads if read > first]
    if not late:
        return first not in reads or (source, target) in _candidates(plan, step)
    inner = [
        choice
        for choice in lives.choices
        if begin <= choice.begin <= first < choice.end <= end
        and choice.begin <= min(late)
        and max(late) < choice.end
        and (choice.begin, choice.end) != (begin, end)
    ]
    return any([_blocks_over(plan, lives, source, target, choice) for choice in inner])


def _candidates(plan: Plan, step: Step) -> list[tuple[int, int]]:
    """(source, target) pairs such that `step` may write target over source."""
    if type(step) is Copy:
        if step.source < plan.inputs and plan.by_value[step.source]:
            return []
        return [(step.source, step.target)]
    if type(step) is Band:
        return _band_candidates(plan, step)
    if type(step) is not Kernel or not step.writes or step.ragged or step.scatters:
        return []
    avals = plan.avals
    dense = dense_strides(step.space)
    same = _read_in_place(step)
    pairs = []
    for write in step.writes:
        if write.step or write.strides != dense:
            continue
        aval = avals[write.value]
        for source, fits in same.items():
            if not fits:
                continue
            other = avals[source]
            if other.nbytes == aval.nbytes and other.size == aval.size:
                pairs.append((source, write.value))
    return pairs


def _read_in_place(kernel: Kernel) -> dict[int, bool]:
    """The values that a kernel reads: whether it does so at the point it visits."""
    dense = dense_strides(kernel.space)
    same: dict[int, bool] = {}
    for read in kernel.reads:
        fits = read.strides == dense and read.offset == 0 and not read.terms
        fits = fits and not read.step
        same[read.value] = fits and same.get(read.value, True)
    for entry in kernel.entries:
        if entry[0] == POINT:
            same[kernel.reads[entry[2]].value] = False
    return same


def _band_candidates(plan: Plan, band: Band) -> list[tuple[int, int]]:
    """The same for a band: earlier kernels, too, must read a source row by row."""
    pairs = []
    for number, kernel in enumerate(band.kernels):
        before, after = band.kernels[:number], band.kernels[number + 1 :]
        for source, target in _candidates(plan, kernel):
            if any(source in read_values(other) for other in after):
                continue
            if any(target in written_values(other) for other in (*before, *after)):
                continue
            fits = True
            for other in before:
                count = read_values(other).count(source)
                reads = [read for read in other.reads if read.value == source]
                fits = fits and count == len(reads)
                fits = fits and _read_in_place(other).get(source, True)
            if fits:
                pairs.append((source, target))
    return pairs


def _pack(
    plan: Plan,
    lives: Lives,
    memory: Memory,
    groups: dict[int, list[int]],
    scratch: Mapping[Step, Sequence[int]],
) -> None:
    """Places the groups and the scratch memory in the arena."""
    blocks: list[Block] = []
    numbers = {step: number for number, step in lives.order}
    for members in groups.values():
        first = min([lives.first[v] for v in members])
        last = max([lives.last[v] for v in members])
        size = max([plan.avals[v].nbytes for v in members])
        blocks.append((_round(size), first, last, members, None))
    for step, sizes in scratch.items():
        memory.scratch[step] = [0] * len(sizes)
        for index, size in enumerate(sizes):
            number = numbers[step]
            blocks.append((_round(size), number, number, [index], step))
    offsets = _fit(blocks) if len(blocks) <= MANY else _scan(blocks)
    for (size, _, _, members, user), offset in zip(blocks, offsets):
        memory.arena = max(memory.arena, offset + size)
        if user is not None:
            memory.scratch[user][members[0]] = offset
            continue
        for value in members:
            memory.slots[value] = memory.arena_slot
            memory.offsets[value] = offset


def _fit(blocks: list[Block]) -> list[int]:
    """Lowest offsets for large blocks first, such that lives do not collide."""
    order = sorted(range(len(blocks)), key=lambda n: (-blocks[n][0], blocks[n][1]))
    offsets = [0] * len(blocks)
    placed: list[tuple[int, int, int, int]] = []
    for number in order:
        size, first, last, _, _ = blocks[number]
        busy = sorted(
            [(at, end) for at, end, a, b in placed if a <= last and first <= b]
        )
        offset = 0
        for at, end in busy:
            if at - offset >= size:
                break
            offset = max(offset, end)
        placed.append((offset, offset + size, first, last))
        offsets[number] = offset
    return offsets


def _scan(blocks: list[Block]) -> list[int]:
    """Offsets in one sweep over time: each block takes the tightest free one."""
    order = sorted(range(len(blocks)), key=lambda n: blocks[n][1])
    offsets = [0] * len(blocks)
    busy: list[tuple[int, int, int]] = []  # (last step, size, offset), a heap
    free: list[tuple[int, int]] = []  # (size, offset), sorted
    end = 0
    for number in order:
        size, first, last, _, _ = blocks[number]
        while busy and busy[0][0] < first:
            _, length, offset = heapq.heappop(busy)
            bisect.insort(free, (length, offset))
        at = bisect.bisect_left(free, (size, 0))
        if at < len(free) and free[at][0] <= 2 * size:
            size, offset = free.pop(at)
        else:
            offset = end
            end += size
        offsets[number] = offset
        heapq.heappush(busy, (last, size, offset))
    return offsets


def _round(size: int) -> int:
    return (size + PADDING + ALIGNMENT - 1) & -ALIGNMENT
