"""`linear_call`: a linear function whose transpose the user states.

In: a function linear in its second argument, and another one that is its transpose. Out:
the result of the first, as an operation that becomes the second where derivatives are
carried backwards, and the first again where that is transposed.

Read `LinearCall`, then `linear_call`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tetrad._src.control import bodies
from tetrad._src.control.call import Mask, axis_names, nonzero_mask
from tetrad._src.control.flow import cut
from tetrad._src.control.implicit import for_lanes
from tetrad._src.control.pictures import called, differing_structures
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.jaxpr import Jaxpr, eval_jaxpr
from tetrad._src.core.op import Axis
from tetrad._src.core.stage import stage
from tetrad._src.ops.arithmetic import add
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import Call
from tetrad._src.ops.views import zeros
from tetrad._src.transforms.jvp import instantiate, jvp_flat
from tetrad._src.transforms.vmap import spread
from tetrad._src.util import tree

Fun = Callable[..., Any]


class LinearCall(Call):
    """`fun`, a jaxpr linear in its last operands; `back` takes cotangents of its results.

    Operands are the residuals of `fun`, those of `back`, and the linear ones; `counts`
    says how many the first two are.
    """

    fun: Jaxpr
    back: Jaxpr
    counts: tuple[int, int]

    name = "linear_call"
    aligned = False
    inlined: ClassVar[bool] = True

    def jaxprs(self) -> tuple[Jaxpr, ...]:
        return self.fun, self.back

    @property
    def effects(self) -> frozenset[Any]:
        return self.fun.effects

    @property
    def axis_names(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys([n for j in self.jaxprs() for n in axis_names(j)]))

    def type(self, *avals: Aval) -> tuple[Aval, ...]:
        return self.fun.out_avals

    def expand(self, *args: Any) -> list[Any]:
        residuals, _, linear = cut(args, *self.counts)
        return eval_jaxpr(self.fun, [*residuals, *linear])

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """The function of the tangents, and what the residuals change."""
        outs = self(*primals)
        count = sum(self.counts)
        residuals, _, linear = cut(primals, *self.counts)
        found: list[Any] = [None] * len(outs)
        if any(nonzero_mask(tangents[count:])):
            moved = [instantiate(p, t) for p, t in zip(linear, tangents[count:])]
            found = list(self(*primals[:count], *moved))
        first = tangents[: self.counts[0]]
        if any(nonzero_mask(first)):
            _, change = jvp_flat(
                lambda *args: eval_jaxpr(self.fun, [*args, *linear]), residuals, first
            )
            found = [_sum(a, b) for a, b in zip(found, change)]
        return outs, found

    def transpose(self, cts: Sequence[Any], *args: Any) -> list[Any]:
        count = sum(self.counts)
        mine, others, _ = cut(args, *self.counts)
        right = [
            zeros(aval) if ct is None else convert_element_type(ct, aval.dtype)
            for ct, aval in zip(cts, self.fun.out_avals)
        ]
        op = LinearCall(self.back, self.fun, (len(others), len(mine)))
        return [*[None] * count, *op(*others, *mine, *right)]

    def batch(self, axis: Axis, mapped: Mask, *args: Any) -> list[Any]:
        count = sum(self.counts)
        mine, others, _ = cut(mapped, *self.counts)
        linear = [
            x if m else spread(axis, x) for x, m in zip(args[count:], mapped[count:])
        ]
        op = LinearCall(
            for_lanes(self.fun, axis, tuple(mine)),
            for_lanes(self.back, axis, tuple(others)),
            self.counts,
        )
        results: list[Any] = op(*args[:count], *linear)
        return results


def _sum(a: Any, b: Any) -> Any:
    """a + b, where None is zero."""
    if a is None or b is None:
        return b if a is None else a
    return add(a, b)


def linear_call(
    fun: Fun, fun_transpose: Fun, residual_args: Any, linear_args: Any
) -> Any:
    """`fun(residual_args, linear_args)`, whose transpose is `fun_transpose`.

    For a linear f: a → b with residuals r, the transpose fᵀ: b → a is taken to be
    `fun_transpose(r, ct)`, and that of fᵀ to be f again. Both may close over arrays.

    Args:
      fun: a function of two pytrees that is linear in the second.
      fun_transpose: a function of the residuals and a pytree like the result of `fun`,
        which returns a pytree like `linear_args`. Nobody checks that it is the transpose.
      residual_args: a pytree of arrays.
      linear_args: a pytree of arrays.

    TypeError if a structure or type does not fit.

    >>> import tetrad as jax
    >>> from tetrad.custom_derivatives import linear_call
    >>> f = lambda x: linear_call(lambda r, x: x / r, lambda r, ct: 7.0 * ct, 2.0, x)
    >>> float(f(3.0)), float(jax.grad(f)(3.0))
    (1.5, 7.0)
    """
    what = "linear_call"
    for role, given in (("fun", fun), ("fun_transpose", fun_transpose)):
        bodies.check_function(what, role, given)
    residuals, res_tree = bodies.flat_values(what, "residual_args", residual_args)
    linear, in_tree = bodies.flat_values(what, "linear_args", linear_args)
    res_avals = [aval_of(x) for x in residuals]
    avals = [aval_of(x) for x in linear]
    forward = bodies.staged(what, "fun", fun, (res_tree, in_tree), [*res_avals, *avals])
    out_tree, out_avals = forward.out_tree, forward.out_avals

    def back(*args: Any) -> list[Any]:
        given, cts = cut(args, len(res_avals))
        result = fun_transpose(res_tree.unflatten(given), out_tree.unflatten(cts))
        found, found_tree = tree.flatten(result)
        name = called(fun_transpose, "fun_transpose")
        if found_tree != in_tree:
            picture = differing_structures(
                ("linear_args", in_tree, avals),
                (f"the result of {name}", found_tree, found),
            )
            raise TypeError(
                f"linear_call: {name} must return the structure of linear_args.\n{picture}"
            )
        return [_like(name, x, aval) for x, aval in zip(found, avals)]

    backward, consts = stage(back, [*res_avals, *out_avals], "fun_transpose")
    counts = (len(forward.consts) + len(residuals), len(consts) + len(residuals))
    op = LinearCall(forward.jaxpr, backward, counts)
    outs = op(*forward.consts, *residuals, *consts, *residuals, *linear)
    return out_tree.unflatten(outs)


def _like(name: str, x: Any, aval: Aval) -> Any:
    """A result of the transpose in the type of the argument it belongs to."""
    x = bodies.as_operand("linear_call", x)
    got = aval_of(x)
    if got.shape != aval.shape or (got.dtype != aval.dtype and not got.weak_type):
        raise TypeError(
            f"linear_call: {name} must return values like linear_args, which has"
            f" {aval.long_name()} where it gave {got.long_name()}"
        )
    return convert_element_type(x, aval.dtype, aval.weak_type)
