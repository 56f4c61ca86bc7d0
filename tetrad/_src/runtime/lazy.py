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
from tetrad._src.runtime import counts, execute, host, room, transfers
from tetrad._src.runtime import flush as flush_module
from tetrad._src.runtime.array import (
    Array,
    Deleted,
    DeletedPlacement,
    deleted,
    new_array,
)
from tetrad._src.runtime.copies import names_of_sharers
from tetrad._src.runtime.device import (
    Device,
    Floating,
    Placement,
    Roaming,
    default_placement,
    several,
)
from tetrad._src.runtime.entry import Entry, entries, entry_of
from tetrad._src.runtime.flush import HEAVY, checkpoint, force, land, prune_all
from tetrad._src.runtime.flush import flush_all as flush_all
from tetrad._src.runtime.flush import flush_quietly as flush_quietly
from tetrad._src.runtime.flush import lock as _lock
from tetrad._src.runtime.flush import threads as _threads
from tetrad._src.util import dtypes, errors, frames
from tetrad._src.util.config import config
from tetrad._src.util.frames import expression_at, format_where, user_frame

LONGEST = 60  # characters of the user's words in a message
AGAIN = 16  # pending operations that are done again on another device, at most
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
                        place = _together(place, y.placement)
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
        elif args:
            key, place = _key_of(op, args)
            if place is None:
                return self.general(op, args)
        else:
            return self.general(op, args)
        entry = entries[config.x64].get(key)
        if entry is None or (type(place) is not Placement and not _at_home(place)):
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
        made.where = STATE.where or user_frame(3)  # who calls `process` is ours
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
        place: Any = None
        mixed = False
        for arg in args:
            if type(arg) is not Array:
                mixed = True
            elif arg.placement is not place:
                if place is None:
                    place = arg.placement
                else:
                    place = _together(place, arg.placement)
                    if place is None:
                        return self.slow_call(op, args)
        if mixed:
            entry = _mixed_entry(op, args)
        if entry is None:
            return self.slow_call(op, args)
        arg = None
        if type(place) is not Placement and not _at_home(place):
            return self.slow_call(op, args)
        where = STATE.where or user_frame(4)
        if entry.heavy:
            return call_now(op, entry, tuple(args), place, where)
        tape = _threads.tape
        if len(tape.nodes) >= tape.cut or tape.load > HEAVY:
            checkpoint(tape)
        made = _node(entry, args, place, where)  # type: ignore[arg-type]
        made.tape = tape
        tape.load += entry.load
        if entry.several:
            return _project(made)
        tape.nodes.append(made)
        return [made]

    def slow_call(self, op: Op, args: Sequence[Any]) -> list[Any]:
        """A call that is not recorded as one before."""
        if BOUNDS in op.effects and (outs := self.told(op, args)) is not None:
            return outs
        return self.general(op, args)  # type: ignore[no-any-return]

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
        place = place_of(args)
        args = tuple([_operand(a, place) for a in args])
        if op.target is not None:
            return _put_on(op, *args)
        entry = entry_of(op, args)
        if entry.targets:
            place = constrained(entry, place)
        if not op.multiple:
            return _record(entry, args, place)
        where = STATE.where or user_frame()
        if entry.calls_host and not place.device.backend.calls_host:
            results: list[Array] = op.expand(*args)  # in pieces, between the calls
            return results
        if entry.calls_host or any(getattr(op, "donated", ())):
            return call_now(op, entry, args, place, where)
        if op.kind is Kind.CALL and not entry.targets and BOUNDS not in op.effects:
            _remember(op, entry, args)
        if entry.heavy:
            return call_now(op, entry, args, place, where)
        call = _record(entry, args, place, where)
        if not entry.several:
            return [call]
        return _project(call)


def _key_of(op: Op, args: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
    """The key of an operation on any operands, and where it runs, if that is plain."""
    parts: list[Any] = [op]
    place: Any = None
    for x in args:
        if type(x) is Array:
            if x.placement is not place:
                place = x.placement if place is None else _together(place, x.placement)
                if place is None:
                    break
            parts.append(x.aval)
        elif type(x) in _WIDE and not INT_MIN <= x <= INT_MAX:
            return (), None
        else:
            parts.append(type(x))
    return tuple(parts), place


def _remember(op: Op, entry: Entry, args: Sequence[Any]) -> None:
    """Keeps what is known of a call on it, for operands of these types."""
    kinds = tuple(map(type, args))
    if all([kind is Array for kind in kinds]):
        op.__dict__["_entry"] = entry
    else:
        op.__dict__.setdefault("_mixed", {})[kinds] = entry


def _mixed_entry(op: Op, args: Sequence[Any]) -> Entry | None:
    """What is kept on a call for arrays and numbers of these types."""
    known: dict[Any, Entry] | None = op.__dict__.get("_mixed")
    if known is None:
        return None
    for x in args:
        if type(x) in _WIDE and not INT_MIN <= x <= INT_MAX:
            return None
    return known.get(tuple(map(type, args)))


# Kinds of numbers that may not fit 32 bits.
_WIDE = frozenset([int, np.int64, np.uint64])


def _operand(x: Any, place: Placement) -> Any:
    """An operand as the tape takes it: an Array, or a scalar passed by value.

    What is an array of the host goes to `place`.
    """
    kind = type(x)
    if kind is Array:
        if type(x.buffer) is Deleted:
            raise deleted(x)
        if type(x.placement) is Floating and place.is_committed:
            land(x, place.device)
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
    return put(_narrowed(x, aval), aval, place.device.free, operand=True)


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


# ---------------------------------------------------------------------- where it runs


def _at_home(place: Any) -> bool:
    """Whether what is computed from operands of this placement has it, too."""
    return type(place) is Roaming and place is default_placement()


def _together(one: Placement, other: Placement) -> Placement | None:
    """The placement of what is computed from both; None where that is more work."""
    if type(one) is not Placement or type(other) is not Placement:
        return None
    if one.device is not other.device:
        return None
    return one if one.is_committed else other


def place_of(args: Sequence[Any]) -> Placement:
    """Where the operation runs: where its committed operands are, else by default."""
    chosen: Any = None
    first: Any = None
    for x in args:
        if type(x) is not Array:
            continue
        place = x.placement
        if type(place) is DeletedPlacement:
            raise deleted(x)
        if not place.is_committed:
            continue
        if chosen is None:
            chosen, first = place, x
        elif chosen.device is not place.device:
            raise ValueError(_apart(first, x))
    return chosen if chosen is not None else default_placement()


def _apart(x: Array, y: Array) -> str:
    """The message for operands that the user placed on different devices."""
    line = user_frame()
    words = expression_at(*line) if line is not None else None
    one, other = x.placement, y.placement
    device = other.device
    return (
        f"{words + ': ' if words else ''}operands live on different devices,"
        f" {one.device} and {device}. {x.aval.long_name()} was placed on {one.device} at"
        f" {format_where(one.where)}, and {y.aval.long_name()} on {device} at"
        f" {format_where(other.where)}. Move one of them, as in jax.device_put(x,"
        f" jax.devices({device.platform!r})[{device.id}])"
    )


def constrained(entry: Entry, place: Placement) -> Placement:
    """Where a call runs whose function says where: see `api.devices.device_put`."""
    (device, where), *others = entry.targets.items()
    if others:
        other, line = others[0]
        raise ValueError(
            f"a compiled function runs on one device, but this one puts arrays on"
            f" {device} at {format_where(where)} and on {other} at {format_where(line)}."
            " Make it one function for each device, and move the arrays between the calls"
        )
    if not place.is_committed:
        chosen: Placement = device.placed(where=where)
        return chosen
    if place.device is not device:
        raise ValueError(
            f"a compiled function runs on one device, but this one puts an array on"
            f" {device} at {format_where(where)}, and its arguments are on {place.device},"
            f" placed there at {format_where(place.where)}. Move the arguments before the"
            " call, or the result after it, with jax.device_put"
        )
    return place


def _put_on(op: Op, x: Any) -> Array:
    """`device_put` under transformations, once these are peeled off."""
    if type(x) is not Array:
        aval = aval_of(x)
        return put(np.asarray(x, aval.dtype), aval, op.target)
    return copy_to(x, op.target)


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
    if not entry.several:  # else its results are recorded with it
        tape.nodes.append(made)
    tape.load += entry.load
    return made


def _moved(x: Array, place: Placement) -> Array:
    """An operand that nobody placed follows the operation."""
    device = place.device
    if type(x.placement) is Floating:
        land(x, device)
    if x.placement.device is device:
        return x
    found = _again(x, device.free)
    return copy_to(x, device.free) if found is None else found


def _again(x: Array, place: Placement) -> Array | None:
    """A pending array that depends on no other data, recorded anew for another device.

    So what a function makes on its way (a mask, a count) is made where it is needed.
    Host data that has not gone anywhere yet counts as no data.
    """
    made: dict[int, Array] = {}
    stack = [x]
    while stack:
        node = stack[-1]
        if id(node) in made:
            stack.pop()
            continue
        if type(node.placement) is Floating and node.buffer is None:
            made[id(node)] = _floating(node.args, node.aval, place.device, node.where)
            continue
        if node.buffer is not None or type(node.entry) is not Entry:
            return None
        args = [a for a in node.args if type(a) is Array]
        waiting = [a for a in args if id(a) not in made]
        if waiting:
            stack += waiting
        elif len(made) == AGAIN:
            return None
        else:
            new = [made[id(a)] if type(a) is Array else a for a in node.args]
            copy = _node(node.entry, tuple(new), place, node.where)
            made[id(node)] = copy
            stack.pop()
        if len(stack) > AGAIN:
            return None
    tape = _threads.tape
    for node in made.values():
        if type(node.placement) is Floating:
            continue
        node.tape = tape
        tape.nodes.append(node)
        tape.load += node.entry.load
    return made[id(x)]


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
    """The results of a call with several, in order; recorded with it.

    All at once: another thread may submit what is recorded at any time.
    """
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
        tape.nodes += [call, *outs]
    return outs


def call_now(
    op: Op, entry: Entry, args: tuple[Any, ...], place: Placement, where: Any
) -> list[Array]:
    """A call that is worth a program of its own: submitted at once."""
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
        _tell_if_shared(op, given, donated)
        flush_all()  # what is pending may still read what is given away
    call, outs = call_node(entry, args, place, where)
    if given or entry.calls_host or not _run_call(call, outs):
        try:
            room.tried_twice(flush_quietly, _submit_call, op, call, outs, args, donated)
        except errors.OutOfMemoryError as full:
            if full.asked is not None:
                full.asked.op = op
            raise
    for out in (call, *outs):
        out.args = ()
        out.entry = None
    if entry.calls_host:
        host.run()
    return outs


def _run_call(call: Array, outs: list[Array]) -> bool:
    """Runs a call that gives nothing away by the program that its entry remembers.

    Says no where `_submit_call` can do more: room is to be made, copies are to be told.
    """
    with _lock:
        try:
            program = execute.alone_of_call(call, outs)
            return program is not None and execute.run_alone(program, call, outs)
        except errors.OutOfMemoryError:
            return False


def _submit_call(
    op: Op,
    call: Array,
    outs: list[Array],
    args: Sequence[Any],
    donated: Sequence[bool],
) -> None:
    """Submits a call that is on no tape, and takes away what was donated to it."""
    where = call.where
    given = [x for x, d in zip(args, donated) if d and type(x) is Array]
    with _lock:
        nodes = [call, *outs] if call.entry.several else [call]
        target = call.placement.device
        try:
            execute.submit(nodes, list(outs), target, donated=given, all_needed=True)
            _give_away(op, args, donated, where)
        except errors.CopyError as error:
            del nodes, outs, call, given, args
            error.__traceback__ = None
            raise
        except Exception:
            execute.launched = False
            raise
        except BaseException:  # Ctrl-C
            if execute.launched or any([x.buffer is not None for x in outs]):
                execute.launched = False
                _give_away(op, args, donated, where)
            raise


def call_node(
    entry: Entry, args: tuple[Any, ...], place: Placement, where: Any
) -> tuple[Array, list[Array]]:
    """The node of a call that is on no tape, and its results (itself, if it has one)."""
    call = _node(entry, args, place, where)
    return call, _project(call) if entry.several else [call]


def _call_host(op: Op, args: Sequence[Any]) -> list[Array]:
    """Calls Python now, with arrays."""
    place = place_of(args)
    args = tuple([_operand(a, place) for a in args])
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
        ready(_stored(result, aval, device, where), aval, place, where)
        for result, aval in zip(results, outs)
    ]


def _tell_if_shared(op: Any, given: Sequence[Array], donated: Sequence[bool]) -> None:
    """Warns, once for a function, if others see the memory that is to be given away."""
    memo = op.jaxpr.memo
    if SHARED in memo or not op.jaxpr.name:
        return
    once = list({id(x): x for x in given}.values())
    shared = counts.count([x.buffer for x in once])
    for x, count in zip(once, shared):
        if count <= counts.BUFFER or type(x.buffer) is Deleted:
            continue
        holders = ", ".join(names_of_sharers(x))
        if not holders:  # a report that looks on
            continue
        memo[SHARED] = True
        frames.warn(
            f"a donated buffer was not usable: the memory of the {x.aval.long_name()}"
            f" array made at {format_where(x.where)}, which is donated to"
            f" `{op.jaxpr.name}`, is also that of {holders}. It stays, and the results"
            " get memory of their own"
        )


SHARED = "the memory of donated arrays was shared"


def _give_away(
    op: Any, args: Sequence[Any], donated: Sequence[bool], where: Any
) -> None:
    """Marks what a call was given; an array that it was given twice, too."""
    if not any(donated):
        return
    names = op.jaxpr.memo.get(DONOR_NAMES) or {}
    function = f"`{op.jaxpr.name}`" if op.jaxpr.name else "the call"
    for number, (x, given) in enumerate(zip(args, donated)):
        if given and type(x) is Array and type(x.buffer) is not Deleted:
            name = f" as {names[number]}" if number in names else ""
            place = format_where(where)
            array_module.mark_deleted(x, f"donated to {function}{name} at {place}")


# -------------------------------------------------------------------- host and devices


def put(
    host: np.ndarray[Any, Any],
    aval: Aval | None = None,
    place: Placement | None = None,
    told: bool = True,
    operand: bool = False,
) -> Array:
    """A ready array with a copy of a host array.

    It is a transfer for those who want to know, unless `told` is False; that of an
    operand, if so.
    """
    if aval is None:
        aval = aval_of(host)
    if place is None:
        place = default_placement()
    where = STATE.where or user_frame()
    device = place.device
    if told and transfers.listened():
        transfers.upload(aval, device, operand)
    return ready(_stored(host, aval, device, where), aval, place, where)


def _stored(host: np.ndarray[Any, Any], aval: Aval, device: Device, where: Any) -> Any:
    """A buffer of `device` with a copy of a host array."""
    put = device.backend.put
    return room.tried_twice(flush_quietly, put, host, aval, device, where)


def passed(host: np.ndarray[Any, Any], aval: Aval) -> Array:
    """A host array as an operand of an operation that may run anywhere."""
    return float_in(_narrowed(host, aval), aval)


def float_in(host: np.ndarray[Any, Any], aval: Aval) -> Array:
    """An array with a copy of a host array, for an operation that may run anywhere."""
    place = default_placement()
    if not several() or place.is_committed:
        return put(host, aval, place, operand=True)
    where = STATE.where or user_frame()
    if transfers.listened():
        transfers.upload(aval, place.device)
    return _floating((np.array(host),), aval, place.device, where)


def _floating(data: tuple[Any, ...], aval: Aval, device: Device, where: Any) -> Array:
    flush_module.floated = True
    made = ready(None, aval, device.floating, where)
    made.args = data
    return made


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


def copy_to(x: Array, place: Placement, share: bool = True) -> Array:
    """A new array with the value of `x`, which stays where it is.

    On the device of `x` it has the memory of `x`, unless `share` is False.
    """
    buffer = array_module.ready_buffer(x)
    where = STATE.where or user_frame()
    source, target = x.placement.device, place.device
    if target is source and share:
        return _noted(x, ready(buffer, x.aval, place, where))
    if target is not source and transfers.listened():
        transfers.move(x.aval, source, target)
    host = source.backend.get(buffer, x.aval)
    moved = _stored(host, x.aval, target, where)
    return _noted(x, ready(moved, x.aval, place, where))


def copy_on(x: Array, device: Device) -> Array:
    """A copy that nobody placed, on `device`; `x` itself if it is there."""
    data = x.args
    if type(x.placement) is Floating and x.buffer is None and data:
        made = _floating(data, x.aval, device, x.where)
        land(made, device)
        return made
    return x if x.placement.device is device else copy_to(x, device.free)


def duplicate(x: Array) -> Array:
    """A copy of `x` beside it."""
    return copy_to(x, x.placement, share=False)


def _noted(x: Array, copy: Array) -> Array:
    """The copy, with what the language knows about `x`."""
    note = getattr(x, "note", None)
    if note is not None:
        copy.note = note
    return copy


def install() -> None:
    """Makes the recorder the base trace, and lets arrays reach it."""
    Array._force = staticmethod(force)
    Array._submit = staticmethod(flush_all)
    array_module.from_host = put
    array_module.duplicate = duplicate
    execute.reclaim = prune_all
    set_base(Recorder())
