"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

from tetrad import lax, numpy
from tetrad._src.numpy.promote import promote_floats
from tetrad._src.scipy.arguments import apart

jnp: Any = numpy  # arrays have methods that their type does not state


@apart
def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """−½·(x − mean)ᵀ·cov⁻¹·(x − mean) − ½·log det(2π·cov).

    Args:
      x: points, in the last axis.
      mean: the mean: a scalar, or components in the last axis.
      cov: the covariance: a matrix in the last two axes, or a scalar, the variance of
        each component alone. With a scalar mean it is the variance of each x.
      allow_singular: not supported; covariances must be positive definite.

    Leading axes broadcast. Raises ValueError if the sizes do not fit.

    >>> from tetrad.scipy.stats import multivariate_normal
    >>> multivariate_normal.logpdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2)).round(4)
    Array(-1.8379, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError(
            "multivariate_normal.logpdf: allow_singular is not supported; add a small"
            " multiple of the identity to a singular covariance instead"
        )
    arrays = promote_floats("multivariate_normal.logpdf", x, mean, cov)
    x, mean, cov = map(jnp.asarray, arrays)
    if mean.ndim == 0:
        return _scalar(x - mean, cov)
    if x.ndim == 0 or x.shape[-1] != mean.shape[-1]:
        raise ValueError(
            "multivariate_normal.logpdf: the last axes of x and mean must have the same"
            f" size, got shapes {x.shape} and {mean.shape}"
        )
    n = mean.shape[-1]
    if cov.ndim == 0:
        return jnp.sum(_scalar(x - mean, cov), -1)
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal.logpdf: cov must be a scalar or end in ({n}, {n}), as"
            f" mean has {n} components; got shape {cov.shape}"
        )
    return _matrix(x - mean, cov)


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density: exp(`logpdf`)."""
    return jnp.exp(logpdf(x, mean, cov))


def _scalar(difference: Any, variance: Any) -> Any:
    size = math.log(2 * math.pi) + jnp.log(variance)
    return -0.5 * (jnp.square(difference) / variance + size)


def _matrix(difference: Any, cov: Any) -> Any:
    n = cov.shape[-1]
    factor = jnp.linalg.cholesky(cov)
    if cov.ndim == 2:  # one factor for all points: one solve of many columns
        columns = difference.reshape(-1, n).T
        white = lax.linalg.triangular_solve(factor, columns, left_side=True, lower=True)
        squares = jnp.sum(white * white, 0).reshape(difference.shape[:-1])
    else:
        batch = jnp.broadcast_shapes(difference.shape[:-1], cov.shape[:-2])
        columns = jnp.broadcast_to(difference, (*batch, n))[..., None]
        factors = jnp.broadcast_to(factor, (*batch, n, n))
        white = lax.linalg.triangular_solve(
            factors, columns, left_side=True, lower=True
        )
        squares = jnp.sum(white * white, (-2, -1))
    diagonal = jnp.diagonal(factor, axis1=-2, axis2=-1)
    size = 0.5 * n * math.log(2 * math.pi) + jnp.sum(jnp.log(diagonal), -1)
    return -0.5 * squares - size
