"""Special functions to the last digit of long double, by mpmath, for few values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np


def precise(function: Callable[..., Any], fallback: Callable[..., Any]) -> Any:
    """`function` of mpmath numbers, elementwise on arrays of floats.

    `fallback`, of SciPy, answers for infinities, NaN, poles, and what is far out.
    """

    def reference(*arrays: Any) -> Any:
        arrays = np.broadcast_arrays(*arrays)
        result = np.empty(arrays[0].shape, np.longdouble)
        for at in np.ndindex(result.shape):
            result[at] = one(*[a[at] for a in arrays])
        return result

    def one(*xs: Any) -> Any:
        doubles = [np.float64(x) for x in xs]
        if not np.isfinite(doubles).all() or np.abs(doubles).max() > 1e6:
            return fallback(*doubles)
        with mpmath.workdps(40):
            try:
                value = function(*[mpmath.mpf(float(x)) for x in doubles])
            except (ValueError, ZeroDivisionError, OverflowError):
                return fallback(*doubles)
            if isinstance(value, mpmath.mpc) or not mpmath.isfinite(value):
                return fallback(*doubles)
            if abs(value) < mpmath.mpf(10) ** -4900:
                return np.longdouble(0)
            return np.longdouble(mpmath.nstr(value, 25))

    return reference
