"""What becomes of the operands of a jitted function: dropped, given away, or just read.

In: the jaxpr of a trace and what the user said about its arguments. Out: `Operands`,
the operation that a call outside of every transformation runs. Arguments that nothing
reads are not part of it (unless `keep_unused`): they are neither moved nor waited for.
A donated argument is given away if some result has its shape and dtype, so that its
memory can become that of the result; otherwise it stays, and a warning says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.api.tracing import Entry
from tetrad._src.control.call import Jit
from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr, dce

Mask = tuple[bool, ...]


def pruned(jaxpr: Jaxpr) -> tuple[Jaxpr, Mask]:
    """The jaxpr without what no result needs, and which inputs are left."""
    smaller, used = dce(jaxpr, (True,) * len(jaxpr.outs), keep_ins=False)
    return (jaxpr, used) if all(used) else (smaller, used)


def program_of(op: Jit, keep_unused: bool) -> tuple[Jit, tuple[int, ...] | None]:
    """The operation on the operands that matter, and which these are (None: all)."""
    if keep_unused:
        return op, None
    jaxpr, used = pruned(op.jaxpr)
    if jaxpr is op.jaxpr:
        return op, None
    kept = tuple([i for i, u in enumerate(used) if u])
    donated = tuple([op.donated[i] for i in kept]) if op.donated else ()
    return Jit(jaxpr, donated if any(donated) else ()), kept


def donor_names(entry: Entry, leaf_names: Sequence[str]) -> dict[int, str]:
    """What a user calls the operands that a trace gives away, by number."""
    closed = len(entry.consts)
    kept = entry.kept or range(len(entry.op.jaxpr.ins))
    return {
        number: f"`{leaf_names[operand - closed]}`"
        for number, operand in enumerate(kept)
        if entry.program.donated[number]
    }


def usable(
    donated: Mask, in_avals: Sequence[Aval], out_avals: Sequence[Aval]
) -> tuple[Mask, list[int]]:
    """Which donated operands fit a result, one each; and those that fit none."""
    free: dict[Any, int] = {}
    for aval in out_avals:
        key = (aval.shape, aval.dtype)
        free[key] = free.get(key, 0) + 1
    given = list(donated)
    left = []
    for i, aval in enumerate(in_avals):
        if not given[i]:
            continue
        key = (aval.shape, aval.dtype)
        if free.get(key, 0):
            free[key] -= 1
        else:
            given[i] = False
            left.append(i)
    return tuple(given), left


def unusable_message(
    function: str,
    names: Sequence[str],
    avals: Sequence[Aval],
    out_avals: Sequence[Aval],
    left: Sequence[int],
) -> str:
    """The warning about donated arguments whose memory no result can take."""
    results = list(dict.fromkeys([aval.long_name() for aval in out_avals]))
    shown = ", ".join(results[:4]) + (", …" if len(results) > 4 else "")
    reasons = []
    for i in left:
        same = [a for a in out_avals if (a.shape, a.dtype) == _type(avals[i])]
        why = (
            f"the results of that type ({len(same)}) take the memory of other arguments"
            if same
            else f"no result is {avals[i].long_name()}"
        )
        reasons.append(f"`{names[i]}`, {avals[i].long_name()}: {why}")
    return (
        f"Some donated buffers were not usable: jit of `{function}`: {'; '.join(reasons)}."
        f" The results are {shown or 'none'}. These arguments stay as they are; leave"
        " them out of donate_argnums and donate_argnames."
    )


def _type(aval: Aval) -> tuple[Any, ...]:
    return aval.shape, aval.dtype
