"""Floats of 8 bits and fewer, as bits in memory and as numbers in f32 registers.

In: f32 registers, or codes (the bytes in memory); out: the other one. Both ways are a
few integer instructions in every lane. What they do for all 256 codes, and between any
two of them, is compared with ml_dtypes in the tests.
"""

from __future__ import annotations

from tetrad._src.cpu.formats import FORMATS, Format, Special
from tetrad._src.cpu.registers import Emitter, Value

_INFINITY = 0x7F800000
_QUIET = 0x7FC00000
_SIZE = 0x7FFFFFFF
_MANTISSA = 23
_BIAS = 127


def _power(exponent: int) -> int:
    """The bits of 2ⁿ in single precision."""
    return (exponent + _BIAS) << _MANTISSA


class SmallBlock(Emitter):
    """The emitter with codes of small floats."""

    def encode_small(self, x: Value, type: str, *, exact: bool = False) -> Value:
        """The code (u8) of the nearest number of a format, ties to even.

        `exact` says that `x` is one of the format; a NaN then keeps its bits.
        """
        form = FORMATS[type]
        bits = self.relabel(self.bits(self.relabel(x, "f32")), "u32")
        if not form.mantissa:
            return self.cast("trunc", self._encode_power(bits), "u8")
        size = bits & _SIZE
        code = self._nearest_code(size, form)
        sign = (bits >> (31 - form.size)) & (1 << form.size)
        too_large = self.compare("ugt", code, form.largest)
        unordered = self.compare("ugt", size, _INFINITY)
        if form.special is Special.IEEE:
            code = self.select(too_large, form.infinity, code)
            nan: Value | int = form.infinity | 1 << (form.mantissa - 1)
            if exact:
                nan = (size >> (_MANTISSA - form.mantissa)) & ((1 << form.size) - 1)
            code = self.select(unordered, nan, code) | sign
        elif form.special is Special.ALL_ONES:
            code = self.select(too_large, form.largest + 1, code) | sign
        elif form.special is Special.MINUS_ZERO:
            zero = self.compare("eq", code, 0)
            signed = self.select(zero, 0, code | sign)
            code = self.select(too_large, 1 << form.size, signed)
        else:
            code = self.select(too_large, form.largest, code) | sign
            code = self.select(unordered, 1 << form.size, code)
        return self.cast("trunc", code, "u8")

    def _nearest_code(self, size: Value, form: Format) -> Value:
        """The code of a magnitude, as if the exponent had no end."""
        cut = _MANTISSA - form.mantissa
        rounded = size + ((1 << (cut - 1)) - 1) + ((size >> cut) & 1)
        code = (rounded >> cut) - ((_BIAS - form.bias) << form.mantissa)
        # Subnormal: a large number is added whose last bit counts steps of the format.
        shift = _power(_MANTISSA + 1 - form.bias - form.mantissa)
        moved = self.add(self.from_bits(size), self.from_bits(self._word(shift)))
        steps = self.relabel(self.bits(moved), "u32") - shift
        subnormal = self.compare("ult", size, _power(1 - form.bias))
        return self.select(subnormal, steps, code)

    def _encode_power(self, bits: Value) -> Value:
        """The code of the nearest power of two, the larger one in the middle.

        Between the two smallest it is always the larger one, as in ml_dtypes and XLA.
        """
        code = (bits + 0x400000) >> _MANTISSA
        code = self.select(self.compare("ule", bits, 0x400000), 0, code)
        # From here on neither +∞ nor NaN, negative numbers or zero.
        number = self.compare("ult", bits - 1, 0x7F400000 - 1)
        return self.select(number, code, 0xFF)

    def decode_small(self, code: Value, type: str) -> Value:
        """The number with this code (u8), as a register of the format."""
        form = FORMATS[type]
        wide = self.cast("zext", code, "u32")
        if not form.mantissa:
            bits = self.select(self.compare("eq", wide, 0), 0x400000, wide << _MANTISSA)
            bits = self.select(self.compare("eq", wide, 0xFF), _QUIET, bits)
            return self.relabel(self.from_bits(bits), type)
        size = wide & ((1 << form.size) - 1)
        moved = size << (_MANTISSA - form.mantissa)
        bits = moved + ((_BIAS - form.bias) << _MANTISSA)
        steps = self.cast("uitofp", size, "f32")
        step = self.from_bits(self._word(_power(1 - form.bias - form.mantissa)))
        small = self.relabel(self.bits(self.mul(steps, step)), "u32")
        subnormal = self.compare("ult", size, 1 << form.mantissa)
        bits = self.select(subnormal, small, bits)
        if form.special is Special.IEEE:
            special = self.compare("uge", size, form.infinity)
            bits = self.select(special, moved | _INFINITY, bits)
        elif form.special is Special.ALL_ONES:
            bits = self.select(self.compare("ugt", size, form.largest), _QUIET, bits)
        elif form.special is Special.MINUS_ZERO:
            nothing = self.compare("eq", wide, 1 << form.size)
            bits = self.select(nothing, _QUIET, bits)
        bits = bits | ((wide & (1 << form.size)) << (31 - form.size))
        return self.relabel(self.from_bits(bits), type)

    def _word(self, bits: int) -> Value:
        return self.constant(bits, "u32")
