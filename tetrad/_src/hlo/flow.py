"""Branches and loops in StableHLO: `case` and `while`.

In: an operation with a `flow`, whose jaxprs become regions. Regions see the values
around them, so what the jaxprs only read (constants of loops, operands of branches) is
not carried along. A scan is a `while` over a counter, its carry, and the stacked results,
which each turn updates in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr
from tetrad._src.core.op import Flow
from tetrad._src.hlo.types import host_dtype
from tetrad._src.hlo.value import Value, Writer

if TYPE_CHECKING:
    from tetrad._src.hlo.emit import Emitter

COUNTER = Aval((), np.dtype(np.int32))
PREDICATE = Aval((), np.dtype(np.bool_))
Inside = Callable[[Writer, Sequence[Value]], Sequence[Value]]


def write(
    emitter: Emitter, op: Any, operands: list[Value], outs: Sequence[Aval]
) -> Sequence[Value]:
    """The operation in the emitter's writer; gives its results."""
    if op.flow is Flow.BRANCH:
        return _branch(emitter, op.jaxprs(), operands, outs)
    if op.flow is Flow.WHILE:
        return _while(emitter, op, operands)
    return _scan(emitter, op, operands, outs)


def _run(emitter: Emitter, jaxpr: Jaxpr, args: Sequence[Value]) -> Inside:
    """What a region does: `jaxpr` on values of its surroundings, then its arguments."""

    def body(writer: Writer, arguments: Sequence[Value]) -> Sequence[Value]:
        return type(emitter)(writer).jaxpr(jaxpr, [*args, *arguments])

    return body


def _branch(
    emitter: Emitter,
    branches: Sequence[Jaxpr],
    operands: list[Value],
    outs: Sequence[Aval],
) -> Sequence[Value]:
    index, *args = operands
    regions: list[tuple[Sequence[Aval], Inside]] = [
        ((), _run(emitter, branch, args)) for branch in branches
    ]
    return emitter.writer.operation("stablehlo.case", [index], outs, {}, regions)


def _while(emitter: Emitter, op: Any, operands: list[Value]) -> Sequence[Value]:
    cond, body = op.jaxprs()
    first, second = op.cond_nconsts, op.cond_nconsts + op.body_nconsts
    carry = operands[second:]
    avals = [x.aval for x in carry]
    regions: list[tuple[Sequence[Aval], Inside]] = [
        (avals, _run(emitter, cond, operands[:first])),
        (avals, _run(emitter, body, operands[first:second])),
    ]
    return emitter.writer.operation("stablehlo.while", carry, avals, {}, regions)


def _scan(
    emitter: Emitter, op: Any, operands: list[Value], outs: Sequence[Aval]
) -> Sequence[Value]:
    (body,) = op.jaxprs()
    middle = op.num_consts + op.num_carry
    consts, xs = operands[: op.num_consts], operands[middle:]
    writer = emitter.writer
    stacks = [
        writer.broadcast(writer.constant(_zero(a), Aval((), a.dtype)), a.shape)
        for a in outs[op.num_carry :]
    ]
    if op.length == 0:
        return [*operands[op.num_consts : middle], *stacks]
    state = [
        writer.constant(np.int32(0), COUNTER),
        *operands[op.num_consts : middle],
        *stacks,
    ]
    avals = [x.aval for x in state]

    def more(inner: Writer, args: Sequence[Value]) -> Sequence[Value]:
        limit = inner.constant(np.int32(op.length), COUNTER)
        direction = "#stablehlo<comparison_direction LT>"
        attributes = {"comparison_direction": direction}
        return inner.operation(
            "stablehlo.compare", [args[0], limit], [PREDICATE], attributes
        )

    def turn(inner: Writer, args: Sequence[Value]) -> Sequence[Value]:
        count, rest = args[0], args[1:]
        place = count
        if op.reverse:
            last = inner.constant(np.int32(op.length - 1), COUNTER)
            place = _one(inner, "stablehlo.subtract", [last, count], COUNTER)
        rows = [_row(inner, x, place) for x in xs]
        results = type(emitter)(inner).jaxpr(
            body, [*consts, *rest[: op.num_carry], *rows]
        )
        grown = [
            _placed(inner, stack, y, place)
            for stack, y in zip(rest[op.num_carry :], results[op.num_carry :])
        ]
        one = inner.constant(np.int32(1), COUNTER)
        following = _one(inner, "stablehlo.add", [count, one], COUNTER)
        return [following, *results[: op.num_carry], *grown]

    regions: list[tuple[Sequence[Aval], Inside]] = [(avals, more), (avals, turn)]
    return writer.operation("stablehlo.while", state, avals, {}, regions)[1:]


def _zero(aval: Aval) -> Any:
    return np.zeros((), host_dtype(aval.dtype))[()]


def _one(writer: Writer, name: str, operands: Sequence[Value], out: Aval) -> Value:
    return writer.operation(name, operands, [out], {})[0]


def _starts(writer: Writer, place: Value, rank: int) -> list[Value]:
    zero = writer.constant(np.int32(0), COUNTER)
    return [place, *[zero] * (rank - 1)]


def _row(writer: Writer, x: Value, place: Value) -> Value:
    """x[place]"""
    sizes = (1, *x.aval.shape[1:])
    (slab,) = writer.operation(
        "stablehlo.dynamic_slice",
        [x, *_starts(writer, place, x.aval.ndim)],
        [x.aval.update(shape=sizes)],
        {"slice_sizes": sizes},
    )
    return _one(writer, "stablehlo.reshape", [slab], x.aval.drop((0,)))


def _placed(writer: Writer, stack: Value, y: Value, place: Value) -> Value:
    """The stack with y at `place`."""
    slab = _one(writer, "stablehlo.reshape", [y], y.aval.mapped(1))
    operands = [stack, slab, *_starts(writer, place, stack.aval.ndim)]
    return _one(writer, "stablehlo.dynamic_update_slice", operands, stack.aval)
