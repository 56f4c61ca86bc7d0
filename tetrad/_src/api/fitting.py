"""Tangents and cotangents that users give: they must fit what they belong to.

In: a leaf of a user's tree and the aval of the argument or result that it goes with. Out:
the leaf as an array, None where there is no derivative, or an error in the user's words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tetrad._src.api.flat import (
    argument_name,
    as_value,
    float0_zeros,
    is_float0,
    leaf_aval,
    path_of_leaf,
)
from tetrad._src.control.signature import name_of
from tetrad._src.core.avals import Aval
from tetrad._src.ops.views import zeros
from tetrad._src.util import tree

Fun = Callable[..., Any]


def direction(
    what: str, fun: Fun, in_tree: Any, index: int, aval: Aval, tangent: Any
) -> Any:
    """The tangent of a leaf, None if it has none; an error if it does not fit."""
    if not aval.inexact:
        if is_float0(tangent):
            return None
        raise TypeError(
            f"{what}: argument `{argument_name(fun, in_tree, index)}` is"
            f" {aval.long_name()}, whose tangents have dtype float0, got"
            f" {leaf_aval(tangent).long_name()}. Convert the argument with .astype(float),"
            f" or pass np.zeros({aval.shape}, jax.dtypes.float0)."
        )
    return fitting(what, "tangent", tangent, aval, fun, in_tree, index)


def fitting(
    what: str, kind: str, x: Any, aval: Aval, fun: Fun, in_tree: Any, index: int
) -> Any:
    """`x` as an array, if it has the shape and dtype of `aval`."""
    got = leaf_aval(x)
    if got.shape == aval.shape and got.dtype == aval.dtype:
        return as_value(x, what)
    if kind == "tangent":
        name = f"`{argument_name(fun, in_tree, index)}`"
    else:
        path = tree.keystr(path_of_leaf(in_tree, index))
        name = f"the result of `{name_of(fun)}`{' at ' + path if path else ''}"
    if what == "vjp":
        raise ValueError(
            f"vjp: the cotangent of {name} has an unexpected JAX type: it must be"
            f" {aval.long_name()}, got {got.long_name()}"
        )
    if got.shape != aval.shape:
        raise ValueError(
            f"{what}: the {kind} of {name} must have its shape {aval.shape}, got"
            f" {got.shape}"
        )
    decimal = " or write it with a decimal point" if isinstance(x, int) else ""
    raise TypeError(
        f"{what}: the {kind} of {name} must have its dtype {aval.dtype.name}, got"
        f" {got.dtype.name}. Convert it with .astype({aval.dtype.name!r}){decimal}."
    )


def cotangent(
    what: str, fun: Fun, out_tree: Any, index: int, aval: Aval, ct: Any
) -> Any:
    """The cotangent of a result, None if it has none."""
    if not aval.inexact:
        return None
    return fitting(what, "cotangent", ct, aval, fun, out_tree, index)


def out_tangent(aval: Aval, tangent: Any) -> Any:
    """The tangent of a result, as users get it: zeros if there is none."""
    if not aval.inexact:
        return float0_zeros(aval)
    return as_value(zeros(aval) if tangent is None else tangent, "jvp")
