"""Traced values that outlive their transformation, and what is said about them.

In: a tracer that is used too late; or, if `jax_check_tracer_leaks` is on, a trace that
has just ended. Out: the words of UnexpectedTracerError, which say who holds the tracer.
"""

from __future__ import annotations

import gc

from tetrad._src.core.bind import Trace, Tracer
from tetrad._src.util import errors, frames, holders


def check_leaks(trace: Trace) -> None:
    """Raises if something of the user's still holds a tracer of `trace`."""
    gc.collect()
    for tracer in gc.get_referrers(trace):
        if isinstance(tracer, Tracer) and tracer._trace is trace:
            holder = holders.holder(tracer)
            if holder is not None:
                raise errors.UnexpectedTracerError(
                    f"Leaked trace: the transformation that made a traced value"
                    f" {tracer.aval.long_name()} has ended, but {holder} still holds"
                    f" it.{_origin(tracer)}{_ADVICE}"
                )


def leak_message(tracer: Tracer) -> str:
    """The message about a tracer used too late: who made it, who holds it."""
    if not tracer._trace.ended:
        return (
            f"a traced value {tracer.aval.long_name()} is used outside of the"
            f" transformation that it belongs to, which is still running."
            f"{_origin(tracer)} A function with rules of its own (custom_jvp, custom_vjp)"
            " closes over it, so no rule says what its derivative is: pass it to the"
            " function as an argument."
        )
    holder = holders.holder(tracer) or "a global, an attribute or a list"
    return (
        f"Encountered an unexpected tracer: a traced value {tracer.aval.long_name()} is"
        f" used after the transformation that made it has ended.{_origin(tracer)} It is"
        f" held by {holder}.{_ADVICE}"
    )


_ADVICE = (
    " A traced value stands for something only while its function is traced: return it"
    " from the function instead of storing it in an object or in global state."
)


def _origin(tracer: Tracer) -> str:
    made = getattr(tracer, "origin", None)
    if not made:
        return ""
    function = frames.line_of(made).function
    inside = "" if function == "<module>" else f" in `{function}`"
    return f" It was created on line {frames.format_where(made)}{inside}."
