"""Circular functions of f32 and f64 vectors.

In: an emitter and f32 or f64 values; out: values of the same type. The argument is
reduced with two or three fused steps (Cody and Waite); where some lane is beyond their
reach, a branch calls an out-of-line reduction by 192 bits of 2/π or 96 of 1/π in
integers (Payne and Hanek), so huge arguments are as exact as small ones.
"""

from __future__ import annotations

import math
from functools import partial

from tetrad._src.cpu import coefficients as table
from tetrad._src.cpu.registers import Emitter, Helper, Value

PI_F32 = (3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15)
HALF_PI_F64 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
HALF_PI_SHORT = (
    1.5707963267341256,
    6.077100506303966e-11,
    2.0222662487111665e-21,
    8.4784276603689e-32,
)
"""π/2 in pieces of 33 bits, whose products with small integers are exact."""

INVERSE_PI_BITS = int(
    "517cc1b727220a94fe13abe8fa9a6ee06db14acc9e21c820ff28b1d5ef5de2b0db92371d", 16
)
"""The first 288 bits of 1/π after the binary point."""

TWO_OVER_PI_BITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561"
    "b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484"
    "e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b"
    "3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d"
    "a9e391615ee61b08",
    16,
)
"""The first 1344 bits of 2/π after the binary point."""

LIMIT_F32 = 2.0**17


def sin(b: Emitter, x: Value) -> Value:
    """Sine."""
    if x.type == "f64":
        return _circular_f64(b, x, "sin")
    return _circular_f32(b, x, False)


def cos(b: Emitter, x: Value) -> Value:
    """Cosine."""
    if x.type == "f64":
        return _circular_f64(b, x, "cos")
    return _circular_f32(b, x, True)


def tan(b: Emitter, x: Value) -> Value:
    """Tangent."""
    if x.type == "f64":
        return _circular_f64(b, x, "tan")
    return _tangent_f32(b, x)


def _tangent_f32(b: Emitter, x: Value) -> Value:
    """In double precision with short polynomials."""
    wide = b.cast("fpext", x, "f64")
    quadrant, high, _ = _reduced_f64(b, wide)
    fast = _finish_tangent_f32(b, x, quadrant, high)
    large = b.compare("uge", b.magnitude(x), 2.0**20)
    return b.if_any(large, lambda: b.call_helper(TAN_LARGE_F32, x, fast), fast)


def _large_tangent_f32(b: Emitter, x: Value, fast: Value) -> Value:
    """The tangent of every finite |x| ≥ 2²⁰; `fast` elsewhere."""
    quadrant, high, _ = _reduced_large_f64(b, b.cast("fpext", x, "f64"))
    slow = _finish_tangent_f32(b, x, quadrant, high)
    return b.select(b.compare("olt", b.magnitude(x), 2.0**20), fast, slow)


def _finish_tangent_f32(b: Emitter, x: Value, quadrant: Value, r: Value) -> Value:
    square = r * r
    sine = b.fma(square * r, b.horner(square, table.SIN_SHORT), r)
    cosine = b.horner(square, (1.0, -0.5, *table.COS_SHORT))
    odd = b.compare("ne", quadrant & 1, 0)
    top = b.select(odd, -cosine, sine)
    bottom = b.select(odd, sine, cosine)
    y = b.cast("fptrunc", top / bottom, "f32")
    return b.select(b.compare("oeq", x, 0.0), x, y)


# Single precision: x = (n or n + ½)·π + r, then ±sin r


def _sin_of_reduced_f32(b: Emitter, r: Value) -> Value:
    square = r * r
    y = b.fma(square * r, b.horner(square, table.SIN_F32), r)
    return b.clamp(y, -1.0, 1.0)


def _circular_f32(b: Emitter, x: Value, cosine: bool) -> Value:
    inverse = 1.0 / math.pi
    if cosine:
        whole = b.nearest(b.fma(x, inverse, -0.5))
        multiple = whole + 0.5
    else:
        multiple = whole = b.nearest(x * inverse)
    r = _reduced_f32(b, x, multiple)
    sign = b.to_int(whole) << 31
    if cosine:
        sign = sign ^ -(2**31)
    y = _sin_of_reduced_f32(b, r)
    if not cosine:
        y = b.select(b.compare("oeq", x, 0.0), x, y)
    fast = b.from_bits(b.bits(y) ^ sign)
    large = b.compare("uge", b.magnitude(x), LIMIT_F32)
    helper = COS_LARGE_F32 if cosine else SIN_LARGE_F32
    return b.if_any(large, lambda: b.call_helper(helper, x, fast), fast)


def _reduced_f32(b: Emitter, x: Value, multiple: Value) -> Value:
    """x − multiple·π."""
    if b.has_fma:
        r = x
        for part in PI_F32:
            r = b.fma(multiple, -part, r)
        return r
    wide = b.cast("fpext", multiple, "f64")
    r = b.cast("fpext", x, "f64")
    for part in HALF_PI_SHORT[:2]:
        r = r - wide * (2.0 * part)
    return b.cast("fptrunc", r, "f32")


def _table_words(b: Emitter, name: str, words: list[int], index: Value) -> Value:
    """`words[index]` in each lane, from a constant table; the index is an i32."""
    texts = ", ".join(f"i32 {w - (1 << 32) if w >> 31 else w}" for w in words)
    b.declarations.add(f"@{name} = internal constant [{len(words)} x i32] [{texts}]")
    pointers = b.vector("ptr")
    address = b.raw(f"getelementptr i32, ptr @{name}, {b.register('i32')} {index.ref}")
    if b.lanes == 1:
        return b.emit("i32", f"load i32, ptr {address}, align 4")
    register = b.register("i32")
    mask = b.register("i1")
    function = f"llvm.masked.gather.{b.suffix('i32')}.v{b.lanes}p0"
    b.declarations.add(
        f"declare {register} @{function}({pointers}, i32, {mask}, {register})"
    )
    return b.emit(
        "i32",
        f"call {register} @{function}({pointers} {address}, i32 4, "
        f"{mask} splat (i1 true), {register} zeroinitializer)",
    )


def _words(bits: int, count: int) -> list[int]:
    """A bit string as 32-bit words, the first bits first."""
    return [(bits >> (32 * (count - 1 - k))) & 0xFFFFFFFF for k in range(count)]


def _window(
    b: Emitter, name: str, words: list[int], offset: Value, count: int
) -> list[Value]:
    """`count` 32-bit words of a bit string, from a bit offset (i32), as u64 values."""
    first = b.relabel(b.relabel(offset, "u32") >> 5, "i32")
    shift = offset & 31
    loaded = [_table_words(b, name, words, first + k) for k in range(count + 1)]
    funnelled = [
        b.intrinsic("fshl", loaded[k], loaded[k + 1], shift) for k in range(count)
    ]
    return [b.cast("zext", word, "u64") for word in funnelled]


def _large_f32(b: Emitter, x: Value, fast: Value, cosine: bool) -> Value:
    """Sine or cosine of every finite |x| ≥ 2¹⁷; `fast` elsewhere."""
    words = [0, *_words(INVERSE_PI_BITS, 9)]
    bits = b.bits(x)
    size = bits & 0x7FFFFFFF
    exponent = size >> 23
    exponent = b.select(b.compare("slt", exponent, 144), 144, exponent)
    mantissa = b.cast("zext", (size & 0x7FFFFF) | 0x800000, "u64")
    window = _window(b, "tetrad_inverse_pi", words, exponent - 119, 3)
    # The product modulo 2 as a 64-bit fraction of 2.
    product = (mantissa * window[0]) << 32
    product = product + mantissa * window[1] + ((mantissa * window[2]) >> 32)
    if cosine:
        product = product + (1 << 62)
    odd = ((product >> 63) + ((product >> 62) & 1)) << 31
    fraction = b.relabel(product << 1, "i64")
    r = b.cast("sitofp", fraction, "f64") * (math.pi * 2.0**-64)
    y = _sin_of_reduced_f32(b, b.cast("fptrunc", r, "f32"))
    sign = b.cast("trunc", odd, "i32")
    if not cosine:
        sign = sign ^ (bits & -(2**31))
    y = b.from_bits(b.bits(y) ^ sign)
    y = b.select(b.compare("uge", size, 0x7F800000), math.nan, y)
    return b.select(b.compare("uge", size, 0x48000000), y, fast)


# Double precision: x = n·π/2 + r with r as a pair, then sin r or cos r


def _circular_f64(b: Emitter, x: Value, name: str) -> Value:
    fast = moderate(b, x, name)
    large = b.compare("uge", b.magnitude(x), _limit_f64(b))
    return b.if_any(large, lambda: b.call_helper(LARGE_F64[name], x, fast), fast)


def _large_f64(b: Emitter, x: Value, fast: Value, name: str) -> Value:
    """The function of every finite x beyond the limit; `fast` elsewhere."""
    slow = _finish_f64(b, name, x, *_reduced_large_f64(b, x))
    return b.select(b.compare("olt", b.magnitude(x), _limit_f64(b)), fast, slow)


def moderate(b: Emitter, x: Value, name: str) -> Value:
    """`sin`, `cos` or `tan` of an f64 below 2²⁰, without the branch for larger ones."""
    return _finish_f64(b, name, x, *_reduced_f64(b, x))


def _limit_f64(b: Emitter) -> float:
    """Up to where `_reduced_f64` holds."""
    return 2.0**30 if b.has_fma else 2.0**20


def _reduced_f64(b: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """(n as i64, r, its rounding error) with x = n·π/2 + r."""
    whole = b.nearest(x * (2.0 / math.pi))
    quadrant = b.to_int(whole)
    if b.has_fma:
        first, second, third = HALF_PI_F64
        r = b.fma(whole, -first, x)
        product, lost = b.two_product(whole, b.constant(second, "f64"))
        high, low = b.two_sum(r, -product)
        return quadrant, high, low - b.fma(whole, third, lost)
    first, second, third, fourth = HALF_PI_SHORT
    r = x - whole * first
    high, low = b.two_sum(r, -(whole * second))
    return quadrant, high, (low - whole * third) - whole * fourth


def _reduced_large_f64(b: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """As `_reduced_f64`, for every finite |x| ≥ 2²⁰."""
    bits = b.bits(x)
    size = bits & 0x7FFFFFFFFFFFFFFF
    exponent = b.cast("trunc", size >> 52, "i32")
    exponent = b.select(b.compare("slt", exponent, 1043), 1043, exponent)
    mantissa = b.relabel((size & ((1 << 52) - 1)) | (1 << 52), "u64")
    fraction, rest, quadrant = _fraction_of_product(b, mantissa, exponent - 1013)
    # To a pair of doubles: 53 bits exactly, then the rest.
    scale = 2.0**-64
    head = b.cast("sitofp", fraction & -2048, "f64") * scale
    tail = b.cast("sitofp", fraction & 2047, "f64") * scale
    tail = tail + b.cast("uitofp", rest, "f64") * (scale * scale)
    head, tail = b.fast_two_sum(head, tail)
    first, second, _ = HALF_PI_F64
    high, lost = b.two_product(head, b.constant(first, "f64"))
    low = lost + (head * second + tail * first)
    negative = b.compare("slt", bits, 0)
    quadrant = b.select(negative, 0 - quadrant, quadrant)
    high = b.select(negative, -high, high)
    low = b.select(negative, -low, low)
    infinite = b.compare("uge", size, 0x7FF0000000000000)
    return quadrant, b.select(infinite, math.nan, high), low


def _fraction_of_product(
    b: Emitter, mantissa: Value, offset: Value
) -> tuple[Value, Value, Value]:
    """(signed fraction in 2⁻⁶⁴, its next 64 bits, nearest whole number modulo 4)."""
    words = [0, 0, *_words(TWO_OVER_PI_BITS, 42)]
    window = _window(b, "tetrad_two_over_pi", words, offset, 6)
    low_half = mantissa & 0xFFFFFFFF
    high_half = mantissa >> 32
    with_low = [low_half * word for word in window]
    with_high = [high_half * word for word in window]
    mask = 0xFFFFFFFF
    columns: list[Value] = []
    for j in range(5):
        column = (with_low[j] & mask) + (with_low[j + 1] >> 32)
        column = column + (with_high[j + 1] & mask)
        if j < 4:
            column = column + (with_high[j + 2] >> 32)
        columns.append(column)
    carry = columns[4] >> 32
    digits: list[Value] = []
    for column in reversed(columns[:4]):
        column = column + carry
        digits.append(column & mask)
        carry = column >> 32
    top = (digits[3] << 32) | digits[2]
    bottom = (digits[1] << 32) | digits[0]
    quadrant = b.relabel((top + (1 << 61)) >> 62, "i64")
    fraction = b.relabel((top << 2) | (bottom >> 62), "i64")
    return fraction, bottom << 2, quadrant


def _finish_f64(
    b: Emitter, name: str, x: Value, quadrant: Value, high: Value, low: Value
) -> Value:
    square = high * high
    sine, cosine = _sine_f64(b, high, low, square), _cosine_f64(b, high, low, square)
    odd = b.compare("ne", quadrant & 1, 0)
    if name == "tan":
        y = b.select(odd, -cosine, sine) / b.select(odd, sine, cosine)
        return b.select(b.compare("oeq", x, 0.0), x, y)
    if name == "sin":
        y = b.select(odd, cosine, sine)
        sign = (quadrant & 2) << 62
        y = b.from_bits(b.bits(y) ^ sign)
        return b.select(b.compare("oeq", x, 0.0), x, y)
    y = b.select(odd, sine, cosine)
    sign = ((quadrant + 1) & 2) << 62
    return b.from_bits(b.bits(y) ^ sign)


def _sine_f64(b: Emitter, high: Value, low: Value, square: Value) -> Value:
    tail = b.fma(square * high, b.estrin(square, table.SIN_F64), low)
    return high + tail


def _cosine_f64(b: Emitter, high: Value, low: Value, square: Value) -> Value:
    half = square * 0.5
    head = 1.0 - half
    tail = b.fma(square * square, b.estrin(square, table.COS_F64), -(high * low))
    return head + (((1.0 - head) - half) + tail)


SIN_LARGE_F32 = Helper(
    "sin_large_f32", "f32", ("f32", "f32"), partial(_large_f32, cosine=False)
)
COS_LARGE_F32 = Helper(
    "cos_large_f32", "f32", ("f32", "f32"), partial(_large_f32, cosine=True)
)
TAN_LARGE_F32 = Helper("tan_large_f32", "f32", ("f32", "f32"), _large_tangent_f32)
LARGE_F64 = {
    name: Helper(
        f"{name}_large_f64", "f64", ("f64", "f64"), partial(_large_f64, name=name)
    )
    for name in ("sin", "cos", "tan")
}
