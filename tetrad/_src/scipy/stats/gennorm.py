"""The generalised normal distribution of shape beta: 2 is normal, 1 is Laplace."""

from __future__ import annotations

from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import floats

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, beta: Any) -> Any:
    """log(beta/2) − log Γ(1/beta) − |x|^beta.

    >>> from tetrad.scipy.stats import gennorm
    >>> gennorm.logpdf(0.0, 1.0).round(4)
    Array(-0.6931, dtype=float32)
    """
    x, beta = floats(x, beta)
    return jnp.log(beta / 2) - lax.lgamma(1 / beta) - jnp.abs(x) ** beta


def pdf(x: Any, beta: Any) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, beta))


def cdf(x: Any, beta: Any) -> Any:
    """The probability of values up to x, from the incomplete gamma function of |x|^beta.

    >>> from tetrad.scipy.stats import gennorm
    >>> gennorm.cdf(0.0, 1.0)
    Array(0.5, dtype=float32)
    """
    x, beta = floats(x, beta)
    tail = 0.5 * lax.igammac(1 / beta, jnp.abs(x) ** beta)
    return jnp.where(x < 0, tail, 1 - tail)
