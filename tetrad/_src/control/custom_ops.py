"""The operations behind `custom_jvp` and `custom_vjp`, and their rules over flat values.

`CustomJvp` and `CustomVjp` are operations whose fields are Python functions over flat
values. Run eagerly they are the primal function, so Python control flow works in it;
when they are staged the primal function becomes a jaxpr (`Op.stage`), while the rules
stay functions and run when a derivative is taken. `CustomLinear` is the linear map that
a `custom_vjp` has for a derivative: it has a transpose, the user's `bwd`, and no forward
evaluation.

Read `JvpRule` and `VjpRules` (what a user states, over flat values), then `CustomOp`,
`CustomJvp`, `CustomVjp`, `VjpForward`, `CustomLinear`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.control.call import (
    JaxprCall,
    Mask,
    axis_names,
    expand_mask,
    jit_of,
    linear_mask,
    nonzero_mask,
)
from tetrad._src.control.signature import name_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, aval_of, base_trace
from tetrad._src.core.jaxpr import Jaxpr, dce, eval_jaxpr, subjaxprs
from tetrad._src.core.op import Axis, Linear, Whole
from tetrad._src.core.stage import stage
from tetrad._src.ops.families import Call
from tetrad._src.ops.views import reduce_sum, zeros
from tetrad._src.transforms.transpose import transpose_jaxpr
from tetrad._src.transforms.vmap import (
    Batch,
    move_mapped,
    spread_all,
    vmap_again,
    vmap_flat,
)
from tetrad._src.util import dtypes

Flat = Callable[..., list[Any]]


class Staged:
    """A function that has been staged: it evaluates its jaxpr."""

    __slots__ = ("jaxpr",)

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr = jaxpr

    def __call__(self, *args: Any) -> list[Any]:
        return eval_jaxpr(self.jaxpr, args)


class Lanes:
    """How the functions of one operation run for all lanes of a mapped axis.

    `mapped` tells whether the operands are mapped (all of them, at 0, or none). `outs`
    tells the same of the results; without mapped operands it is known when a function
    has run, for it may close over lanes of `batch`, the trace it is called in.
    """

    __slots__ = ("axis", "batch", "mapped", "outs")

    def __init__(self, axis: Axis, mapped: bool, batch: Batch | None = None) -> None:
        self.axis = axis
        self.batch = batch
        self.mapped = mapped
        self.outs: bool | None = True if mapped else None

    def call(
        self, fun: Flat, args: Sequence[Any], mapped: bool
    ) -> tuple[list[Any], list[int | None]]:
        axes = [0 if mapped else None] * len(args)
        if self.batch is None:
            return vmap_flat(fun, self.axis, args, axes)
        return vmap_again(self.batch, fun, args, axes)

    def run(self, fun: Flat, args: Sequence[Any]) -> list[Any]:
        """Results for all lanes, or one for all of them if `outs` says so."""
        outs, axes = self.call(fun, args, self.mapped)
        reached = any(at is not None for at in axes)
        if self.outs is None:
            self.outs = reached
        if not self.outs and not reached:
            return outs
        if not self.outs:
            raise NotImplementedError(
                "a rule of a custom_jvp or custom_vjp function depends on the lane of a"
                " vmap, but the function itself does not. Pass the mapped value to the"
                " function as an argument."
            )
        return [move_mapped(self.axis, out, at, 0) for out, at in zip(outs, axes)]

    def back(self, fun: Flat, args: Sequence[Any]) -> list[Any]:
        """Cotangents of the operands, from what `run` gave and its cotangents."""
        outs, axes = self.call(fun, args, bool(self.outs))
        if self.mapped:
            return [move_mapped(self.axis, out, at, 0) for out, at in zip(outs, axes)]
        if not self.outs:
            return outs
        # An operand that all lanes share gets the sum of what the lanes give.
        whole = [move_mapped(self.axis, out, at, 0) for out, at in zip(outs, axes)]
        return [reduce_sum(ct, (0,)) for ct in whole]


class JvpRule:
    """A `defjvp` rule over flat values.

    `run(primals, tangents)` gives results and their tangents; None is a tangent that is
    zero. The first `consts` primals are values that the function closed over.
    """

    def __init__(
        self, fun: Any, user: Any, run: Any, symbolic: bool = False, consts: int = 0
    ) -> None:
        self.fun = fun
        self.user = user
        self.run = run
        self.symbolic = symbolic
        self.consts = consts

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if any(t is not None for t in tangents[: self.consts]):
            raise closed_over(self.fun, "custom_jvp")
        return self.run(primals, tangents)

    def after(self, count: int) -> JvpRule:
        """The rule for `count` closed-over values before the operands."""
        run = self.run
        return self.like(lambda p, t: run(p[count:], t[count:]), count)

    def like(self, run: Any, consts: int) -> JvpRule:
        return JvpRule(self.fun, self.user, run, self.symbolic, consts)

    def over(self, lanes: Lanes) -> JvpRule:
        """The rule for all lanes."""
        run = self.run

        def run_lanes(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            count = len(primals)
            mask = nonzero_mask(tangents)
            out_mask: list[bool] = []

            def flat(*args: Any) -> list[Any]:
                outs, found = run(args[:count], expand_mask(args[count:], mask))
                out_mask[:] = nonzero_mask(found)
                return [*outs, *[t for t in found if t is not None]]

            live = [t for t in tangents if t is not None]
            results = lanes.run(flat, [*primals, *live])
            outs = results[: len(out_mask)]
            return outs, expand_mask(results[len(out_mask) :], tuple(out_mask))

        return self.like(run_lanes, self.consts)


class VjpRules:
    """The `defvjp` rules over flat values.

    `fwd(primals, perturbed)` gives results and residuals; `perturbed` says along which
    primals there is a tangent. `bwd(residuals, cotangents)` gives a cotangent for each
    primal; None is zero, among its arguments only for rules that are `symbolic`. The
    first `consts` primals are values that the function closed over.
    """

    def __init__(
        self,
        fun: Any,
        user: tuple[Any, Any],
        fwd: Any,
        bwd: Any,
        symbolic: bool = False,
        optimize_remat: bool = False,
        consts: int = 0,
    ) -> None:
        self.fun = fun
        self.user = user
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic = symbolic
        self.optimize_remat = optimize_remat
        self.consts = consts

    def like(self, fwd: Any, bwd: Any, consts: int) -> VjpRules:
        return VjpRules(
            self.fun, self.user, fwd, bwd, self.symbolic, self.optimize_remat, consts
        )

    def after(self, count: int) -> VjpRules:
        """The rules for `count` closed-over values before the operands."""
        fwd, bwd = self.fwd, self.bwd
        return self.like(
            lambda primals, perturbed: fwd(primals[count:], perturbed[count:]),
            lambda residuals, cts: [None] * count + bwd(residuals, cts),
            count,
        )

    def over(self, lanes: Lanes) -> VjpRules:
        """The rules for all lanes."""
        fwd, bwd = self.fwd, self.bwd

        def fwd_lanes(primals: Sequence[Any], perturbed: Sequence[bool]) -> Any:
            count = 0

            def flat(*xs: Any) -> list[Any]:
                nonlocal count
                outs, residuals = fwd(xs, perturbed)
                count = len(outs)
                return [*outs, *residuals]

            results = lanes.run(flat, primals)
            return results[:count], results[count:]

        def bwd_lanes(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            count = len(residuals)
            given = nonzero_mask(cts)
            mask: list[bool] = []

            def flat(*xs: Any) -> list[Any]:
                found = bwd(xs[:count], expand_mask(xs[count:], given))
                mask[:] = nonzero_mask(found)
                return [ct for ct in found if ct is not None]

            live = [ct for ct in cts if ct is not None]
            results = lanes.back(flat, [*residuals, *live])
            return expand_mask(results, tuple(mask))

        return self.like(fwd_lanes, bwd_lanes, self.consts)


def closed_over(fun: Any, kind: str) -> NotImplementedError:
    return NotImplementedError(
        f"the {kind} function `{name_of(fun)}` closes over a value that is being"
        " differentiated, but its rule says nothing about that value. Pass the value to"
        f" `{name_of(fun)}` as an argument."
    )


class CustomOp(Call):
    """A call of `fun` whose derivative is given."""

    fun: Any

    aligned = False

    @property
    def inlined(self) -> bool:
        """Whether it may be replaced by its body, which it has once it is staged."""
        return type(self.fun) is Staged

    def __call__(self, *args: Any) -> Any:
        if STATE.trace is base_trace():
            return self.fun(*args)
        return STATE.trace.process(self, args)

    @property
    def effects(self) -> frozenset[Any]:
        return self.fun.jaxpr.effects if type(self.fun) is Staged else frozenset()

    @property
    def axis_names(self) -> tuple[Any, ...]:
        return axis_names(self.fun.jaxpr) if type(self.fun) is Staged else ()

    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return (self.fun.jaxpr,) if type(self.fun) is Staged else ()

    def lift(
        self, jaxprs: Sequence[Jaxpr], count: int
    ) -> tuple[JaxprCall, tuple[int, ...]]:
        """Whoever lifts arrays runs the program: rules have done their part."""
        return jit_of(jaxprs[0]), (0,)

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        if type(self.fun) is not Staged:
            raise TypeError(f"{self.name} has not been staged yet")
        outs: tuple[Aval, ...] = self.fun.jaxpr.out_avals
        return outs

    def structural(self) -> Any:
        """Rules do not change what is computed, so they are no part of the key."""
        if type(self.fun) is not Staged:
            return (type(self), id(self.fun))
        return (type(self), self.fun.jaxpr.structural_key())

    def stage(self, *args: Any) -> Any:
        """Stages `fun`; what it closes over becomes leading operands."""
        if type(self.fun) is Staged:
            return NotImplemented
        jaxpr, consts = stage(self.fun, [aval_of(a) for a in args], self.label())
        return self.closed(Staged(jaxpr), consts)(*consts, *args)

    def closed(self, fun: Staged, consts: Sequence[Any]) -> CustomOp:
        """The operation on `fun`, which takes `consts` before the operands."""
        raise NotImplementedError

    def label(self) -> str:
        raise NotImplementedError

    def over(self, lanes: Lanes) -> CustomOp:
        """The operation for all lanes."""
        raise NotImplementedError

    def check_results(self, outs: Sequence[Any], rule: Any) -> None:
        """TypeError if a rule gives other results than the function, as far as known."""
        if type(self.fun) is not Staged:
            return
        want = self.fun.jaxpr.out_avals
        got = [aval_of(out) for out in outs]
        if len(got) == len(want) and all(
            g.shape == w.shape and g.dtype == w.dtype for g, w in zip(got, want)
        ):
            return
        shown = [", ".join([a.long_name() for a in avals]) for avals in (want, got)]
        raise TypeError(
            f"the rule `{name_of(rule)}` must return as its first value what"
            f" `{self.label()}` returns, {shown[0]}, got {shown[1]}"
        )

    @property
    def unstaged(self) -> bool:
        """Whether it holds a Python function, which may close over anything."""
        return type(self.fun) is not Staged

    def in_lanes(
        self, batch: Batch, values: Sequence[Any], axes: Sequence[int | None]
    ) -> list[Any]:
        """Batches a Python function in the trace it is called in."""
        mapped = any(at is not None for at in axes)
        if mapped:
            values = spread_all(batch.axis, values, axes)
        lanes = Lanes(batch.axis, mapped, batch)
        outs = self.over(lanes)(*values)
        return list(outs) if lanes.outs else [Whole(out) for out in outs]

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        lanes = Lanes(axis, any(mapped))
        values: Sequence[Any] = args
        if lanes.mapped:
            values = spread_all(axis, args, [0 if m else None for m in mapped])
        outs = self.over(lanes)(*values)
        return list(outs) if lanes.outs else [Whole(out) for out in outs]

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        """A rule may apply the function to tangents, where it is linear."""
        linear = linear_mask(args)
        jaxpr = transpose_jaxpr(self.fun.jaxpr, linear, nonzero_mask(cts))
        values = [a for a in args if type(a) is not Linear]
        results = eval_jaxpr(jaxpr, [*values, *[ct for ct in cts if ct is not None]])
        return expand_mask(results, linear)

    def expand(self, *args: Any) -> list[Any]:
        result: list[Any] = self.fun(*args)
        return result


class CustomJvp(CustomOp):
    """Calls `fun`; its derivative is `rule(primals, tangents)`, two flat lists."""

    fun: Any
    rule: Any

    name = "custom_jvp_call"

    def label(self) -> str:
        return name_of(self.rule.fun)

    @property
    def params(self) -> dict[str, Any]:
        return {
            "name": self.label(),
            "call_jaxpr": self.fun.jaxpr,
            "jvp": name_of(self.rule.user),
            "symbolic_zeros": self.rule.symbolic,
        }

    def closed(self, fun: Staged, consts: Sequence[Any]) -> CustomOp:
        return CustomJvp(fun, self.rule.after(len(consts)))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        outs, found = self.rule(primals, tangents)
        self.check_results(outs, self.rule.user)
        return outs, found

    def over(self, lanes: Lanes) -> CustomOp:
        fun = self.fun
        return CustomJvp(lambda *xs: lanes.run(fun, xs), self.rule.over(lanes))


class CustomVjp(CustomOp):
    """Calls `fun`; reverse differentiation runs `rules.fwd` now, `rules.bwd` later."""

    fun: Any
    rules: Any

    name = "custom_vjp_call"

    def label(self) -> str:
        return name_of(self.rules.fun)

    @property
    def params(self) -> dict[str, Any]:
        return {
            "name": self.label(),
            "bwd": name_of(self.rules.user[1]),
            "call_jaxpr": self.fun.jaxpr,
            "fwd": name_of(self.rules.user[0]),
            "symbolic_zeros": self.rules.symbolic,
        }

    def closed(self, fun: Staged, consts: Sequence[Any]) -> CustomOp:
        return CustomVjp(fun, self.rules.after(len(consts)))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        if any(t is not None for t in tangents[: self.rules.consts]):
            raise closed_over(self.rules.fun, "custom_vjp")
        outs, residuals = self.forward(primals, nonzero_mask(tangents))
        self.check_results(outs, self.rules.user[0])
        avals = tuple([aval_of(out) for out in outs])
        places = tuple([i for i, t in enumerate(tangents) if t is not None])
        linear = CustomLinear(self.rules, avals, len(residuals), len(primals), places)
        live = [t for t in tangents if t is not None]
        out_tangents = linear(*residuals, *live)
        return outs, [t if a.inexact else None for t, a in zip(out_tangents, avals)]

    def forward(
        self, primals: Sequence[Any], perturbed: Mask
    ) -> tuple[list[Any], list[Any]]:
        """Results and residuals."""
        fwd = self.rules.fwd
        if not (self.rules.optimize_remat and type(self.fun) is Staged):
            found: tuple[list[Any], list[Any]] = fwd(primals, perturbed)
            return found
        count = 0

        def flat(*xs: Any) -> list[Any]:
            nonlocal count
            outs, residuals = fwd(xs, perturbed)
            count = len(outs)
            return [*outs, *residuals]

        jaxpr, consts = stage(flat, [aval_of(p) for p in primals], self.label())
        op = VjpForward(jaxpr, self.fun.jaxpr, len(consts))
        results = op(*consts, *primals)
        return results[:count], results[count:]

    def over(self, lanes: Lanes) -> CustomOp:
        fun = self.fun
        return CustomVjp(lambda *xs: lanes.run(fun, xs), self.rules.over(lanes))


class VjpForward(JaxprCall):
    """A `fwd` rule that gives way to the function itself where nobody needs residuals.

    `jaxpr` takes `consts` closed-over values and the operands, and gives results and
    residuals; `primal` takes the operands and gives the results.
    """

    jaxpr: Jaxpr
    primal: Jaxpr
    consts: int

    name = "custom_vjp_fwd"
    inlined = True

    def like(self, jaxpr: Jaxpr) -> JaxprCall:
        return jit_of(jaxpr)

    def structural(self) -> Any:
        return (VjpForward, self.jaxpr.structural_key())

    def dce(self, used: Mask) -> Any:
        count = len(self.primal.outs)
        if any(used[count:]):
            return self, (True,) * len(self.jaxpr.ins), (True,) * len(used)
        if self.primal.out_avals != self.jaxpr.out_avals[:count]:
            return super().dce(used)
        jaxpr, used_ins = dce(self.primal, used[:count], keep_ins=False)
        return jit_of(jaxpr), (False,) * self.consts + used_ins


def _no_cotangent(aval: Aval) -> Any:
    """Zeros for an output; keys have none but of dtype float0."""
    return np.zeros(aval.shape, dtypes.float0) if aval.kind == "K" else zeros(aval)


class CustomLinear(Call):
    """The derivative of a `custom_vjp` function, known by its transpose only.

    Operands: residuals, then tangents of the primals at `places`.
    """

    rules: Any
    out_avals: tuple[Aval, ...]
    residuals: int
    primals: int
    places: tuple[int, ...]

    name = "custom_lin"

    @property
    def params(self) -> dict[str, Any]:
        return {
            "bwd": name_of(self.rules.user[1]),
            "in_zeros": [i not in self.places for i in range(self.primals)],
            "num_res": self.residuals,
            "symbolic_zeros": self.rules.symbolic,
        }

    def __call__(self, *args: Any) -> Any:
        if STATE.trace is base_trace():
            return self.expand(*args)
        return STATE.trace.process(self, args)

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        return self.out_avals

    def structural(self) -> Any:
        return (type(self), id(self.rules), self.out_avals, self.places)

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        given = list(cts)
        if not self.rules.symbolic:
            given = [
                _no_cotangent(aval) if ct is None else ct
                for ct, aval in zip(cts, self.out_avals)
            ]
        found = self.rules.bwd(args[: self.residuals], given)
        return [None] * self.residuals + [found[i] for i in self.places]

    def batch(self, axis: Axis, *args: Any) -> list[Any]:
        avals = tuple([aval.mapped(axis.size) for aval in self.out_avals])
        op = CustomLinear(
            self.rules.over(Lanes(axis, True)),
            avals,
            self.residuals,
            self.primals,
            self.places,
        )
        result: list[Any] = op(*args)
        return result

    def expand(self, *args: Any) -> list[Any]:
        raise self.no_forward_mode()

    def no_forward_mode(self) -> TypeError:
        return TypeError(
            "can't apply forward-mode autodiff (jvp) to a custom_vjp function."
            f" `{name_of(self.rules.fun)}` is one,"
            " which only has a reverse-mode rule. Use grad, vjp or jacrev, or state its"
            " derivative with custom_jvp, which serves both modes."
        )


def check_forward(jaxpr: Jaxpr) -> None:
    """TypeError if running `jaxpr` would need a derivative that only has a transpose."""
    pending = [jaxpr]
    while pending:
        body = pending.pop()
        if any(type(e.op) is CustomLinear for e in body.eqns):
            for eqn in dce(body, (True,) * len(body.outs))[0].eqns:
                if type(eqn.op) is CustomLinear:
                    raise eqn.op.no_forward_mode()
        pending.extend(subjaxprs(body))
