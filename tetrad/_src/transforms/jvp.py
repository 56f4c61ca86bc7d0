"""Forward differentiation: a value travels together with its tangent.

In: an operation whose operands may be `JVPTracer`s. Out: the operation on the primals,
and the tangent of its result, both sent to the parent trace. `None` is the tangent that
is zero, so nothing is computed for it.

An operation says how it is differentiated in one of three ways, asked in this order:
`derivative` (coefficients, one an operand), `jvp` (its own rule) and `linear` (the
operation itself, applied to tangents). Operands of elementwise operations may have rank
0 beside others of full rank; the tangent is broadcast to the result at the end.

Read `JVP.process`, then the three ways, then `jvp_flat` and `jvp_jaxpr`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.core.bind import STATE, Trace, Tracer, aval_of
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.core.leaks import check_leaks
from tetrad._src.core.op import Kind, Op
from tetrad._src.core.stage import check_ancestor, restage, where
from tetrad._src.ops.arithmetic import mul, neg
from tetrad._src.ops.views import broadcast_in_dim, zeros
from tetrad._src.transforms.sums import add_any
from tetrad._src.util.config import config
from tetrad._src.util.memo import memo_on_first

Flat = Callable[..., Sequence[Any]]


class JVPTracer(Tracer):
    """A primal and its tangent, which is not zero."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: JVP, primal: Any, tangent: Any, origin: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = aval_of(primal)
        self.origin = origin


class JVP(Trace):
    """Computes primals and tangents side by side."""

    transformation = "jvp"

    def __init__(self, parent: Trace) -> None:
        self.parent = parent

    def split(self, x: Any) -> tuple[Any, Any]:
        """The primal and the tangent of a value; None for a tangent of zero."""
        if type(x) is JVPTracer and x._trace is self:
            return x.primal, x.tangent
        return x, None

    def wrap(self, primal: Any, tangent: Any) -> Any:
        if tangent is None or not aval_of(primal).inexact:
            return primal
        return JVPTracer(self, primal, tangent, STATE.where)

    def process(self, op: Op, args: Sequence[Any]) -> Any:
        primals = []
        tangents = []
        live = False
        for arg in args:
            if type(arg) is JVPTracer and arg._trace is self:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                live = True
            else:
                primals.append(arg)
                tangents.append(None)
        parent = self.parent
        outside = STATE.where
        if outside is None:
            STATE.where = where()
        STATE.trace = parent  # type: ignore[assignment]
        try:
            if not live:
                return op(*args)
            out, tangent = differentiate(op, primals, tangents)
            if op.multiple:
                return [self.wrap(o, t) for o, t in zip(out, tangent)]
            return self.wrap(out, tangent)
        finally:
            STATE.trace = self
            STATE.where = outside


def differentiate(
    op: Op, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """The result of `op` and its tangent; lists if `op` has several results."""
    if op.derivative is not None:
        return _by_derivative(op, primals, tangents)
    if op.jvp is not None:
        result: tuple[Any, Any] = op.jvp(primals, tangents)
        return result
    if op.linear:
        return _by_linearity(op, primals, tangents)
    out = op(*primals)
    outs = out if op.multiple else [out]
    if any(aval_of(o).inexact for o in outs):
        raise no_derivative(op)
    return out, [None] * len(outs) if op.multiple else None


def no_derivative(op: Op) -> NotImplementedError:
    return NotImplementedError(
        f"`{op.name}` has no derivative rule. Wrap what you compute with it in"
        " `stop_gradient` if the derivative is zero, or give the surrounding function"
        " its derivative with `custom_jvp` or `custom_vjp`."
    )


def _by_derivative(
    op: Op, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    out = op(*primals)
    total = None
    for tangent, coefficient in zip(tangents, op.derivative(out, *primals)):
        if tangent is None or coefficient is None:
            continue
        term = mul(tangent, coefficient)
        total = term if total is None else add_any(total, term)
    return out, fit(total, aval_of(out).shape)


def _by_linearity(
    op: Op, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    out = op(*primals)
    outs = out if op.multiple else [out]
    if not any(aval_of(o).inexact for o in outs):
        return out, [None] * len(outs) if op.multiple else None
    if op.signs and tangents.count(None) == len(tangents) - 1:
        i = next(i for i, t in enumerate(tangents) if t is not None)
        total = tangents[i] if op.signs[i] > 0 else neg(tangents[i])
        return out, fit(total, aval_of(out).shape)
    total = None
    for group in op.linear_groups(len(primals)):
        operands = linear_operands(op, group, primals, tangents)
        if operands is None:
            continue
        term = op(*operands)
        if total is None:
            total = term
        elif op.multiple:
            total = [add_any(a, b) for a, b in zip(total, term)]
        else:
            total = add_any(total, term)
    if op.multiple:
        return out, [None] * len(outs) if total is None else total
    if op.kind is Kind.ELEMENTWISE:
        total = fit(total, aval_of(out).shape)
    return out, total


def linear_operands(
    op: Op, group: Sequence[int], primals: Sequence[Any], tangents: Sequence[Any]
) -> list[Any] | None:
    """`primals` with the tangents of `group` in their places; None if all are zero."""
    if all(tangents[i] is None for i in group):
        return None
    operands = list(primals)
    for i in group:
        tangent = tangents[i]
        operands[i] = zero_operand(op, primals[i]) if tangent is None else tangent
    return operands


def zero_operand(op: Op, primal: Any) -> Any:
    """A zero that may stand where `primal` stands: a scalar if `op` broadcasts it."""
    aval = aval_of(primal)
    if op.kind is Kind.ELEMENTWISE:
        return aval.dtype.type(0)
    return zeros(aval)


def fit(tangent: Any, shape: tuple[int, ...]) -> Any:
    """Broadcasts the tangent of a scalar operand to the shape of the result."""
    if tangent is None or aval_of(tangent).shape == shape:
        return tangent
    return broadcast_in_dim(tangent, shape, ())


def instantiate(primal: Any, tangent: Any) -> Any:
    """The tangent as a value, also if it is zero."""
    return zeros(aval_of(primal)) if tangent is None else tangent


def jvp_flat(
    fun: Flat, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Runs `fun` on primals and tangents (None is zero): results, their tangents."""
    trace = JVP(STATE.trace)
    origin = where()
    outs = trace.run(
        fun,
        [
            p if t is None else JVPTracer(trace, p, t, origin)
            for p, t in zip(primals, tangents)
        ],
    )
    for out in outs:
        if isinstance(out, Tracer):
            check_ancestor(out, trace)
    pairs = [trace.split(out) for out in outs]
    if config.jax_check_tracer_leaks:
        outs = out = None  # type: ignore[assignment]
        check_leaks(trace)
    return [p for p, _ in pairs], [t for _, t in pairs]


@memo_on_first
def jvp_jaxpr(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], force: tuple[bool, ...] | None = None
) -> tuple[Jaxpr, tuple[bool, ...]]:
    """`jaxpr` differentiated along the inputs in `nonzero`.

    The result takes (inputs, their nonzero tangents) and gives (outputs, their nonzero
    tangents), with the mask of the latter. Output tangents in `force` are given also if
    they are zero.
    """
    count = len(jaxpr.ins)
    mask: list[bool] = []

    def run(*args: Any) -> list[Any]:
        given = iter(args[count:])
        outs, tangents = jvp_flat(
            lambda *xs: eval_jaxpr(jaxpr, xs),
            args[:count],
            [next(given) if live else None for live in nonzero],
        )
        mask[:] = [
            aval.inexact and (t is not None or (force is not None and force[i]))
            for i, (aval, t) in enumerate(zip(jaxpr.out_avals, tangents))
        ]
        return outs + [
            instantiate(o, t) for o, t, live in zip(outs, tangents, mask) if live
        ]

    tangent_avals = tuple([a for a, live in zip(jaxpr.in_avals, nonzero) if live])
    made = restage(run, jaxpr.in_avals + tangent_avals, jaxpr.name)
    return made, tuple(mask)
