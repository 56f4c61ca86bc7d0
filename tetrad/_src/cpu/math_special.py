"""Error functions and gamma functions of f32 and f64 vectors.

In: an emitter and f32 or f64 values; out: values of the same type.
"""

from __future__ import annotations

import math

from tetrad._src.cpu import coefficients as table
from tetrad._src.cpu.math_exp import log1p_of_negative
from tetrad._src.cpu.registers import Emitter, Value


def erf_inv(b: Emitter, x: Value) -> Value:
    """The inverse of erf: x·P(w), w = −log(1 − x²); ±∞ at ±1, NaN beyond."""
    w = -log1p_of_negative(b, x * x)
    central = b.compare("olt", w, 5.0)
    fast = b.horner(w - 2.5, table.ERF_INV_F32_CENTRE) * x

    def tail() -> Value:
        y = b.horner(b.square_root(w) - 3.0, table.ERF_INV_F32_TAIL) * x
        y = b.select(central, fast, y)
        size = b.magnitude(x)
        y = b.select(b.compare("oeq", size, 1.0), x * math.inf, y)
        return b.select(b.compare("ugt", size, 1.0), math.nan, y)

    # Below this magnitude w < 5; NaN and what lies beyond ±1 count as rare.
    return b.if_any(b.compare("uge", b.magnitude(x), 0.9966), tail, fast)
