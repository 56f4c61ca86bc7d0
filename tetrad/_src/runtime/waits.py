"""Waiting for a device, told to those who listen.

Backends call `told(wait, *args)` instead of `wait(*args)` where somebody listens to
`events.waits`: it says for how long Python waited, at which line, and what for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from tetrad._src.runtime.events import Wait, waits
from tetrad._src.util.frames import entrance, is_ours, user_frame

# What the user wrote, by the method that it calls.
WORDS = {
    "__float__": "float()",
    "__int__": "int()",
    "__complex__": "complex()",
    "__bool__": "bool(), or a condition",
    "__index__": "use as an index",
    "__array__": "np.asarray",
    "__repr__": "print",
    "__str__": "print",
    "_array_text": "print",
    "_elements_text": "print",
    "__format__": "format()",
    "__dlpack__": "DLPack",
    "__reduce__": "pickle",
    "__exit__": "end of a block",
    "__iter__": "iteration",
}

BORDER = "border"  # the function around each public one, see `frames`


def told(wait: Callable[..., None], *args: Any) -> None:
    """Waits, and tells how long that took."""
    begin = time.perf_counter()
    try:
        wait(*args)
    finally:
        waits.tell(Wait(time.perf_counter() - begin, user_frame(), reason()))


def reason() -> str:
    """What the user called that waits: "float()", "block_until_ready", ..."""
    outside, _ = entrance()
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and frame is not outside:
        code = frame.f_code
        if is_ours(code.co_filename) and code.co_name != BORDER:
            name = code.co_name
        frame = frame.f_back
    return WORDS.get(name, name)
