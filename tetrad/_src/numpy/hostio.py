"""Arrays from files, buffers, iterators and other libraries; `astype`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ml_dtypes
import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.numpy.convert import (
    asarray,
    fresh_copy,
    on_device,
    there,
    value,
)
from tetrad._src.numpy.methods import converted


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Value:
    """`x` with its elements converted to `dtype`; floats are cut to integers.

    >>> import tetrad.numpy as jnp
    >>> jnp.astype(jnp.array([1.7]), int)
    Array([1], dtype=int32)
    """
    if device is not None:
        return there(device, astype, x, dtype, copy=copy)  # type: ignore[no-any-return]
    return converted(value(x, "jnp.astype", "x"), dtype, copy, "jnp.astype")  # type: ignore[no-any-return]


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """The array in a `.npy` file (of an `.npz` file, the archive): see `numpy.load`.

    Pickled objects, which no array of ours holds, stay in an array of NumPy.

    >>> import io
    >>> import tetrad.numpy as jnp
    >>> f = io.BytesIO()
    >>> jnp.save(f, jnp.arange(2))
    >>> _ = f.seek(0)
    >>> jnp.load(f)
    Array([0, 1], dtype=int32)
    """
    try:
        found = np.load(file, *args, **kwargs)
    except ValueError as error:
        if "'<f1'" not in str(error):
            raise
        raise TypeError(
            "jnp.load: NumPy's files have no name for the 8-bit floats in this one. Save"
            " x.view('uint8'), and read it with jnp.load(file).view('float8_e5m2')"
        ) from None
    if not isinstance(found, np.ndarray) or found.dtype.hasobject:
        return found
    if found.dtype == np.dtype("V2"):  # what NumPy knows of bfloat16
        found = found.view(ml_dtypes.bfloat16)
    if found.dtype == np.dtype("V1"):
        raise TypeError(
            "jnp.load: the file holds elements of one byte and not what they are, as"
            " NumPy's files do for small dtypes; give them their dtype, for example"
            " jnp.asarray(numpy.load(file).view('float8_e4m3fn'))"
        )
    return asarray(found)


def fromfile(*args: Any, **kwargs: Any) -> Value:
    """An array of the numbers in a binary file: see `numpy.fromfile`.

    >>> import tempfile
    >>> import numpy
    >>> import tetrad.numpy as jnp
    >>> with tempfile.NamedTemporaryFile() as f:
    ...     numpy.arange(2, dtype="int32").tofile(f.name)
    ...     jnp.fromfile(f.name, "int32")
    Array([0, 1], dtype=int32)
    """
    return asarray(np.fromfile(*args, **kwargs))


def fromiter(iterable: Iterable[Any], dtype: Any, count: int = -1) -> Value:
    """A vector of the numbers that an iterator gives.

    >>> import tetrad.numpy as jnp
    >>> jnp.fromiter(range(3), int)
    Array([0, 1, 2], dtype=int32)
    """
    return asarray(np.fromiter(iterable, np.dtype(dtype), count), dtype)


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Value:
    """A vector of the numbers in a text, separated by `sep`.

    >>> import tetrad.numpy as jnp
    >>> jnp.fromstring("1 2", sep=" ")
    Array([1., 2.], dtype=float32)
    """
    return asarray(np.fromstring(string, np.dtype(dtype), count, sep=sep), dtype)


def frombuffer(
    buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0
) -> Value:
    """A vector of the numbers in a buffer of bytes, which is copied.

    >>> import tetrad.numpy as jnp
    >>> jnp.frombuffer(bytes([1, 2]), jnp.uint8)
    Array([1, 2], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer, np.dtype(dtype), count, offset))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Value:
    """A copy of the array of another library, through DLPack.

    An array of ours is given back as it is, unless `copy` is true. ValueError if `copy` is
    False and the array is of another library.

    >>> import numpy
    >>> import tetrad.numpy as jnp
    >>> jnp.from_dlpack(numpy.ones(2, "float32"))
    Array([1., 1.], dtype=float32)
    """
    if isinstance(x, Value):
        return on_device(fresh_copy(x) if copy else x, device)
    if copy is False:
        raise ValueError(
            "jnp.from_dlpack: memory of another library is copied, so that nobody can"
            " change an array; leave copy=False out"
        )
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            f"jnp.from_dlpack: an array of another library is needed, got"
            f" {type(x).__name__}; jnp.array makes arrays of numbers and lists"
        )
    return asarray(np.from_dlpack(x), device=device)
