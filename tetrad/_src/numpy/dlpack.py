"""Arrays of other libraries through DLPack, as `jax.dlpack` takes them."""

from __future__ import annotations

from typing import Any

from tetrad._src.core.bind import Value
from tetrad._src.numpy import hostio


def from_dlpack(x: Any, device: Any = None, copy: bool | None = None) -> Value:
    """A copy of the array of another library: `jnp.from_dlpack`.

    >>> import numpy as np, tetrad as jax
    >>> jax.dlpack.from_dlpack(np.arange(3.0, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    return hostio.from_dlpack(x, device=device, copy=copy)
