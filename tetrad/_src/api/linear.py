"""The transpose of linear functions.

In: a function that is linear in all its arguments. Out: the function that takes a
cotangent of its result to cotangents of its arguments. The function is staged once, and
its jaxpr is walked backwards at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.api.fitting import fitting
from tetrad._src.api.flat import FlatFunction, argument_name
from tetrad._src.api.inspect import abstract_leaves
from tetrad._src.control.pictures import differing_structures, skeleton
from tetrad._src.control.signature import check_callable, name_of
from tetrad._src.core.jaxpr import Jaxpr, Var
from tetrad._src.core.op import Linear
from tetrad._src.core.stage import stage
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.views import zeros
from tetrad._src.transforms.transpose import backward
from tetrad._src.util import frames, tree

Fun = Callable[..., Any]


def linear_transpose(fun: Fun, *primals: Any, reduce_axes: Sequence[Any] = ()) -> Fun:
    """The transpose of `fun`, a function that is linear in all its arguments.

    Args:
      fun: a linear function of pytrees.
      *primals: arguments, of which only shapes and dtypes matter (a ShapeDtypeStruct
        will do).

    Returns a function from a cotangent of the result to a tuple of cotangents of the
    arguments. Raises NotImplementedError if `fun` is not linear.

    >>> import tetrad as jax
    >>> transposed = jax.linear_transpose(lambda x: 2.0 * x, 1.0)
    >>> float(transposed(3.0)[0])
    6.0
    """
    if reduce_axes:
        raise NotImplementedError("linear_transpose(reduce_axes=...) is not available")
    with frames.hidden_frames():
        return _linear_transpose(fun, primals)


def _linear_transpose(fun: Fun, primals: Sequence[Any]) -> Fun:
    check_callable(fun, "linear_transpose")
    leaves, in_tree = tree.flatten((tuple(primals), {}))
    avals = abstract_leaves("linear_transpose", fun, in_tree, leaves)
    flat = FlatFunction(fun, in_tree, "linear_transpose")
    jaxpr, consts = stage(flat, avals, name_of(fun))
    for i, aval in enumerate(avals):
        others = [a for a in jaxpr.out_avals if a.inexact != aval.inexact]
        if aval.kind not in "fciu" or others:
            name = argument_name(fun, in_tree, i)
            raise TypeError(
                f"linear_transpose: argument `{name}` of `{name_of(fun)}` is"
                f" {aval.long_name()}. linear_transpose only supports functions of numbers"
                " that give floats for floats and integers for integers"
            )
    return Transposed(fun, in_tree, flat.out_tree, jaxpr, consts)


class Transposed:
    """The function that `linear_transpose` gives: from a cotangent of the result to
    those of the arguments. It is a pytree, whose leaves are what `fun` closes over.
    """

    __slots__ = ("program", "consts", "__weakref__")

    def __init__(
        self, fun: Fun, in_tree: Any, out_tree: Any, jaxpr: Jaxpr, consts: Sequence[Any]
    ) -> None:
        self.program: Any = (fun, in_tree, out_tree, jaxpr)
        self.consts = consts

    @frames.hide_frames
    def __call__(self, ct: Any) -> tuple[Any, ...]:
        fun, in_tree, out_tree, jaxpr = self.program
        cts, ct_tree = tree.flatten(ct)
        if ct_tree != out_tree:
            source = f"the result of `{name_of(fun)}`"
            picture = differing_structures(
                (source, out_tree, jaxpr.out_avals), ("the cotangent", ct_tree, cts)
            )
            raise ValueError(
                f"linear_transpose: the cotangent must have the structure of {source}.\n"
                f"{picture}\nGive f_transpose({skeleton(out_tree)})."
            )
        given = [
            fitting("linear_transpose", "cotangent", leaf, aval, fun, out_tree, i)
            for i, (aval, leaf) in enumerate(zip(jaxpr.out_avals, cts))
        ]
        env: dict[Var, Any] = dict(zip(jaxpr.ins, self.consts))
        ins = jaxpr.ins[len(self.consts) :]
        env.update([(var, Linear(var.aval)) for var in ins])
        sums = backward(jaxpr.eqns, env, jaxpr.outs, given)
        found = [sums[v] if v in sums else zeros(v.aval) for v in ins]
        flat = [
            convert_element_type(x, v.aval.dtype, v.aval.weak_type)
            for x, v in zip(found, ins)
        ]
        result: tuple[Any, ...] = in_tree.unflatten(flat)[0]
        return result


def _transposed(program: Any, consts: Any) -> Transposed:
    fun, in_tree, out_tree, jaxpr = program
    return Transposed(fun, in_tree, out_tree, jaxpr, consts)


tree.register_pytree_node(Transposed, lambda f: (f.consts, f.program), _transposed)
