"""Arrays of other libraries through DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy import convert


def from_dlpack(x: Any, device: Any = None, copy: bool | None = None) -> Value:
    """An array with the values of any object that speaks DLPack.

    The values are copied: an array here never changes because another library's did.

    >>> import numpy as np, tetrad.numpy as jnp
    >>> jnp.from_dlpack(np.arange(3.0, dtype="float32"))
    Array([0., 1., 2.], dtype=float32)
    """
    if copy is False:
        raise ValueError(
            "jnp.from_dlpack always copies, so that the array cannot change when the"
            " other library writes; leave copy=False out"
        )
    if isinstance(x, Value):
        return convert.on_device(x, device)
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            f"jnp.from_dlpack takes an object with a __dlpack__ method, got {x!r} of"
            f" type {type(x).__name__}; use jnp.asarray"
        )
    if device is not None:
        return convert.there(device, from_dlpack, x)  # type: ignore[no-any-return]
    host = convert.canonical_host(np.from_dlpack(x), "jnp.from_dlpack")
    return convert.device_array(host, False)
