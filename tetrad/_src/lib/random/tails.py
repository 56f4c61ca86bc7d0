"""Normal numbers far out: the quantiles of a normal number that is known to lie there.

In: uniform numbers and bounds of one sign. Out: numbers between the bounds. Where both
are beyond 3 the error function is almost 1, and its inverse has few digits left or none;
here the ratio of tail probabilities is inverted instead, in double precision.

Read `NormalTail`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.lib.special import Loop
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import special
from tetrad._src.ops.shape import full_like

FROM = 3.0  # both bounds are at least this far from 0
STEPS = 4
_SERIES = [
    (-1) ** n * math.prod(range(1, 2 * n, 2)) / 2**n for n in range(14)
]  # of √π z exp(z²) erfc(z), in powers of 1/z²


def _number(x: float) -> Any:
    return np.float64(x)


def _scaled_tail(x: Any) -> Any:
    """exp(x²/2) erfc(x/√2), for x > 0."""
    z = ops.mul(x, _number(math.sqrt(0.5)))
    far = ops.gt(z, _number(10))
    near = ops.select_n(far, z, full_like(z, 1))
    direct = ops.mul(ops.exp(ops.mul(near, near)), special.erfc(near))
    inverse = ops.div(_number(1), ops.select_n(far, full_like(z, 10), z))
    square = ops.mul(inverse, inverse)
    total: Any = _number(_SERIES[-1])
    for c in reversed(_SERIES[:-1]):
        total = ops.add(ops.mul(total, square), _number(c))
    series = ops.mul(ops.mul(total, inverse), _number(1 / math.sqrt(math.pi)))
    return ops.select_n(far, direct, series)


class NormalTail(Loop):
    """The normal number x with P(X < x | low < X < high) = u, elementwise.

    For low > 0, or high < 0. Newton's method on the logarithm of the tail probability.
    """

    name = "normal_tail"

    def core(self, u: Any, low: Any, high: Any) -> Any:
        one, zero = _number(1), _number(0)
        right = ops.gt(low, zero)
        near = ops.max(ops.select_n(right, ops.neg(high), low), one)
        far = ops.max(ops.select_n(right, ops.neg(low), high), near)
        at_near = _scaled_tail(near)
        # The logarithm of P(X > far) / P(X > near).
        gap = ops.mul(ops.mul(ops.sub(near, far), ops.add(near, far)), _number(0.5))
        log_far = ops.add(gap, ops.log(ops.div(_scaled_tail(far), at_near)))
        log_far = ops.select_n(
            ops.eq(far, _number(math.inf)), log_far, full_like(log_far, -math.inf)
        )
        inside = ops.mul(u, ops.neg(ops.expm1(log_far)))
        from_near = ops.log1p(ops.neg(inside))
        from_far = ops.log(ops.add(inside, ops.exp(log_far)))
        level = ops.select_n(right, from_far, from_near)
        square = ops.mul(near, near)
        x = ops.sqrt(ops.sub(square, ops.mul(level, _number(2))))
        for _ in range(STEPS):
            tail = _scaled_tail(x)
            excess = ops.mul(ops.sub(square, ops.mul(x, x)), _number(0.5))
            error = ops.add(excess, ops.log(ops.div(tail, at_near)))
            step = ops.mul(ops.sub(error, level), tail)
            x = ops.add(x, ops.mul(step, _number(math.sqrt(math.pi / 2))))
        return ops.select_n(right, ops.neg(x), x)
