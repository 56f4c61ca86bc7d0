"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats, standard

jnp: Any = numpy  # arrays have methods that their type does not state


def _quantile(q: Any) -> Any:
    """The standard distribution's x with cdf(x) = q."""
    x = jnp.tan(math.pi * (jnp.clip(q, 0, 1) - 0.5))
    x = jnp.where(q == 0, -jnp.inf, jnp.where(q == 1, jnp.inf, x))
    return jnp.where((q >= 0) & (q <= 1), x, jnp.nan)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """−log(π·scale·(1 + z²)), where z = (x − loc)/scale.

    >>> from tetrad.scipy.stats import cauchy
    >>> cauchy.logpdf(0.0).round(4)
    Array(-1.1447, dtype=float32)
    """
    z, scale = standard(x, loc, scale)
    return -math.log(math.pi) - jnp.log(scale) - jnp.log1p(z * z)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: the angle of (−z, 1) over π.

    >>> from tetrad.scipy.stats import cauchy
    >>> cauchy.cdf(0.0).round(4)
    Array(0.5, dtype=float32)
    """
    z, _ = standard(x, loc, scale)
    return jnp.arctan2(jnp.ones_like(z), -z) / math.pi


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`)."""
    return jnp.log(cdf(x, loc, scale))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    z, _ = standard(x, loc, scale)
    return jnp.arctan2(jnp.ones_like(z), z) / math.pi


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`)."""
    return jnp.log(sf(x, loc, scale))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with cdf(x) = q: loc + scale·tan(π(q − ½)); NaN where q is outside [0, 1].

    >>> from tetrad.scipy.stats import cauchy
    >>> cauchy.ppf(0.75).round(4)
    Array(1., dtype=float32)
    """
    q, loc, scale = floats(q, loc, scale)
    return loc + scale * _quantile(q)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with sf(x) = q; NaN where q is outside [0, 1]."""
    q, loc, scale = floats(q, loc, scale)
    return loc - scale * _quantile(q)
