"""Buffers of what a loop carries, which change places instead of being copied.

In: the carried values of a plan, when they live, and which of them share memory already.
Out: `Swap`s. At the end of a turn a new value replaces the old one; if it cannot be
written over the old one and is large, both keep a buffer of their own for the whole loop,
and the buffers change places. The same goes for values that move on through several
carries, such as the last two states of a wave.
"""

from __future__ import annotations

from collections.abc import Callable

from tetrad._src.passes.ir import Copy, Loop, Plan, Swap
from tetrad._src.passes.lives import Carried, Lives

LEAST = 2048  # bytes that are worth exchanging buffers instead of copying


def exchange(
    plan: Plan,
    lives: Lives,
    find: Callable[[int], int],
    groups: dict[int, list[int]],
) -> list[Swap]:
    """The swaps of a plan. The new values then live as long as their loops run.

    `groups` lists the values that share memory under their representative, as `find`
    gives it, but for those in the buffers of outputs.
    """
    found: list[Swap] = []
    used = {find(value) for value in plan.outs}
    taken: set[int] = set()
    for carried in lives.carries:
        if carried.passed or carried.loop.length == 1:
            continue
        chain = _chain(lives, carried)
        for values in dict.fromkeys((chain, chain[-2:])):
            if carried.loop.length is None and len(values) > 2:
                continue
            tops = [find(value) for value in values]
            if tops[-1] in used or not taken.isdisjoint(tops):
                continue
            if len(set(tops)) < len(tops):
                continue
            if not _fits(
                plan, lives, carried, values, [groups.get(t, []) for t in tops]
            ):
                continue
            taken.update(tops)
            found.append(Swap(carried.loop, values, _returns(carried.loop, values)))
            lives.first[carried.after] = carried.begin
            lives.last[carried.after] = carried.end
            break
    return found


def _chain(lives: Lives, carried: Carried) -> tuple[int, ...]:
    """Values that move on in a loop: each is the next one of the turn before.

    The last one is new in every turn.
    """
    before_of: dict[int, int] = {}
    for other in lives.carries:
        if other.loop is carried.loop:
            before_of.setdefault(other.after, other.before)
    values = [carried.before, carried.after]
    while values[0] in before_of and before_of[values[0]] not in values:
        values.insert(0, before_of[values[0]])
    return tuple(values)


def _fits(
    plan: Plan,
    lives: Lives,
    carried: Carried,
    values: tuple[int, ...],
    members: list[list[int]],
) -> bool:
    """Whether the values have buffers that can change places."""
    after = carried.after
    size = plan.avals[after].nbytes
    if after < plan.inputs or after in plan.parts or size < LEAST:
        return False
    if any(plan.avals[v].nbytes > size for group in members for v in group):
        return False
    return all(lives.first[value] >= carried.begin for value in members[-1])


def _returns(loop: Loop, values: tuple[int, ...]) -> tuple[Copy, ...]:
    """Copies after the loop, by which all values come back to where they began.

    If nobody knows how many turns there are, the copy is from wherever the value is.
    """
    count = len(values)
    if loop.length is None:
        return (Copy(values[1], values[0]),)
    place = [(n + loop.length) % count for n in range(count)]
    free = place.pop()  # the buffer of the new value, which nobody needs any more
    copies = []
    while any(at != n for n, at in enumerate(place)):
        if free == count - 1:
            moved = next(n for n, at in enumerate(place) if at != n)
        else:
            moved = free
        copies.append(Copy(values[place[moved]], values[free]))
        place[moved], free = free, place[moved]
    return tuple(copies)
