"""Densities estimated from samples: a normal distribution about each of them.

The covariance of all is that of the samples, times the square of a factor, the
bandwidth. With A its inverse and L its Cholesky factor, distances are taken between
points that L⁻¹ has made round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tetrad import lax, nn, numpy, random
from tetrad._src.numpy.promote import promote_floats
from tetrad._src.scipy.arguments import apart
from tetrad._src.scipy.special import ndtr
from tetrad.tree_util import register_pytree_node_class

jnp: Any = numpy  # arrays have methods that their type does not state

Bandwidth = str | float | Callable[[Any], Any] | None


@register_pytree_node_class
class gaussian_kde:  # SciPy's name
    """The density estimate of samples with normal kernels; a pytree, immutable.

    Args:
      dataset: samples: a vector, or a matrix with a column for each.
      bw_method: 'scott' (n^(−1/(d + 4)), the default), 'silverman'
        ((n·(d + 2)/4)^(−1/(d + 4))), a number, or a function of the object.
      weights: a vector with the weight of each sample; n is then (Σw)²/Σw².

    >>> from tetrad.scipy.stats import gaussian_kde
    >>> gaussian_kde(jnp.array([-1., 0., 1.]))(0.0).round(4)
    Array([0.3182], dtype=float32)
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    __slots__ = ("covariance", "dataset", "inv_cov", "neff", "weights")

    def __init__(
        self, dataset: Any, bw_method: Bandwidth = None, weights: Any = None
    ) -> None:
        dataset = jnp.atleast_2d(dataset)
        if jnp.issubdtype(dataset.dtype, jnp.complexfloating):
            raise NotImplementedError("gaussian_kde: complex samples are not supported")
        if dataset.ndim != 2:
            raise ValueError(
                "gaussian_kde: dataset must be a vector or a matrix, got shape"
                f" {dataset.shape}"
            )
        if dataset.size <= 1:
            raise ValueError("gaussian_kde: dataset must have more than one element")
        d, n = dataset.shape
        if weights is None:
            (dataset,) = promote_floats("gaussian_kde", dataset)
            weights = jnp.full(n, 1 / n, dataset.dtype)
        else:
            weights = jnp.asarray(weights)
            dataset, weights = promote_floats("gaussian_kde", dataset, weights)
            if weights.shape != (n,):
                raise ValueError(
                    f"gaussian_kde: weights must be a vector of length {n}, one for"
                    f" each sample, got shape {weights.shape}"
                )
            weights = weights / jnp.sum(weights)
        neff = 1 / jnp.sum(weights**2)
        self._set(neff=neff, dataset=dataset, weights=weights)
        factor = self._factor(bw_method)
        centred = dataset - jnp.sum(dataset * weights[None], 1, keepdims=True)
        spread = (centred * weights[None]) @ centred.T / (1 - jnp.sum(weights**2))
        covariance = spread * factor**2
        self._set(covariance=covariance, inv_cov=jnp.linalg.inv(covariance))

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("gaussian_kde is immutable; make a new one")

    def _factor(self, method: Bandwidth) -> Any:
        d = self.d
        if method is None or (isinstance(method, str) and method == "scott"):
            return self.neff ** (-1 / (d + 4))
        if isinstance(method, str) and method == "silverman":
            return (self.neff * (d + 2) / 4) ** (-1 / (d + 4))
        if callable(method):
            return method(self)
        if not isinstance(method, str) and jnp.ndim(method) == 0:
            return method
        raise ValueError(
            "gaussian_kde: bw_method must be 'scott', 'silverman', a number or a"
            f" function, got {method!r}"
        )

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The arrays, and no static part."""
        return (
            self.neff,
            self.dataset,
            self.weights,
            self.covariance,
            self.inv_cov,
        ), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: Sequence[Any]) -> gaussian_kde:
        """The object of these arrays."""
        del aux
        made = object.__new__(cls)
        names = ("neff", "dataset", "weights", "covariance", "inv_cov")
        made._set(**dict(zip(names, children, strict=True)))
        return made

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(self.dataset.shape[1])

    @apart
    def evaluate(self, points: Any) -> Any:
        """The density at points: a vector, or a matrix with a column for each."""
        return jnp.exp(self.logpdf(points))

    def __call__(self, points: Any) -> Any:
        """The density at points, as `evaluate`."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """The density at points, as `evaluate`."""
        return self.evaluate(x)

    @apart
    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points."""
        points = self._points(x)
        terms = _log_normal(points, self.dataset, self.covariance)
        return nn.logsumexp(terms, axis=1, b=self.weights)

    @apart
    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times that of a normal distribution."""
        mean = jnp.atleast_1d(jnp.squeeze(mean))
        cov = jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(
                f"integrate_gaussian: mean must have shape ({self.d},), got"
                f" {mean.shape}"
            )
        if cov.shape != (self.d, self.d):
            raise ValueError(
                f"integrate_gaussian: cov must have shape ({self.d}, {self.d}), got"
                f" {cov.shape}"
            )
        terms = _log_normal(mean[:, None], self.dataset, self.covariance + cov)
        return jnp.exp(nn.logsumexp(terms[0], b=self.weights))

    @apart
    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of [low, high], for samples of one dimension."""
        if self.d != 1:
            raise ValueError(
                f"integrate_box_1d: the samples have {self.d} dimensions, not one"
            )
        if jnp.ndim(low) != 0 or jnp.ndim(high) != 0:
            raise ValueError("integrate_box_1d: low and high must be scalars")
        deviation = jnp.sqrt(self.covariance[0, 0])
        low = ndtr((low - self.dataset[0]) / deviation)
        high = ndtr((high - self.dataset[0]) / deviation)
        return jnp.sum(self.weights * (high - low))

    @apart
    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product of two estimates."""
        if other.d != self.d:
            raise ValueError(
                f"integrate_kde: the estimates have {self.d} and {other.d} dimensions"
            )
        both = self.covariance + other.covariance
        terms = jnp.exp(_log_normal(self.dataset, other.dataset, both))
        return self.weights @ terms @ other.weights

    def resample(self, key: Any, shape: Sequence[int] = ()) -> Any:
        """Draws of the estimate, of shape (d, *shape)."""
        shape = tuple(shape)
        which, noise = random.split(key)
        picked = random.choice(which, self.n, shape, p=self.weights)
        zero = jnp.zeros(self.d, self.covariance.dtype)
        moves = random.multivariate_normal(
            noise, zero, self.covariance, shape, self.dataset.dtype
        )
        return self.dataset[:, picked] + jnp.moveaxis(moves, -1, 0)

    def integrate_box(
        self, low_bounds: Any, high_bounds: Any, maxpts: Any = None
    ) -> Any:
        """Not supported in more than one dimension; see `integrate_box_1d`."""
        raise NotImplementedError(
            "gaussian_kde.integrate_box is not supported; use integrate_box_1d for"
            " samples of one dimension, or the mean over draws of resample()"
        )

    def set_bandwidth(self, bw_method: Bandwidth = None) -> None:
        """Not supported: the object is immutable."""
        raise NotImplementedError(
            "gaussian_kde.set_bandwidth: the object is immutable; make a new one with"
            " bw_method="
        )

    def _points(self, points: Any) -> Any:
        points = jnp.atleast_2d(points)
        if points.ndim != 2:
            raise ValueError(
                f"gaussian_kde: points must be a vector or a matrix, got {points.shape}"
            )
        d, m = points.shape
        if d == self.d:
            return points
        if d == 1 and m == self.d:
            return points.T
        raise ValueError(
            f"gaussian_kde: points must have {self.d} rows, one for each dimension of"
            f" the samples, got shape {points.shape}"
        )


def _log_normal(points: Any, centres: Any, covariance: Any) -> Any:
    """Log-densities of points (rows of the result) about centres (columns)."""
    d = covariance.shape[0]
    factor = jnp.linalg.cholesky(covariance)
    x = lax.linalg.triangular_solve(
        factor, points.astype(factor.dtype), left_side=True, lower=True
    )
    y = lax.linalg.triangular_solve(factor, centres, left_side=True, lower=True)
    squares = jnp.sum(jnp.square(x[:, :, None] - y[:, None, :]), 0)
    size = 0.5 * d * math.log(2 * math.pi) + jnp.sum(jnp.log(jnp.diagonal(factor)))
    return -0.5 * squares - size
