"""Error functions and gamma functions of f32 and f64 vectors.

In: an emitter and f32 or f64 values; out: values of the same type. In single precision
`erf` is computed in single precision and everything else but `erf_inv` in double.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tetrad._src.cpu import coefficients as table
from tetrad._src.cpu.math_exp import (
    LN2_F64,
    LOG2_E,
    join_log,
    log,
    log1p_of_negative,
    scale,
    split_log,
)
from tetrad._src.cpu.math_trig import moderate
from tetrad._src.cpu.registers import Emitter, Helper, Value


def in_double(
    function: Callable[[Emitter, Value], Value],
) -> Callable[[Emitter, Value], Value]:
    """The function of an f32 or f64, computed as f64."""

    def wrapped(b: Emitter, x: Value) -> Value:
        if x.type == "f64":
            return function(b, x)
        return b.cast("fptrunc", function(b, b.cast("fpext", x, "f64")), "f32")

    return wrapped


# The error function and its complement


def erf(b: Emitter, x: Value) -> Value:
    """(2/√π) ∫₀ˣ exp(−t²) dt."""
    return _erf_f64(b, x) if x.type == "f64" else _erf_f32(b, x)


def _erf_f32(b: Emitter, x: Value) -> Value:
    """An odd polynomial up to 1, then 1 − 2^p(|x|)."""
    size = b.magnitude(x)
    square = x * x
    inner = b.fma(size, b.horner(square, table.ERF_F32), size)
    cut = b.clamp(size, None, 4.0)
    logarithm = b.horner(cut, table.ERFC_LOG2_F32)
    whole = b.nearest(logarithm)
    r = logarithm - whole
    power = b.power_of_two(b.to_int(whole))
    complement = b.fma(r * b.horner(r, table.EXP2_F32), power, power)
    y = b.select(b.compare("olt", size, 1.0), inner, 1.0 - complement)
    return b.copysign(y, x)


def _erf_f64(b: Emitter, x: Value) -> Value:
    size = b.magnitude(x)
    square = x * x
    inner = b.fma(size, b.estrin(square, table.ERF_F64), size)
    outer = 1.0 - _erfc_of_large(b, b.clamp(size, None, 6.0), table.ERFC_F64)
    y = b.select(b.compare("olt", size, 1.0), inner, outer)
    return b.copysign(y, x)


def _erfc_of_large(b: Emitter, size: Value, coefficients: tuple[float, ...]) -> Value:
    """erfc of an f64 x ≥ ½ as exp(−x²)·P(q)/(x + 2), q = (x − 2)/(x + 2)."""
    size = b.clamp(size, None, 28.0)
    square, square_low = b.two_product(size, size)
    whole = b.nearest(square * -LOG2_E)
    r = b.fma(whole, -LN2_F64[0], -square)
    r, lost = b.fast_two_sum(r, -(whole * LN2_F64[1]) - square_low)
    if len(coefficients) > 16:
        tail = b.estrin(r, table.EXP_F64)
    else:
        tail = b.horner(r, table.EXP_SHORT)
    p = b.fma(r * r, tail, lost) + r
    bottom = size + 2.0
    ratio = b.estrin((size - 2.0) / bottom, coefficients) / bottom
    return scale(b, b.fma(p, ratio, ratio), b.to_int(whole))


def erfc(b: Emitter, x: Value) -> Value:
    """1 − erf(x), accurate where it is small."""
    single = x.type == "f32"
    if single:
        x = b.cast("fpext", x, "f64")
    size = b.magnitude(x)
    inner = b.fma(x, b.estrin(x * x, table.ERF_F64), x)
    outer = _erfc_of_large(b, size, table.ERFC_SHORT if single else table.ERFC_F64)
    outer = b.select(b.compare("olt", x, 0.0), 2.0 - outer, outer)
    y = b.select(b.compare("olt", size, 0.8), 1.0 - inner, outer)
    return b.cast("fptrunc", y, "f32") if single else y


def erf_inv(b: Emitter, x: Value) -> Value:
    """The inverse of erf: x·P(w), w = −log(1 − x²); ±∞ at ±1, NaN beyond."""
    return _erf_inv_f64(b, x) if x.type == "f64" else _erf_inv_f32(b, x)


def _erf_inv_at_ends(b: Emitter, x: Value, y: Value) -> Value:
    size = b.magnitude(x)
    y = b.select(b.compare("oeq", size, 1.0), x * math.inf, y)
    return b.select(b.compare("ugt", size, 1.0), math.nan, y)


def _erf_inv_f32(b: Emitter, x: Value) -> Value:
    """With x² rounded to single precision, as the published sampler of normals does.

    That rounding costs up to 64 ulp near ±1, but normal numbers drawn from the same
    key agree with those of other implementations only if all make the same one.
    """
    w = -log1p_of_negative(b, x * x)
    central = b.compare("olt", w, 5.0)
    fast = b.horner(w - 2.5, table.ERF_INV_F32_CENTRE) * x

    def tail() -> Value:
        y = b.horner(b.square_root(w) - 3.0, table.ERF_INV_F32_TAIL) * x
        return _erf_inv_at_ends(b, x, b.select(central, fast, y))

    # Below this magnitude w < 5; NaN and what lies beyond ±1 count as rare.
    return b.if_any(b.compare("uge", b.magnitude(x), 0.9966), tail, fast)


def _erf_inv_f64(b: Emitter, x: Value) -> Value:
    size = b.magnitude(x)
    # 1 − x² without cancellation; beyond ±1 any value will do.
    product = (1.0 - size) * (size + 1.0)
    product = b.clamp(product, 2.0**-60, None)
    exponent, f = split_log(b, product)
    w = -join_log(b, b.to_float(exponent), f)
    central = b.compare("olt", w, 5.0)
    fast = b.estrin(w - 2.5, table.ERF_INV_F64_CENTRE) * x

    def tail() -> Value:
        root = b.square_root(w)
        near = b.compare("olt", root, 4.0)
        v = root - b.select(near, b.constant(3.125, "f64"), 5.0)
        near_terms = [b.constant(c, "f64") for c in table.ERF_INV_F64_TAIL]
        y = b.select(near, near_terms[-1], table.ERF_INV_F64_FAR[-1])
        for term, far in zip(
            reversed(near_terms[:-1]), reversed(table.ERF_INV_F64_FAR[:-1]), strict=True
        ):
            y = b.fma(y, v, b.select(near, term, far))
        return _erf_inv_at_ends(b, x, b.select(central, fast, y * x))

    return b.if_any(b.compare("uge", size, 0.9966), tail, fast)


# Gamma functions

_STIRLING = (
    0.08333333333333333,
    -0.002777777777777778,
    0.0007936507936507937,
    -0.0005952380952380953,
    0.0008417508417508417,
    -0.0019175269175269176,
    0.00641025641025641,
)
"""B₂ₖ / (2k (2k − 1)): log Γ(x) beyond Stirling's formula, over x²ᵏ⁻¹."""

_DIGAMMA = (
    -0.08333333333333333,
    0.008333333333333333,
    -0.003968253968253968,
    0.004166666666666667,
    -0.007575757575757576,
    0.021092796092796094,
    -0.08333333333333333,
)
"""−B₂ₖ / (2k): ψ(x) beyond log(x) − 1/(2x), over x²ᵏ."""

_HALF_LOG_TWO_PI = 0.9189385332046728
_STIRLING_FROM = 8.5
_DIGAMMA_FROM = 10.0


@in_double
def lgamma(b: Emitter, x: Value) -> Value:
    """log |Γ(x)|: +∞ at the poles 0, −1, −2, … and at ±∞."""
    positive = _lgamma_of_positive(b, x)

    def reflected() -> Value:
        mirrored = b.call_helper(LGAMMA_NEGATIVE, x)
        return b.select(below, mirrored, positive)

    below = b.compare("olt", x, 0.0)
    return b.if_any(below, reflected, positive)


def _lgamma_of_positive(b: Emitter, x: Value) -> Value:
    """For x ≥ 0: Stirling's formula, or log of a product and a polynomial at 2.

    Below 8.5 the recurrence x·Γ(x) = Γ(x + 1) moves x into [3/2, 5/2].
    """
    large = b.compare("oge", x, _STIRLING_FROM)
    moved, product = x, b.constant(1.0, "f64")
    for _ in range(6):
        above = b.compare("ogt", moved, 2.5)
        lowered = moved - 1.0
        product = b.select(above, product * lowered, product)
        moved = b.select(above, lowered, moved)
    below = b.compare("olt", moved, 0.5)
    product = b.select(below, moved * (moved + 1.0), product)
    low = b.compare("olt", moved, 1.5)
    product = b.select(b.binary("xor", low, below), moved, product)
    logarithm = log(b, b.select(large, x, product))
    # How far the moved x is from 2, without rounding.
    t = b.select(below, moved, b.select(low, moved - 1.0, moved - 2.0))
    polynomial = t * b.estrin(t, table.LGAMMA_F64)
    sign = b.select(low, b.constant(-1.0, "f64"), 1.0)
    small = b.fma(sign, logarithm, polynomial)
    inverse = 1.0 / x
    series = inverse * b.horner(inverse * inverse, _STIRLING)
    stirling = b.fma(x - 0.5, logarithm - 1.0, series + (_HALF_LOG_TWO_PI - 0.5))
    y = b.select(large, stirling, small)
    return b.select(b.compare("oeq", x, math.inf), math.inf, y)


def _lgamma_of_negative(b: Emitter, x: Value) -> Value:
    """log(π / |x sin πx|) − log Γ(−x)."""
    size = -x
    whole = b.whole_part(size)
    fraction = size - whole
    fraction = b.select(b.compare("ogt", fraction, 0.5), 1.0 - fraction, fraction)
    sine = moderate(b, fraction * math.pi, "sin")
    # For tiny x the product x·sin πx would underflow.
    product = log(b, math.pi / sine) - log(b, size)
    y = product - _lgamma_of_positive(b, size)
    y = b.select(b.compare("oeq", fraction, 0.0), math.inf, y)
    tiny = b.compare("olt", size, 1e-17)
    y = b.select(tiny, -log(b, size), y)
    return b.select(b.compare("oeq", x, -math.inf), math.inf, y)


@in_double
def digamma(b: Emitter, x: Value) -> Value:
    """The derivative of log Γ: NaN at the poles and at −∞."""
    positive = _digamma_of_positive(b, x)

    def reflected() -> Value:
        mirrored = b.call_helper(DIGAMMA_NEGATIVE, x)
        return b.select(below, mirrored, positive)

    below = b.compare("ole", x, 0.0)
    return b.if_any(below, reflected, positive)


def _digamma_of_positive(b: Emitter, x: Value) -> Value:
    """The asymptotic series at x ≥ 10, to which ψ(x + 1) = ψ(x) + 1/x leads."""
    moved = x
    top, bottom = b.constant(0.0, "f64"), b.constant(1.0, "f64")
    for _ in range(10):
        below = b.compare("olt", moved, _DIGAMMA_FROM)
        # top/bottom + 1/moved.
        top = b.select(below, b.fma(top, moved, bottom), top)
        bottom = b.select(below, bottom * moved, bottom)
        moved = b.select(below, moved + 1.0, moved)
    inverse = 1.0 / moved
    square = inverse * inverse
    series = square * b.horner(square, _DIGAMMA)
    y = (log(b, moved) - 0.5 * inverse) + series
    return y - top / bottom


def _digamma_of_negative(b: Emitter, x: Value) -> Value:
    """ψ(1 − x) − π / tan πx."""
    nearest = b.nearest(x)
    angle = (x - nearest) * math.pi
    cotangent = 1.0 / moderate(b, angle, "tan")
    # ψ(1 − x) = ψ(−x) − 1/x keeps the bits of a small x.
    y = _digamma_of_positive(b, -x) - 1.0 / x
    y = y - math.pi * cotangent
    y = b.select(b.compare("olt", b.magnitude(x), 2.0**-60), -1.0 / x, y)
    return b.select(b.compare("oeq", x, nearest), math.nan, y)


LGAMMA_NEGATIVE = Helper("lgamma_negative", "f64", ("f64",), _lgamma_of_negative)
DIGAMMA_NEGATIVE = Helper("digamma_negative", "f64", ("f64",), _digamma_of_negative)
