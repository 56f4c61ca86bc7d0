"""Batching: one value of a trace stands for a whole axis of values.

In: an operation whose operands may be `BatchTracer`s, each an array with a mapped axis
at some position. Out: one operation on the whole arrays, sent to the parent trace.

Elementwise operations need no rule: their operands are aligned (the mapped axis at one
position, scalars and unmapped operands broadcast as needed), and if all mapped operands
agree on where the axis is, it stays there. Every other operation gets its mapped axis at
position 0 and states a `batch` rule; one that is `aligned` wants all operands mapped, so
the others are broadcast first. A rule wraps an output that is the same for every lane
in `Whole`.

Read `Batch.process`, then `_elementwise`, then `vmap_flat` and `batch_jaxpr`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Tracer, aval_of
from tetrad._src.core.bind import at as at_trace
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.core.leaks import check_leaks
from tetrad._src.core.op import Axis, Kind, Op, Whole
from tetrad._src.core.stage import check_ancestor, restage, where
from tetrad._src.ops.views import broadcast_in_dim, moveaxis
from tetrad._src.util.config import config
from tetrad._src.util.locks import make_rlock
from tetrad._src.util.memo import Cache, memo_on_first

Flat = Callable[..., Sequence[Any]]

_lanes: Cache = Cache("lane types", limit=65536)


def lane_aval(aval: Aval, axis: int) -> Aval:
    """The aval of one lane of an array mapped along `axis`."""
    key = (aval, axis)
    lane: Aval | None = _lanes.get(key)
    if lane is None:
        lane = _lanes.setdefault(key, aval.drop((axis,)))
    return lane


class BatchTracer(Tracer):
    """One lane: `value` is the whole array, mapped along its axis `axis`."""

    __slots__ = ("value", "axis")

    def __init__(self, trace: Batch, value: Any, axis: int, origin: Any) -> None:
        self._trace = trace
        self.value = value
        self.axis = axis
        self.aval = lane_aval(aval_of(value), axis)
        self.origin = origin


class Batch(Trace):
    """Carries out operations for all lanes of `axis` at once."""

    transformation = "vmap"

    def __init__(self, parent: Trace, axis: Axis) -> None:
        self.parent = parent
        self.axis = axis

    def process(self, op: Op, args: Sequence[Any]) -> Any:
        values = []
        axes: list[int | None] = []
        mapped = False
        for arg in args:
            if type(arg) is BatchTracer and arg._trace is self:
                values.append(arg.value)
                axes.append(arg.axis)
                mapped = True
            else:
                values.append(arg)
                axes.append(None)
        parent = self.parent
        outside = STATE.where
        if outside is None:
            STATE.where = where()
        STATE.trace = parent  # type: ignore[assignment]
        try:
            if op.kind is Kind.CALL and getattr(op, "unstaged", False):
                # A Python function, which may close over lanes of this very trace.
                return [self.wrap(o, 0) for o in op.in_lanes(self, values, axes)]  # type: ignore[attr-defined]
            if not mapped and self.axis.name not in op.axis_names:
                return op(*args)
            if op.kind is Kind.ELEMENTWISE:
                values, at = align(self.axis, values, axes)
                out = op(*values)
            else:
                out = _by_rule(op, self.axis, values, axes)
                at = 0
            if op.multiple:
                return [self.wrap(o, at) for o in out]
            return self.wrap(out, at)
        finally:
            STATE.trace = self
            STATE.where = outside

    def wrap(self, out: Any, at: int) -> Any:
        if type(out) is Whole:
            return out.value
        return BatchTracer(self, out, at, STATE.where)

    def unwrap(self, x: Any) -> tuple[Any, int | None]:
        """The array behind a value and where it is mapped; None if it is not."""
        if type(x) is BatchTracer and x._trace is self:
            return x.value, x.axis
        return x, None


def _by_rule(
    op: Op, axis: Axis, values: Sequence[Any], axes: Sequence[int | None]
) -> Any:
    if op.batch is None:
        raise NotImplementedError(
            f"`{op.name}` has no batching rule, so it cannot run under `vmap`. Map over"
            " it with `lax.map`, which runs the lanes one after the other."
        )
    if op.aligned:
        return op.batch(axis, *spread_all(axis, values, axes))
    fronted = [v if not at else moveaxis(v, at, 0) for v, at in zip(values, axes)]
    return op.batch(axis, tuple([at is not None for at in axes]), *fronted)


def spread_all(
    axis: Axis, values: Sequence[Any], axes: Sequence[int | None]
) -> list[Any]:
    """All of `values` with the mapped axis at position 0."""
    return [
        spread(axis, v) if at is None else moveaxis(v, at, 0) if at else v
        for v, at in zip(values, axes)
    ]


def spread(axis: Axis, value: Any) -> Any:
    """`value`, the same for every lane, with the mapped axis at position 0."""
    shape = aval_of(value).shape
    dims = tuple(range(1, len(shape) + 1))
    return broadcast_in_dim(value, (axis.size, *shape), dims)


def align(
    axis: Axis, values: Sequence[Any], axes: Sequence[int | None]
) -> tuple[list[Any], int]:
    """Elementwise operands in one shape (or rank 0), and where they are mapped.

    In a lane an operand has rank 0 or the full rank. If the mapped operands of full
    rank agree on the position of the mapped axis it stays, else it moves to the front.
    """
    shapes = [aval_of(value).shape for value in values]
    ranks = [
        len(shape) if at is None else len(shape) - 1 for shape, at in zip(shapes, axes)
    ]
    rank = max(ranks)
    positions = {at for at in axes if at is not None}
    if len(positions) == 1 and all(
        r == (0 if at is None else rank) for r, at in zip(ranks, axes)
    ):
        return list(values), positions.pop()
    full = ranks.index(rank)
    lane = list(shapes[full])
    if axes[full] is not None:
        del lane[axes[full]]  # type: ignore[arg-type]
    want = (axis.size, *lane)
    aligned = []
    for value, at in zip(values, axes):
        if at:
            value = moveaxis(value, at, 0)
        shape = aval_of(value).shape
        if at is not None and shape != want:
            value = broadcast_in_dim(value, want, (0,))
        elif at is None and shape:
            value = broadcast_in_dim(value, want, tuple(range(1, len(want))))
        aligned.append(value)
    return aligned, 0


def vmap_flat(
    fun: Flat,
    axis: Axis,
    args: Sequence[Any],
    axes: Sequence[int | None],
    watched: bool = False,
) -> tuple[list[Any], list[int | None]]:
    """Runs `fun` on lanes of `args`: results, and where each is mapped (or None).

    `watched`: the lanes are the user's, who should know if they share a random key.
    """
    trace = Batch(STATE.trace, axis)
    if watched:
        trace.lanes = axis.size
    origin = where()
    outs = trace.run(
        fun,
        [
            a if at is None else BatchTracer(trace, a, at, origin)
            for a, at in zip(args, axes)
        ],
    )
    for out in outs:
        if isinstance(out, Tracer):
            check_ancestor(out, trace)
    pairs = [trace.unwrap(out) for out in outs]
    if config.jax_check_tracer_leaks:
        outs = out = None  # type: ignore[assignment]
        check_leaks(trace)
    return [v for v, _ in pairs], [at for _, at in pairs]


_again = make_rlock()


def vmap_again(
    batch: Batch, fun: Flat, args: Sequence[Any], axes: Sequence[int | None]
) -> tuple[list[Any], list[int | None]]:
    """As `vmap_flat`, in a trace that exists already: `fun` may close over its lanes.

    The trace runs inside whatever is current now, which may be more than when it was
    made: a rule for a derivative runs inside the transformation that asks for it.
    """
    trace: Trace | None = STATE.trace
    while trace is not None:
        if trace is batch:
            return vmap_flat(fun, batch.axis, args, axes)
        trace = trace.parent
    origin = where()
    with _again:
        parent = batch.parent
        batch.parent = STATE.trace
        try:
            with at_trace(batch):
                outs = fun(
                    *[
                        a if at is None else BatchTracer(batch, a, at, origin)
                        for a, at in zip(args, axes)
                    ]
                )
        finally:
            batch.parent = parent
    pairs = [batch.unwrap(out) for out in outs]
    return [v for v, _ in pairs], [at for _, at in pairs]


def move_mapped(axis: Axis, value: Any, at: int | None, to: int) -> Any:
    """The array mapped at `to`, whether it was mapped at `at` or not at all."""
    if at is None:
        shape = list(aval_of(value).shape)
        shape.insert(to, axis.size)
        dims = tuple([d for d in range(len(shape)) if d != to])
        return broadcast_in_dim(value, tuple(shape), dims)
    return value if at == to else moveaxis(value, at, to)


@memo_on_first
def batch_jaxpr(
    jaxpr: Jaxpr, axis: Axis, mapped: tuple[bool, ...], force: tuple[bool, ...]
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """`jaxpr` for all lanes at once; mapped inputs and outputs carry the axis at 0.

    Gives also which outputs are mapped; those in `force` are in any case.
    """
    mask: list[bool] = []

    def run(*args: Any) -> list[Any]:
        outs, axes = vmap_flat(
            lambda *xs: eval_jaxpr(jaxpr, xs),
            axis,
            args,
            [0 if m else None for m in mapped],
        )
        mask[:] = [at is not None or forced for at, forced in zip(axes, force)]
        return [
            move_mapped(axis, out, at, 0) if m else out
            for out, at, m in zip(outs, axes, mask)
        ]

    avals = [a.mapped(axis.size) if m else a for a, m in zip(jaxpr.in_avals, mapped)]
    made = restage(run, avals, jaxpr.name)
    return made, tuple(mask)


def axis_size(name: Any) -> int | None:
    """The size of the named axis that is mapped around the current code, or None."""
    trace: Trace | None = STATE.trace
    while trace is not None:
        if type(trace) is Batch and trace.axis.name == name:
            return trace.axis.size
        trace = trace.parent
    return None


def named_axes() -> tuple[tuple[Any, int], ...]:
    """Names and sizes of the axes mapped around the current code, innermost first."""
    found = []
    trace: Trace | None = STATE.trace
    while trace is not None:
        if type(trace) is Batch and trace.axis.name is not None:
            found.append((trace.axis.name, trace.axis.size))
        trace = trace.parent
    return tuple(found)
