"""The words of the error about a NaN or an infinity.

In: the step that made it, and the calls and loops around it. Out: a `NonFiniteError` with
the user's expression and line, and a table of the operands. `nonfinite` says what a value
has that the settings forbid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Kind, Op
from tetrad._src.runtime.array import Array, Deleted
from tetrad._src.util import dtypes, errors, frames, source
from tetrad._src.util.config import config
from tetrad._src.util.tables import table

LONGEST_NAME = 24  # characters of an operand in the table


class Step(NamedTuple):
    """An operation that was carried out, and the line that asked for it."""

    op: Op
    args: Sequence[Any]
    outs: Sequence[Any]
    where: Any


def _host(x: Any) -> Any:
    """The elements of a float or complex array that NumPy understands, else None."""
    if type(x) is Array:
        if not x.aval.inexact or type(x.buffer) is Deleted:
            return None
        host = x._host()
    elif isinstance(x, (float, complex, np.ndarray, np.generic)):
        host = np.asarray(x)
        if dtypes.kind(host.dtype) not in "fc":
            return None
    else:
        return None
    return host if host.dtype.kind in "fc" else host.astype(np.float32)


def nonfinite(x: Any) -> str:
    """ "nan" or "inf" if an array has such an element and the settings forbid it."""
    host = _host(x)
    if host is None:
        return ""
    if config.jax_debug_nans and np.isnan(host).any():
        return "nan"
    if config.jax_debug_infs and np.isinf(host).any():
        return "inf"
    return ""


_WORDS = {"nan": "a NaN", "inf": "an infinity"}


def told(step: Step, trail: Sequence[str]) -> errors.NonFiniteError:
    """The error about what `step` gave, inside of the calls in `trail`."""
    wrong = next(x for x in step.outs if nonfinite(x))
    what = nonfinite(wrong)
    words = _expression(step)
    place = _place(step.where)
    lines = [f"invalid value ({what}) encountered in {step.op.name}"]
    if getattr(step.where, "backward", False):
        lines[0] += f", in the backward pass of {words or 'an operation'}{place}."
    else:
        lines[0] += f": {words or 'an operation'}{place} gave {_WORDS[what]}."
    if trail:
        lines.append(f"It came up in {', in '.join(trail)}.")
    lines.append(table(_rows(step, wrong, what)))
    lines.append(_advice(step, what))
    return errors.NonFiniteError("\n".join(lines))


def _expression(step: Step) -> str:
    words = frames.expression_at(*step.where) if step.where else None
    return f"`{words}`" if words and len(words) <= source.LONGEST else ""


def _place(where: Any) -> str:
    if not where:
        return ""
    function = frames.line_of(where).function
    inside = "" if function == "<module>" else f" in `{function}`"
    return f" at {frames.format_where(where)}{inside}"


# ---------------------------------------------------------------------------- the table


def _rows(step: Step, wrong: Any, what: str) -> list[tuple[str, ...]]:
    """The operands and the result: their types, and the values that matter."""
    at = _first(wrong, what)
    pointwise = step.op.kind is Kind.ELEMENTWISE
    index = f"[{', '.join(map(str, at))}]" if pointwise and at else ""
    rows: list[tuple[str, ...]] = [
        ("operand", "type", f"value at {index}" if index else "values", "")
    ]
    for name, x in zip(_names(step), step.args):
        value = _element(x, wrong, at) if pointwise else _summary(x)
        rows.append((name, aval_of(x).long_name(), value, _note(x)))
    value = _element(wrong, wrong, at) if pointwise else _summary(wrong)
    rows.append(("result", wrong.aval.long_name(), value, _note(wrong)))
    return rows


def _names(step: Step) -> list[str]:
    """What the user calls the operands, if the expression is this very operation."""
    numbered = [str(i) for i in range(len(step.args))]
    words = frames.expression_at(*step.where) if step.where else None
    if words is None or getattr(step.where, "backward", False):
        return numbered
    if not source.is_call_of(words, step.op.name):
        return numbered
    found = source.operands(words, len(step.args))
    return found if found and max(map(len, found)) <= LONGEST_NAME else numbered


def _first(x: Any, what: str) -> tuple[int, ...]:
    """Where the first NaN or infinity of an array is."""
    host = _host(x)
    bad = np.isnan(host) if what == "nan" else np.isinf(host)
    return tuple([int(i) for i in np.argwhere(bad)[0]])


def _element(x: Any, result: Any, at: tuple[int, ...]) -> str:
    host = x._host() if type(x) is Array else np.asarray(x)
    shape = host.shape
    if shape != result.aval.shape:
        return str(host[()]) if not shape else ""
    return str(host[at])


def _summary(x: Any) -> str:
    host = _host(x)
    if host is None or not host.size:
        return ""
    if host.ndim == 0:
        return str(host[()])
    finite = host[np.isfinite(host)]
    if not finite.size or host.dtype.kind == "c":
        return ""
    return f"from {finite.min():g} to {finite.max():g}"


def _note(x: Any) -> str:
    """How many elements are NaN or infinite."""
    host = _host(x)
    if host is None or host.ndim == 0:
        return ""
    parts = []
    for name, bad in (("NaN", np.isnan(host)), ("infinite", np.isinf(host))):
        count = int(bad.sum())
        if count:
            verb = "is" if count == 1 else "are"
            parts.append(f"{count} of {host.size} {verb} {name}")
    return f"<- {', '.join(parts)}" if parts else ""


def _advice(step: Step, what: str) -> str:
    if any([nonfinite(x) == what for x in step.args]):
        return (
            f"An operand has {_WORDS[what]} already, from before this was looked for, or"
            " from outside: look at what you hand over, as with jnp.isfinite(x).all()."
        )
    if getattr(step.where, "backward", False):
        return (
            "Where a function has no finite slope its derivative is infinite, and infinity"
            " times 0 is NaN: also on a side that jnp.where does not choose. Keep such"
            " points away from the function: f(jnp.where(ok, x, 1.0))."
        )
    return (
        "Replace such values before the operation, as in f(jnp.where(ok, x, 1.0)); to"
        " choose after it is too late for gradients."
    )
