"""Types for annotations: what functions of arrays take.

A function that takes an `ArrayLike` takes arrays, NumPy's arrays and numbers; one that
takes a `DTypeLike` takes what names a dtype, such as `"float32"` or `jnp.float32`.
"""

from typing import Any, Protocol, TypeAlias

import numpy as np

from tetrad._src.runtime.array import Array


class SupportsDType(Protocol):
    """Has a `dtype`."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


ArrayLike: TypeAlias = (
    Array
    | np.ndarray[Any, Any]
    | np.bool_
    | np.number[Any]
    | bool
    | int
    | float
    | complex
)
DTypeLike: TypeAlias = str | type[Any] | np.dtype[Any] | SupportsDType

__all__ = ["ArrayLike", "DTypeLike"]
