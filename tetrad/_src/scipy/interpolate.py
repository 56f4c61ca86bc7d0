"""Values between the points of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from tetrad import numpy

jnp: Any = numpy  # arrays have methods that their type does not state

_METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """A function that goes through values on a grid of any spacing.

    Args:
      points: the increasing coordinates of each axis.
      values: the values on the grid; further axes at the end belong to each value.
      method: 'linear' or 'nearest'.
      bounds_error: not supported; programs cannot raise on values.
      fill_value: what stands beyond the grid; None continues from its edge.

    >>> from tetrad.scipy.interpolate import RegularGridInterpolator
    >>> f = RegularGridInterpolator((jnp.array([0., 2.]),), jnp.array([1., 5.]))
    >>> f(jnp.array([[0.5], [1.0]]))
    Array([2., 3.], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = jnp.nan,
    ) -> None:
        self.method = _known(method)
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator: bounds_error=True is not supported, as compiled"
                " programs cannot raise on values; look for NaN in the result instead"
            )
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        self.values = jnp.asarray(values)
        if not jnp.issubdtype(self.values.dtype, jnp.inexact):
            self.values = self.values.astype(jnp.result_type(float))
        if not isinstance(points, Iterable):
            raise TypeError(
                "RegularGridInterpolator: points must be a tuple with one vector for each"
                f" axis of the grid, got {points!r}"
            )
        self.grid = tuple(jnp.asarray(p) for p in points)
        if len(self.grid) > self.values.ndim:
            raise ValueError(
                f"RegularGridInterpolator: there are {len(self.grid)} axes of points, but"
                f" values have only {self.values.ndim}"
            )
        for axis, p in enumerate(self.grid):
            n = self.values.shape[axis]
            if p.shape != (n,) or n < 2:
                raise ValueError(
                    f"RegularGridInterpolator: axis {axis} of values has size {n}, and"
                    f" needs a vector of as many points, 2 or more; got {p.shape}"
                )

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at places: coordinates in the last axis, or a tuple of arrays."""
        method = self.method if method is None else _known(method)
        rank = len(self.grid)
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*xi), -1)
        xi = jnp.asarray(xi)
        if xi.ndim == 1 and rank == 1:
            xi = xi[:, None]
        if xi.ndim == 0 or xi.shape[-1] != rank:
            raise ValueError(
                f"RegularGridInterpolator: the last axis of places must have size {rank},"
                f" one for each axis of the grid; got shape {xi.shape}"
            )
        corners, outside = [], jnp.zeros(xi.shape[:-1], bool)
        for axis, points in enumerate(self.grid):
            x = xi[..., axis]
            i = jnp.clip(
                jnp.searchsorted(points, x, side="right") - 1, 0, points.size - 2
            )
            part = (x - points[i]) / (points[i + 1] - points[i])
            outside = outside | (x < points[0]) | (x > points[-1])
            if method == "nearest":
                corners.append([(jnp.where(part <= 0.5, i, i + 1), 1)])
            else:
                corners.append([(i, 1 - part), (i + 1, part)])
        result = self._sum(corners)
        if self.fill_value is None:
            return result
        tail = (1,) * (self.values.ndim - rank)
        outside = outside.reshape(*outside.shape, *tail)
        return jnp.where(outside, self.fill_value, result)

    def _sum(self, corners: Sequence[Sequence[tuple[Any, Any]]]) -> Any:
        tail = (1,) * (self.values.ndim - len(self.grid))
        total: Any = 0
        for corner in itertools.product(*corners):
            weight: Any = 1
            for _, w in corner:
                weight = weight * w
            value = self.values[tuple(i for i, _ in corner)]
            if not isinstance(weight, int):
                weight = weight.reshape(*weight.shape, *tail).astype(value.dtype)
            total = total + value * weight
        return total


def _known(method: str) -> str:
    if method not in _METHODS:
        raise ValueError(
            "RegularGridInterpolator: method must be 'linear' or 'nearest', got"
            f" {method!r}"
        )
    return method
