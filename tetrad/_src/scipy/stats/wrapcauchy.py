"""The Cauchy distribution wrapped around the circle, on [0, 2π], 0 < c < 1."""

from __future__ import annotations

import math
from typing import Any

from tetrad import numpy
from tetrad._src.scipy.arguments import floats

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, c: Any) -> Any:
    """log((1 − c²)/(2π(1 + c² − 2c·cos x))) for 0 ≤ x ≤ 2π, else −∞; NaN unless 0 < c < 1.

    >>> from tetrad.scipy.stats import wrapcauchy
    >>> wrapcauchy.logpdf(0.0, 0.5).round(4)
    Array(-0.7393, dtype=float32)
    """
    x, c = floats(x, c)
    valid = (c > 0) & (c < 1)
    safe = jnp.where(valid, c, 0.5)
    # 1 + c² − 2c·cos x, as a sum of squares.
    size = jnp.square(1 - safe) + 4 * safe * jnp.square(jnp.sin(x / 2))
    value = jnp.log1p(-safe * safe) - math.log(2 * math.pi) - jnp.log(size)
    value = jnp.where((x < 0) | (x > 2 * math.pi), -jnp.inf, value)
    return jnp.where(valid, value, jnp.nan)


def pdf(x: Any, c: Any) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, c))
