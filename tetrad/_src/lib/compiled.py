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
from tetrad._src.core.bind import aval_of
from tetrad._src.core.stage import stage
from tetrad._src.util.config import config
from tetrad._src.util.memo import Cache


def compiled(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A call of the jaxpr of `fun`, which closes over no array and returns one."""
    operations = Cache(f"traces of {fun.__name__}", limit=4096)

    @functools.wraps(fun)
    def call(*args: Any, **options: Any) -> Any:
        avals = tuple([aval_of(x) for x in args])
        key = (config.key, avals, *options.items())
        op = operations.get(key)
        if op is None:
            jaxpr, consts = stage(
                lambda *xs: [fun(*xs, **options)], avals, fun.__name__
            )
            if consts:
                raise AssertionError(f"{fun.__name__} closes over arrays")
            op = operations.setdefault(key, Jit(jaxpr, ()))
        return op(*args)[0]

    return call
