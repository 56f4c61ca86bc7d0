"""Abstract values: the shape, dtype and weak type of an array, without its contents.

An `Aval` is interned: two avals that are equal are the same object, so the rest of the
library compares them with `is` and uses them as dictionary keys at no cost. It also
keeps what everybody would otherwise compute again: rank, size, bytes and the strides of
the dense row-major layout. JAX's name for it is `ShapedArray`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from tetrad._src.core.mesh import NamedSharding, is_whole, whole
from tetrad._src.util import dtypes

DType = Any  # np.dtype, or a KeyDtype


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a row-major array of `shape`."""
    strides = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class Aval:
    """The type of an array: `float32[3,4]`, perhaps weak."""

    __slots__ = (
        "shape",
        "dtype",
        "weak_type",
        "ndim",
        "size",
        "nbytes",
        "strides",
        "__weakref__",
    )

    shape: tuple[int, ...]
    dtype: DType
    weak_type: bool
    ndim: int
    size: int
    nbytes: int
    strides: tuple[int, ...]

    _pool: weakref.WeakValueDictionary[tuple[Any, ...], Aval] = (
        weakref.WeakValueDictionary()
    )

    def __new__(
        cls,
        shape: Iterable[int],
        dtype: DType,
        weak_type: bool = False,
        *,
        sharding: Any = None,
    ) -> Aval:
        if sharding is not None and not is_whole(sharding):
            raise NotImplementedError(
                f"ShapedArray(sharding={sharding}): types say nothing of several devices"
            )
        shape = tuple(map(int, shape))
        if not isinstance(dtype, dtypes.KeyDtype):
            dtype = np.dtype(dtype)
        key = (shape, dtype, bool(weak_type))
        found = Aval._pool.get(key)
        if found is not None:
            return found
        self = object.__new__(cls)
        self.shape = shape
        self.dtype = dtype
        self.weak_type = bool(weak_type)
        self.ndim = len(shape)
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.strides = dense_strides(shape)
        return Aval._pool.setdefault(key, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Aval, (self.shape, self.dtype, self.weak_type)

    def __copy__(self) -> Aval:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Aval:
        return self

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.long_name()}{weak})"

    def __str__(self) -> str:
        return self.short_name()

    def short_name(self) -> str:
        """As jaxprs print it: `f32[3,4]`."""
        return f"{dtypes.short_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def long_name(self) -> str:
        """As messages print it: `float32[3,4]`."""
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"

    str_short = short_name

    @property
    def kind(self) -> str:
        """One letter: f float, c complex, i u integers, b bool, K key, V float0."""
        return dtypes.kind(self.dtype)

    @property
    def sharding(self) -> NamedSharding:
        """How the type says that the array is cut: not at all."""
        return whole(self.ndim)

    @property
    def inexact(self) -> bool:
        """Whether the array has tangents (floats and complex numbers do)."""
        return self.kind in "fc"

    def update(
        self,
        shape: Iterable[int] | None = None,
        dtype: DType | None = None,
        weak_type: bool | None = None,
    ) -> Aval:
        return Aval(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )

    def to_tangent_aval(self) -> Aval:
        """The type of the tangents of such arrays."""
        return self if self.inexact else Aval(self.shape, dtypes.float0)

    to_ct_aval = to_tangent_aval

    def strong(self) -> Aval:
        return self.update(weak_type=False) if self.weak_type else self

    def drop(self, axes: Iterable[int]) -> Aval:
        """Without the given axes."""
        gone = set(axes)
        kept = [d for i, d in enumerate(self.shape) if i not in gone]
        return Aval(kept, self.dtype, self.weak_type)

    def mapped(self, size: int) -> Aval:
        """With a new leading axis of `size`."""
        return Aval((size, *self.shape), self.dtype, self.weak_type)


ShapedArray = Aval
