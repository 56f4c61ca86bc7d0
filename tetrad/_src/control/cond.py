"""`cond` and `switch`: one of several functions, chosen by a value.

In: a predicate or an index, functions, and operands for all of them. Out: the operation
`Cond` on the jaxprs of the functions, over what any of them closes over and the
operands. Its index is an int32 in range.

Under `vmap` with an index that depends on the lane it becomes a `LaneCond`, which still
holds the functions of one lane: derivatives are taken of these, so that a branch which
is not taken cannot spoil them, and the machine decides late how lanes branch. Cheap
branches are all computed and selected from; where that could be expensive, never end or
have effects, the lanes are visited one by one and each takes its own branch.

Read `Cond`, `_split_branches`, `LaneCond`, then the public functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from tetrad._src.control import bodies
from tetrad._src.control.branches import (
    Branches,
    SplitBranches,
    batch_branches,
    branch_types,
    dce_branches,
    jvp_branches,
    refuse_order,
    speculative,
    split_branches,
    transpose_branches,
)
from tetrad._src.control.call import (
    Mask,
    expand_mask,
    linear_mask,
    nonzero_mask,
    places,
)
from tetrad._src.control.flow import FlowOp, chosen
from tetrad._src.control.pictures import called, differing_structures, to_return
from tetrad._src.control.scan import scan_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Tracer, Value, aval_of
from tetrad._src.core.jaxpr import Jaxpr, Var, eval_jaxpr
from tetrad._src.core.op import Axis, Flow, Split, Whole
from tetrad._src.core.stage import restage
from tetrad._src.ops.arithmetic import clamp
from tetrad._src.ops.compare import ne, select_n
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.identity import copy
from tetrad._src.ops.views import broadcast_in_dim, moveaxis, reduce_sum, reshape
from tetrad._src.transforms.tracer_methods import primal_of
from tetrad._src.transforms.vmap import batch_jaxpr
from tetrad._src.util import tree
from tetrad._src.util.config import config
from tetrad._src.util.memo import memo_on_first
from tetrad._src.util.tables import table

INT32 = np.dtype(np.int32)


class Cond(FlowOp):
    """Runs one of `branches` on the operands after the first, which is its number."""

    branches: Branches

    name = "cond"
    flow = Flow.BRANCH

    def jaxprs(self) -> Branches:
        return self.branches

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        index, *args = avals
        if index.shape or index.dtype != INT32:
            raise TypeError(f"cond takes an index int32[], got {index.long_name()}")
        return branch_types(self.branches, args)

    def lift(self, jaxprs: Sequence[Jaxpr], count: int) -> tuple[Cond, tuple[int, ...]]:
        return cond_of(tuple(jaxprs)), (1,)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        branches, mask = jvp_branches(self.branches, nonzero_mask(tangents[1:]))
        live = [t for t in tangents if t is not None]
        results = cond_of(branches)(*primals, *live)
        count = len(mask)
        return results[:count], expand_mask(results[count:], mask)

    def transpose(self, cts: Sequence[Any], index: Any, *args: Any) -> list[Any]:
        linear = linear_mask(args)
        branches = transpose_branches(self.branches, linear, nonzero_mask(cts))
        values = chosen(args, linear, False)
        results = cond_of(branches)(index, *values, *[c for c in cts if c is not None])
        return [None, *expand_mask(results, linear)]

    def batch(self, axis: Axis, mapped: Mask, index: Any, *args: Any) -> list[Any]:
        if mapped[0]:
            return _batch_lanes(self.branches, axis, mapped, index, args)
        branches, mask = batch_branches(self.branches, axis, mapped[1:])
        outs = cond_of(branches)(index, *args)
        return [out if m else Whole(out) for out, m in zip(outs, mask)]

    @memo_on_first
    def split(self, unknown: Mask) -> Split | None:
        if unknown[0]:
            return None
        parts = split_branches(self.branches, unknown[1:])
        return Split(
            cond_of(parts.known),
            (0, *[i + 1 for i in places(unknown[1:], False)]),
            cond_of(parts.unknown),
            (0, *[i + 1 if i >= 0 else i for i in parts.unknown_in]),
            parts.unknown_out,
        )

    @memo_on_first
    def dce(self, used: Mask) -> tuple[Cond, Mask]:
        branches, used_ins = dce_branches(self.branches, used)
        return cond_of(branches), (True, *used_ins)

    def expand(self, index: Any, *args: Any) -> list[Any]:
        """The branch of an index that is known, for tests."""
        return eval_jaxpr(self.branches[int(index)], args)


def cond_of(branches: Branches) -> Cond:
    """The operation on `branches`; one object for the same ones."""
    first, *rest = branches
    found: Cond = _cond_of(first, tuple(rest))
    return found


@memo_on_first
def _cond_of(first: Jaxpr, rest: Branches) -> Cond:
    return Cond((first, *rest))


# -------------------------------------------------------------------------------- lanes


class LaneCond(FlowOp):
    """One of `branches` in each lane, by an index for each of `size` lanes.

    `mapped` tells which of the other operands have a leading axis of lanes; the results
    all have it. Branches are those of one lane.
    """

    branches: Branches
    size: int
    mapped: Mask

    name = "cond_lanes"
    flow = None  # type: ignore[assignment]  # `expand` says what the machine does
    inlined: ClassVar[bool] = True

    def jaxprs(self) -> Branches:
        return self.branches

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        index, *args = avals
        if index.shape != (self.size,) or index.dtype != INT32:
            raise TypeError(
                f"cond_lanes takes an index int32[{self.size}], got {index.long_name()}"
            )
        lanes = [a.drop((0,)) if m else a for a, m in zip(args, self.mapped)]
        return tuple([a.mapped(self.size) for a in branch_types(self.branches, lanes)])

    def like(self, branches: Branches, mapped: Mask) -> LaneCond:
        found: LaneCond = _lane_cond_of(branches[0], branches[1:], self.size, mapped)
        return found

    def lift(
        self, jaxprs: Sequence[Jaxpr], count: int
    ) -> tuple[LaneCond, tuple[int, ...]]:
        return self.like(tuple(jaxprs), (False,) * count + self.mapped), (1,)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        nonzero = nonzero_mask(tangents[1:])
        branches, mask = jvp_branches(self.branches, nonzero)
        mapped = (*self.mapped, *chosen(self.mapped, nonzero))
        live = [t for t in tangents if t is not None]
        results = self.like(branches, mapped)(*primals, *live)
        count = len(mask)
        return results[:count], expand_mask(results[count:], mask)

    def transpose(self, cts: Sequence[Any], index: Any, *args: Any) -> list[Any]:
        linear = linear_mask(args)
        branches = transpose_branches(self.branches, linear, nonzero_mask(cts))
        live = [ct for ct in cts if ct is not None]
        mapped = (*chosen(self.mapped, linear, False), *[True] * len(live))
        values = chosen(args, linear, False)
        results = self.like(branches, mapped)(index, *values, *live)
        # What all lanes share gets the sum of what the lanes give.
        shared = [not m for m in chosen(self.mapped, linear)]
        results = [reduce_sum(r, (0,)) if s else r for r, s in zip(results, shared)]
        return [None, *expand_mask(results, linear)]

    @memo_on_first
    def split(self, unknown: Mask) -> Split | None:
        if unknown[0]:
            return None
        parts: SplitBranches = split_branches(self.branches, unknown[1:])
        known = tuple(chosen(self.mapped, unknown[1:], False))
        later = [True if i < 0 else self.mapped[i] for i in parts.unknown_in]
        return Split(
            self.like(parts.known, known),
            (0, *[i + 1 for i in places(unknown[1:], False)]),
            self.like(parts.unknown, tuple(later)),
            (0, *[i + 1 if i >= 0 else i for i in parts.unknown_in]),
            parts.unknown_out,
        )

    @memo_on_first
    def dce(self, used: Mask) -> tuple[LaneCond, Mask]:
        branches, used_ins = dce_branches(self.branches, used)
        mapped = tuple(chosen(self.mapped, used_ins))
        return self.like(branches, mapped), (True, *used_ins)

    def batch(self, axis: Axis, mapped: Mask, index: Any, *args: Any) -> list[Any]:
        if mapped[0] and axis.name in self.axis_names:
            jaxpr = _selected(self)
            every = (True,) * len(jaxpr.outs)
            return eval_jaxpr(
                batch_jaxpr(jaxpr, axis, mapped, every)[0], [index, *args]
            )
        if mapped[0]:
            return self.batch_both(axis, mapped[1:], index, args)
        # The new axis goes behind that of the lanes.
        args = tuple(
            [
                moveaxis(a, 0, 1) if m and own else a
                for a, m, own in zip(args, mapped[1:], self.mapped)
            ]
        )
        branches, mask = batch_branches(self.branches, axis, mapped[1:])
        outs = self.like(branches, self.mapped)(index, *args)
        return [moveaxis(o, 1, 0) if m else Whole(o) for o, m in zip(outs, mask)]

    def batch_both(
        self, axis: Axis, mapped: Mask, index: Any, args: Sequence[Any]
    ) -> list[Any]:
        """Lanes of lanes, as more lanes."""
        size = axis.size * self.size

        def merged(x: Any, outer: bool, inner: bool) -> Any:
            shape = aval_of(x).shape
            rest = shape[outer + inner :]
            if outer != inner:
                dims = (0 if outer else 1, *range(2, 2 + len(rest)))
                x = broadcast_in_dim(x, (axis.size, self.size, *rest), dims)
            return reshape(x, (size, *rest)) if outer or inner else x

        mask = tuple([m or own for m, own in zip(mapped, self.mapped)])
        op = _lane_cond_of(self.branches[0], self.branches[1:], size, mask)
        args = [merged(a, m, own) for a, m, own in zip(args, mapped, self.mapped)]
        outs = op(merged(index, True, True), *args)
        return [reshape(o, (axis.size, self.size, *aval_of(o).shape[1:])) for o in outs]

    def expand(self, index: Any, *args: Any) -> list[Any]:
        if all(speculative(branch) for branch in self.branches):
            axis = Axis(self.size)
            return selected(self.branches, axis, self.mapped, index, args)
        return self.one_by_one(index, args)

    def one_by_one(self, index: Any, args: Sequence[Any]) -> list[Any]:
        """Visits the lanes; each computes its own branch and no other."""
        consts = chosen(args, self.mapped, False)
        xs = chosen(args, self.mapped)
        body = _one_lane(self)
        op = scan_of(body, self.size, False, len(consts), 0)
        results: list[Any] = op(*consts, index, *xs)
        return results


@memo_on_first
def _lane_cond_of(first: Jaxpr, rest: Branches, size: int, mapped: Mask) -> LaneCond:
    return LaneCond((first, *rest), size, mapped)


@memo_on_first
def _one_lane(lanes: LaneCond) -> Jaxpr:
    """The branches of one lane as a jaxpr over (shared operands, index, the others)."""
    shared = lanes.mapped.count(False)
    cond = cond_of(lanes.branches)

    def run(*args: Any) -> list[Any]:
        rest, own = iter(args[:shared]), iter(args[shared + 1 :])
        operands = [next(own) if m else next(rest) for m in lanes.mapped]
        outs: list[Any] = cond(args[shared], *operands)
        return outs

    avals = lanes.branches[0].in_avals
    ins = [*chosen(avals, lanes.mapped, False), Aval((), INT32)]
    return restage(run, [*ins, *chosen(avals, lanes.mapped)])


@memo_on_first
def _selected(lanes: LaneCond) -> Jaxpr:
    """The lanes of one vmap inside another, with all branches computed."""
    avals = [
        a.mapped(lanes.size) if m else a
        for a, m in zip(lanes.branches[0].in_avals, lanes.mapped)
    ]

    def run(index: Any, *args: Any) -> list[Any]:
        return selected(lanes.branches, Axis(lanes.size), lanes.mapped, index, args)

    return restage(run, [Aval((lanes.size,), INT32), *avals])


def _batch_lanes(
    branches: Branches, axis: Axis, mapped: Mask, index: Any, args: Sequence[Any]
) -> list[Any]:
    """A `cond` whose index depends on the lane."""
    if axis.name in cond_of(branches).axis_names:
        # All lanes take part in a collective, whatever branch it stands in.
        return selected(branches, axis, mapped[1:], index, args)
    refuse_order(cond_of(branches))
    op = _lane_cond_of(branches[0], branches[1:], axis.size, mapped[1:])
    results: list[Any] = op(index, *args)
    return results


def selected(
    branches: Branches, axis: Axis, mapped: Mask, index: Any, args: Sequence[Any]
) -> list[Any]:
    """Computes all branches in all lanes and selects."""
    every = (True,) * len(branches[0].outs)
    results = [
        eval_jaxpr(batch_jaxpr(b, axis, mapped, every)[0], args) for b in branches
    ]
    which = ne(index, np.int32(0)) if len(branches) == 2 else index

    def select(cases: Sequence[Any]) -> Any:
        shape = aval_of(cases[0]).shape
        wide = which if len(shape) == 1 else broadcast_in_dim(which, shape, (0,))
        return select_n(wide, *cases)

    return [select(cases) for cases in zip(*results)]


# ------------------------------------------------------------------------------- public


def call_cond(branches: Branches, index: Any, operands: Sequence[Any]) -> list[Any]:
    """The results of the branch that is chosen.

    A result that is the same operand in all branches is that operand.
    """
    origins = [_origins(branch) for branch in branches]
    same: list[Any] = []
    for column in zip(*origins):
        place = column[0]
        alike = place is not None and all(p == place for p in column)
        value = operands[place] if alike else None
        plain = value is not None and not isinstance(value, Value)
        same.append(copy(value) if plain else value)
    changed = tuple([value is None for value in same])
    if not all(changed):
        branches = tuple(
            [Jaxpr(b.ins, b.eqns, chosen(b.outs, changed), b.name) for b in branches]
        )
    outs = iter(cond_of(branches)(index, *operands))
    return [next(outs) if value is None else value for value in same]


def _origins(jaxpr: Jaxpr) -> list[int | None]:
    """For each result, the input that it is, or None."""
    place = {v: i for i, v in enumerate(jaxpr.ins)}
    return [place.get(atom) if type(atom) is Var else None for atom in jaxpr.outs]


class _Missing:
    def __repr__(self) -> str:
        return "<not given>"


MISSING: Any = _Missing()


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = MISSING,
) -> Any:
    """Computes one of two functions, as a predicate says.

        def cond(pred, true_fun, false_fun, *operands):
            return true_fun(*operands) if pred else false_fun(*operands)

    Both functions are traced; only the one that is chosen runs. Under `vmap` with a
    predicate for each lane, lanes take their own branches: cheap branches may be
    computed for all and selected from, but none that could be expensive or never end.

    Args:
      pred: a scalar: a bool, or a number that is true if it is not 0.
      true_fun: a function of the operands.
      false_fun: another one; it returns the same structure, shapes and dtypes.
      *operands: pytrees of arrays. `operand=x` is one operand by name.

    `cond(pred, true_operand, true_fun, false_operand, false_fun)` gives each function
    its own operand. Raises TypeError if the predicate is no scalar, or the results of
    the functions differ in structure, shape or dtype.

    >>> from tetrad import lax
    >>> float(lax.cond(True, lambda x: x + 1, lambda x: x * 2, 3.0))
    4.0
    """
    separate = len(operands) == 2 and callable(false_fun) and callable(operands[1])
    if separate and not callable(true_fun):
        return _cond_with_two_operands(pred, true_fun, false_fun, *operands)
    if operand is not MISSING:
        if operands:
            raise TypeError(
                "lax.cond: give operands by position, or one as operand=..., not both"
            )
        operands = (operand,)
    bodies.check_function("cond", "true_fun", true_fun)
    bodies.check_function("cond", "false_fun", false_fun)
    aval = _scalar("cond", "the predicate", pred)
    if aval.kind == "K":
        raise TypeError("lax.cond: the predicate must be a bool or a number, got a key")
    if config.jax_disable_jit and _known(pred):
        return true_fun(*operands) if _number(pred, bool) else false_fun(*operands)
    if isinstance(pred, Value):
        chosen_index = pred if aval.kind == "b" else ne(pred, aval.dtype.type(0))
        chosen_index = convert_element_type(chosen_index, INT32)
    else:
        chosen_index = np.int32(bool(pred))
    roles = [("true_fun", true_fun), ("false_fun", false_fun)]
    return _branch("cond", chosen_index, roles, (1, 0), operands)


def _cond_with_two_operands(
    pred: Any, true_operand: Any, true_fun: Any, false_operand: Any, false_fun: Any
) -> Any:
    def on_true(both: Any) -> Any:
        return true_fun(both[0])

    def on_false(both: Any) -> Any:
        return false_fun(both[1])

    return cond(pred, on_true, on_false, (true_operand, false_operand))


def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = MISSING,
) -> Any:
    """Computes one of several functions, by number.

        def switch(index, branches, *operands):
            return branches[clip(index, 0, len(branches) - 1)](*operands)

    All functions are traced; only the one that is chosen runs (see `cond` for `vmap`).

    Args:
      index: a scalar integer; numbers out of range choose the first or the last.
      branches: functions of the operands, which return one structure, shapes and dtypes.
      *operands: pytrees of arrays. `operand=x` is one operand by name.

    Raises TypeError if the index is no scalar integer, or the results of the functions
    differ in structure, shape or dtype; ValueError if there are no branches.

    >>> from tetrad import lax
    >>> float(lax.switch(1, [lambda x: x + 1, lambda x: x * 2], 3.0))
    6.0
    """
    if operand is not MISSING:
        if operands:
            raise TypeError(
                "lax.switch: give operands by position, or one as operand=..., not both"
            )
        operands = (operand,)
    if not isinstance(branches, Iterable):
        raise TypeError(
            "lax.switch: branches must be a list or tuple of functions, got"
            f" {bodies.shortened(branches)} of type {type(branches).__name__}. Write"
            " lax.switch(index, [f, g], x)."
        )
    functions = list(branches)
    for number, fun in enumerate(functions):
        bodies.check_function("switch", f"branches[{number}]", fun)
    if not functions:
        raise ValueError("lax.switch: branches is empty; give at least one function")
    aval = _scalar("switch", "the index", index)
    if aval.kind not in "iu":
        raise TypeError(
            f"lax.switch: the index must be an integer, got {aval.long_name()}."
            + (" For a bool write lax.cond." if aval.kind == "b" else "")
        )
    last = len(functions) - 1
    if not last:
        return functions[0](*operands)
    if config.jax_disable_jit and _known(index):
        return functions[min(max(_number(index, int), 0), last)](*operands)
    if isinstance(index, Value):
        index = convert_element_type(index, INT32)
        index = clamp(np.int32(0), index, np.int32(last))
    else:
        index = np.int32(min(max(int(index), 0), last))
    roles = [(f"branches[{i}]", fun) for i, fun in enumerate(functions)]
    return _branch("switch", index, roles, tuple(range(len(roles))), operands)


def _scalar(what: str, argument: str, x: Any) -> Aval:
    """The aval of a scalar; TypeError if `x` is none."""
    if x is None:
        raise TypeError(
            f"lax.{what}: {what} {argument.removeprefix('the ')} is None, and must be a"
            " scalar. Does the function that computes it lack a return statement?"
        )
    if not bodies.is_value(x):
        raise TypeError(
            f"lax.{what}: {argument} must be a scalar, got {bodies.shortened(x)} of type"
            f" {type(x).__name__}"
        )
    aval = aval_of(x)
    if aval.shape:
        advice = (
            "Reduce it with jnp.all or jnp.any, or choose elementwise with"
            " jnp.where(condition, a, b)."
            if what == "cond"
            else "Map over it with vmap, or choose elementwise with lax.select_n."
        )
        raise TypeError(
            f"lax.{what}: {argument} must be a scalar, got {aval.long_name()}. {advice}"
        )
    return aval


def _known(x: Any) -> bool:
    return not isinstance(primal_of(x), Tracer)


def _number(x: Any, kind: Any) -> Any:
    return kind(primal_of(x))


def _branch(
    what: str,
    index: Any,
    roles: Sequence[tuple[str, Any]],
    order: Sequence[int],
    operands: Sequence[Any],
) -> Any:
    """Stages the functions and calls the operation; branch i is function `order[i]`."""
    leaves, in_tree = bodies.flat_values(what, "the operands", operands)
    avals = [aval_of(x) for x in leaves]
    in_trees = in_tree.children()
    staged = [bodies.staged(what, role, fun, in_trees, avals) for role, fun in roles]
    for (role, _), body in zip(roles[1:], staged[1:]):
        _check_alike(what, (roles[0][0], staged[0]), (role, body))
    jaxprs, consts = bodies.with_common(staged)
    outs = call_cond(tuple([jaxprs[i] for i in order]), index, [*consts, *leaves])
    return staged[0].out_tree.unflatten(outs)


def _check_alike(
    what: str, one: tuple[str, bodies.Body], other: tuple[str, bodies.Body]
) -> None:
    """TypeError unless two branches give the same structure and types."""
    (role, body), (other_role, other_body) = one, other
    ours, theirs = body.out_avals, other_body.out_avals
    names = [called(body.fun, role), called(other_body.fun, other_role)]
    if body.out_tree != other_body.out_tree:
        picture = differing_structures(
            (f"the result of {names[0]}", body.out_tree, ours),
            (f"the result of {names[1]}", other_body.out_tree, theirs),
        )
        raise TypeError(
            f"lax.{what}: {names[0]} and {names[1]} must return one structure.\n{picture}"
            f"\n{_structure_advice(names, (body.out_tree, other_body.out_tree))}"
        )
    if bodies.same_carry(ours, theirs):
        return
    rows: list[tuple[str, ...]] = [("result", role, other_role, "")]
    advice = ""
    for i, (a, b) in enumerate(zip(ours, theirs)):
        path = bodies.path_text(body.out_tree, i)
        note = ""
        if a.strong() is not b.strong():
            shapes = a.shape != b.shape
            note = f"<- the {'shapes' if shapes else 'dtypes'} differ"
            advice = advice or _alike_advice(a, b, path or "the result")
        rows.append((path or "(all of it)", a.long_name(), b.long_name(), note))
    raise TypeError(
        f"lax.{what}: {names[0]} and {names[1]} must return the same shapes and dtypes."
        f"\n{table(rows)}\n{advice}"
    )


def _structure_advice(names: Sequence[str], trees: Sequence[Any]) -> str:
    """What to write where two branches return different containers."""
    nothing = [name for name, t in zip(names, trees) if t == _NOTHING]
    if nothing:
        return f"Does {nothing[0]} lack a return statement?"
    full = max(trees, key=lambda t: t.num_leaves)
    return (
        "Return the same containers from both; where there is nothing to return,"
        f" jnp.zeros_like(...) of what the other returns.{to_return(full)}"
    )


_NOTHING = tree.structure(None)


def _alike_advice(a: Aval, b: Aval, part: str) -> str:
    if a.shape != b.shape:
        wide, narrow = (a, b) if a.ndim >= b.ndim else (b, a)
        return (
            f"Give {part} one shape, for example by jnp.broadcast_to(x, {wide.shape})"
            f" where it is {narrow.long_name()}."
        )
    order = "KbuifcV"
    low, high = sorted((a, b), key=lambda x: order.index(x.kind))
    return (
        f"Convert {part} where it is {low.long_name()}, by"
        f" jnp.asarray(x, '{high.dtype.name}')."
    )
