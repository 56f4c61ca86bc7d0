"""The recorder: eager operations are written down and submitted together.

`Recorder.process` is what an operation reaches outside every transformation. It appends
a pending `Array` to the tape of its thread and returns. A tape is closed ("flushed")
when a value is needed, when enough has accumulated, or when it repeats itself; what is
then still reachable is compiled as one program and submitted (`execute.py`).

Read in this order: `Entry` (what inference found out about an operation on operands of
given types), `Tape`, `Recorder.process` (the fast path), `checkpoint` (when to cut),
`flush`.

Liveness needs no bookkeeping: a node is live if its reference count exceeds what the
tape and pending operations account for. Therefore no local variable may hold a node
while counts are taken.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Tracer, aval_of, set_base
from tetrad._src.core.op import Kind, Op, infer
from tetrad._src.core.stage import leak_message
from tetrad._src.runtime import array as array_module
from tetrad._src.runtime import counts, execute
from tetrad._src.runtime.array import (
    Array,
    Deleted,
    DeletedPlacement,
    deleted,
    new_array,
)
from tetrad._src.runtime.device import Placement, default_placement
from tetrad._src.util import dtypes, errors
from tetrad._src.util.config import config
from tetrad._src.util.frames import format_where, user_frame
from tetrad._src.util.memo import Cache

CUT = 128  # operations on a tape before it looks for its period
LONGEST = 4096  # a tape never grows beyond this
TAKE_OVER = 1 << 16  # bytes from which finding a buffer to take over pays
HEAVY = 256 << 20  # bytes that pending work moves before a tape is looked at
FEW = 16  # operations that are never cut apart, however large: they may fuse
LIGHT_CALL_EQUATIONS = 32  # calls up to this size are recorded like one operation
LIGHT_CALL_BYTES = 1 << 16

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1


class Entry:
    """What is known of an operation on operands of given types.

    Identity is the key: two nodes with the same entry do the same. `in_avals` are the
    operand types; `weight` counts equations, `load` estimates the bytes moved. `several`
    says that the results are projections of a node that no user holds. `alone` is the
    program of this one operation on distinct arrays, once it was needed.
    """

    __slots__ = (
        "op", "aval", "avals", "in_avals", "by_value", "weight", "load", "heavy",
        "several", "projections", "alone",
    )  # fmt: skip
    projected = False

    def __init__(self, op: Op, args: Sequence[Any]) -> None:
        self.op = op
        self.in_avals = in_avals = tuple([aval_of(a) for a in args])
        self.by_value = tuple([type(a) is not Array for a in args])
        out = infer(op, in_avals)
        self.avals: tuple[Aval, ...] = tuple(out) if op.multiple else (out,)
        self.aval: Aval = self.avals[0] if self.avals else Aval((), np.dtype(bool))
        self.load = sum([a.nbytes for a in (*in_avals, *self.avals)])
        self.weight = 1
        self.heavy = False
        self.several = op.multiple and len(self.avals) != 1
        self.projections = [_projection(i, a) for i, a in enumerate(self.avals)]
        self.alone: Any = None
        if op.kind is Kind.UPDATE:  # touches the elements that it replaces
            self.load = sum([a.nbytes for a in in_avals[1:]])
        work = getattr(op, "work", None)
        if work is not None:
            self.load += work(*in_avals) // 4
        if op.kind is Kind.CALL:
            self.weight = sum([len(j.eqns) for j in op.jaxprs()])
            self.heavy = (
                self.weight > LIGHT_CALL_EQUATIONS or self.load > LIGHT_CALL_BYTES
            )


class Projection:
    """The entry of one output of an operation with several."""

    __slots__ = ("index", "aval", "weight", "load")
    projected = True

    def __init__(self, index: int, aval: Aval) -> None:
        self.index = index
        self.aval = aval
        self.weight = 0
        self.load = 0


class Tape:
    """What one thread has recorded and not yet submitted."""

    __slots__ = ("nodes", "cut", "period", "load", "__weakref__")

    def __init__(self) -> None:
        self.nodes: list[Array] = []
        self.cut = CUT
        self.period = 0
        self.load = 0


class _Threads(threading.local):
    def __init__(self) -> None:
        self.tape = Tape()
        _all_tapes.add(self.tape)


_all_tapes: weakref.WeakSet[Tape] = weakref.WeakSet()
_threads = _Threads()
_lock = threading.RLock()
_busy = False

_entries: dict[bool, Cache] = {
    x64: Cache(f"recorded operations, x64={x64}", limit=65536) for x64 in (False, True)
}
_calls = Cache("recorded calls", limit=8192)  # by structure
_recent_calls = Cache("recent calls", limit=512)  # by identity
_projections = Cache("projections", limit=8192)

BY_VALUE = (
    bool, int, float,
    np.bool_, np.int8, np.int16, np.int32, np.int64,
    np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64,
)  # fmt: skip
_by_value = frozenset(BY_VALUE)


class Recorder(Trace):
    """The base trace."""

    parent = None

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
        entry = _entries[config.x64].get(key)
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
        made.uses = 0
        made.epoch = 0
        made.tape = tape
        tape.nodes.append(made)
        tape.load += entry.load
        return made

    def call(self, op: Op, args: Sequence[Any]) -> list[Any]:
        """Records an operation with several results, or a call: gives a list.

        What a call of these very jaxprs on arrays costs to look up is kept on it.
        """
        entry = op.__dict__.get("_entry")
        if entry is None:
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
        if op.kind is Kind.CALL and not getattr(op, "inlined", False):
            return op.expand(*args)
        args = tuple([_operand(a) for a in args])
        place = _place(args)
        entry = _entry(op, args)
        if not op.multiple:
            return _record(entry, args, place)
        where = STATE.where or user_frame()
        if entry.heavy or any(getattr(op, "donated", ())):
            return _call_now(entry, args, place, where)
        call = _record(entry, args, place, where)
        if op.kind is Kind.CALL and all([type(a) is Array for a in args]):
            op.__dict__["_entry"] = entry
        if not entry.several:
            return [call]
        return _project(call)


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
        if kind is int and not INT_MIN <= x <= INT_MAX:
            dtypes.check_narrowing(x, aval_of(x).dtype)
        return x
    if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
        return next(t(x) for t in (bool, int, float) if isinstance(x, t))
    aval = aval_of(x)
    return put(np.asarray(x, aval.dtype), aval)


def _place(args: Sequence[Any]) -> Placement:
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
            raise ValueError(
                f"operands live on different devices: {chosen.device} and"
                f" {place.device}. Both were placed there by you; move one with"
                f" jax.device_put(x, {place.device!r})."
            )
    return chosen if chosen is not None else default_placement()


def _entry(op: Op, args: Sequence[Any]) -> Entry:
    """The entry of `op` on such operands, inferred now if it is new."""
    kinds = tuple([a.aval if type(a) is Array else type(a) for a in args])
    key: Any = (op, *kinds)
    if not op.multiple:
        cache = _entries[config.x64]
    else:
        cache = _recent_calls
        key = (op, config.x64, *kinds)
    entry: Entry | None = cache.get(key)
    if entry is not None:
        return entry
    if op.kind is Kind.CALL:
        structure = (op.structural(), config.x64, kinds)
        entry = _calls.get(structure)
        if entry is None:
            entry = _calls.setdefault(structure, Entry(op, args))
    else:
        entry = Entry(op, args)
    return cache.setdefault(key, entry)  # type: ignore[no-any-return]


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
    made.uses = 0
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
        made.uses = 0
        made.epoch = 0
        made.tape = tape
        outs.append(made)
    if tape is not None:
        tape.nodes += outs
    return outs


def _projection(index: int, aval: Aval) -> Projection:
    found = _projections.get((index, aval))
    if found is None:
        found = _projections.setdefault((index, aval), Projection(index, aval))
    return found  # type: ignore[no-any-return]


def _call_now(
    entry: Entry, args: tuple[Any, ...], place: Placement, where: Any
) -> list[Array]:
    """A call that is worth a program of its own: submitted at once."""
    target = place.device
    args = tuple([_moved(a, place) if type(a) is Array else a for a in args])
    for x in args:
        if type(x) is Array and x.buffer is None:
            force(x)
    donated = getattr(entry.op, "donated", ())
    given = [x for x, d in zip(args, donated) if d and type(x) is Array]
    if given:
        if len({id(x) for x in given}) < len(given):
            raise errors.JaxRuntimeError(
                "one array is donated twice in the same call: give the function two"
                " arrays, as in f(x, x.copy())"
            )
        flush()  # what is pending may still read what is given away
    call = _node(entry, args, place, where)
    outs = [call]
    if entry.several:
        outs = _project(call)
    with _lock:
        nodes = [call, *outs] if entry.several else [call]
        execute.submit(nodes, list(outs), target, donated=given, all_needed=True)
    for x in given:
        place_text = format_where(where)
        if type(x.buffer) is not Deleted:
            array_module.mark_deleted(x, f"donated to the call at {place_text}")
    for out in (call, *outs):
        out.args = ()
        out.entry = None
    return outs


# ------------------------------------------------------------------------- repetition


def find_period(keys: list[Any]) -> tuple[int, int] | None:
    """The period at the end of `keys`, and where the periodic run starts.

    Candidates are the distances to earlier occurrences of the last key; a candidate
    holds if the last two stretches of that length are equal.
    """
    n = len(keys)
    last = keys[-1]
    j = n - 2
    while j >= 0:
        while j >= 0 and keys[j] is not last:
            j -= 1
        period = n - 1 - j
        if j < 0 or 2 * period > n:
            return None
        if keys[n - period :] == keys[n - 2 * period : n - period]:
            start = n - 2 * period
            while start > 0 and keys[start - 1] is keys[start - 1 + period]:
                start -= 1
            return period, start
        j -= 1
    return None


def checkpoint(tape: Tape) -> None:
    """Called before an operation is recorded on a long tape: cut now, or later?

    A periodic tape is cut at a multiple of its period counted from the start of the
    run, so that every turn of a Python loop gives the same program.
    """
    if _busy:
        return
    if tape.load > HEAVY:
        prune(tape)
        if len(tape.nodes) >= FEW:
            flush(tape)
        tape.load = 0
        return
    n = len(tape.nodes)
    if tape.period:
        flush(tape)
        return
    found = find_period([x.entry for x in tape.nodes])
    if found is not None:
        period, start = found
        phase = start % period
        boundary = phase + -(-(n - phase) // period) * period
        if boundary == n:
            flush(tape)
        else:
            tape.period = period
            tape.cut = boundary
        return
    if n >= LONGEST:
        flush(tape)
    else:
        tape.cut = min(2 * n, LONGEST)


# ------------------------------------------------------------------------------ flush


def force(x: Array) -> Any:
    """The buffer of a pending array, after submitting what it needs."""
    while x.buffer is None:
        tape = x.tape
        if _busy and _lock_is_mine():
            raise RuntimeError(
                "an array was read while its own recording was being submitted (from a"
                " destructor or a weak reference callback)"
            )
        if tape is None:
            _compute_alone(x)
            continue
        try:
            if len(tape.nodes) != 1 or not _run_alone(tape, x):
                flush(tape)
        except Exception:
            # Perhaps it was something else on the tape that failed.
            _detach(tape)
    if type(x.buffer) is Deleted:
        raise deleted(x)
    return x.buffer


def _run_alone(tape: Tape, x: Array) -> bool:
    """Runs a tape of one operation on ready arrays by its remembered program.

    Says no if there is no such program yet, or if what `flush` finds out matters: an
    operand that occurs twice, or one whose large buffer the result could take over.
    """
    if tape.nodes[0] is not x:
        return False
    entry = x.entry
    if type(entry) is not Entry or entry.several or x.aval.nbytes > TAKE_OVER:
        return False
    program = entry.alone
    if program is None:
        program = entry.alone = execute.alone(entry, x)
    if program.backend is not x.placement.device.backend:
        return False
    with _lock:
        if _busy or len(tape.nodes) != 1 or x.buffer is not None:
            return False
        if not execute.run_alone(program, x):
            return False
        tape.nodes.clear()
        tape.load = 0
        tape.cut = CUT
        tape.period = 0
    x.args = ()
    x.entry = None
    return True


def _lock_is_mine() -> bool:
    return bool(_lock._is_owned())  # type: ignore[attr-defined]


class _Closing:
    """While a tape is being submitted: no collector, no second submission."""

    __slots__ = ("snapshot", "collecting")

    def __init__(self, snapshot: list[Array]) -> None:
        self.snapshot = snapshot

    def __enter__(self) -> None:
        global _busy
        self.collecting = gc.isenabled()
        _busy = True
        gc.disable()

    def __exit__(self, *exc: object) -> None:
        global _busy
        for node in self.snapshot:
            for arg in node.args:
                if type(arg) is Array:
                    arg.uses = 0
            node.uses = 0
        _busy = False
        if self.collecting:
            gc.enable()


def flush(tape: Tape | None = None) -> None:
    """Submits what live handles can reach of `tape` (by default, this thread's)."""
    if tape is None:
        tape = _threads.tape
    with _lock:
        if _busy or not tape.nodes:
            return
        try:
            if len(_all_tapes) > 1 or _failures:
                _flush_foreign(tape)
            snapshot = tape.nodes[:]
            with _Closing(snapshot):
                _flush(snapshot)
        except Exception:
            _detach(tape)
            raise
        del tape.nodes[: len(snapshot)]
        tape.load = 0
        tape.cut = CUT
        tape.period = 0
        for node in snapshot:
            node.args = ()
            node.entry = None


def _flush_foreign(tape: Tape) -> None:
    """Submits the tapes of other threads on which this one depends, and computes what
    it needs of recordings that failed.
    """
    others = {
        arg.tape
        for node in tape.nodes[:]
        for arg in node.args
        if type(arg) is Array and arg.buffer is None and arg.tape is not tape
    }
    if None in others:
        for node in tape.nodes[:]:
            for arg in node.args:
                if type(arg) is Array and arg.buffer is None and arg.tape is None:
                    force(arg)
        others.remove(None)
    for other in others:
        flush(other)


def _flush(snapshot: list[Array]) -> None:
    """Finds live nodes and submits them, device by device."""
    outs = _live(snapshot, _count(snapshot))
    if not outs:
        return
    device = outs[0].placement.device
    if all([x.placement.device is device for x in outs]):
        execute.submit(snapshot, outs, device)
        return
    for target in {x.placement.device for x in outs}:
        part = [x for x in snapshot if x.placement.device is target]
        mine = [x for x in outs if x.placement.device is target]
        execute.submit(part, mine, target, donated=())


def _count(snapshot: list[Array]) -> list[int]:
    """Reference counts of the nodes; notes in `uses` how many the tape itself holds."""
    held = counts.count(snapshot)  # first: no local may hold a node yet
    for node in snapshot:
        for arg in node.args:
            if type(arg) is Array:
                arg.uses += 1
    return held


def _live(snapshot: list[Array], held: list[int]) -> list[Array]:
    """The nodes that handles reach, in order; marks all they need with the epoch."""
    epoch = execute.next_epoch()
    baseline = counts.NODE
    outs = []
    for node, count in zip(reversed(snapshot), reversed(held)):
        if count > baseline + node.uses:
            node.epoch = epoch
            outs.append(node)
        elif node.epoch != epoch:
            continue
        for arg in node.args:
            if type(arg) is Array:
                arg.epoch = epoch
    outs.reverse()
    return outs


def prune(tape: Tape) -> None:
    """Drops recorded work that nobody can reach any more."""
    with _lock:
        if _busy or not tape.nodes:
            return
        snapshot = tape.nodes[:]
        with _Closing(snapshot):
            _live(snapshot, _count(snapshot))
            epoch = execute.epoch
            kept = [x for x in snapshot if x.epoch == epoch]
            gone = [x for x in snapshot if x.epoch != epoch]
        tape.nodes[: len(snapshot)] = kept
        for node in gone:
            node.args = ()
            node.entry = None


def prune_all() -> None:
    for tape in list(_all_tapes):
        prune(tape)


def flush_all() -> None:
    for tape in list(_all_tapes):
        flush(tape)


# --------------------------------------------------------------------------- failures

_failures = 0  # recordings that could not be submitted as a whole


def _detach(tape: Tape) -> None:
    """After an error: takes what is recorded off the tape.

    Which operation failed, or asked for too much memory, is unknown here. The nodes
    still know how they are computed: each is computed alone when it is asked for, so
    that the error stays with the arrays that depend on its cause.
    """
    global _failures
    with _lock:
        for node in tape.nodes:
            node.tape = None
            if node.buffer is not None:
                node.args = ()
                node.entry = None
        _failures += bool(tape.nodes)
        tape.nodes.clear()
        tape.load = 0
        tape.cut = CUT
        tape.period = 0


def _compute_alone(x: Array) -> None:
    """Computes a detached node, and nothing but what it needs."""
    with _lock:
        nodes = _needed(x)
        with _Closing(nodes):
            device = x.placement.device
            execute.submit(nodes, [x], device, donated=(), all_needed=True)
    x.args = ()
    x.entry = None


def _needed(x: Array) -> list[Array]:
    """The pending nodes that `x` is computed from, in order, and `x`."""
    order: list[Array] = []
    done: set[int] = set()
    stack = [x]
    while stack:
        node = stack[-1]
        waiting = []
        for arg in node.args:
            if type(arg) is not Array or arg.buffer is not None or id(arg) in done:
                continue
            if arg.tape is None:
                waiting.append(arg)
            else:
                force(arg)
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if id(node) not in done:
            done.add(id(node))
            order.append(node)
    return order


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
    made.uses = 0
    made.epoch = 0
    made.tape = None
    return made


def copy_to(x: Array, place: Placement) -> Array:
    """A new array with the value of `x`; `x` stays where it is."""
    buffer = array_module.ready_buffer(x)
    where = STATE.where or user_frame()
    source = x.placement.device
    if place.device is source:
        return ready(buffer, x.aval, place, where)
    host = source.backend.get(buffer, x.aval)
    return ready(place.device.backend.put(host, x.aval, place.device, where), x.aval, place, where)


def install() -> None:
    """Makes the recorder the base trace, and lets arrays reach it."""
    Array.force = staticmethod(force)
    array_module.from_host = put
    execute.reclaim = prune_all
    set_base(Recorder())
