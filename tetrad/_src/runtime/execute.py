"""From a closed recording to a submitted program.

`submit` takes the needed nodes of a tape in order. Their entries, operand positions and
leaf types form the key of a program; a new key is written as a jaxpr and compiled by
the backend of the device. Then the buffers that may be taken over are chosen, and the
program runs. Programs are data for the backend; nothing here knows what a buffer is.
"""

from __future__ import annotations

import functools
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.core.jaxpr import Eqn, Jaxpr, Var, Why
from tetrad._src.runtime import copies, counts, events
from tetrad._src.runtime.array import Array, Deleted, deleted
from tetrad._src.runtime.events import Run, Timing, runs
from tetrad._src.util import log, monitoring
from tetrad._src.util.config import config
from tetrad._src.util.frames import format_where, line_of, source_line
from tetrad._src.util.memo import Cache, register_cache

epoch = 0  # marks the nodes that the running flush needs
reclaim: Callable[[], None]

LOST = "lost, because Ctrl-C arrived while it was launched"

LEFT_OUT = 1 << 16  # bytes moved from which results that nobody needs are left out
TAKE_OVER = 1 << 16  # bytes from which finding a buffer to take over pays

_programs = Cache("programs", limit=4096)
_host_programs = Cache("programs that call Python", limit=128)  # hold users' closures
compile_log: deque[Compiled] = deque(maxlen=4096)
compile_count = 0
launched = False  # set by backends when they begin to run a program: what it has
# written is uncertain until its results are handed out


class Compiled:
    """A note of one compilation: its number, the last line it serves, its cost."""

    __slots__ = (
        "number",
        "where",
        "equations",
        "seconds",
        "kernels",
        "reason",
        "ended",
    )

    def __init__(
        self,
        number: int,
        where: Any,
        equations: int,
        seconds: float,
        kernels: int,
        reason: str,
    ) -> None:
        self.number = number
        self.where = where
        self.equations = equations
        self.seconds = seconds
        self.kernels = kernels
        self.reason = reason
        self.ended = time.perf_counter()


def next_epoch() -> int:
    """A fresh mark for the nodes that are needed; leaves get the mark after it."""
    global epoch
    epoch += 2
    return epoch


def submit(
    nodes: list[Array],
    outs: list[Array],
    device: Any,
    donated: Sequence[Array] | None = None,
    all_needed: bool = False,
) -> None:
    """Runs what `outs` need of `nodes` on `device`; gives the outs their buffers.

    `donated` lists arrays whose buffers may be taken whoever holds them. None means
    that ownership decides: a buffer is taken when nobody else can see it.
    """
    global launched
    owners = donated is None
    if all_needed:
        mark = next_epoch()
        for node in nodes:
            node.epoch = mark
    executable, leaves, scalars = _program(nodes, outs, device)
    takeover = _takeovers(executable.donors, leaves, owners, donated or ())
    if executable.copies:

        def closing() -> tuple[Jaxpr, tuple[bool, ...]]:
            return close(nodes, leaves, outs)[0], executable.by_value

        copies.before(executable, takeover, nodes, leaves, outs, device, closing)
    inputs = [x.buffer for x in leaves]
    lines = [x.where for x in outs]
    launched = False
    buffers: Sequence[Any] | None = None
    try:
        run = device.backend.execute
        if runs.listeners:
            places = tuple([x.where for x in nodes if _is_equation(x)])
            run = functools.partial(_observed, places)
        buffers = run(executable, inputs, scalars, takeover, device, lines)
        _hand_out(outs, buffers)
    except KeyboardInterrupt as stop:
        # Perhaps the program had run: then its results are there.
        buffers = getattr(stop, "results", None) if buffers is None else buffers
        if buffers is not None:
            _hand_out(outs, buffers)
        raise


def _is_equation(node: Array) -> bool:
    """Whether the running flush writes this node as an equation."""
    return node.epoch == epoch and not node.entry.projected


def _observed(places: tuple[Any, ...], executable: Any, *args: Any) -> Sequence[Any]:
    """Runs a program for those who listen: has the device take times."""
    device, lines = args[3:5]
    timing = Timing()
    submitted = time.perf_counter()
    buffers: Sequence[Any] = device.backend.execute(executable, *args, timing)
    line = lines[-1] if lines else places[-1]
    runs.tell(Run(executable, device, line, submitted, places, timing))
    return buffers


def _hand_out(outs: Sequence[Array], buffers: Sequence[Any]) -> None:
    global launched
    for out, buffer in zip(outs, buffers):
        out.buffer = buffer
    launched = False


def _program(
    nodes: list[Array], outs: list[Array], device: Any
) -> tuple[Any, list[Array], list[Any]]:
    """The program of the needed nodes, compiled if there is none, and its inputs."""
    key, leaves, scalars = _key(nodes, outs)
    key = (device.backend, key)
    executable = _programs.get(key)
    if executable is None:
        executable = _host_programs.get(key)
    if executable is None:
        executable = _compile(nodes, leaves, scalars, outs, device)
        programs = _host_programs if nodes[0].entry.calls_host else _programs
        programs.setdefault(key, executable)
    return executable, leaves, scalars


def prepare(nodes: list[Array], outs: list[Array], device: Any) -> Any:
    """Compiles what `submit` will run for these nodes, all of which are needed."""
    mark = next_epoch()
    for node in nodes:
        node.epoch = mark
    return _program(nodes, outs, device)[0]


def _key(nodes: list[Array], outs: list[Array]) -> tuple[Any, list[Array], list[Any]]:
    """Structure, leaves and scalars of the needed nodes; numbers nodes and leaves."""
    needed = epoch
    seen = needed + 1
    parts: list[Any] = []
    add = parts.append
    leaves: list[Array] = []
    scalars: list[Any] = []
    position = 0
    for node in nodes:
        if node.epoch != needed:
            continue
        node.position = position
        position += 1
        entry = node.entry
        add(entry)
        if entry.projected:
            continue  # of the call that stands before it
        for arg in node.args:
            if type(arg) is not Array:
                scalars.append(arg)
                add(None)
            elif arg.buffer is None:
                add(arg.position)
            else:
                if arg.epoch != seen:
                    if type(arg.buffer) is Deleted:
                        raise deleted(arg)
                    arg.epoch = seen
                    arg.position = ~len(leaves)
                    leaves.append(arg)
                    add(arg.aval)
                add(arg.position)
    add(tuple([x.position for x in outs]))
    return tuple(parts), leaves, scalars


def _takeovers(
    donors: Sequence[int | None],
    leaves: list[Array],
    owners: bool,
    donated: Sequence[Array],
) -> list[int | None]:
    """Which of the possible donors really gives its buffer up."""
    given = () if owners else {id(x) for x in donated}
    taken: list[int | None] = []
    for d in donors:
        if d is None:
            free = False
        elif owners:
            free = counts.owns(leaves, d, leaves[d].uses + 1)
        else:
            free = id(leaves[d]) in given and counts.unshared(leaves, d)
        taken.append(d if free else None)
    return taken


class Alone:
    """The program of one operation on ready arrays, for `run_alone`.

    Operations remember theirs and may live long, so `clear_caches` takes the executables
    back: a program without one is made anew. `donor` is the argument whose buffer the
    result may take over, if looking for the owner pays.
    """

    __slots__ = (
        "executable", "backend", "donor", "nothing", "taking", "copies", "always",
        "__weakref__",
    )  # fmt: skip

    def __init__(self, executable: Any, device: Any, order: Sequence[int]) -> None:
        self.executable = executable
        self.backend = device.backend
        donors, avals = executable.donors, executable.out_avals
        found = donors[0] if len(donors) == 1 else None
        if found is not None and avals[0].nbytes <= TAKE_OVER and not executable.copies:
            found = None
        self.donor = None if found is None else order[found]
        self.nothing: list[int | None] = [None] * len(donors)
        self.taking: list[int | None] = [found]
        self.copies = executable.copies  # of updates that take nothing over
        self.always = [copy for copy in self.copies if copy.output is None]
        _singles.made.add(self)


class _Singles:
    """All programs of one operation, as a cache that can be emptied."""

    name = "programs of single operations"

    def __init__(self) -> None:
        self.made: weakref.WeakSet[Alone] = weakref.WeakSet()

    def clear(self) -> None:
        for program in self.made:
            program.executable = program.backend = None
        self.made.clear()

    def __len__(self) -> int:
        return len(self.made)


_singles = _Singles()
register_cache(_singles)


def alone(entry: Any, x: Array) -> Alone:
    """Compiles the one operation behind `x`, for distinct arrays and scalars."""
    started = time.perf_counter()
    device = x.placement.device
    ins = [Var(a) for a in entry.in_avals]
    outs = [Var(a) for a in entry.avals]
    by_value = entry.by_value
    order = _order(by_value)
    jaxpr = Jaxpr([ins[i] for i in order], [Eqn(entry.op, ins, outs)], outs)
    mask = tuple([by_value[i] for i in order])
    executable = _compiled(jaxpr, mask, device, x.where)
    note(x.where, jaxpr, time.perf_counter() - started, executable)
    return Alone(executable, device, order)


def _order(by_value: Sequence[bool]) -> list[int]:
    """Operands as a program takes them: arrays, then scalars."""
    arrays = [i for i, v in enumerate(by_value) if not v]
    return arrays + [i for i, v in enumerate(by_value) if v]


def alone_of_call(call: Array, outs: list[Array]) -> Alone | None:
    """What `submit` runs for a call of ready arrays, for `run_alone`; its entry
    remembers it.

    None if it was not needed before and an array occurs twice: that has a program of
    its own.
    """
    entry = call.entry
    device = call.placement.device
    program: Alone | None = entry.alone
    if program is not None and program.backend is device.backend:
        return program
    arrays = [id(arg) for arg in call.args if type(arg) is Array]
    if len(set(arrays)) < len(arrays):
        return None
    nodes = [call, *outs] if entry.several else [call]
    executable = prepare(nodes, outs, device)
    program = entry.alone = Alone(executable, device, _order(entry.by_value))
    return program


def run_call(nodes: list[Array]) -> bool:
    """Runs a call with several results, which `nodes` holds with it.

    No if an operand is pending, or if results that nobody needs are worth leaving out.
    """
    held = counts.count(nodes)  # first: no local may hold a node yet
    call, *outs = nodes
    if call.entry.load > LEFT_OUT and min(held[1:]) <= counts.NODE:
        return False
    for arg in call.args:
        if type(arg) is Array and (arg.buffer is None or type(arg.buffer) is Deleted):
            return False
    program = alone_of_call(call, outs)
    return program is not None and run_alone(program, call, outs)


def run_alone(program: Alone, x: Array, outs: Sequence[Array] | None = None) -> bool:
    """Runs the one operation behind `x`; no if an operand is pending.

    It takes over an operand that nobody else holds. No, too, if it would copy what it
    updates and somebody wants to know. `outs` are the results of a call, by default `x`.
    """
    takeovers, copied = program.nothing, program.copies
    donor = program.donor
    if donor is not None and counts.owns(x.args, donor):
        takeovers, copied = program.taking, program.always
    if copied and (config.tetrad_no_copies or events.copies.listeners):
        return False
    buffers = []
    scalars = []
    for arg in x.args:
        if type(arg) is not Array:
            scalars.append(arg)
            continue
        buffer = arg.buffer
        if buffer is None or type(buffer) is Deleted:
            return False
        buffers.append(buffer)
    _run_for(x, outs, program.executable, buffers, scalars, takeovers)
    if copied:
        copies.count(copied, x.placement.device)
    return True


def _run_for(
    x: Array,
    outs: Sequence[Array] | None,
    executable: Any,
    buffers: list[Any],
    scalars: list[Any],
    takeovers: list[int | None],
) -> None:
    """Runs a program for `x`, or for the results `outs` of the call `x`.

    After Ctrl-C `x` has a buffer if it must not run again: if it was taking one over.
    """
    global launched
    lines = (x.where,) if outs is None else [out.where for out in outs]
    device = x.placement.device
    launch = executable.launch
    if launch is not None and takeovers[0] is None and not runs.listeners:
        results = launch(buffers, scalars, device, lines)
        if results is not None:
            if outs is None:
                x.buffer = results[0]
            else:
                _hand_out(outs, results)
            return
    run = device.backend.execute
    if runs.listeners:
        run = functools.partial(_observed, (x.where,))
    launched = False
    try:
        results = run(executable, buffers, scalars, takeovers, device, lines)
        if outs is None:
            x.buffer = results[0]
        else:
            _hand_out(outs, results)
    except KeyboardInterrupt as stop:
        if launched and any([donor is not None for donor in takeovers]):
            found = getattr(stop, "results", None)
            x.buffer = found[0] if found else Deleted(LOST)
        raise
    finally:
        launched = False  # otherwise it takes nothing over, so it can run again


def run_few(tape: Any, count: int, x: Array) -> bool:
    """Runs the first `count` nodes of a tape, of which `x` is one.

    No if some are needed for nothing, or if they have no program yet. What `submit` and
    its callers find out in several passes is found in one here, and short cuts are taken
    to where it gets too special.
    """
    nodes = tape.nodes[:count]
    held = counts.count(nodes)  # first: no local may hold a node yet
    device = x.placement.device
    found = _survey(nodes, tape, x.placement)
    if found is None or runs.listeners:
        return False
    parts, leaves, scalars = found
    outs = []
    for holders, node in zip(held, nodes):
        if holders > counts.NODE + node.uses:
            outs.append(node)
        elif not node.uses:
            return False
    parts.append(tuple([out.position for out in outs]))
    executable = _programs.get((device.backend, tuple(parts)))
    if executable is None:
        return False
    takeovers: list[int | None] = [None] * len(outs)
    copied = executable.copies
    if len(outs) == 1:
        (donor,) = executable.donors
        if donor is not None and counts.owns(leaves, donor, leaves[donor].uses + 1):
            takeovers, copied = [donor], [c for c in copied if c.output is None]
    elif copied or max([out.aval.nbytes for out in outs]) > TAKE_OVER:
        return False  # what they take over matters
    if copied and (config.tetrad_no_copies or events.copies.listeners):
        return False
    buffers = [y.buffer for y in leaves]
    _run_for(x, outs, executable, buffers, scalars, takeovers)
    if copied:
        copies.count(copied, device)
    return True


def _survey(
    nodes: list[Array], tape: Any, place: Any
) -> tuple[list[Any], list[Array], list[Any]] | None:
    """What `_key` gives, less the results, if all nodes are needed; notes `uses`.

    None where a node is a call's result, known to the language, or on another device
    than `place`, and where an operand is pending elsewhere, or deleted.
    """
    seen = next_epoch()
    parts: list[Any] = []
    add = parts.append
    leaves: list[Array] = []
    scalars: list[Any] = []
    position = 0
    for node in nodes:
        entry = node.entry
        if not entry.plain:
            return None
        if node.placement is not place and node.placement.device is not place.device:
            return None
        node.uses = 0
        node.position = position
        position += 1
        add(entry)
        for arg in node.args:
            if type(arg) is not Array:
                scalars.append(arg)
                add(None)
                continue
            buffer = arg.buffer
            if buffer is None:
                if arg.tape is not tape:
                    return None
                arg.uses += 1
            elif arg.epoch == seen:
                arg.uses += 1
            elif type(buffer) is Deleted:
                return None
            else:
                arg.epoch = seen
                arg.uses = 1
                arg.position = ~len(leaves)
                leaves.append(arg)
                add(arg.aval)
            add(arg.position)
    return parts, leaves, scalars


def _compile(
    nodes: list[Array],
    leaves: list[Array],
    scalars: list[Any],
    outs: list[Array],
    device: Any,
) -> Any:
    """Writes the needed nodes as a jaxpr and has the backend compile it."""
    started = time.perf_counter()
    jaxpr, where = close(nodes, leaves, outs)
    by_value = (False,) * len(leaves) + (True,) * len(scalars)
    executable = _compiled(jaxpr, by_value, device)
    seconds = time.perf_counter() - started
    note(where, jaxpr, seconds, executable)
    return executable


def _compiled(
    jaxpr: Jaxpr, by_value: tuple[bool, ...], device: Any, where: Any = None
) -> Any:
    """What the backend makes of a jaxpr; an error is told where it was recorded."""
    try:
        return device.backend.compile(jaxpr, by_value)
    except Exception as problem:
        place = where or _culprit(jaxpr, device, type(problem))
        if place is not None:
            location = line_of(place)
            line = source_line(location.file, location.line)
            problem.add_note(f"recorded at {location}" + (f": {line}" if line else ""))
        raise


def _culprit(jaxpr: Jaxpr, device: Any, kind: type[Exception]) -> Any:
    """The line of the operation that does not compile even alone."""
    for eqn in jaxpr.eqns:
        inner = [_culprit(j, device, kind) for j in eqn.op.jaxprs()]
        found = next((place for place in inner if place is not None), None)
        if found is not None:
            return found
        ins = [Var(a.aval) for a in eqn.ins]
        outs = [Var(v.aval) for v in eqn.outs]
        single = Jaxpr(ins, [Eqn(eqn.op, ins, outs)], outs)
        try:
            device.backend.compile(single, (False,) * len(ins))
        except kind:
            return eqn.where
        except Exception:
            continue
    return None


def note(
    where: Any, jaxpr: Jaxpr, seconds: float, executable: Any, reason: str = ""
) -> None:
    """Writes a compilation into the log that `see.compiles()` shows."""
    global compile_count
    compile_count += 1
    kernels = getattr(executable, "new_kernels", 0)
    reason = reason or reason_for(jaxpr)
    record = Compiled(compile_count, where, equations(jaxpr), seconds, kernels, reason)
    compile_log.append(record)
    if monitoring.durations.all:
        monitoring.record_event_duration_secs(
            "/jax/core/compile/backend_compile_duration",
            seconds,
            fun_name=jaxpr.name or "",
        )
    log.progress(
        "Finished compilation of %s operations for %s in %.6f sec",
        record.equations,
        format_where(where),
        seconds,
    )


def reason_for(jaxpr: Jaxpr) -> str:
    """Why a program was compiled, in words; its traces have given their reasons then."""
    whys = [why for eqn in jaxpr.eqns if (why := _why(eqn)) is not None]
    fresh = [why for why in whys if not why.told]
    for why in fresh:
        why.told = True
    alone = len(jaxpr.eqns) == 1
    if fresh:
        words = "; ".join([str(why) for why in fresh[:4]])
        return words if alone else f"{words}; recorded with other operations"
    if not whys:
        return "operations that were not recorded in this order before"
    names = ", ".join(dict.fromkeys([f"`{why.function}`" for why in whys[:4]]))
    if alone:
        return (
            f"{names}: another program of a known trace (one array given twice, other"
            " Python numbers among the arguments, or another platform)"
        )
    return f"{names}: recorded with other operations than before"


def _why(eqn: Eqn) -> Why | None:
    for jaxpr in eqn.op.jaxprs():
        if Why in jaxpr.memo:
            found: Why = jaxpr.memo[Why]
            return found
    return None


def equations(jaxpr: Jaxpr) -> int:
    """How many operations a jaxpr has, calls opened."""
    total = 0
    for eqn in jaxpr.eqns:
        inner = eqn.op.jaxprs()
        total += sum([equations(j) for j in inner]) if inner else 1
    return total


def close(
    nodes: list[Array], leaves: list[Array], outs: list[Array]
) -> tuple[Jaxpr, Any]:
    """The jaxpr over (leaves, scalars), and the line of its last operation."""
    needed = epoch
    leaf_vars = [Var(x.aval) for x in leaves]
    scalar_vars: list[Var] = []
    values: list[Any] = []  # by node position: a Var, or the Vars of a call
    eqns: list[Eqn] = []
    where = None
    for node in nodes:
        if node.epoch != needed:
            continue
        entry = node.entry
        if entry.projected:
            values.append(values[node.args[0].position][entry.index])
            continue
        ins = []
        for arg, aval in zip(node.args, entry.in_avals):
            if type(arg) is not Array:
                scalar_vars.append(Var(aval))
                ins.append(scalar_vars[-1])
            elif arg.buffer is not None:
                ins.append(leaf_vars[~arg.position])
            else:
                ins.append(values[arg.position])
        made = [Var(a) for a in entry.avals]
        values.append(made if entry.several else made[0])
        eqns.append(Eqn(entry.op, ins, made, node.where))
        where = node.where
    out_vars = [values[x.position] for x in outs]
    return Jaxpr(leaf_vars + scalar_vars, eqns, out_vars), where
