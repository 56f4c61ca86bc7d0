"""The binomial distribution whose probability is drawn from a beta distribution."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import counted, where_valid
from tetrad._src.scipy.special import betaln

jnp: Any = numpy  # arrays have methods that their type does not state


def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """log(B(k + a, n − k + b)/((n + 1)·B(n − k + 1, k + 1)·B(a, b))) for whole 0 ≤ k ≤ n.

    >>> from tetrad.scipy.stats import betabinom
    >>> betabinom.logpmf(1, 1, 2.0, 2.0).round(4)
    Array(-0.6931, dtype=float32)
    """
    valid, count, n, a, b = counted(k, loc, n, a, b)
    valid = valid & (count <= n)
    count = jnp.where(valid, count, 0)
    ways = -jnp.log(n + 1) - betaln(n - count + 1, count + 1)
    value = ways + betaln(count + a, n - count + b) - betaln(a, b)
    return where_valid(valid, k, value)


def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability of k: exp(`logpmf`)."""
    return jnp.exp(logpmf(k, n, a, b, loc))
