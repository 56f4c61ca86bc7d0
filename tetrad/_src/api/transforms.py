"""The public transformations in one import; each is in the file of its topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.api.batching import vmap as vmap
from tetrad._src.api.derivatives import grad as grad
from tetrad._src.api.derivatives import jvp as jvp
from tetrad._src.api.derivatives import linear_transpose as linear_transpose
from tetrad._src.api.derivatives import linearize as linearize
from tetrad._src.api.derivatives import value_and_grad as value_and_grad
from tetrad._src.api.derivatives import vjp as vjp
from tetrad._src.api.flat import FlatFunction, leaf_values, without_static, wraps_of
from tetrad._src.api.jacobians import hessian as hessian
from tetrad._src.api.jacobians import jacfwd as jacfwd
from tetrad._src.api.jacobians import jacobian as jacobian
from tetrad._src.api.jacobians import jacrev as jacrev
from tetrad._src.api.inspect import abstract_leaves
from tetrad._src.control.call import Remat
from tetrad._src.control.custom import custom_jvp as custom_jvp
from tetrad._src.control.custom import custom_vjp as custom_vjp
from tetrad._src.control.signature import argument_numbers, name_of
from tetrad._src.core.bind import Tracer
from tetrad._src.core.jaxpr import eval_jaxpr
from tetrad._src.core.stage import stage
from tetrad._src.ops.identity import stop_gradient as stop_gradient
from tetrad._src.util import frames, tree

Fun = Callable[..., Any]


def checkpoint(
    fun: Fun,
    *,
    prevent_cse: bool = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Fun:
    """`fun`, which reverse differentiation computes a second time instead of storing
    its intermediate values.

    Args:
      fun: a function of pytrees.
      static_argnums: positional arguments that are not arrays.

    `prevent_cse` must stay True, and policies are not available.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> float(jax.grad(jax.checkpoint(jnp.sin))(0.0))
    1.0
    """
    if policy is not None:
        raise NotImplementedError(
            "checkpoint(policy=...) is not available: nothing inside a checkpoint is"
            " stored. Wrap the parts to recompute in a checkpoint each, and leave what"
            " should be stored outside."
        )
    if not prevent_cse:
        raise NotImplementedError(
            "checkpoint(prevent_cse=False) is not available: leave it out"
        )
    numbers = argument_numbers(static_argnums, "checkpoint: static_argnums")

    def rematerialized(*args: Any, **kwargs: Any) -> Any:
        call, dynamic = without_static(fun, args, numbers)
        leaves, in_tree = tree.flatten((dynamic, kwargs))
        values = leaf_values("checkpoint", fun, in_tree, leaves)
        flat = FlatFunction(call, in_tree, "checkpoint")
        jaxpr, consts = stage(flat, [v.aval for v in values], name_of(fun))
        outs = Remat(jaxpr)(*consts, *values)
        return flat.out_tree.unflatten(outs)

    return wraps_of(fun)(frames.hide_frames(rematerialized))


remat = checkpoint


def closure_convert(fun: Fun, *example_args: Any) -> tuple[Fun, list[Any]]:
    """`fun` with the values it closes over as arguments.

    Args:
      fun: a function of pytrees that closes over values under differentiation.
      *example_args: arguments, of which only shapes and dtypes matter.

    Returns (converted, values): `converted(*args, *values)` is `fun(*args)`, where
    `values` are the closed-over floats of the surrounding transformations. A
    `custom_vjp` rule can then take them as arguments.

    >>> import tetrad as jax
    >>> converted, values = jax.closure_convert(lambda x: 2.0 * x, 1.0)
    >>> float(converted(3.0, *values))
    6.0
    """
    leaves, in_tree = tree.flatten((example_args, {}))
    avals = abstract_leaves("closure_convert", fun, in_tree, leaves)
    flat = FlatFunction(fun, in_tree, "closure_convert")
    jaxpr, consts = stage(flat, avals, name_of(fun))
    hoisted = [isinstance(c, Tracer) and c.aval.inexact for c in consts]
    out_tree = flat.out_tree
    count = len(example_args)

    def converted(*args: Any) -> Any:
        values, given_tree = tree.flatten((args[:count], {}))
        if given_tree != in_tree:
            raise TypeError(
                f"closure_convert: `{name_of(fun)}` was converted for arguments of the"
                f" structure {in_tree}, got {given_tree}"
            )
        rest = iter(args[count:])
        extra = args[count:]
        if len(extra) != sum(hoisted) or any(tree.is_tree_node(type(x)) for x in extra):
            raise TypeError(
                f"closure_convert: `{name_of(fun)}` closes over {sum(hoisted)} arrays,"
                f" to be passed one by one after its {count} arguments, got"
                f" {len(extra)} more arguments. Write converted(*args, *values)."
            )
        closed = [next(rest) if h else c for c, h in zip(consts, hoisted)]
        return out_tree.unflatten(eval_jaxpr(jaxpr, [*closed, *values]))

    return converted, [c for c, h in zip(consts, hoisted) if h]
