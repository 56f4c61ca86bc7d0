"""The recorder: eager operations are written down and submitted together.

`Recorder.process` is what an operation reaches outside every transformation. It appends
a pending `Array` to the tape of its thread and returns. `flush.py` closes the tape when
a value is needed, when enough has accumulated, or when it repeats itself; what is then
still reachable is compiled as one program and submitted (`execute.py`).

Read in this order: `Recorder.process` (the fast path), `call` (operations with several
results, and calls), `general` (every operation), `call_now` (calls that are submitted
at once), then how host data becomes arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Tracer, aval_of, set_base
from tetrad._src.core.effects import BOUNDS
from tetrad._src.core.jaxpr import DONOR_NAMES
from tetrad._src.core.leaks import leak_message
from tetrad._src.core.op import Kind, Op, infer
from tetrad._src.core.rewrite import insert, lifted
from tetrad._src.runtime import array as array_module
from tetrad._src.runtime import execute, host
from tetrad._src.runtime.array import (
    Array,
    Deleted,
    DeletedPlacement,
    deleted,
    new_array,
)
from tetrad._src.runtime.device import Placement, default_placement
from tetrad._src.runtime.entry import Entry, entries, entry_of
from tetrad._src.runtime.flush import HEAVY, checkpoint, flush, force, prune_all
from tetrad._src.runtime.flush import flush_all as flush_all
from tetrad._src.runtime.flush import lock as _lock
from tetrad._src.runtime.flush import threads as _threads
from tetrad._src.util import dtypes, errors
from tetrad._src.util.config import config
from tetrad._src.util.frames import expression_at, format_where, user_frame

LONGEST = 60  # characters of the user's words in a message
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1

BY_VALUE = (
    bool, int, float,
    np.bool_, np.int8, np.int16, np.int32, np.int64,
    np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64,
)  # fmt: skip
_by_value = frozenset(BY_VALUE)


class Recorder(Trace):
    """The base trace."""

    parent = None
    eager = True

    @staticmethod
    def told(op: Op, args: Sequence[Any]) -> list[Any] | None:
        """A port: the results of what has checks of indices, or None to go on."""
        return None

    def process(self, op: Op, args: Sequence[Any]) -> Any:
        """Records `op(*args)`; the path of every eager operation."""
        place: Any = None
        key: Any
        if op.multiple:
            return self.call(op, args)
        if len(args) == 2:
            x, y = args
            if type(x) is Array:
                place = x.placement
                if type(y) is Array:
                    if y.placement is not place:
                        return self.general(op, args)
                    key = (op, x.aval, y.aval)
                else:
                    if type(y) is int and not INT_MIN <= y <= INT_MAX:
                        return self.general(op, args)
                    key = (op, x.aval, type(y))
            elif type(y) is Array:
                place = y.placement
                if type(x) is int and not INT_MIN <= x <= INT_MAX:
                    return self.general(op, args)
                key = (op, type(x), y.aval)
            else:
                return self.general(op, args)
            x = y = None
        elif len(args) == 1:
            x = args[0]
            if type(x) is not Array:
                return self.general(op, args)
            place = x.placement
            key = (op, x.aval)
            x = None
        else:
            return self.general(op, args)
        entry = entries[config.x64].get(key)
        if entry is None or type(place) is not Placement:
            return self.general(op, args)
        tape = _threads.tape
        if len(tape.nodes) >= tape.cut or tape.load > HEAVY:
            checkpoint(tape)
        made = new_array(Array)
        made.aval = entry.aval
        made.placement = place
        made.buffer = None
        made.entry = entry
        made.args = args  # type: ignore[assignment]
        made.where = STATE.where or user_frame()
        made.epoch = 0
        made.tape = tape
        tape.nodes.append(made)
        tape.load += entry.load
        return made

    def origin(self, x: Any) -> tuple[Op, Sequence[Any]] | None:
        """What a pending array is the result of."""
        entry = x.entry
        return (entry.op, x.args) if type(entry) is Entry else None

    def call(self, op: Op, args: Sequence[Any]) -> list[Any]:
        """Records an operation with several results, or a call: gives a list.

        What a call of these very jaxprs on arrays costs to look up is kept on it.
        """
        entry = op.__dict__.get("_entry")
        if entry is None:
            if BOUNDS in op.effects and (outs := self.told(op, args)) is not None:
                return outs
            return self.general(op, args)  # type: ignore[no-any-return]
        place: Any = None
        for arg in args:
            if type(arg) is not Array:
                return self.general(op, args)  # type: ignore[no-any-return]
            if arg.placement is not place:
                if place is not None:
                    return self.general(op, args)  # type: ignore[no-any-return]
                place = arg.placement
        arg = None
        if type(place) is not Placement:
            return self.general(op, args)  # type: ignore[no-any-return]
        tape = _threads.tape
        if len(tape.nodes) >= tape.cut or tape.load > HEAVY:
            checkpoint(tape)
        made = _node(entry, args, place, STATE.where or user_frame())  # type: ignore[arg-type]
        made.tape = tape
        tape.nodes.append(made)
        tape.load += entry.load
        if not entry.several:
            return [made]
        return _project(made)

    def general(self, op: Op, args: Sequence[Any]) -> Any:
        """Every operation: converts operands, infers, places, records."""
        if op.host is not None:
            return _call_host(op, args)
        if (
            op.kind is Kind.CALL
            and op.flow is None
            and not getattr(op, "inlined", False)
        ):
            return op.expand(*args)
        moved = lifted(op)
        if moved is not None:
            op, arrays, places, _ = moved
            args = insert(args, arrays, places)
        args = tuple([_operand(a) for a in args])
        place = place_of(args)
        entry = entry_of(op, args)
        if not op.multiple:
            return _record(entry, args, place)
        where = STATE.where or user_frame()
        if entry.calls_host and not place.device.backend.calls_host:
            results: list[Array] = op.expand(*args)  # in pieces, between the calls
            return results
        if entry.heavy or any(getattr(op, "donated", ())):
            return call_now(op, entry, args, place, where)
        call = _record(entry, args, place, where)
        if op.kind is Kind.CALL and all([type(a) is Array for a in args]):
            op.__dict__["_entry"] = entry
        if not entry.several:
            return [call]
        return _project(call)


# Kinds of numbers that may not fit 32 bits.
_WIDE = frozenset([int, np.int64, np.uint64])


def _operand(x: Any) -> Any:
    """An operand as the tape takes it: an Array, or a scalar passed by value."""
    kind = type(x)
    if kind is Array:
        if type(x.buffer) is Deleted:
            raise deleted(x)
        return x
    if isinstance(x, Tracer):
        raise errors.UnexpectedTracerError(leak_message(x))
    if kind in _by_value:
        if kind in _WIDE and not INT_MIN <= x <= INT_MAX:
            _check_fits(x, aval_of(x).dtype)
        return x
    if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
        return next(t(x) for t in (bool, int, float) if isinstance(x, t))
    aval = aval_of(x)
    return put(_narrowed(x, aval), aval)


def _check_fits(x: Any, dtype: Any) -> None:
    """OverflowError, with the user's expression, if integers would be cut."""
    try:
        dtypes.check_narrowing(x, dtype)
    except OverflowError as error:
        place = STATE.where or user_frame()
        words = expression_at(*place) if place is not None else None
        if not words or len(words) > LONGEST:
            raise
        raise OverflowError(f"{words}: {error}") from None


def _narrowed(x: Any, aval: Aval) -> np.ndarray[Any, Any]:
    """A host array in the width that arrays have now."""
    if aval.kind in "iu" and getattr(x, "dtype", None) != aval.dtype:
        _check_fits(x, aval.dtype)
    return np.asarray(x, aval.dtype)


def place_of(args: Sequence[Any]) -> Placement:
    """Where the operation runs: where its committed operands are."""
    chosen: Any = None
    for x in args:
        if type(x) is not Array:
            continue
        place = x.placement
        if type(place) is DeletedPlacement:
            raise deleted(x)
        if chosen is None or chosen is place:
            chosen = place
        elif chosen.device is place.device:
            chosen = chosen if chosen.is_committed else place
        elif not chosen.is_committed and place.is_committed:
            chosen = place
        elif place.is_committed:
            line = user_frame()
            words = expression_at(*line) if line is not None else None
            raise ValueError(
                f"{words + ': ' if words else ''}operands live on different devices:"
                f" {chosen.device} and {place.device}. Both were placed there by you; move one with"
                f" jax.device_put(x, {place.device!r})."
            )
    return chosen if chosen is not None else default_placement()


def _record(
    entry: Any, args: tuple[Any, ...], place: Placement, where: Any = None
) -> Array:
    tape = _threads.tape
    if len(tape.nodes) >= tape.cut or tape.load > HEAVY:
        checkpoint(tape)
    target = place.device
    if any([type(a) is Array and a.placement.device is not target for a in args]):
        args = tuple([_moved(a, place) if type(a) is Array else a for a in args])
    made = _node(entry, args, place, where or STATE.where or user_frame())
    made.tape = tape
    tape.nodes.append(made)
    tape.load += entry.load
    return made


def _moved(x: Array, place: Placement) -> Array:
    """An uncommitted operand follows the committed ones."""
    return x if x.placement.device is place.device else copy_to(x, place)


def _node(entry: Any, args: tuple[Any, ...], place: Placement, where: Any) -> Array:
    made = new_array(Array)
    made.aval = entry.aval
    made.placement = place
    made.buffer = None
    made.entry = entry
    made.args = args
    made.where = where
    made.epoch = 0
    made.tape = None
    return made


def _project(call: Array) -> list[Array]:
    """The results of a call with several, in order; recorded behind it."""
    place = call.placement
    where = call.where
    tape = call.tape
    args = (call,)
    outs = []
    for entry in call.entry.projections:
        made = new_array(Array)
        made.aval = entry.aval
        made.placement = place
        made.buffer = None
        made.entry = entry
        made.args = args
        made.where = where
        made.epoch = 0
        made.tape = tape
        outs.append(made)
    if tape is not None:
        tape.nodes += outs
    return outs


def call_now(
    op: Op, entry: Entry, args: tuple[Any, ...], place: Placement, where: Any
) -> list[Array]:
    """A call that is worth a program of its own: submitted at once."""
    target = place.device
    args = tuple([_moved(a, place) if type(a) is Array else a for a in args])
    for x in args:
        if type(x) is Array and x.buffer is None:
            force(x)
    if entry.calls_host:  # it runs on its own, as soon as what it reads is there
        host.forget()
        for x in args:
            if type(x) is Array:
                x.block_until_ready()
    donated = getattr(entry.op, "donated", ())
    given = [x for x, d in zip(args, donated) if d and type(x) is Array]
    if given:
        _check_given_once(op, args, donated)
        flush()  # what is pending may still read what is given away
    call, outs = call_node(entry, args, place, where)
    with _lock:
        nodes = [call, *outs] if entry.several else [call]
        try:
            execute.submit(nodes, list(outs), target, donated=given, all_needed=True)
            _give_away(given, where)
        except Exception:
            execute.launched = False
            raise
        except BaseException:  # Ctrl-C
            if execute.launched or any([x.buffer is not None for x in outs]):
                execute.launched = False
                _give_away(given, where)
            raise
    for out in (call, *outs):
        out.args = ()
        out.entry = None
    if entry.calls_host:
        host.run()
    return outs


def call_node(
    entry: Entry, args: tuple[Any, ...], place: Placement, where: Any
) -> tuple[Array, list[Array]]:
    """The node of a call that is on no tape, and its results (itself, if it has one)."""
    call = _node(entry, args, place, where)
    return call, _project(call) if entry.several else [call]


def _check_given_once(op: Any, args: Sequence[Any], donated: Sequence[bool]) -> None:
    """JaxRuntimeError if memory is donated twice, or donated and read as well."""
    given: dict[int, int] = {}
    for i, x in enumerate(args):
        if not donated[i] or type(x) is not Array:
            continue
        first = given.setdefault(id(x.buffer), i)
        if first == i:
            continue
        names = op.jaxpr.memo.get(DONOR_NAMES) or {}
        one, other = [names.get(n, f"operand {n}") for n in (first, i)]
        what = op.jaxpr.name or "the function"
        raise errors.JaxRuntimeError(
            f"one array is donated twice in the same call: {one} and {other} of"
            f" `{what}` are the same {x.aval.long_name()}, and both are donated. Give the"
            " function two arrays, as in f(x, x.copy())"
        )


def _call_host(op: Op, args: Sequence[Any]) -> list[Array]:
    """Calls Python now, with arrays."""
    args = tuple([_operand(a) for a in args])
    place = place_of(args)
    avals = tuple([aval_of(a) for a in args])
    outs = infer(op, avals)
    where = STATE.where or user_frame()
    device = place.device
    arrays = []
    for x, aval in zip(args, avals):
        if type(x) is not Array:
            x = put(_narrowed(x, aval), aval, place)
        arrays.append(x.block_until_ready())
    results = host.call(op, arrays)
    return [
        ready(device.backend.put(result, aval, device, where), aval, place, where)
        for result, aval in zip(results, outs)
    ]


def _give_away(donated: Sequence[Array], where: Any) -> None:
    for x in donated:
        if type(x.buffer) is not Deleted:
            place = format_where(where)
            array_module.mark_deleted(x, f"donated to the call at {place}")


# -------------------------------------------------------------------- host and devices


def put(
    host: np.ndarray[Any, Any], aval: Aval | None = None, place: Placement | None = None
) -> Array:
    """A ready array with a copy of a host array."""
    if aval is None:
        aval = aval_of(host)
    if place is None:
        place = default_placement()
    where = STATE.where or user_frame()
    device = place.device
    buffer = device.backend.put(host, aval, device, where)
    return ready(buffer, aval, place, where)


def ready(buffer: Any, aval: Aval, place: Placement, where: Any) -> Array:
    """An array on an existing buffer."""
    made = new_array(Array)
    made.aval = aval
    made.placement = place
    made.buffer = buffer
    made.entry = None
    made.args = ()
    made.where = where
    made.epoch = 0
    made.tape = None
    return made


def alias(x: Array, aval: Aval) -> Array:
    """Another array with the memory of `x`, under a type of the same layout."""
    return ready(array_module.ready_buffer(x), aval, x.placement, x.where)


def operand_array(x: Any, aval: Aval) -> Array:
    """A value as an array of type `aval`, of which only weakness may differ from its."""
    if type(x) is not Array:
        return put(_narrowed(x, aval), aval)
    return x if x.aval is aval else alias(x, aval)


def copy_to(x: Array, place: Placement) -> Array:
    """A new array with the value of `x`; `x` stays where it is."""
    buffer = array_module.ready_buffer(x)
    where = STATE.where or user_frame()
    source = x.placement.device
    if place.device is source:
        return ready(buffer, x.aval, place, where)
    host = source.backend.get(buffer, x.aval)
    return ready(
        place.device.backend.put(host, x.aval, place.device, where),
        x.aval,
        place,
        where,
    )


def install() -> None:
    """Makes the recorder the base trace, and lets arrays reach it."""
    Array._force = staticmethod(force)
    array_module.from_host = put
    execute.reclaim = prune_all
    set_base(Recorder())
