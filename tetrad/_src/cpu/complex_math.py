"""Functions of complex vectors, built from the real ones.

In: an emitter and pairs (real, imaginary) of f64 values; out: such pairs, or an f64.
Single-precision complex numbers come here as f64 pairs (`scalar.py` widens and rounds),
which spares them overflow and most cancellation; but their magnitude is taken as it is. Branch cuts, signed zeros and infinities
follow C99 Annex G; W. Kahan, "Branch cuts for complex elementary functions", 1987.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tetrad._src.cpu import math_exp, math_inverse, math_trig
from tetrad._src.cpu.math_exp import reduce_exp, reduce_exp2, scale
from tetrad._src.cpu.registers import Emitter, Value

Pair = tuple[Value, Value]

BIG = 2.0**500
STEP = 600


# Small tools


def times_i(b: Emitter, z: Pair) -> Pair:
    """i·z."""
    return -z[1], z[0]


def over_i(b: Emitter, z: Pair) -> Pair:
    """z / i."""
    return z[1], -z[0]


def multiply(b: Emitter, x: Pair, y: Pair) -> Pair:
    """Product."""
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def is_infinite(b: Emitter, x: Value) -> Value:
    """Whether a real is ±∞."""
    return b.compare("oeq", b.magnitude(x), math.inf)


def either_infinite(b: Emitter, z: Pair) -> Value:
    """Whether a part is infinite."""
    return b.binary("or", is_infinite(b, z[0]), is_infinite(b, z[1]))


def both_finite(b: Emitter, z: Pair) -> Value:
    """Whether neither part is infinite or NaN."""
    return b.binary(
        "and",
        b.compare("olt", b.magnitude(z[0]), math.inf),
        b.compare("olt", b.magnitude(z[1]), math.inf),
    )


def select_pair(b: Emitter, where: Value, x: Pair, y: Pair) -> Pair:
    """Lane by lane one of two complex numbers."""
    return b.select(where, x[0], y[0]), b.select(where, x[1], y[1])


def step_down(b: Emitter, z: Pair) -> tuple[Pair, Value]:
    """(z·2⁻ᵏ, k) where k is 600 for huge, −600 for tiny and 0 for other numbers."""
    size = b.larger(b.magnitude(z[0]), b.magnitude(z[1]))
    zero = b.constant(0, "i64")
    k = b.select(b.compare("olt", size, 1 / BIG), -STEP, zero)
    k = b.select(b.compare("ogt", size, BIG), STEP, k)
    factor = b.power_of_two(0 - k)
    return (z[0] * factor, z[1] * factor), k


# Arithmetic


def magnitude(b: Emitter, z: Pair) -> Value:
    """|z|; infinite if a part is, even if the other is NaN.

    A power of two brings the larger part near 1, so that no square leaves the range.
    """
    x, y = b.magnitude(z[0]), b.magnitude(z[1])
    digits, top = (23, 254) if x.type == "f32" else (52, 2046)
    exponent = b.intrinsic("smax", b.bits(x), b.bits(y)) & ((top + 1) << digits)
    exponent = b.intrinsic("smax", exponent, 1 << digits)
    exponent = b.intrinsic("smin", exponent, (top - 2) << digits)
    factor = b.from_bits((top << digits) - exponent)
    x, y = x * factor, y * factor
    size = b.square_root(x * x + y * y) * b.from_bits(exponent)
    return b.select(either_infinite(b, z), math.inf, size)


def divide(b: Emitter, x: Pair, y: Pair) -> Pair:
    """x / y by C99's rules: a nonzero number over zero is infinite."""
    (top, top_k), (bottom, bottom_k) = step_down(b, x), step_down(b, y)
    norm = bottom[0] * bottom[0] + bottom[1] * bottom[1]
    real = (top[0] * bottom[0] + top[1] * bottom[1]) / norm
    imag = (top[1] * bottom[0] - top[0] * bottom[1]) / norm
    shift = top_k - bottom_k
    result = scale(b, real, shift), scale(b, imag, shift)
    # Where both parts became NaN, one of three cases may still have a value.
    zero = b.compare("oeq", norm, 0.0)
    infinity = b.copysign(b.constant(math.inf, "f64"), y[0])
    result = select_pair(b, zero, (infinity * x[0], infinity * x[1]), result)
    whole_top = b.binary("and", either_infinite(b, x), both_finite(b, y))
    whole_top = b.binary("and", whole_top, b.negated(zero))
    u, v = _unit_if_infinite(b, x)
    real = math.inf * (u * y[0] + v * y[1])
    imag = math.inf * (v * y[0] - u * y[1])
    result = select_pair(b, whole_top, (real, imag), result)
    whole_bottom = b.binary("and", either_infinite(b, y), both_finite(b, x))
    u, v = _unit_if_infinite(b, y)
    real = 0.0 * (x[0] * u + x[1] * v)
    imag = 0.0 * (x[1] * u - x[0] * v)
    return select_pair(b, whole_bottom, (real, imag), result)


def _unit_if_infinite(b: Emitter, z: Pair) -> Pair:
    """±1 for infinite parts and ±0 for others."""
    one = b.constant(1.0, "f64")
    u = b.copysign(b.select(is_infinite(b, z[0]), one, 0.0), z[0])
    v = b.copysign(b.select(is_infinite(b, z[1]), one, 0.0), z[1])
    return u, v


def reciprocal(b: Emitter, z: Pair) -> Pair:
    """1 / z."""
    return divide(b, (b.constant(1.0, "f64"), b.constant(0.0, "f64")), z)


def sign(b: Emitter, z: Pair) -> Pair:
    """z / |z|, and 0 at 0."""
    size = magnitude(b, z)
    zero = b.compare("oeq", size, 0.0)
    return select_pair(b, zero, z, (z[0] / size, z[1] / size))


def sqrt(b: Emitter, z: Pair) -> Pair:
    """The square root with a real part that is not negative."""
    (x, y), k = step_down(b, z)
    size = b.square_root(x * x + y * y)
    root = b.square_root((b.magnitude(x) + size) * 0.5)
    other = y / (root + root)
    negative = b.compare("olt", x, 0.0)
    real = b.select(negative, b.magnitude(other), root)
    imag = b.select(negative, b.copysign(root, y), other)
    factor = b.power_of_two(k >> 1)
    real, imag = real * factor, imag * factor
    zero = b.compare("oeq", root, 0.0)
    real, imag = b.select(zero, 0.0, real), b.select(zero, z[1], imag)
    tall = is_infinite(b, z[1])
    real, imag = b.select(tall, math.inf, real), b.select(tall, z[1], imag)
    wide = b.compare("oeq", z[0], math.inf)
    known = b.binary("and", b.compare("ord", z[1], z[1]), b.negated(tall))
    real = b.select(wide, math.inf, real)
    wide = b.binary("and", wide, known)
    imag = b.select(wide, b.copysign(b.constant(0.0, "f64"), z[1]), imag)
    left = b.compare("oeq", z[0], -math.inf)
    imag = b.select(left, b.copysign(b.constant(math.inf, "f64"), z[1]), imag)
    return b.select(b.binary("and", left, known), 0.0, real), imag


def rsqrt(b: Emitter, z: Pair) -> Pair:
    """1/√z."""
    return reciprocal(b, sqrt(b, z))


# Exponentials


def exp(b: Emitter, z: Pair) -> Pair:
    """eᶻ = eˣ (cos y + i sin y)."""
    exponent, p = reduce_exp(b, b.clamp(z[0], -1416.0, 1416.0))
    return _spiral(b, z, exponent, p)


def exp2(b: Emitter, z: Pair) -> Pair:
    """2ᶻ = 2ˣ (cos(y·log 2) + i sin(y·log 2))."""
    exponent, p = reduce_exp2(b, b.clamp(z[0], -2040.0, 2040.0))
    return _spiral(b, (z[0], z[1] * math.log(2)), exponent, p)


def _spiral(b: Emitter, z: Pair, exponent: Value, p: Value) -> Pair:
    """2ⁿ (1 + p)(cos y + i sin y), scaled last, so that only results overflow."""
    x, y = z
    cosine, sine = math_trig.cos(b, y), math_trig.sin(b, y)
    real = scale(b, b.fma(p, cosine, cosine), exponent)
    imag = scale(b, b.fma(p, sine, sine), exponent)
    imag = b.select(b.compare("oeq", y, 0.0), y, imag)
    # e^(−∞) is 0 in every direction, e^∞ infinite.
    wild = b.binary("or", is_infinite(b, y), b.compare("uno", y, y))
    vanishing = b.binary("and", b.compare("oeq", x, -math.inf), wild)
    exploding = b.binary("and", b.compare("oeq", x, math.inf), wild)
    real = b.select(vanishing, 0.0, b.select(exploding, math.inf, real))
    return real, b.select(vanishing, 0.0, imag)


def expm1(b: Emitter, z: Pair) -> Pair:
    """eᶻ − 1 with real part expm1(x)·cos y − 2 sin²(y/2)."""
    x, y = z
    half = math_trig.sin(b, y * 0.5)
    cosine = math_trig.cos(b, y)
    real = math_exp.expm1(b, x) * cosine - 2.0 * (half * half)
    far = b.compare("ogt", b.magnitude(x), 40.0)
    full = exp(b, z)
    real = b.select(far, full[0] - 1.0, real)
    on_axis = b.compare("oeq", y, 0.0)
    return b.select(on_axis, math_exp.expm1(b, x), real), full[1]


def logistic(b: Emitter, z: Pair) -> Pair:
    """1/(1 + e⁻ᶻ)."""
    e = exp(b, (-z[0], -z[1]))
    return reciprocal(b, (e[0] + 1.0, e[1]))


def log(b: Emitter, z: Pair) -> Pair:
    """log|z| + i·arg z."""
    return log_magnitude(b, z), math_inverse.atan2(b, z[1], z[0])


def log_magnitude(b: Emitter, z: Pair) -> Value:
    """log|z|; near 1 by log1p(|z|² − 1), the square taken in double-double."""
    scaled, k = step_down(b, z)
    p, q = b.magnitude(scaled[0]), b.magnitude(scaled[1])
    swapped = b.compare("ogt", q, p)
    large, small = b.select(swapped, q, p), b.select(swapped, p, q)
    large_square, large_low = b.two_product(large, large)
    small_square, small_low = b.two_product(small, small)
    norm = large_square + small_square
    total, rest = b.two_sum(large_square - 1.0, small_square)
    excess = total + (rest + (large_low + small_low))
    near = b.binary("and", b.compare("ogt", norm, 0.5), b.compare("olt", norm, 2.0))
    argument = b.select(near, excess, norm - 1.0)
    y = b.select(near, math_exp.log1p(b, argument), math_exp.log(b, norm)) * 0.5
    y = b.fma(b.to_float(k), math.log(2), y)
    return b.select(either_infinite(b, z), math.inf, y)


def log1p(b: Emitter, z: Pair) -> Pair:
    """log(1 + z), by log1p(2x + x² + y²)."""
    x, y = z
    x_square, x_low = b.two_product(x, x)
    y_square, y_low = b.two_product(y, y)
    total, first = b.two_sum(x + x, y_square)
    total, second = b.two_sum(total, x_square)
    excess = total + ((first + second) + (x_low + y_low))
    real = math_exp.log1p(b, excess) * 0.5
    # Far away, or where 1 + z is small, the sum itself is accurate.
    size = b.larger(b.magnitude(x), b.magnitude(y))
    direct = b.binary(
        "or", b.compare("oge", size, 2.0**100), b.compare("olt", excess, -0.5)
    )
    direct = b.binary("or", direct, either_infinite(b, z))
    real = b.select(direct, log_magnitude(b, (x + 1.0, y)), real)
    return real, math_inverse.atan2(b, y, x + 1.0)


def pow(b: Emitter, x: Pair, y: Pair) -> Pair:
    """exp(y·log x); 1 where y is 0, and 0 at x = 0 where y has a positive real part."""
    result = exp(b, multiply(b, y, log(b, x)))
    at_zero = b.binary("and", b.compare("oeq", x[0], 0.0), b.compare("oeq", x[1], 0.0))
    at_zero = b.binary("and", at_zero, b.compare("ogt", y[0], 0.0))
    zero, one = b.constant(0.0, "f64"), b.constant(1.0, "f64")
    result = select_pair(b, at_zero, (zero, zero), result)
    trivial = b.binary("and", b.compare("oeq", y[0], 0.0), b.compare("oeq", y[1], 0.0))
    return select_pair(b, trivial, (one, zero), result)


# Hyperbolic and circular functions


def sinh(b: Emitter, z: Pair) -> Pair:
    """sinh x·cos y + i·cosh x·sin y."""
    x, y = z
    cosine = math_trig.cos(b, y)
    real = math_exp.sinh(b, x) * cosine
    imag = math_exp.cosh(b, x) * math_trig.sin(b, y)
    undefined = b.compare("uno", cosine, cosine)
    flat = b.binary("and", b.compare("oeq", x, 0.0), undefined)
    real = b.select(flat, x, real)
    lost = b.binary("and", is_infinite(b, x), undefined)
    real = b.select(lost, x, real)
    on_axis = b.compare("oeq", y, 0.0)
    return b.select(on_axis, math_exp.sinh(b, x), real), b.select(on_axis, y, imag)


def cosh(b: Emitter, z: Pair) -> Pair:
    """cosh x·cos y + i·sinh x·sin y."""
    x, y = z
    cosine = math_trig.cos(b, y)
    real = math_exp.cosh(b, x) * cosine
    lost = b.binary("and", is_infinite(b, x), b.compare("uno", cosine, cosine))
    real = b.select(lost, math.inf, real)
    imag = math_exp.sinh(b, x) * math_trig.sin(b, y)
    flat = b.binary("or", b.compare("oeq", x, 0.0), b.compare("oeq", y, 0.0))
    one = b.constant(1.0, "f64")
    zero = b.copysign(b.constant(0.0, "f64"), x) * b.copysign(one, y)
    real = b.select(b.compare("oeq", y, 0.0), math_exp.cosh(b, x), real)
    return real, b.select(flat, zero, imag)


def tanh(b: Emitter, z: Pair) -> Pair:
    """(β·cosh x·sinh x + i·t)/(1 + β·sinh² x) with t = tan y, β = 1 + t²."""
    x, y = z
    t = math_trig.tan(b, y)
    beta = t * t + 1.0
    size = b.clamp(b.magnitude(x), None, 40.0)
    near = b.copysign(size, x)
    s, c = math_exp.sinh(b, near), math_exp.cosh(b, near)
    bottom = beta * (s * s) + 1.0
    real = ((beta * c) * s) / bottom
    imag = t / bottom
    far = b.compare("ogt", b.magnitude(x), 20.0)
    real = b.select(far, b.copysign(b.constant(1.0, "f64"), x), real)
    ebb = math_exp.exp(b, b.magnitude(x) * -2.0)
    tail = 4.0 * (math_trig.sin(b, y) * math_trig.cos(b, y)) * ebb
    wild = b.binary("and", is_infinite(b, x), b.compare("uno", t, t))
    tail = b.select(wild, b.copysign(b.constant(0.0, "f64"), y), tail)
    real = b.select(b.compare("oeq", x, 0.0), x, real)
    imag = b.select(far, tail, imag)
    return real, b.select(b.compare("oeq", y, 0.0), y, imag)


def sin(b: Emitter, z: Pair) -> Pair:
    """−i·sinh(i·z)."""
    return over_i(b, sinh(b, times_i(b, z)))


def cos(b: Emitter, z: Pair) -> Pair:
    """cosh(i·z)."""
    return cosh(b, times_i(b, z))


def tan(b: Emitter, z: Pair) -> Pair:
    """−i·tanh(i·z)."""
    return over_i(b, tanh(b, times_i(b, z)))


# Their inverses


def _roots_of_one_plus_minus(b: Emitter, z: Pair) -> tuple[Pair, Pair]:
    """√(1 + z) and √(1 − z)."""
    return sqrt(b, (z[0] + 1.0, z[1])), sqrt(b, (1.0 - z[0], -z[1]))


def _far(b: Emitter, z: Pair) -> tuple[Value, Value]:
    """(is |z| large, log |2z|): there the inverses are a logarithm and an angle."""
    size = b.larger(b.magnitude(z[0]), b.magnitude(z[1]))
    far = b.binary("or", b.compare("ogt", size, 2.0**60), either_infinite(b, z))
    return far, log_magnitude(b, z) + math_exp.LN2


def asin(b: Emitter, z: Pair) -> Pair:
    """Arc sine."""
    plus, minus = _roots_of_one_plus_minus(b, z)
    cosine = plus[0] * minus[0] - plus[1] * minus[1]
    imag = math_exp.asinh(b, minus[0] * plus[1] - minus[1] * plus[0])
    far, logarithm = _far(b, z)
    imag = b.select(far, logarithm, imag)
    cosine = b.select(far, b.magnitude(z[1]), cosine)
    real = math_inverse.atan2(b, z[0], cosine)
    real = b.select(b.compare("oeq", z[0], 0.0), z[0], real)
    return real, b.copysign(imag, z[1])


def acos(b: Emitter, z: Pair) -> Pair:
    """Arc cosine."""
    plus, minus = _roots_of_one_plus_minus(b, z)
    imag = math_exp.asinh(b, plus[0] * minus[1] - plus[1] * minus[0])
    far, logarithm = _far(b, z)
    imag = b.select(far, logarithm, imag)
    # Twice the angle of the two roots, or the angle of z.
    top = b.select(far, b.magnitude(z[1]), minus[0])
    angle = math_inverse.atan2(b, top, b.select(far, z[0], plus[0]))
    real = angle * b.select(far, b.constant(1.0, "f64"), 2.0)
    real = b.select(b.compare("oeq", z[0], 0.0), math.pi / 2, real)
    return real, b.copysign(imag, -z[1])


def asinh(b: Emitter, z: Pair) -> Pair:
    """−i·asin(i·z)."""
    return over_i(b, asin(b, times_i(b, z)))


def acosh(b: Emitter, z: Pair) -> Pair:
    """Inverse hyperbolic cosine."""
    plus = sqrt(b, (z[0] + 1.0, z[1]))
    minus = sqrt(b, (z[0] - 1.0, z[1]))
    real = math_exp.asinh(b, minus[0] * plus[0] + minus[1] * plus[1])
    far, logarithm = _far(b, z)
    real = b.select(far, logarithm, real)
    top = b.select(far, z[1], minus[1])
    angle = math_inverse.atan2(b, top, b.select(far, z[0], plus[0]))
    imag = angle * b.select(far, b.constant(1.0, "f64"), 2.0)
    return b.magnitude(real), b.copysign(imag, z[1])


def atanh(b: Emitter, z: Pair) -> Pair:
    """log1p(4x/((1 − x)² + y²))/4 + i·arg((1 − x)(1 + x) − y² + 2iy)/2."""
    x, y = b.magnitude(z[0]), z[1]
    rest = 1.0 - x
    square = y * y
    quotient = (4.0 * x) / (rest * rest + square)
    real = math_exp.log1p(b, quotient) * 0.25
    imag = 0.5 * math_inverse.atan2(b, y + y, rest * (x + 1.0) - square)
    far = b.compare("ogt", b.larger(x, b.magnitude(y)), 2.0**60)
    far = b.binary("or", far, either_infinite(b, z))
    real = b.select(far, b.magnitude(reciprocal(b, z)[0]), real)
    right_angle = b.copysign(b.constant(math.pi / 2, "f64"), y)
    imag = b.select(far, right_angle, imag)
    imag = b.select(b.compare("uno", y, y), math.nan, imag)
    real = b.select(b.compare("oeq", x, 0.0), x, real)
    return b.copysign(real, z[0]), imag


def atan(b: Emitter, z: Pair) -> Pair:
    """−i·atanh(i·z)."""
    return over_i(b, atanh(b, times_i(b, z)))


UNARY: dict[str, Callable[[Emitter, Pair], Pair]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "logistic": logistic,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "sign": sign,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}
"""Complex functions of one argument."""

BINARY: dict[str, Callable[[Emitter, Pair, Pair], Pair]] = {
    "div": divide,
    "pow": pow,
}
"""Complex functions of two arguments."""
