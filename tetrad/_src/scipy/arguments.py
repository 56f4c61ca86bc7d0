"""What functions of SciPy do with their arguments before the mathematics begins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from tetrad import numpy, numpy_dtype_promotion, numpy_rank_promotion
from tetrad._src.util.config import config

jnp: Any = numpy  # arrays have methods that their type does not state

F = TypeVar("F", bound=Callable[..., Any])


def apart(fun: F) -> F:
    """`fun` computing with types and ranks as it means them, whatever the settings say.

    Settings that forbid promotion are about what users combine: arguments of different
    inexact dtypes are an error under them, the steps of `fun` are not.
    """

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        strict = config.jax_numpy_dtype_promotion != "standard"
        if not strict and config.jax_numpy_rank_promotion == "allow":
            return fun(*args, **kwargs)
        if strict:
            dtypes = [x.dtype for x in args if hasattr(x, "dtype")]
            dtypes = [d for d in dtypes if jnp.issubdtype(d, jnp.inexact)]
            if len(set(dtypes)) > 1:
                jnp.promote_types(*dtypes[:2])  # which says what is wrong
        with numpy_dtype_promotion("standard"), numpy_rank_promotion("allow"):
            return fun(*args, **kwargs)

    return call  # type: ignore[return-value]


def floats(*xs: Any) -> Any:
    """Arrays of one floating-point dtype and shape."""
    arrays = [jnp.asarray(x) for x in xs]
    dtype = jnp.result_type(float, *arrays)
    if any(jnp.issubdtype(x.dtype, jnp.inexact) for x in arrays):
        dtype = jnp.result_type(*arrays)
    found = jnp.broadcast_arrays(*[x.astype(dtype) for x in arrays])
    return found[0] if len(found) == 1 else tuple(found)


def floating(x: Any) -> Any:
    """An array of a floating-point or complex dtype; integers become floats."""
    x = jnp.asarray(x)
    if jnp.issubdtype(x.dtype, jnp.inexact):
        return x
    return x.astype(jnp.result_type(float))


def standard(x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
    """(x − loc)/scale, scale and the further parameters, as `floats`."""
    x, loc, scale, *shapes = floats(x, loc, scale, *shapes)
    return (x - loc) / scale, scale, *shapes


def counted(k: Any, loc: Any, *parameters: Any) -> Any:
    """(valid, k − loc, parameters): k is valid where it is a whole number, not below loc.

    Where it is not, 0 stands in its place, so that no formula meets an infinity there.
    """
    k, loc, *parameters = floats(k, loc, *parameters)
    k = k - loc
    valid = (k >= 0) & (k == jnp.floor(k))
    return valid, jnp.where(valid, k, 0), *parameters


def where_valid(valid: Any, k: Any, value: Any) -> Any:
    """`value`, −∞ where a count is not valid, NaN where it is NaN."""
    return jnp.where(valid, value, jnp.where(jnp.isnan(k), jnp.nan, -jnp.inf))
