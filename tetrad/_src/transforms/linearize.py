"""Linearization: compute a function now, and write down its derivative for later.

`Linearize` is one trace that does both. An operation on `LinearTracer`s is computed at
once by the parent trace; the linear equations that give its tangent go onto a tape
whose inputs are the tangents of the inputs. What a linear equation needs of the primal
computation (a residual) becomes a constant of the tape. So reverse differentiation is
two steps: linearize, then transpose the tape (`transpose.py`).

`Partial` is partial evaluation: operations on known values are done now by the parent,
the rest is staged. It serves the operations whose `jvp` rule is a Python function, and
`split_jaxpr`, which takes a jaxpr apart for operations that hold one.

Read `Partial`, then `Linearize`, then `linearize_flat` and `split_jaxpr`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, Tracer, aval_of
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, dce, eval_jaxpr
from tetrad._src.core.leaks import check_leaks
from tetrad._src.core.op import Kind, Op, Split, infer
from tetrad._src.core.stage import Stage, StageTracer, check_ancestor, restage, where
from tetrad._src.ops.arithmetic import Mul, Neg
from tetrad._src.ops.views import BroadcastInDim
from tetrad._src.transforms.jvp import differentiate, linear_operands
from tetrad._src.transforms.sums import AddAny
from tetrad._src.util.config import config
from tetrad._src.util.memo import memo_on_first

Flat = Callable[..., Sequence[Any]]

ADD = AddAny()
MUL = Mul()
NEG = Neg()


class Partial(Stage):
    """Does what is known, stages what is not."""

    def unknown(self, aval: Aval) -> StageTracer:
        return self.tracer(Var(aval), STATE.where)

    def owns(self, x: Any) -> bool:
        return type(x) is StageTracer and x._trace is self

    def process(self, op: Op, args: Sequence[Any]) -> Any:
        unknown = [type(a) is StageTracer and a._trace is self for a in args]
        if True not in unknown:
            return self.outside(op, args)
        if op.split is not None and False in unknown:
            done = self.by_split(op, args, tuple(unknown))
            if done is not None:
                return done
        return Stage.process(self, op, args)

    def outside(self, op: Op, args: Sequence[Any]) -> Any:
        """Has the parent process an operation."""
        STATE.trace = self.parent  # type: ignore[assignment]
        try:
            return op(*args)
        finally:
            STATE.trace = self

    def by_split(
        self, op: Op, args: Sequence[Any], unknown: tuple[bool, ...]
    ) -> list[Any] | None:
        """Does the known part of `op` now; None if it has no such part."""
        STATE.trace = self.parent  # type: ignore[assignment]
        try:
            split: Split | None = op.split(unknown)
            if split is None:
                return None
            known = []
            if split.known is not None:
                known = list(split.known(*[args[i] for i in split.known_in]))
        finally:
            STATE.trace = self
        count = split.unknown_out.count(False)
        residuals = known[count:]
        done = iter(known[:count])
        later = iter(())
        if split.unknown is not None:
            operands = [args[i] if i >= 0 else residuals[~i] for i in split.unknown_in]
            later = iter(Stage.process(self, split.unknown, operands))
        return [next(later) if u else next(done) for u in split.unknown_out]


class LinearTracer(Tracer):
    """A primal value, and the variable of the tape that is its tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(
        self, trace: Linearize, primal: Any, tangent: Atom, origin: Any
    ) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent
        self.aval = aval_of(primal)
        self.origin = origin


class Linearize(Trace):
    """Computes primals; writes the equations of their tangents onto a tape."""

    transformation = "jvp"

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.tape = Partial(parent)

    def process(self, op: Op, args: Sequence[Any]) -> Any:
        primals = []
        tangents: list[Atom | None] = []
        live = False
        for arg in args:
            if type(arg) is LinearTracer and arg._trace is self:
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
            if op.derivative is not None:
                return self.by_derivative(op, primals, tangents)
            if op.jvp is None and op.linear and not op.multiple:
                return self.by_linearity(op, primals, tangents)
            return self.by_rule(op, primals, tangents)
        finally:
            STATE.trace = self
            STATE.where = outside

    def emit(self, op: Op, operands: Sequence[Any]) -> Var:
        """Writes an equation onto the tape; atoms among the operands are tangents."""
        atom = self.tape.atom
        ins = [a if type(a) is Var or type(a) is Literal else atom(a) for a in operands]
        out = Var(infer(op, tuple([a.aval for a in ins])))
        self.tape.eqns.append(Eqn(op, ins, [out], STATE.where))
        return out

    def wrap(self, primal: Any, tangent: Atom | None) -> Any:
        if tangent is None or not aval_of(primal).inexact:
            return primal
        return LinearTracer(self, primal, tangent, STATE.where)

    def fit(self, tangent: Atom | None, shape: tuple[int, ...]) -> Atom | None:
        if tangent is None or tangent.aval.shape == shape:
            return tangent
        return self.emit(BroadcastInDim(shape, ()), [tangent])

    def by_derivative(
        self, op: Op, primals: Sequence[Any], tangents: Sequence[Atom | None]
    ) -> Any:
        out = op(*primals)
        total: Atom | None = None
        for tangent, coefficient in zip(tangents, op.derivative(out, *primals)):
            if tangent is None or coefficient is None:
                continue
            term = self.emit(MUL, [tangent, coefficient])
            total = term if total is None else self.emit(ADD, [total, term])
        return self.wrap(out, self.fit(total, aval_of(out).shape))

    def by_linearity(
        self, op: Op, primals: Sequence[Any], tangents: Sequence[Atom | None]
    ) -> Any:
        out = op(*primals)
        if not aval_of(out).inexact:
            return out
        total: Atom | None = None
        if op.signs and tangents.count(None) == len(tangents) - 1:
            i = next(i for i, t in enumerate(tangents) if t is not None)
            total = tangents[i]
            if op.signs[i] < 0:
                total = self.emit(NEG, [total])
            return self.wrap(out, self.fit(total, aval_of(out).shape))
        for group in op.linear_groups(len(primals)):
            operands = linear_operands(op, group, primals, tangents)
            if operands is None:
                continue
            term = self.emit(op, operands)
            total = term if total is None else self.emit(ADD, [total, term])
        if op.kind is Kind.ELEMENTWISE:
            total = self.fit(total, aval_of(out).shape)
        return self.wrap(out, total)

    def by_rule(
        self, op: Op, primals: Sequence[Any], tangents: Sequence[Atom | None]
    ) -> Any:
        """Runs a `jvp` rule on tangents that are not known yet."""
        tape = self.tape
        staged: list[Any] = []
        for tangent in tangents:
            if isinstance(tangent, Var):
                staged.append(StageTracer(tape, tangent, STATE.where))
            else:
                staged.append(None if tangent is None else tangent.val)
        STATE.trace = tape
        out, out_tangents = differentiate(op, primals, staged)
        if not op.multiple:
            return self.close_over(out, out_tangents)
        return [self.close_over(o, t) for o, t in zip(out, out_tangents)]

    def close_over(self, out: Any, tangent: Any) -> Any:
        return self.wrap(out, None if tangent is None else self.tape.atom(tangent))


class Tape:
    """A linear program: constants (residuals), inputs, equations, outputs.

    An output of None is zero whatever the inputs are.
    """

    __slots__ = ("consts", "ins", "eqns", "outs")

    def __init__(
        self,
        consts: list[tuple[Var, Any]],
        ins: list[Var],
        eqns: list[Eqn],
        outs: list[Atom | None],
    ) -> None:
        self.consts = consts
        self.ins = ins
        self.eqns = eqns
        self.outs = outs

    def close(self) -> tuple[Jaxpr, list[Any]]:
        """As a jaxpr from (constants, inputs) to the outputs that are not zero."""
        jaxpr = Jaxpr(
            [v for v, _ in self.consts] + self.ins,
            self.eqns,
            [out for out in self.outs if out is not None],
        )
        jaxpr, used = dce(jaxpr, (True,) * len(jaxpr.outs))
        keep = [u or i >= len(self.consts) for i, u in enumerate(used)]
        ins = [v for v, k in zip(jaxpr.ins, keep) if k]
        consts = [value for (_, value), k in zip(self.consts, keep) if k]
        return Jaxpr(ins, jaxpr.eqns, jaxpr.outs), consts


def linearize_flat(
    fun: Flat, primals: Sequence[Any], differentiated: Sequence[bool]
) -> tuple[list[Any], Tape]:
    """Runs `fun`: its results, and the tape of their tangents.

    The inputs of the tape are the tangents of the primals that are `differentiated`.
    """
    trace = Linearize(STATE.trace)
    origin = where()
    args = []
    ins = []
    for primal, live in zip(primals, differentiated):
        if live:
            var = Var(aval_of(primal))
            ins.append(var)
            primal = LinearTracer(trace, primal, var, origin)
        args.append(primal)
    results = trace.run(fun, args)
    outs = []
    tangents: list[Atom | None] = []
    for out in results:
        if type(out) is LinearTracer and out._trace is trace:
            outs.append(out.primal)
            tangents.append(out.tangent)
            continue
        if isinstance(out, Tracer):
            check_ancestor(out, trace)
        outs.append(out)
        tangents.append(None)
    tape = trace.tape
    tape.closed = True
    if config.jax_check_tracer_leaks:
        results = args = out = primal = None  # type: ignore[assignment]
        check_leaks(trace)
    return outs, Tape(list(tape.consts.values()), ins, tape.eqns, tangents)


class SplitJaxpr:
    """A jaxpr taken apart.

    `known` takes the known inputs and gives the known outputs, then residuals.
    `unknown` takes (residuals, unknown inputs) and gives the unknown outputs.
    `unknown_out` marks these. `source[j]` is the known input that residual `j` simply
    is, or None.
    """

    __slots__ = ("known", "unknown", "unknown_out", "source")

    def __init__(
        self,
        known: Jaxpr,
        unknown: Jaxpr,
        unknown_out: tuple[bool, ...],
        source: tuple[int | None, ...],
    ) -> None:
        self.known = known
        self.unknown = unknown
        self.unknown_out = unknown_out
        self.source = source


@memo_on_first
def split_jaxpr(
    jaxpr: Jaxpr, unknown: tuple[bool, ...], force: tuple[bool, ...] | None = None
) -> SplitJaxpr:
    """Takes `jaxpr` apart by what its `unknown` inputs reach.

    Outputs in `force` count as unknown in any case.
    """
    found: dict[str, Any] = {}

    def run(*known: Any) -> list[Any]:
        partial = Partial(STATE.trace)
        given = iter(known)
        args = [
            partial.unknown(aval) if u else next(given)
            for aval, u in zip(jaxpr.in_avals, unknown)
        ]
        ins = [a.variable for a, u in zip(args, unknown) if u]
        outs = partial.run(lambda *args: eval_jaxpr(jaxpr, args), args)
        unknown_out = tuple(
            [
                partial.owns(out) or (force is not None and force[i])
                for i, out in enumerate(outs)
            ]
        )
        later, residuals = partial.close(
            ins, [o for o, u in zip(outs, unknown_out) if u], jaxpr.name
        )
        later, used = dce(later, (True,) * len(later.outs))
        count = len(residuals)
        later = Jaxpr(
            [v for i, v in enumerate(later.ins) if i >= count or used[i]],
            later.eqns,
            later.outs,
            jaxpr.name,
        )
        residuals = [r for r, u in zip(residuals, used) if u]
        position = {id(value): i for i, value in enumerate(known)}
        found["unknown"] = later
        found["unknown_out"] = unknown_out
        found["source"] = tuple([position.get(id(r)) for r in residuals])
        return [o for o, u in zip(outs, unknown_out) if not u] + residuals

    known_avals = [a for a, u in zip(jaxpr.in_avals, unknown) if not u]
    known = restage(run, known_avals, jaxpr.name)
    known, _ = dce(known, (True,) * len(known.outs))
    return SplitJaxpr(known, **found)
