"""Exponentials, logarithms and hyperbolic functions of f32 and f64 vectors.

In: an emitter and f32 or f64 values; out: values of the same type. The method is the
usual one: x = n·log 2 + r with |r| ≤ log(2)/2, a polynomial in r, then n into the
exponent; and for logarithms x = 2ⁿ·m with √½ ≤ m < √2 and a polynomial in m − 1.
Every function is right for infinities, NaN, signed zeros and subnormals by C99 Annex F.
"""

from __future__ import annotations

import math

from tetrad._src.cpu import coefficients as table
from tetrad._src.cpu.registers import Emitter, Value

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_F32 = (0.693145751953125, 1.428606765330187e-06)
LN2_F64 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
"""log 2 in two parts; the first has so few bits that its small multiples are exact."""


def pick(x: Value, single: float, double: float) -> float:
    """The constant for the type of `x`."""
    return double if x.type == "f64" else single


# Exponentials


def reduce_exp(b: Emitter, x: Value) -> tuple[Value, Value]:
    """(n, eʳ − 1) with x = n·log 2 + r; n is an integer; x is in exp's finite range."""
    high, low = LN2_F64 if x.type == "f64" else LN2_F32
    whole = b.nearest(x * LOG2_E)
    r = b.fma(whole, -high, x)
    r = b.fma(whole, -low, r)
    if x.type == "f64":
        tail = b.estrin(r, table.EXP_F64)
    else:
        tail = b.horner(r, table.EXP_F32)
    return b.to_int(whole), b.fma(r * r, tail, r)


def clamp_exp(b: Emitter, x: Value) -> Value:
    """`x` cut to where its exponential is finite, or just beyond."""
    if x.type == "f64":
        return b.clamp(x, -746.0, 710.0)
    return b.clamp(x, -104.0, 89.0)


def scale(b: Emitter, mantissa: Value, exponent: Value) -> Value:
    """mantissa·2ⁿ by two steps, since 2ⁿ alone may overflow or be subnormal."""
    half = exponent >> 1
    return (mantissa * b.power_of_two(half)) * b.power_of_two(exponent - half)


def one_plus_scaled(b: Emitter, p: Value, exponent: Value) -> Value:
    """(1 + p)·2ⁿ, rounded once where the result is normal."""
    half = exponent >> 1
    first = b.power_of_two(half)
    return b.fma(p, first, first) * b.power_of_two(exponent - half)


def exp(b: Emitter, x: Value) -> Value:
    """eˣ."""
    exponent, p = reduce_exp(b, clamp_exp(b, x))
    return one_plus_scaled(b, p, exponent)


def reduce_exp2(b: Emitter, x: Value) -> tuple[Value, Value]:
    """(n, 2ʳ − 1) with x = n + r; r is exact."""
    whole = b.nearest(x)
    r = x - whole
    if x.type == "f64":
        high, low = LN2_F64
        r = b.fma(r, high, r * low)
        p = b.fma(r * r, b.estrin(r, table.EXP_F64), r)
    else:
        p = r * b.horner(r, table.EXP2_F32)
    return b.to_int(whole), p


def exp2(b: Emitter, x: Value) -> Value:
    """2ˣ; exact for whole numbers."""
    x = b.clamp(x, pick(x, -151.0, -1076.0), pick(x, 129.0, 1025.0))
    exponent, p = reduce_exp2(b, x)
    return one_plus_scaled(b, p, exponent)


def expm1_of_moderate(b: Emitter, x: Value) -> Value:
    """eˣ − 1 where 2ⁿ is a normal float."""
    exponent, p = reduce_exp(b, x)
    scale = b.power_of_two(exponent)
    return b.fma(p, scale, scale - 1.0)


def expm1(b: Emitter, x: Value) -> Value:
    """eˣ − 1."""
    cut = b.clamp(x, pick(x, -25.0, -45.0), pick(x, 89.0, 710.0))
    exponent, p = reduce_exp(b, cut)
    # Half of it, since 2ⁿ may overflow where the result does not.
    scale = b.power_of_two(exponent - 1)
    y = b.fma(p, scale, scale - 0.5) * 2.0
    small = b.compare("olt", b.magnitude(x), pick(x, 2.0**-26, 2.0**-55))
    return b.select(small, x, y)


def logistic(b: Emitter, x: Value) -> Value:
    """1/(1 + e⁻ˣ), by e^−|x|, which never overflows."""
    e = exp(b, -b.magnitude(x))
    top = b.select(b.compare("olt", x, 0.0), e, 1.0)
    return top / (e + 1.0)


# Hyperbolic functions


def tanh(b: Emitter, x: Value) -> Value:
    """Hyperbolic tangent, as e/(e + 2) with e = e^(2|x|) − 1."""
    size = b.clamp(b.magnitude(x), None, pick(x, 9.5, 22.0))
    e = expm1_of_moderate(b, size * 2.0)
    y = e / (e + 2.0)
    small = b.compare("olt", size, pick(x, 1e-4, 1e-9))
    return b.copysign(b.select(small, size, y), x)


def sinh(b: Emitter, x: Value) -> Value:
    """Hyperbolic sine, as h + h/(2h + 1) with h = (e^|x| − 1)/2."""
    size = b.magnitude(x)
    exponent, p = reduce_exp(b, b.clamp(size, None, pick(x, 89.5, 710.5)))
    quarter = b.power_of_two(exponent - 2)
    h = b.fma(p, quarter, quarter - 0.25) * 2.0
    y = h + h / (2.0 * h + 1.0)
    y = b.select(b.compare("ogt", size, 40.0), h, y)
    small = b.compare("olt", size, pick(x, 2.0**-13, 2.0**-28))
    return b.copysign(b.select(small, size, y), x)


def cosh(b: Emitter, x: Value) -> Value:
    """Hyperbolic cosine, as h + 1/(4h) with h = e^|x|/2."""
    size = b.clamp(b.magnitude(x), None, pick(x, 90.0, 711.0))
    exponent, p = reduce_exp(b, size)
    h = one_plus_scaled(b, p, exponent - 1)
    return h + 0.25 / h


def asinh(b: Emitter, x: Value) -> Value:
    """log(a + √(a² + 1)) with the sign of x, a = |x|, by log1p."""
    size = b.magnitude(x)
    huge = b.compare("ogt", size, pick(x, 2.0**60, 2.0**500))
    square = size * size
    u = size + square / (b.square_root(square + 1.0) + 1.0)
    u = b.select(huge, size, u)
    y = log1p(b, u)
    y = b.select(huge, y + LN2, y)
    small = b.compare("olt", size, pick(x, 2.0**-13, 2.0**-28))
    return b.copysign(b.select(small, size, y), x)


def acosh(b: Emitter, x: Value) -> Value:
    """log(x + √(x² − 1)), by log1p of t + √(t(t + 2)) with t = x − 1."""
    huge = b.compare("ogt", x, pick(x, 2.0**60, 2.0**500))
    t = x - 1.0
    u = t + b.square_root(t * (t + 2.0))
    u = b.select(huge, x, u)
    y = log1p(b, u)
    y = b.select(huge, y + LN2, y)
    return b.select(b.compare("ult", x, 1.0), math.nan, y)


def atanh(b: Emitter, x: Value) -> Value:
    """log((1 + x)/(1 − x))/2, by log1p(2a/(1 − a)), a = |x|."""
    size = b.magnitude(x)
    y = log1p(b, (size + size) / (1.0 - size)) * 0.5
    small = b.compare("olt", size, pick(x, 2.0**-13, 2.0**-28))
    return b.copysign(b.select(small, size, y), x)


# Logarithms


def split_log(b: Emitter, x: Value) -> tuple[Value, Value]:
    """(n as an integer, m − 1) with x = 2ⁿ·m, for a positive normal x."""
    bits = b.bits(x)
    if x.type == "f64":
        exponent = (bits - 0x3FE6A09E00000000) >> 52
        mantissa = bits - (exponent << 52)
    else:
        exponent = (bits - 0x3F3504F3) >> 23
        mantissa = bits - (exponent << 23)
    return exponent, b.from_bits(mantissa) - 1.0


def join_log(b: Emitter, n: Value, f: Value) -> Value:
    """n·log 2 + log(1 + f)."""
    if f.type == "f64":
        high, low = LN2_F64
        s = f / (f + 2.0)
        z = s * s
        tail = z * b.estrin(z, table.LOG_F64)
        half_square = (f * f) * 0.5
        correction = b.fma(s, half_square + tail, n * low)
        return b.fma(n, high, f - (half_square - correction))
    high, low = LN2_F32
    square = f * f
    y = b.fma(square * f, b.horner(f, table.LOG_F32), n * low)
    y = b.fma(square, -0.5, y)
    return b.fma(n, high, f + y)


def scale_subnormal(b: Emitter, x: Value) -> tuple[Value, Value, int]:
    """(is x subnormal or below, x or x·2ᵏ in that case, k)."""
    shift = 54 if x.type == "f64" else 24
    smallest = pick(x, 1.1754943508222875e-38, 2.2250738585072014e-308)
    tiny = b.compare("olt", x, smallest)
    return tiny, b.select(tiny, x * 2.0**shift, x), shift


def log(b: Emitter, x: Value) -> Value:
    """Natural logarithm: −∞ at zeros, NaN below."""
    tiny, normal, shift = scale_subnormal(b, x)
    exponent, f = split_log(b, normal)
    n = b.to_float(exponent)
    n = b.select(tiny, n - float(shift), n)
    return log_specials(b, x, join_log(b, n, f))


def log_specials(b: Emitter, x: Value, y: Value) -> Value:
    """`y`, but log's values where x is ±0, negative, +∞ or NaN."""
    y = b.select(b.compare("oeq", x, math.inf), x, y)
    y = b.select(b.compare("oeq", x, 0.0), -math.inf, y)
    return b.select(b.compare("ult", x, 0.0), math.nan, y)


def log1p(b: Emitter, x: Value) -> Value:
    """log(1 + x): log of the rounded sum, its mantissa corrected by what was lost."""
    u = x + 1.0
    lost = b.select(b.compare("olt", b.magnitude(x), 1.0), x - (u - 1.0), 1.0 - (u - x))
    exponent, f = split_log(b, u)
    # u ≤ 2¹⁰²⁴ makes n ≤ 1024: the correction vanishes before 2⁻ⁿ leaves the range.
    largest = 1000 if x.type == "f64" else 120
    capped = b.select(b.compare("sgt", exponent, largest), largest, exponent)
    f = f + lost * b.power_of_two(0 - capped)
    y = join_log(b, b.to_float(exponent), f)
    y = log_specials(b, u, y)
    small = b.compare("olt", b.magnitude(x), pick(x, 2.0**-25, 2.0**-54))
    return b.select(small, x, y)


def log1p_of_negative(b: Emitter, t: Value) -> Value:
    """log(1 − t) for an f32 t in [0, 1), without special cases."""
    u = 1.0 - t
    lost = (1.0 - u) - t
    exponent, f = split_log(b, u)
    f = f + lost * b.power_of_two(0 - exponent)
    return join_log(b, b.to_float(exponent), f)
