"""Exponentials, logarithms, circular and hyperbolic functions, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value, aval_of
from tetrad._src.numpy import lax
from tetrad._src.numpy.convert import operand
from tetrad._src.numpy.elementwise import number, zero_like
from tetrad._src.numpy.promote import inexact, promote, promote_inexact, to
from tetrad._src.numpy.ufunc import Binary, Unary
from tetrad._src.util import dtypes


def _floating(
    name: str, op: Any, sentence: str, example: str, result: str, kinds: str = "fc"
) -> Unary:
    return Unary(name, op, sentence, example, result, rule=inexact, kinds=kinds)


WEAK = ", dtype=float32, weak_type=True)"

exp = _floating("exp", lax.Exp(), "The exponential eˣ.", "exp(0)", "Array(1." + WEAK)
exp2 = _floating(
    "exp2", lax.Exp2(), "Two to the power of x.", "exp2(3)", "Array(8." + WEAK
)
expm1 = _floating(
    "expm1", lax.Expm1(), "eˣ - 1, precise for x near 0.", "expm1(0)", "Array(0." + WEAK
)
log = _floating(
    "log",
    lax.Log(),
    "The natural logarithm ln x; NaN of negative floats, -inf of 0.",
    "log(1)",
    "Array(0." + WEAK,
)
log1p = _floating(
    "log1p",
    lax.Log1p(),
    "ln(1 + x), precise for x near 0.",
    "log1p(0)",
    "Array(0." + WEAK,
)


def _over_log(base: float) -> Any:
    def compute(x: Any) -> Any:
        logarithm = lax.log(x)
        return lax.div(logarithm, number(logarithm, math.log(base)))

    return compute


log2 = _floating(
    "log2", _over_log(2.0), "The logarithm to base 2.", "log2(1)", "Array(0." + WEAK
)
log10 = _floating(
    "log10", _over_log(10.0), "The logarithm to base 10.", "log10(1)", "Array(0." + WEAK
)
sin = _floating(
    "sin", lax.Sin(), "The sine of x in radians.", "sin(0)", "Array(0." + WEAK
)
cos = _floating(
    "cos", lax.Cos(), "The cosine of x in radians.", "cos(0)", "Array(1." + WEAK
)
tan = _floating(
    "tan", lax.Tan(), "The tangent of x in radians.", "tan(0)", "Array(0." + WEAK
)
arcsin = asin = _floating(
    "arcsin",
    lax.Asin(),
    "The angle in [-π/2, π/2] whose sine is x; NaN for |x| > 1.",
    "arcsin(0)",
    "Array(0." + WEAK,
)
arccos = acos = _floating(
    "arccos",
    lax.Acos(),
    "The angle in [0, π] whose cosine is x; NaN for |x| > 1.",
    "arccos(1)",
    "Array(0." + WEAK,
)
arctan = atan = _floating(
    "arctan",
    lax.Atan(),
    "The angle in (-π/2, π/2) whose tangent is x.",
    "arctan(0)",
    "Array(0." + WEAK,
)
sinh = _floating(
    "sinh",
    lax.Sinh(),
    "The hyperbolic sine (eˣ - e⁻ˣ) / 2.",
    "sinh(0)",
    "Array(0." + WEAK,
)
cosh = _floating(
    "cosh",
    lax.Cosh(),
    "The hyperbolic cosine (eˣ + e⁻ˣ) / 2.",
    "cosh(0)",
    "Array(1." + WEAK,
)
tanh = _floating(
    "tanh",
    lax.Tanh(),
    "The hyperbolic tangent sinh x / cosh x.",
    "tanh(0)",
    "Array(0." + WEAK,
)
arcsinh = asinh = _floating(
    "arcsinh",
    lax.Asinh(),
    "The number whose hyperbolic sine is x.",
    "arcsinh(0)",
    "Array(0." + WEAK,
)
arccosh = acosh = _floating(
    "arccosh",
    lax.Acosh(),
    "The number ≥ 0 whose hyperbolic cosine is x; NaN for x < 1.",
    "arccosh(1)",
    "Array(0." + WEAK,
)
arctanh = atanh = _floating(
    "arctanh",
    lax.Atanh(),
    "The number whose hyperbolic tangent is x; NaN for |x| > 1.",
    "arctanh(0)",
    "Array(0." + WEAK,
)


def _scaled(factor: float) -> Any:
    return lambda x: lax.mul(x, number(x, factor))


deg2rad = radians = _floating(
    "deg2rad",
    _scaled(math.pi / 180),
    "Degrees in radians, x · π / 180.",
    "deg2rad(0)",
    "Array(0." + WEAK,
)
rad2deg = degrees = _floating(
    "rad2deg",
    _scaled(180 / math.pi),
    "Radians in degrees, x · 180 / π.",
    "rad2deg(0)",
    "Array(0." + WEAK,
)


def _sinc(x: Any) -> Any:
    at_zero = lax.eq(x, zero_like(x))
    angle = lax.mul(number(x, math.pi), lax.select(at_zero, number(x, 1), x))
    # At 0 the Taylor polynomial, for the sake of derivatives.
    square = lax.square(lax.mul(number(x, math.pi), x))
    series = number(x, 1)
    for factor in (-1 / 72, -1 / 42, -1 / 20, -1 / 6):
        series = lax.add(
            number(x, 1), lax.mul(lax.mul(square, number(x, factor)), series)
        )
    return lax.select(at_zero, series, lax.div(lax.sin(angle), angle))


sinc = _floating(
    "sinc", _sinc, "sin(πx) / (πx), which is 1 at 0.", "sinc(0)", "Array(1." + WEAK
)


# ------------------------------------------------------------------------ of two arguments


def _two(
    name: str, op: Any, sentence: str, example: str, result: str, kinds: str = "f"
) -> Binary:
    return Binary(name, op, sentence, example, result, rule=inexact, kinds=kinds)


arctan2 = atan2 = _two(
    "arctan2",
    lax.Atan2(),
    "The angle of the point (x2, x1) in (-π, π].",
    "arctan2(0, 1)",
    "Array(0." + WEAK,
    "fc",
)


def _hypot(x: Any, y: Any) -> Any:
    x, y = lax.abs(x), lax.abs(y)
    infinity = number(x, math.inf)
    endless = lax.bitwise_or(lax.eq(x, infinity), lax.eq(y, infinity))
    large, small = lax.max(x, y), lax.min(x, y)
    origin = lax.eq(large, zero_like(large))
    ratio = lax.div(small, lax.select(origin, number(large, 1), large))
    one = number(ratio, 1)
    length = lax.mul(large, lax.sqrt(lax.add(lax.square(ratio), one)))
    return lax.select(endless, infinity, lax.select(origin, large, length))


hypot = _two(
    "hypot",
    _hypot,
    "√(x1² + x2²) without overflow on the way.",
    "hypot(3, 4)",
    "Array(5." + WEAK,
)


def _logaddexp(x: Any, y: Any) -> Any:
    if aval_of(x).kind == "c":
        return _complex_logaddexp(x, y)
    # One comparison decides both, so that the slopes at x = y add up to 1/2 each.
    first = lax.ge(x, y)
    large, small = lax.select(first, x, y), lax.select(first, y, x)
    gap = lax.sub(small, large)
    # The same infinity: the gap is NaN and the sum is what is wanted.
    undefined = lax.bitwise_and(lax.eq(x, y), lax.ne(gap, gap))
    correction = lax.log1p(lax.exp(_defined(gap, undefined)))
    return lax.select(undefined, lax.add(x, y), lax.add(large, correction))


def _defined(gap: Any, undefined: Any) -> Any:
    return lax.select(undefined, zero_like(gap), gap)


def _complex_logaddexp(x: Any, y: Any) -> Any:
    first = lax.ge(lax.real(x), lax.real(y))
    large, small = lax.select(first, x, y), lax.select(first, y, x)
    total = lax.add(large, lax.log1p(lax.exp(lax.sub(small, large))))
    # The principal value: the imaginary part comes back between -π and π.
    angle = lax.imag(total)
    turns = lax.round(lax.div(angle, number(angle, 2 * math.pi)))
    back = lax.mul(turns, number(angle, 2 * math.pi))
    return lax.complex(lax.real(total), lax.sub(angle, back))


logaddexp = _two(
    "logaddexp",
    _logaddexp,
    "ln(exp(x1) + exp(x2)), without overflow on the way.",
    "logaddexp(0., 0.)",
    "Array(0.6931472" + WEAK,
    "fc",
)


def _logaddexp2(x: Any, y: Any) -> Any:
    factor = number(x, math.log(2))
    total = _logaddexp(lax.mul(x, factor), lax.mul(y, factor))
    return lax.div(total, number(total, math.log(2)))


logaddexp2 = _two(
    "logaddexp2",
    _logaddexp2,
    "log₂(2^x1 + 2^x2), without overflow on the way.",
    "logaddexp2(0., 0.)",
    "Array(1." + WEAK,
    "fc",
)


def _heaviside(x: Any, y: Any) -> Any:
    zero = zero_like(x)
    above = lax.select(lax.gt(x, zero), number(x, 1), x)
    step = lax.select(lax.lt(x, zero), zero, above)
    return lax.select(lax.eq(x, zero), y, step)


heaviside = _two(
    "heaviside",
    _heaviside,
    "0 for x1 < 0, x2 for x1 = 0, 1 for x1 > 0.",
    "heaviside(0., .5)",
    "Array(0.5" + WEAK,
)


def _copysign(x: Any, y: Any) -> Any:
    size = lax.abs(x)
    return lax.select(signbit(y), lax.neg(size), size)


def _signbit(x: Any) -> Any:
    kind = aval_of(x).kind
    if kind in "bu":
        return lax.lt(x, zero_like(x)) if kind == "u" else lax.bitwise_xor(x, x)
    if kind == "i":
        return lax.lt(x, zero_like(x))
    aval = aval_of(x)
    bits = dtypes.itemsize_bits(aval.dtype)
    word = np.dtype(f"int{bits}")
    if not isinstance(x, Value):
        x = aval.dtype.type(x)
    pattern = lax.bitcast_convert_type(x, word)
    return lax.lt(pattern, word.type(0))


signbit = Unary(
    "signbit",
    _signbit,
    "Whether the sign of x is negative; also of -0 and of NaN with that sign.",
    "signbit(-1.)",
    "Array(True, dtype=bool)",
    kinds="biuf",
)
copysign = _two(
    "copysign",
    _copysign,
    "|x1| with the sign of x2.",
    "copysign(1., -2)",
    "Array(-1." + WEAK,
)
nextafter = _two(
    "nextafter",
    lax.Nextafter(),
    "The next float after x1 in the direction of x2.",
    "nextafter(0., 0.)",
    "Array(0." + WEAK,
)


_FARTHEST = 1 << 14


def ldexp(x1: Any, x2: Any, /) -> Any:
    """x1 · 2^x2 for integers x2; the arguments broadcast.

    TypeError unless `x2` holds integers.

    >>> import tetrad.numpy as jnp
    >>> jnp.ldexp(jnp.array([1., 3.]), 2)
    Array([ 4., 12.], dtype=float32)
    """
    if aval_of(x2).kind not in "biu":
        raise TypeError(
            f"jnp.ldexp: x2 must hold integers, got {aval_of(x2).long_name()}"
        )
    (x,) = promote_inexact("jnp.ldexp", x1)
    if type(x2) is int:  # more than this changes nothing
        x2 = max(-_FARTHEST, min(x2, _FARTHEST))
    y = to(operand(x2, "jnp.ldexp"), aval_of(x).dtype, False, "jnp.ldexp")
    x, y = promote("jnp.ldexp", x, y)
    # In three steps, so that no factor overflows where the result does not.
    third = lax.floor(lax.div(y, number(y, 3)))
    last = lax.sub(y, lax.mul(third, number(y, 2)))
    for step in (third, third, last):
        x = lax.mul(x, lax.exp2(step))
    return lax.convert_element_type(x, aval_of(x).dtype)
