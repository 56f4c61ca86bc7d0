"""Points and the nearest of given centres."""

from __future__ import annotations

from typing import Any

from tetrad import numpy
from tetrad._src.numpy.promote import promote_floats

jnp: Any = numpy  # arrays have methods that their type does not state


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """(codes, distances): which row of a code book is nearest to each observation.

    Args:
      obs: observations, a row each; or a vector of numbers.
      code_book: centres, a row each; or a vector of numbers.
      check_finite: accepted as in SciPy; nothing is checked.

    >>> from tetrad.scipy.cluster.vq import vq
    >>> vq(jnp.array([0., 9.]), jnp.array([1., 7.]))
    (Array([0, 1], dtype=int32), Array([1., 2.], dtype=float32))
    """
    obs, code_book = map(
        jnp.asarray, promote_floats("vq", *map(jnp.asarray, (obs, code_book)))
    )
    if obs.ndim != code_book.ndim or obs.ndim not in (1, 2):
        raise ValueError(
            "vq: observations and code book must be both matrices or both vectors, got"
            f" shapes {obs.shape} and {code_book.shape}"
        )
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    if obs.shape[1] != code_book.shape[1]:
        raise ValueError(
            "vq: observations and code book must have as many columns, got shapes"
            f" {obs.shape} and {code_book.shape}"
        )
    squares = jnp.sum(jnp.square(obs[:, None] - code_book[None]), -1)
    return jnp.argmin(squares, 1), jnp.sqrt(jnp.min(squares, 1))
