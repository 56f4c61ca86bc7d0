"""Functions that run on several devices at once, of which there are none yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def pmap(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> NoReturn:
    """Would run `fun` on slices of its arguments, one on each device.

    Raises:
      NotImplementedError: always; `vmap` computes the same on one device.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.arange(4.0))
    Array([0.        , 0.16666667, 0.33333334, 0.5       ], dtype=float32)
    """
    raise NotImplementedError(
        "jax.pmap spreads a function over several devices, which tetrad does not do;"
        " jax.vmap with the same in_axes, out_axes and axis_name gives the same result"
        " on one device"
    )
