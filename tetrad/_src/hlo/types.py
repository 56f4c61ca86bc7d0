"""Names: how MLIR writes the types and constants of a jaxpr, and PJRT their codes.

What comes in: dtypes, avals and NumPy values. What goes out: text such as
`tensor<2x3xf32>` and `dense<1.5>`, and the enumerator of a dtype in the PJRT interface.
A random key is one unsigned 64-bit element here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.util import dtypes

# MLIR's name of an element type and PJRT's, by the name of the dtype. XLA has no sound
# programs for integers of 2 bits: sorting is wrong, and concatenating ends the process.
_NAMES = {
    "bool": ("i1", "PRED"),
    "int8": ("i8", "S8"),
    "int16": ("i16", "S16"),
    "int32": ("i32", "S32"),
    "int64": ("i64", "S64"),
    "uint8": ("ui8", "U8"),
    "uint16": ("ui16", "U16"),
    "uint32": ("ui32", "U32"),
    "uint64": ("ui64", "U64"),
    "key<fry>": ("ui64", "U64"),
    "key<rbg>": ("complex<f64>", "C128"),
    "key<urbg>": ("complex<f64>", "C128"),
    "float16": ("f16", "F16"),
    "bfloat16": ("bf16", "BF16"),
    "float32": ("f32", "F32"),
    "float64": ("f64", "F64"),
    "complex64": ("complex<f32>", "C64"),
    "complex128": ("complex<f64>", "C128"),
    "float8_e4m3fn": ("f8E4M3FN", "F8E4M3FN"),
    "float8_e4m3b11fnuz": ("f8E4M3B11FNUZ", "F8E4M3B11FNUZ"),
    "float8_e4m3fnuz": ("f8E4M3FNUZ", "F8E4M3FNUZ"),
    "float8_e5m2": ("f8E5M2", "F8E5M2"),
    "float8_e5m2fnuz": ("f8E5M2FNUZ", "F8E5M2FNUZ"),
    "float8_e3m4": ("f8E3M4", "F8E3M4"),
    "float8_e4m3": ("f8E4M3", "F8E4M3"),
    "float8_e8m0fnu": ("f8E8M0FNU", "F8E8M0FNU"),
    "float4_e2m1fn": ("f4E2M1FN", "F4E2M1FN"),
    "int4": ("i4", "S4"),
    "uint4": ("ui4", "U4"),
}


def _names(dtype: Any) -> tuple[str, str]:
    found = _NAMES.get(dtype.name)
    if found is None:
        raise NotImplementedError(
            f"arrays of dtype {dtype.name} cannot go to a PJRT device; the dtypes that"
            f" can: {', '.join(_NAMES)}"
        )
    return found


def element(dtype: Any) -> str:
    """The element type: `f32`, `ui8`, `complex<f64>`."""
    return _names(dtype)[0]


def buffer_type(dtype: Any) -> str:
    """The enumerator that PJRT has for a dtype, without its prefix: `F32`."""
    return _names(dtype)[1]


def comparison(dtype: Any) -> str:
    """How elements are compared; where it is not said, constants compare as unsigned."""
    name = element(dtype)
    if name.startswith("ui") or name == "i1":
        kind = "UNSIGNED"
    else:
        kind = "SIGNED" if name.startswith("i") else "FLOAT"
    return f"#stablehlo<comparison_type {kind}>"


def tensor(aval: Aval) -> str:
    """The type of an array: `tensor<2x3xf32>`."""
    extents = "".join([f"{extent}x" for extent in aval.shape])
    return f"tensor<{extents}{element(aval.dtype)}>"


def host_dtype(dtype: Any) -> np.dtype[Any]:
    """How NumPy holds the elements."""
    if dtypes.is_key(dtype):
        return dtype.held  # type: ignore[no-any-return]
    held: np.dtype[Any] = dtype
    return held


# ----------------------------------------------------------------------------- values


def dense(value: np.ndarray[Any, Any]) -> str:
    """The elements of an array as MLIR writes them: `dense<…>`."""
    if not value.size:
        return "dense<>"
    first = value.reshape(-1)[0]
    if value.ndim == 0 or value.tobytes() == first.tobytes() * value.size:
        return f"dense<{scalar(first)}>"
    words = np.ascontiguousarray(value).tobytes().hex().upper()
    return f'dense<"0x{words}">'


def scalar(value: Any) -> str:
    """One number, exactly."""
    kind = dtypes.kind(value.dtype)
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return str(int(value))
    if kind == "c":
        return f"({scalar(value.real)}, {scalar(value.imag)})"
    number = float(value)  # exact: every float here fits into 64 bits
    if math.isfinite(number):
        text = repr(number)
        digits, mark, power = text.partition("e")
        return text if "." in digits else f"{digits}.0{mark}{power}"
    words: bytes = value.tobytes()[::-1]
    return f"0x{words.hex().upper()}"


# ------------------------------------------------------------------------- attributes


def attribute(value: Any) -> str:
    """A static parameter: numbers, tuples of integers, or MLIR text as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return _integers(value)
    return f"{int(value)} : i64"


def _integers(values: Sequence[int]) -> str:
    if not values:
        return "array<i64>"
    return f"array<i64: {', '.join([str(int(value)) for value in values])}>"
