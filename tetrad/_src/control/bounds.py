"""Programs that are told of indices out of range: `bounds("error")` outside of traces.

In: an operation that holds jaxprs with `InBounds` in them, as it reaches the base trace.
Out: its results, or the `OutOfBoundsError` of the first index that was out of range. The
program is made into one that returns the first failure, as `checkify` does it, and the
result is waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from tetrad._src.control import keys
from tetrad._src.control.checkify import checked
from tetrad._src.control.checks import Error, OutOfBounds
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.effects import BOUNDS
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.core.op import Op
from tetrad._src.core.stage import restage
from tetrad._src.ops.bounds import InBounds
from tetrad._src.util.errors import OutOfBoundsError
from tetrad._src.util.memo import memo_on_first

_KINDS: Final = frozenset([OutOfBounds])


class _Running(threading.local):
    """Whether a program that returns its failures runs in this thread."""

    on = False


_running = _Running()


def run(op: Op, args: Sequence[Any]) -> list[Any] | None:
    """The results of an operation that has checks of indices in it; None if it has none.

    What has nothing to check is left to whoever asked.
    """
    if BOUNDS not in op.effects or _running.on:
        return None
    if isinstance(op, InBounds):
        return op.expand(*args)
    whole = _as_jaxpr(op, tuple([aval_of(a) for a in args]))
    program = checked(whole, _KINDS)
    if not program.sites:
        return None
    _running.on = True
    try:
        with keys.unchecked():  # whoever calls the operation looks at its keys
            outs = eval_jaxpr(program.jaxpr, args)
    finally:
        _running.on = False
    count = len(whole.outs)
    message = Error(outs[count], outs[count + 1 :], program.sites).get()
    if message is not None:
        raise OutOfBoundsError(message)
    return list(outs[:count])


@memo_on_first
def _as_jaxpr(op: Op, avals: tuple[Aval, ...]) -> Jaxpr:
    return restage(lambda *args: op(*args), avals)
