"""`jit(f, max_compiles=n)`: an error instead of the compilation that is one too many."""

from __future__ import annotations

from typing import Any

from tetrad._src.api.tracing import Traces
from tetrad._src.util import errors


def check_limit(limit: Any) -> None:
    """ValueError unless `limit` is None or a whole number from 1 on."""
    if limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(
            "jit: max_compiles is the number of times that the function may be compiled,"
            f" so an int from 1 on, or None for no limit; got {limit!r}"
        )


def check_budget(function: str, limit: int, traces: Traces, reason: str) -> None:
    """Counts one more trace; TooManyCompilesError if that is more than `limit`."""
    reasons = traces.reasons
    if len(reasons) < limit:
        reasons.append(reason)
        return
    lines = [f"  {n}. {words}" for n, words in enumerate([*reasons, reason], 1)]
    raise errors.TooManyCompilesError(
        f"jit: `{function}` would be compiled a {_ordinal(limit + 1)} time, but"
        f" max_compiles={limit}. It was compiled because of\n" + "\n".join(lines) + "\n"
        "Give arguments the same shapes and dtypes in every call (pad arrays to a common"
        " shape, pass jnp.float32(x) or always a Python number), or raise max_compiles."
    )


def _ordinal(number: int) -> str:
    last = number % 10 if number % 100 not in (11, 12, 13) else 0
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"
