"""Student's t distribution of df degrees of freedom."""

from __future__ import annotations

import math
from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import standard

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """−(df + 1)/2·log(1 + z²/df) − log(√(df·π)·scale) + log Γ((df + 1)/2) − log Γ(df/2).

    >>> from tetrad.scipy.stats import t
    >>> t.logpdf(0.0, 1.0).round(4)
    Array(-1.1447, dtype=float32)
    """
    z, scale, df = standard(x, loc, scale, df)
    half = (df + 1) / 2
    size = lax.lgamma(half) - lax.lgamma(df / 2) - 0.5 * jnp.log(df * math.pi)
    return size - jnp.log(scale) - half * jnp.log1p(z * z / df)


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, df, loc, scale))
