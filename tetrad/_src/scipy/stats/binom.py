"""The binomial distribution: successes in n trials of probability p."""

from __future__ import annotations

from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import counted, where_valid
from tetrad._src.scipy.special import xlog1py, xlogy

jnp: Any = numpy  # arrays have methods that their type does not state


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """log(n!/(k!(n − k)!)) + k·log p + (n − k)·log(1 − p), −∞ where there is no such count.

    >>> from tetrad.scipy.stats import binom
    >>> binom.logpmf(1, 2, 0.5).round(4)
    Array(-0.6931, dtype=float32)
    """
    valid, count, n, p = counted(k, loc, n, p)
    valid = valid & (count <= n)
    count = jnp.where(valid, count, 0)
    ways = lax.lgamma(n + 1) - lax.lgamma(count + 1) - lax.lgamma(n - count + 1)
    value = ways + xlogy(count, p) + xlog1py(n - count, -p)
    return where_valid(valid, k, value)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k: exp(`logpmf`)."""
    return jnp.exp(logpmf(k, n, p, loc))
