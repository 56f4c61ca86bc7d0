"""Exponentials and logarithms of f32 and f64 vectors, and what is made of them.

In: an emitter and f32 or f64 values; out: values of the same type. The method is the
usual one: x = n·log 2 + r with |r| ≤ log(2)/2, a polynomial in r, then n into the
exponent; and for logarithms x = 2ⁿ·m with √½ ≤ m < √2 and a polynomial in m − 1.
Every function is right for infinities, NaN, signed zeros and subnormals by C99 Annex F.
"""

from __future__ import annotations

import math

from tetrad._src.cpu import coefficients as table
from tetrad._src.cpu.registers import Emitter, Value

INFINITY = math.inf
NAN = math.nan


def reduce_exp(b: Emitter, x: Value) -> tuple[Value, Value]:
    """(n, eʳ − 1) with x = n·log 2 + r; n is an integer; x is in exp's finite range."""
    high, low = table.LN2_F64 if x.type == "f64" else table.LN2_F32
    whole = b.nearest(x * table.LOG2_E)
    r = b.fma(whole, -high, x)
    r = b.fma(whole, -low, r)
    if x.type == "f64":
        tail = b.estrin(r, table.EXP_F64)
    else:
        tail = b.horner(r, table.EXP_F32)
    return b.to_int(whole), b.fma(r * r, tail, r)


def exp(b: Emitter, x: Value) -> Value:
    """eˣ."""
    if x.type == "f64":
        x = b.clamp(x, -746.0, 710.0)
    else:
        x = b.clamp(x, -104.0, 89.0)
    exponent, p = reduce_exp(b, x)
    half = exponent >> 1
    first = b.power_of_two(half)
    second = b.power_of_two(exponent - half)
    return b.fma(p, first, first) * second


def expm1_of_moderate(b: Emitter, x: Value) -> Value:
    """eˣ − 1 where 2ⁿ is a normal float."""
    exponent, p = reduce_exp(b, x)
    scale = b.power_of_two(exponent)
    return b.fma(p, scale, scale - 1.0)


def tanh(b: Emitter, x: Value) -> Value:
    """Hyperbolic tangent, as e/(e + 2) with e = e^(2|x|) − 1."""
    saturated, linear = (22.0, 1e-9) if x.type == "f64" else (9.5, 1e-4)
    size = b.clamp(b.magnitude(x), None, saturated)
    e = expm1_of_moderate(b, size * 2.0)
    y = e / (e + 2.0)
    y = b.select(b.compare("olt", size, linear), size, y)
    return b.copysign(y, x)


def split_log(b: Emitter, x: Value) -> tuple[Value, Value]:
    """(n as a float, m − 1) with x = 2ⁿ·m, for a positive normal x."""
    bits = b.bits(x)
    if x.type == "f64":
        exponent = (bits - 0x3FE6A09E00000000) >> 52
        mantissa = bits - (exponent << 52)
    else:
        exponent = (bits - 0x3F3504F3) >> 23
        mantissa = bits - (exponent << 23)
    return b.to_float(exponent), b.from_bits(mantissa) - 1.0


def join_log(b: Emitter, n: Value, f: Value) -> Value:
    """n·log 2 + log(1 + f)."""
    if f.type == "f64":
        high, low = table.LN2_F64
        s = f / (f + 2.0)
        z = s * s
        tail = z * b.estrin(z, table.LOG_F64)
        half_square = (f * f) * 0.5
        correction = b.fma(s, half_square + tail, n * low)
        return b.fma(n, high, f - (half_square - correction))
    high, low = table.LN2_F32
    square = f * f
    y = b.fma(square * f, b.horner(f, table.LOG_F32), n * low)
    y = b.fma(square, -0.5, y)
    return b.fma(n, high, f + y)


def log(b: Emitter, x: Value) -> Value:
    """Natural logarithm: −∞ at zeros, NaN below."""
    if x.type == "f64":
        smallest, shift = 2.2250738585072014e-308, 54
    else:
        smallest, shift = 1.1754943508222875e-38, 24
    tiny = b.compare("olt", x, smallest)
    normal = b.select(tiny, x * 2.0**shift, x)
    n, f = split_log(b, normal)
    n = b.select(tiny, n - float(shift), n)
    y = join_log(b, n, f)
    return log_specials(b, x, y)


def log_specials(b: Emitter, x: Value, y: Value) -> Value:
    """`y`, but log's values where x is ±0, negative, +∞ or NaN."""
    y = b.select(b.compare("oeq", x, INFINITY), x, y)
    y = b.select(b.compare("oeq", x, 0.0), -INFINITY, y)
    return b.select(b.compare("ult", x, 0.0), NAN, y)


def log1p(b: Emitter, x: Value) -> Value:
    """log(1 + x), with the rounding error of 1 + x made good."""
    u = x + 1.0
    lost = x - (u - 1.0)
    y = log(b, u) + lost / u
    linear = 1e-17 if x.type == "f64" else 1e-8
    y = b.select(b.compare("olt", b.magnitude(x), linear), x, y)
    return b.select(b.compare("oeq", u, INFINITY), u, y)


def log1p_of_negative(b: Emitter, t: Value) -> Value:
    """log(1 − t) for an f32 t in [0, 1), without special cases."""
    u = 1.0 - t
    lost = (1.0 - u) - t
    bits = b.bits(u)
    exponent = (bits - 0x3F3504F3) >> 23
    scale = b.power_of_two(0 - exponent)
    f = (b.from_bits(bits - (exponent << 23)) - 1.0) + lost * scale
    return join_log(b, b.to_float(exponent), f)

