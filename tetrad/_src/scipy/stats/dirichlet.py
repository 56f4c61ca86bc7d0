"""The Dirichlet distribution on the simplex."""

from __future__ import annotations

from typing import Any

from tetrad import lax, numpy
from tetrad._src.scipy.arguments import floats
from tetrad._src.scipy.special import xlogy

jnp: Any = numpy  # arrays have methods that their type does not state


def logpdf(x: Any, alpha: Any) -> Any:
    """Σᵢ (αᵢ − 1)·log xᵢ + log Γ(Σ αᵢ) − Σᵢ log Γ(αᵢ); −∞ where x is not on the simplex.

    >>> from tetrad.scipy.stats import dirichlet
    >>> dirichlet.logpdf(jnp.array([0.5, 0.5]), jnp.array([1.0, 1.0])).round(4)
    Array(0., dtype=float32)
    """
    x, alpha = jnp.asarray(x), jnp.asarray(alpha)
    if alpha.ndim != 1:
        raise ValueError(f"dirichlet: alpha must be a vector, got shape {alpha.shape}")
    n = alpha.shape[0]
    if x.ndim == 0 or x.shape[0] not in (n, n - 1):
        raise ValueError(
            f"dirichlet: the first axis of x must have {n} components, or {n - 1} (the"
            f" last is then 1 less their sum), as alpha does; got shape {x.shape}"
        )
    if x.shape[0] == n - 1:
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)])
    x, alpha = floats(x, alpha.reshape(n, *(1,) * (x.ndim - 1)))
    inside = jnp.all(x >= 0, 0) & (jnp.abs(jnp.sum(x, 0) - 1) < 1e-6)
    x = jnp.where(inside, x, 1 / n)
    size = lax.lgamma(jnp.sum(alpha, 0)) - jnp.sum(lax.lgamma(alpha), 0)
    return jnp.where(inside, size + jnp.sum(xlogy(alpha - 1, x), 0), -jnp.inf)


def pdf(x: Any, alpha: Any) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, alpha))
