"""Arrays read at places between their elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tetrad import numpy

jnp: Any = numpy  # arrays have methods that their type does not state


def _mirror(i: Any, n: int) -> Any:
    """abcd → abcd cba bcd …: the edge is not repeated."""
    period = max(2 * n - 2, 1)
    i = jnp.abs(i) % period
    return jnp.where(i >= n, period - i, i)


def _reflect(i: Any, n: int) -> Any:
    """abcd → abcd dcba abcd …: the edge is repeated."""
    i = i % (2 * n)
    return jnp.where(i >= n, 2 * n - 1 - i, i)


_INSIDE: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda i, n: jnp.clip(i, 0, n - 1),
    "nearest": lambda i, n: jnp.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n,
    "mirror": _mirror,
    "reflect": _reflect,
}


def map_coordinates(
    input: Any,
    coordinates: Sequence[Any],
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Any:
    """The values of an array at coordinates between its elements.

    Args:
      input: the array.
      coordinates: a coordinate array for each axis; they broadcast to the result's shape.
      order: 0, the nearest element, or 1, linear between neighbours.
      mode: what stands beyond the edges: 'constant' (`cval`), 'nearest' (the element at
        the edge), 'wrap' (the array again), 'mirror' or 'reflect' (the array backwards,
        without and with the edge again).
      cval: the value for 'constant'.

    The result has the dtype of `input`; integers are rounded.

    >>> from tetrad.scipy import ndimage
    >>> ndimage.map_coordinates(jnp.array([0., 10.]), [jnp.array([0.25, 0.5])], order=1)
    Array([2.5, 5. ], dtype=float32)
    """
    input = jnp.asarray(input)
    places = [jnp.asarray(c) for c in coordinates]
    if len(places) != input.ndim:
        raise ValueError(
            "map_coordinates: there must be coordinates for each of the"
            f" {input.ndim} axes of input, got {len(places)}"
        )
    if mode not in _INSIDE:
        raise NotImplementedError(
            f"map_coordinates: mode must be one of {', '.join(_INSIDE)}, got {mode!r}"
        )
    if order not in (0, 1):
        raise NotImplementedError(
            f"map_coordinates: order must be 0 or 1, got {order}; splines are not"
            " supported"
        )
    around = _nearest if order == 0 else _neighbours
    corners = [around(place) for place in places]
    total: Any = 0
    for corner in itertools.product(*corners):
        index, weight, outside = [], None, None
        for (i, w), n in zip(corner, input.shape, strict=True):
            index.append(_INSIDE[mode](i, n))
            weight = w if weight is None else weight * w
            beyond = (i < 0) | (i >= n)
            outside = beyond if outside is None else outside | beyond
        value = input[tuple(index)]
        if mode == "constant" and outside is not None:
            value = jnp.where(outside, jnp.asarray(cval, input.dtype), value)
        total = total + (value if weight is None else value * weight)
    if jnp.issubdtype(input.dtype, jnp.integer):
        total = jnp.round(total)
    return total.astype(input.dtype)


def _nearest(place: Any) -> list[tuple[Any, Any]]:
    if jnp.issubdtype(place.dtype, jnp.integer):
        return [(place.astype(jnp.int32), jnp.ones((), place.dtype))]
    return [(jnp.floor(place + 0.5).astype(jnp.int32), jnp.ones((), place.dtype))]


def _neighbours(place: Any) -> list[tuple[Any, Any]]:
    if jnp.issubdtype(place.dtype, jnp.integer):
        return _nearest(place)
    below = jnp.floor(place)
    part = place - below
    i = below.astype(jnp.int32)
    return [(i, 1 - part), (i + 1, part)]
