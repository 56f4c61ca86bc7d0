"""The Pareto distribution of shape b."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats, standard

jnp: Any = numpy  # arrays have methods that their type does not state


def _log(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    """(log z, whether z = (x − loc)/scale is below 1, scale, b); log z is 0 there."""
    z, scale, b = standard(x, loc, scale, b)
    below = z < 1
    return jnp.log(jnp.where(below, 1, z)), below, scale, b


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(b/scale) − (b + 1)·log z for z = (x − loc)/scale ≥ 1, else −∞.

    >>> from tetrad.scipy.stats import pareto
    >>> pareto.logpdf(1.0, 2.0).round(4)
    Array(0.6931, dtype=float32)
    """
    log, below, scale, b = _log(x, b, loc, scale)
    value = jnp.log(b) - jnp.log(scale) - (b + 1) * log
    return jnp.where(below, -jnp.inf, value)


def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, b, loc, scale))


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: 1 − z^(−b).

    >>> from tetrad.scipy.stats import pareto
    >>> pareto.cdf(2.0, 1.0).round(4)
    Array(0.5, dtype=float32)
    """
    log, _, _, b = _log(x, b, loc, scale)
    return -jnp.expm1(-b * log)


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`)."""
    log, _, _, b = _log(x, b, loc, scale)
    none = log == 0
    value = jnp.log(-jnp.expm1(-b * jnp.where(none, 1, log)))
    return jnp.where(none, -jnp.inf, value)


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x: z^(−b)."""
    return jnp.exp(logsf(x, b, loc, scale))


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`): −b·log z."""
    log, _, _, b = _log(x, b, loc, scale)
    return -b * log


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with cdf(x) = q: loc + scale·(1 − q)^(−1/b); NaN where q is outside [0, 1].

    >>> from tetrad.scipy.stats import pareto
    >>> pareto.ppf(0.5, 1.0).round(4)
    Array(2., dtype=float32)
    """
    q, b, loc, scale = floats(q, b, loc, scale)
    value = loc + scale * jnp.exp(-jnp.log1p(-q) / b)
    return jnp.where((q >= 0) & (q <= 1), value, jnp.nan)
