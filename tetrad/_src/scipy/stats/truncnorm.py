"""The standard normal distribution cut to [a, b], then scaled and moved."""

from __future__ import annotations

import math
from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import standard
from tetrad._src.scipy.special import log_ndtr, ndtr

jnp: Any = numpy  # arrays have methods that their type does not state


def _log_mass(a: Any, b: Any) -> Any:
    """log of the normal probability of [a, b], −∞ where it is empty."""
    # An interval on the right is reflected: both ends then have accurate logarithms.
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    empty = low >= high
    low, high = jnp.where(empty, -1, low), jnp.where(empty, 0, high)
    across = high > 0
    top, bottom = log_ndtr(jnp.minimum(high, 0)), log_ndtr(low)
    tail = top + jnp.log(-jnp.expm1(bottom - top))
    outside = jnp.where(across, ndtr(low) + ndtr(-jnp.maximum(high, 0)), 0)
    mass = jnp.where(across, jnp.log1p(-outside), jnp.where(across, 0, tail))
    return jnp.where(empty, -jnp.inf, mass)


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The normal log-density less the log of the mass of [a, b], −∞ outside of it.

    >>> from tetrad.scipy.stats import truncnorm
    >>> truncnorm.logpdf(0.0, -1.0, 1.0).round(4)
    Array(-0.5372, dtype=float32)
    """
    z, scale, a, b = standard(x, loc, scale, a, b)
    value = -0.5 * z * z - 0.5 * math.log(2 * math.pi) - jnp.log(scale)
    value = value - _log_mass(a, b)
    value = jnp.where((z < a) | (z > b), -jnp.inf, value)
    return jnp.where(a < b, value, jnp.nan)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`): the log of the mass of [a, z] less that of [a, b]."""
    z, _, a, b = standard(x, loc, scale, a, b)
    value = _log_mass(a, jnp.clip(z, a, b)) - _log_mass(a, b)
    return jnp.where(a < b, jnp.where(z >= b, 0, value), jnp.nan)


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> from tetrad.scipy.stats import truncnorm
    >>> truncnorm.cdf(0.0, -1.0, 1.0).round(4)
    Array(0.5, dtype=float32)
    """
    return jnp.exp(logcdf(x, a, b, loc, scale))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`): the log of the mass of [z, b] less that of [a, b]."""
    z, _, a, b = standard(x, loc, scale, a, b)
    value = _log_mass(jnp.clip(z, a, b), b) - _log_mass(a, b)
    return jnp.where(a < b, jnp.where(z <= a, 0, value), jnp.nan)


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return jnp.exp(logsf(x, a, b, loc, scale))
