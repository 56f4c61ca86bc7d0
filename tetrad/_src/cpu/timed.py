"""Programs that note how long their launches take, and what each launch is.

In: a program, and the lines that it serves in one run. `timed(code)` gives its
instructions with `TIMED` in the place of `LAUNCH`; a run of them fills a table that
`Times` reads. `origins_of` says what each of those instructions is: the passes run
again over the program's jaxpr, and the job is written again, to see which step emits
which instruction. A program that is not timed knows nothing of this.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.jaxpr import Eqn, Jaxpr
from tetrad._src.cpu import compile as compiler
from tetrad._src.cpu.costs import COSTS
from tetrad._src.cpu.job import JobWriter, Swapped
from tetrad._src.cpu.native_pool import INSTRUCTION_WORDS, TIME_WORDS, Opcode
from tetrad._src.passes.donation import marked
from tetrad._src.passes.ir import Step
from tetrad._src.passes.origins import Origin, origins, whole
from tetrad._src.passes.plan import allocate
from tetrad._src.passes.simplify import simplify
from tetrad._src.runtime.events import Span

WORD = 8  # bytes


def timed(code: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The instructions of a job, whose launches note their times."""
    made = code.copy()
    opcodes = made[::INSTRUCTION_WORDS]
    opcodes[opcodes == Opcode.LAUNCH] = Opcode.TIMED
    return made


class Times:
    """The table that one run of a timed job fills; `address` goes into the job."""

    __slots__ = ("table", "address")

    def __init__(self, instructions: int) -> None:
        self.table = ctypes.create_string_buffer(WORD * TIME_WORDS * instructions)
        self.address = ctypes.addressof(self.table)

    def spans(self) -> list[Span]:
        """What has been launched: by instruction, in seconds."""
        rows = np.frombuffer(self.table.raw, np.int64).reshape(-1, TIME_WORDS)
        found = []
        for number in np.flatnonzero(rows[:, 0]):
            count, total, first, last = [int(x) for x in rows[number]]
            found.append(
                Span(int(number), count, total * 1e-9, first * 1e-9, last * 1e-9)
            )
        return found


class _NotingWriter(JobWriter):
    """A writer that notes which step each launch comes from."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.steps: dict[int, Step] = {}

    def noted(self, write: Callable[[Any], Any], what: Any, step: Step) -> Any:
        before = self.here
        result = write(what)
        for number in range(before, self.here):
            opcode = self.code[number * INSTRUCTION_WORDS]
            if opcode == Opcode.LAUNCH:
                self.steps[number] = step
        return result

    def leaf(self, step: Step) -> float:
        return self.noted(super().leaf, step, step)  # type: ignore[no-any-return]

    def settle(self, group: Swapped) -> None:
        self.noted(super().settle, group, group.swap.loop)


def origins_of(
    program: Any, places: Sequence[Any]
) -> tuple[dict[int, int], list[Origin]]:
    """Which instruction belongs to which of the steps of `program`, and what these are.

    `places` are the lines of the equations of its jaxpr in the run in question: one
    program serves all code of one structure.
    """
    jaxpr = program.jaxpr
    if len(places) == len(jaxpr.eqns):
        eqns = [Eqn(e.op, e.ins, e.outs, p) for e, p in zip(jaxpr.eqns, places)]
        jaxpr = Jaxpr(jaxpr.ins, eqns, jaxpr.outs, jaxpr.name)
    smaller = simplify(jaxpr)
    plan, found = origins(smaller, program.by_value, COSTS)
    lowered = compiler.lower_steps(plan)
    memory = allocate(plan, compiler.scratch(lowered), marked(jaxpr))
    compiler.settle_copies(plan, memory, lowered)
    launches = [launch for made, _ in lowered.values() for launch in made]
    writer = _NotingWriter(plan, memory, lowered, dict.fromkeys(launches, 0))
    writer.tick = int(bool(program.sites))
    writer.program()
    opcodes = program.code[::INSTRUCTION_WORDS]
    launching = np.flatnonzero(opcodes == Opcode.LAUNCH).tolist()
    if len(writer.code) != len(program.code) or not writer.steps.keys() <= {*launching}:
        # Settings that compilation depends on have changed since it was compiled.
        cost = program.cost()
        only = whole(smaller, cost["bytes accessed"], cost["flops"])
        return dict.fromkeys(launching, 0), [only]
    steps = list(found)
    numbers = {step: number for number, step in enumerate(steps)}
    of = {number: numbers[step] for number, step in writer.steps.items()}
    return of, [found[step] for step in steps]
