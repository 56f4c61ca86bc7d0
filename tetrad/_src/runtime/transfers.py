"""Bytes that go between places, told to reports and to guards.

Whoever moves data calls `upload`, `read` or `move` before, while `listened()`. A report
(`events.transfers`) learns what moves; a guard (`events.guards`) may forbid it by raising.
What the user wrote to cause it is found from the frames of the call, so that nothing has
to be handed down, and nothing costs time while nobody listens.

Python scalars, and NumPy's, are arguments of programs and no transfers of their own.
"""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE
from tetrad._src.runtime import events
from tetrad._src.runtime.events import Transfer
from tetrad._src.util import frames

BORDER = "border"  # the function around each public one, see `frames`
LONGEST = 60  # characters of the user's words in a reason

# What the user wrote, by the function of ours that it calls.
WORDS = {
    "__float__": "float()",
    "__int__": "int()",
    "__complex__": "complex()",
    "__index__": "use as an index",
    "__array__": "np.asarray",
    "__repr__": "print",
    "__str__": "print",
    "_array_text": "print",
    "_elements_text": "print",
    "__format__": "format()",
    "__dlpack__": "DLPack",
    "__reduce__": "pickle",
    "__iter__": "iteration",
    "__exit__": "end of a block",
    "item": ".item()",
    "tolist": ".tolist()",
    "tobytes": ".tobytes()",
    "to_device": "device_put",
    "array": "jnp.array",
    "asarray": "jnp.asarray",
    "from_dlpack": "jnp.from_dlpack",
    "_restore": "pickle",
    "_restore_key": "pickle",
    "astype": "astype",
}
EXPLICIT = frozenset({"device_put", "device_get"})
_PRINTERS = re.compile(r"(print|str|repr|format|(?:np|numpy)\.[\w.]+)\(")
_CONDITION = re.compile(r"\s*(if|elif|while|assert)\b")


def listened() -> bool:
    """Whether anybody wants to know."""
    return bool(events.transfers.listeners or events.guards.listeners)


def upload(aval: Aval, device: Any, operand: bool = True) -> None:
    """Tells that host data goes to a device, as an operand or as a result."""
    name = caller()
    where = STATE.where or frames.user_frame()
    reason = WORDS.get(name, name)
    if STATE.trace.stages:
        reason, name = "constant of a traced function", ""
    elif name not in WORDS and name not in EXPLICIT:
        words = _expression(where) or name
        reason = f"an operand of {words}" if operand else words
    kind = "explicit" if reason in EXPLICIT else "implicit" if name else "constant"
    if not aval.ndim and kind == "implicit":
        kind = "constant"  # a number
    tell(Transfer(aval.nbytes, None, device, where, reason, kind, aval))


def read(aval: Aval, device: Any) -> None:
    """Tells that the host reads an array of a device."""
    name = caller()
    where = frames.user_frame()
    nbytes = 0 if device.backend.shares_host else aval.nbytes
    kind = "explicit" if name in EXPLICIT else "implicit"
    reason = reading(name, where)
    tell(Transfer(nbytes, device, None, where, reason, kind, aval))


def move(aval: Aval, source: Any, target: Any) -> None:
    """Tells that an array goes from one device to another."""
    name = caller()
    where = STATE.where or frames.user_frame()
    reason = WORDS.get(name, name)
    kind = "explicit" if reason in EXPLICIT else "implicit"
    if kind == "implicit" and reason != "pickle":
        reason = f"an operand of {_expression(where) or name}"
    tell(Transfer(aval.nbytes, source, target, where, reason, kind, aval))


def tell(transfer: Transfer) -> None:
    if events.guards.listeners:
        events.guards.tell(transfer)
    if events.transfers.listeners:
        events.transfers.tell(transfer)


def caller() -> str:
    """The name of the function of ours that the user called."""
    outside, _ = frames.entrance()
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and frame is not outside:
        code = frame.f_code
        if frames.is_ours(code.co_filename) and code.co_name != BORDER:
            name = code.co_name
        frame = frame.f_back
    return name


def reading(name: str, where: Any) -> str:
    """What reads, in the user's words: "float()", "if", "print", …"""
    if name == "__bool__":
        return _condition(where)
    if WORDS.get(name) in ("print", "np.asarray", "format()"):
        text = _expression(where) or ""
        if text[:2].lower() in ('f"', "f'"):
            return "f-string"
        found = _PRINTERS.match(text)
        if found is not None:
            word = found[1]
            return word if word == "print" or "." in word else f"{word}()"
    if name == "__call__":
        return _expression(where) or name
    return WORDS.get(name, name)


def _condition(where: Any) -> str:
    text = _expression(where) or ""
    if text.startswith("bool("):
        return "bool()"
    if where is None:
        return "a condition"
    found = _CONDITION.match(frames.source_at(where))
    return found[1] if found is not None else "a condition"


def _expression(where: Any) -> str | None:
    text = frames.expression_at(*where) if where is not None else None
    return text if text is not None and len(text) <= LONGEST else None
