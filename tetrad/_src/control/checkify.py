"""`checkify`: a program with checks becomes one that returns the first that failed.

In: a jaxpr and the kinds of errors to look for. Out: a `Checked`: a jaxpr without checks
that gives the same results, then (if it has sites at all) the number of the first site
that failed and the values of all sites. The number is -1 while nothing has failed.

Straight-line code keeps the values of every site, for a site that runs once has one set
of values. Loops carry number and values along and keep those of the first failure;
branches give zeros for the sites of other branches. Where lanes of a `vmap` branch on
their own, they are visited one by one, so that what a lane does not do cannot fail.

Read `Checked` and `checked`, `_Findings` (what has failed so far), then the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.control.automatic_checks import findings
from tetrad._src.control.call import JaxprCall
from tetrad._src.control.checks import (
    NONE,
    Check,
    ErrorEffect,
    Kind,
    OutOfBounds,
    Site,
)
from tetrad._src.control.cond import Cond, LaneCond, cond_of
from tetrad._src.control.custom_ops import CustomJvp, CustomLinear, CustomVjp, Staged
from tetrad._src.control.custom_vmap import CustomVmap
from tetrad._src.control.flow import cut
from tetrad._src.control.loop import While, steps_together, while_of
from tetrad._src.control.scan import Scan, scan_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, aval_of
from tetrad._src.core.effects import BoundsEffect
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr, read
from tetrad._src.core.op import Op
from tetrad._src.core.stage import restage
from tetrad._src.ops.arithmetic import add
from tetrad._src.ops.bounds import InBounds, problem
from tetrad._src.ops.compare import ge, gt, lt, select
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.elementwise import bitwise_and, bitwise_or
from tetrad._src.ops.identity import stop_gradient
from tetrad._src.ops.index import dynamic_index_in_dim
from tetrad._src.ops.random import RandomClone
from tetrad._src.ops.reduce import argmax
from tetrad._src.ops.views import reshape, zeros
from tetrad._src.util import tree
from tetrad._src.util.memo import memo_on_first

INT32 = np.dtype(np.int32)
_ONE_GAP = tree.structure(((0,), {}))
ZERO = np.int32(0)
Kinds = frozenset[Kind]


class Checked(NamedTuple):
    """A jaxpr without checks: (*ins) -> (*outs), and (number, *values) if it has sites."""

    jaxpr: Jaxpr
    sites: tuple[Site, ...]

    @property
    def avals(self) -> tuple[Aval, ...]:
        """The types of the values of all sites."""
        return tuple([aval for site in self.sites for aval in site.avals])


@memo_on_first
def checked(jaxpr: Jaxpr, enabled: Kinds) -> Checked:
    """`jaxpr` with its errors as results."""
    sites: tuple[Site, ...] = ()

    def run(*args: Any) -> list[Any]:
        nonlocal sites
        found = _Findings(enabled)
        outs = _run(found, jaxpr, args)
        sites = tuple(found.sites)
        return [*outs, *found.results()]

    made = restage(run, jaxpr.in_avals, jaxpr.name)
    return Checked(made if sites or _has_checks(jaxpr) else jaxpr, sites)


_CHECKS = (ErrorEffect, BoundsEffect)


def _has_checks(program: Any) -> bool:
    """Whether a jaxpr or an operation has a check in it, whatever its kind."""
    return any([isinstance(effect, _CHECKS) for effect in program.effects])


def _untouched(op: Op, enabled: Kinds) -> bool:
    """Whether nothing in an operation fails, so that it stays as it is."""
    return not _has_checks(op) and not any(
        [checked(jaxpr, enabled).sites for jaxpr in op.jaxprs()]
    )


def _run(found: _Findings, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Evaluates a jaxpr and notes what fails."""
    env: dict[Any, Any] = dict(zip(jaxpr.ins, args))
    outside = STATE.where
    try:
        for eqn in jaxpr.eqns:
            STATE.where = eqn.where or outside
            outs = found.step(eqn.op, [read(env, v) for v in eqn.ins], eqn.where)
            env.update(zip(eqn.outs, outs))
    finally:
        STATE.where = outside
    return [read(env, v) for v in jaxpr.outs]


class _Findings:
    """What may have failed so far: all sites, the number of the first, all values."""

    def __init__(self, enabled: Kinds) -> None:
        self.enabled = enabled
        self.sites: list[Site] = []
        self.code: Any = None
        self.values: list[Any] = []

    def results(self) -> list[Any]:
        """What a checked jaxpr gives besides its outputs."""
        return [self.code, *self.values] if self.sites else []

    def note(self, code: Any, values: Sequence[Any], sites: Sequence[Site]) -> None:
        """Notes what happened after all that is noted: a number among `sites`."""
        if not sites:
            return
        first = len(self.sites)
        if first:
            moved = select(ge(code, ZERO), add(code, np.int32(first)), NONE)
            code = select(ge(self.code, ZERO), self.code, moved)
        self.code = code
        self.sites += sites
        self.values += [stop_gradient(v) for v in values]

    def split(self, results: Sequence[Any], sites: Sequence[Site]) -> list[Any]:
        """Notes the errors among the results of a checked jaxpr; gives the others."""
        if not sites:
            return list(results)
        count = len(results) - 1 - sum([len(site.avals) for site in sites])
        self.note(results[count], results[count + 1 :], sites)
        return list(results[:count])

    def beside(self, inner: Checked, args: Sequence[Any]) -> None:
        """Notes the errors of what was computed by other means from the same values."""
        if inner.sites:
            # The same numbers again are meant: they are those of one draw.
            again = [
                RandomClone()(a) if aval_of(a).kind == "K" else stop_gradient(a)
                for a in args
            ]
            self.split(eval_jaxpr(inner.jaxpr, again), inner.sites)

    def step(self, op: Op, args: Sequence[Any], place: Any) -> list[Any]:
        """Carries out one operation, and gives its results."""
        rule = next((_RULES[cls] for cls in type(op).__mro__ if cls in _RULES), None)
        if rule is not None:
            return rule(self, op, args)
        if op.jaxprs():
            return _other_call(self, op, args)
        out = op(*args)
        outs = list(out) if op.multiple else [out]
        for site, failed, values in findings(op, args, outs, self.enabled, place):
            self.note(select(failed, ZERO, NONE), values, [site])
        return outs


Rule = Callable[[_Findings, Any, Sequence[Any]], list[Any]]


# -------------------------------------------------------------------------------- calls


def _check(found: _Findings, op: Check, args: Sequence[Any]) -> list[Any]:
    """A check: notes it if errors of its kind are asked for."""
    wanted = [site.kind in found.enabled for site in op.sites]
    if not any(wanted):
        return []
    code, *values = args
    if op.lanes:  # of many lanes, the first one that failed
        count = int(np.prod(aval_of(code).shape[: op.lanes]))
        if not count:
            return []
        code = reshape(code, (count,))
        lane = argmax(ge(code, ZERO), 0, INT32)
        code = dynamic_index_in_dim(code, lane, 0, keepdims=False)
        rows = [reshape(v, (count, *aval_of(v).shape[op.lanes :])) for v in values]
        values = [dynamic_index_in_dim(v, lane, 0, keepdims=False) for v in rows]
    if not all(wanted):
        for number, on in enumerate(wanted):
            if not on:
                code = select(_is(code, number), NONE, code)
    found.note(code, values, op.sites)
    return []


def _in_bounds(found: _Findings, op: InBounds, args: Sequence[Any]) -> list[Any]:
    """Indices that must lie within limits: stays as it is unless it is asked for."""
    if OutOfBounds not in found.enabled:
        op(*args)
        return []
    place = STATE.where
    for x, bound in zip(args, op.limits):
        if not aval_of(x).size:
            continue
        wide = np.dtype(np.int64 if aval_of(x).dtype.itemsize == 8 else np.int32)
        flat = reshape(convert_element_type(x, wide), (aval_of(x).size,))
        outside = bitwise_or(
            lt(flat, wide.type(bound.low)), gt(flat, wide.type(bound.high))
        )
        first = argmax(outside, 0, INT32)
        value = dynamic_index_in_dim(flat, first, 0, keepdims=False)
        failed = dynamic_index_in_dim(outside, first, 0, keepdims=False)
        text = problem(bound, op.shape, op.call, place)
        site = Site(OutOfBounds, text, _ONE_GAP, (aval_of(value),), place)
        found.note(select(failed, ZERO, NONE), [value], [site])
    return []


def _is(code: Any, number: int) -> Any:
    return bitwise_and(ge(code, np.int32(number)), lt(code, np.int32(number + 1)))


def _call(found: _Findings, op: JaxprCall, args: Sequence[Any]) -> list[Any]:
    """A call of a jaxpr: the same call of the checked one."""
    inner = checked(op.jaxpr, found.enabled)
    return found.split(op.like(inner.jaxpr)(*args), inner.sites)


def _custom(found: _Findings, op: Any, args: Sequence[Any]) -> list[Any]:
    """A function with a rule of its own: it stays so, and its body is checked beside it.

    Results come from the function, without its checks; what the machine computes for
    both it computes once.
    """
    if not isinstance(op.fun, Staged):
        return list(op(*args))
    body = op.fun.jaxpr
    plain = checked(body, frozenset()).jaxpr
    rule = op.rule if isinstance(op, CustomJvp) else op.rules
    results = list(type(op)(Staged(plain), rule)(*args))
    found.beside(checked(body, found.enabled), args)
    return results


def _other_call(found: _Findings, op: Op, args: Sequence[Any]) -> list[Any]:
    """Any other operation that holds jaxprs: checked as what it expands to."""
    if op.expand is None or _untouched(op, found.enabled):
        return list(op(*args))
    inner = checked(_expanded(op, tuple([aval_of(a) for a in args])), found.enabled)
    if _has_checks(op):
        return found.split(eval_jaxpr(inner.jaxpr, args), inner.sites)
    results = list(op(*args))
    found.beside(inner, args)
    return results


@memo_on_first
def _expanded(op: Op, avals: tuple[Aval, ...]) -> Jaxpr:
    return restage(op.expand, avals)


# ----------------------------------------------------------------------------- branches


def _cond(found: _Findings, op: Cond, args: Sequence[Any]) -> list[Any]:
    branches, sites = _branches(op.branches[0], op.branches[1:], found.enabled)
    return found.split(cond_of(branches)(*args), sites)


@memo_on_first
def _branches(
    first: Jaxpr, rest: tuple[Jaxpr, ...], enabled: Kinds
) -> tuple[tuple[Jaxpr, ...], tuple[Site, ...]]:
    """Branches that all give the number and the values of the sites of all of them."""
    parts: list[Checked] = [checked(b, enabled) for b in (first, *rest)]
    sites = tuple([site for part in parts for site in part.sites])
    if not sites:
        return tuple([part.jaxpr for part in parts]), ()
    made = []
    for number, part in enumerate(parts):
        earlier = sum([len(p.sites) for p in parts[:number]])
        avals = [p.avals for p in parts]
        made.append(_one_branch(part.jaxpr, part.sites, earlier, number, tuple(avals)))
    return tuple(made), sites


def _one_branch(
    jaxpr: Jaxpr,
    sites: tuple[Site, ...],
    earlier: int,
    number: int,
    avals: tuple[tuple[Aval, ...], ...],
) -> Jaxpr:
    def run(*args: Any) -> list[Any]:
        outs = eval_jaxpr(jaxpr, args)
        count = len(outs) - (1 + len(avals[number]) if sites else 0)
        code: Any = NONE
        if sites:
            code = outs[count]
            code = select(ge(code, ZERO), add(code, np.int32(earlier)), NONE)
        values = []
        for i, types in enumerate(avals):
            values += outs[count + 1 :] if i == number else [zeros(a) for a in types]
        return [*outs[:count], code, *values]

    return restage(run, jaxpr.in_avals, jaxpr.name)


def _lane_cond(found: _Findings, op: LaneCond, args: Sequence[Any]) -> list[Any]:
    """Lanes that branch on their own are visited one by one."""
    if _untouched(op, found.enabled):
        return list(op(*args))
    avals = tuple([aval_of(a) for a in args])
    loop = _one_by_one(op, avals)
    return _run(found, loop, args)


@memo_on_first
def _one_by_one(op: LaneCond, avals: tuple[Aval, ...]) -> Jaxpr:
    return restage(lambda index, *args: op.one_by_one(index, args), avals)


# -------------------------------------------------------------------------------- loops


def _later(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Number and values after a step: those before, if something had failed then."""
    kept = ge(before[0], ZERO)
    return [select(kept, b, a) for b, a in zip(before, after)]


def _scan(found: _Findings, op: Scan, args: Sequence[Any]) -> list[Any]:
    loop, sites = _scan_rule(op, found.enabled)
    if not sites:
        return list(loop(*args))
    consts, carry, xs = op.cut(args)
    start = [NONE, *[zeros(a) for site in sites for a in site.avals]]
    outs = loop(*consts, *start, *carry, *xs)
    found.note(outs[0], outs[1 : len(start)], sites)
    return list(outs[len(start) :])


@memo_on_first
def _scan_rule(op: Scan, enabled: Kinds) -> tuple[Scan, tuple[Site, ...]]:
    """The loop with the number and the values before its carry."""
    body: Checked = checked(op.jaxpr, enabled)
    if not body.sites:
        return op.like(body.jaxpr, op.num_consts, op.num_carry), ()
    more = 1 + len(body.avals)

    def step(*args: Any) -> list[Any]:
        consts, before, rest = cut(args, op.num_consts, more)
        outs = eval_jaxpr(body.jaxpr, [*consts, *rest])
        count = len(outs) - more
        return [*_later(before, outs[count:]), *outs[:count]]

    consts, rest = cut(op.jaxpr.in_avals, op.num_consts)
    avals = [*consts, Aval((), INT32), *[a.strong() for a in body.avals], *rest]
    jaxpr = restage(step, avals, op.jaxpr.name)
    carried = more + op.num_carry
    made = scan_of(jaxpr, op.length, op.reverse, op.num_consts, carried, op.unroll)
    return made, body.sites


def _while(found: _Findings, op: While, args: Sequence[Any]) -> list[Any]:
    if _untouched(op, found.enabled):
        return list(op(*args))
    if steps_together(op):
        raise ValueError(
            "checkify-of-vmap-of-while is not possible: lanes of the loop step together,"
            " and steps of a lane that is done would fail for nothing. Write"
            " vmap-of-checkify instead: err, out = jax.vmap(checkify.checkify(f))(xs)"
        )
    loop, test, sites = _while_rule(op, found.enabled)
    cond_consts, body_consts, carry = op.cut(args)
    going, *first = eval_jaxpr(test.jaxpr, [*cond_consts, *carry])
    code, values = (first[0], first[1:]) if test.sites else (NONE, [])
    later = [zeros(a) for site in sites[len(test.sites) :] for a in site.avals]
    state = [going, code, *values, *later]
    outs = loop(*cond_consts, *body_consts, *state, *carry)
    found.note(outs[1], outs[2 : len(state)], sites)
    return list(outs[len(state) :])


@memo_on_first
def _while_rule(op: While, enabled: Kinds) -> tuple[While, Checked, tuple[Site, ...]]:
    """The loop over (whether it goes on, number, values, carry), and its checked test.

    The sites of the test come first.
    """
    test: Checked = checked(op.cond_jaxpr, enabled)
    body: Checked = checked(op.body_jaxpr, enabled)
    sites = (*test.sites, *body.sites)
    first, second = len(test.avals), len(body.avals)
    count = len(op.body_jaxpr.outs)

    def goes_on(going: Any, *rest: Any) -> list[Any]:
        return [going]

    def step(*args: Any) -> list[Any]:
        cond_consts, body_consts, _, code, old_test, old_body, carry = cut(
            args, op.cond_nconsts, op.body_nconsts, 1, 1, first, second
        )
        outs = eval_jaxpr(body.jaxpr, [*body_consts, *carry])
        state = [code[0], *old_body]
        if body.sites:
            number = outs[count]
            moved = select(
                ge(number, ZERO), add(number, np.int32(len(test.sites))), NONE
            )
            state = _later(state, [moved, *outs[count + 1 :]])
        going, *found = eval_jaxpr(test.jaxpr, [*cond_consts, *outs[:count]])
        code, *old_body = state
        state = [code, *old_test]
        if test.sites:
            state = _later(state, found)
        return [going, *state, *old_body, *outs[:count]]

    cond_consts, carry = cut(op.cond_jaxpr.in_avals, op.cond_nconsts)
    body_consts, _ = cut(op.body_jaxpr.in_avals, op.body_nconsts)
    values = [a.strong() for a in (*test.avals, *body.avals)]
    state = [op.cond_jaxpr.out_avals[0], Aval((), INT32), *values, *carry]
    step_avals = [*cond_consts, *body_consts, *state]
    loop = while_of(
        restage(goes_on, state, op.cond_jaxpr.name),
        0,
        restage(step, step_avals, op.body_jaxpr.name),
        len(cond_consts) + len(body_consts),
    )
    return loop, test, sites


_RULES: dict[type, Rule] = {
    Check: _check,
    InBounds: _in_bounds,
    JaxprCall: _call,
    CustomJvp: _custom,
    CustomVjp: _custom,
    CustomLinear: lambda found, op, args: list(op(*args)),
    CustomVmap: _other_call,
    Cond: _cond,
    LaneCond: _lane_cond,
    Scan: _scan,
    While: _while,
}
