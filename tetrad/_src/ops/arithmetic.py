"""Arithmetic: sums, products, extrema, signs, powers and roots."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.core.op import Linear
from tetrad._src.ops.compare import bitwise_and, eq, gt, lt, select_n
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.families import Binary, Elementwise, Operand, Unary, check_operand
from tetrad._src.ops.functions import accurate, binary, operands, scalar_like, unary
from tetrad._src.ops.rounding import ceil, floor
from tetrad._src.ops.views import ones_like


def literal_is(x: Any, value: int) -> bool:
    """Whether `x` is a number written in the program, equal to `value` (not 0)."""
    return not isinstance(x, Value) and np.ndim(x) == 0 and bool(x == value)


# -------------------------------------------------------------------------- sums, products


class Add(Binary):
    """x + y, elementwise; integers wrap.

    Raises TypeError for bools, and different dtypes or shapes. Source: IEEE 754-2019,
    5.4.1.

    >>> from tetrad import lax
    >>> lax.add(1.0, 2.0)
    Array(3., dtype=float32, weak_type=True)
    """

    accepts = "fcui"
    linear = ((0, 1),)
    signs = (1, 1)
    commutes = True
    cheap = True
    promote = "add"

    def transpose(self, ct: Any, x: Any, y: Any) -> tuple[Any, ...]:
        return (
            ct if isinstance(x, Linear) else None,
            ct if isinstance(y, Linear) else None,
        )

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.add(x, y)

    hlo = "stablehlo.add"


class Sub(Binary):
    """x - y, elementwise; integers wrap.

    Raises TypeError for bools, and different dtypes or shapes. Source: IEEE 754-2019,
    5.4.1.

    >>> from tetrad import lax
    >>> lax.sub(1.0, 2.0)
    Array(-1., dtype=float32, weak_type=True)
    """

    accepts = "fcui"
    linear = ((0, 1),)
    cheap = True
    signs = (1, -1)
    promote = "subtract"

    def transpose(self, ct: Any, x: Any, y: Any) -> tuple[Any, ...]:
        return (
            ct if isinstance(x, Linear) else None,
            neg(ct) if isinstance(y, Linear) else None,
        )

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.sub(x, y)

    hlo = "stablehlo.subtract"


class Neg(Unary):
    """-x, elementwise; integers wrap.

    Raises TypeError for bools. Source: IEEE 754-2019, 5.5.1.

    >>> from tetrad import lax
    >>> lax.neg(1.0)
    Array(-1., dtype=float32, weak_type=True)
    """

    accepts = "fcui"
    linear = ((0,),)
    cheap = True

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (neg(ct),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.neg(x)

    hlo = "stablehlo.negate"


class Mul(Binary):
    """x · y, elementwise; integers wrap.

    Raises TypeError for bools, and different dtypes or shapes. Source: IEEE 754-2019,
    5.4.1.

    >>> from tetrad import lax
    >>> lax.mul(2.0, 3.0)
    Array(6., dtype=float32, weak_type=True)
    """

    accepts = "fcui"
    linear = ((0,), (1,))
    commutes = True
    cheap = True
    promote = "multiply"

    def transpose(self, ct: Any, x: Any, y: Any) -> tuple[Any, ...]:
        if isinstance(x, Linear):
            return mul(ct, y), None
        return None, mul(x, ct)

    def simplify(self, x: Any, y: Any) -> Any:
        if aval_of(x).kind == "c":
            return None
        if literal_is(y, 1):
            return x
        return y if literal_is(x, 1) else None

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.mul(x, y)

    hlo = "stablehlo.multiply"


class Div(Binary):
    """x / y, elementwise; of integers, the quotient rounded towards zero.

    Integers: x / 0 is -1 (all bits set), and the most negative one over -1 is itself.
    Raises TypeError for bools, and different dtypes or shapes. Source: IEEE 754-2019,
    5.4.1.

    >>> from tetrad import lax
    >>> lax.div(1.0, 4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """

    accepts = "fcui"
    linear = ((0,),)
    promote = "divide"

    def derivative(self, ans: Any, x: Any, y: Any) -> tuple[Any, ...]:
        return div(scalar_like(y, 1), y), neg(div(ans, y))

    def transpose(self, ct: Any, x: Any, y: Any) -> tuple[Any, ...]:
        return div(ct, y), None

    def simplify(self, x: Any, y: Any) -> Any:
        return x if literal_is(y, 1) and aval_of(x).kind != "c" else None

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.div(x, y)

    hlo = "stablehlo.divide"


class Rem(Binary):
    """x - y · trunc(x / y), elementwise, exactly: the remainder with the sign of x.

    Integers: the remainder by 0 is x. Raises TypeError for bools and complex numbers,
    and different dtypes or shapes. Source: C11 7.12.10.1 (fmod).

    >>> from tetrad import lax
    >>> lax.rem(-7.0, 3.0)
    Array(-1., dtype=float32, weak_type=True)
    """

    accepts = "fui"
    promote = "remainder"

    def derivative(self, ans: Any, x: Any, y: Any) -> tuple[Any, ...]:
        quotient = div(x, y)
        whole = select_n(lt(quotient, 0.0), floor(quotient), ceil(quotient))
        return scalar_like(x, 1), neg(whole)

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.rem(x, y)

    hlo = "stablehlo.remainder"


add = binary(Add)
sub = binary(Sub)
neg = unary(Neg)
_mul = binary(Mul)


def mul(x: Operand, y: Operand, *, out_dtype: Any = None) -> Any:
    if out_dtype is not None:
        x, y = operands("mul", (x, y))
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return _mul(x, y)


mul.__doc__ = (
    f"{Mul.__doc__}\n    With `out_dtype` the product is computed in that dtype.\n    "
)
div = binary(Div)
rem = binary(Rem)


# ---------------------------------------------------------------------------------- extrema


class Max(Binary):
    """The larger of x and y, elementwise; NaN if one is NaN.

    Complex numbers compare by real part, then imaginary part. The derivative is 1/2 for
    each where they are equal. Raises TypeError for different dtypes or shapes. Source:
    IEEE 754-2019, 9.6 (maximum).

    >>> from tetrad import lax
    >>> lax.max(1.0, 2.0)
    Array(2., dtype=float32, weak_type=True)
    """

    accepts = "fcuib"
    commutes = True
    cheap = True
    promote = "maximum"

    def derivative(self, ans: Any, x: Any, y: Any) -> tuple[Any, ...]:
        return share(ans, x, y), share(ans, y, x)

    def simplify(self, x: Any, y: Any) -> Any:
        return x if x is y else None

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.max(x, y)

    def hlo(self, emit: Any, x: Any, y: Any) -> Any:
        return emit.block.max(x, y)


class Min(Binary):
    """The smaller of x and y, elementwise; NaN if one is NaN.

    Complex numbers compare by real part, then imaginary part. The derivative is 1/2 for
    each where they are equal. Raises TypeError for different dtypes or shapes. Source:
    IEEE 754-2019, 9.6 (minimum).

    >>> from tetrad import lax
    >>> lax.min(1.0, 2.0)
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "fcuib"
    commutes = True
    cheap = True
    promote = "minimum"

    def derivative(self, ans: Any, x: Any, y: Any) -> tuple[Any, ...]:
        return share(ans, x, y), share(ans, y, x)

    def simplify(self, x: Any, y: Any) -> Any:
        return x if x is y else None

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.min(x, y)

    def hlo(self, emit: Any, x: Any, y: Any) -> Any:
        return emit.block.min(x, y)


def share(ans: Any, x: Any, other: Any) -> Any:
    """1 where `ans` is `x`, 1/2 where it is also `other`, 0 elsewhere."""
    zero, half, one = [scalar_like(ans, v) for v in (0.0, 0.5, 1.0)]
    return select_n(eq(x, ans), zero, select_n(eq(other, ans), one, half))


class Clamp(Elementwise):
    """x held between `min` and `max`: min(max(x, `min`), `max`), elementwise.

    Raises TypeError for different dtypes or shapes.
    Source: https://openxla.org/stablehlo/spec#clamp

    >>> from tetrad import lax
    >>> lax.clamp(0.0, 1.5, 1.0)
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "fcuib"
    cheap = True
    promote = "clip"

    def derivative(self, ans: Any, min: Any, x: Any, max: Any) -> tuple[Any, ...]:
        zero, one = scalar_like(x, 0.0), scalar_like(x, 1.0)
        return (
            select_n(bitwise_and(gt(min, x), lt(min, max)), zero, one),
            select_n(bitwise_and(gt(x, min), lt(x, max)), zero, one),
            select_n(lt(max, x), zero, one),
        )

    def scalar(self, block: Any, min: Any, x: Any, max: Any) -> Any:
        return block.min(block.max(x, min), max)

    def hlo(self, emit: Any, min: Any, x: Any, max: Any) -> Any:
        if x.aval.kind != "c":
            return emit("stablehlo.clamp", min, x, max)
        return emit.block.min(emit.block.max(x, min), max)


max = binary(Max)
min = binary(Min)


def clamp(min: Operand, x: Operand, max: Operand) -> Any:
    return Clamp()(*operands("clamp", (min, x, max)))


clamp.__doc__ = Clamp.__doc__


class Sign(Unary):
    """-1, 0 or 1 with the sign of x; x / |x| of a complex number; NaN of NaN.

    Keeps the sign of a zero. Raises TypeError for bools.
    Source: https://openxla.org/stablehlo/spec#sign

    >>> from tetrad import lax
    >>> lax.sign(-2.5)
    Array(-1., dtype=float32, weak_type=True)
    """

    accepts = "fcui"
    cheap = True

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (None,)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.sign(x)

    def hlo(self, emit: Any, x: Any) -> Any:
        if x.aval.kind != "u":
            return emit("stablehlo.sign", x)
        nonzero = emit("stablehlo.convert", x, result=Aval(x.aval.shape, bool))
        return emit("stablehlo.convert", nonzero)


sign = unary(Sign)


# ----------------------------------------------------------------------------------- powers


class Square(Unary):
    """x · x, elementwise; integers wrap. Raises TypeError for bools.

    Source: the definition.

    >>> from tetrad import lax
    >>> lax.square(3.0)
    Array(9., dtype=float32, weak_type=True)
    """

    accepts = "fcui"
    cheap = True

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (mul(x, 2.0),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.mul(x, x)

    def hlo(self, emit: Any, x: Any) -> Any:
        return emit("stablehlo.multiply", x, x)


class IntegerPow(Unary):
    """x to the power of the integer y, known when the program is built.

    A product of squares; of a negative y, its reciprocal. Raises TypeError for bools
    and for negative powers of integers. Source: Knuth, TAOCP 2, 4.6.3.

    >>> from tetrad import lax
    >>> lax.integer_pow(2.0, 10)
    Array(1024., dtype=float32, weak_type=True)
    """

    y: int

    accepts = "fcui"

    @property
    def cheap(self) -> bool:  # type: ignore[override]
        return 0 <= self.y <= 4

    def type(self, x: Aval) -> Aval:
        if self.y < 0 and not x.inexact:
            raise TypeError(
                f"integers cannot be raised to negative powers, got {x.long_name()} to"
                f" the power {self.y}. Convert to a float first: x.astype(float)"
            )
        return x

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        if self.y == 0:
            return (None,)
        if self.y == 1:
            return (scalar_like(x, 1.0),)
        rest = x if self.y == 2 else integer_pow(x, self.y - 1)
        return (mul(rest, float(self.y)),)

    def simplify(self, x: Any) -> Any:
        return x if self.y == 1 else None

    def scalar(self, block: Any, x: Any) -> Any:
        return block.integer_pow(x, self.y)

    def expand(self, x: Any) -> Any:
        power = None
        rest = self.y if self.y >= 0 else -self.y
        while rest:
            if rest & 1:
                power = x if power is None else mul(power, x)
            rest >>= 1
            x = square(x) if rest else x
        if power is None:
            return ones_like(x)
        return div(scalar_like(x, 1), power) if self.y < 0 else power


class Pow(Binary):
    """x to the power y, elementwise.

    NaN for negative x and fractional y. The derivatives at x = y = 0 are 0. Raises
    TypeError for integers and bools, and different shapes. Source: C11 7.12.7.4.

    >>> from tetrad import lax
    >>> lax.pow(2.0, 0.5)
    Array(1.4142135, dtype=float32, weak_type=True)
    """

    accepts = "fc"
    promote = "power"

    def derivative(self, ans: Any, x: Any, y: Any) -> tuple[Any, ...]:
        zero, one = scalar_like(y, 0.0), scalar_like(y, 1.0)
        at_zero = eq(x, zero)
        # 0 * 0 ** -1 is NaN, but x ** 0 is constant.
        constant = bitwise_and(at_zero, eq(y, zero))
        power = select_n(constant, y, one)
        by_x = mul(y, pow(x, sub(power, one)))
        base = select_n(at_zero, x, one)
        return by_x, mul(log(base), ans)

    def simplify(self, x: Any, y: Any) -> Any:
        return x if literal_is(y, 1) and aval_of(x).kind == "f" else None

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.pow(x, y)

    hlo = "stablehlo.power"


class Log(Unary):
    """The natural logarithm of x, elementwise; NaN below 0, -inf at 0.

    Of a complex number, the principal value. Raises TypeError for integers and bools.
    Source: NIST DLMF 4.2.

    >>> from tetrad import lax
    >>> lax.log(1.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (reciprocal(x),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.log(x)

    hlo = "stablehlo.log"


class Sqrt(Unary):
    """√x, elementwise; NaN below 0. Of a complex number, the root with real part >= 0.

    Raises TypeError for integers and bools. Source: IEEE 754-2019, 5.4.1.

    >>> from tetrad import lax
    >>> lax.sqrt(4.0)
    Array(2., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (div(scalar_like(x, 0.5), ans),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.sqrt(x)

    hlo = "stablehlo.sqrt"


class Rsqrt(Unary):
    """1 / √x, elementwise. Raises TypeError for integers and bools.

    Source: IEEE 754-2019, 9.2 (rSqrt).

    >>> from tetrad import lax
    >>> lax.rsqrt(4.0)
    Array(0.5, dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (mul(div(ans, x), -0.5),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.rsqrt(x)

    hlo = "stablehlo.rsqrt"


class Cbrt(Unary):
    """The real cube root of x, elementwise. Raises TypeError for integers and bools.

    Source: C11 7.12.7.1.

    >>> from tetrad import lax
    >>> lax.cbrt(-8.0)
    Array(-2., dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (div(scalar_like(ans, 1 / 3), square(ans)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.cbrt(x)

    hlo = "stablehlo.cbrt"


square = unary(Square)
log = accurate(Log)
sqrt = accurate(Sqrt)
rsqrt = accurate(Rsqrt)
cbrt = accurate(Cbrt)
_pow = binary(Pow)


def pow(x: Operand, y: Operand) -> Any:
    x, y = operands("pow", (x, y))
    if aval_of(y).kind in "iu" and aval_of(x).inexact:
        y = convert_element_type(y, aval_of(x).dtype)
    return _pow(x, y)


def integer_pow(x: Operand, y: int) -> Any:
    return IntegerPow(operator.index(y))(check_operand(x, "integer_pow"))


def reciprocal(x: Operand) -> Any:
    """1 / x, elementwise.

    >>> from tetrad import lax
    >>> lax.reciprocal(4.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    return integer_pow(x, -1)


pow.__doc__ = Pow.__doc__
integer_pow.__doc__ = IntegerPow.__doc__
