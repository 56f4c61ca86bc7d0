"""What to do about a full device: one hint, chosen by rule.

In: the report of an `OutOfMemoryError`, the facts behind it, and the live arrays in rows.
Out: the name of the rule and a sentence. Read `choose`; the rules follow in its order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tetrad._src.api.batching import lanes_of
from tetrad._src.api.tracing import captured
from tetrad._src.runtime.array import Array, Deleted
from tetrad._src.runtime.ledger import Asked, human
from tetrad._src.util import frames
from tetrad._src.util.owners import owners_of

MANY = 3  # arrays in one container that make a list that grows
_UPDATE = re.compile(r"(?P<old>[A-Za-z_][\w.]*(?:\[[^\]]*\])*)\.at\[")


def choose(report: Any, asked: Asked, rows: Sequence[Any]) -> tuple[str, str]:
    """The rule that holds, and its hint."""
    for rule, words in (
        ("update", _update(asked)),
        ("vmap", _vmap(report, asked)),
        ("large", _large(report)),
        ("grows", _grows(report, rows)),
        ("captured", _captured(report, rows)),
    ):
        if words:
            return rule, words
    return "general", (
        "del the arrays that you no longer need, or work on smaller pieces;"
        " jax.see.memory() shows what is in use, by line."
    )


def _update(asked: Asked) -> str:
    """An update copies, since somebody holds the old array."""
    old = _old(asked)
    if old is None or asked.nbytes < old.aval.nbytes:
        return ""
    words = frames.expression_at(*asked.where) if asked.where else None
    found = _UPDATE.match(words or "")
    name = found["old"] if found else None
    owners = owners_of([old])[0]
    others = [owner for owner in owners if owner.name != name]
    shown = f"`{name}`" if name else "the array"
    if others:
        return (
            f"this update copies {shown}, because {others[0]} holds the old array; without"
            f" that (`del {others[0].name}`) it is done in place."
        )
    if owners and name:
        return (
            f"this update copies {shown}, which is kept; `{name} = {words}` gives the old"
            " array up, and is done in place."
        )
    return ""


def _old(asked: Asked) -> Array | None:
    """The array that an update replaces, if it is the update that does not fit."""
    node = None if asked.node is None else asked.node()
    if node is None or node.entry is None or node.entry.projected:
        return None
    if not node.entry.updates:
        return None
    old = node.args[0]
    if type(old) is Array and old.buffer is not None:
        return None if type(old.buffer) is Deleted else old
    return None


def _vmap(report: Any, asked: Asked) -> str:
    """What does not fit has an axis of many lanes."""
    places = [asked.where]
    if asked.op is not None:
        places += [eqn.where for j in asked.op.jaxprs() for eqn in j.eqns]
    lanes = next((x for p in places if p and (x := lanes_of(p[0]))), None)
    if lanes is None or lanes.size < 2 or 4 * report.asked < (report.limit or 0):
        return ""
    room = max(1, (report.limit or 0) - report.in_use)
    chunk = max(1, lanes.size * room // (2 * report.asked))
    chunk = 1 << (min(chunk, lanes.size - 1).bit_length() - 1)
    if asked.role != "intermediates":
        return (
            f"vmap keeps the results of all {lanes.size} lanes of `{lanes.name}`. Return"
            f" less from each lane, or take some {chunk} lanes at a time in a loop that"
            " keeps less."
        )
    axes = "" if lanes.in_axes == 0 else f", in_axes={lanes.in_axes}"
    return (
        f"vmap computes all {lanes.size} lanes of `{lanes.name}` at once;"
        f" jax.vmap({lanes.name}{axes}, chunk_size={chunk}) computes {chunk} at a time."
    )


def _grows(report: Any, rows: Sequence[Any]) -> str:
    """A container holds many arrays that one line made."""
    for row in rows[:3]:
        if len(row.arrays) < MANY or not _matters(report, row):
            continue
        holders = [
            o for owners in row.owners for o in owners if o.container is not None
        ]
        if not holders:
            continue
        owner = holders[0]
        name = owner.name[: owner.name.rindex("[")] if "[" in owner.name else owner.name
        inside = f" in {owner.inside}" if owner.inside else ""
        place = frames.format_where(row.arrays[0].where)
        return (
            f"`{name}`{inside} holds {len(row.arrays)} arrays made at {place},"
            f" {human(row.nbytes)} in all. Keep only what you need of each, such as"
            " float(x) or x[-1], or np.asarray(x) in the host's memory."
        )
    return ""


def _matters(report: Any, row: Any) -> bool:
    """Whether much of what is in use, and of what may be, is in these arrays."""
    return bool(4 * row.nbytes >= max(report.in_use, (report.limit or 0) // 4))


def captured_by(x: Array) -> str:
    """The jitted function that closes over an array, if there is one."""
    return captured().get(id(x), "")


def _captured(report: Any, rows: Sequence[Any]) -> str:
    """A jitted function keeps an array that it closed over."""
    for row in rows[:3]:
        if not _matters(report, row):
            continue
        for x in row.arrays:
            function = captured_by(x)
            if function:
                return (
                    f"the jitted function `{function}` closes over the"
                    f" {x.aval.long_name()} made at {frames.format_where(x.where)}, and"
                    " keeps it as long as the function lives. Pass it as an argument."
                )
    return ""


def _large(report: Any) -> str:
    """The array alone is too large."""
    if report.limit is None or report.asked <= report.limit:
        return ""
    return (
        f"{human(report.asked)} do not fit even into the empty device; work on smaller"
        " pieces, in a smaller dtype, or with another formula."
    )
