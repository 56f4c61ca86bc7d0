"""The Bernoulli distribution: 1 with probability p, else 0."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import counted, floats, where_valid
from tetrad._src.scipy.special import xlog1py, xlogy

jnp: Any = numpy  # arrays have methods that their type does not state


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """log p where k − loc is 1, log(1 − p) where it is 0, else −∞.

    >>> from tetrad.scipy.stats import bernoulli
    >>> bernoulli.logpmf(1, 0.5).round(4)
    Array(-0.6931, dtype=float32)
    """
    valid, count, p = counted(k, loc, p)
    value = xlogy(count, p) + xlog1py(1 - count, -p)
    return where_valid(valid & (count <= 1), k, value)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k: exp(`logpmf`)."""
    return jnp.exp(logpmf(k, p, loc))


def cdf(k: Any, p: Any) -> Any:
    """The probability of values up to k; NaN where p is no probability.

    >>> from tetrad.scipy.stats import bernoulli
    >>> bernoulli.cdf(0, 0.25)
    Array(0.75, dtype=float32)
    """
    k, p = floats(k, p)
    value = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where((p >= 0) & (p <= 1) & ~jnp.isnan(k), value, jnp.nan)


def ppf(q: Any, p: Any) -> Any:
    """The least k with cdf(k) ≥ q, −1 for q = 0; NaN where q or p is no probability.

    >>> from tetrad.scipy.stats import bernoulli
    >>> bernoulli.ppf(0.5, 0.75)
    Array(1., dtype=float32)
    """
    q, p = floats(q, p)
    value = jnp.where(q == 0, -1, jnp.where(q <= 1 - p, 0, 1)).astype(q.dtype)
    valid = (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1)
    return jnp.where(valid, value, jnp.nan)
