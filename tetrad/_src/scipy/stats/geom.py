"""The geometric distribution: the first success in trials of probability p."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import counted, where_valid
from tetrad._src.scipy.special import xlog1py

jnp: Any = numpy  # arrays have methods that their type does not state


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """(k − 1)·log(1 − p) + log p for whole k ≥ 1, else −∞.

    >>> from tetrad.scipy.stats import geom
    >>> geom.logpmf(1, 0.5).round(4)
    Array(-0.6931, dtype=float32)
    """
    valid, count, p = counted(k, loc, p)
    valid = valid & (count >= 1)
    value = xlog1py(jnp.where(valid, count - 1, 0), -p) + jnp.log(p)
    return where_valid(valid, k, value)


def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k: exp(`logpmf`)."""
    return jnp.exp(logpmf(k, p, loc))
