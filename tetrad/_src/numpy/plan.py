"""What a function of NumPy comes down to, remembered.

`jnp.mean(x, axis=0)` checks and decides much before it calls two operations. All that
depends on the aval of `x` and the other arguments alone, so it is found once: a `Plan`
is the list of operations with their operands, and running it costs little more than the
operations themselves. A call is planned when it is made for the second time. Eager code
records a plan of several operations as one call.

`planned` is the decorator for functions of one array or a few, `planned_whole` for those
that compute with all arrays that they are given; `Planner` is for functions that make
their own keys.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, TypeVar, cast

import numpy as np

from tetrad._src.control.call import ClosedCall
from tetrad._src.core.bind import STATE, Value, aval_of
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Literal, last_uses
from tetrad._src.core.stage import stage
from tetrad._src.ops import keys
from tetrad._src.util.config import config
from tetrad._src.util.frames import misfit_of, trim_traceback, trims_itself
from tetrad._src.util.memo import Cache

F = TypeVar("F", bound=Callable[..., Any])

SEEN = "seen once"
NEVER = "holds arrays of its own"
LONG = 2  # operations from which one call is cheaper to record


class Unplanned(dict[Any, Any]):
    """In place of plans where each call has something to check."""

    def get(self, key: Any, default: Any = None) -> Any:
        hash(key)  # as a look-up
        return NEVER


UNPLANNED = Unplanned()


class Plan:
    """Operations on numbered values: the arguments, then literals, then results."""

    __slots__ = (
        "chain", "direct", "literals", "steps", "outs", "single", "whole", "kind",
    )  # fmt: skip

    def __init__(self, jaxpr: Jaxpr, kind: type | None, long: int) -> None:
        self.kind = kind  # of the container of the results; None: it is one array
        self.single = single = kind is None
        # A call is looked up sooner than an operation with several results.
        several = any([eqn.op.multiple for eqn in jaxpr.eqns])
        together = (several or len(jaxpr.eqns) >= long) and not _moves_keys(jaxpr)
        self.whole = ClosedCall(_nowhere(jaxpr)) if together else None
        self.chain = _chain(jaxpr)
        self.direct = _direct(jaxpr) if single else None
        number: dict[Any, int] = {var: i for i, var in enumerate(jaxpr.ins)}
        atoms = [a for e in jaxpr.eqns for a in e.ins] + list(jaxpr.outs)
        literals = [a for a in atoms if type(a) is Literal]
        self.literals = [a.val for a in literals]
        numbers: dict[Any, int] = {
            id(a): len(number) + i for i, a in enumerate(literals)
        }
        count = len(number) + len(literals)
        self.steps: list[Any] = []
        for eqn, dead in zip(jaxpr.eqns, last_uses(jaxpr)):
            ins = [numbers[id(a)] if type(a) is Literal else number[a] for a in eqn.ins]
            for var in eqn.outs:
                number[var] = count
                count += 1
            gone = [number[var] for var in dead]
            self.steps.append((eqn.op, ins, gone, eqn.op.multiple))
        self.outs = [
            numbers[id(a)] if type(a) is Literal else number[a] for a in jaxpr.outs
        ]

    def result(self, args: Sequence[Any]) -> Any:
        """What the function gives: an array, or a container of arrays."""
        made = self.run(args)
        kind = self.kind
        if kind is None or kind is list:
            return made
        return tuple(made) if kind is tuple else kind(*made)

    def run(self, args: Sequence[Any]) -> Any:
        trace = STATE.trace
        if self.direct is not None:
            return trace.process(self.direct, tuple(args))
        process = trace.process
        if self.whole is not None and trace.eager:
            made = process(self.whole, args)
            return made[0] if self.single else made
        if self.chain is not None:
            x = args[0]
            for op in self.chain:
                x = process(op, (x,))
            return x
        values = [*args, *self.literals]
        for op, ins, gone, multiple in self.steps:
            result = process(op, [values[i] for i in ins])
            if multiple:
                values.extend(result)
            else:
                values.append(result)
            # Nothing may seem alive that the rest of the plan does not need.
            result = None
            for i in gone:
                values[i] = None
        if self.single:
            return values[self.outs[0]]
        return [values[i] for i in self.outs]


def _moves_keys(jaxpr: Jaxpr) -> bool:
    """Whether keys can be followed through single operations, which one call would hide."""
    return any(
        [
            keys.moves_keys(eqn.op, [a.aval for a in eqn.ins], eqn.outs[0].aval)
            for eqn in jaxpr.eqns
            if eqn.ins and len(eqn.outs) == 1
        ]
    )


def _nowhere(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` without lines: they are those of whoever calls it."""
    eqns = [Eqn(eqn.op, eqn.ins, eqn.outs) for eqn in jaxpr.eqns]
    return Jaxpr(jaxpr.ins, eqns, jaxpr.outs, jaxpr.name)


def _direct(jaxpr: Jaxpr) -> Any:
    """The operation if there is but one, of all arguments in their order."""
    if len(jaxpr.eqns) != 1:
        return None
    (eqn,) = jaxpr.eqns
    same = list(eqn.ins) == list(jaxpr.ins) and list(eqn.outs) == list(jaxpr.outs)
    return eqn.op if same and not eqn.op.multiple else None


def _chain(jaxpr: Jaxpr) -> list[Any] | None:
    """The operations if each takes the result of the one before and nothing else."""
    if len(jaxpr.ins) != 1 or len(jaxpr.outs) != 1:
        return None
    last: Any = jaxpr.ins[0]
    ops = []
    for eqn in jaxpr.eqns:
        if len(eqn.ins) != 1 or eqn.ins[0] is not last or eqn.op.multiple:
            return None
        ops.append(eqn.op)
        last = eqn.outs[0]
    return ops if jaxpr.outs[0] is last else None


class Planner:
    """Plans by key. The key must determine, with the avals, what the function does."""

    __slots__ = ("plans",)

    def __init__(self, name: str) -> None:
        # By `config.mode`.
        self.plans: tuple[dict[Any, Any], ...] = (
            Cache(f"plans of {name}"),
            Cache(f"plans of {name} (x64)"),
            UNPLANNED,
        )

    def run(
        self,
        key: Any,
        function: Callable[..., Any],
        args: Sequence[Any],
        long: int = LONG,
    ) -> Any:
        """`function(*args)`, by plan from the third time on. `args` are operands.

        A plan of `long` operations, or more, is recorded as one call.
        """
        plans = self.plans[config.mode]
        plan = plans.get(key)
        if type(plan) is Plan:
            return plan.run(args)
        if plan is None:
            plans[key] = SEEN
        elif plan is SEEN:
            plans[key] = plan = make(function, args, long)
            if type(plan) is Plan:
                return plan.run(args)
        return function(*args)

    def only(self, key: Any) -> Any:
        """The operation that a plan consists of, if there is a plan, and just one."""
        plan = self.plans[config.mode].get(key)
        return plan.direct if type(plan) is Plan else None


def make(function: Callable[..., Any], args: Sequence[Any], long: int = LONG) -> Any:
    """The plan of `function` on operands like `args`, or NEVER."""
    kind: type | None = None

    def listed(*xs: Any) -> Sequence[Any]:
        nonlocal kind
        result = function(*xs)
        kind = type(result) if isinstance(result, (list, tuple)) else None
        return [result] if kind is None else result

    jaxpr, consts = stage(listed, [aval_of(a) for a in args])
    # A result that is a number, or an argument that is one, no plan makes an array.
    numbers = {v for v, a in zip(jaxpr.ins, args) if not isinstance(a, Value)}
    plain = any([type(a) is Literal or a in numbers for a in jaxpr.outs])
    return NEVER if consts or plain else Plan(jaxpr, kind, long)


def planned(
    arrays: int = 1, before: Callable[..., None] | None = None
) -> Callable[[F], F]:
    """Decorator: plans calls by the avals of the first `arrays` arguments.

    The other arguments are part of the key, so they must not be numbers to compute
    with; where one is an array (a mask, say) the call is not planned. `before` is called
    with the same arguments before a plan of several arrays runs.
    """

    if arrays == 1:
        return _planned_by_one
    return functools.partial(_planned_by_several, arrays=arrays, before=before)


def _planned_by_one(function: F) -> F:
    planner = Planner(function.__name__)
    plans = planner.plans

    @functools.wraps(function)
    def one(*args: Any, **kwargs: Any) -> Any:
        try:
            if not args or not isinstance(args[0], Value):
                return function(*args, **kwargs)
            x = args[0]
            key: Any = x.aval
            if len(args) > 1 or kwargs:
                key = _key(key, args[1:], kwargs)
            try:
                plan = plans[config.mode].get(key)
            except TypeError:
                return function(*args, **kwargs)
            if type(plan) is Plan:
                return plan.run((x,))
            if plan is NEVER:
                return function(*args, **kwargs)
            return planner.run(key, lambda x: function(x, *args[1:], **kwargs), (x,))
        except Exception as error:
            told = misfit_of(function, args, kwargs, error)
            if told is not None:
                raise told from None
            trim_traceback(error)
            del args, kwargs  # which the frame that raised leads to
            x = None
            raise

    return cast(F, trims_itself(one))


def _planned_by_several(
    function: F, arrays: int, before: Callable[..., None] | None
) -> F:
    planner = Planner(function.__name__)
    plans = planner.plans

    @functools.wraps(function)
    def several(*args: Any, **kwargs: Any) -> Any:
        try:
            operands = args[:arrays]
            key: Any = tuple([a.aval for a in operands if isinstance(a, Value)])
            if len(key) < arrays:
                return function(*args, **kwargs)
            if len(args) > arrays or kwargs:
                key = _key(key, args[arrays:], kwargs)
            try:
                plan = plans[config.mode].get(key)
            except TypeError:
                return function(*args, **kwargs)
            if type(plan) is Plan:
                if before is not None:
                    before(*args, **kwargs)
                return plan.run(operands)
            if plan is NEVER:
                return function(*args, **kwargs)
            rest = args[arrays:]
            return planner.run(
                key, lambda *xs: function(*xs, *rest, **kwargs), operands
            )
        except Exception as error:
            told = misfit_of(function, args, kwargs, error)
            if told is not None:
                raise told from None
            trim_traceback(error)
            del args, kwargs  # which the frame that raised leads to
            operands = rest = ()
            raise

    return cast(F, trims_itself(several))


def planned_whole(function: F, numbers: Set[type] = frozenset()) -> F:
    """Decorator: plans calls by the avals of all arrays among the arguments, also of those
    in lists, and by everything else, numbers included.

    For functions that compute with their arrays alone, and whose results are arrays, or
    tuples and lists of arrays. `numbers` are the types of Python's numbers with which they
    only compute, too, and which are then operands like arrays.
    """
    planner = Planner(function.__name__)
    plans = planner.plans

    @functools.wraps(function)
    def whole(*args: Any, **kwargs: Any) -> Any:
        try:
            operands: list[Any] = []
            key = _whole_key(args, kwargs, operands, numbers)
            plan = NEVER if key is None else plans[config.mode].get(key)
            if type(plan) is Plan:
                return plan.result(operands)
            if plan is NEVER:
                return function(*args, **kwargs)

            def again(*arrays: Any) -> Any:
                rest = iter(arrays)
                values = [_filled(a, rest, numbers) for a in args]
                named = {k: _filled(a, rest, numbers) for k, a in kwargs.items()}
                return function(*values, **named)

            if plan is None:
                plans[config.mode][key] = SEEN
                return function(*args, **kwargs)
            try:
                made = make(again, operands)
            except Exception:  # it needs the value of an array, or says what is wrong
                made = NEVER
            plans[config.mode][key] = made
            if type(made) is Plan:
                return made.result(operands)
            return function(*args, **kwargs)
        except Exception as error:
            told = misfit_of(function, args, kwargs, error)
            if told is not None:
                raise told from None
            trim_traceback(error)
            del args, kwargs  # which the frame that raised leads to
            operands = []
            raise

    return cast(F, trims_itself(whole))


planned_with_floats = functools.partial(planned_whole, numbers=frozenset([float]))
planned_with_numbers = functools.partial(planned_whole, numbers=frozenset([int, float]))

_PLAIN = frozenset([int, float, bool, complex, str, type(None), type])


def _whole_key(
    args: Sequence[Any], kwargs: dict[str, Any], operands: list[Any], numbers: Set[type]
) -> tuple[Any, ...] | None:
    """What determines a plan; lists the arrays. None where that is hard to say."""
    parts: list[Any] = []
    for value in args:
        if not _note(value, parts, operands, numbers):
            return None
    for name, value in kwargs.items():
        parts.append(name)
        if not _note(value, parts, operands, numbers):
            return None
    return tuple(parts)


def _note(
    value: Any, parts: list[Any], operands: list[Any], numbers: Set[type]
) -> bool:
    """Adds an argument to a key, and its arrays to `operands`, if it is plain."""
    kind = type(value)
    if isinstance(value, Value):
        operands.append(value)
        parts.append(value.aval)
        return True
    parts.append(kind)
    if kind is list or kind is tuple:
        parts.append(len(value))
        return all([_note(x, parts, operands, numbers) for x in value])
    if kind in numbers:
        operands.append(value)
        return True
    parts.append(value)
    if kind is float or kind is complex:
        parts.append(repr(value))  # tells 0.0 from -0.0
    return kind in _PLAIN or isinstance(value, (type, np.dtype))


def _filled(value: Any, operands: Iterator[Any], numbers: Set[type]) -> Any:
    """An argument with the next operands in the places of its own."""
    if isinstance(value, Value) or type(value) in numbers:
        return next(operands)
    if type(value) is list or type(value) is tuple:
        return type(value)([_filled(x, operands, numbers) for x in value])
    return value


def _key(aval: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A key that tells 1 from 1.0 and True."""
    kinds = tuple(map(type, args))
    if not kwargs:
        return aval, tuple(args), kinds
    named = tuple([(k, v, type(v)) for k, v in kwargs.items()])
    return aval, tuple(args), kinds, named
