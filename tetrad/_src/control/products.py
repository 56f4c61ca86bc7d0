"""Cotangents that are sums of products over the steps of a loop, as one product.

In: the body of a loop that runs backwards, whose first results are cotangents to be
summed over all steps. Out: an `Apart`: the body without those that are products of two
values of the step, such as outer products, and how each is one product of the stacked
values after the loop. A large sum then does not travel through memory in every step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tetrad._src.core.jaxpr import Eqn, Jaxpr, Var, dce
from tetrad._src.ops.contract import DotDimensions, DotGeneral
from tetrad._src.ops.views import Transpose, transpose
from tetrad._src.transforms.sums import AddAny, add_any

GAIN = 2  # times as many elements in the sum as in what is stacked for it


class Product(NamedTuple):
    """A product of stacked values, and in which orders of axes it is seen then.

    A value is a scanned array of the loop, or number `~n` of what the body gives more.
    """

    op: DotGeneral
    left: int
    right: int
    orders: tuple[tuple[int, ...], ...]


class Apart(NamedTuple):
    """A body with fewer sums and `more` results; `later` says of each sum how it is made.

    It is () for those that the loop still sums.
    """

    body: Jaxpr
    more: int
    later: tuple[tuple[Product, ...], ...]


def apart(body: Jaxpr, consts: int, xs: int, sums: int) -> Apart:
    """Takes products out of a body with inputs (consts, xs, …), results (sums, …)."""
    search = _Search(body, consts, xs)
    later = tuple([search.products(out) for out in body.outs[:sums]])
    kept = [out for out, made in zip(body.outs, later) if not made]
    outs = [*kept, *body.outs[sums:], *search.more]
    smaller, _ = dce(Jaxpr(body.ins, body.eqns, outs, body.name), (True,) * len(outs))
    return Apart(smaller, len(search.more), later)


def product(products: Sequence[Product], stacked: Callable[[int], Any]) -> Any:
    """The sum over all steps, from the stacked values."""
    total = None
    for op, left, right, orders in products:
        made = op(stacked(left), stacked(right))
        for order in orders:
            made = transpose(made, order)
        total = made if total is None else add_any(total, made)
    return total


class _Search:
    """Finds products among the results of a body."""

    def __init__(self, body: Jaxpr, consts: int, xs: int) -> None:
        self.maker = {v: eqn for eqn in body.eqns for v in eqn.outs}
        self.xs = {v: n for n, v in enumerate(body.ins[consts : consts + xs])}
        self.steady = set(body.ins[:consts])
        for eqn in body.eqns:
            if all([a in self.steady for a in eqn.ins if type(a) is Var]):
                self.steady.update(eqn.outs)
        self.more: list[Var] = []

    def products(self, out: Any) -> tuple[Product, ...]:
        """The products whose sum is `out`; none if it is something else, or small."""
        leaves = self.leaves(out)
        if not leaves:
            return ()
        fresh: set[Any] = set()
        for eqn, _ in leaves:
            fresh |= {v for v in eqn.ins if v not in self.xs and v not in self.more}
        if GAIN * sum([v.aval.size for v in fresh]) > out.aval.size:
            return ()
        found = []
        for eqn, orders in leaves:
            left, right = (self.place(v) for v in eqn.ins)
            found.append(Product(_over_steps(eqn.op), left, right, orders))
        return tuple(found)

    def leaves(self, out: Any) -> list[tuple[Eqn, tuple[tuple[int, ...], ...]]]:
        """The equations of the products, with the transposes behind them."""
        found = []
        work: list[tuple[Any, tuple[tuple[int, ...], ...]]] = [(out, ())]
        while work:
            atom, orders = work.pop()
            eqn = self.maker.get(atom) if type(atom) is Var else None
            if eqn is None:
                return []
            if isinstance(eqn.op, AddAny):
                work.extend([(a, orders) for a in eqn.ins])
            elif isinstance(eqn.op, Transpose):
                work.append((eqn.ins[0], (eqn.op.permutation, *orders)))
            elif isinstance(eqn.op, DotGeneral) and self.moving(eqn):
                found.append((eqn, orders))
            else:
                return []
        return found

    def moving(self, eqn: Eqn) -> bool:
        """Whether both operands differ from step to step."""
        return all([type(a) is Var and a not in self.steady for a in eqn.ins])

    def place(self, var: Any) -> int:
        if var in self.xs:
            return self.xs[var]
        if var not in self.more:
            self.more.append(var)
        return ~self.more.index(var)


def _over_steps(op: Any) -> DotGeneral:
    """The same product of stacked values, summed over the steps, too."""
    lc, rc, lb, rb = [tuple([axis + 1 for axis in axes]) for axes in op.axes()]
    dims = DotDimensions((((0, *lc), (0, *rc)), (lb, rb)))
    return DotGeneral(dims, op.precision, op.preferred_element_type)
