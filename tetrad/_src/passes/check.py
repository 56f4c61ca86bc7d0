"""What a legal plan is, and a legal placement of its values in memory.

`check_plan` is run after fusion and `check_memory` after planning, in tests and when the
option `jax_enable_checks` is on. They raise `IllFormed` and change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.check import IllFormed
from tetrad._src.passes.ir import (
    COORDINATE,
    PICK,
    POINT,
    READ,
    SCALAR,
    Band,
    Branch,
    Call,
    Copy,
    Inner,
    Kernel,
    Loop,
    Plan,
    Step,
)
from tetrad._src.passes.lives import Lives, read_values, written_values
from tetrad._src.passes.plan import Memory, chosen_over


def check_plan(plan: Plan) -> Plan:
    """Raises unless values are written before they are read, inside their extents."""
    known = {v for v in range(plan.inputs) if not plan.by_value[v]}
    # A value without elements needs no writing.
    known |= {v for v, aval in enumerate(plan.avals) if 0 in aval.shape}
    known = _check_block(plan, plan.steps, known, "step")
    if len(set(plan.outs)) != len(plan.outs):
        raise IllFormed("two outputs are one value")
    for value in plan.outs:
        if value not in known or value < plan.inputs:
            raise IllFormed(f"output v{value} is never written")
    return plan


def _check_block(
    plan: Plan, steps: Sequence[Step], known: set[int], name: str
) -> set[int]:
    """What is known after a block, if `known` is before it."""
    known = set(known)
    for number, step in enumerate(steps):
        where = f"{name} {number}"
        if type(step) is Branch:
            _need(step.index, known, where)
            ends = [_check_block(plan, block, known, where) for block in step.blocks]
            known = set.intersection(*ends)
        elif type(step) is Loop:
            known = _check_loop(plan, step, known, where)
        else:
            _check_leaf(plan, step, known, where)
    return known


def _check_loop(plan: Plan, loop: Loop, known: set[int], where: str) -> set[int]:
    known = known | set(loop.stacked)
    inside = set(known)
    for value, part in plan.parts.items():
        if part.loop is loop:
            _need(part.whole, known, where)
            inside.add(value)
            _check_part(plan, value, where)
    for _, before in loop.carries:
        _need(before, known, where)
    inside = _check_block(plan, loop.test, inside, f"{where} test")
    if loop.condition >= 0:
        _need(loop.condition, inside, where)
    inside = _check_block(plan, loop.body, inside, where)
    for after, before in loop.carries:
        _need(after, inside, where)
        if plan.avals[after].nbytes != plan.avals[before].nbytes:
            raise IllFormed(f"{where} carries between values of different sizes")
    return known


def _check_part(plan: Plan, value: int, where: str) -> None:
    part = plan.parts[value]
    turns = part.loop.length or 0
    ends = (part.offset, part.offset + part.stride * max(turns - 1, 0))
    room = plan.avals[part.whole].nbytes - plan.avals[value].nbytes
    if turns and (min(ends) < 0 or max(ends) > room):
        raise IllFormed(f"{where} moves v{value} out of v{part.whole}")


def _check_leaf(plan: Plan, step: Step, known: set[int], where: str) -> None:
    fresh = set(written_values(step))
    for value in read_values(step):
        if value not in fresh:
            _need(value, known, where)
    if type(step) is Kernel:
        _check_kernel(plan, step, where)
    elif type(step) is Band:
        inside = set(known)
        for number, kernel in enumerate(step.kernels):
            _check_leaf(plan, kernel, inside, f"{where} kernel {number}")
    elif type(step) is Copy:
        if plan.avals[step.source].nbytes != plan.avals[step.target].nbytes:
            raise IllFormed(f"{where} copies between values of different sizes")
    elif type(step) is Call:
        for aval, read in zip(step.in_avals, step.reads, strict=True):
            _inside(plan, aval.shape, read, where)
    known |= fresh


def _need(value: int, known: set[int], where: str) -> None:
    if value not in known:
        raise IllFormed(f"{where} reads v{value} before it is written")


def _check_kernel(plan: Plan, kernel: Kernel, where: str) -> None:
    for number, entry in enumerate(kernel.entries):
        head = entry[0]
        refs: Sequence[int] = entry[1:]
        if head == READ:
            _inside(plan, kernel.space, kernel.reads[entry[1]], where)
            refs = ()
        elif head in (SCALAR, COORDINATE):
            refs = ()
        elif head == POINT:
            refs = entry[3]
        elif head == PICK:
            refs = entry[1:2]
        for ref in refs:
            if not 0 <= ref < number:
                raise IllFormed(f"{where}: entry %{number} uses %{ref}")
    count = len(kernel.entries)
    used = [write.ref for write in kernel.writes if write.dtype is None]
    if kernel.inner is not None:
        used.extend(kernel.inner.refs)
        _check_inner(plan, kernel, kernel.inner, where)
    for reduction in kernel.reductions:
        used.extend(reduction.refs)
        if reduction.axes != kernel.axes:
            raise IllFormed(f"{where} folds different axes")
    if any(not 0 <= ref < count for ref in used):
        raise IllFormed(f"{where} stores an entry that it lacks")
    for write in kernel.writes:
        _inside(plan, kernel.space, write, where, kernel.turns)


def _check_inner(plan: Plan, kernel: Kernel, inner: Inner, where: str) -> None:
    for number in inner.reads:
        _inside(plan, kernel.space, kernel.reads[number], where, kernel.turns)
    operands = len(inner.refs) - inner.lifted
    form = inner.form
    if operands != form.consts + len(form.wide) and form.kind != "branch":
        raise IllFormed(f"{where} runs its turns with {operands} operands")
    for turn in form.turns:
        first = len(turn.wide) - len(turn.entries)
        for offset, entry in enumerate(turn.entries):
            refs = entry[1:2] if entry[0] == PICK else entry[1:]
            if any(not -inner.lifted <= ref < first + offset for ref in refs):
                raise IllFormed(f"{where}: a turn uses what it has not computed")
        if any(not -inner.lifted <= ref < len(turn.wide) for ref in turn.outs):
            raise IllFormed(f"{where}: a turn gives what it has not computed")


def _inside(
    plan: Plan, space: Sequence[int], access: Any, where: str, turns: float = 1
) -> None:
    """Raises if an access leaves its value, whatever its starts are."""
    size = plan.avals[access.value].size
    if len(access.strides) != len(space):
        raise IllFormed(
            f"{where} walks v{access.value} along too many axes, or too few"
        )
    if 0 in space:
        return
    low = high = access.offset
    walks = list(zip(access.strides, space))
    if getattr(access, "step", 0):
        walks.append((access.step, int(turns)))
    for stride, extent in walks:
        reach = stride * (extent - 1)
        low, high = low + min(reach, 0), high + max(reach, 0)
    for term in access.terms:
        reach = term.stride * term.limit
        low, high = low + min(reach, 0), high + max(reach, 0)
    if low < 0 or high >= size:
        raise IllFormed(
            f"{where} touches elements {low} to {high} of v{access.value}, which has {size}"
        )


def check_memory(plan: Plan, memory: Memory) -> None:
    """Raises if values that live at the same time overlap."""
    lives = Lives(plan)
    placed = []
    for value in range(plan.inputs, len(plan.avals)):
        if lives.first[value] < 0 or value in plan.parts:
            continue
        if memory.slots[value] < 0:
            raise IllFormed(f"v{value} has no place")
        last = lives.end if value in plan.outs else lives.last[value]
        start = memory.offsets[value]
        end = start + plan.avals[value].nbytes
        placed.append(
            (memory.slots[value], start, end, lives.first[value], last, value)
        )
    for i, (slot, start, end, first, last, value) in enumerate(placed):
        for other, a, b, born, dies, name in placed[:i]:
            apart = slot != other or end <= a or b <= start
            if apart or first >= dies or born >= last:
                continue
            if not (
                _rests(plan, lives, value, name, born, dies)
                or _rests(plan, lives, name, value, first, last)
            ):
                raise IllFormed(f"v{value} and v{name} share memory while both live")


def _rests(
    plan: Plan, lives: Lives, value: int, other: int, first: int, last: int
) -> bool:
    """Whether `value` is not needed while `other` lives, from `first` to `last`: it is
    carried and stands for another turn, or only other blocks of branches touch it."""
    if value not in plan.outs and _elsewhere(lives, value, first):
        return True
    return any(
        carried.before == value
        and last <= carried.end
        and (
            carried.last <= first or chosen_over(plan, lives, value, other, carried.end)
        )
        for carried in lives.carries
    ) or chosen_over(plan, lives, value, other, lives.end)


def _elsewhere(lives: Lives, value: int, number: int) -> bool:
    """Whether all that touches `value` after `number` is in other blocks than this."""
    touches = [*lives.reads.get(value, ()), lives.last[value]]
    return all(
        any(choice.parts(number, touch) for choice in lives.choices)
        for touch in touches
        if touch > number
    )


__all__ = ["IllFormed", "check_memory", "check_plan"]
