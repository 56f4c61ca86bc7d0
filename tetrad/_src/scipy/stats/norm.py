"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats, standard
from tetrad._src.scipy.special import log_ndtr, ndtr, ndtri

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """−z²/2 − log(√(2π)·scale), where z = (x − loc)/scale.

    >>> from tetrad.scipy.stats import norm
    >>> norm.logpdf(0.0).round(4)
    Array(-0.9189, dtype=float32)
    """
    z, scale = standard(x, loc, scale)
    return -0.5 * z * z - 0.5 * math.log(2 * math.pi) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> from tetrad.scipy.stats import norm
    >>> norm.cdf(0.0)
    Array(0.5, dtype=float32)
    """
    return ndtr(standard(x, loc, scale)[0])


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`), accurate far on the left too."""
    return log_ndtr(standard(x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, without cancellation far on the right."""
    return ndtr(-standard(x, loc, scale)[0])


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`)."""
    return log_ndtr(-standard(x, loc, scale)[0])


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with cdf(x) = q; NaN where q is outside [0, 1].

    >>> from tetrad.scipy.stats import norm
    >>> norm.ppf(0.975).round(2)
    Array(1.96, dtype=float32)
    """
    q, loc, scale = floats(q, loc, scale)
    return loc + scale * ndtri(q)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with sf(x) = q; NaN where q is outside [0, 1]."""
    q, loc, scale = floats(q, loc, scale)
    return loc - scale * ndtri(q)
