"""Names of element types, and scalars as 8-byte words.

Words hold literals of a program, and inputs passed by value.

A word holds the element in its low bytes. Floats of 16 bits and fewer travel as float32 and are
rounded by the kernel; complex128 takes two words.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tetrad._src.cpu.formats import DTYPE_NAMES
from tetrad._src.cpu.scalar import type_of
from tetrad._src.util import dtypes

_PACK: dict[str, str] = {
    "bool": "<?7x",
    "int8": "<b7x",
    "int16": "<h6x",
    "int32": "<i4x",
    "int64": "<q",
    "uint8": "<B7x",
    "uint16": "<H6x",
    "uint32": "<I4x",
    "uint64": "<Q",
    "float16": "<f4x",
    "bfloat16": "<f4x",
    "float32": "<f4x",
    "float64": "<d",
    "int2": "<b7x",
    "int4": "<b7x",
    "uint2": "<B7x",
    "uint4": "<B7x",
    **dict.fromkeys(DTYPE_NAMES, "<f4x"),
}

_types: dict[Any, str] = {}


def element_type(dtype: Any) -> str:
    """The compiler's name of a dtype; keys are what holds them."""
    found = _types.get(dtype)
    if found is None:
        if type(dtype) is str:
            return dtype
        found = type_of(dtype.held if dtypes.is_key(dtype) else dtype)
        _types[dtype] = found
    return found


_formats: dict[Any, str] = {}


def scalar_format(dtype: Any) -> str:
    """The `struct` format of a scalar passed by value, without byte order."""
    found = _formats.get(dtype)
    if found is None:
        name = dtype.held.name if dtypes.is_key(dtype) else dtype.name
        text = _PACK.get(name)
        if text is None:
            raise NotImplementedError(
                f"{name} scalars are not passed by value; pass an array of rank 0"
            )
        found = _formats[dtype] = text[1:]
    return found


def word_of(value: Any, dtype: Any) -> tuple[int, ...]:
    """The word, or two, of a literal."""
    if not dtypes.is_key(dtype) and dtype.kind == "c":
        number = complex(value)
        if dtype.itemsize == 8:
            packed = struct.pack("<ff", number.real, number.imag)
            return (int.from_bytes(packed, "little", signed=True),)
        return struct.unpack("<qq", struct.pack("<dd", number.real, number.imag))
    text = scalar_format(dtype)
    if text[0] == "f":
        with np.errstate(over="ignore"):
            bits = int(np.float32(value).view(np.int32))
        return (bits & 0xFFFFFFFF,)
    if text[0] == "d":
        return struct.unpack("<q", struct.pack("<d", float(value)))
    return struct.unpack("<q", struct.pack("<" + text, int(value)))
