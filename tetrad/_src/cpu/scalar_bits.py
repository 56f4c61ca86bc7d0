"""Logic, shifts and bit manipulation of booleans and integers, and threefry.

In: bool and integer values; out: values of the same types. Shifts by the width or more
give 0 or, arithmetically, the sign, as in XLA.
"""

from __future__ import annotations

import math

from tetrad._src.cpu.formats import FORMATS, Special
from tetrad._src.cpu.registers import (
    NARROW_FLOATS,
    SIGNED,
    SMALL_FLOATS,
    Value,
    bit_width,
)
from tetrad._src.cpu.scalar_memory import MemoryBlock

_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_THREEFRY_PARITY = 0x1BD11BDA


class BitsBlock(MemoryBlock):
    """The builder with operations on bits."""

    def and_(self, x: Value | int, y: Value | int) -> Value:
        """Bitwise and; of bools, logical."""
        return self.binary("and", x, y)

    def or_(self, x: Value | int, y: Value | int) -> Value:
        """Bitwise or."""
        return self.binary("or", x, y)

    def xor(self, x: Value | int, y: Value | int) -> Value:
        """Bitwise exclusive or."""
        return self.binary("xor", x, y)

    def not_(self, x: Value) -> Value:
        """Every bit flipped."""
        return self.binary("xor", x, -1 if x.type != "i1" else 1)

    def shift_left(self, x: Value, amount: Value | int) -> Value:
        """`x · 2^amount`; 0 from the width on (and for negative amounts)."""
        return self._shift("shl", x, amount)

    def shift_right_logical(self, x: Value, amount: Value | int) -> Value:
        """Shifted towards the lowest bit with zeros coming in."""
        return self._shift("lshr", x, amount)

    def shift_right_arithmetic(self, x: Value, amount: Value | int) -> Value:
        """Shifted towards the lowest bit with copies of the highest bit coming in."""
        x, amount = self.pair(x, amount)
        width = bit_width(x.type)
        largest = self.constant(width - 1, x.type)
        within = self.compare("ult", amount, width)
        return self.binary("ashr", x, self.select(within, amount, largest))

    def _shift(self, name: str, x: Value, amount: Value | int) -> Value:
        x, amount = self.pair(x, amount)
        width = bit_width(x.type)
        if amount.literal is not None:
            if 0 <= amount.literal < width:
                return self.binary(name, x, amount)
            return self.constant(0, x.type)
        # The shift's result is poison where the amount is too large: select hides it.
        shifted = self.binary(name, x, amount)
        return self.select(self.compare("ult", amount, width), shifted, 0)

    def population_count(self, x: Value) -> Value:
        """How many bits are set."""
        return self.intrinsic("ctpop", x)

    def clz(self, x: Value) -> Value:
        """How many zeros stand before the highest set bit."""
        return self.leading_zeros(x)

    def rotate_left(self, x: Value, amount: Value | int) -> Value:
        """Bits shifted out at the top come in at the bottom."""
        x, amount = self.pair(x, amount)
        return self.intrinsic("fshl", x, x, amount)

    def mul_hi(self, x: Value, y: Value | int) -> Value:
        """The upper half of the double-width product."""
        x, y = self.pair(x, y)
        width = bit_width(x.type)
        if width == 64:
            return self._mul_hi_64(x, y)
        wide = ("i" if x.type in SIGNED else "u") + str(2 * width)
        extend = "sext" if x.type in SIGNED else "zext"
        product = self.cast(extend, x, wide) * self.cast(extend, y, wide)
        return self.cast("trunc", product >> width, x.type)

    def _mul_hi_64(self, x: Value, y: Value) -> Value:
        """Four products of 32-bit halves; signed ones correct the unsigned result."""
        a, c = self.relabel(x, "u64"), self.relabel(y, "u64")
        a_low, a_high = a & 0xFFFFFFFF, a >> 32
        c_low, c_high = c & 0xFFFFFFFF, c >> 32
        middle = a_high * c_low + ((a_low * c_low) >> 32)
        other = a_low * c_high + (middle & 0xFFFFFFFF)
        high = a_high * c_high + (middle >> 32) + (other >> 32)
        if x.type in SIGNED:
            high = self.relabel(high, x.type)
            high = high - ((x >> 63) & y) - ((y >> 63) & x)
        return high

    def threefry2x32(
        self, key0: Value, key1: Value, x0: Value, x1: Value
    ) -> tuple[Value, Value]:
        """Two words of the Threefry-2x32 cipher with 20 rounds (all values u32).

        Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
        """
        keys = (key0, key1, key0 ^ key1 ^ _THREEFRY_PARITY)
        x0, x1 = x0 + keys[0], x1 + keys[1]
        for group in range(5):
            for rotation in _THREEFRY_ROTATIONS[group % 2]:
                x0 = x0 + x1
                x1 = self.rotate_left(x1, rotation) ^ x0
            x0 = x0 + keys[(group + 1) % 3]
            x1 = x1 + (keys[(group + 2) % 3] + (group + 1))
        return x0, x1

    def nextafter(self, x: Value, y: Value) -> Value:
        """The next float after `x` in the direction of `y`."""
        if x.type in SMALL_FLOATS:
            return self._next_small(x, y)
        x_bits, y_bits = self._integer_bits(x), self._integer_bits(y)
        type = x_bits.type
        sign = -1 << (bit_width(type) - 1)
        grows = self.compare("olt", x, y)
        negative = self.compare("slt", x_bits, 0)
        away = self.binary("xor", grows, negative)
        stepped = x_bits + self.select(away, self.constant(1, type), -1)
        # From zero: the smallest subnormal on the side of y.
        smallest = (y_bits & sign) | 1
        stepped = self.select(self.compare("oeq", x, 0), smallest, stepped)
        result = self.bitcast(stepped, x.type)
        result = self.select(self.compare("oeq", x, y), y, result)
        nan = self.constant(math.nan, x.type)
        return self.select(self.compare("uno", x, y), nan, result)

    def _next_small(self, x: Value, y: Value) -> Value:
        """`nextafter` of small floats: numbers in order are codes with a sign."""
        form = FORMATS[x.type]
        mask = 1 << form.size if form.mantissa else 0
        code = self.cast("zext", self.encode_small(x, x.type), "i32")
        below = self.compare("ne", code & mask, 0)
        size = code & ((1 << form.size) - 1)
        place = self.select(below, -size, size)
        grows = self.compare("olt", x, y)
        place = place + self.select(grows, self.constant(1, "i32"), -1)
        negative = self.compare("slt", place, 0)
        size = self.select(negative, -place, place)
        if form.special is not Special.MINUS_ZERO:
            zero = self.compare("eq", place, 0)
            negative = self.select(zero, below, negative)
        code = self.select(negative, size | mask, size)
        result = self.decode_small(self.cast("trunc", code, "u8"), x.type)
        result = self.select(self.compare("oeq", x, y), y, result)
        nan = self.relabel(self.constant(math.nan, "f32"), x.type)
        return self.select(self.compare("uno", x, y), nan, result)

    def _integer_bits(self, x: Value) -> Value:
        if x.type in NARROW_FLOATS:
            return self.relabel(self.pack_narrow(x), "i16")
        return self.bits(x)
