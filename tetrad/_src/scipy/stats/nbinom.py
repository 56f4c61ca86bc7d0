"""The negative binomial distribution: failures before the n-th success."""

from __future__ import annotations

from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import counted, where_valid
from tetrad._src.scipy.special import xlog1py, xlogy

jnp: Any = numpy  # arrays have methods that their type does not state


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """log(Γ(k + n)/(k!·Γ(n))) + n·log p + k·log(1 − p) for whole k ≥ 0, else −∞.

    >>> from tetrad.scipy.stats import nbinom
    >>> nbinom.logpmf(0, 1, 0.5).round(4)
    Array(-0.6931, dtype=float32)
    """
    valid, count, n, p = counted(k, loc, n, p)
    ways = lax.lgamma(count + n) - lax.lgamma(n) - lax.lgamma(count + 1)
    value = ways + xlogy(n, p) + xlog1py(count, -p)
    return where_valid(valid, k, value)


def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k: exp(`logpmf`)."""
    return jnp.exp(logpmf(k, n, p, loc))
