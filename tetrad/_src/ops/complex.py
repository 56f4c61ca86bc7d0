"""Complex numbers: their parts, conjugate and modulus; and the modulus of real ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Linear
from tetrad._src.ops.arithmetic import div, mul, neg
from tetrad._src.ops.compare import eq, ge, select_n
from tetrad._src.ops.families import Elementwise, Operand, Unary, check_operand
from tetrad._src.ops.functions import binary, scalar_like, unary


class Abs(Unary):
    """|x|, elementwise; the most negative integer stays as it is.

    The derivative at 0 is 1, as on its right. Of a complex number, its modulus, a real number. Raises
    TypeError for bools. Source: IEEE 754-2019, 5.5.1.

    >>> from tetrad import lax
    >>> lax.abs(-1.5)
    Array(1.5, dtype=float32, weak_type=True)
    """

    accepts = "fui"

    def derivative(self, ans: Any, x: Any) -> tuple[Any, ...]:
        one = scalar_like(x, 1.0)
        return (select_n(ge(x, scalar_like(x, 0.0)), scalar_like(x, -1.0), one),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.abs(x)

    def hlo(self, emit: Any, x: Any) -> Any:
        return x if x.aval.kind == "u" else emit("stablehlo.abs", x)


_PARTS = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
_WHOLE = {part: whole for whole, part in _PARTS.items()}


class Real(Elementwise):
    """The real part of complex x. Raises TypeError for other dtypes.

    >>> from tetrad import lax
    >>> lax.real(1 + 2j)
    Array(1., dtype=float32, weak_type=True)
    """

    accepts = "c"
    linear = ((0,),)

    def type(self, x: Aval) -> Aval:
        return Aval(x.shape, _PARTS[x.dtype])

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (complex(ct, scalar_like(ct, 0.0)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.real(x)

    hlo = "stablehlo.real"


class Imag(Elementwise):
    """The imaginary part of complex x. Raises TypeError for other dtypes.

    >>> from tetrad import lax
    >>> lax.imag(1 + 2j)
    Array(2., dtype=float32, weak_type=True)
    """

    accepts = "c"
    linear = ((0,),)

    def type(self, x: Aval) -> Aval:
        return Aval(x.shape, _PARTS[x.dtype])

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (complex(scalar_like(ct, 0.0), neg(ct)),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.imag(x)

    hlo = "stablehlo.imag"


class Complex(Elementwise):
    """x + i·y of float32 or float64 x and y; TypeError for other dtypes.

    >>> from tetrad import lax
    >>> lax.complex(1.0, 2.0)
    Array(1.+2.j, dtype=complex64, weak_type=True)
    """

    accepts = "f"
    linear = ((0, 1),)

    def type(self, x: Aval, y: Aval) -> Aval:
        part = self.common_dtype((x, y))
        if part not in _WHOLE:
            raise TypeError(
                f"lax.complex takes float32 or float64 parts, got {x.long_name()}"
            )
        return Aval(self.common_shape((x, y)), _WHOLE[part])

    def transpose(self, ct: Any, x: Any, y: Any) -> tuple[Any, ...]:
        return (
            real(ct) if isinstance(x, Linear) else None,
            imag(neg(ct)) if isinstance(y, Linear) else None,
        )

    def scalar(self, block: Any, x: Any, y: Any) -> Any:
        return block.complex(x, y)

    hlo = "stablehlo.complex"


class Conj(Elementwise):
    """The complex conjugate of x; a real x becomes complex.

    Raises TypeError for integers and bools.

    >>> from tetrad import lax
    >>> lax.conj(1 + 2j)
    Array(1.-2.j, dtype=complex64, weak_type=True)
    """

    input_dtype: Any

    accepts = "c"
    linear = ((0,),)

    def type(self, x: Aval) -> Aval:
        return x

    def transpose(self, ct: Any, x: Any) -> tuple[Any, ...]:
        return (Conj(self.input_dtype)(ct),)

    def scalar(self, block: Any, x: Any) -> Any:
        return block.conj(x)

    hlo = "chlo.conj"


class ComplexAbs(Elementwise):
    """The modulus of a complex number."""

    name = "abs"
    accepts = "c"

    def type(self, x: Aval) -> Aval:
        return Aval(x.shape, _PARTS[x.dtype])

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        ans = self(x)
        if t is None:
            return ans, None
        one = scalar_like(ans, 1.0)
        size = select_n(eq(ans, scalar_like(ans, 0.0)), ans, one)
        direction = div(conj(x), complex(size, scalar_like(size, 0.0)))
        return ans, real(mul(t, direction))

    def scalar(self, block: Any, x: Any) -> Any:
        return block.abs(x)

    hlo = "stablehlo.abs"


real = unary(Real)
imag = unary(Imag)
complex = binary(Complex)
_ABS = Abs()
_COMPLEX_ABS = ComplexAbs()


def conj(x: Operand) -> Any:
    x = check_operand(x, "conj")
    aval = aval_of(x)
    if aval.kind == "f":
        return complex(x, scalar_like(x, 0.0))
    return Conj(aval.dtype)(x)


def abs(x: Operand) -> Any:
    x = check_operand(x, "abs")
    return _COMPLEX_ABS(x) if aval_of(x).kind == "c" else _ABS(x)


conj.__doc__ = Conj.__doc__
abs.__doc__ = Abs.__doc__
