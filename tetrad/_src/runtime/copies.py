"""Updates that copy the array they update: counted, reported, and forbidden.

In: a program that is about to run, what it takes over, and what it reads. An update
copies if somebody still holds the old array: another variable, a NumPy view, or the
program itself, which needs it again. `before` counts such copies in the ledger of the
device. If somebody listens (`events.copies`) it tells of each; under `no_copies` it
raises `CopyError` before anything has run. The line of an update is found only then:
programs are shared by lines that do the same, so it is read off the recording at hand.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.core.jaxpr import Eqn, Jaxpr
from tetrad._src.core.op import Kind
from tetrad._src.passes.plan import UpdateCopy
from tetrad._src.passes.simplify import simplify
from tetrad._src.runtime import counts, events
from tetrad._src.runtime.array import Array
from tetrad._src.runtime.ledger import human
from tetrad._src.util import errors
from tetrad._src.util.config import config
from tetrad._src.util.frames import expression_at, format_where, source_at
from tetrad._src.util.holders import holder
from tetrad._src.util.variables import contained, variables

_lines: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()

FEW = 64  # recordings of one program whose lines are remembered

Closing = Callable[[], tuple[Jaxpr, tuple[bool, ...]]]


def before(
    executable: Any,
    takeover: Sequence[int | None],
    nodes: Sequence[Array],
    leaves: list[Array],
    outs: Sequence[Array],
    device: Any,
    closing: Closing,
) -> None:
    """A program is about to run on `leaves` and to give `outs`; `closing` writes it as a
    jaxpr anew."""
    copies = executable.copies
    happening = [
        number
        for number, copy in enumerate(copies)
        if copy.output is None or takeover[copy.output] is None
    ]
    if not happening:
        return
    if config.tetrad_no_copies or events.copies.listeners:
        error = _report(executable, happening, nodes, leaves, outs, device, closing)
        if error is not None:
            del nodes, leaves, outs, closing  # a traceback holds this frame
            raise error
    count([copies[number] for number in happening], device)


def count(copies: Sequence[UpdateCopy], device: Any) -> None:
    """Notes copies that happen now in the ledger."""
    ledger = device.ledger
    for copy in copies:
        ledger.copies += copy.turns
        ledger.copied += copy.turns * copy.nbytes


def _report(
    executable: Any,
    happening: Sequence[int],
    nodes: Sequence[Array],
    leaves: list[Array],
    outs: Sequence[Array],
    device: Any,
    closing: Closing,
) -> errors.CopyError | None:
    """Tells the listeners; the error, if copies are forbidden."""
    sources = [executable.copies[number].source for number in happening]
    held = [_others(leaves, source) for source in sources]
    jaxpr, by_value = closing()
    copies = _with_lines(executable, nodes, jaxpr, by_value, device)
    for number, others in zip(happening, held):
        copy = copies[number]
        x = None if copy.source is None else leaves[copy.source]
        if config.tetrad_no_copies:
            return _error(copy, x, others, nodes, outs, jaxpr)
        inside = copy.output is None
        events.copies.tell(events.Copy(x, copy.nbytes, copy.where, others, inside))
    return None


def _with_lines(
    executable: Any,
    nodes: Sequence[Array],
    jaxpr: Jaxpr,
    by_value: tuple[bool, ...],
    device: Any,
) -> tuple[UpdateCopy, ...]:
    """The copies of a program with the lines of the recording at hand."""
    known = _lines.setdefault(executable, {})
    if len(known) > FEW:
        known.clear()
    places = tuple([x.where for x in nodes])
    if places not in known:
        known[places] = device.backend.copies(jaxpr, by_value)
    return known[places]  # type: ignore[no-any-return]


def _others(leaves: list[Array], source: int | None) -> int:
    """How many references others have to an operand or its buffer."""
    if source is None:
        return 0
    held = counts.count(leaves)[source] - counts.LEAF
    held -= getattr(leaves[source], "uses", 0)
    shared = counts.count([x.buffer for x in leaves])[source] - counts.BUFFER
    return max(held, 0) + max(shared, 0)


# ------------------------------------------------------------------------------- words


def names_of_holders(x: Array) -> list[str]:
    """What of the user's holds an array or its memory, in words."""
    return list(dict.fromkeys([*_holders(x), *names_of_sharers(x)]))


def names_of_sharers(x: Array) -> list[str]:
    """What else sees the memory of an array: other arrays, NumPy views."""
    found: list[str] = []
    if x.buffer is None:
        return found
    for owner in gc.get_referrers(x.buffer):
        if type(owner) is Array and owner is not x:
            found += _holders(owner)
        elif hasattr(type(owner), "__array_interface__"):
            named = variables(lambda value: _is_view_of(value, owner))
            words = ", ".join(map(str, named))
            found.append(f"the NumPy view {words}" if words else "a NumPy view")
    return found


def _holders(x: Array) -> list[str]:
    found = [str(v) for v in variables(lambda value: value is x)]
    found += [str(v) for v in contained(x)]
    if found:
        return found
    words = holder(x)
    return [] if words is None else [words]


def _is_view_of(value: Any, view: Any) -> bool:
    """Whether a NumPy array sees the memory through `view`."""
    for _ in range(8):
        if type(value) is memoryview:
            value = value.obj
        elif isinstance(value, np.ndarray):
            value = value.base
        else:
            return False
        if value is view:
            return True
    return False


def _error(
    copy: UpdateCopy,
    x: Array | None,
    others: int,
    nodes: Sequence[Array],
    outs: Sequence[Array],
    jaxpr: Jaxpr,
) -> errors.CopyError:
    """The error for an update that would copy under `no_copies`."""
    if copy.output is None:  # whoever holds it
        others = 0
        if x is None:
            x = _result(copy, outs, jaxpr)
    size = human(copy.nbytes)
    if x is None:
        what = f"an array of {size}"
    else:
        what = (
            f"the {x.aval.long_name()} array made at {format_where(x.where)} ({size})"
        )
    pending = x is not None and x.buffer is None
    names = names_of_holders(x) if x is not None and (others or pending) else []
    op = nodes[0].entry.op
    called = op if op.kind is Kind.CALL and not getattr(op, "recorded", False) else None
    if names:
        why = f"it is still held by {', '.join(names)}"
        hint = _let_go(names, called)
    elif called is not None and others:
        why = "the call starts at once, while its caller holds the argument"
        hint = _let_go(names, called)
    elif others:
        why = "something else still holds it (a container, a NumPy view, a traceback)"
        hint = "Let go of that first"
    else:
        why = _why_inside(copy, jaxpr)
        hint = "Change the order, so that nothing needs the old array any more"
    return errors.CopyError(
        f"{format_where(copy.where)}: {_text(copy.where)} would copy {what}, since {why}."
        f" Nothing has been changed. {hint}; or make the update outside of no_copies()."
    )


def _text(where: Any) -> str:
    text = expression_at(*where) if where is not None else None
    return f"the update `{text}`" if text else "the update"


def _let_go(names: Sequence[str], called: Any) -> str:
    name = names[0].split("`")[1] if names and names[0].startswith("`") else None
    if called is not None and called.flow is not None:
        return "Put the loop into a function under jit, and donate the array to it"
    if called is not None and getattr(called, "jaxpr", None) is not None:
        function = called.jaxpr.name or "f"
        return f"Give the array away in the call: jit({function}, donate_argnums=...)"
    return f"Let go of it first (del {name})" if name else "Let go of it first"


def _why_inside(copy: UpdateCopy, jaxpr: Jaxpr) -> str:
    """Why a program copies although nobody outside holds the array."""
    smaller = simplify(jaxpr)
    for number, eqn in enumerate(smaller.eqns):
        if eqn.op.updates is None or eqn.where != copy.where:
            continue
        old = eqn.ins[eqn.op.updates]
        reader = _reader(smaller.eqns[number + 1 :], old)
        if reader is not None:
            line = source_at(reader.where)
            return (
                f"the old array is needed again at {format_where(reader.where)}"
                f"{f' (`{line}`)' if line else ''}"
            )
        if old in smaller.outs:
            return "the old array is needed again: it is a result itself"
        if eqn.outs[0] not in smaller.outs:
            return "no result of this program can take over its memory"
    return "the program needs the old array again"


def _result(copy: UpdateCopy, outs: Sequence[Array], jaxpr: Jaxpr) -> Array | None:
    """The array that is updated, if it is a result of the same program."""
    smaller = simplify(jaxpr)
    for eqn in smaller.eqns:
        if eqn.op.updates is not None and eqn.where == copy.where:
            old = eqn.ins[eqn.op.updates]
            if old in smaller.outs:
                return outs[smaller.outs.index(old)]
    return None


def _reader(eqns: Sequence[Eqn], old: Any) -> Eqn | None:
    return next((eqn for eqn in eqns if old in eqn.ins), None)
