"""Exponentials, trigonometric and hyperbolic functions, elementwise.

Functions of complex numbers are the principal values; their derivatives are the complex
ones.
"""

from __future__ import annotations

import math
from typing import Any

from tetrad._src.ops.arithmetic import (
    add,
    div,
    mul,
    neg,
    reciprocal,
    rsqrt,
    square,
    sub,
)
from tetrad._src.ops.families import Binary, Unary
from tetrad._src.ops.functions import accurate, binary, scalar_like, unary


def one_minus(x: Any) -> Any:
    return sub(scalar_like(x, 1.0), x)


class Exp(Unary):
    """e to the power x, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.2.

    >>> from tetrad import lax
    >>> lax.exp(0.0)
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (ans,)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.exp(x)

    hlo = "stablehlo.exponential"


class Exp2(Unary):
    """2 to the power x, elementwise.

    Raises TypeError for integers and bools. Source: C11 7.12.6.2.

    >>> from tetrad import lax
    >>> lax.exp2(3.0)
    Array(8., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (mul(ans, math.log(2.0)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.exp2(x)

    def expand(self, x: Any) -> Any:
        return exp(mul(x, math.log(2.0)))


class Expm1(Unary):
    """exp(x) - 1, elementwise, accurate near 0.

    Raises TypeError for integers and bools. Source: C11 7.12.6.3.

    >>> from tetrad import lax
    >>> lax.expm1(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (add(ans, 1.0),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.expm1(x)

    hlo = "stablehlo.exponential_minus_one"


class Log1p(Unary):
    """log(1 + x), elementwise, accurate near 0; NaN below -1.

    Raises TypeError for integers and bools. Source: C11 7.12.6.9.

    >>> from tetrad import lax
    >>> lax.log1p(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (reciprocal(add(x, 1.0)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.log1p(x)

    hlo = "stablehlo.log_plus_one"


class Logistic(Unary):
    """1 / (1 + exp(-x)), elementwise.

    Raises TypeError for integers and bools. Source: https://openxla.org/stablehlo/spec#logistic.

    >>> from tetrad import lax
    >>> lax.logistic(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (mul(ans, one_minus(ans)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.logistic(x)

    hlo = "stablehlo.logistic"


class Sin(Unary):
    """The sine of x radians, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.14.

    >>> from tetrad import lax
    >>> lax.sin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (cos(x),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.sin(x)

    hlo = "stablehlo.sine"


class Cos(Unary):
    """The cosine of x radians, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.14.

    >>> from tetrad import lax
    >>> lax.cos(0.0)
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (neg(sin(x)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.cos(x)

    hlo = "stablehlo.cosine"


class Tan(Unary):
    """The tangent of x radians, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.14.

    >>> from tetrad import lax
    >>> lax.tan(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (add(square(ans), 1.0),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.tan(x)

    hlo = "stablehlo.tan"


class Asin(Unary):
    """The arc sine of x in radians, elementwise; NaN beyond 1.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.23.

    >>> from tetrad import lax
    >>> lax.asin(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (rsqrt(one_minus(square(x))),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.asin(x)

    hlo = "chlo.asin"


class Acos(Unary):
    """The arc cosine of x in radians, elementwise; NaN beyond 1.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.23.

    >>> from tetrad import lax
    >>> lax.acos(1.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (neg(rsqrt(one_minus(square(x)))),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.acos(x)

    hlo = "chlo.acos"


class Atan(Unary):
    """The arc tangent of x in radians, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.23.

    >>> from tetrad import lax
    >>> lax.atan(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (reciprocal(add(square(x), 1.0)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.atan(x)

    hlo = "chlo.atan"


class Sinh(Unary):
    """The hyperbolic sine of x, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.28.

    >>> from tetrad import lax
    >>> lax.sinh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (cosh(x),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.sinh(x)

    hlo = "chlo.sinh"


class Cosh(Unary):
    """The hyperbolic cosine of x, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.28.

    >>> from tetrad import lax
    >>> lax.cosh(0.0)
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (sinh(x),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.cosh(x)

    hlo = "chlo.cosh"


class Tanh(Unary):
    """The hyperbolic tangent of x, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.28.

    >>> from tetrad import lax
    >>> lax.tanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (one_minus(square(ans)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.tanh(x)

    hlo = "stablehlo.tanh"


class Asinh(Unary):
    """The inverse of the hyperbolic sine, elementwise.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.37.

    >>> from tetrad import lax
    >>> lax.asinh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (rsqrt(add(square(x), 1.0)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.asinh(x)

    hlo = "chlo.asinh"


class Acosh(Unary):
    """The inverse of the hyperbolic cosine, elementwise; NaN below 1.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.37.

    >>> from tetrad import lax
    >>> lax.acosh(1.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0))),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.acosh(x)

    hlo = "chlo.acosh"


class Atanh(Unary):
    """The inverse of the hyperbolic tangent, elementwise; NaN beyond 1.

    Raises TypeError for integers and bools. Source: NIST DLMF 4.37.

    >>> from tetrad import lax
    >>> lax.atanh(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "fc"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (reciprocal(mul(add(x, 1.0), one_minus(x))),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.atanh(x)

    hlo = "chlo.atanh"


class Atan2(Binary):
    """The angle of the point (y, x) in radians, in (-π, π], elementwise.

    The first argument is the ordinate. Of complex numbers it is
    -i log((x + iy) / √(x² + y²)), as principal values. Raises TypeError for integers and
    bools, and different dtypes or shapes. Source: C11 7.12.4.4.

    >>> from tetrad import lax
    >>> lax.atan2(1.0, 1.0)
    Array(0.7853982, dtype=float32, weak_type=True)
    """

    accepts = "fc"
    promote = "arctan2"

    def derivative(self, ans: Any, x: Any, y: Any) -> tuple[Any, ...]:
        radius = add(square(x), square(y))
        return div(y, radius), div(neg(x), radius)

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        if x.type[0] != "c":
            return block.atan2(x, y)
        radius = block.sqrt(block.add(block.mul(x, x), block.mul(y, y)))
        point = block.add(y, block.mul(x, 1j))
        return block.neg(block.mul(block.log(block.div(point, radius)), 1j))

    def hlo(self, emit: Any, x: Any, y: Any) -> Any:
        if x.aval.kind != "c":
            return emit("stablehlo.atan2", x, y)
        block = emit.block
        square = block.add(block.mul(x, x), block.mul(y, y))
        point = block.add(y, block.mul(x, 1j))
        direction = block.div(point, emit("stablehlo.sqrt", square))
        return block.mul(emit("stablehlo.log", direction), -1j)


exp = accurate(Exp)
exp2 = accurate(Exp2)
expm1 = accurate(Expm1)
log1p = accurate(Log1p)
logistic = accurate(Logistic)
sin = accurate(Sin)
cos = accurate(Cos)
tan = accurate(Tan)
asin = unary(Asin)
acos = unary(Acos)
atan = unary(Atan)
sinh = unary(Sinh)
cosh = unary(Cosh)
tanh = accurate(Tanh)
asinh = unary(Asinh)
acosh = unary(Acosh)
atanh = unary(Atanh)
atan2 = binary(Atan2)
