"""The right-skewed Gumbel distribution, of maxima."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats, standard

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """−z − exp(−z) − log(scale), where z = (x − loc)/scale.

    >>> from tetrad.scipy.stats import gumbel_r
    >>> gumbel_r.logpdf(0.0)
    Array(-1., dtype=float32)
    """
    z, scale = standard(x, loc, scale)
    return -(z + jnp.exp(-z)) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: exp(−exp(−z)).

    >>> from tetrad.scipy.stats import gumbel_r
    >>> gumbel_r.cdf(0.0).round(4)
    Array(0.3679, dtype=float32)
    """
    return jnp.exp(logcdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`)."""
    return -jnp.exp(-standard(x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return -jnp.expm1(logcdf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`)."""
    return jnp.log(sf(x, loc, scale))


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with cdf(x) = p: loc − scale·log(−log p).

    >>> from tetrad.scipy.stats import gumbel_r
    >>> gumbel_r.ppf(0.5).round(4)
    Array(0.3665, dtype=float32)
    """
    p, loc, scale = floats(p, loc, scale)
    return loc - scale * jnp.log(-jnp.log(p))
