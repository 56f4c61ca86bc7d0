"""The Poisson distribution of mean mu."""

from __future__ import annotations

import math
from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import counted, floats, where_valid
from tetrad._src.scipy.special import entr, xlogy

jnp: Any = numpy  # arrays have methods that their type does not state


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """k·log mu − mu − log k! for whole k ≥ 0, else −∞.

    >>> from tetrad.scipy.stats import poisson
    >>> poisson.logpmf(0, 2.0)
    Array(-2., dtype=float32)
    """
    valid, count, mu = counted(k, loc, mu)
    value = xlogy(count, mu) - lax.lgamma(count + 1) - mu
    return where_valid(valid, k, value)


def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of k: exp(`logpmf`)."""
    return jnp.exp(logpmf(k, mu, loc))


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of values up to k: the upper incomplete gamma function.

    >>> from tetrad.scipy.stats import poisson
    >>> poisson.cdf(0, 2.0).round(4)
    Array(0.1353, dtype=float32)
    """
    k, loc, mu = floats(k, loc, mu)
    k = k - loc
    value = lax.igammac(jnp.maximum(jnp.floor(k), 0) + 1, mu)
    return jnp.where(k < 0, 0, value)


def entropy(mu: Any, loc: Any = 0) -> Any:
    """−Σₖ pmf(k)·log pmf(k).

    >>> from tetrad.scipy.stats import poisson
    >>> poisson.entropy(1.0).round(4)
    Array(1.3048, dtype=float32)
    """
    mu, _ = floats(mu, loc)
    large = mu > 100
    # Up to mean 100 all probabilities that matter are among the first 300.
    small = jnp.where(large, 1, mu)
    counts = jnp.arange(300, dtype=mu.dtype)
    total = jnp.sum(entr(pmf(counts, small[..., None])), -1)
    x = 1 / jnp.where(large, mu, 100)
    series = x * (1 / 12 + x * (1 / 24 + x * (19 / 360 + x * 3 / 40)))
    normal = 0.5 * math.log(2 * math.pi * math.e) - 0.5 * jnp.log(x) - series
    return jnp.where(mu < 0, jnp.nan, jnp.where(large, normal, total))
