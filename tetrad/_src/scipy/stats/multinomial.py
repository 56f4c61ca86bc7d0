"""The multinomial distribution: counts of n draws among the last axis."""

from __future__ import annotations

from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import floats
from tetrad._src.scipy.special import xlogy

jnp: Any = numpy  # arrays have methods that their type does not state


def logpmf(x: Any, n: Any, p: Any) -> Any:
    """log n! + Σᵢ (xᵢ·log pᵢ − log xᵢ!), −∞ where the counts do not add up to n.

    >>> from tetrad.scipy.stats import multinomial
    >>> multinomial.logpmf(jnp.array([1, 1]), 2, jnp.array([0.5, 0.5])).round(4)
    Array(-0.6931, dtype=float32)
    """
    x, p = floats(x, p)
    total = jnp.sum(x, -1)
    n, total = floats(n, total)
    valid = (total == n) & jnp.all((x >= 0) & (x == jnp.floor(x)), -1)
    x = jnp.where(valid[..., None], x, 0)
    value = lax.lgamma(n + 1) + jnp.sum(xlogy(x, p) - lax.lgamma(x + 1), -1)
    return jnp.where(valid, value, -jnp.inf)


def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of the counts x: exp(`logpmf`)."""
    return jnp.exp(logpmf(x, n, p))
