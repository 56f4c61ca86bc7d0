"""`jnp.i0`: the modified Bessel function of order 0, from the scaled one of `lax`."""

from __future__ import annotations

from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.lib.special import bessel_i0e
from tetrad._src.numpy import lax
from tetrad._src.numpy.convert import value
from tetrad._src.numpy.promote import promote_floats


def i0(x: Any) -> Value:
    """The modified Bessel function of the first kind and order 0, of real numbers.

    >>> import tetrad.numpy as jnp
    >>> jnp.i0(jnp.array([0.0, 1.0]))
    Array([1.       , 1.2660658], dtype=float32)
    """
    v: Any = value(promote_floats("jnp.i0", value(x, "jnp.i0", "x"))[0], "jnp.i0")
    if v.aval.kind == "c":
        raise ValueError(f"jnp.i0: x must be real, got {v.aval.long_name()}")
    size = lax.mul(v, lax.sign(v))  # |v|, whose slope at 0 is 0 like that of I₀
    product: Value = lax.mul(lax.exp(size), bessel_i0e(v))
    return product
