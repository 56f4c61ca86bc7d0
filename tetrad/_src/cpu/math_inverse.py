"""Inverse circular functions of f32 and f64 vectors.

In: an emitter and f32 or f64 values; out: values of the same type. `asin` and `acos`
share a polynomial on |x| ≤ ½ and √((1 − |x|)/2) beyond; `atan` and `atan2` divide once,
after choosing among 0, π/4 and π/2 the angle from which the rest is small.
"""

from __future__ import annotations

import math

from tetrad._src.cpu import coefficients as table
from tetrad._src.cpu.math_exp import pick
from tetrad._src.cpu.registers import Emitter, Value

HALF_PI_F32 = (1.5707963705062866, -4.371139000186241e-08)
HALF_PI_F64 = (1.5707963267948966, 6.123233995736766e-17)
TAN_EIGHTH = math.sqrt(2) - 1
TAN_THREE_EIGHTHS = math.sqrt(2) + 1


def _half_pi(x: Value) -> tuple[float, float]:
    return HALF_PI_F64 if x.type == "f64" else HALF_PI_F32


def _arc_sine_of_small(b: Emitter, x: Value) -> tuple[Value, Value]:
    """(is |x| ≤ ½, asin of s) with s = |x| or √((1 − |x|)/2)."""
    size = b.magnitude(x)
    small = b.compare("ole", size, 0.5)
    square = b.select(small, size * size, (1.0 - size) * 0.5)
    s = b.select(small, size, b.square_root(square))
    if x.type == "f64":
        tail = b.estrin(square, table.ASIN_F64)
    else:
        tail = b.horner(square, table.ASIN_F32)
    return small, b.fma(s * square, tail, s)


def asin(b: Emitter, x: Value) -> Value:
    """Arc sine: NaN beyond ±1."""
    small, y = _arc_sine_of_small(b, x)
    high, low = _half_pi(x)
    large = b.fma(y, -2.0, high) + low
    return b.copysign(b.select(small, y, large), x)


def acos(b: Emitter, x: Value) -> Value:
    """Arc cosine: NaN beyond ±1."""
    small, y = _arc_sine_of_small(b, x)
    high, low = _half_pi(x)
    negative = b.compare("olt", x, 0.0)
    near_right_angle = high - (b.copysign(y, x) - low)
    twice = y + y
    beyond = (2.0 * high - twice) + 2.0 * low
    return b.select(small, near_right_angle, b.select(negative, beyond, twice))


def _angle(b: Emitter, opposite: Value, adjacent: Value) -> Value:
    """atan(opposite/adjacent) for magnitudes, in [0, π/2]."""
    low = b.compare("ole", opposite, adjacent * TAN_EIGHTH)
    high = b.compare("ogt", opposite, adjacent * TAN_THREE_EIGHTHS)
    top = b.select(high, -adjacent, opposite - adjacent)
    top = b.select(low, opposite, top)
    bottom = b.select(high, opposite, opposite + adjacent)
    bottom = b.select(low, adjacent, bottom)
    t = top / bottom
    square = t * t
    if t.type == "f64":
        tail = b.estrin(square, table.ATAN_F64)
    else:
        tail = b.horner(square, table.ATAN_F32)
    whole, rest = _half_pi(t)
    base = b.select(high, whole, b.constant(whole / 2, t.type))
    base = b.select(low, 0.0, base)
    base_low = b.select(high, rest, b.constant(rest / 2, t.type))
    base_low = b.select(low, 0.0, base_low)
    tail = b.fma(t * square, tail, base_low)
    return base + (t + tail)


def atan(b: Emitter, x: Value) -> Value:
    """Arc tangent."""
    y = _angle(b, b.magnitude(x), b.constant(1.0, x.type))
    y = b.select(b.compare("oeq", b.magnitude(x), math.inf), _half_pi(x)[0], y)
    return b.copysign(y, x)


def atan2(b: Emitter, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), by C99's rules for zeros and infinities."""
    opposite, adjacent = b.magnitude(y), b.magnitude(x)
    # Sums of the sides must not overflow; the quotient may be subnormal.
    huge = b.compare("ogt", b.larger(opposite, adjacent), pick(x, 2.0**125, 2.0**1021))
    shrink = b.select(huge, b.constant(0.25, x.type), 1.0)
    angle = _angle(b, opposite * shrink, adjacent * shrink)
    both_infinite = b.binary(
        "and",
        b.compare("oeq", opposite, math.inf),
        b.compare("oeq", adjacent, math.inf),
    )
    angle = b.select(both_infinite, math.pi / 4, angle)
    angle = b.select(b.compare("oeq", opposite, 0.0), opposite, angle)
    high, low = _half_pi(x)
    behind = (2.0 * high - angle) + 2.0 * low
    negative = b.compare("slt", b.bits(x), 0)
    angle = b.select(negative, behind, angle)
    angle = b.select(b.compare("uno", x, y), math.nan, angle)
    return b.copysign(angle, y)
