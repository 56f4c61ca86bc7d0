"""`while_loop` and `fori_loop`: loops that end when a value says so, or after n steps.

In: a condition and a body over one carry. Out: the operation `While` on their jaxprs,
with what each closes over as leading operands, then the carry. A `fori_loop` whose
bounds are known is a `scan` instead, which has a reverse derivative.

Under `vmap` with a condition that depends on the lane, all lanes step together until
the last one is done, and those that are done keep their carry. Where a step of a
finished lane could do harm (never end, have effects) each lane loops for itself.

Read `While`, the functions behind its rules, then the public functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from tetrad._src.control import bodies
from tetrad._src.control.branches import harmful, refuse_order
from tetrad._src.control.call import (
    JaxprCall,
    Mask,
    expand_mask,
    nonzero_mask,
    places,
)
from tetrad._src.control.flow import (
    FlowOp,
    chosen,
    cut,
    described,
    either,
    fixpoint,
    made,
    permuted,
    reached,
    same_types,
    unchanged,
    with_unused,
)
from tetrad._src.control.pictures import Shown, called
from tetrad._src.control.pictures import described as described_result
from tetrad._src.control.scan import call_scan, scan_of, unrolled
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Literal, Var, dce, eval_jaxpr
from tetrad._src.core.op import Axis, Flow, Split, Whole
from tetrad._src.core.stage import restage, where
from tetrad._src.ops.arithmetic import Add
from tetrad._src.ops.compare import Lt, select_n
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.reduce import ReduceOr
from tetrad._src.ops.views import broadcast_in_dim
from tetrad._src.transforms.jvp import instantiate, jvp_jaxpr
from tetrad._src.transforms.linearize import split_jaxpr
from tetrad._src.transforms.tracer_methods import primal_of
from tetrad._src.transforms.vmap import batch_jaxpr, spread
from tetrad._src.util import dtypes, errors, tree
from tetrad._src.util.config import config
from tetrad._src.util.memo import memo_on_first

Carry = TypeVar("Carry")

BOOL = np.dtype(bool)
ADD = Add()
LT = Lt()


class While(FlowOp):
    """Repeats `body` while `cond` holds: carry = body(*body_consts, *carry)."""

    cond_jaxpr: Jaxpr
    cond_nconsts: int
    body_jaxpr: Jaxpr
    body_nconsts: int

    name = "while"
    flow = Flow.WHILE
    by_lane: ClassVar[bool] = False

    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return self.cond_jaxpr, self.body_jaxpr

    def cut(self, values: Sequence[Any]) -> list[Any]:
        """Consts of the condition, consts of the body, carry."""
        return cut(values, self.cond_nconsts, self.body_nconsts)

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        cond_consts, body_consts, carry = self.cut(avals)
        for which, jaxpr, got in (
            ("condition", self.cond_jaxpr, (*cond_consts, *carry)),
            ("body", self.body_jaxpr, (*body_consts, *carry)),
        ):
            if not same_types(jaxpr.in_avals, got):
                raise TypeError(
                    f"the {which} of while takes {described(jaxpr.in_avals)}, but the"
                    f" operands give it {described(got)}"
                )
        return self.body_jaxpr.out_avals

    def lift(
        self, jaxprs: Sequence[Jaxpr], count: int
    ) -> tuple[While, tuple[int, ...]]:
        cond, body = jaxprs
        cond_count, body_count = self.cond_nconsts + count, self.body_nconsts + count
        return while_of(cond, cond_count, body, body_count), (0, self.cond_nconsts)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        cond_consts, body_consts, carry = self.cut(primals)
        _, const_tangents, carry_tangents = self.cut(tangents)
        op, mask = _jvp(
            self, nonzero_mask(const_tangents), nonzero_mask(carry_tangents)
        )
        results = op(
            *cond_consts,
            *body_consts,
            *[t for t in const_tangents if t is not None],
            *carry,
            *[
                instantiate(p, t)
                for p, t, live in zip(carry, carry_tangents, mask)
                if live
            ],
        )
        count = len(mask)
        return results[:count], expand_mask(results[count:], mask)

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        raise no_reverse_mode()

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        return _batch(self, axis, mapped, args)

    @memo_on_first
    def split(self, unknown: Mask) -> Split | None:
        return _split(self, unknown)

    @memo_on_first
    def dce(self, used: Mask) -> tuple[While, Mask, Mask]:
        return _dce(self, used)

    def expand(self, *args: Any) -> list[Any]:
        """Step by step, with values that are known, for tests."""
        cond_consts, body_consts, carry = self.cut(args)
        while bool(eval_jaxpr(self.cond_jaxpr, [*cond_consts, *carry])[0]):
            carry = eval_jaxpr(self.body_jaxpr, [*body_consts, *carry])
        return list(carry)


class LaneWhile(While):
    """A loop of many lanes that goes on while some lane does.

    The condition is `reduce_or` of the first carry, which says of every lane whether it
    goes on. Steps leave the carry of the other lanes as it is, so a machine need not
    let them wait for each other.
    """

    by_lane = True


class SomeLane(ReduceOr):
    """Whether some lane goes on: the condition by which the loops of all lanes, and what
    is derived from them, can be told from a loop that the user wrote."""

    name = "reduce_or"


def steps_together(loop: While) -> bool:
    """Whether steps of a loop are those of many lanes, some of which may be done."""
    return any([type(eqn.op) is SomeLane for eqn in loop.cond_jaxpr.eqns])


def while_of(
    cond_jaxpr: Jaxpr, cond_nconsts: int, body_jaxpr: Jaxpr, body_nconsts: int
) -> While:
    found: While = made(cond_jaxpr, While, cond_nconsts, body_jaxpr, body_nconsts)
    return found


def no_reverse_mode() -> ValueError:
    return ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop, or lax.fori_loop"
        " with bounds that are not known (grad, vjp, jacrev): how many steps"
        " there are to store values of is not known. Use lax.scan, or lax.fori_loop with"
        " bounds that are Python integers; state the derivative with custom_vjp or"
        " lax.custom_root; or use forward mode (jvp, jacfwd)."
    )


class WholeLoop(JaxprCall):
    """A loop that runs again for tangents, with all values that it needs."""

    jaxpr: Jaxpr

    name = "while_again"
    inlined = True
    repeats = True
    split = None  # type: ignore[assignment]  # all of it belongs to the tangents

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        raise no_reverse_mode()


# ------------------------------------------------------------------ forward derivatives


@memo_on_first
def _jvp(loop: While, consts: Mask, carry: Mask) -> tuple[While, Mask]:
    """A loop over the carry and its nonzero tangents, and which these are."""
    body = loop.body_jaxpr
    carry = fixpoint(lambda mask: jvp_jaxpr(body, consts + mask, mask)[1], carry)
    jaxpr, _ = jvp_jaxpr(body, consts + carry, carry)
    count = len(body.ins)
    tangents = consts.count(True)
    order = (
        *range(loop.body_nconsts),
        *range(count, count + tangents),
        *range(loop.body_nconsts, count),
        *range(count + tangents, len(jaxpr.ins)),
    )
    avals = tuple(chosen(body.out_avals, carry))
    op = while_of(
        with_unused(loop.cond_jaxpr, avals),
        loop.cond_nconsts,
        permuted(jaxpr, order),
        loop.body_nconsts + tangents,
    )
    return op, carry


# ------------------------------------------------------------------------------- batches


class _Batched(NamedTuple):
    """How a loop runs for all lanes, by what is mapped of its operands."""

    cond: Jaxpr
    body: Jaxpr
    carry: Mask
    by_lane: bool  # whether the condition depends on the lane


@memo_on_first
def _batched(loop: While, axis: Axis, mapped: Mask) -> _Batched:
    cond_consts, body_consts, carry = loop.cut(mapped)
    body, cond = loop.body_jaxpr, loop.cond_jaxpr
    carry = fixpoint(
        lambda mask: batch_jaxpr(body, axis, body_consts + mask, mask)[1], carry
    )
    test, (by_lane,) = batch_jaxpr(cond, axis, cond_consts + carry, (False,))
    if by_lane:  # what the steps change stays as it is in lanes that are done
        carry = (True,) * len(carry)
        test, _ = batch_jaxpr(cond, axis, cond_consts + carry, (True,))
    step, _ = batch_jaxpr(body, axis, body_consts + carry, carry)
    return _Batched(test, step, carry, by_lane)


def _batch(loop: While, axis: Axis, mapped: Mask, args: Sequence[Any]) -> list[Any]:
    apart = any([harmful(jaxpr) for jaxpr in loop.jaxprs()])
    if apart and axis.name not in loop.axis_names and _by_lane(loop, mapped):
        refuse_order(loop)
        return _one_by_one(loop, axis, mapped, args)
    lanes: _Batched = _batched(loop, axis, mapped)
    cond_consts, body_consts, carry = loop.cut(args)
    carry = [
        spread(axis, v) if now and not was else v
        for v, now, was in zip(carry, lanes.carry, loop.cut(mapped)[2])
    ]
    if not lanes.by_lane:
        op = while_of(lanes.cond, loop.cond_nconsts, lanes.body, loop.body_nconsts)
        outs = op(*cond_consts, *body_consts, *carry)
        return [out if m else Whole(out) for out, m in zip(outs, lanes.carry)]
    going = eval_jaxpr(lanes.cond, [*cond_consts, *carry])
    op = _together(lanes.cond, lanes.body, loop.cond_nconsts, loop.body_nconsts)
    outs = op(*cond_consts, *body_consts, *going, *carry)
    return list(outs[1:])


@memo_on_first
def _together(cond: Jaxpr, body: Jaxpr, cond_nconsts: int, body_nconsts: int) -> While:
    """The loop of all lanes; which of them are still going is part of the carry."""
    consts = cond_nconsts + body_nconsts
    (lanes,) = cond.out_avals
    carry_avals = cond.in_avals[cond_nconsts:]

    def test(going: Any, *carry: Any) -> list[Any]:
        return [SomeLane((0,))(going)]

    def step(*args: Any) -> list[Any]:
        cond_consts, body_consts, (going,), carry = cut(
            args, cond_nconsts, body_nconsts, 1
        )
        later = eval_jaxpr(body, [*body_consts, *carry])
        carry = [_where(going, new, old) for new, old in zip(later, carry)]
        return [*eval_jaxpr(cond, [*cond_consts, *carry]), *carry]

    avals = [*cond.in_avals[:cond_nconsts], *body.in_avals[:body_nconsts]]
    found: While = made(
        restage(test, [lanes, *carry_avals], cond.name),
        LaneWhile,
        0,
        restage(step, [*avals, lanes, *carry_avals], body.name),
        consts,
    )
    return found


def _where(going: Any, new: Any, old: Any) -> Any:
    if new is old:
        return old
    shape = aval_of(new).shape
    wide = going if len(shape) == 1 else broadcast_in_dim(going, shape, (0,))
    return select_n(wide, old, new)


def _by_lane(loop: While, mapped: Mask) -> bool:
    """Whether the condition depends on the lane."""
    cond_consts, body_consts, carry = loop.cut(mapped)
    carry = fixpoint(lambda mask: reached(loop.body_jaxpr, body_consts + mask), carry)
    (by_lane,) = reached(loop.cond_jaxpr, cond_consts + carry)
    return by_lane


def _one_by_one(
    loop: While, axis: Axis, mapped: Mask, args: Sequence[Any]
) -> list[Any]:
    """Each lane loops for itself."""
    op = _lane_loop(loop, axis.size, mapped)
    results: list[Any] = op(*chosen(args, mapped, False), *chosen(args, mapped))
    return results


@memo_on_first
def _lane_loop(loop: While, size: int, mapped: Mask) -> Any:
    """A scan over lanes, each of which runs the whole loop."""
    avals = loop_avals(loop)
    shared = mapped.count(False)

    def run(*args: Any) -> list[Any]:
        common, own = iter(args[:shared]), iter(args[shared:])
        outs: list[Any] = loop(*[next(own) if m else next(common) for m in mapped])
        return outs

    ins = [*chosen(avals, mapped, False), *chosen(avals, mapped)]
    return scan_of(restage(run, ins), size, False, shared, 0)


def loop_avals(loop: While) -> tuple[Aval, ...]:
    """The types of the operands."""
    cond = loop.cond_jaxpr.in_avals[: loop.cond_nconsts]
    return cond + loop.body_jaxpr.in_avals


# -------------------------------------------------------------------- partial evaluation


def _split(loop: While, unknown: Mask) -> Split | None:
    """The part of the carry that is known runs in a loop of its own.

    What is unknown needs the whole loop again: nobody can store the values of steps
    whose number is not known.
    """
    cond_consts, body_consts, carry = loop.cut(unknown)
    body = loop.body_jaxpr
    carry = fixpoint(
        lambda mask: split_jaxpr(body, body_consts + mask, mask).unknown_out, carry
    )
    test = split_jaxpr(loop.cond_jaxpr, cond_consts + carry)
    if test.unknown_out[0] or all(carry):
        return None
    parts = split_jaxpr(body, body_consts + carry, carry)
    outs = carry.count(False)
    known_body = permuted(
        parts.known, tuple(range(len(parts.known.ins))), tuple(range(outs))
    )
    known_body, _ = dce(known_body, (True,) * outs)
    known_test, _ = dce(
        permuted(test.known, tuple(range(len(test.known.ins))), (0,)), (True,)
    )
    known = while_of(
        known_test, cond_consts.count(False), known_body, body_consts.count(False)
    )
    every = tuple(range(len(unknown)))
    again = while_of(
        _unseen(loop.cond_jaxpr, cond_consts + carry),
        loop.cond_nconsts,
        _unseen(body, body_consts + carry),
        loop.body_nconsts,
    )
    return Split(
        known,
        places(cond_consts + body_consts + carry, False),
        WholeLoop(_whole_loop(again, carry)),
        every,
        carry,
    )


@memo_on_first
def _unseen(jaxpr: Jaxpr, unknown: Mask) -> Jaxpr:
    """`jaxpr` without the effects that its known part has had already."""
    if all([getattr(effect, "repeats", False) for effect in jaxpr.effects]):
        return jaxpr
    seen: set[Any] = {v for v, u in zip(jaxpr.ins, unknown) if u}
    needed: set[Any] = {*jaxpr.outs}.union(*[eqn.ins for eqn in jaxpr.eqns])
    eqns = []
    for eqn in jaxpr.eqns:
        late = not seen.isdisjoint([v for v in eqn.ins if type(v) is Var])
        if late:
            seen.update(eqn.outs)
        if eqn.op.effects and (eqn.op.jaxprs() if late else needed & {*eqn.outs}):
            raise NotImplementedError(
                "linearize (or grad) through a while_loop computes its steps again for"
                f" the tangents, but `{eqn.op.name}` in its body has effects that must"
                " not happen twice. Use forward mode (jvp, jacfwd), or move the callback"
                " out of the loop."
            )
        if late or not eqn.op.effects:
            eqns.append(eqn)
    return Jaxpr(jaxpr.ins, eqns, jaxpr.outs, jaxpr.name)


@memo_on_first
def _whole_loop(loop: While, wanted: Mask) -> Jaxpr:
    """The loop as a jaxpr that gives the wanted part of the carry."""
    return restage(lambda *args: chosen(loop(*args), wanted), loop_avals(loop), "while")


# ----------------------------------------------------------------------------- dead code


def _dce(loop: While, used: Mask) -> tuple[While, Mask, Mask]:
    """Without the carry that neither the results, the condition nor the rest need."""
    body, cond = loop.body_jaxpr, loop.cond_jaxpr
    test, cond_ins = dce(cond, (True,), keep_ins=False)
    cond_consts, tested = cut(cond_ins, loop.cond_nconsts)

    def grown(mask: Mask) -> Mask:
        return dce(body, mask, keep_ins=False)[1][loop.body_nconsts :]

    carry = fixpoint(grown, either(used, tested))
    smaller, ins = dce(body, carry)
    body_consts = ins[: loop.body_nconsts]
    kept_carry = places(carry, True)
    smaller = permuted(
        smaller,
        (
            *places(body_consts, True),
            *[loop.body_nconsts + i for i in kept_carry],
        ),
    )
    cond_in = (
        *places(cond_consts, True),
        *[loop.cond_nconsts + i for i in kept_carry],
    )
    test, _ = dce(cond, (True,))
    op: While = made(
        permuted(test, cond_in),
        type(loop),
        cond_consts.count(True),
        smaller,
        body_consts.count(True),
    )
    return op, (*cond_consts, *body_consts, *carry), carry


# ------------------------------------------------------------------------------- public


def call_while(
    test: Jaxpr,
    test_consts: Sequence[Any],
    body: Jaxpr,
    body_consts: Sequence[Any],
    init: Sequence[Any],
) -> list[Any]:
    """The last carry, from a loop as small as it can be.

    What no step changes and the condition does not read is closed over instead.
    """
    const_vars, carry_vars = cut(body.ins, len(body_consts))
    test_vars, tested_vars = cut(test.ins, len(test_consts))
    read = {atom for eqn in test.eqns for atom in eqn.ins}.union(test.outs)
    fixed = unchanged(carry_vars, body.outs, init)
    fixed = tuple([f and v not in read for f, v in zip(fixed, tested_vars)])
    if any(fixed):
        moving = tuple([not f for f in fixed])
        body = Jaxpr(
            [*const_vars, *chosen(carry_vars, fixed), *chosen(carry_vars, moving)],
            body.eqns,
            chosen(body.outs, moving),
            body.name,
        )
        body_consts = [*body_consts, *chosen(init, fixed)]
        tested = [*test_vars, *chosen(tested_vars, moving)]
        test = Jaxpr(tested, test.eqns, test.outs, test.name)
    op = while_of(test, len(test_consts), body, len(body_consts))
    last = iter(op(*test_consts, *body_consts, *chosen(init, fixed, False)))
    return [x if f else next(last) for x, f in zip(init, fixed)]


def while_loop(
    cond_fun: Callable[[Carry], Any],
    body_fun: Callable[[Carry], Carry],
    init_val: Carry,
) -> Carry:
    """Repeats a function while a condition holds.

        def while_loop(cond_fun, body_fun, init_val):
            val = init_val
            while cond_fun(val):
                val = body_fun(val)
            return val

    The loop is one operation: both functions are traced once and run natively. It has
    forward derivatives only; `scan` and `fori_loop` with known bounds have both.

    Args:
      cond_fun: a function from the carry, a pytree, to a bool scalar.
      body_fun: a function from the carry to the next one, which has the same structure,
        shapes and dtypes.
      init_val: the first carry.

    Raises TypeError if the carry changes its structure or types, or the condition is no
    bool scalar.

    >>> from tetrad import lax
    >>> int(lax.while_loop(lambda n: n < 100, lambda n: 3 * n, 1))
    243
    """
    bodies.check_function("while_loop", "cond_fun", cond_fun)
    bodies.check_function("while_loop", "body_fun", body_fun)
    if config.jax_disable_jit:
        val: Carry = bodies.arrays("while_loop", "init_val", init_val)
        try:
            while cond_fun(val):
                val = body_fun(val)
            return val
        except errors.ConcretizationTypeError:
            pass  # under vmap there is no number to go by
    leaves, in_tree = bodies.flat_values("while_loop", "init_val", init_val)

    def trace(avals: Sequence[Aval]) -> tuple[bodies.Body, Sequence[Aval] | None]:
        body = bodies.staged(
            "while_loop", "body_fun", body_fun, (in_tree,), avals, takes="val"
        )
        return body, body.out_avals if body.out_tree == in_tree else None

    leaves, body = bodies.settled(leaves, trace)
    avals = [aval_of(x) for x in leaves]
    test = bodies.staged(
        "while_loop", "cond_fun", cond_fun, (in_tree,), avals, takes="val"
    )
    _check_condition(cond_fun, test)
    bodies.check_carry(
        "while_loop", body_fun, "body_fun", "init_val", in_tree, avals, body
    )
    outs = call_while(test.jaxpr, test.consts, body.jaxpr, body.consts, leaves)
    result: Carry = in_tree.unflatten(outs)
    return result


def _check_condition(fun: Any, test: bodies.Body) -> None:
    name = called(fun, "cond_fun")
    avals = test.out_avals
    if not tree.treedef_is_leaf(test.out_tree) or len(avals) != 1:
        result = test.out_tree.unflatten([Shown(a) for a in avals])
        raise TypeError(
            f"lax.while_loop: {name} must return a bool scalar, got"
            f" {described_result(result)}. Return the condition alone, as in `return x > 0`;"
            " what the steps compute is returned by body_fun."
        )
    (aval,) = avals
    if aval.shape:
        raise TypeError(
            f"lax.while_loop: {name} must return a bool scalar, got {aval.long_name()}."
            " Reduce it with jnp.any or jnp.all; to loop for each element, map the loop"
            " with vmap."
        )
    if aval.dtype != BOOL:
        raise TypeError(
            f"lax.while_loop: {name} must return a bool scalar, got {aval.long_name()}."
            " Compare it, as in `x != 0`."
        )


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Carry], Carry],
    init_val: Carry,
    *,
    unroll: int | bool | None = None,
) -> Carry:
    """Repeats a function for the integers from `lower` to `upper - 1`.

        def fori_loop(lower, upper, body_fun, init_val):
            val = init_val
            for i in range(lower, upper):
                val = body_fun(i, val)
            return val

    If both bounds are known when it is traced the loop has derivatives of both modes,
    like `scan`; else only forward ones, like `while_loop`.

    Args:
      lower: the first integer (or a float: the index goes up by 1).
      upper: one more than the last.
      body_fun: a function of an int32 index and the carry, a pytree; it returns the next
        carry, which has the same structure, shapes and dtypes.
      init_val: the first carry.
      unroll: how many steps the loop takes at a time, or whether to take all; for known
        bounds only.

    Raises TypeError if the bounds are no integers of one dtype, or the carry changes its
    structure or types.

    >>> from tetrad import lax
    >>> int(lax.fori_loop(0, 5, lambda i, total: total + i, 0))
    10
    """
    val: Carry
    bodies.check_function("fori_loop", "body_fun", body_fun)
    dtype = _index_dtype(lower, upper)
    known = not isinstance(primal_of(lower), Tracer)
    known = known and not isinstance(primal_of(upper), Tracer)
    if config.jax_disable_jit and known:
        val = bodies.arrays("fori_loop", "init_val", init_val)
        for i in range(int(primal_of(lower)), int(primal_of(upper))):
            val = body_fun(i, val)
        return val
    if known:
        first, last = int(primal_of(lower)), int(primal_of(upper))
        for bound in (first, last):
            dtypes.check_narrowing(bound, aval_of(bound).dtype)
        val = _counted(first, max(last - first, 0), body_fun, init_val, unroll)
        return val
    if unroll not in (None, False, 1):
        raise ValueError(
            f"lax.fori_loop: Can only use `unroll` (unroll={unroll}) if the loop bounds are"
            " known when the loop is traced. Leave unroll out, or make the bounds Python integers."
        )
    bounds = [_bound(bound, dtype) for bound in (lower, upper)]
    val = _bounded(bounds, body_fun, init_val)
    return val


def _index_dtype(lower: Any, upper: Any) -> Any:
    """The dtype of the index; TypeError if the bounds are no integers of one dtype."""
    avals = []
    for name, bound in (("lower", lower), ("upper", upper)):
        if not bodies.is_value(bound):
            raise TypeError(
                f"lax.fori_loop: {name} must be an integer, got"
                f" {bodies.shortened(bound)} of type {type(bound).__name__}"
            )
        aval = aval_of(bound)
        if aval.kind not in "iuf" or aval.shape:
            raise TypeError(
                f"lax.fori_loop: {name} must be a scalar integer, got {aval.long_name()}"
            )
        avals.append(aval)
    low, high = avals
    if low.dtype == high.dtype:
        return low.dtype
    whole = low.kind != "f" and high.kind != "f"
    if whole and high.weak_type:
        return low.dtype
    if whole and low.weak_type:
        return high.dtype
    raise TypeError(
        "lax.fori_loop: lower and upper arguments to fori_loop must have equal types, got"
        f" {low.dtype.name} and {high.dtype.name}. Convert one with .astype, or write"
        " int(...)."
    )


def _bound(bound: Any, dtype: Any) -> Any:
    """A bound in the dtype of the index."""
    if aval_of(bound).dtype == dtype:
        return bound
    if isinstance(bound, Value):
        return convert_element_type(bound, dtype)
    return dtype.type(bound)


class _Steps(NamedTuple):
    """The body of a `fori_loop`, staged: over (*consts, index, *carry)."""

    body: bodies.Body
    leaves: list[Any]
    in_tree: Any
    next: Var
    advance: Eqn


def _staged_steps(index: Aval, body_fun: Any, init_val: Any) -> _Steps:
    leaves, in_tree = bodies.flat_values("fori_loop", "init_val", init_val)
    in_trees = (tree.structure(0), in_tree)

    def trace(avals: Sequence[Aval]) -> tuple[bodies.Body, Sequence[Aval] | None]:
        body = bodies.staged(
            "fori_loop",
            "body_fun",
            body_fun,
            in_trees,
            (index, *avals),
            takes="i, val",
        )
        return body, body.out_avals if body.out_tree == in_tree else None

    leaves, body = bodies.settled(leaves, trace)
    avals = [aval_of(x) for x in leaves]
    bodies.check_carry(
        "fori_loop", body_fun, "body_fun", "init_val", in_tree, avals, body
    )
    one = index.dtype.type(1)
    one = Literal(one.item() if index.weak_type else one, index)
    following = Var(index)
    number = body.jaxpr.ins[len(body.consts)]
    advance = Eqn(ADD, [number, one], [following], where())
    return _Steps(body, leaves, in_tree, following, advance)


def _counted(
    first: int, count: int, body_fun: Any, init_val: Any, unroll: int | bool | None
) -> Any:
    """The loop with a known number of steps, a `Scan` over the index and the carry."""
    steps = _staged_steps(aval_of(first), body_fun, init_val)
    jaxpr = steps.body.jaxpr
    jaxpr = Jaxpr(
        jaxpr.ins,
        [steps.advance, *jaxpr.eqns],
        [steps.next, *jaxpr.outs],
        jaxpr.name,
    )
    consts = steps.body.consts
    times = unrolled("fori_loop", 1 if unroll is None else unroll, count)
    outs = call_scan(jaxpr, consts, [first, *steps.leaves], (), count, unroll=times)
    return steps.in_tree.unflatten(outs[1:])


def _bounded(bounds: Sequence[Any], body_fun: Any, init_val: Any) -> Any:
    """The loop up to a value, a `While` over (index, upper bound, *carry)."""
    index, limit = [aval_of(bound) for bound in bounds]
    steps = _staged_steps(index, body_fun, init_val)
    body = steps.body.jaxpr
    consts = steps.body.consts
    count = len(consts) + 1
    end = Var(limit)
    jaxpr = Jaxpr(
        [*body.ins[:count], end, *body.ins[count:]],
        [steps.advance, *body.eqns],
        [steps.next, end, *body.outs],
        body.name,
    )
    state = [Var(a) for a in (index, limit, *[aval_of(x) for x in steps.leaves])]
    going = Var(Aval((), BOOL))
    test = Jaxpr(state, [Eqn(LT, state[:2], [going], where())], [going])
    outs = call_while(test, (), jaxpr, consts, [*bounds, *steps.leaves])
    return steps.in_tree.unflatten(outs[2:])
