"""Making room: what is tried before anybody hears that the memory of a device is full.

A backend raises `OutOfMemoryError` when an allocation does not fit. Whoever submitted
the work lets go of that error, and with it of what the failed attempt held, calls
`make` and tries again. Read `make`, then `tried_twice`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

from tetrad._src.runtime.ledger import Asked
from tetrad._src.util import errors

Result = TypeVar("Result")


def make(asked: Asked) -> None:
    """Frees what can be freed: dead work, finished work, cycles, free lists."""
    device = asked.device
    ledger = device.ledger
    ledger.reclaim()
    device.backend.make_room()
    if asked.nbytes > ledger.limit or not ledger.held:
        return  # no cycle holds what is missing
    if ledger.now + asked.nbytes > ledger.limit:
        gc.collect()  # cycles may hold arrays
        ledger.reclaim()
        ledger.settle()
        device.backend.make_room()


def tried_twice(
    before: Callable[[], None] | None, work: Callable[..., Result], *args: Any
) -> Result:
    """The result of `work(*args)`, tried again after `before` and with more room.

    `work` is no closure: the frames of an error would keep what it closes over.
    """
    try:
        return work(*args)
    except errors.OutOfMemoryError as full:
        asked = full.asked
        if asked is None:  # it has reached a user already, in a callback
            raise
    # Here the error is gone, and with it the frames that held arrays.
    if before is not None:
        before()
    make(asked)
    return work(*args)
