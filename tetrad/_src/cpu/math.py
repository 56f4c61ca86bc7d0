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

ULP: dict[str, dict[str, float]] = {
    "sqrt": {"f32": 0.5, "f64": 0.5},
    "rsqrt": {"f32": 1.5, "f64": 1.5},
    "exp": {"f32": 1.1, "f64": 1.0},
    "exp2": {"f32": 1.1, "f64": 1.0},
    "expm1": {"f32": 1.7, "f64": 2.0},
    "log": {"f32": 0.9, "f64": 0.8},
    "log1p": {"f32": 1.5, "f64": 0.9},
    "logistic": {"f32": 2.4, "f64": 1.7},
    "sinh": {"f32": 2.4, "f64": 2.2},
    "cosh": {"f32": 1.5, "f64": 1.4},
    "tanh": {"f32": 2.5, "f64": 1.8},
    "asinh": {"f32": 1.8, "f64": 1.7},
    "acosh": {"f32": 2.4, "f64": 1.8},
    "atanh": {"f32": 2.2, "f64": 1.6},
    "sin": {"f32": 2.0, "f64": 1.0},
    "cos": {"f32": 2.0, "f64": 1.0},
    "tan": {"f32": 0.6, "f64": 2.0},
    "asin": {"f32": 2.0, "f64": 2.1},
    "acos": {"f32": 1.4, "f64": 1.2},
    "atan": {"f32": 1.9, "f64": 1.0},
    "atan2": {"f32": 2.0, "f64": 1.3},
    "cbrt": {"f32": 1.0, "f64": 1.0},
    "pow": {"f32": 0.6, "f64": 1.0},
    "rem": {"f32": 0.0, "f64": 0.0},
    "erf": {"f32": 1.3, "f64": 0.8},
    "erfc": {"f32": 0.6, "f64": 3.6},
    # In single precision 4 up to |x| = 0.9; see `_erf_inv_f32` for what happens beyond.
    "erf_inv": {"f32": 80.0, "f64": 4.0},
    # Of the larger of 1 and the result: they have zeros that are not representable.
    "lgamma": {"f32": 0.6, "f64": 8.0},
    "digamma": {"f32": 0.6, "f64": 8.0},
}
"""The largest error in units in the last place of the result, over all arguments.

Functions of 16-bit floats are those of f32 rounded once more: 0.6. Of complex numbers the
error is measured on the distance in the plane, in units of 2⁻²³ or 2⁻⁵² of the magnitude:
`COMPLEX_ULP`.
"""

COMPLEX_ULP: dict[str, float] = {"c64": 0.6, "c128": 4.0}
"""For all complex functions but `pow`, whose error grows with |y·log x|, and `abs`."""

MAGNITUDE_ULP = 1.0
"""For the magnitude of complex numbers of either precision."""
