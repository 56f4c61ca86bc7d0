"""What a program costs: operations of its jaxpr, bytes that its plan moves.

In: a simplified jaxpr and the plan made of it. Out: a `Cost`. Operations are counted on
the jaxpr, where an equation still says how many elements it has; bytes on the plan,
where fused values never reach memory. A loop counts for all of its turns, or for one if
nobody can know how many there will be; a branch counts as its dearest block.

An elementwise operation on numbers is one operation an element, or one transcendental
if a vector of it takes more than `LONG` instructions: the machine says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tetrad._src.core.jaxpr import Eqn, Jaxpr
from tetrad._src.core.op import Flow, Kind, Op
from tetrad._src.passes.ir import (
    Band,
    Branch,
    Call,
    Copy,
    Kernel,
    Loop,
    Plan,
    Read,
    Step,
    Write,
)

LONG = 12.0  # instructions for a vector, from which a function is a transcendental


class Weigher(Protocol):
    """The machine: instructions that an elementwise operation takes for a vector."""

    def cost(self, op: Op, dtypes: tuple[Any, ...]) -> float: ...


class Cost(NamedTuple):
    """Operations and bytes of one run."""

    flops: float
    transcendentals: float
    read: float  # bytes
    written: float

    def times(self, count: float) -> Cost:
        return Cost(*[count * part for part in self])

    def plus(self, other: Cost) -> Cost:
        return Cost(*[a + b for a, b in zip(self, other)])


NOTHING = Cost(0.0, 0.0, 0.0, 0.0)


def cost(jaxpr: Jaxpr, plan: Plan, machine: Weigher) -> Cost:
    """The cost of running `plan`, which was made of `jaxpr`."""
    return operations(jaxpr, machine).plus(_block(plan, plan.steps))


# ------------------------------------------------------------------------- operations


def operations(jaxpr: Jaxpr, machine: Weigher) -> Cost:
    """The arithmetic of a jaxpr; bytes are left 0."""
    total = NOTHING
    for eqn in jaxpr.eqns:
        total = total.plus(equation(eqn, machine))
    return total


def equation(eqn: Eqn, machine: Weigher) -> Cost:
    """The arithmetic of one equation; bytes are left 0."""
    op = eqn.op
    ins = [atom.aval for atom in eqn.ins]
    if op.kind is Kind.CALL:
        parts = [operations(jaxpr, machine) for jaxpr in op.jaxprs()]
        if op.flow is Flow.BRANCH:
            return max(parts, default=NOTHING)
        inner = NOTHING
        for part in parts:
            inner = inner.plus(part)
        return inner.times(getattr(op, "length", 1))
    if op.flops is not None:
        return Cost(float(op.flops(*ins)), 0.0, 0.0, 0.0)
    if not eqn.outs or eqn.outs[0].aval.kind not in "fcui":
        return NOTHING
    if op.kind is Kind.ELEMENTWISE and op.scalar is not None:
        size = float(eqn.outs[0].aval.size)
        if machine.cost(op, tuple([aval.dtype for aval in ins])) > LONG:
            return Cost(0.0, size, 0.0, 0.0)
        return Cost(size, 0.0, 0.0, 0.0)
    if op.kind is Kind.REDUCE:
        return Cost(float(ins[0].size - eqn.outs[0].aval.size), 0.0, 0.0, 0.0)
    if op.kind is Kind.UPDATE and op.combine is not None and len(ins) > 1:
        return Cost(float(ins[-1].size), 0.0, 0.0, 0.0)
    return NOTHING


# ------------------------------------------------------------------------------ bytes


def _block(plan: Plan, steps: Sequence[Step]) -> Cost:
    total = NOTHING
    for step in steps:
        total = total.plus(_step(plan, step))
    return total


def step_bytes(plan: Plan, step: Step) -> float:
    """Bytes that running a step once moves."""
    found = _step(plan, step)
    return found.read + found.written


def _step(plan: Plan, step: Step) -> Cost:
    if type(step) is Branch:
        return max([_block(plan, block) for block in step.blocks], default=NOTHING)
    if type(step) is Loop:
        turn = _block(plan, step.test).plus(_block(plan, step.body))
        return turn.times(1 if step.length is None else step.length)
    if type(step) is Band:
        return _block(plan, step.kernels)
    if type(step) is Copy:
        size = plan.avals[step.target].nbytes
        return Cost(0.0, 0.0, size, size)
    if type(step) is Call:
        read = sum([aval.nbytes for aval in step.in_avals])
        written = sum([aval.nbytes for aval in step.out_avals])
        return Cost(0.0, 0.0, read, written)
    assert type(step) is Kernel
    return _kernel(plan, step)


def _kernel(plan: Plan, kernel: Kernel) -> Cost:
    turns = kernel.turns
    read = sum(
        [
            _touched(plan, kernel, place, place.dtype) * (turns if place.step else 1)
            for place in kernel.reads
        ]
    )
    written = sum(
        [
            _touched(plan, kernel, place, kernel.write_type(place))
            * (turns if place.step else 1)
            for place in kernel.writes
        ]
    )
    for reduction in kernel.reductions:
        written += sum([plan.avals[value].nbytes for value in reduction.values])
    points = 1
    for extent in kernel.space:
        points *= extent
    for scatter in kernel.scatters:
        size = points * kernel.dtypes[scatter.ref].itemsize
        read += size
        written += size
    return Cost(0.0, 0.0, float(read), float(written))


def _touched(plan: Plan, kernel: Kernel, place: Read | Write, dtype: Any) -> int:
    """Bytes of the elements that one read or write of a kernel touches."""
    count = 1
    for extent, stride in zip(kernel.space, place.strides):
        if stride:
            count *= extent
    size = count * int(dtype.itemsize)
    whole = plan.avals[place.value].nbytes if type(place.value) is int else size
    return min(size, whole) if not place.step else size
