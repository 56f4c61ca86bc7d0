"""The χ² distribution of df degrees of freedom: gamma of shape df/2 and scale 2."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats
from tetrad._src.scipy.stats import gamma

jnp: Any = numpy  # arrays have methods that their type does not state


def _as_gamma(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    """The same distribution as arguments of `gamma`."""
    x, df, loc, scale = floats(x, df, loc, scale)
    return x, df / 2, loc, 2 * scale


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """(df/2 − 1)·log z − z/2 − log(2^(df/2)·Γ(df/2)·scale) for z = (x − loc)/scale ≥ 0.

    >>> from tetrad.scipy.stats import chi2
    >>> chi2.logpdf(0.0, 2.0).round(4)
    Array(-0.6931, dtype=float32)
    """
    return gamma.logpdf(*_as_gamma(x, df, loc, scale))


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return gamma.pdf(*_as_gamma(x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> from tetrad.scipy.stats import chi2
    >>> chi2.cdf(2.0, 2.0).round(4)
    Array(0.6321, dtype=float32)
    """
    return gamma.cdf(*_as_gamma(x, df, loc, scale))


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`cdf`)."""
    return gamma.logcdf(*_as_gamma(x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return gamma.sf(*_as_gamma(x, df, loc, scale))


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """log(`sf`)."""
    return gamma.logsf(*_as_gamma(x, df, loc, scale))
