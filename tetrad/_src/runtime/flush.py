"""Submission: when the tape of a thread is closed, and what is then computed.

Read in this order: `Tape`, `checkpoint` (when to cut: a tape that repeats itself is cut
at its period), `force` and `flush` (what a read does), `prune` (dropping what is dead),
then failures.

Liveness needs no bookkeeping: a node is live if its reference count exceeds what the
tape and pending operations account for. Therefore no local variable may hold a node
while counts are taken.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from gc import disable, enable, isenabled
from typing import Any

from tetrad._src.runtime import counts, execute, room
from tetrad._src.runtime.array import Array, Deleted, deleted
from tetrad._src.runtime.device import Floating
from tetrad._src.runtime.entry import Entry, Origins
from tetrad._src.runtime.failures import unheard
from tetrad._src.util import errors

CUT = 128  # operations on a tape before it looks for its period
LONGEST = 4096  # a tape never grows beyond this
HEAVY = 256 << 20  # bytes that pending work moves before a tape is looked at
SHORT = 8  # operations of a tape that is run in short, at most
FEW = 16  # operations that are never cut apart, however large: they may fuse


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
threads = _Threads()
lock = threading.RLock()
_busy = False
floated = False  # whether host data was ever left floating

if hasattr(os, "register_at_fork"):  # a child must not find it held by nobody
    os.register_at_fork(
        before=lock.acquire,
        after_in_parent=lock.release,
        after_in_child=lock.release,
    )


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
        if type(x.placement) is Floating:
            land(x, x.placement.device)
            continue
        if tape is None:
            _compute_alone(x)
            continue
        try:
            if not _run_short(tape, x):
                flush(tape, x)
        except errors.CopyError:
            raise  # everything is still recorded
        except Exception as problem:
            # Perhaps it was something else on the tape that failed.
            unheard(problem)
            _detach(tape)
    if type(x.buffer) is Deleted:
        raise deleted(x)
    return x.buffer


def land(x: Array, device: Any) -> None:
    """Has floating host data go to a device."""
    with lock:
        if x.buffer is not None:
            return
        (data,) = x.args
        put = device.backend.put
        x.buffer = room.tried_twice(None, put, data, x.aval, device, x.where)
        x.placement = device.free
        x.args = ()


def _land_operands(node: Array) -> None:
    """Has floating operands of a node go where it runs."""
    for arg in node.args:
        if (
            type(arg) is Array
            and arg.buffer is None
            and type(arg.placement) is Floating
        ):
            land(arg, node.placement.device)


def _begin_counting(snapshot: list[Array]) -> None:
    """Has floating operands, which are on no tape, start with no uses."""
    for node in snapshot:
        for arg in node.args:
            if type(arg) is Array:
                arg.uses = 0


def _run_short(tape: Tape, x: Array) -> bool:
    """Runs a tape of one operation or call, or of a few operations, in short.

    Says no if what `flush` finds out matters: results that nobody needs, operands that
    are pending elsewhere, an update that copies, memory that is full.
    """
    global _busy
    nodes = tape.nodes
    try:  # half as long as `with`; Ctrl-C may strike as soon as the lock is held
        lock.acquire()
        count = len(nodes)  # its thread may go on recording
        if _busy or not count or x.buffer is not None:
            return False
        several = nodes[0].entry.several
        if several:
            if not _is_whole(nodes, count):
                return False
        elif count > SHORT or (count == 1 and nodes[0] is not x):
            return False
        collecting = isenabled()
        try:
            _busy = True
            disable()
            if several:
                if not execute.run_call(nodes[:count]):
                    return False
            elif count == 1:
                program = x.entry.alone
                if program is None or program.backend is not x.placement.device.backend:
                    program = _alone(x)
                if program is None or not execute.run_alone(program, x):
                    return False
            elif not execute.run_few(tape, count, x):
                return False
        except errors.OutOfMemoryError:
            return False  # `flush` makes room
        except KeyboardInterrupt:
            _drop_done(tape)
            raise
        finally:
            _busy = False
            if collecting:
                enable()
        done = nodes[:count]
        del nodes[:count]
        tape.load = 0
        tape.cut = CUT
        tape.period = 0
        for node in done:
            if node.entry.traced:
                Origins.note(node)
            node.args = ()
            node.entry = None
    finally:
        if _lock_is_mine():  # not if Ctrl-C came while it was waited for
            lock.release()
    return True


def _is_whole(nodes: list[Array], count: int) -> bool:
    """Whether the first nodes are a call and all its results.

    These were recorded behind it together, so no others stand before the last of them.
    """
    last = nodes[count - 1]
    whole = count == 1 + len(nodes[0].entry.projections)
    return whole and last.entry.projected and last.args[0] is nodes[0]


def _alone(x: Array) -> execute.Alone | None:
    """The program of the only operation of a tape, which its entry then remembers."""
    entry = x.entry
    if type(entry) is not Entry or entry.several:
        return None
    program: execute.Alone | None = entry.alone
    if program is None or program.backend is None:
        program = entry.alone = execute.alone(entry, x)
    return program if program.backend is x.placement.device.backend else None


_lock_is_mine: Callable[[], bool] = lock._is_owned  # type: ignore[attr-defined]


def _closed(work: Callable[..., None], *args: Any) -> None:
    """Runs `work(*args)`, which submits, with no collector and no second submission.

    Ctrl-C may strike at any call, but not between the first two statements of `finally`.
    """
    global _busy
    collecting = isenabled()
    try:
        _busy = True
        disable()
        work(*args)
    finally:
        _busy = False
        if collecting:
            enable()


def flush(tape: Tape | None = None, wanted: Array | None = None) -> None:
    """Submits what live handles can reach of `tape` (by default, this thread's).

    Tapes of other threads on which it depends come first; those that depend on each
    other are submitted as one. Where memory is too small, as much is computed as fits;
    only `wanted` is then needed, if it is given.
    """
    if tape is None:
        tape = threads.tape
    with lock:
        if _busy or not tape.nodes:
            return
        try:
            _flush_all_of(tape)
            return
        except errors.OutOfMemoryError as full:
            asked = full.asked
            if asked is None:  # it has reached a user already, in a callback
                _detach(tape)
                raise
        # Here the error is gone, and with it the frames that held nodes.
        room.make(asked)
        try:
            _flush_all_of(tape)
            return
        except errors.OutOfMemoryError:
            pass
        except errors.CopyError:
            raise
        except Exception:
            _detach(tape)
            raise
        _flush_what_fits(tape, wanted)


def _flush_all_of(tape: Tape) -> None:
    """Submits the tape as one program, after what it needs of others."""
    if len(_all_tapes) == 1 and not _failures:
        _submit([(tape, len(tape.nodes))])
        return
    try:
        *before, own = _groups(tape)
        for parts in before:
            if len(parts) == 1:
                flush(parts[0][0])
            else:
                _submit(parts)
    except (errors.CopyError, errors.OutOfMemoryError):
        raise
    except Exception:
        _detach(tape)
        raise
    _submit(own)


def _submit(parts: Parts) -> None:
    """Submits the beginnings of some tapes together; they need no other tape."""
    snapshot: list[Array] = []
    try:
        if len(parts) == 1:
            ((tape, length),) = parts
            snapshot = tape.nodes[:length]
        else:
            snapshot = _merged(parts)
        _closed(_flush, snapshot)
        for tape, length in parts:
            del tape.nodes[:length]
            tape.load = 0
            tape.cut = CUT
            tape.period = 0
        for node in snapshot:
            if node.entry.traced:
                Origins.note(node)
            node.args = ()
            node.entry = None
    except errors.CopyError as error:  # before the launch: all stays recorded
        for tape, _ in parts:
            _drop_done(tape)
        del snapshot
        # The frames of the traceback so far would hold the arrays.
        error.__traceback__ = None
        raise
    except errors.OutOfMemoryError:
        execute.launched = False
        raise
    except Exception:
        execute.launched = False
        for tape, _ in parts:
            _detach(tape)
        raise
    except BaseException:  # Ctrl-C: before the launch, everything can run again
        if execute.launched:
            execute.launched = False
            _lose(parts, snapshot)
        else:
            for tape, _ in parts:
                _drop_done(tape)
        raise


def _drop_done(tape: Tape) -> None:
    """After Ctrl-C: takes off the tape what has been submitted; it must not run again."""
    known = tape.nodes[:]
    tape.nodes[: len(known)] = [x for x in known if x.buffer is None]
    for node in known:
        if node.buffer is not None:
            node.args = ()
            node.entry = None


# ------------------------------------------------------------ tapes of several threads

Parts = list[tuple[Tape, int]]  # tapes, and how many nodes of each


def _groups(tape: Tape) -> list[Parts]:
    """What has to be submitted for `tape`, in order; the last group has it in it.

    Their threads go on recording meanwhile: what is looked at here, and no more, is
    submitted.
    """
    while True:
        length = len(tape.nodes)
        if not _foreign(tape.nodes[:length], tape):
            return [[(tape, length)]]
        lengths, edges, failed = _reached(tape)
        if not failed:
            return _in_order(lengths, edges)
        if floated:
            for node in tape.nodes[:length]:
                _land_operands(node)
        for x in failed:
            force(x)


def _foreign(nodes: list[Array], tape: Tape) -> bool:
    """Whether some operand is pending elsewhere."""
    return any(
        [
            arg.tape is not tape and type(arg.placement) is not Floating
            for node in nodes
            for arg in node.args
            if type(arg) is Array and arg.buffer is None
        ]
    )


def _reached(
    tape: Tape,
) -> tuple[dict[Tape, int], dict[Tape, set[Tape]], list[Array]]:
    """The tapes that `tape` depends on, with it: how much of each, and on which others
    each depends. And operands whose recording failed, which are computed alone.
    """
    mark = execute.next_epoch()
    lengths: dict[Tape, int] = {}
    edges: dict[Tape, set[Tape]] = {}
    failed: list[Array] = []
    work: list[tuple[Tape, Array]] = []

    def include(found: Tape) -> None:
        begin, end = lengths.get(found, 0), len(found.nodes)
        for node in found.nodes[begin:end]:
            node.epoch = mark
            work.append((found, node))
        lengths[found] = end
        edges.setdefault(found, set())

    include(tape)
    while work:
        owner, node = work.pop()
        for arg in node.args:
            if type(arg) is not Array or arg.buffer is not None:
                continue
            other = arg.tape
            if type(arg.placement) is Floating:
                continue
            if other is None:
                failed.append(arg)
            elif other is not owner:
                if arg.epoch != mark:
                    include(other)
                edges[owner].add(other)
    return lengths, edges, failed


def _in_order(lengths: dict[Tape, int], edges: dict[Tape, set[Tape]]) -> list[Parts]:
    """Tapes that depend on each other as one group, each behind what it needs."""
    reach: dict[Tape, set[Tape]] = {}
    for tape in lengths:
        seen = {tape}
        work = [tape]
        while work:
            new = edges[work.pop()] - seen
            seen |= new
            work.extend(new)
        reach[tape] = seen
    groups: list[Parts] = []
    placed: set[Tape] = set()
    for tape in sorted(lengths, key=lambda tape: len(reach[tape])):
        if tape not in placed:
            group = [other for other in reach[tape] if tape in reach[other]]
            placed.update(group)
            groups.append([(other, lengths[other]) for other in group])
    return groups


def _merged(parts: Parts) -> list[Array]:
    """The nodes of several tapes in an order in which they can be computed."""
    known = {id(node) for tape, length in parts for node in tape.nodes[:length]}
    order: list[Array] = []
    for tape, length in parts:
        for first in tape.nodes[:length]:
            stack = [first]
            while stack:
                node = stack[-1]
                before = [
                    arg
                    for arg in node.args
                    if type(arg) is Array and arg.buffer is None and id(arg) in known
                ]
                if before and id(node) in known:
                    stack.extend(before)
                    continue
                stack.pop()
                if id(node) in known:
                    known.remove(id(node))
                    order.append(node)
    return order


def _flush(snapshot: list[Array]) -> None:
    """Finds live nodes and submits them, device by device."""
    outs = _live(snapshot, _count(snapshot))
    if not outs:
        return
    if floated:
        for node in snapshot:
            if node.epoch == execute.epoch:
                _land_operands(node)
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
    if floated:
        _begin_counting(snapshot)
    mark = execute.next_epoch()  # of ready operands that have been met
    for node in snapshot:
        node.uses = 0
        if node.entry.projected:
            node.args[0].uses += 1
            continue
        for arg in node.args:
            if type(arg) is Array:
                if arg.buffer is None or arg.epoch == mark:
                    arg.uses += 1
                else:
                    arg.epoch = mark
                    arg.uses = 1
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
        if node.entry.projected:
            node.args[0].epoch = epoch
            continue
        for arg in node.args:
            if type(arg) is Array:
                arg.epoch = epoch
    outs.reverse()
    return outs


def prune(tape: Tape) -> None:
    """Drops recorded work that nobody can reach any more."""
    with lock:
        if _busy or not tape.nodes:
            return
        snapshot = tape.nodes[:]
        gone: list[Array] = []
        _closed(_take_off, tape, snapshot, gone)
        for node in gone:
            node.args = ()
            node.entry = None


def _take_off(tape: Tape, snapshot: list[Array], gone: list[Array]) -> None:
    """Takes dead nodes off the tape; lists them in `gone`."""
    _live(snapshot, _count(snapshot))
    epoch = execute.epoch
    gone += [x for x in snapshot if x.epoch != epoch]
    tape.nodes[: len(snapshot)] = [x for x in snapshot if x.epoch == epoch]


def prune_all() -> None:
    for tape in list(_all_tapes):
        prune(tape)


def flush_all() -> None:
    for tape in list(_all_tapes):
        flush(tape)


def flush_quietly() -> None:
    """Submits what is pending, to free its operands or for a report to count it.

    What cannot be computed stays pending, and raises where it is used.
    """
    for tape in list(_all_tapes):
        with contextlib.suppress(Exception):
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
    with lock:
        known = tape.nodes[:]  # its thread may record more at the same time
        for node in known:
            node.tape = None
            if node.buffer is not None:
                node.args = ()
                node.entry = None
        _failures += bool(known)
        del tape.nodes[: len(known)]
        tape.load = 0
        tape.cut = CUT
        tape.period = 0


def _flush_what_fits(tape: Tape, wanted: Array | None) -> None:
    """Computes one live array of the tape after the other, each with what it needs.

    An intermediate value that nobody holds is computed again for each; that needs less
    memory than all at once. `wanted` is computed first, and all else only if it does
    not fit before. Without it, the first that does not fit raises.
    """
    snapshot = tape.nodes[:]
    outs: list[Array] = []
    _closed(_take_live, snapshot, outs)
    del snapshot
    _detach(tape)
    if wanted is not None:
        if _fits(wanted):
            return
        while outs:
            _fits(outs.pop(0))
        return
    while outs:
        _compute_alone(outs.pop(0))


def _take_live(snapshot: list[Array], outs: list[Array]) -> None:
    """Lists the nodes that handles reach in `outs`."""
    outs += _live(snapshot, _count(snapshot))


def _fits(x: Array) -> bool:
    """Computes a detached array, if memory allows it."""
    if x.buffer is not None:
        return True
    try:
        _compute_alone(x)
    except errors.OutOfMemoryError:
        return False
    return True


def _lose(parts: Parts, snapshot: list[Array]) -> None:
    """After Ctrl-C during a launch: results that have no buffer yet are lost.

    Their program may have run and updated buffers in place, so it must not run again.
    """
    for tape, length in parts:
        del tape.nodes[:length]
    for node in snapshot:
        if node.buffer is None:
            node.buffer = Deleted(execute.LOST)
        node.args = ()
        node.entry = None


def _compute_alone(x: Array) -> None:
    """Computes a detached node, and nothing but what it needs."""
    try:
        room.tried_twice(None, _submit_alone, x)
    except errors.OutOfMemoryError as full:
        if full.asked is not None and full.asked.node is None:
            full.asked.node = weakref.ref(x)
        raise
    entry = x.entry  # another thread may have been faster
    if entry is not None and entry.traced:
        Origins.note(x)
    x.args = ()
    x.entry = None


def _submit_alone(x: Array) -> None:
    with lock:
        nodes = _needed(x)
        if x.buffer is None:
            _closed(_submit_owned, nodes, x)


def _submit_owned(nodes: list[Array], x: Array) -> None:
    """Submits detached nodes; what else holds their operands is counted."""
    _count(nodes)
    execute.submit(nodes, [x], x.placement.device, None, True)


def _needed(x: Array) -> list[Array]:
    """The pending nodes that `x` is computed from, in order, and `x`."""
    order: list[Array] = []
    done: set[int] = set()
    stack = [x]
    while stack:
        node = stack[-1]
        if floated:
            _land_operands(node)
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
