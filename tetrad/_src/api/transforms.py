"""The public transformations in one import; each is in the file of its topic."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tetrad._src.api.batching import vmap as vmap
from tetrad._src.api.checkpoint import checkpoint as checkpoint
from tetrad._src.api.checkpoint import checkpoint_policies as checkpoint_policies
from tetrad._src.api.checkpoint import remat as remat
from tetrad._src.api.derivatives import fwd_and_bwd as fwd_and_bwd
from tetrad._src.api.derivatives import grad as grad
from tetrad._src.api.derivatives import jvp as jvp
from tetrad._src.api.derivatives import linearize as linearize
from tetrad._src.api.derivatives import value_and_grad as value_and_grad
from tetrad._src.api.derivatives import vjp as vjp
from tetrad._src.api.flat import FlatFunction
from tetrad._src.api.inspect import abstract_leaves
from tetrad._src.api.jacobians import hessian as hessian
from tetrad._src.api.jacobians import jacfwd as jacfwd
from tetrad._src.api.jacobians import jacobian as jacobian
from tetrad._src.api.jacobians import jacrev as jacrev
from tetrad._src.api.linear import linear_transpose as linear_transpose
from tetrad._src.control.checkpoint import checkpoint_name as checkpoint_name
from tetrad._src.control.custom import custom_jvp as custom_jvp
from tetrad._src.control.custom import custom_vjp as custom_vjp
from tetrad._src.control.signature import name_of
from tetrad._src.core.bind import STATE, Trace, Tracer, at, aval_of, base_trace
from tetrad._src.core.jaxpr import eval_jaxpr
from tetrad._src.core.stage import stage
from tetrad._src.ops.identity import stop_gradient as stop_gradient
from tetrad._src.util import tree

Fun = Callable[..., Any]


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
            picture = tree.difference_text(
                "the example arguments", example_args, "the arguments", args[:count]
            )
            raise TypeError(
                f"closure_convert: `{name_of(fun)}` was converted for arguments of"
                f" another structure.\n{picture}"
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


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """A block whose operations run now, also while a function is traced.

    Operations on traced values are traced as usual.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> @jax.jit
    ... def f(x):
    ...     with jax.ensure_compile_time_eval():
    ...         n = int(jnp.sum(jnp.arange(4)))
    ...     return n * x
    >>> float(f(2.0))
    12.0
    """
    with at(_AtOnce(STATE.trace)):
        yield


class _AtOnce(Trace):
    """Runs what is known; the rest goes on to the transformation around."""

    def __init__(self, parent: Trace) -> None:
        self.parent = parent

    def process(self, op: Any, args: Sequence[Any]) -> Any:
        known = not any([isinstance(arg, Tracer) for arg in args])
        STATE.trace = base_trace() if known else self.parent  # type: ignore[assignment]
        try:
            return op(*args)
        finally:
            STATE.trace = self


class _Refuses(Trace):
    """What operations reach where nothing may run."""

    def __init__(self, parent: Trace) -> None:
        self.parent = parent

    def process(self, op: Any, args: Sequence[Any]) -> Any:
        raise RuntimeError(
            f"`{op.name}` would run here, and the block `with jax.no_execution():` around"
            " it forbids that. Functions can be traced inside, as by jit(f).trace"
        )


@contextlib.contextmanager
def no_execution() -> Iterator[None]:
    """A block in which operations may be traced, but none may run: RuntimeError.

    >>> import tetrad as jax
    >>> with jax.no_execution():
    ...     shape = jax.eval_shape(lambda x: x + 1, 2.0)
    >>> shape.dtype.name
    'float32'
    """
    with at(_Refuses(STATE.trace)):
        yield


def custom_gradient(fun: Fun) -> Fun:
    """A function that states its gradient beside its value.

    `fun(*args)` returns (value, rule), and `rule(ct)` the cotangents of the arguments, a
    tuple (or one value if there is one argument).

    >>> import tetrad as jax
    >>> @jax.custom_gradient
    ... def square(x):
    ...     return x * x, lambda ct: 10.0 * x * ct
    >>> float(jax.grad(square)(3.0))
    30.0
    """

    def value(*args: Any, **kwargs: Any) -> Any:
        return fun(*args, **kwargs)[0]

    wrapped: custom_vjp[Any] = custom_vjp(functools.wraps(fun)(value))

    def fwd(*args: Any) -> Any:
        out, rule = fun(*args)
        leaves, out_tree = tree.flatten(out)
        flat = FlatFunction(lambda ct: rule(ct), tree.structure(((out,), {})), "grad")
        avals = [aval_of(leaf) for leaf in leaves]
        jaxpr, consts = stage(flat, avals, name_of(rule))
        return out, _Rule((jaxpr, flat.out_tree, len(args)), consts)

    def bwd(rule: _Rule, ct: Any) -> tuple[Any, ...]:
        jaxpr, cts_tree, count = rule.static
        cts = cts_tree.unflatten(eval_jaxpr(jaxpr, [*rule.consts, *tree.leaves(ct)]))
        if count == 1 and not (isinstance(cts, (tuple, list)) and len(cts) == 1):
            return (cts,)
        return tuple(cts)

    wrapped.defvjp(fwd, bwd)
    return wrapped


class _Rule:
    """A staged rule: a pytree of what it closes over."""

    __slots__ = ("static", "consts")

    def __init__(self, static: Any, consts: Sequence[Any]) -> None:
        self.static = static
        self.consts = consts


tree.register_pytree_node(_Rule, lambda r: (r.consts, r.static), _Rule)
