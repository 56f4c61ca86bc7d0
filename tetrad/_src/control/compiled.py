"""Library functions that are one operation to their callers: traced once per type.

`compiled` makes a function of arrays (positional) and static options (by keyword) into a
call of its jaxpr, as `jit` does for users. The recorder then notes one operation instead
of ten, and jaxprs show the function's name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tetrad._src.control.call import Jit
from tetrad._src.control.keys import Draws, Routine, summary_of
from tetrad._src.core.bind import STATE, Value, aval_of
from tetrad._src.core.stage import stage
from tetrad._src.ops.keys import drawn
from tetrad._src.util.config import config
from tetrad._src.util.memo import Cache


def compiled(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A call of the jaxpr of `fun`, which closes over no array and returns one."""
    operations = Cache(f"traces of {fun.__name__}", limit=4096)
    name = Routine(fun.__name__)

    def made(avals: tuple[Any, ...], options: dict[str, Any]) -> Any:
        jaxpr, consts = stage(lambda *xs: [fun(*xs, **options)], avals, name)
        if consts:
            raise AssertionError(f"{fun.__name__} closes over arrays")
        uses = summary_of(jaxpr) if config.key_check != "off" else None
        drawn_from = -1
        if type(uses) is Draws and len(uses.sinks) == 1 and not any(uses.outs):
            drawn_from = uses.sinks[0].position
        return Jit(jaxpr, ()), uses, drawn_from

    @functools.wraps(fun)
    def call(*args: Any, **options: Any) -> Any:
        avals: tuple[Any, ...]
        if len(args) == 1 and isinstance(args[0], Value):
            avals = (args[0].aval,)
        else:
            avals = tuple([aval_of(x) for x in args])
        key = (config.key, avals, *options.items())
        found = operations.get(key)
        if found is None:
            found = operations.setdefault(key, made(avals, options))
        op, uses, drawn_from = found
        trace = STATE.trace
        if not trace.eager:
            return op(*args)[0]
        outs = trace.process(op, args)
        if drawn_from >= 0:
            # As `drawn` does, for a key by itself that was not used before.
            out = outs[0]
            try:
                family, which = args[drawn_from].note
                if which.__class__ is int and which >= 0 and not family.mixed:
                    this = (out.where, op, None, None)
                    if family.used.setdefault(which, this) is this:
                        return out
            except AttributeError:
                pass
            drawn(args[drawn_from], out, op)
            return out
        if uses is not None:
            uses.tell(op, args, outs)
        return outs[0]

    return call
