"""Programs compiled ahead of their calls.

`prepare` compiles an operation for arrays of given types and keeps the program where the
recorder looks for it; `Ahead.call` runs it at once on arrays. Arguments are handed over
under the types that the program was compiled for, and one array that is given twice
under two names, so that a call never compiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.op import Op
from tetrad._src.core.rewrite import insert, lifted
from tetrad._src.runtime import execute, lazy
from tetrad._src.runtime.array import Array, new_array
from tetrad._src.runtime.device import Placement
from tetrad._src.runtime.entry import entry_of
from tetrad._src.util.frames import user_frame

_NO_BUFFER = object()  # stands where the buffers of the arguments will be


class Ahead:
    """An operation with the program that was compiled for it."""

    def __init__(self, op: Op, in_avals: Sequence[Aval], place: Placement) -> None:
        self.in_avals = tuple(in_avals)
        self.arrays: Sequence[Any] = ()
        self.places: Sequence[int] = ()
        moved = lifted(op)
        if moved is not None:
            op, self.arrays, self.places, _ = moved
        self.op = op
        avals = insert(in_avals, [x.aval for x in self.arrays], self.places)
        leaves = tuple([_stand_in(aval, place) for aval in avals])
        self.entry = entry_of(op, leaves)
        if self.entry.targets:
            place = lazy.constrained(self.entry, place)
        self.place = place
        call, outs = lazy.call_node(self.entry, leaves, place, user_frame())
        nodes = [call, *outs] if self.entry.several else [call]
        self.executable = execute.prepare(nodes, outs, place.device)

    def call(self, args: Sequence[Any]) -> list[Array]:
        """Runs the program on arrays of the types it was compiled for."""
        seen: set[int] = set()
        operands = []
        for x, aval in zip(args, self.in_avals):
            x = lazy.operand_array(x, aval)
            if id(x) in seen:
                x = lazy.alias(x, aval)
            seen.add(id(x))
            operands.append(x)
        operands = list(insert(operands, self.arrays, self.places))
        place = lazy.place_of(operands)
        if not place.is_committed:
            place = self.place
        elif self.entry.targets:
            place = lazy.constrained(self.entry, place)
        where = user_frame()
        return lazy.call_now(self.op, self.entry, tuple(operands), place, where)


def _stand_in(aval: Aval, place: Placement) -> Array:
    made = new_array(Array)
    made.aval = aval
    made.placement = place
    made.buffer = _NO_BUFFER
    made.args = ()
    made.epoch = 0
    return made
