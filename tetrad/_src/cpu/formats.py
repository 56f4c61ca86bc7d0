"""Formats of floats of 8 bits and fewer: what their bits mean.

In: the name of an element type; out: numbers of bits, the bias, and how infinity and NaN
are written. Compiled code is generated from these numbers alone (`scalar_small.py`).
Source: https://github.com/jax-ml/ml_dtypes, the list of data types
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Special(Enum):
    """How a format writes what is not a finite number."""

    IEEE = "the largest exponent: infinity, and NaN with a mantissa"
    ALL_ONES = "NaN is all ones besides the sign; no infinity"
    MINUS_ZERO = "NaN takes the place of -0; no infinity"
    NONE = "neither: what is too large becomes the largest number, NaN becomes -0"


@dataclass(frozen=True)
class Format:
    """Sign, exponent and mantissa, from the highest bit to the lowest.

    Without mantissa bits there is no sign and no zero either: powers of two.
    """

    exponent: int
    mantissa: int
    bias: int
    special: Special

    @property
    def size(self) -> int:
        """Bits besides the sign."""
        return self.exponent + self.mantissa

    @property
    def bits(self) -> int:
        """Bits of an element; it lies in the low ones of a byte."""
        return self.size + (1 if self.mantissa else 0)

    @property
    def infinity(self) -> int:
        """The code of infinity, where there is one."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def largest(self) -> int:
        """The code of the largest finite number."""
        ones = (1 << self.size) - 1
        if self.special is Special.IEEE:
            return self.infinity - 1
        return ones - 1 if self.special is Special.ALL_ONES else ones


FORMATS: dict[str, Format] = {
    "f8_e5m2": Format(5, 2, 15, Special.IEEE),
    "f8_e4m3": Format(4, 3, 7, Special.IEEE),
    "f8_e3m4": Format(3, 4, 3, Special.IEEE),
    "f8_e4m3fn": Format(4, 3, 7, Special.ALL_ONES),
    "f8_e8m0fnu": Format(8, 0, 127, Special.ALL_ONES),
    "f8_e4m3fnuz": Format(4, 3, 8, Special.MINUS_ZERO),
    "f8_e5m2fnuz": Format(5, 2, 16, Special.MINUS_ZERO),
    "f8_e4m3b11fnuz": Format(4, 3, 11, Special.MINUS_ZERO),
    "f6_e2m3fn": Format(2, 3, 1, Special.NONE),
    "f6_e3m2fn": Format(3, 2, 3, Special.NONE),
    "f4_e2m1fn": Format(2, 1, 1, Special.NONE),
}

DTYPE_NAMES: dict[str, str] = {f"float{name[1:]}": name for name in FORMATS}
"""Element types by the names of their dtypes."""

INTEGER_BITS: dict[str, int] = {"i2": 2, "i4": 4, "u2": 2, "u4": 4}
"""Integers narrower than a byte; each occupies one in memory, whose high bits are 0."""
