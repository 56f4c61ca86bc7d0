"""The von Mises distribution of angles, concentrated about 0 by kappa."""

from __future__ import annotations

import math
from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import floats

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, kappa: Any) -> Any:
    """kappa·cos x − log(2π·I₀(kappa)).

    >>> from tetrad.scipy.stats import vonmises
    >>> vonmises.logpdf(0.0, 0.0).round(4)
    Array(-1.8379, dtype=float32)
    """
    x, kappa = floats(x, kappa)
    # 1 − cos x = 2·sin²(x/2) does not cancel near 0.
    distance = 2 * jnp.square(jnp.sin(x / 2))
    return -kappa * distance - math.log(2 * math.pi) - jnp.log(lax.bessel_i0e(kappa))


def pdf(x: Any, kappa: Any) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, kappa))
