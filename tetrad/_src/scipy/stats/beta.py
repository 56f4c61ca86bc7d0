"""The beta distribution of shapes a and b."""

from __future__ import annotations

from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import standard
from tetrad._src.scipy.special import betaln, xlog1py, xlogy

jnp: Any = numpy  # arrays have methods that their type does not state


def _inside(z: Any) -> Any:
    """z, and 0.5 in the place of what is outside [0, 1]."""
    return jnp.where((z < 0) | (z > 1), 0.5, z)


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """(a − 1)·log z + (b − 1)·log(1 − z) − log(B(a, b)·scale), −∞ outside 0 ≤ z ≤ 1.

    >>> from tetrad.scipy.stats import beta
    >>> beta.logpdf(0.5, 2.0, 2.0).round(4)
    Array(0.4055, dtype=float32)
    """
    z, scale, a, b = standard(x, loc, scale, a, b)
    safe = _inside(z)
    value = xlogy(a - 1, safe) + xlog1py(b - 1, -safe) - betaln(a, b) - jnp.log(scale)
    return jnp.where((z < 0) | (z > 1), -jnp.inf, value)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: the regularised incomplete beta function.

    >>> from tetrad.scipy.stats import beta
    >>> beta.cdf(0.5, 2.0, 2.0).round(4)
    Array(0.5, dtype=float32)
    """
    z, _, a, b = standard(x, loc, scale, a, b)
    value = lax.betainc(a, b, _inside(z))
    return jnp.where(z < 0, 0, jnp.where(z > 1, 1, value))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`)."""
    return jnp.log(cdf(x, a, b, loc, scale))


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    z, _, a, b = standard(x, loc, scale, a, b)
    value = lax.betainc(b, a, 1 - _inside(z))
    return jnp.where(z < 0, 1, jnp.where(z > 1, 0, value))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`)."""
    return jnp.log(sf(x, a, b, loc, scale))
