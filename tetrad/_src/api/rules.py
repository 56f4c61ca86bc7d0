"""Rules for operations that programs declare: what `jax.interpreters` offers.

In: a declared operation and functions of a program. Out: an entry of the tables in
`primitives.py`. First differentiation (`defjvp` and its like), then batching, then
lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tetrad._src.api.inspect import struct_of
from tetrad._src.api.primitives import (
    BATCHERS,
    JVPS,
    LOWERINGS,
    TRANSPOSES,
    UndefinedPrimal,
    Zero,
    tangent_type,
    zeros_of,
)
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.lib.callbacks import io_callback, pure_callback
from tetrad._src.numpy import convert
from tetrad._src.ops.views import broadcast_in_dim, moveaxis
from tetrad._src.transforms.sums import add_any

Rule = Callable[..., Any]

# ---------------------------------------------------------------------- differentiation


def is_undefined_primal(x: Any) -> bool:
    """Whether `x` stands for a linear operand in a transposition rule."""
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent: Any) -> Any:
    """`tangent`, as an array also if it is zero."""
    return zeros_of(tangent.aval) if type(tangent) is Zero else tangent


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, either of which may be `Zero`."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any(x, y)


def zeros_like_aval(aval: Aval) -> Any:
    """Zeros of type `aval`."""
    return zeros_of(aval)


def _sum(terms: Sequence[Any], out: Any) -> Any:
    total = Zero(tangent_type(aval_of(out)))
    for term in terms:
        total = add_tangents(total, term)
    return total


def defjvp(primitive: Any, *rules: Rule | None) -> None:
    """States derivatives: `rules[i](tangent_i, *primals, **params)`; None is zero."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        terms = [
            rule(tangent, *primals, **params)
            for rule, tangent in zip(rules, tangents)
            if rule is not None and type(tangent) is not Zero
        ]
        return out, _sum(terms, out)

    JVPS[primitive] = jvp


def defjvp2(primitive: Any, *rules: Rule | None) -> None:
    """As `defjvp`, of rules that get the result, too: `rule(tangent, out, *primals)`."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        terms = [
            rule(tangent, out, *primals, **params)
            for rule, tangent in zip(rules, tangents)
            if rule is not None and type(tangent) is not Zero
        ]
        return out, _sum(terms, out)

    JVPS[primitive] = jvp


def _linear_jvp(primitive: Any) -> Rule:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        if all(type(tangent) is Zero for tangent in tangents):
            if primitive.multiple_results:
                return out, [Zero.from_primal_value(o) for o in out]
            return out, Zero.from_primal_value(out)
        full = [instantiate_zeros(tangent) for tangent in tangents]
        return out, primitive.bind(*full, **params)

    return jvp


def deflinear(primitive: Any, transpose: Rule) -> None:
    """States that the operation is linear, with `transpose(cotangent, **params)`."""

    def of_operands(ct: Any, *args: Any, **params: Any) -> Any:
        if type(ct) is Zero:
            return [None] * len(args)
        return transpose(ct, **params)

    JVPS[primitive] = _linear_jvp(primitive)
    TRANSPOSES[primitive] = of_operands


def deflinear2(primitive: Any, transpose: Rule) -> None:
    """As `deflinear`, of a rule that gets the operands: `transpose(ct, *args)`."""

    def of_operands(ct: Any, *args: Any, **params: Any) -> Any:
        if type(ct) is Zero:
            return [None] * len(args)
        return transpose(ct, *args, **params)

    JVPS[primitive] = _linear_jvp(primitive)
    TRANSPOSES[primitive] = of_operands


def defbilinear(primitive: Any, left: Rule, right: Rule) -> None:
    """States that the operation is linear in each of its two operands.

    `left(ct, x, y, **params)` gives the cotangent of x, for which `UndefinedPrimal`
    stands, and `right` that of y.
    """

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        if type(ct) is Zero:
            return [None, None]
        if type(x) is UndefinedPrimal:
            return [left(ct, x, y, **params), None]
        return [None, right(ct, x, y, **params)]

    defjvp(
        primitive,
        lambda t, x, y, **params: primitive.bind(t, y, **params),
        lambda t, x, y, **params: primitive.bind(x, t, **params),
    )
    TRANSPOSES[primitive] = transpose


def get_primitive_transpose(primitive: Any) -> Rule:
    """The transposition rule of an operation; NotImplementedError if it has none."""
    rule: Rule | None = TRANSPOSES.get(primitive)
    if rule is None:
        raise NotImplementedError(f"`{primitive.name}` has no transposition rule")
    return rule


# ------------------------------------------------------------------------------ batching


def bdim_at_front(x: Any, at: int | None, size: int) -> Any:
    """`x` with its mapped axis, which is at `at`, in front; made if there is none."""
    return broadcast(x, size, 0) if at is None else moveaxis(x, at, 0)


def broadcast(x: Any, size: int, axis: int) -> Any:
    """`x` with a new axis of `size` at `axis`, along which it is the same."""
    x = x if isinstance(x, Value) else convert.value(x, "batching.broadcast")
    shape = list(aval_of(x).shape)
    shape.insert(axis, size)
    dims = tuple([d for d in range(len(shape)) if d != axis])
    return broadcast_in_dim(x, tuple(shape), dims)


def defvectorized(primitive: Any) -> None:
    """States that lanes are computed by the operation itself, on whole arrays.

    The mapped axis of all operands, and of the results, is the same.
    """

    def batch(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        if len(set(dims)) > 1:
            raise NotImplementedError(
                f"`{primitive.name}` is vectorized (batching.defvectorized) and needs all"
                " operands mapped over one axis; state a rule with defbroadcasting"
            )
        out = primitive.bind(*args, **params)
        return (
            (out, [dims[0]] * len(out))
            if primitive.multiple_results
            else (
                out,
                dims[0],
            )
        )

    BATCHERS[primitive] = batch


def defbroadcasting(primitive: Any) -> None:
    """As `defvectorized`, of an operation that broadcasts its operands itself.

    Operands of full rank all get the mapped axis, in front.
    """

    def batch(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        values = [convert.value(x, primitive.name) for x in args]
        sizes = [aval_of(x).shape[d] for x, d in zip(values, dims) if d is not None]
        ranks = [aval_of(x).ndim - (d is not None) for x, d in zip(values, dims)]
        fitted = [
            x
            if at is None and rank < max(ranks)
            else _with_rank(bdim_at_front(x, at, sizes[0]), 1 + max(ranks))
            for x, at, rank in zip(values, dims, ranks)
        ]
        out = primitive.bind(*fitted, **params)
        return (out, [0] * len(out)) if primitive.multiple_results else (out, 0)

    BATCHERS[primitive] = batch


def _with_rank(x: Any, rank: int) -> Any:
    """`x` with axes of extent 1 after the first, up to `rank` axes."""
    shape = aval_of(x).shape
    missing = rank - len(shape)
    if not missing:
        return x
    full = (shape[0], *(1,) * missing, *shape[1:])
    return broadcast_in_dim(x, full, (0, *range(1 + missing, rank)))


def defreducer(primitive: Any) -> None:
    """States that the operation folds its one operand along its parameter `axes`."""

    def batch(args: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
        (x,), (at,) = args, dims
        axes = tuple([a + (a >= at) for a in params.pop("axes")])
        out = primitive.bind(x, axes=axes, **params)
        return out, at - sum(a < at for a in axes)

    BATCHERS[primitive] = batch


# ------------------------------------------------------------------------------ lowering


def lower_fun(fun: Rule, multiple_results: bool = True) -> Rule:
    """A lowering of a declared operation: what `fun` computes in its place.

    Args:
      fun: a function of the operands and parameters, written in jax.numpy and lax.
      multiple_results: whether it returns a list of arrays.
    """

    def rule(context: Any, *args: Any, **params: Any) -> list[Any]:
        out = fun(*args, **params)
        return list(out) if multiple_results else [out]

    return rule


def register_lowering(
    primitive: Any,
    rule: Rule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> Rule:
    """Sets how programs compute a declared operation: `rule(context, *args, **params)`.

    Use `lower_fun` to make a rule. `platform` restricts it to one platform; a rule
    without one serves all others.
    """
    if primitive in LOWERINGS:
        LOWERINGS[primitive][platform] = rule
    else:
        LOWERINGS[primitive] = {platform: rule}
    return rule


def emit_python_callback(
    context: Any,
    callback: Rule,
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[Aval],
    result_avals: Sequence[Aval],
    *,
    has_side_effect: bool = False,
    **options: Any,
) -> tuple[list[Any], Any, None]:
    """Inside a lowering: a call of `callback(*arrays)`, which gives a list of arrays.

    Gives (results, token, None). With `has_side_effect` the call happens exactly where it
    stands; otherwise it may be left out or repeated.
    """

    def called(*arrays: Any) -> list[Any]:
        return list(callback(*arrays))

    call = io_callback if has_side_effect else pure_callback
    structs = [struct_of(aval) for aval in result_avals]
    return list(call(called, structs, *operands)), token, None


def apply_primitive(primitive: Any, *args: Any, **params: Any) -> Any:
    """The result of a declared operation for arrays, by its lowering.

    Stands as `def_impl` of operations that have a lowering.
    """
    return primitive.of(params).expand(
        *[convert.value(x, primitive.name) for x in args]
    )
