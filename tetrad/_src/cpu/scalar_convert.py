"""Conversions between element types, and the 16-bit floats.

In: values of any element type; out: values of another. `ConvertBlock` adds to the emitter
the rounding of a single-precision register to a narrower float, the packing of these into
their bits and back, `convert` for every pair of types, and `bitcast`.
"""

from __future__ import annotations

import math

from tetrad._src.cpu.registers import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    NARROW_FLOATS,
    REAL_OF,
    REGISTER_TYPE,
    SIGNED,
    SIZE,
    SMALL_FLOATS,
    Value,
    bit_width,
)
from tetrad._src.cpu.scalar_small import SmallBlock

_HALF_QUIET = 0x7E00
_TWO_112 = 2.0**112


class ConvertBlock(SmallBlock):
    """The emitter with conversions between all element types."""

    # Floats of 16 bits and fewer

    def round_narrow(self, x: Value, type: str) -> Value:
        """An f32 register rounded to the nearest number of a narrow float."""
        x = self.relabel(x, "f32")
        if type == "bf16":
            return self.relabel(self._round_bfloat(x), type)
        if type in SMALL_FLOATS:
            return self.decode_small(self.encode_small(x, type), type)
        if self.has_fma:
            return self._native_half(x)
        return self.relabel(self._round_half_in_integers(x), type)

    def _round_bfloat(self, x: Value) -> Value:
        bits = self.relabel(self.bits(x), "u32")
        rounded = (bits + 0x7FFF) + ((bits >> 16) & 1)
        quiet = bits | 0x400000
        unordered = self.compare("uno", x, x)
        rounded = self.select(unordered, quiet, rounded) & 0xFFFF0000
        return self.from_bits(rounded)

    def _native_half(self, x: Value) -> Value:
        single, half = self.vector("float"), self.vector("half")
        narrow = self.raw(f"fptrunc {single} {x.ref} to {half}")
        return self.emit("f16", f"fpext {half} {narrow} to {single}")

    def _round_half_in_integers(self, x: Value) -> Value:
        size = self.magnitude(x)
        bits = self.relabel(self.bits(size), "u32")
        rounded = ((bits + 0xFFF) + ((bits >> 13) & 1)) & ~0x1FFF
        y = self.from_bits(rounded)
        y = self.select(self.compare("oge", y, 65536.0), math.inf, y)
        subnormal = (size + 0.5) - 0.5
        y = self.select(self.compare("olt", size, 2.0**-14), subnormal, y)
        y = self.select(self.compare("uno", x, x), x, y)
        return self.copysign(y, x)

    def pack_narrow(self, x: Value) -> Value:
        """The 16 bits (u16), or the byte (u8), of a narrow float in its register."""
        if x.type in SMALL_FLOATS:
            return self.encode_small(x, x.type, exact=True)
        single = self.relabel(x, "f32")
        if x.type == "bf16":
            bits = self.relabel(self.bits(single), "u32")
            return self.cast("trunc", bits >> 16, "u16")
        if self.has_fma:
            half = self.vector("half")
            narrow = self.raw(f"fptrunc {self.vector('float')} {x.ref} to {half}")
            return self.emit("u16", f"bitcast {half} {narrow} to {self.vector('i16')}")
        size = self.magnitude(single)
        bits = self.relabel(self.bits(size * (1 / _TWO_112)), "u32") >> 13
        special = self.select(self.compare("uno", size, size), _HALF_QUIET, bits)
        infinite = self.compare("oeq", size, math.inf)
        bits = self.select(infinite, 0x7C00, special)
        sign = (self.relabel(self.bits(single), "u32") >> 16) & 0x8000
        return self.cast("trunc", bits | sign, "u16")

    def unpack_narrow(self, bits: Value, type: str) -> Value:
        """The narrow float with these 16 bits (u16), or this byte (u8)."""
        if type in SMALL_FLOATS:
            return self.decode_small(bits, type)
        if type == "f16" and self.has_fma:
            half = self.vector("half")
            narrow = self.raw(f"bitcast {self.vector('i16')} {bits.ref} to {half}")
            return self.emit("f16", f"fpext {half} {narrow} to {self.vector('float')}")
        wide = self.cast("zext", bits, "u32")
        if type == "bf16":
            return self.relabel(self.from_bits(wide << 16), type)
        size = self.from_bits((wide & 0x7FFF) << 13) * _TWO_112
        special = self.relabel(self.bits(size), "u32") | 0x7F800000
        huge = self.compare("oge", size, 65536.0)
        size = self.select(huge, self.from_bits(special), size)
        sign = (wide & 0x8000) << 16
        signed = self.relabel(self.bits(size), "u32") | sign
        return self.relabel(self.from_bits(signed), type)

    # Every type to every type

    def convert(self, x: Value, type: str) -> Value:
        """`x` as another type, as `astype` does.

        Floats round to nearest even; to integers they truncate and saturate, NaN giving
        0. Integers wrap. Bool is `x != 0`. Complex to real takes the real part.
        """
        if x.type == type:
            return x
        if x.type in COMPLEX:
            return self._convert_complex(x, type)
        if type in COMPLEX:
            real = self.convert(x, REAL_OF[type])
            return Value(self, real.ref, type, self.constant(0.0, real.type).ref)
        if type == "i1":
            return self.compare("une" if x.type in FLOATS else "ne", x, 0)
        if x.type == "i1":
            return self._convert_bool(x, type)
        if x.type in FLOATS:
            if type in FLOATS:
                return self._convert_float(x, type)
            return self._float_to_integer(x, type)
        if type in FLOATS:
            return self._integer_to_float(x, type)
        return self._convert_integer(x, type)

    def _convert_complex(self, x: Value, type: str) -> Value:
        real = self.value(x.ref, REAL_OF[x.type])
        imag = self.value(x.imag, REAL_OF[x.type])
        if type == "i1":
            return self.binary("or", self.convert(real, "i1"), self.convert(imag, "i1"))
        if type not in COMPLEX:
            return self.convert(real, type)
        real = self.convert(real, REAL_OF[type])
        imag = self.convert(imag, REAL_OF[type])
        return Value(self, real.ref, type, imag.ref)

    def _convert_bool(self, x: Value, type: str) -> Value:
        if type in FLOATS:
            one = self.constant(1.0, type)
            return self.select(x, one, self.constant(0.0, type))
        return self.cast("zext", x, type)

    def _convert_integer(self, x: Value, type: str) -> Value:
        if bit_width(x.type) == bit_width(type):
            return self.relabel(x, type)
        if bit_width(x.type) > bit_width(type):
            return self.cast("trunc", x, type)
        return self.cast("sext" if x.type in SIGNED else "zext", x, type)

    def _convert_float(self, x: Value, type: str) -> Value:
        if type in NARROW_FLOATS:
            if x.type == "f64":
                x = self._truncate_to_odd(x)
            return self.round_narrow(x, type)
        single = self.relabel(x, "f32") if x.type in NARROW_FLOATS else x
        if single.type == type:
            return single
        return self.cast("fpext" if type == "f64" else "fptrunc", single, type)

    def _truncate_to_odd(self, x: Value) -> Value:
        """An f64 as f32 such that rounding the result again rounds only once.

        An inexact result is cut toward zero and its last bit is set.
        """
        single = self.cast("fptrunc", x, "f32")
        back = self.cast("fpext", single, "f64")
        bits = self.bits(single)
        above = self.compare("ogt", self.magnitude(back), self.magnitude(x))
        bits = self.select(above, bits - 1, bits)
        inexact = self.compare("one", back, x)
        return self.from_bits(self.select(inexact, bits | 1, bits))

    def _float_to_integer(self, x: Value, type: str) -> Value:
        name = "fptosi" if type in SIGNED else "fptoui"
        if self.lanes == 1:
            target, source = REGISTER_TYPE[type], self.suffix(REGISTER_TYPE[x.type])
            return self.call(f"llvm.{name}.sat.{target}.{source}", type, x)
        # LLVM takes that function of vectors apart for x86.
        if x.type in NARROW_FLOATS:
            x = self.relabel(x, "f32")
        width = bit_width(type)
        digits = width - (type in SIGNED)
        least, most = -(1 << digits) if type in SIGNED else 0, (1 << digits) - 1
        if digits <= (24 if x.type == "f32" else 53):
            number = self.select(self.compare("ord", x, x), x, 0)
            wide = type if width >= 32 else "i32"
            name = name if width >= 32 else "fptosi"
            whole = self.cast(name, self.clamp(number, least, most), wide)
            return self._convert_integer(whole, type)
        # The largest integer is no float, but the next one is.
        number = self.select(self.compare("olt", x, most + 1), x, 0)
        whole = self.cast(name, self.clamp(number, least), type)
        return self.select(self.compare("oge", x, most + 1), most, whole)

    def _integer_to_float(self, x: Value, type: str) -> Value:
        name = "sitofp" if x.type in SIGNED else "uitofp"
        if type not in NARROW_FLOATS:
            return self.cast(name, x, type)
        if SIZE[x.type] <= 2:
            return self.round_narrow(self.cast(name, x, "f32"), type)
        if SIZE[x.type] == 8:
            x = self._sticky(x)
        wide = self.cast(name, x, "f64")
        return self.round_narrow(self._truncate_to_odd(wide), type)

    def _sticky(self, x: Value) -> Value:
        """A 64-bit integer that f64 holds and that rounds to 16 bits as `x` does."""
        low = self.compare("ne", x & 0xFFF, 0)
        folded = (x & ~0xFFF) | self.select(low, self.constant(0x800, x.type), 0)
        shifted = x + (1 << 52) if x.type in SIGNED else x
        return self.select(self.compare("ugt", shifted, 1 << 53), folded, x)

    def bitcast(self, x: Value, type: str) -> Value:
        """The value of another type of the same size with the same bits."""
        if x.type == type:
            return x
        if "i1" in (x.type, type) and 1 in (SIZE[x.type], SIZE[type]):
            return self.convert(x, type)
        old, new = bit_width(x.type), bit_width(type)
        if x.type in COMPLEX or type in COMPLEX or old != new:
            raise TypeError(
                f"cannot reinterpret {old}-bit {x.type} as "
                f"{new}-bit {type}: the sizes must agree"
            )
        if x.type in NARROW_FLOATS:
            x = self.pack_narrow(x)
        if type in NARROW_FLOATS:
            x = self._convert_integer(x, "u16" if SIZE[type] == 2 else "u8")
            return self.unpack_narrow(x, type)
        if x.type in INTEGERS and bit_width(x.type) != new:
            return self._convert_integer(x, type)
        if (x.type in INTEGERS) == (type in INTEGERS):
            return self.relabel(x, type)
        return self.cast("bitcast", x, type)
