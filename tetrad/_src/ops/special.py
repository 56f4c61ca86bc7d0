"""Special functions: error functions, gamma functions; and reduced precision."""

from __future__ import annotations

import math
import operator
from typing import Any

from tetrad._src.ops.arithmetic import add, mul, neg, square
from tetrad._src.ops.families import Binary, Operand, Unary, check_operand
from tetrad._src.ops.functions import binary, scalar_like, unary
from tetrad._src.ops.transcendental import exp
from tetrad._src.util import dtypes


class Erf(Unary):
    """2/√π · ∫₀ˣ exp(-t²) dt, elementwise.

    Raises TypeError for all dtypes but floats. Source: NIST DLMF 7.2.1.

    >>> from tetrad import lax
    >>> lax.erf(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (mul(exp(neg(square(x))), 2 / math.sqrt(math.pi)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.erf(x)

    hlo = "chlo.erf"


class Erfc(Unary):
    """1 - erf(x), elementwise, accurate where that is small.

    Raises TypeError for all dtypes but floats. Source: NIST DLMF 7.2.2.

    >>> from tetrad import lax
    >>> lax.erfc(0.0)
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (mul(exp(neg(square(x))), -2 / math.sqrt(math.pi)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.erfc(x)

    hlo = "chlo.erfc"


class ErfInv(Unary):
    """The y with erf(y) = x, elementwise; ±inf at ±1, NaN beyond.

    Raises TypeError for all dtypes but floats. Source: NIST DLMF 7.17.

    >>> from tetrad import lax
    >>> lax.erf_inv(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (mul(exp(square(ans)), math.sqrt(math.pi) / 2),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.erf_inv(x)

    hlo = "chlo.erf_inv"


class Lgamma(Unary):
    """log |Γ(x)|, elementwise; inf at 0 and the negative integers.

    Raises TypeError for all dtypes but floats. Source: NIST DLMF 5.2.

    >>> from tetrad import lax
    >>> lax.lgamma(1.0)
    Array(0., dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (digamma(x),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.lgamma(x)

    hlo = "chlo.lgamma"


class Digamma(Unary):
    """Γ'(x) / Γ(x), elementwise; NaN at the negative integers.

    Raises TypeError for all dtypes but floats. Source: NIST DLMF 5.2.2.

    >>> from tetrad import lax
    >>> lax.digamma(1.0)
    Array(-0.5772157, dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        return (polygamma(scalar_like(x, 1.0), x),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.digamma(x)

    hlo = "chlo.digamma"


erf = unary(Erf)
erfc = unary(Erfc)
erf_inv = unary(ErfInv)
lgamma = unary(Lgamma)
digamma = unary(Digamma)


# B₂ⱼ / (2j)! for j = 1, 2, …: the coefficients of Euler and Maclaurin's sum formula.
_EULER_MACLAURIN = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
)
_DIRECT_TERMS = 10

_WIDE = ("f32", "f64")


def _in_single(block: Any, scalar: Any, *xs: Any) -> Any:
    """Long sums of shorter floats: computed in float32 and rounded once."""
    wide = scalar(block, *[block.convert(x, "f32") for x in xs])
    return block.convert(wide, xs[0].type)


class Zeta(Binary):
    """Σₖ (q + k)⁻ˣ over k = 0, 1, 2, …: the Hurwitz zeta function, elementwise.

    Infinite at x = 1 and where q is 0 or a negative integer; NaN for x < 1. The
    derivative by x is not available. Raises TypeError for all dtypes but floats, and
    different dtypes or shapes. Source: NIST DLMF 25.11.

    >>> from tetrad import lax
    >>> lax.zeta(2.0, 1.0)
    Array(1.644934, dtype=float32, weak_type=True)
    """

    accepts = "f"

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        x, q = primals
        by_x, by_q = tangents
        if by_x is not None:
            raise NotImplementedError(
                "lax.zeta has no derivative by its first argument x. Wrap x in"
                " stop_gradient, or give the surrounding function its derivative with"
                " custom_jvp."
            )
        tangent = None if by_q is None else mul(neg(mul(x, zeta(add(x, 1.0), q))), by_q)
        return self(x, q), tangent

    def scalar(self, block: Any, x: Any, q: Any) -> Any:
        if x.type not in _WIDE:
            return _in_single(block, self.scalar, x, q)
        minus_x = block.neg(x)
        total = block.pow(q, minus_x)
        for k in range(1, _DIRECT_TERMS):
            total = block.add(total, block.pow(block.add(q, float(k)), minus_x))
        # The rest from a = q + 10: an integral, half a term, and the corrections.
        a = block.add(q, float(_DIRECT_TERMS))
        power = block.pow(a, minus_x)
        rest = block.div(block.mul(power, a), block.sub(x, 1.0))
        total = block.add(block.add(total, rest), block.mul(power, 0.5))
        factor = block.div(block.mul(power, x), a)
        inverse_square = block.div(block.constant(1.0, x.type), block.mul(a, a))
        for j, coefficient in enumerate(_EULER_MACLAURIN):
            total = block.add(total, block.mul(factor, coefficient))
            rising = block.mul(block.add(x, 2.0 * j + 1), block.add(x, 2.0 * j + 2))
            factor = block.mul(factor, block.mul(rising, inverse_square))
        pole = block.and_(block.le(q, 0.0), block.eq(q, block.floor(q)))
        pole = block.or_(pole, block.eq(x, 1.0))
        total = block.select(pole, block.constant(math.inf, x.type), total)
        return block.select(block.lt(x, 1.0), block.constant(math.nan, x.type), total)

    hlo = "chlo.zeta"


class Polygamma(Binary):
    """The m-th derivative of digamma at x, for integers m ≥ 0 given as floats.

    (-1)ᵐ⁺¹ · m! · ζ(m + 1, x) for m > 0. The derivative by m is zero. Raises TypeError
    for all dtypes but floats, and different dtypes or shapes. Source: NIST DLMF 5.15.

    >>> from tetrad import lax
    >>> lax.polygamma(1.0, 1.0)
    Array(1.644934, dtype=float32, weak_type=True)
    """

    accepts = "f"

    def derivative(self, ans: Any, m: Any, x: Any) -> tuple[Any, ...]:
        return None, polygamma(add(m, 1.0), x)

    def scalar(self, block: Any, m: Any, x: Any) -> Any:
        if x.type not in _WIDE:
            return _in_single(block, self.scalar, m, x)
        order = block.add(m, 1.0)
        size = block.exp(block.lgamma(order))
        value = block.mul(size, Zeta().scalar(block, order, x))
        half = block.mul(m, 0.5)
        even = block.eq(half, block.floor(half))
        value = block.select(even, block.neg(value), value)
        return block.select(block.eq(m, 0.0), block.digamma(x), value)

    hlo = "chlo.polygamma"


zeta = binary(Zeta)
polygamma = binary(Polygamma)


# Bits of exponent and mantissa of the floats, by the builder's names.
_FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
for _dtype in dtypes.SMALL_FLOATS.values():
    _info = dtypes.finfo(_dtype)
    _FORMATS[dtypes.short_name(_dtype)] = (int(_info.nexp), int(_info.nmant))


class ReducePrecision(Unary):
    """x rounded to a float of fewer exponent and mantissa bits, in its own dtype.

    To nearest, ties to even. What is too large becomes infinite, what would be
    subnormal becomes zero. Raises TypeError for all dtypes but floats.
    Source: https://openxla.org/stablehlo/spec#reduce_precision

    >>> from tetrad import lax
    >>> lax.reduce_precision(1.3, exponent_bits=8, mantissa_bits=2)
    Array(1.25, dtype=float32, weak_type=True)
    """

    exponent_bits: int
    mantissa_bits: int

    accepts = "f"
    linear = ((0,),)

    def type(self, x: Any) -> Any:
        if self.exponent_bits < 1 or self.mantissa_bits < 0:
            raise ValueError(
                "lax.reduce_precision needs exponent_bits >= 1 and mantissa_bits >= 0,"
                f" got {self.exponent_bits} and {self.mantissa_bits}"
            )
        return x

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (self(ct),)

    def scalar(self, block: Any, x: Any) -> Any:
        own_exponent, own_mantissa = _FORMATS[x.type]
        wide = x if x.type in _WIDE else block.convert(x, "f32")
        exponent, mantissa = _FORMATS[wide.type]
        bits = block.bitcast(wide, "u32" if wide.type == "f32" else "u64")
        if self.mantissa_bits < own_mantissa:
            bits = self._round(block, bits, mantissa - self.mantissa_bits)
        if self.exponent_bits < own_exponent:
            bits = self._limit(block, bits, exponent, mantissa)
        result = block.bitcast(bits, wide.type)
        result = block.select(block.ne(wide, wide), wide, result)
        return result if wide is x else block.convert(result, x.type)

    def _round(self, block: Any, bits: Any, cut: int) -> Any:
        """Rounds away the lowest `cut` bits; a carry goes into the exponent."""
        last = block.and_(block.shift_right_logical(bits, cut), 1)
        rounded = block.add(bits, block.add(last, (1 << (cut - 1)) - 1))
        return block.shift_left(block.shift_right_logical(rounded, cut), cut)

    def _limit(self, block: Any, bits: Any, exponent: int, mantissa: int) -> Any:
        """Overflow to infinity and underflow to zero, with the sign."""
        infinity = ((1 << exponent) - 1) << mantissa
        sign = block.and_(bits, 1 << (exponent + mantissa))
        power = block.and_(bits, infinity)
        bias = (1 << (exponent - 1)) - 1
        reduced_bias = (1 << (self.exponent_bits - 1)) - 1
        large = block.gt(power, (bias + reduced_bias) << mantissa)
        small = block.le(power, (bias - reduced_bias) << mantissa)
        bits = block.select(large, block.or_(sign, infinity), bits)
        return block.select(small, sign, bits)

    def hlo(self, emit: Any, x: Any) -> Any:
        return emit(
            "stablehlo.reduce_precision",
            x,
            exponent_bits=f"{self.exponent_bits} : i32",
            mantissa_bits=f"{self.mantissa_bits} : i32",
        )


def reduce_precision(x: Operand, exponent_bits: int, mantissa_bits: int) -> Any:
    op = ReducePrecision(operator.index(exponent_bits), operator.index(mantissa_bits))
    return op(check_operand(x, "reduce_precision"))


reduce_precision.__doc__ = ReducePrecision.__doc__
