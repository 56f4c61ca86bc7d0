"""The arrays of a job: argument words, fixes, instructions.

In: a plan, the launches of its steps, and where values live. Out: what the native
runner reads, in the format of `native_pool.JOB`. Blocks become ranges of instructions:
a branch switches between them, a loop jumps back. A word that points into a part of a
value is moved at the end of each turn of the part's loop; fixes set it anew for every
run, and a loop inside of another one moves it back when it ends. Where buffers change
places after each turn, all words of the loop that point into them follow (`Swapped`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tetrad._src.cpu.launch import SCRATCH, VALUE, Launch
from tetrad._src.cpu.native_pool import INSTRUCTION_WORDS, Opcode
from tetrad._src.passes.ir import MANY, Branch, Copy, Loop, Plan, Step, Swap
from tetrad._src.passes.plan import Memory

LAUNCH_NS = 60.0
TURN_NS = 20.0
LONG_NS = 1_000_000.0  # of a step after which Python may look for Ctrl-C

Launches = tuple[list[Launch], list[int]]  # and the bytes of scratch memory
Work = tuple[float, float]  # nanoseconds: with copies, without


class Swapped:
    """Buffers of a loop that change places, and the words that point into them.

    `now` are words that hold where the buffers are, `begin` where they are before the
    first turn. `words` are (word, number of the buffer, offset).
    """

    __slots__ = ("swap", "places", "now", "begin", "words")

    def __init__(self, swap: Swap, memory: Memory) -> None:
        self.swap = swap
        self.places = [(memory.slots[v], memory.offsets[v]) for v in swap.values]
        self.now: list[int] = []
        self.begin: list[int] = []
        self.words: list[tuple[int, int, int]] = []


class JobWriter:
    """Writes the instructions of a plan; `addresses` holds those of the launches."""

    def __init__(
        self,
        plan: Plan,
        memory: Memory,
        lowered: Mapping[Step, Launches],
        addresses: Mapping[Launch, int],
    ) -> None:
        self.plan = plan
        self.memory = memory
        self.lowered = lowered
        self.addresses = addresses
        self.words: list[int] = []
        self.fix: list[int] = []
        self.code: list[int] = []
        self.flags: list[int] = []  # words that point to the cancel flag
        self.zero = -1  # a word that is 0
        self.tick = 0  # the address of what `look` launches
        self.spare = -1  # a word for a moment
        self.depth = 0  # of loops
        self.moves: dict[Loop, list[tuple[int, int]]] = {}  # words and bytes a turn
        self.swapped: list[Swapped] = []  # in the loops at hand
        first = memory.arena_slot + bool(memory.arena)
        scalars = [p for p in range(plan.inputs) if plan.by_value[p]]
        self.scalar_slots = {p: first + n for n, p in enumerate(scalars)}

    # Words and instructions

    def word(self, value: int = 0) -> int:
        self.words.append(value)
        return len(self.words) - 1

    def pointer(self, word: int, value: int, offset: int) -> None:
        """The word will hold the address of a value, plus an offset."""
        slot, place = self.memory.place(self.plan, value)
        self.fix += (word, slot, place + offset)
        while value in self.plan.parts:
            part = self.plan.parts[value]
            self.moves[part.loop].append((word, part.stride))
            value = part.whole
        buffer = (self.memory.slots[value], self.memory.offsets[value])
        for group in self.swapped:
            if buffer in group.places:
                number = group.places.index(buffer)
                group.words.append((word, number, place + offset - buffer[1]))

    def pointer_word(self, value: int) -> int:
        word = self.word()
        self.pointer(word, value, 0)
        return word

    def emit(self, opcode: Opcode, *operands: int) -> int:
        """Appends an instruction; its number."""
        padding = INSTRUCTION_WORDS - 1 - len(operands)
        self.code += (int(opcode), *operands, *(0,) * padding)
        return self.here - 1

    @property
    def here(self) -> int:
        """The number of the next instruction."""
        return len(self.code) // INSTRUCTION_WORDS

    def patch(self, instruction: int, operand: int, value: int) -> None:
        self.code[instruction * INSTRUCTION_WORDS + 1 + operand] = value

    # Steps

    def program(self) -> Work:
        """The instructions of the whole plan."""
        if not any([made.flags for made in self.addresses]):
            return self.block(self.plan.steps)
        start = self.emit(Opcode.JUMP)
        work = self.block(self.plan.steps)
        leave = self.emit(Opcode.JUMP)
        self.patch(start, 0, self.here)
        for word in self.flags:
            self.emit(Opcode.FLAG, word)
        self.emit(Opcode.JUMP, start + 1)
        self.patch(leave, 0, self.here)
        return work

    def block(self, steps: Sequence[Step]) -> Work:
        """Instructions of a block; the work of running it once."""
        total = in_place = 0.0
        for step in steps:
            if type(step) is Branch:
                work = self.branch(step)
            elif type(step) is Loop:
                work = self.loop(step)
            else:
                spent = self.leaf(step)
                if spent > LONG_NS:
                    self.look()
                work = spent, 0.0 if type(step) is Copy else spent
            total += work[0]
            in_place += work[1]
        return total, in_place

    def leaf(self, step: Step) -> float:
        work = 0.0
        for launch in self.lowered[step][0]:
            if launch.total <= 0:
                continue
            base = len(self.words)
            self.words.extend(launch.words)
            for at, what, which, offset in launch.fixes:
                if what == VALUE:
                    self.pointer(base + at, which, offset)
                elif what == SCRATCH:
                    place = self.memory.scratch[step][which] + offset
                    self.fix += (base + at, self.memory.arena_slot, place)
                else:
                    self.fix += (base + at, self.scalar_slots[which], 0)
            self.flags.extend([base + at for at in launch.flags])
            address = self.addresses[launch]
            self.emit(Opcode.LAUNCH, address, base, launch.total, launch.chunk)
            work += launch.work + LAUNCH_NS
        return work

    def branch(self, branch: Branch) -> Work:
        count = len(branch.blocks)
        self.emit(Opcode.SWITCH, self.pointer_word(branch.index), count)
        starts = [self.emit(Opcode.JUMP) for _ in branch.blocks]
        ends = []
        works = []
        for start, block in zip(starts, branch.blocks):
            self.patch(start, 0, self.here)
            works.append(self.block(block))
            ends.append(self.emit(Opcode.JUMP))
        for end in ends:
            self.patch(end, 0, self.here)
        return max([a for a, _ in works]) + TURN_NS, max(
            [b for _, b in works]
        ) + TURN_NS

    def loop(self, loop: Loop) -> Work:
        """A loop; what it writes in its turns counts as work, copies or not."""
        if loop.length == 0:
            return 0.0, 0.0
        self.moves[loop] = []
        self.depth += 1
        groups = self.exchanged(loop)
        self.swapped += groups
        if loop.length is None:
            work = self.turns_while(loop)
        else:
            work = self.turns(loop, loop.length)
        self.swapped = self.swapped[: len(self.swapped) - len(groups)]
        self.depth -= 1
        for group in groups:
            self.settle(group)
        if self.depth:
            for word, stride in self.moves[loop]:
                self.emit(Opcode.ADD, word, -stride * (loop.length or 0))
        return work, work

    def turns_while(self, loop: Loop) -> float:
        top = self.here
        work, _ = self.block(loop.test)
        leave = self.emit(Opcode.JUMP_UNLESS, self.pointer_word(loop.condition))
        work += self.turn(loop)
        self.emit(Opcode.JUMP, top)
        self.patch(leave, 1, self.here)
        return MANY * work

    def turns(self, loop: Loop, length: int) -> float:
        if self.zero < 0:
            self.zero = self.word()
        counter, limit = self.word(), self.word(length)
        self.emit(Opcode.COPY, counter, self.zero)
        top = self.here
        work = self.turn(loop)
        self.emit(Opcode.ADD, counter, 1)
        self.emit(Opcode.JUMP_IF_LESS, counter, limit, top)
        return length * work

    def turn(self, loop: Loop) -> float:
        work, _ = self.block(loop.body)
        work += self.leaf(loop)
        for word, stride in self.moves[loop]:
            self.emit(Opcode.ADD, word, stride)
        for group in self.swapped:
            if group.swap.loop is loop:
                self.exchange(group)
        self.look()
        return work + TURN_NS

    def look(self) -> None:
        """If the program calls Python: now and then, Python looks for Ctrl-C here."""
        if self.tick:
            flag = self.word()
            self.flags.append(flag)
            self.emit(Opcode.LAUNCH, self.tick, flag, 1, 1)

    # Buffers that change places

    def exchanged(self, loop: Loop) -> list[Swapped]:
        """The groups of buffers that change places in a loop."""
        found = []
        for swap in self.memory.swaps:
            if swap.loop is loop:
                group = Swapped(swap, self.memory)
                group.now = [self.pointer_word(v) for v in swap.values]
                if self.depth > 1:
                    group.begin = [self.pointer_word(v) for v in swap.values]
                found.append(group)
        return found

    def exchange(self, group: Swapped) -> None:
        """At the end of a turn: all words point into the next buffer."""
        if self.spare < 0:
            self.spare = self.word()
        now = group.now
        self.emit(Opcode.COPY, self.spare, now[0])
        for word, following in zip(now, [*now[1:], self.spare]):
            self.emit(Opcode.COPY, word, following)
        for word, number, offset in group.words:
            self.emit(Opcode.COPY, word, now[number], offset)

    def settle(self, group: Swapped) -> None:
        """After a loop: values are where they began, and the words are as they were."""
        swap = group.swap
        if not swap.copies:
            return
        if swap.loop.length is not None:
            for copy in swap.copies:
                self.leaf(copy)
        else:
            (copy,) = swap.copies
            (launch,) = self.lowered[copy][0]
            base = len(self.words)
            self.words.extend(launch.words)
            self.emit(Opcode.COPY, base, group.now[0])
            self.pointer(base + 1, copy.target, 0)
            address = self.addresses[launch]
            self.emit(Opcode.LAUNCH, address, base, launch.total, launch.chunk)
        if not self.depth:
            return
        for now, begin in zip(group.now, group.begin):
            self.emit(Opcode.COPY, now, begin)
        for word, number, offset in group.words:
            self.emit(Opcode.COPY, word, group.begin[number], offset)
