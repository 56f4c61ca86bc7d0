"""Dtypes as users write them: `jnp.float32`, `float`, `"int8"`, and their limits.

A scalar type such as `jnp.float32` serves as a dtype anywhere one is taken, makes
arrays when called (`jnp.float32(3)`), and equals NumPy's scalar type. `dtype_argument`
reads what a user gave as a `dtype` argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tetrad._src.core.bind import Value
from tetrad._src.util import dtypes, frames
from tetrad._src.util.config import config
from tetrad._src.util.words import nearest

PYTHON_NUMBERS = (bool, int, float, complex)


def python_kind(x: Any) -> type:
    """Which of bool, int, float, complex the Python number `x` is."""
    for kind in PYTHON_NUMBERS:
        if isinstance(x, kind):
            return kind
    raise TypeError(f"{x!r} is not a Python number")


def dtype_argument(dtype: Any, name: str) -> Any:
    """The dtype that arrays get for a user's `dtype` argument.

    Where 64 bits are asked for by name while 64-bit types are off, it warns, or does as
    `jax_explicit_x64_dtypes` says. TypeError if it is no dtype, or not one of numbers.
    """
    if type(dtype) is np.dtype and dtype.itemsize < 8:
        found = dtype
    else:
        try:
            found = dtypes.canonicalize_dtype(dtype)
        except TypeError:
            raise TypeError(
                f"{name}: dtype must be a dtype such as jnp.float32, got {dtype!r}"
                f"{_dtype_hint(dtype, name)}"
            ) from None
    if isinstance(found, dtypes.KeyDtype):
        return found
    if found.kind in "OSUMm" or (found.names and found != dtypes.float0):
        raise TypeError(f"{name}: arrays hold numbers, so dtype cannot be {found}")
    if (
        found.itemsize < 8
        and dtype not in (int, float)
        or found == np.complex64
        and dtype is not complex
    ):
        _warn_if_narrowed(dtype, found, name)
    return found


_COMMON_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


def _dtype_hint(dtype: Any, name: str) -> str:
    """What was probably meant by something that is no dtype."""
    if type(dtype) is int:
        return f"; a shape of several extents is one tuple, as in {name}((3, 4))"
    if isinstance(dtype, str):
        meant = nearest(dtype, _COMMON_NAMES)
        return f'; did you mean "{meant}"?' if meant else ""
    return ""


def _warn_if_narrowed(dtype: Any, found: Any, name: str) -> None:
    if config.x64:
        return
    asked = getattr(dtype, "dtype", None) if isinstance(dtype, ScalarType) else dtype
    if np.dtype(asked) == found or config.jax_explicit_x64_dtypes == "allow":
        return
    message = (
        f"Explicitly requested dtype {np.dtype(asked).name} in {name} while 64-bit types"
        f' are off: the result is {found.name}. config.update("jax_enable_x64", True)'
        " turns them on"
    )
    if config.jax_explicit_x64_dtypes == "error":
        raise ValueError(message)
    frames.warn(message)


def float_dtype(name: str, dtype: Any = None) -> Any:
    """The dtype argument, or the default float."""
    if dtype is None:
        return dtypes.python_scalar_dtype(float, config.x64)
    return dtype_argument(dtype, name)


def int_dtype(name: str = "", dtype: Any = None) -> Any:
    """The dtype argument, or the default integer."""
    if dtype is None:
        return dtypes.python_scalar_dtype(int, config.x64)
    return dtype_argument(dtype, name)


# --------------------------------------------------------------------------- scalar types


class ScalarType(type):
    """The metaclass of `jnp.float32` and its like."""

    dtype: Any

    def __call__(cls, x: Any) -> Value:
        """An array of `x` with this dtype."""
        return _make_array(x, cls.dtype)

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return cls is other or cls.dtype.type == other or cls.dtype == other

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'tetrad.numpy.{cls.__name__}'>"


_make_array: Callable[[Any, Any], Value]


def install_constructor(make: Callable[[Any, Any], Value]) -> None:
    """Says how `jnp.float32(x)` makes an array: `make(x, dtype)`."""
    global _make_array
    _make_array = make


def scalar_type(name: str, dtype: Any) -> Any:
    """The class `jnp.<name>`, whose calls make arrays of `dtype`."""
    doc = (
        f"Makes {name} arrays when called, and stands for the dtype {name} wherever one"
        " is taken."
    )
    members = {"dtype": np.dtype(dtype), "__doc__": doc, "__module__": "tetrad.numpy"}
    return ScalarType(name, (), members)


bool_ = scalar_type("bool", np.bool_)
uint8 = scalar_type("uint8", np.uint8)
uint16 = scalar_type("uint16", np.uint16)
uint32 = scalar_type("uint32", np.uint32)
uint64 = scalar_type("uint64", np.uint64)
int8 = scalar_type("int8", np.int8)
int16 = scalar_type("int16", np.int16)
int32 = scalar_type("int32", np.int32)
int64 = scalar_type("int64", np.int64)
float16 = scalar_type("float16", np.float16)
float32 = scalar_type("float32", np.float32)
float64 = scalar_type("float64", np.float64)
complex64 = scalar_type("complex64", np.complex64)
complex128 = scalar_type("complex128", np.complex128)
bfloat16 = scalar_type("bfloat16", ml_dtypes.bfloat16)
int4 = scalar_type("int4", ml_dtypes.int4)
uint4 = scalar_type("uint4", ml_dtypes.uint4)
float8_e4m3fn = scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e4m3b11fnuz = scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e5m2 = scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
int2 = scalar_type("int2", ml_dtypes.int2)
uint2 = scalar_type("uint2", ml_dtypes.uint2)
float8_e3m4 = scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e8m0fnu = scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
float4_e2m1fn = scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float6_e2m3fn = scalar_type("float6_e2m3fn", ml_dtypes.float6_e2m3fn)
float6_e3m2fn = scalar_type("float6_e3m2fn", ml_dtypes.float6_e3m2fn)
int_ = int64
uint = uint64
float_ = double = float64
single = float32
complex_ = cdouble = complex128
csingle = complex64

# --------------------------------------------------------------------- questions on dtypes


def finfo(dtype: Any) -> Any:
    """The limits of a float type: `eps`, `max`, `min`, `tiny`, `bits`, …

    ValueError for other types. Of a complex type, those of its parts.

    >>> import tetrad.numpy as jnp
    >>> jnp.finfo(jnp.float32).bits
    32
    """
    return dtypes.finfo(dtype)


def iinfo(dtype: Any) -> Any:
    """The limits of an integer type: `max`, `min`, `bits`. ValueError for other types.

    >>> import tetrad.numpy as jnp
    >>> jnp.iinfo(jnp.int8).max
    127
    """
    return dtypes.iinfo(dtype)


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is another one, or belongs to a kind such as `jnp.floating`.

    >>> import tetrad.numpy as jnp
    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    return dtypes.issubdtype(arg1, arg2)


def promote_types(a: Any, b: Any) -> Any:
    """The dtype that two dtypes promote to; `int`, `float` and `complex` are weak.

    >>> import tetrad.numpy as jnp
    >>> jnp.promote_types("int32", "float16")
    dtype('float16')
    """
    return dtypes.promote_types(a, b)


def result_type(*args: Any) -> Any:
    """The dtype that arrays, scalars and dtypes promote to.

    Python numbers are weak: they follow the arrays beside them. TypeError for what has
    no dtype.

    >>> import tetrad.numpy as jnp
    >>> jnp.result_type(1.5, jnp.bfloat16)
    dtype(bfloat16)
    """
    return dtypes.result_type(*args)


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether NumPy's rule `casting` lets dtype `from_` become dtype `to`.

    >>> import tetrad.numpy as jnp
    >>> jnp.can_cast("int32", "float32")
    False
    """
    source = from_.dtype if isinstance(from_, Value) else from_
    return bool(np.can_cast(source, to, casting=casting))  # type: ignore[arg-type]


_KINDS: dict[str, str] = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether `dtype` is of a kind: a dtype, or a name such as "real floating".

    A tuple of kinds means any of them. ValueError for an unknown name.

    >>> import tetrad.numpy as jnp
    >>> jnp.isdtype(jnp.float32, ("integral", "real floating"))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    letter = dtypes.kind(np.dtype(dtype))
    if isinstance(kind, str):
        if kind not in _KINDS:
            known = ", ".join(repr(k) for k in _KINDS)
            raise ValueError(f"jnp.isdtype: kind must be one of {known}, got {kind!r}")
        return letter in _KINDS[kind]
    if kind in (np.floating, np.integer, np.inexact, np.number, np.complexfloating):
        return bool(dtypes.issubdtype(dtype, kind))
    return bool(np.dtype(dtype) == np.dtype(kind))
