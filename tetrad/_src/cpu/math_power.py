"""Powers, cube roots and remainders of f32 and f64 vectors; powers of integers.

In: an emitter and values of one type; out: values of the same type. Special cases follow
C99 Annex F (`pow`, `cbrt`, `fmod`).
"""

from __future__ import annotations

import math

from tetrad._src.cpu import coefficients as table
from tetrad._src.cpu.math_exp import (
    LN2_F64,
    LOG2_E,
    one_plus_scaled,
    pick,
    scale_subnormal,
    split_log,
)
from tetrad._src.cpu.registers import INTEGERS, SIGNED, Emitter, Helper, Value

Pair = tuple[Value, Value]


def cbrt(b: Emitter, x: Value) -> Value:
    """Cube root: a third of the exponent from the bits, then Halley's iteration."""
    size = b.magnitude(x)
    tiny, normal, shift = scale_subnormal(b, size)
    # The cube of the first guess must not overflow.
    huge = b.compare("ogt", size, pick(x, 2.0**120, 2.0**1000))
    normal = b.select(huge, normal * 2.0**-30, normal)
    if x.type == "f64":
        high = b.cast("trunc", b.bits(normal) >> 32, "i32")
        third = b.cast("fptosi", b.cast("sitofp", high, "f64") * (1 / 3), "i32")
        t = b.from_bits(b.cast("sext", third + 715094163, "i64") << 32)
        rounds = 3
    else:
        third = b.cast("fptosi", b.to_float(b.bits(normal)) * (1 / 3), "i32")
        t = b.from_bits(third + 709958130)
        rounds = 2
    for _ in range(rounds):
        cube = (t * t) * t
        t = t + t * ((normal - cube) / ((cube + cube) + normal))
    t = b.select(tiny, t * 2.0 ** (-shift // 3), t)
    t = b.select(huge, t * 2.0**10, t)
    unchanged = b.binary(
        "or", b.compare("ueq", size, 0.0), b.compare("uge", size, math.inf)
    )
    return b.copysign(b.select(unchanged, size, t), x)


# Powers


def pow(b: Emitter, x: Value, y: Value) -> Value:
    """x to the power y; squares and square roots, which are asked for most, at once."""
    square = b.compare("oeq", y, 2.0)
    easy = b.binary("or", square, b.compare("oeq", y, 0.5))
    # The root of -0 is 0 here, and that of -inf is inf.
    root = b.square_root(x + 0.0)
    root = b.select(b.compare("oeq", x, -math.inf), math.inf, root)
    fast = b.select(square, x * x, root)
    rest = b.negated(easy)
    return b.if_any(rest, lambda: b.select(rest, _pow(b, x, y), fast), fast)


def _pow(b: Emitter, x: Value, y: Value) -> Value:
    if x.type == "f32":
        magnitude = _pow_of_magnitude_f32(b, x, y)
    else:
        magnitude = _pow_of_magnitude_f64(b, x, y)
    whole = b.compare("oeq", b.whole_part(y), y)
    half = y * 0.5
    odd = b.binary("and", whole, b.compare("one", b.whole_part(half), half))
    # The sign bit of x, kept only where y is odd.
    sign = b.select(odd, x, 1.0)
    result = b.copysign(magnitude, sign)
    negative = b.compare("olt", x, 0.0)
    negative = b.binary("and", negative, b.compare("one", x, -math.inf))
    undefined = b.binary("and", negative, b.negated(whole))
    undefined = b.binary("or", undefined, b.compare("uno", x, y))
    result = b.select(undefined, math.nan, result)
    defined = b.binary("or", b.compare("oeq", y, 0.0), b.compare("oeq", x, 1.0))
    return b.select(defined, 1.0, result)


def _pow_of_magnitude_f32(b: Emitter, x: Value, y: Value) -> Value:
    """|x|^y, in double precision with short polynomials."""
    size = b.cast("fpext", b.magnitude(x), "f64")
    exponent, f = split_log(b, size)
    s = f / (f + 2.0)
    z = s * s
    tail = (s * z) * b.horner(z, table.LOG_SHORT)
    logarithm = b.fma(b.to_float(exponent), math.log(2), s + s + tail)
    logarithm = _log_at_ends(b, size, logarithm)
    product = b.cast("fpext", _exponent_of_power(b, x, y), "f64") * logarithm
    cut = b.clamp(product, -200.0, 200.0)
    whole = b.nearest(cut * LOG2_E)
    r = b.fma(whole, -math.log(2), cut)
    p = b.fma(r * r, b.horner(r, table.EXP_SHORT), r)
    scale = b.power_of_two(b.to_int(whole))
    return b.cast("fptrunc", b.fma(p, scale, scale), "f32")


def _log_at_ends(b: Emitter, size: Value, logarithm: Value) -> Value:
    """log 0 = −∞ and log ∞ = ∞ put in; NaN stays."""
    logarithm = b.select(b.compare("oeq", size, 0.0), -math.inf, logarithm)
    return b.select(b.compare("ult", size, math.inf), logarithm, size)


def _exponent_of_power(b: Emitter, x: Value, y: Value) -> Value:
    """`y`, but 0 for |x| = 1 with an infinite y and for x = 1 with any y."""
    one = b.compare("oeq", b.magnitude(x), 1.0)
    usable = b.binary("or", b.compare("ord", y, y), b.compare("oeq", x, 1.0))
    return b.select(b.binary("and", one, usable), 0.0, y)


def _pow_of_magnitude_f64(b: Emitter, x: Value, y: Value) -> Value:
    """|x|^y, with the logarithm as a pair of doubles."""
    size = b.magnitude(x)
    high, low = _log_pair(b, size)
    high = _log_at_ends(b, size, high)
    y = _exponent_of_power(b, x, y)
    product, rest = b.two_product(y, high)
    regular = b.compare("olt", b.magnitude(product), 1e4)
    rest = rest + y * low
    rest = b.select(regular, rest, 0.0)
    cut = b.clamp(product, -800.0, 800.0)
    whole = b.nearest(cut * LOG2_E)
    r = b.fma(whole, -LN2_F64[0], cut)
    r, lost = b.fast_two_sum(r, rest - whole * LN2_F64[1])
    p = b.fma(r * r, b.estrin(r, table.EXP_F64), lost) + r
    return one_plus_scaled(b, p, b.to_int(whole))


def _log_pair(b: Emitter, size: Value) -> Pair:
    """log of a positive finite f64 as a pair, to about 2⁻⁶⁵ of it."""
    tiny, normal, shift = scale_subnormal(b, size)
    exponent, f = split_log(b, normal)
    n = b.to_float(exponent)
    n = b.select(tiny, n - float(shift), n)
    # s = f/(2 + f) as a pair.
    bottom, bottom_low = b.two_sum(f, b.constant(2.0, "f64"))
    s = f / bottom
    s_low = (b.fma_accurate(-s, bottom, f) - s * bottom_low) / bottom
    # z = s², c = 2/3 + z·Q(z), then 2s + s·z·c.
    z, z_low = b.two_product(s, s)
    z_low = z_low + (s + s) * s_low
    tail = z * b.estrin(z, table.LOG_PAIR)
    third = b.constant(2 / 3, "f64")
    c, c_low = b.fast_two_sum(third, tail)
    c_low = c_low + 3.7007434154171886e-17
    cube, cube_low = b.two_product(s, z)
    cube_low = cube_low + (s * z_low + s_low * z)
    term, term_low = b.two_product(cube, c)
    term_low = term_low + (cube * c_low + cube_low * c)
    main, main_low = b.fast_two_sum(s + s, term)
    main_low = main_low + (term_low + (s_low + s_low))
    # n·log 2: the first part is exact.
    total, total_low = b.two_sum(n * LN2_F64[0], main)
    total_low = total_low + b.fma(n, LN2_F64[1], main_low)
    return b.fast_two_sum(total, total_low)


def integer_power(b: Emitter, x: Value, y: Value) -> Value:
    """x to the power y of integers, wrapping; negative powers of all but ±1 are 0."""
    return b.call_helper(INTEGER_POWERS[x.type], x, y)


def _integer_power_body(b: Emitter, x: Value, y: Value) -> Value:
    one = b.constant(1, x.type)
    zero = b.constant(0, x.type)
    unsigned = b.relabel(y, "u" + y.type[1:])

    def more(left: Value, power: Value, result: Value) -> Value:
        return b.compare("ne", left, 0)

    def step(left: Value, power: Value, result: Value) -> list[Value]:
        odd = b.compare("ne", left & 1, 0)
        return [left >> 1, power * power, b.select(odd, result * power, result)]

    _, _, result = b.loop_while(more, step, [unsigned, x, one])
    if x.type not in SIGNED:
        return result
    sign = b.select(b.compare("ne", y & 1, 0), -1, one)
    inverse = b.select(b.compare("eq", x, -1), sign, zero)
    inverse = b.select(b.compare("eq", x, 1), one, inverse)
    return b.select(b.compare("slt", y, 0), inverse, result)


# Remainder


def remainder(b: Emitter, x: Value, y: Value) -> Value:
    """C's fmod: x − trunc(x/y)·y, exactly."""
    top, bottom = b.magnitude(x), b.magnitude(y)
    quotient = b.whole_part(top / bottom)
    # The rounded quotient is never too small, and at most one too large.
    r = b.fma_accurate(-quotient, bottom, top)
    r = b.select(b.compare("olt", r, 0.0), r + bottom, r)
    easy = b.compare("olt", quotient, pick(x, 2.0**22, 2.0**51))
    easy = b.binary("and", easy, b.compare("olt", bottom, math.inf))
    if not b.has_fma:
        # The emulated product would underflow.
        easy = b.binary("and", easy, b.compare("ogt", bottom, pick(x, 0.0, 1e-270)))
    hard = b.negated(easy)
    fast = b.copysign(r, x)

    def slow() -> Value:
        exact = b.call_helper(REMAINDERS[x.type], top, bottom)
        return b.select(hard, b.copysign(exact, x), fast)

    return b.if_any(hard, slow, fast)


def _remainder_body(b: Emitter, top: Value, bottom: Value) -> Value:
    """fmod of magnitudes by long division of the mantissas, bit by bit."""
    high_exponent, high = _integer_mantissa(b, top)
    low_exponent, low = _integer_mantissa(b, bottom)

    def more(left: Value, rest: Value) -> Value:
        return b.compare("sge", left, 0)

    def step(left: Value, rest: Value) -> list[Value]:
        active = b.compare("sge", left, 0)
        smaller = rest - low
        smaller = b.select(b.compare("slt", smaller, 0), rest, smaller)
        last = b.compare("eq", left, 0)
        doubled = b.select(last, smaller, smaller << 1)
        return [left - 1, b.select(active, doubled, rest)]

    _, rest = b.loop_while(more, step, [high_exponent - low_exponent, high])
    bias = 150 if top.type == "f32" else 1075
    exponent = low_exponent - bias
    half = exponent >> 1
    y = b.to_float(rest) * b.power_of_two(half)
    y = y * b.power_of_two(exponent - half)
    y = b.select(b.compare("olt", top, bottom), top, y)
    undefined = b.binary(
        "or", b.compare("ueq", bottom, 0.0), b.compare("uge", top, math.inf)
    )
    unordered = b.compare("uno", top, bottom)
    return b.select(b.binary("or", undefined, unordered), math.nan, y)


def _integer_mantissa(b: Emitter, size: Value) -> Pair:
    """(biased exponent, mantissa with its leading bit set) of a magnitude."""
    width = 23 if size.type == "f32" else 52
    bits = b.bits(size)
    exponent = bits >> width
    mantissa = bits & ((1 << width) - 1)
    normal = b.compare("ne", exponent, 0)
    zeros = b.leading_zeros(mantissa | 1) - (31 - width if width == 23 else 63 - width)
    shifted = mantissa << zeros
    mantissa = b.select(normal, mantissa | (1 << width), shifted)
    return b.select(normal, exponent, 1 - zeros), mantissa


INTEGER_POWERS = {
    type: Helper(f"power_{type}", type, (type, type), _integer_power_body)
    for type in sorted(INTEGERS)
}
REMAINDERS = {
    type: Helper(f"remainder_{type}", type, (type, type), _remainder_body)
    for type in ("f32", "f64")
}
