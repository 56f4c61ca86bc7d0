"""Functions of dense arrays on sparse ones: `sparsify`, and gradients by sparse arrays.

In: a function written for dense arrays. Out: a function that takes `BCOO` arrays, too.
It is traced for dense arrays of the same shapes, and its jaxpr is evaluated with a rule
for each operation that meets a sparse array.

Read `sparsify`, then the rules.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import tetrad
from tetrad import tree_util
from tetrad._src.sparse import bcoo
from tetrad._src.sparse.bcoo import BCOO, JAXSparse

Fun = Callable[..., Any]


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def sparsify(f: Fun, use_tracer: bool = False) -> Fun:
    """A function that takes sparse arrays where `f` takes dense ones.

    Args:
      f: a function of arrays, written with `jax.numpy` and `jax.lax`.
      use_tracer: False: functions are traced once and evaluated.

    NotImplementedError for operations of sparse arrays that would fill in their zeros or
    that have no rule; it names the operation.

    >>> import tetrad.numpy as jnp
    >>> from tetrad.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0., 2.], [3., 0.]]))
    >>> sparse.sparsify(lambda m, v: 2 * m.T @ v)(m, jnp.ones(2)).tolist()
    [6.0, 4.0]
    """
    if use_tracer:
        raise NotImplementedError(
            "sparsify(use_tracer=True) is not available: leave it out"
        )

    @functools.wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = tree_util.tree_flatten((args, kwargs), is_leaf=_is_sparse)
        structure: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            positional, named = tree_util.tree_unflatten(treedef, xs)
            outs, out_tree = tree_util.tree_flatten(f(*positional, **named))
            structure.append(out_tree)
            return outs

        shown = [
            tetrad.ShapeDtypeStruct(x.shape, x.dtype) if _is_sparse(x) else x
            for x in leaves
        ]
        closed = tetrad.make_jaxpr(flat)(*shown)
        outs = _evaluate(closed.jaxpr, closed.consts, leaves)
        return tree_util.tree_unflatten(structure[-1], outs)

    return mapped


def _evaluate(jaxpr: Any, consts: Any, args: Any) -> list[Any]:
    """The jaxpr on dense and sparse arrays."""
    values: dict[Any, Any] = {}

    def read(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else values[atom]

    values.update(zip(jaxpr.constvars, consts))
    values.update(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        ins = [read(atom) for atom in eqn.invars]
        if any([_is_sparse(x) for x in ins]):
            outs = _sparse(eqn, ins)
        else:
            outs = eqn.primitive.bind(*ins, **eqn.params)
            outs = list(outs) if eqn.primitive.multiple_results else [outs]
        values.update(zip(eqn.outvars, outs))
    return [read(atom) for atom in jaxpr.outvars]


def _sparse(eqn: Any, ins: list[Any]) -> list[Any]:
    name = eqn.primitive.name
    params = eqn.params
    inner = params.get("jaxpr", params.get("call_jaxpr"))
    calls = ("jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat")
    if name in calls and inner is not None:
        consts = getattr(inner, "consts", ())
        return _evaluate(getattr(inner, "jaxpr", inner), consts, ins)
    if name in ZERO_STAYS and len(ins) == 1:
        x = ins[0]
        return [x._like(eqn.primitive.bind(x.data, **params))]
    rule = RULES.get(name)
    if rule is None:
        raise NotImplementedError(
            f"sparsify: `{name}` has no rule for sparse arrays; write x.todense() before it"
        )
    return [rule(*ins, **params)]


# Functions that are 0 at 0: they need only see the elements.
ZERO_STAYS = frozenset(
    [
        "abs", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "convert_element_type",
        "copy", "erf", "expm1", "floor", "imag", "integer_pow", "log1p", "neg", "real",
        "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "conj",
        "stop_gradient", "reduce_precision",
    ]
)  # fmt: skip


def _product(x: Any, y: Any, **params: Any) -> Any:
    return x * y if _is_sparse(x) else y * x


def _quotient(x: Any, y: Any, **params: Any) -> Any:
    if _is_sparse(y):
        raise NotImplementedError(
            "sparsify: x / y with a sparse y divides by its zeros"
        )
    return x / y


def _sum(x: Any, axes: Any, **params: Any) -> Any:
    found = x.sum(tuple(axes))
    return found if found.ndim else found.todense()


def _reshaped(x: Any, new_sizes: Any, dimensions: Any = None, **params: Any) -> Any:
    return bcoo.reshape(x, new_sizes=new_sizes, dimensions=dimensions)


def _without_axes(x: Any, dimensions: Any, **params: Any) -> Any:
    gone = {axis % x.ndim for axis in dimensions}
    return x.reshape(tuple([n for i, n in enumerate(x.shape) if i not in gone]))


def _with_axes(x: Any, shape: Any, broadcast_dimensions: Any, **params: Any) -> Any:
    """New axes of extent 1; axes that are stretched would repeat the elements."""
    if math.prod(shape) != x.size:
        raise NotImplementedError(
            f"sparsify: a sparse array of shape {x.shape} is stretched to {tuple(shape)};"
            " write x.todense() before it"
        )
    return x.reshape(tuple(shape))


RULES: dict[str, Any] = {
    "transpose": lambda x, permutation, **params: x.transpose(permutation),
    "mul": _product,
    "div": _quotient,
    "add": lambda x, y, **params: x + y,
    "add_any": lambda x, y, **params: x + y,
    "sub": lambda x, y, **params: x - y,
    "reduce_sum": _sum,
    "reshape": _reshaped,
    "squeeze": _without_axes,
    "broadcast_in_dim": _with_axes,
    "dot_general": lambda x, y, dimension_numbers, **params: bcoo.dot_general(
        x, y, dimension_numbers=dimension_numbers
    ),
    "concatenate": lambda *xs, dimension, **params: bcoo.concatenate(
        [x if _is_sparse(x) else BCOO.fromdense(x) for x in xs], dimension=dimension
    ),
}


# -------------------------------------------------------------------------- gradients


def value_and_grad(
    fun: Fun, argnums: Any = 0, has_aux: bool = False, **options: Any
) -> Fun:
    """As `jax.value_and_grad`, by arguments that may be sparse.

    The gradient by a sparse array is sparse: the derivatives by its elements.

    >>> import tetrad.numpy as jnp
    >>> from tetrad.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.arange(6.))
    >>> sparse.value_and_grad(lambda x, y: x @ y)(x, jnp.ones(6))
    (Array(15., dtype=float32), BCOO(float32[6], nse=5))
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(fun)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        chosen = [args[n] for n in numbers]
        leaves, treedef = tree_util.tree_flatten(chosen, is_leaf=_is_sparse)
        data = [x.data if _is_sparse(x) else x for x in leaves]

        def of_data(data: Any) -> Any:
            made = [x._like(d) if _is_sparse(x) else d for x, d in zip(leaves, data)]
            full = list(args)
            for n, value in zip(numbers, tree_util.tree_unflatten(treedef, made)):
                full[n] = value
            return fun(*full, **kwargs)

        value, slopes = tetrad.value_and_grad(of_data, has_aux=has_aux, **options)(data)
        made = [x._like(d) if _is_sparse(x) else d for x, d in zip(leaves, slopes)]
        found = tree_util.tree_unflatten(treedef, made)
        return value, found[0] if isinstance(argnums, int) else tuple(found)

    return differentiated


def grad(fun: Fun, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Fun:
    """As `jax.grad`, by arguments that may be sparse: see `value_and_grad`.

    >>> import tetrad.numpy as jnp
    >>> from tetrad.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.arange(6.))
    >>> sparse.grad(lambda x, y: x @ y)(x, jnp.ones(6))
    BCOO(float32[6], nse=5)
    """
    both = value_and_grad(fun, argnums, has_aux, **options)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient
