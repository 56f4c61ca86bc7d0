"""The uniform distribution on [loc, loc + scale]."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats, standard

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """−log(scale) on [loc, loc + scale], and −∞ outside.

    >>> from tetrad.scipy.stats import uniform
    >>> uniform.logpdf(0.5, 0.0, 2.0).round(4)
    Array(-0.6931, dtype=float32)
    """
    x, loc, scale = floats(x, loc, scale)
    inside = (x >= loc) & (x <= loc + scale)
    value = jnp.where(inside, -jnp.log(scale), -jnp.inf)
    return jnp.where(jnp.isnan(x), x, value)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> from tetrad.scipy.stats import uniform
    >>> uniform.cdf(0.5, 0.0, 2.0)
    Array(0.25, dtype=float32)
    """
    return jnp.clip(standard(x, loc, scale)[0], 0, 1)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with cdf(x) = q; NaN where q is outside [0, 1].

    >>> from tetrad.scipy.stats import uniform
    >>> uniform.ppf(0.25, 1.0, 2.0)
    Array(1.5, dtype=float32)
    """
    q, loc, scale = floats(q, loc, scale)
    return jnp.where((q >= 0) & (q <= 1), loc + scale * q, jnp.nan)
