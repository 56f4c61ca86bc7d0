"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import standard

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """−|z| − log(2·scale), where z = (x − loc)/scale.

    >>> from tetrad.scipy.stats import laplace
    >>> laplace.logpdf(0.0).round(4)
    Array(-0.6931, dtype=float32)
    """
    z, scale = standard(x, loc, scale)
    return -jnp.abs(z) - math.log(2) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x: exp(z)/2 for z < 0, else 1 − exp(−z)/2.

    >>> from tetrad.scipy.stats import laplace
    >>> laplace.cdf(0.0)
    Array(0.5, dtype=float32)
    """
    z, _ = standard(x, loc, scale)
    tail = 0.5 * jnp.exp(-jnp.abs(z))
    return jnp.where(z < 0, tail, 1 - tail)
