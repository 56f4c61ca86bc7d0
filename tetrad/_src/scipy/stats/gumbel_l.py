"""The left-skewed Gumbel distribution, of minima."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats, standard

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """z − exp(z) − log(scale), where z = (x − loc)/scale.

    >>> from tetrad.scipy.stats import gumbel_l
    >>> gumbel_l.logpdf(0.0)
    Array(-1., dtype=float32)
    """
    z, scale = standard(x, loc, scale)
    return z - jnp.exp(z) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: 1 − exp(−exp(z)).

    >>> from tetrad.scipy.stats import gumbel_l
    >>> gumbel_l.cdf(0.0).round(4)
    Array(0.6321, dtype=float32)
    """
    return -jnp.expm1(logsf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`)."""
    return jnp.log(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return jnp.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`): −exp(z)."""
    return -jnp.exp(standard(x, loc, scale)[0])


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with cdf(x) = p: loc + scale·log(−log(1 − p)).

    >>> from tetrad.scipy.stats import gumbel_l
    >>> gumbel_l.ppf(0.5).round(4)
    Array(-0.3665, dtype=float32)
    """
    p, loc, scale = floats(p, loc, scale)
    return loc + scale * jnp.log(-jnp.log1p(-p))
