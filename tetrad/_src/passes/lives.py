"""When values live: who writes them first, who touches them last, in which order of steps.

In: a `Plan`. Out: `Lives`, the first and last numbers of steps of each value, what loops
carry from turn to turn, and which blocks of branches exclude each other. Memory is given
out by these numbers (`plan`). Read `Lives.block`, then `Lives.loop`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tetrad._src.passes.ir import (
    POINT,
    Band,
    Branch,
    Call,
    Copy,
    Kernel,
    Loop,
    Plan,
    Step,
)


class Carried(NamedTuple):
    """Value `after` of one turn of `loop` is `before` of the next one.

    The loop has the numbers from `begin` to `end`. Between `last` and `end` nobody needs
    `before`. `passed` says that `after` is carried, too: one value moves on to another.
    """

    loop: Loop
    after: int
    before: int
    begin: int
    last: int
    end: int
    passed: bool


class Choice(NamedTuple):
    """The blocks of a branch, each from its first number to the one behind it."""

    blocks: list[tuple[int, int]]

    @property
    def begin(self) -> int:
        return self.blocks[0][0]

    @property
    def end(self) -> int:
        return self.blocks[-1][1]

    def parts(self, one: int, other: int) -> bool:
        """Whether two numbers are in different blocks, so that only one of them runs."""
        found = [
            [n for n, (a, b) in enumerate(self.blocks) if a <= number < b]
            for number in (one, other)
        ]
        return all(found) and found[0] != found[1]


class Lives:
    """When values are written first and touched last; parts count as what they are of.

    `order` lists the steps with their numbers.
    """

    def __init__(self, plan: Plan) -> None:
        count = len(plan.avals)
        self.plan = plan
        self.first = [-1] * count
        self.last = [-1] * count
        self.inside: dict[
            int, int
        ] = {}  # which kernel of its band writes a value first
        self.order: list[tuple[int, Step]] = []
        self.carries: list[Carried] = []
        self.choices: list[Choice] = []
        self.reads: dict[int, list[int]] = {}  # when values are read
        self.end = 0  # the number of the next step
        self.touched: set[int] = set()  # in the loop at hand
        self.block(plan.steps)

    def block(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if type(step) is Branch:
                self.read(step.index)
                self.end += 1
                blocks = []
                for block in step.blocks:
                    begin = self.end
                    self.block(block)
                    blocks.append((begin, self.end))
                self.choices.append(Choice(blocks))
            elif type(step) is Loop:
                self.loop(step)
            else:
                self.order.append((self.end, step))
                for value in read_values(step):
                    self.read(value)
                for value in written_values(step):
                    self.write(value)
                if type(step) is Band:
                    for number, kernel in enumerate(step.kernels):
                        for value in written_values(kernel):
                            self.inside.setdefault(value, number)
                self.end += 1

    def loop(self, loop: Loop) -> None:
        outside, self.touched = self.touched, set()
        begin = self.end
        for value in loop.stacked:
            self.write(value)
        self.end += 1
        self.block(loop.test)
        if loop.condition >= 0:
            self.read(loop.condition)
            self.end += 1
        self.block(loop.body)
        afters = {after for after, _ in loop.carries}
        befores = {before for _, before in loop.carries}
        for after, before in loop.carries:
            last = self.end if before in afters else self.last[before]
            passed = after in befores
            carried = Carried(loop, after, before, begin, last, self.end, passed)
            self.carries.append(carried)
        for after, before in loop.carries:
            self.read(after)
            self.write(before)
        for value in self.touched:
            if self.first[value] < begin:
                self.last[value] = self.end
                if value not in befores:
                    self.reads.setdefault(value, []).append(self.end)
        for value in loop.stacked:
            self.last[value] = self.end
        self.end += 1
        self.touched |= outside

    def read(self, value: int) -> None:
        value = self.plan.memory_of(value)
        self.touched.add(value)
        self.last[value] = self.end
        self.reads.setdefault(value, []).append(self.end)

    def write(self, value: int) -> None:
        value = self.plan.memory_of(value)
        self.touched.add(value)
        self.last[value] = self.end
        if self.first[value] < 0:
            self.first[value] = self.end


def read_values(step: Step) -> list[int]:
    """The values a step reads, with repetitions."""
    if type(step) is Copy:
        return [step.source]
    if type(step) is Call:
        found = [read.value for read in step.reads]
        for read in step.reads:
            found.extend([t.source for t in read.terms if type(t.source) is int])
        return found
    if type(step) is Band:
        return [value for kernel in step.kernels for value in read_values(kernel)]
    assert type(step) is Kernel
    found = [read.value for read in step.reads]
    places: list[Any] = [*step.reads, *step.writes]
    places.extend([e[1] for e in step.entries if e[0] == "coordinate"])
    for place in places:
        if place.terms:
            found.extend([t.source for t in place.terms if type(t.source) is int])
    for entry in step.entries:
        if entry[0] == POINT:
            for place in entry[4]:
                if place is not None and place.terms:
                    found.extend(
                        [t.source for t in place.terms if type(t.source) is int]
                    )
    found.extend([scatter.value for scatter in step.scatters])
    return found


def written_values(step: Step) -> list[int]:
    """The values a step writes."""
    if type(step) is Copy:
        return [step.target]
    if type(step) is Call:
        return step.values
    if type(step) is Band:
        return [value for kernel in step.kernels for value in written_values(kernel)]
    assert type(step) is Kernel
    found = [write.value for write in step.writes]
    for reduction in step.reductions:
        found.extend(reduction.values)
    found.extend([scatter.value for scatter in step.scatters])
    found.extend(step.updated)
    return found
