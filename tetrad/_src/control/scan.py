"""`scan`: a loop with a known number of steps, from a carry to a carry, over arrays.

In: a function `f(carry, x) -> (carry, y)`. Out: the operation `Scan` on the jaxpr of
that function, with what it closes over as leading operands ("consts"), then the carry,
then the arrays that are scanned ("xs").

Read `Scan` (type, then each transformation), the functions behind its rules in the same
order, then the public `scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from tetrad._src.control import bodies
from tetrad._src.control.call import (
    Inline,
    Mask,
    expand_mask,
    linear_mask,
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
    same_types,
    unchanged,
)
from tetrad._src.control.pictures import called, skeleton
from tetrad._src.control.pictures import described as described_result
from tetrad._src.control.products import Product, apart, product
from tetrad._src.control.residuals import Bodies, with_fewer
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.core.jaxpr import Jaxpr, Var, dce, eval_jaxpr
from tetrad._src.core.op import Axis, Flow, Split, Whole
from tetrad._src.core.stage import restage
from tetrad._src.ops.slices import concatenate, index_in_dim
from tetrad._src.ops.views import expand_dims, moveaxis, zeros
from tetrad._src.transforms.jvp import instantiate, jvp_jaxpr
from tetrad._src.transforms.linearize import split_jaxpr
from tetrad._src.transforms.sums import add_any
from tetrad._src.transforms.transpose import transpose_jaxpr
from tetrad._src.transforms.vmap import batch_jaxpr, spread
from tetrad._src.util import errors, tree
from tetrad._src.util.config import config
from tetrad._src.util.memo import memo_on_first
from tetrad._src.util.tables import table

Carry = TypeVar("Carry")
X = TypeVar("X")
Y = TypeVar("Y")


class Scan(FlowOp):
    """Runs `jaxpr` for each index: (*consts, *carry, *x[i]) -> (*carry, *y[i])."""

    jaxpr: Jaxpr
    length: int
    reverse: bool
    num_consts: int
    num_carry: int
    unroll: int = 1

    name = "scan"
    flow = Flow.SCAN
    hidden = ("linear", "_split_transpose")

    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return (self.jaxpr,)

    @property
    def params(self) -> dict[str, Any]:
        linear = (False,) * len(self.jaxpr.ins)
        return {**super().params, "linear": linear, "_split_transpose": False}

    def cut(self, values: Sequence[Any]) -> list[Any]:
        """Consts, carry and xs among the operands (or what belongs to them)."""
        return cut(values, self.num_consts, self.num_carry)

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        consts, carry, xs = self.cut(avals)
        for x in xs:
            if not x.shape or x.shape[0] != self.length:
                raise TypeError(
                    f"scan takes {self.length} steps, but an array to scan over is"
                    f" {x.long_name()}"
                )
        got = [*consts, *carry, *[x.drop((0,)) for x in xs]]
        if not same_types(self.jaxpr.in_avals, got):
            raise TypeError(
                f"the body of scan takes {described(self.jaxpr.in_avals)}, but the"
                f" operands give it {described(got)}"
            )
        carry, ys = cut(self.jaxpr.out_avals, self.num_carry)
        return (*carry, *[y.mapped(self.length) for y in ys])

    def like(self, jaxpr: Jaxpr, num_consts: int, num_carry: int) -> Scan:
        """The same loop over another body."""
        return scan_of(
            jaxpr, self.length, self.reverse, num_consts, num_carry, self.unroll
        )

    def lift(self, jaxprs: Sequence[Jaxpr], count: int) -> tuple[Scan, tuple[int, ...]]:
        return self.like(jaxprs[0], self.num_consts + count, self.num_carry), (0,)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return _jvp(self, primals, tangents)

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        return _transpose(self, cts, args)

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        body, carry_mask, out_mask = _batched(self, axis, mapped)
        consts, carry, xs = self.cut(args)
        _, given, x_mask = self.cut(mapped)
        carry = [
            spread(axis, v) if now and not was else v
            for v, now, was in zip(carry, carry_mask, given)
        ]
        xs = [moveaxis(x, 0, 1) if m else x for x, m in zip(xs, x_mask)]
        outs = self.like(body, self.num_consts, self.num_carry)(*consts, *carry, *xs)
        return [
            Whole(o) if not m else o if i < self.num_carry else moveaxis(o, 1, 0)
            for i, (o, m) in enumerate(zip(outs, out_mask))
        ]

    @memo_on_first
    def split(self, unknown: Mask) -> Split | None:
        return _split(self, unknown)

    @memo_on_first
    def dce(self, used: Mask) -> tuple[Scan, Mask, Mask]:
        return _dce(self, used)

    def expand(self, *args: Any) -> list[Any]:
        """Step by step: what the loop computes, for tests."""
        consts, carry, xs = self.cut(args)
        steps = range(self.length)
        rows = []
        for i in reversed(steps) if self.reverse else steps:
            x = [index_in_dim(x, i, 0, keepdims=False) for x in xs]
            outs = eval_jaxpr(self.jaxpr, [*consts, *carry, *x])
            carry, y = cut(outs, self.num_carry)
            rows.append(y)
        return [*carry, *self.stacked(rows[::-1] if self.reverse else rows)]

    def stacked(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """The ys of all steps as arrays."""
        avals = self.jaxpr.out_avals[self.num_carry :]
        if not rows:
            return [zeros(a.mapped(0)) for a in avals]
        columns = [[expand_dims(y, (0,)) for y in column] for column in zip(*rows)]
        return [concatenate(column, 0) for column in columns]


def scan_of(
    jaxpr: Jaxpr,
    length: int,
    reverse: bool,
    num_consts: int,
    num_carry: int,
    unroll: int = 1,
) -> Scan:
    found: Scan = made(jaxpr, Scan, length, reverse, num_consts, num_carry, unroll)
    return found


# ------------------------------------------------------------------ forward derivatives


def _jvp(scan: Scan, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    nonzero = nonzero_mask(tangents)
    rule = _jvp_rule(scan, nonzero)
    given = [
        *primals,
        *[
            instantiate(p, t)
            for p, t, live in zip(primals, tangents, rule.nonzero)
            if live
        ],
    ]
    outs = rule.op(*[given[i] for i in rule.operands])
    placed = dict(zip(rule.results, outs))
    count = len(scan.jaxpr.outs)
    found = iter(range(count, len(outs)))
    return [placed[i] for i in range(count)], [
        placed[next(found)] if live else None for live in rule.out_nonzero
    ]


class _JvpRule(NamedTuple):
    """A scan over primals and tangents.

    `operands` says where each operand is in (primals, nonzero tangents), `results` what
    each result is in (outputs, nonzero output tangents).
    """

    op: Scan
    nonzero: Mask
    out_nonzero: Mask
    operands: tuple[int, ...]
    results: tuple[int, ...]


@memo_on_first
def _jvp_rule(scan: Scan, nonzero: Mask) -> _JvpRule:
    consts, carry, xs = scan.cut(nonzero)
    body = scan.jaxpr
    n_outs = len(body.outs)
    no_ys = (False,) * (n_outs - scan.num_carry)

    def grown(mask: Mask) -> Mask:
        outs = jvp_jaxpr(body, consts + mask + xs, mask + no_ys)[1]
        return outs[: scan.num_carry]

    carry = fixpoint(grown, carry)
    nonzero = consts + carry + xs
    jaxpr, out_nonzero = jvp_jaxpr(body, nonzero, carry + no_ys)
    ins = _with_tangents(nonzero)
    outs = _with_tangents(out_nonzero)
    groups = [ins(group) for group in scan.cut(range(len(nonzero)))]
    operands = sum(groups, ())
    results = outs(range(scan.num_carry)) + outs(range(scan.num_carry, n_outs))
    op = scan.like(permuted(jaxpr, operands, results), len(groups[0]), len(groups[1]))
    return _JvpRule(op, nonzero, out_nonzero, operands, results)


def _with_tangents(nonzero: Mask) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """A function from places of values to places of these and of their tangents."""
    count = len(nonzero)
    tangent = {i: count + k for k, i in enumerate(places(nonzero, True))}
    return lambda group: (*group, *[tangent[i] for i in group if nonzero[i]])


# ------------------------------------------------------------------------------- batches


@memo_on_first
def _batched(scan: Scan, axis: Axis, mapped: Mask) -> tuple[Jaxpr, Mask, Mask]:
    """The body for all lanes, which of the carry is mapped, and which results are."""
    consts, carry, xs = scan.cut(mapped)
    body = scan.jaxpr
    no_ys = (False,) * (len(body.outs) - scan.num_carry)

    def grown(mask: Mask) -> Mask:
        outs = batch_jaxpr(body, axis, consts + mask + xs, mask + no_ys)[1]
        return outs[: scan.num_carry]

    carry = fixpoint(grown, carry)
    jaxpr, outs = batch_jaxpr(body, axis, consts + carry + xs, carry + no_ys)
    return jaxpr, carry, outs


# -------------------------------------------------------------------- partial evaluation


def _split(scan: Scan, unknown: Mask) -> Split | None:
    """What depends only on known consts is done once, before the known loop."""
    consts, carry, xs = scan.cut(unknown)
    if scan.jaxpr.effects or all(consts) or not scan.length:
        return _split_loop(scan, unknown)
    later = (True,) * (len(carry) + len(xs))
    every = (True,) * len(scan.jaxpr.outs)
    parts = split_jaxpr(scan.jaxpr, consts + later, every)
    if not parts.known.eqns:
        return _split_loop(scan, unknown)
    count = len(parts.known.outs)
    unknown_consts = places(consts, True)
    # The loop that is left: over (what was hoisted, unknown consts, carry, xs).
    loop = scan.like(parts.unknown, count + len(unknown_consts), scan.num_carry)
    inner = (False,) * count + (True,) * len(unknown_consts) + carry + xs
    split = _split_loop(loop, inner)
    rest = (*unknown_consts, *range(scan.num_consts, len(unknown)))
    known_in = places(unknown, False)
    hoisted_in = [known_in.index(i) for i in places(consts, False)]
    wanted = [i for i in split.unknown_in if 0 <= i < count]
    loop_known: Any = split.known
    residuals = len(loop_known.jaxpr.outs) if loop_known is not None else 0
    residuals -= split.unknown_out.count(False)

    def known(*args: Any) -> list[Any]:
        by_place = dict(zip(known_in, args))
        hoisted = eval_jaxpr(parts.known, [args[i] for i in hoisted_in])
        operands = [*hoisted, *[by_place.get(i) for i in rest]]
        results: list[Any] = []
        if loop_known is not None:
            results = loop_known(*[operands[i] for i in split.known_in])
        return [*results, *[hoisted[i] for i in wanted]]

    def place(i: int) -> int:
        """An operand of the unknown loop, in terms of the whole."""
        if i < 0:
            return i
        return ~(residuals + wanted.index(i)) if i < count else rest[i - count]

    avals = [
        a if i < scan.num_consts + scan.num_carry else a.mapped(scan.length)
        for i, a in enumerate(scan.jaxpr.in_avals)
    ]
    return Split(
        Inline(restage(known, [avals[i] for i in known_in])),
        known_in,
        split.unknown,
        tuple([place(i) for i in split.unknown_in]),
        split.unknown_out,
    )


def _split_loop(scan: Scan, unknown: Mask) -> Split:
    """A known loop and an unknown one, which scans over what the first one stacked."""
    consts, carry, xs = scan.cut(unknown)
    body = scan.jaxpr
    no_ys = (False,) * (len(body.outs) - scan.num_carry)

    def grown(mask: Mask) -> Mask:
        parts = split_jaxpr(body, consts + mask + xs, mask + no_ys)
        return parts.unknown_out[: scan.num_carry]

    carry = fixpoint(grown, carry)
    mask = consts + carry + xs
    parts = split_jaxpr(body, mask, carry + no_ys)
    known_in = places(mask, False)
    first_x = scan.num_consts + scan.num_carry

    # Residuals: consts and xs pass by; everything else is stacked, each value once.
    passing = [i < scan.num_consts or i >= first_x for i in known_in]
    returned = carry.count(False)
    kept = parts.unknown_out.count(False)
    pair = with_fewer(
        Bodies(parts.known, parts.unknown, kept, parts.source), passing, returned
    )
    outs = pair.known.outs
    stack: dict[Any, int] = {}
    fixed: list[tuple[int, int]] = []  # (operand or ~residual, input of the later body)
    moving: list[tuple[int, int]] = []
    for j, (atom, source) in enumerate(zip(outs[kept:], pair.source)):
        origin = None if source is None else known_in[source]
        if origin is not None and origin < scan.num_consts:
            fixed.append((origin, j))
        elif origin is not None and origin >= first_x:
            moving.append((origin, j))
        else:
            moving.append((~stack.setdefault(atom, len(stack)), j))
    known_op = _stacking(scan, mask, pair.known, kept, returned, list(stack))

    unknown_in = places(mask, True)
    numbered = [(i, len(pair.source) + k) for k, i in enumerate(unknown_in)]
    leading = fixed + [pair for pair in numbered if pair[0] < scan.num_consts]
    middle = [pair for pair in numbered if scan.num_consts <= pair[0] < first_x]
    trailing = moving + [pair for pair in numbered if pair[0] >= first_x]
    pairs = leading + middle + trailing
    later = permuted(pair.later, tuple([position for _, position in pairs]))
    return Split(
        known_op,
        known_in if known_op is not None else (),
        scan.like(later, len(leading), len(middle)),
        tuple([origin for origin, _ in pairs]),
        parts.unknown_out,
    )


def _stacking(
    scan: Scan, unknown: Mask, body: Jaxpr, kept: int, returned: int, stack: list[Any]
) -> Scan | Inline | None:
    """The known loop, which gives `kept` results of its body and stacks residuals.

    What it returns of each step anyway is not stacked again.
    """
    consts, carry, _ = scan.cut(unknown)
    ys = {v: returned + n for n, v in enumerate(body.outs[returned:kept])}
    more = [v for v in stack if v not in ys]
    outs = [*body.outs[:kept], *more]
    known = Jaxpr(body.ins, body.eqns, outs, body.name)
    if not outs and not known.effects:
        return None
    op = scan.like(known, consts.count(False), carry.count(False))
    if len(more) == len(stack):
        return op
    ys |= {v: kept + n for n, v in enumerate(more)}
    picks = [*range(kept), *[ys[v] for v in stack]]

    def fanned(*args: Any) -> list[Any]:
        results = op(*args)
        return [results[n] for n in picks]

    fixed = (consts + carry).count(False)
    avals = [
        a if n < fixed else a.mapped(scan.length) for n, a in enumerate(body.in_avals)
    ]
    return Inline(restage(fanned, avals, body.name))


# --------------------------------------------------------------------- transposed loops


def _transpose(scan: Scan, cts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    linear = linear_mask(args)
    consts, _, xs = scan.cut(linear)
    carry_cts, ys_cts = cut(cts, scan.num_carry)
    rule = _transposed(scan, consts, xs, nonzero_mask(ys_cts))
    avals = scan.jaxpr.out_avals
    const_args, _, x_args = scan.cut(args)
    given_xs = [
        *chosen(x_args, xs, False),
        *[ct for ct in ys_cts if ct is not None],
    ]
    results = rule.op(
        *chosen(const_args, consts, False),
        *[zeros(aval) for aval in rule.sums],
        *[zeros(a) if ct is None else ct for ct, a in zip(carry_cts, avals)],
        *given_xs,
    )
    count = len(results) - rule.more
    summed = iter(results[: len(rule.sums)])

    def stacked(place: int) -> Any:
        return given_xs[place] if place >= 0 else results[count + ~place]

    sums = [
        product(products, stacked) if products else next(summed)
        for products in rule.later
    ]
    results = [*sums, *results[len(rule.sums) : count]]
    # A carry that starts at a known zero has a cotangent, too, which nobody wants.
    whole = consts + (True,) * scan.num_carry + xs
    found = expand_mask(results, whole)
    return [ct if on else None for ct, on in zip(found, linear)]


class _TransposeRule(NamedTuple):
    """The loop that runs backwards, and the avals of the sums that it starts with.

    It takes (other consts, sums of cotangents of linear consts, cotangents of the
    carry, other xs, cotangents of the ys) and gives (the sums, cotangents of the first
    carry, cotangents of linear xs, `more` values). The cotangents of the linear consts
    are the sums, and the products that `later` tells of.
    """

    op: Scan
    sums: tuple[Aval, ...]
    more: int
    later: tuple[tuple[Product, ...], ...]


@memo_on_first
def _transposed(scan: Scan, consts: Mask, xs: Mask, nonzero_ys: Mask) -> _TransposeRule:
    body = scan.jaxpr
    linear = consts + (True,) * scan.num_carry + xs
    nonzero = (True,) * scan.num_carry + nonzero_ys
    backward = transpose_jaxpr(body, linear, nonzero)
    counts = (consts.count(False), xs.count(False), scan.num_carry)
    const_avals, x_avals, carry_avals, y_avals = cut(backward.in_avals, *counts)
    backward, more, later = apart(backward, *counts[:2], consts.count(True))
    sums = backward.out_avals[: later.count(())]

    def step(*args: Any) -> list[Any]:
        values, before, carry, x, y = cut(
            args, len(const_avals), len(sums), len(carry_avals), len(x_avals)
        )
        results = eval_jaxpr(backward, [*values, *x, *carry, *y])
        added, rest = cut(results, len(sums))
        return [*[add_any(a, b) for a, b in zip(before, added)], *rest]

    avals = [*const_avals, *sums, *carry_avals, *x_avals, *y_avals]
    op = scan_of(
        restage(step, avals, body.name),
        scan.length,
        not scan.reverse,
        len(const_avals),
        len(sums) + scan.num_carry,
        scan.unroll,
    )
    return _TransposeRule(op, tuple(sums), more, later)


# -------------------------------------------------------------------------- dead code


def _dce(scan: Scan, used: Mask) -> tuple[Scan, Mask, Mask]:
    """Without ys that nobody reads, and without the carry that only they needed.

    Gives the operation, the operands it takes and the results it gives: a carry that
    steps need stays, whether or not its last value is used.
    """
    body = scan.jaxpr
    carry, ys = cut(used, scan.num_carry)

    def grown(mask: Mask) -> Mask:
        _, ins = dce(body, mask + ys, keep_ins=False)
        needed: Mask = scan.cut(ins)[1]
        return needed

    carry = fixpoint(grown, carry)
    smaller, ins = dce(body, carry + ys, keep_ins=False)
    consts, needed, xs = scan.cut(ins)
    # A carry whose last value is used may be needed by no step.
    ins = consts + either(needed, carry) + xs
    if ins != consts + needed + xs:
        smaller, _ = dce(body, carry + ys)
        smaller = permuted(smaller, places(ins, True))
    op = scan.like(smaller, consts.count(True), carry.count(True))
    return op, ins, carry + ys


# ------------------------------------------------------------------------------- public


def call_scan(
    jaxpr: Jaxpr,
    consts: Sequence[Any],
    init: Sequence[Any],
    xs: Sequence[Any],
    length: int,
    reverse: bool = False,
    unroll: int = 1,
) -> list[Any]:
    """The last carry and the ys, from a loop as small as it can be.

    A carry that no step changes is closed over instead; a y that is an x is that array.
    """
    const_vars, carry_vars, x_vars = cut(jaxpr.ins, len(consts), len(init))
    carry_outs, y_outs = cut(jaxpr.outs, len(init))
    fixed = unchanged(carry_vars, carry_outs, init)
    arrays = {v: x for v, x in zip(x_vars, xs) if isinstance(x, Value)}
    passed = tuple([type(y) is Var and y in arrays for y in y_outs])
    moving = tuple([not f for f in fixed])
    if any(fixed) or any(passed):
        jaxpr = Jaxpr(
            [
                *const_vars,
                *chosen(carry_vars, fixed),
                *chosen(carry_vars, moving),
                *x_vars,
            ],
            jaxpr.eqns,
            [*chosen(carry_outs, moving), *chosen(y_outs, passed, False)],
            jaxpr.name,
        )
    closed = [*consts, *chosen(init, fixed)]
    start = chosen(init, moving)
    op = scan_of(jaxpr, length, reverse, len(closed), len(start), unroll)
    last, ys = cut(op(*closed, *start, *xs), len(start))
    new, rest = iter(last), iter(ys)
    return [
        *[x if f else next(new) for x, f in zip(init, fixed)],
        *[arrays[y] if p else next(rest) for y, p in zip(y_outs, passed)],
    ]


def scan(
    f: Callable[[Carry, X], tuple[Carry, Y]],
    init: Carry,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Carry, Y]:
    """Loops over the leading axis of arrays, from step to step with a carry.

        def scan(f, init, xs):
            carry, ys = init, []
            for x in xs:
                carry, y = f(carry, x)
                ys.append(y)
            return carry, stack(ys)

    The loop is one operation: `f` is traced once, its body runs natively. It has
    derivatives of both modes.

    Args:
      f: a function `(carry, x) -> (carry, y)` of pytrees. The carry keeps its structure,
        shapes and dtypes.
      init: the first carry.
      xs: a pytree of arrays with leading axes of one length; step i gets `x[i]` of each.
        None if there is nothing to scan over: `f` gets None then.
      length: the number of steps; needed without `xs` only.
      reverse: whether to run from the last index to the first; `y[i]` still belongs to
        `x[i]`.
      unroll: how many steps the loop takes at a time, or whether to take all; results do
        not depend on it.

    Returns (the last carry, the ys stacked along a new leading axis). Raises TypeError
    if the carry changes its structure or types, or `f` gives no pair; ValueError if the
    lengths of `xs` differ.

    >>> import tetrad.numpy as jnp
    >>> from tetrad import lax
    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0, jnp.array([1, 2, 3]))
    >>> int(total), sums.tolist()
    (6, [1, 3, 6])
    """
    if _split_transpose:
        raise NotImplementedError(
            "lax.scan(_split_transpose=True) is not available: leave it out, the result"
            " is the same"
        )
    result: tuple[Carry, Y]
    result = looped("scan", f, init, xs, length, bool(reverse), unroll)
    return result


def looped(
    what: str,
    f: Any,
    init: Any,
    xs: Any,
    length: Any = None,
    reverse: bool = False,
    unroll: Any = 1,
) -> Any:
    """`scan`, under the name of the public function `what`."""
    bodies.check_function(what, "f", f)
    init_leaves, init_tree = bodies.flat_values(what, "init", init)
    x_leaves, x_tree = bodies.flat_values(what, "xs", xs)
    steps = _steps(what, length, x_leaves, x_tree)
    times = unrolled(what, unroll, steps)
    if config.jax_disable_jit:
        init = bodies.arrays(what, "init", init)
        return _by_python(f, init, x_leaves, x_tree, steps, reverse)
    x_avals = [aval_of(x).drop((0,)) for x in x_leaves]

    def trace(avals: Sequence[Aval]) -> tuple[bodies.Body, Sequence[Aval] | None]:
        body = bodies.staged(
            what,
            "f",
            f,
            (init_tree, x_tree),
            (*avals, *x_avals),
            _check_pair(f, init_tree),
            "carry, x",
        )
        out_tree = body.out_tree.children()[0]
        if out_tree != init_tree:
            return body, None
        return body, body.out_avals[: init_tree.num_leaves]

    init_leaves, body = bodies.settled(init_leaves, trace)
    carry_tree = body.out_tree.children()[0]
    ins = [aval_of(x) for x in init_leaves]
    bodies.check_carry(what, f, "f", "init", init_tree, ins, body, carry_tree, ", y")
    results = call_scan(
        body.jaxpr, body.consts, init_leaves, x_leaves, steps, reverse, times
    )
    return body.out_tree.unflatten(results)


def _check_pair(f: Any, carry: Any) -> Callable[[Any], None]:
    def check(result: Any) -> None:
        if isinstance(result, (tuple, list)) and len(result) == 2:
            return
        why = " Does it lack a return statement?" if result is None else ""
        more = ""
        if isinstance(result, tuple) and carry.num_leaves != 1 and len(result) > 2:
            more = f" The carry is one value: return {skeleton(carry)}, y."
        elif isinstance(result, tuple) and len(result) > 2:
            more = " To stack several values, `return carry, (y, z)`."
        raise TypeError(
            f"lax.scan: {called(f, 'f')} must return a pair (carry, y), got"
            f" {described_result(result)}.{why}{more} Write `return carry, None` if there"
            " is nothing to stack."
        )

    return check


def _steps(what: str, length: Any, leaves: Sequence[Any], treedef: Any) -> int:
    """The number of steps, from the arrays or from `length`."""
    lengths = []
    for i, x in enumerate(leaves):
        aval = aval_of(x)
        if not aval.shape:
            raise ValueError(
                f"lax.{what}: {what} got value with no leading axis to scan over:"
                f" xs{bodies.path_text(treedef, i)} is {aval.long_name()}. Give what is the same in every step"
                f" to the function itself{'' if what == 'map' else ', or to the carry'}."
            )
        lengths.append(aval.shape[0])
    given = None if length is None else _whole(what, "length", length)
    if not lengths:
        if given is None:
            raise ValueError(
                f"lax.{what}: xs holds no array and length is not given, so the number of"
                " steps is not known. Write scan(f, init, length=n)."
            )
        return given
    expected = lengths[0] if given is None else given
    if any(n != expected for n in lengths):
        rows: list[tuple[str, ...]] = [("xs", "shape", "steps", "")]
        for i, (x, n) in enumerate(zip(leaves, lengths)):
            name = f"xs{bodies.path_text(treedef, i)}"
            note = "" if n == expected else f"<- not {expected}"
            rows.append((name, str(aval_of(x).shape), str(n), note))
        why = "have one length" if given is None else f"have length={given}"
        shortest = min(lengths)
        advice = f"Cut them to one length, as by x[:{shortest}]"
        if given is not None and len(set(lengths)) == 1:
            advice = f"Leave length out: it is {shortest} then"
        raise ValueError(
            f"lax.{what}: the arrays to scan over must {why}.\n{table(rows)}\n{advice}."
        )
    return expected


def _whole(what: str, name: str, value: Any) -> int:
    """A count that the user gave."""
    if isinstance(value, Tracer):
        raise errors.ConcretizationTypeError(
            f"lax.{what}: The `{name}` argument to `{what}` expects a concrete `int` value,"
            f" got a traced value {value.aval.long_name()}: shapes depend on it. Loop with"
            " lax.fori_loop, or make the argument it comes from static."
        )
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
        value = bodies.shortened(value)
    if number < 0 or (not isinstance(value, str) and number != value):
        raise ValueError(f"lax.{what}: `{name}` must be an integer >= 0, got {value}")
    return number


def unrolled(what: str, unroll: Any, steps: int) -> int:
    """How many steps a loop takes at a time."""
    if isinstance(unroll, bool):
        return max(steps, 1) if unroll else 1
    return max(_whole(what, "unroll", unroll), 1)


def _by_python(
    f: Any, init: Any, x_leaves: Sequence[Any], x_tree: Any, steps: int, reverse: bool
) -> Any:
    """The loop in Python, where jit is disabled."""
    carry = init
    rows: list[Any] = []
    check = _check_pair(f, tree.structure(init))
    order = range(steps)
    for i in reversed(order) if reverse else order:
        x = [index_in_dim(leaf, i, 0, keepdims=False) for leaf in x_leaves]
        result = f(carry, x_tree.unflatten(x))
        check(result)
        carry, y = result
        rows.append(y)
    if not rows:
        raise ValueError(
            "lax.scan of no steps has results of unknown types while jit is disabled"
        )
    if reverse:
        rows.reverse()
    first = [
        expand_dims(bodies.as_operand("scan", y), (0,)) for y in tree.leaves(rows[0])
    ]
    if len(rows) == 1:
        return carry, tree.structure(rows[0]).unflatten(first)
    stacked = tree.map(
        lambda *ys: concatenate([expand_dims(y, (0,)) for y in ys], 0), *rows
    )
    return carry, stacked
