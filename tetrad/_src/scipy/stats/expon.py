"""The exponential distribution."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats, standard

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """−z − log(scale) for z = (x − loc)/scale ≥ 0, else −∞.

    >>> from tetrad.scipy.stats import expon
    >>> expon.logpdf(1.5)
    Array(-1.5, dtype=float32)
    """
    z, scale = standard(x, loc, scale)
    return jnp.where(z < 0, -jnp.inf, -z - jnp.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: 1 − exp(−z).

    >>> from tetrad.scipy.stats import expon
    >>> expon.cdf(1.0).round(4)
    Array(0.6321, dtype=float32)
    """
    return -jnp.expm1(-jnp.maximum(standard(x, loc, scale)[0], 0))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`)."""
    z, _ = standard(x, loc, scale)
    none = z <= 0
    return jnp.where(none, -jnp.inf, jnp.log(-jnp.expm1(-jnp.where(none, 1, z))))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x: exp(−z)."""
    return jnp.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`): −z, and 0 below loc."""
    return -jnp.maximum(standard(x, loc, scale)[0], 0)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with cdf(x) = q: loc − scale·log(1 − q); NaN where q is outside [0, 1].

    >>> from tetrad.scipy.stats import expon
    >>> expon.ppf(0.5).round(4)
    Array(0.6931, dtype=float32)
    """
    q, loc, scale = floats(q, loc, scale)
    return jnp.where((q >= 0) & (q <= 1), loc - scale * jnp.log1p(-q), jnp.nan)
