"""Waiting for a device, told to those who listen.

Backends call `told(wait, *args)` instead of `wait(*args)` where somebody listens to
`events.waits`: it says for how long Python waited, at which line, and what for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tetrad._src.runtime.events import Wait, waits
from tetrad._src.runtime.transfers import caller, reading
from tetrad._src.util.frames import user_frame


def told(wait: Callable[..., None], *args: Any) -> None:
    """Waits, and tells how long that took."""
    begin = time.perf_counter()
    try:
        wait(*args)
    finally:
        seconds = time.perf_counter() - begin
        where = user_frame()
        waits.tell(Wait(seconds, where, reading(caller(), where)))
