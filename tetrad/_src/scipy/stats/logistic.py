"""The logistic distribution."""

from __future__ import annotations

from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import floats, standard
from tetrad._src.scipy.special import logit

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """−|z| − 2·log(1 + exp(−|z|)) − log(scale), where z = (x − loc)/scale.

    >>> from tetrad.scipy.stats import logistic
    >>> logistic.logpdf(0.0).round(4)
    Array(-1.3863, dtype=float32)
    """
    z, scale = standard(x, loc, scale)
    size = jnp.abs(z)
    return -size - 2 * jnp.log1p(jnp.exp(-size)) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: 1/(1 + exp(−z)).

    >>> from tetrad.scipy.stats import logistic
    >>> logistic.cdf(0.0)
    Array(0.5, dtype=float32)
    """
    return lax.logistic(standard(x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x."""
    return lax.logistic(-standard(x, loc, scale)[0])


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with cdf(x) = q: loc + scale·log(q/(1 − q)).

    >>> from tetrad.scipy.stats import logistic
    >>> logistic.ppf(0.5)
    Array(0., dtype=float32)
    """
    q, loc, scale = floats(q, loc, scale)
    return loc + scale * logit(q)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The x with sf(x) = q."""
    q, loc, scale = floats(q, loc, scale)
    return loc - scale * logit(q)
