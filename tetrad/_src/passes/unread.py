"""Stores that nobody reads are dropped.

In: the steps of a plan. Out: the same without such writes, and without kernels that do
nothing else. A value is stored where it is expensive to compute twice; if everything
that needs it joins the kernel which computes it, the value never has to leave the
registers. Only now, with all steps in place, is that known.
"""

from __future__ import annotations

from collections.abc import Sequence

from tetrad._src.passes.ir import Branch, Kernel, Loop, Plan, Step, leaves
from tetrad._src.passes.lives import read_values


def drop_unread(plan: Plan, steps: list[Step]) -> list[Step]:
    """The steps without stores that nobody reads."""
    while True:
        used = set(plan.outs)
        used.update([part.whole for part in plan.parts.values()], plan.parts)
        _protect(steps, used)
        for step in leaves(steps):
            used.update(read_values(step))
        if not any([_unread(step, used) for step in leaves(steps)]):
            return steps
        steps = _kept(steps, used)


def _protect(steps: Sequence[Step], used: set[int]) -> None:
    """Adds what control flow itself reads, and all that it carries."""
    for step in steps:
        if type(step) is Branch:
            used.add(step.index)
            for block in step.blocks:
                _protect(block, used)
        elif type(step) is Loop:
            used.add(step.condition)
            used.update(step.stacked)
            for pair in step.carries:
                used.update(pair)
            _protect(step.test, used)
            _protect(step.body, used)


def _unread(step: Step, used: set[int]) -> bool:
    if type(step) is not Kernel or step.inner is not None:
        return False
    return any([write.value not in used for write in step.writes])


def _kept(steps: list[Step], used: set[int]) -> list[Step]:
    kept = []
    for step in steps:
        if type(step) is Branch:
            step.blocks = [_kept(block, used) for block in step.blocks]
        elif type(step) is Loop:
            step.test, step.body = _kept(step.test, used), _kept(step.body, used)
        elif type(step) is Kernel and _unread(step, used):
            step.writes = [write for write in step.writes if write.value in used]
            if not (step.writes or step.reductions or step.scatters):
                continue
        kept.append(step)
    return kept
