"""Arrays of other libraries through DLPack, as `jax.dlpack` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy import hostio


def from_dlpack(x: Any, device: Any = None, copy: bool | None = None) -> Value:
    """A copy of the array of another library: `jnp.from_dlpack`.

    >>> import numpy as np, tetrad as jax
    >>> jax.dlpack.from_dlpack(np.arange(3.0, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    return hostio.from_dlpack(x, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype can be exchanged through DLPack.

    NumPy speaks for the memory of arrays here, so these are its numbers and bool.
    TypeError for None.

    >>> import tetrad as jax
    >>> jax.dlpack.is_supported_dtype("float32"), jax.dlpack.is_supported_dtype("V3")
    (True, False)
    """
    if dtype is None:
        raise TypeError(
            "jax.dlpack.is_supported_dtype needs a dtype or its name, got None"
        )
    found = np.dtype(dtype)
    return found.kind in "biufc" and found.itemsize <= 16 and found.isnative
