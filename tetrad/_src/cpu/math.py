"""The vector math library: every function by name, and the bound of its error.

In: an emitter, a function's name and f32 or f64 values; out: a value of the same type.
The functions live in `math_exp.py`, `math_trig.py`, `math_inverse.py`, `math_power.py`
and `math_special.py`; the polynomials in `coefficients.py`. `scalar.py` adds the 16-bit
and complex types.
"""

from __future__ import annotations

from collections.abc import Callable

from tetrad._src.cpu import (
    math_exp,
    math_inverse,
    math_power,
    math_special,
    math_trig,
)
from tetrad._src.cpu.registers import Emitter, Value

UNARY: dict[str, Callable[[Emitter, Value], Value]] = {
    "exp": math_exp.exp,
    "exp2": math_exp.exp2,
    "expm1": math_exp.expm1,
    "log": math_exp.log,
    "log1p": math_exp.log1p,
    "logistic": math_exp.logistic,
    "sinh": math_exp.sinh,
    "cosh": math_exp.cosh,
    "tanh": math_exp.tanh,
    "asinh": math_exp.asinh,
    "acosh": math_exp.acosh,
    "atanh": math_exp.atanh,
    "sin": math_trig.sin,
    "cos": math_trig.cos,
    "tan": math_trig.tan,
    "asin": math_inverse.asin,
    "acos": math_inverse.acos,
    "atan": math_inverse.atan,
    "cbrt": math_power.cbrt,
    "erf": math_special.erf,
    "erfc": math_special.erfc,
    "erf_inv": math_special.erf_inv,
    "lgamma": math_special.lgamma,
    "digamma": math_special.digamma,
}
"""Functions of one argument."""

BINARY: dict[str, Callable[[Emitter, Value, Value], Value]] = {
    "atan2": math_inverse.atan2,
    "pow": math_power.pow,
    "rem": math_power.remainder,
}
"""Functions of two arguments."""
