"""The gamma distribution of shape a."""

from __future__ import annotations

from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import standard
from tetrad._src.scipy.special import xlogy

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """(a − 1)·log z − z − log Γ(a) − log(scale) for z = (x − loc)/scale ≥ 0, else −∞.

    >>> from tetrad.scipy.stats import gamma
    >>> gamma.logpdf(1.0, 2.0)
    Array(-1., dtype=float32)
    """
    z, scale, a = standard(x, loc, scale, a)
    below = z < 0
    safe = jnp.where(below, 1, z)
    value = xlogy(a - 1, safe) - safe - lax.lgamma(a) - jnp.log(scale)
    return jnp.where(below, -jnp.inf, value)


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, a, loc, scale))


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: the lower incomplete gamma function.

    >>> from tetrad.scipy.stats import gamma
    >>> gamma.cdf(1.0, 1.0).round(4)
    Array(0.6321, dtype=float32)
    """
    z, _, a = standard(x, loc, scale, a)
    return jnp.where(z < 0, 0, lax.igamma(a, jnp.where(z < 0, 1, z)))


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`)."""
    return jnp.log(cdf(x, a, loc, scale))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x: the upper incomplete gamma function."""
    z, _, a = standard(x, loc, scale, a)
    return jnp.where(z < 0, 1, lax.igammac(a, jnp.where(z < 0, 1, z)))


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`)."""
    return jnp.log(sf(x, a, loc, scale))
