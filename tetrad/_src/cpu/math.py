"""The vector math library: every function by name, and the bound of its error.

In: an emitter, a function's name and f32 or f64 values; out: a value of the same type.
The functions live in `math_exp.py`, `math_trig.py` and `math_special.py`; the
polynomials in `coefficients.py`. `scalar.py` adds the 16-bit and complex types.
"""

from __future__ import annotations

from collections.abc import Callable

from tetrad._src.cpu import math_exp, math_special, math_trig
from tetrad._src.cpu.registers import Emitter, Value

UNARY: dict[str, Callable[[Emitter, Value], Value]] = {
    "exp": math_exp.exp,
    "log": math_exp.log,
    "log1p": math_exp.log1p,
    "tanh": math_exp.tanh,
    "sin": math_trig.sin,
    "cos": math_trig.cos,
    "erf_inv": math_special.erf_inv,
}
"""Functions of one argument."""
