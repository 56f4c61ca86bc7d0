"""What reverse differentiation stores: `print_saved_residuals`.

In: a function and arguments. Out: for each value that the backward pass keeps of the
forward pass, its type and where it comes from. The function is linearized while it is
staged, so nothing is computed; the constants of the tape are the residuals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tetrad._src.api.flat import FlatFunction, argument_name
from tetrad._src.api.inspect import abstract_leaves
from tetrad._src.control.call import Jit
from tetrad._src.control.checkpoint import Name
from tetrad._src.control.signature import name_of
from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Eqn, Jaxpr, Var
from tetrad._src.core.stage import stage
from tetrad._src.transforms.linearize import linearize_flat
from tetrad._src.util import frames, tree

Fun = Callable[..., Any]
Residual = tuple[Aval, str]


def saved_residuals(fun: Fun, *args: Any, **kwargs: Any) -> list[Residual]:
    """The types and origins of what `vjp(fun, *args, **kwargs)` stores."""
    leaves, in_tree = tree.flatten((args, kwargs))
    avals = abstract_leaves("saved_residuals", fun, in_tree, leaves)
    flat = FlatFunction(fun, in_tree, "saved_residuals")

    def residuals(*values: Any) -> list[Any]:
        _, tape = linearize_flat(flat, values, [aval.inexact for aval in avals])
        return tape.close()[1]

    jaxpr, consts = stage(residuals, avals, name_of(fun))
    names = [argument_name(fun, in_tree, i) for i in range(len(leaves))]
    return _origins(jaxpr, len(consts), names)


def _origins(jaxpr: Jaxpr, closed: int, names: list[str]) -> list[Residual]:
    """Constants first, then arguments, then results in the order of equations."""
    found = [
        (atom.aval, "from a literal") for atom in jaxpr.outs if type(atom) is not Var
    ]
    kept = set(jaxpr.outs)
    for i, var in enumerate(jaxpr.ins):
        if var in kept:
            origin = (
                f"the argument {names[i - closed]}" if i >= closed else "a constant"
            )
            found.append((var.aval, f"from {origin}"))
    for eqn in jaxpr.eqns:
        for var in eqn.outs:
            if var in kept:
                found.append((var.aval, _result_of(eqn)))
    return found


def _result_of(eqn: Eqn) -> str:
    line = frames.format_where(eqn.where)
    if type(eqn.op) is Name:
        return f"named '{eqn.op.label}' from {line}"
    if type(eqn.op) is Jit:
        return f"output of jitted function '{eqn.op.jaxpr.name}' from {line}"
    return f"output of {eqn.op.name} from {line}"


def print_saved_residuals(fun: Fun, *args: Any, **kwargs: Any) -> None:
    """Prints the types and origins of what `vjp(fun, *args, **kwargs)` stores.

    What a policy of `checkpoint` stores, and what it computes again, shows here.

    >>> from tetrad.ad_checkpoint import print_saved_residuals
    >>> print_saved_residuals(lambda x, y: x * y, 2.0, 3.0)
    f32[] from the argument x
    f32[] from the argument y
    """
    for aval, origin in saved_residuals(fun, *args, **kwargs):
        print(aval.short_name(), origin)
