"""NaNs and infinities, found where they arise: what `jax_debug_nans` switches on.

In: every operation that reaches the recorder while the setting is on. Out: an error that
names the first operation that made a NaN out of numbers, its line and its operands.

A result with a NaN is only a suspect: functions of ours may compute one on their way and
choose another value. So the error comes when the function of ours that the user called
returns it, to which a profile hook listens from the first suspect on. From the returned
value we go back through the suspects to the first one; if that is a call, a branch or a
loop, it is run again, one operation at a time, and we go on inside of it.

Nothing is looked at, and nothing costs anything, while the setting is off everywhere:
`install` exchanges the method of the recorder.

Read `watched`, `_suspect`, `_returned`, then `_origin` and `_inside`; `blame.py` words it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.bind import STATE, Tracer, at, base_trace
from tetrad._src.core.effects import IO, ORDERED_IO
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Literal, Var, eval_jaxpr
from tetrad._src.core.op import Flow, Op
from tetrad._src.runtime import host, lazy
from tetrad._src.runtime.array import Array, Deleted
from tetrad._src.runtime.blame import Step, nonfinite, told
from tetrad._src.util import frames, tree
from tetrad._src.util.config import config, on_switch


class _Watch(threading.local):
    """What this thread suspects, by the frame of ours that its user called."""

    def __init__(self) -> None:
        self.suspects: dict[FrameType, list[Step]] = {}
        self.profiler: Any = None  # what listened before
        self.again = False  # something runs again: no error comes of it
        self.noted: list[Step] | None = None  # what is found then, if that is wanted


_watch = _Watch()
_plain = lazy.Recorder.process


def install() -> None:
    """Has the settings switch the recorder between looking and not looking."""
    on_switch(("jax_debug_nans", "jax_debug_infs"), _switch)


def _switch(on: bool) -> None:
    lazy.Recorder.process = watched if on else _plain  # type: ignore[method-assign, assignment]


def watched(recorder: lazy.Recorder, op: Op, args: Sequence[Any]) -> Any:
    """Records an operation, computes it, and looks at what it gives."""
    watch = _watch
    if watch.again and watch.noted is None:
        return _plain(recorder, op, args)
    if not (config.jax_debug_nans or config.jax_debug_infs):
        return _plain(recorder, op, args)
    kept = _kept(op, args)
    out = _plain(recorder, op, args)
    outs = out if op.multiple else [out]
    if any([nonfinite(x) for x in outs]):
        step = Step(op, kept, list(outs), STATE.where or frames.user_frame())
        if watch.noted is not None:
            watch.noted.append(step)
        else:
            _suspect(step)
    return out


def _kept(op: Op, args: Sequence[Any]) -> Sequence[Any]:
    """The operands; those that are donated under a second name, so that they stay."""
    donated = getattr(op, "donated", ())
    if not any(donated):
        return args
    return [
        lazy.copy_to(x, x.placement)
        if given and type(x) is Array and type(x.buffer) is not Deleted
        else x
        for x, given in zip(args, donated)
    ]


def _suspect(step: Step) -> None:
    """Waits for the return of the function that the user called."""
    user, called = frames.entrance()
    profiler = sys.getprofile()
    if user is None or (profiler is not None and not callable(profiler)):
        # Nobody is called from, or a profiler of C listens, which we cannot replace.
        raise _error([step], step.outs)
    if profiler is not _returned:
        _watch.profiler = profiler
        sys.setprofile(_returned)
    _watch.suspects.setdefault(called, []).append(step)


def _returned(frame: FrameType, event: str, value: Any) -> None:
    """The profile hook: raises if a function that we wait for returns a suspect."""
    watch = _watch
    if event != "return" or frame not in watch.suspects:
        return
    steps = watch.suspects.pop(frame)
    if not watch.suspects:
        sys.setprofile(watch.profiler)
    error = _error(steps, list(_arrays(value)))
    if error is not None:
        watch.suspects.clear()  # Python forgets the hook of whoever raises
        raise error


def _arrays(value: Any) -> Iterator[Any]:
    """The arrays in a tree, and those behind traced values."""
    stack = tree.leaves(value)
    while stack:
        x = stack.pop()
        if type(x) is Array:
            yield x
        elif isinstance(x, Tracer):
            parts = [getattr(x, name, None) for name in ("primal", "tangent", "value")]
            stack += [part for part in parts if part is not None]


# ------------------------------------------------------------------------- the first one


def _error(steps: Sequence[Step], values: Sequence[Any]) -> Any:
    """The error if one of the values is what a step gave."""
    makers: dict[int, Step] = {}
    for step in steps:
        for out in step.outs:
            makers.setdefault(id(out), step)
    for value in values:
        if id(value) in makers and nonfinite(value):
            break
    else:
        return None
    step = _origin(makers, value)
    trail: list[str] = []
    _watch.again = True
    try:
        # What runs again uses random keys again, and may.
        unchecked = config.scope("tetrad_key_check", "off")
        with at(base_trace()), host.muted(), unchecked:
            while (found := _inside(step)) is not None:
                trail.append(found.words)
                if found.step is None:
                    break
                step = found.step
    finally:
        _watch.again = False
    return told(step, trail)


def _origin(makers: dict[int, Step], value: Any) -> Step:
    """The first of the steps on which a value depends."""
    step = makers[id(value)]
    seen = {id(step)}
    while True:
        earlier = [makers[id(x)] for x in step.args if id(x) in makers]
        earlier = [s for s in earlier if id(s) not in seen]
        if not earlier:
            return step
        step = earlier[0]
        seen.add(id(step))


class Found(NamedTuple):
    """A step inside another one, and words that say where; None if it is no operation."""

    step: Step | None
    words: str


def _inside(step: Step) -> Found | None:
    """The first step inside of a call, a branch or a loop."""
    op, args = step.op, step.args
    jaxprs = op.jaxprs()
    if not jaxprs or not op.effects.isdisjoint((IO, ORDERED_IO)):
        return None  # what acts on the world does not run again
    if op.flow is Flow.BRANCH:
        number = int(args[0])
        return _within(jaxprs[number], args[1:], f"branch {number} of {op.name}")
    if op.flow is Flow.SCAN:
        return _in_scan(op, args)
    if op.flow is Flow.WHILE:
        return _in_while(op, args)
    if len(jaxprs) == 1 and len(jaxprs[0].ins) == len(args):
        name = jaxprs[0].name
        return _within(jaxprs[0], args, f"{op.name}({name})" if name else op.name)
    return _in_parts(op, args)


def _within(jaxpr: Jaxpr, args: Sequence[Any], words: str) -> Found | None:
    """The first step of a jaxpr on which a NaN among its results depends."""
    env: dict[Any, Any] = dict(zip(jaxpr.ins, args))
    makers: dict[Any, Eqn] = {}
    outside = STATE.where

    def value(atom: Any) -> Any:
        return atom.val if type(atom) is Literal else env[atom]

    try:
        for eqn in jaxpr.eqns:
            STATE.where = eqn.where or outside
            results = eqn.op(*[value(v) for v in eqn.ins])
            env.update(zip(eqn.outs, results if eqn.op.multiple else [results]))
            makers.update(dict.fromkeys(eqn.outs, eqn))
    finally:
        STATE.where = outside
    wrong: Any = next(
        (v for v in jaxpr.outs if v in makers and nonfinite(env[v])), None
    )
    if wrong is None:
        return _returns_as_it_is(jaxpr, env, words)
    while True:
        eqn = makers[wrong]
        before = [v for v in eqn.ins if type(v) is Var and v in makers]
        earlier = next((v for v in before if nonfinite(env[v])), None)
        if earlier is None:
            break
        wrong = earlier
    outs = [env[v] for v in eqn.outs]
    step = Step(eqn.op, [value(v) for v in eqn.ins], outs, eqn.where or outside)
    return Found(step, words)


def _returns_as_it_is(jaxpr: Jaxpr, env: dict[Any, Any], words: str) -> Found | None:
    """A NaN that a jaxpr did not compute."""
    for atom in jaxpr.outs:
        if type(atom) is Literal and nonfinite(atom.val):
            return Found(None, f"{words}, which returns the literal {atom.val}")
        if type(atom) is Var and nonfinite(env[atom]):
            return Found(None, f"{words}, which returns an operand as it is")
    return None


def _in_scan(op: Any, args: Sequence[Any]) -> Found | None:
    """The first step of a scan that gives a NaN, and the operation in it."""
    body: Jaxpr = op.jaxprs()[0]
    first = op.num_consts + op.num_carry
    consts, carry, xs = args[: op.num_consts], args[op.num_consts : first], args[first:]
    hosts = [x._host() if type(x) is Array else np.asarray(x) for x in xs]
    avals = body.in_avals[first:]
    numbers = range(op.length)
    for number in reversed(numbers) if op.reverse else numbers:
        x = [
            lazy.put(np.asarray(h[number]), a, told=False) for h, a in zip(hosts, avals)
        ]
        operands = [*consts, *carry, *x]
        outs = eval_jaxpr(body, operands)
        if any([nonfinite(out) for out in outs]):
            return _within(body, operands, f"step {number} of {op.name}")
        carry = outs[: op.num_carry]
    return None


def _in_while(op: Any, args: Sequence[Any]) -> Found | None:
    """The first step of a while loop that gives a NaN, and the operation in it."""
    test, body = op.jaxprs()
    first = op.cond_nconsts + op.body_nconsts
    consts, carry = args[op.cond_nconsts : first], args[first:]
    number = 0
    while bool(eval_jaxpr(test, [*args[: op.cond_nconsts], *carry])[0]):
        operands = [*consts, *carry]
        outs = eval_jaxpr(body, operands)
        if any([nonfinite(out) for out in outs]):
            return _within(body, operands, f"step {number} of {op.name}")
        carry = outs
        number += 1
    return None


def _in_parts(op: Op, args: Sequence[Any]) -> Found | None:
    """The first step of an operation that states what it is in terms of others."""
    if op.expand is None:
        return None
    _watch.noted = []
    try:
        outs = op.expand(*args)
        steps = _watch.noted
    finally:
        _watch.noted = None
    makers: dict[int, Step] = {}
    for step in steps:
        for out in step.outs:
            makers.setdefault(id(out), step)
    wrong = next((x for x in outs if id(x) in makers and nonfinite(x)), None)
    return None if wrong is None else Found(_origin(makers, wrong), op.name)
