"""Arithmetic, powers and rounding, element by element.

The functions of this file are `ufunc` objects made from operations of the same meaning,
or from compositions written below them.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from tetrad._src.core.bind import STATE, Value, aval_of
from tetrad._src.core.mesh import no_sharding as no_sharding
from tetrad._src.numpy import lax
from tetrad._src.numpy.axes import no_out as no_out
from tetrad._src.numpy.axes import static_int
from tetrad._src.numpy.convert import operand
from tetrad._src.numpy.plan import planned_whole
from tetrad._src.numpy.promote import (
    call,
    inexact,
    joined,
    named,
    promote,
    promote_inexact,
    stretch,
    to,
)
from tetrad._src.numpy.ufunc import Binary, Unary, at_least_int, operator
from tetrad._src.util import dtypes
from tetrad._src.util.frames import trim_traceback, trims_itself
from tetrad._src.util.memo import Cache

ADVICE_BOOL = "use ~x for the logical opposite, or x.astype(int) for numbers"
ADVICE_MINUS = "for bools use x ^ y (exclusive or), or convert with .astype(int)"


def kind_of(x: Any) -> str:
    return aval_of(x).kind


# -------------------------------------------------------------------- sums and products


class BoolAware(Binary):
    """A function that means something else for bools: `+` is or, `*` is and."""

    def __init__(self, name: str, op: Any, bool_op: Any, *args: Any, **kw: Any) -> None:
        super().__init__(name, op, *args, **kw)
        self.bool_op = bool_op

    def anew(self, x: Any, y: Any, name: str) -> Any:
        x, y = operand(x, name), operand(y, name)
        if kind_of(x) == kind_of(y) == "b":
            a, b = promote(name, x, y)
            return self.bool_op(a, b)
        return super().anew(x, y, name)


add = BoolAware(
    "add",
    lax.Add(),
    lax.Or(),
    "The sum `x1 + x2`; of bools, their logical or.",
    "add(1.5, 2)",
    "Array(3.5, dtype=float32, weak_type=True)",
    identity=0,
)
multiply = BoolAware(
    "multiply",
    lax.Mul(),
    lax.And(),
    "The product `x1 * x2`; of bools, their logical and.",
    "multiply(1.5, 2)",
    "Array(3., dtype=float32, weak_type=True)",
    identity=1,
)
subtract = Binary(
    "subtract",
    lax.Sub(),
    "The difference `x1 - x2`.",
    "subtract(3, 1)",
    "Array(2, dtype=int32, weak_type=True)",
    kinds="iufc",
    advice=ADVICE_MINUS,
)
divide = true_divide = Binary(
    "divide",
    lax.Div(),
    "The quotient `x1 / x2`, a float or complex number; x / 0 is an infinity or NaN.",
    "divide(3, 2)",
    "Array(1.5, dtype=float32, weak_type=True)",
    rule=inexact,
)
negative = Unary(
    "negative",
    lax.Neg(),
    "The opposite `-x`.",
    "negative(2)",
    "Array(-2, dtype=int32, weak_type=True)",
    kinds="iufc",
    advice=ADVICE_BOOL,
)
positive = Unary(
    "positive",
    lambda x: x if isinstance(x, Value) else lax.copy(x),
    "`x` itself: `+x`.",
    "positive(2)",
    "Array(2, dtype=int32, weak_type=True)",
)


def _absolute(x: Any) -> Any:
    if kind_of(x) in "bu":
        return x if isinstance(x, Value) else lax.copy(x)
    return lax.abs(x)


absolute = abs = Unary(
    "absolute",
    _absolute,
    "The absolute value |x|; of a complex number its modulus, a float.",
    "absolute(-2)",
    "Array(2, dtype=int32, weak_type=True)",
)
fabs = Unary(
    "fabs",
    lax.abs,
    "The absolute value |x| as a float.",
    "fabs(-2)",
    "Array(2., dtype=float32, weak_type=True)",
    rule=inexact,
    kinds="f",
    advice="for complex numbers use jnp.abs",
)
sign = Unary(
    "sign",
    lax.Sign(),
    "-1, 0 or 1 by the sign of x; of a complex number, x / |x|.",
    "sign(-3)",
    "Array(-1, dtype=int32, weak_type=True)",
    kinds="iufc",
)
square = Unary(
    "square",
    lax.Square(),
    "The square x².",
    "square(3)",
    "Array(9, dtype=int32, weak_type=True)",
    rule=at_least_int,
)
reciprocal = Unary(
    "reciprocal",
    lax.IntegerPow(-1),
    "The reciprocal 1 / x.",
    "reciprocal(4)",
    "Array(0.25, dtype=float32, weak_type=True)",
    rule=inexact,
)
sqrt = Unary(
    "sqrt",
    lax.Sqrt(),
    "The square root √x; NaN of negative floats.",
    "sqrt(4)",
    "Array(2., dtype=float32, weak_type=True)",
    rule=inexact,
)
cbrt = Unary(
    "cbrt",
    lax.Cbrt(),
    "The cube root of x, negative for negative x.",
    "cbrt(8)",
    "Array(2., dtype=float32, weak_type=True)",
    rule=inexact,
    kinds="f",
)


# --------------------------------------------------------------------- division with rest


def zero_like(x: Any) -> Any:
    """The number 0 in the dtype of `x`."""
    return number(x, 0)


def number(x: Any, value: Any) -> Any:
    """The number `value` in the dtype of `x`, as an operand beside it."""
    aval = aval_of(x)
    return to(value, aval.dtype, aval.weak_type, "a NumPy function")


def _is_zero(y: Any) -> Any:
    """Whether y = 0: a bool outright if y is a number of the host."""
    return lax.eq(y, zero_like(y)) if isinstance(y, Value) else bool(y == 0)


def _is_negative(y: Any) -> Any:
    return lax.lt(y, zero_like(y)) if isinstance(y, Value) else bool(y < 0)


def _sign_of(y: Any) -> Any:
    return lax.sign(y) if isinstance(y, Value) else number(y, int(np.sign(y)))


def pick(condition: Any, x: Any, y: Any) -> Any:
    """x where `condition`, else y; a Python bool decides at once."""
    if isinstance(condition, builtins.bool):
        return x if condition else y
    return lax.select(condition, x, y)


def _down_where_uneven(quotient: Any, rest: Any, apart: Any) -> Any:
    """The quotient, one less where there is a rest and the signs are apart."""
    uneven = lax.ne(rest, zero_like(rest))
    less = lax.sub(quotient, number(quotient, 1))
    return lax.select(lax.bitwise_and(uneven, apart), less, quotient)


def _floor_divide(x: Any, y: Any) -> Any:
    kind = kind_of(x)
    if kind == "u":
        return lax.div(x, y)
    rest = lax.rem(x, y)
    if kind == "i":
        apart = lax.ne(_sign_of(x), _sign_of(y))
        return _down_where_uneven(lax.div(x, y), rest, apart)
    # Of x / 0 the rest is NaN, but the quotient is infinite.
    even = pick(_is_zero(y), x, lax.sub(x, rest))
    apart = lax.ne(lax.sign(rest), _sign_of(y))
    quotient = _down_where_uneven(lax.div(even, y), rest, apart)
    return lax.round(quotient, lax.RoundingMethod.AWAY_FROM_ZERO)


def _nonzero_divisor(x: Any, y: Any) -> Any:
    """`y` with 1 instead of 0 for integers, whose rest of x / 0 is 0."""
    if kind_of(x) not in "iu":
        return y
    return pick(_is_zero(y), number(y, 1), y)


def _remainder(x: Any, y: Any) -> Any:
    y = _nonzero_divisor(x, y)
    rest = lax.rem(x, y)
    if kind_of(x) == "u":
        return rest
    zero = zero_like(rest)
    uneven = lax.ne(rest, zero)
    apart = lax.ne(lax.lt(rest, zero), _is_negative(y))
    return lax.select(lax.bitwise_and(apart, uneven), lax.add(rest, y), rest)


def _fmod(x: Any, y: Any) -> Any:
    return lax.rem(x, _nonzero_divisor(x, y))


floor_divide = Binary(
    "floor_divide",
    _floor_divide,
    "The quotient rounded down, ⌊x1 / x2⌋.",
    "floor_divide(-7, 2)",
    "Array(-4, dtype=int32, weak_type=True)",
    rule=at_least_int,
    kinds="iuf",
)
remainder = mod = Binary(
    "remainder",
    _remainder,
    "The remainder of floored division, x1 - x2 * ⌊x1 / x2⌋, with the sign of x2.",
    "remainder(-7, 3)",
    "Array(2, dtype=int32, weak_type=True)",
    rule=at_least_int,
    kinds="iuf",
)
fmod = Binary(
    "fmod",
    _fmod,
    "The remainder of truncated division, with the sign of x1.",
    "fmod(-7, 3)",
    "Array(-1, dtype=int32, weak_type=True)",
    rule=at_least_int,
    kinds="iuf",
)


def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """The floored quotient and the remainder: (`x1 // x2`, `x1 % x2`).

    Works element by element on arguments that broadcast. ValueError if they do not.

    >>> import tetrad.numpy as jnp
    >>> jnp.divmod(7, 2)
    (Array(3, dtype=int32, weak_type=True), Array(1, dtype=int32, weak_type=True))
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """The fractional and the integral part of x, both with the sign of x.

    Integers are computed as floats; TypeError for complex numbers.

    >>> import tetrad.numpy as jnp
    >>> jnp.modf(2.5)[1]
    Array(2., dtype=float32, weak_type=True)
    """
    no_out("jnp.modf", out)
    whole = trunc(x)
    (x,) = promote_inexact("jnp.modf", x)
    whole = to(whole, aval_of(x).dtype, aval_of(x).weak_type, "jnp.modf")
    return lax.sub(x, whole), whole


# ----------------------------------------------------------------------------------- powers


class Power(Binary):
    """`x1 ** x2`, where integer exponents written in the program are special."""

    def anew(self, x: Any, y: Any, name: str) -> Any:
        x = operand(x, name, "argument 0")
        y = operand(y, name, "argument 1")
        exponent = type(y) is int or (isinstance(y, np.integer) and kind_of(x) in "fc")
        if exponent and kind_of(x) in "iufc":
            return _integer_power(x, int(y), name)
        if all(kind_of(v) in "biu" for v in (x, y)):
            dtype, weak, shape = joined(name, [x, y])
            dtype = at_least_int(dtype)
            x, y = [stretch(to(v, dtype, weak, name), shape) for v in (x, y)]
            result = _integers_to_integers(x, y)
            return lax.convert_element_type(result, dtype, weak)
        result = super().anew(x, y, name)
        if result.weak_type and not aval_of(y).weak_type and kind_of(y) in "iu":
            return lax.convert_element_type(result, result.dtype)
        return result


def _integer_power(x: Any, y: int, name: str) -> Any:
    if y < 0 and kind_of(x) in "iu":
        raise TypeError(
            f"{call(name)}: {named(name, [x, y])}; integers have no negative powers."
            " Convert to a float first: x.astype(float)"
        )
    if not isinstance(x, Value):
        return lax.integer_pow(x, y)
    op = lax.IntegerPow(y)
    _powers[x.aval, y] = op
    return x if y == 1 else op(x)


_powers: Cache = Cache("integer powers", limit=4096)


@trims_itself
def power_method(x: Any, y: Any) -> Any:
    """The method behind `x ** y`; integer exponents have plans of their own."""
    try:
        if type(y) is int:
            op = _powers.get((x.aval, y))
            if op is not None:
                return x if y == 1 else STATE.trace.process(op, (x,))
        return _any_power(x, y)
    except Exception as error:
        trim_traceback(error)
        del x, y  # which the frame that raised leads to
        raise


def _integers_to_integers(x: Any, y: Any) -> Any:
    """x to the power of y by repeated squaring, a step for each bit of the exponent.

    Negative powers give 0, except those of 1 and -1.
    """
    zero = zero_like(y)
    bit = number(y, 1)
    aval = aval_of(x)
    one = number(x, 1)
    unit = lax.eq(lax.mul(x, x), one)
    if aval.kind == "i":
        exponent = lax.abs(y)
        result = lax.select(lax.bitwise_or(lax.ge(y, zero), unit), one, zero_like(x))
    else:
        exponent = y
        result = one
    for _ in range(dtypes.itemsize_bits(aval.dtype) - 1):
        odd = lax.ne(lax.bitwise_and(exponent, bit), zero)
        result = lax.select(odd, lax.mul(result, x), result)
        x = lax.mul(x, x)
        exponent = lax.shift_right_logical(exponent, bit)
    return result


power = pow = Power(
    "power",
    lax.Pow(),
    "`x1` to the power of `x2`; integers to negative powers are a TypeError.",
    "power(2., 3)",
    "Array(8., dtype=float32, weak_type=True)",
)
_any_power = operator(power, "**")
float_power = Binary(
    "float_power",
    lax.Pow(),
    "`x1` to the power of `x2`, computed in floats.",
    "float_power(2, 3)",
    "Array(8., dtype=float32, weak_type=True)",
    rule=inexact,
)


# --------------------------------------------------------------------------------- rounding


def _of_floats(op: Any) -> Any:
    """`op` of floats; integers are whole already."""

    def compute(x: Any) -> Any:
        if kind_of(x) == "f":
            return op(x)
        return x if isinstance(x, Value) else lax.copy(x)

    return compute


floor = Unary(
    "floor",
    _of_floats(lax.floor),
    "The largest integer ⌊x⌋ not above x, in the dtype of x.",
    "floor(1.5)",
    "Array(1., dtype=float32, weak_type=True)",
    kinds="biuf",
)
ceil = Unary(
    "ceil",
    _of_floats(lax.ceil),
    "The smallest integer ⌈x⌉ not below x, in the dtype of x.",
    "ceil(1.5)",
    "Array(2., dtype=float32, weak_type=True)",
    kinds="biuf",
)


def _trunc(x: Any) -> Any:
    return lax.select(lax.lt(x, zero_like(x)), lax.ceil(x), lax.floor(x))


trunc = Unary(
    "trunc",
    _of_floats(_trunc),
    "x without its fraction, in the dtype of x.",
    "trunc(-1.5)",
    "Array(-1., dtype=float32, weak_type=True)",
    kinds="biuf",
)


def _to_even(x: Any) -> Any:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


rint = Unary(
    "rint",
    lambda x: _rounded(x, 0),
    "The nearest integer, halves to the even one, as a float.",
    "rint(1.5)",
    "Array(2., dtype=float32, weak_type=True)",
    rule=inexact,
)


def _rounded(a: Any, decimals: int) -> Any:
    x = a
    if kind_of(x) == "c":
        return lax.complex(
            _rounded(lax.real(x), decimals), _rounded(lax.imag(x), decimals)
        )
    if decimals == 0:
        return _to_even(x)
    aval = aval_of(x)
    narrow = aval.dtype.itemsize <= 2
    if narrow:
        x = lax.convert_element_type(x, np.float32)
    scale = 10 ** builtins.abs(decimals)
    if scale > float(dtypes.finfo(aval_of(x).dtype).max):  # no float has such digits
        return a if decimals > 0 else lax.mul(a, number(a, 0.0))
    factor = number(x, float(scale))
    if decimals > 0:
        x = lax.div(_to_even(lax.mul(x, factor)), factor)
    else:
        x = lax.mul(_to_even(lax.div(x, factor)), factor)
    return lax.convert_element_type(x, aval.dtype) if narrow else x


@planned_whole
def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """`a` rounded to `decimals` digits after the point, halves to the even digit.

    Negative `decimals` round to tens, hundreds, …; integers come back unchanged for
    `decimals` >= 0. NotImplementedError for integers and negative `decimals`.

    >>> import tetrad.numpy as jnp
    >>> jnp.round(jnp.array([1.25, 2.5]), 1)
    Array([1.2, 2.5], dtype=float32)
    """
    no_out("jnp.round", out)
    x = operand(a, "jnp.round", "a")
    decimals = static_int(decimals, "jnp.round", "decimals")
    decimals = builtins.max(
        -400, builtins.min(decimals, 400)
    )  # more than any float has
    if kind_of(x) in "iub":
        if decimals < 0:
            raise NotImplementedError(
                "jnp.round: integers cannot be rounded to tens; divide, round and"
                " multiply, or convert with .astype(float)"
            )
        return x if isinstance(x, Value) else lax.copy(x)
    return _rounded(x, decimals)


around = round


# ------------------------------------------------------------------------------ extrema


maximum = Binary(
    "maximum",
    lax.Max(),
    "The larger of x1 and x2, NaN if either is NaN.",
    "maximum(1, 2.5)",
    "Array(2.5, dtype=float32, weak_type=True)",
)
minimum = Binary(
    "minimum",
    lax.Min(),
    "The smaller of x1 and x2, NaN if either is NaN.",
    "minimum(1, 2.5)",
    "Array(1., dtype=float32, weak_type=True)",
)


def _ignoring_nan(pick: Any, wins: Any) -> Any:
    def compute(x: Any, y: Any) -> Any:
        if kind_of(x) in "f":
            return lax.select(lax.bitwise_or(wins(x, y), _is_nan(y)), x, y)
        best = pick(x, y)
        if kind_of(x) not in "c":
            return best
        best = lax.select(_is_nan(y), x, best)
        return lax.select(_is_nan(x), y, best)

    return compute


def _is_nan(x: Any) -> Any:
    return lax.ne(x, x)


fmax = Binary(
    "fmax",
    _ignoring_nan(lax.max, lax.gt),
    "The larger of x1 and x2, ignoring NaN where the other is a number.",
    "fmax(1., jnp.nan)",
    "Array(1., dtype=float32, weak_type=True)",
)
fmin = Binary(
    "fmin",
    _ignoring_nan(lax.min, lax.lt),
    "The smaller of x1 and x2, ignoring NaN where the other is a number.",
    "fmin(1., jnp.nan)",
    "Array(1., dtype=float32, weak_type=True)",
)
