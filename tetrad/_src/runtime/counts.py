"""Reference counts as facts: who else holds a node of the recording?

CPython's counts say at C speed whether user code still holds a pending array and
whether a buffer has a single owner. They are compared with baselines measured once, on
this interpreter, with the very expressions that the recorder uses. An interpreter whose
counts cannot be trusted gets baselines below every count: everything is then live and
nothing is owned, which is always correct.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

counts_of = getattr(sys, "getrefcount", None)


def count(items: Sequence[Any]) -> list[int]:
    """The reference counts of `items`, which the caller holds in one list."""
    if counts_of is None:
        return [1 << 30] * len(items)
    return list(map(counts_of, items))


class _Probe:
    __slots__ = ("held",)
    held: Any


def _trusted() -> bool:
    enabled = getattr(sys, "_is_gil_enabled", None)
    return sys.implementation.name == "cpython" and (enabled is None or enabled())


def _node_baseline() -> int:
    """The count of a node that only a tape and its snapshot hold."""
    tape = [_Probe()]
    snapshot = tape[:]
    return count(snapshot)[0]


def _leaf_baseline() -> int:
    """The count of a leaf that only the recorder's list holds."""
    leaves = [_Probe()]
    return count(leaves)[0]


def _buffer_baseline() -> int:
    """The count of a buffer that only its one array (and a list here) holds."""
    leaf = _Probe()
    leaf.held = _Probe()
    leaves = [leaf]
    return count([x.held for x in leaves])[0]


def owns(args: Sequence[Any], number: int, uses: int = 1) -> bool:
    """Whether operations, which hold this operand `uses` times, are its only holders.

    `args` holds it once more, or is what one operation holds.
    """
    if counts_of is None:
        return False
    return bool(
        counts_of(args[number]) < OPERAND + uses
        and counts_of(args[number].buffer) <= OPERAND_BUFFER
    )


def unshared(args: Sequence[Any], number: int) -> bool:
    """Whether no other array, and no view, has the memory of this operand."""
    if counts_of is None:
        return False
    return bool(counts_of(args[number].buffer) <= OPERAND_BUFFER)


class _Operand:
    __slots__ = ("buffer",)
    buffer: Any


def _operand_baselines() -> tuple[int, int]:
    """The counts of an operand that only a tuple holds, and of its buffer."""
    if counts_of is None:
        return 0, 0

    def look(args: Sequence[Any], number: int) -> tuple[int, int]:
        return (
            counts_of(args[number]),  # type: ignore[misc]
            counts_of(args[number].buffer),  # type: ignore[misc]
        )

    operand = _Operand()
    operand.buffer = _Probe()
    args = (operand,)
    del operand
    return look(args, 0)


if _trusted():
    OPERAND, OPERAND_BUFFER = _operand_baselines()
    NODE = _node_baseline()
    LEAF = _leaf_baseline()
    BUFFER = _buffer_baseline()
else:
    NODE = LEAF = BUFFER = OPERAND = OPERAND_BUFFER = -(1 << 30)
