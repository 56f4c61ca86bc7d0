"""What functions of SciPy do with their arguments before the mathematics begins."""

from __future__ import annotations

from typing import Any

from tetrad import numpy

jnp: Any = numpy  # arrays have methods that their type does not state


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
