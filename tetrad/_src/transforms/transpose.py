"""Transposition: a linear program run backwards, from cotangents of its outputs to
cotangents of its inputs.

In: equations in order, values for the inputs that are known, `Linear` for the others.
Out: a cotangent for each linear input (None is zero). Equations without a linear
operand are evaluated first; then each of the others, last to first, asks its operation
for the cotangents of its linear operands. A value that is used several times sums what
it gets. Nothing here recurses, so depth is no matter.

Read `backward`, then `transpose_jaxpr`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tetrad._src.core.bind import STATE, aval_of
from tetrad._src.core.jaxpr import Atom, Eqn, Jaxpr, Literal, Var, eval_jaxpr
from tetrad._src.core.op import Kind, Linear
from tetrad._src.core.stage import restage
from tetrad._src.ops.views import reduce_sum, zeros
from tetrad._src.transforms.linearize import Tape, split_jaxpr
from tetrad._src.transforms.sums import add_any
from tetrad._src.util import frames
from tetrad._src.util.memo import memo_on_first


def backward(
    eqns: Sequence[Eqn],
    env: dict[Var, Any],
    outs: Sequence[Atom],
    cotangents: Sequence[Any],
) -> dict[Var, Any]:
    """Cotangents of the linear inputs that have one that is not zero.

    `env` gives the inputs: values, or `Linear`. `cotangents` belong to `outs`; None is
    zero.
    """
    linear: list[tuple[Eqn, list[Any]]] = []
    outside = STATE.where
    try:
        for eqn in eqns:
            args = [v.val if type(v) is Literal else env[v] for v in eqn.ins]  # type: ignore[index]
            if Linear in map(type, args):
                for var in eqn.outs:
                    env[var] = Linear(var.aval)
                linear.append((eqn, args))
                continue
            STATE.where = eqn.where or outside
            results = eqn.op(*args)
            env.update(zip(eqn.outs, results if eqn.op.multiple else (results,)))
        sums: dict[Var, Any] = {}
        for atom, cotangent in zip(outs, cotangents):
            if type(atom) is Var and type(env[atom]) is Linear:
                _accumulate(sums, atom, cotangent)
        while linear:
            eqn, args = linear.pop()
            STATE.where = frames.backward(eqn.where) or outside
            _transpose_equation(eqn, args, sums)
        return sums
    finally:
        STATE.where = outside


def _accumulate(sums: dict[Var, Any], var: Var, cotangent: Any) -> None:
    if cotangent is not None:
        before = sums.get(var)
        sums[var] = cotangent if before is None else add_any(before, cotangent)


def _transpose_equation(eqn: Eqn, args: Sequence[Any], sums: dict[Var, Any]) -> None:
    op = eqn.op
    given = [sums.pop(v, None) for v in eqn.outs]
    if given.count(None) == len(given) and not (op.effects and not given):
        return
    if op.transpose is None:
        raise _no_transpose(eqn)
    results = op.transpose(given if op.multiple else given[0], *args)
    for atom, arg, cotangent in zip(eqn.ins, args, results):
        if cotangent is None or type(arg) is not Linear:
            continue
        if op.kind is Kind.ELEMENTWISE:
            aval = aval_of(cotangent)
            if aval.shape != arg.aval.shape:
                cotangent = reduce_sum(cotangent, tuple(range(aval.ndim)))
        _accumulate(sums, atom, cotangent)  # type: ignore[arg-type]


def _no_transpose(eqn: Eqn) -> NotImplementedError:
    """The error about an operation that is not linear, or is linear without a rule."""
    op = eqn.op
    words = frames.expression_at(*eqn.where) if eqn.where else None
    shown = (
        f"`{words}` at {frames.format_where(eqn.where)}" if words else f"`{op.name}`"
    )
    if op.linear:
        return NotImplementedError(
            f"{shown} has no transposition rule for `{op.name}`, so it cannot be"
            " differentiated in reverse mode. Use jvp or jacfwd, or give the surrounding"
            " function its derivative with custom_vjp."
        )
    return NotImplementedError(
        f"{shown} is not linear (`{op.name}`), so it cannot be transposed."
        " linear_transpose takes linear functions, and a rule of custom_jvp must be"
        " linear in the tangents. To differentiate a function write jax.grad(f)(x) or"
        " jax.vjp(f, x)."
    )


def transpose_tape(tape: Tape, cotangents: Sequence[Any]) -> list[Any]:
    """Cotangents of the inputs of `tape`; `cotangents[i]` belongs to output i."""
    env: dict[Var, Any] = dict(tape.consts)
    for var in tape.ins:
        env[var] = Linear(var.aval)
    outs = []
    given = []
    for out, cotangent in zip(tape.outs, cotangents):
        if out is not None and cotangent is not None:
            outs.append(out)
            given.append(cotangent)
    sums = backward(tape.eqns, env, outs, given)
    return [sums.get(var) for var in tape.ins]


@memo_on_first
def transpose_jaxpr(
    jaxpr: Jaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
) -> Jaxpr:
    """The transpose of `jaxpr` with regard to its `linear` inputs.

    It takes (the other inputs, cotangents of the outputs in `nonzero`) and gives a
    cotangent for each linear input, zeros included.
    """
    linear_avals = [a for a, on in zip(jaxpr.in_avals, linear) if on]
    value_avals = [a for a, on in zip(jaxpr.in_avals, linear) if not on]
    ct_avals = [a for a, on in zip(jaxpr.out_avals, nonzero) if on]
    count = len(value_avals)

    def run(*args: Any) -> list[Any]:
        given = iter(args[count:])
        cotangents = [next(given) if on else None for on in nonzero]
        later, known = jaxpr, list(args[:count])
        places = [i for i, on in enumerate(linear) if on]
        if _mixes(jaxpr, linear):
            parts = split_jaxpr(jaxpr, linear)
            known = eval_jaxpr(parts.known, known)[parts.unknown_out.count(False) :]
            cotangents = [ct for ct, u in zip(cotangents, parts.unknown_out) if u]
            later = parts.unknown
            places = list(range(len(known), len(later.ins)))
        ins = [later.ins[i] for i in places]
        env: dict[Var, Any] = {var: Linear(var.aval) for var in ins}
        env.update(zip([v for v in later.ins if v not in env], known))
        sums = backward(later.eqns, env, later.outs, cotangents)
        return [
            zeros(aval) if sums.get(var) is None else sums[var]
            for var, aval in zip(ins, linear_avals)
        ]

    return restage(run, value_avals + ct_avals, jaxpr.name)


def _mixes(jaxpr: Jaxpr, linear: tuple[bool, ...]) -> bool:
    """Whether an equation may compute linear and other results together.

    So do calls inside the body of a checkpoint; they must be taken apart first. A call
    all of whose results are linear is transposed as it is, whatever it computes on the
    way.
    """
    return _linear_outs(jaxpr, linear) is None


@memo_on_first
def _linear_outs(jaxpr: Jaxpr, linear: tuple[bool, ...]) -> tuple[bool, ...] | None:
    """Which outputs depend on the linear inputs; None if some equation mixes."""
    reached: set[Any] = {v for v, on in zip(jaxpr.ins, linear) if on}
    for eqn in jaxpr.eqns:
        touched = tuple([v in reached for v in eqn.ins])
        if not any(touched):
            continue
        if eqn.op.split is not None and not all(touched):
            if not (eqn.op.applies and getattr(eqn.op, "inlined", False)):
                return None
            outs = _linear_outs(eqn.op.jaxprs()[0], touched)
            if outs is None or not all(outs):
                return None
        reached.update(eqn.outs)
    return tuple([v in reached for v in jaxpr.outs])
