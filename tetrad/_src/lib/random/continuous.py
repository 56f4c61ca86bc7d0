"""Distributions that are a function of one uniform or normal number.

In: keys and parameters. Out: draws by inversion of the distribution function, the same
as JAX's within the last places of the mathematical functions.
"""

from __future__ import annotations

from typing import Any

from tetrad._src.lib.compiled import compiled
from tetrad._src.lib.random.arguments import Shape, float_dtype, shape_of
from tetrad._src.lib.random.keys import Key, one_key
from tetrad._src.lib.random.uniform import spread, uniform, unit
from tetrad._src.ops import elementwise as ops
from tetrad._src.util import dtypes


def exponential(key: Key, shape: Shape = (), dtype: Any = None) -> Any:
    """Exponential numbers of rate 1: -log(1 - U) with U uniform in [0, 1)."""
    dtype = float_dtype(dtype, "exponential")
    u = uniform(key, shape, dtype)
    return ops.neg(ops.log1p(ops.neg(u)))


def gumbel(key: Key, shape: Shape = (), dtype: Any = None) -> Any:
    """Standard Gumbel numbers: -log(-log(U)) with U uniform in (0, 1)."""
    dtype = float_dtype(dtype, "gumbel")
    typed, _ = one_key(key, "gumbel")
    return _gumbel(typed, shape=shape_of(shape, "gumbel"), dtype=dtype)


@compiled
def _gumbel(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    tiny = dtype.type(dtypes.finfo(dtype).tiny)
    u = spread(unit(typed, shape, dtype), tiny, dtype.type(1))
    return ops.neg(ops.log(ops.neg(ops.log(u))))
