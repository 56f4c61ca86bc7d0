"""Distributions that are a function of a few uniform or normal numbers.

In: keys and parameters. Out: draws by inversion of the distribution function, the same
as JAX's within the last places of the mathematical functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.control.compiled import compiled
from tetrad._src.lib.random.arguments import (
    Shape,
    float_dtype,
    no_sharding,
    parameters,
    pick,
    shape_of,
)
from tetrad._src.lib.random.keys import Key, one_key
from tetrad._src.lib.random.uniform import (
    check_mode,
    signs,
    spread,
    standard_normal,
    two_units,
    unit,
)
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import random
from tetrad._src.ops import shape as shape_ops
from tetrad._src.ops.bitcast import bitcast_convert_type
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.reduce import reduce_sum
from tetrad._src.util import dtypes

# ------------------------------------------------------------------- without parameters


@compiled
def _exponential(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return exponentials(typed, shape, dtype)


def exponentials(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """-log(1 - U) with U uniform in [0, 1)."""
    return ops.neg(ops.log1p(ops.neg(unit(typed, shape, dtype))))


def _between(typed: Any, shape: tuple[int, ...], dtype: Any, low: float) -> Any:
    """Uniform numbers in [low, 1)."""
    return spread(unit(typed, shape, dtype), dtype.type(low), dtype.type(1))


@compiled
def _gumbel(typed: Any, shape: tuple[int, ...], dtype: Any, mode: str) -> Any:
    return gumbels(typed, shape, dtype, mode)


def gumbels(typed: Any, shape: tuple[int, ...], dtype: Any, mode: str) -> Any:
    info = dtypes.finfo(dtype)
    if mode == "highest" and dtype == np.float32:
        return _finest_gumbels(typed, shape)
    if mode == "low":
        u = _between(typed, shape, dtype, info.tiny)
        return ops.neg(ops.log(ops.neg(ops.log(u))))
    # Where the first number is small, the second fills in the bits below its own.
    high, low = two_units(typed, shape, dtype)
    finer = ops.add(high, ops.mul(low, dtype.type(info.eps)))
    finer = ops.add(finer, dtype.type(info.tiny))
    u = ops.select_n(ops.ge(high, dtype.type(0.5)), finer, high)
    return ops.neg(ops.log(ops.neg(ops.log1p(ops.neg(u)))))


def _finest_gumbels(typed: Any, shape: tuple[int, ...]) -> Any:
    """From all bits of 64-bit uniform numbers U, or of 1 - U where that is smaller."""
    both = random.random_bits(typed, 32, (2, *shape))
    high, low = pick(both, 0), pick(both, 1)
    small = ops.lt(high, np.uint32(1 << 31))
    carry = convert_element_type(ops.eq(low, np.uint32(0)), np.dtype(np.uint32))
    negative = ops.add(ops.bitwise_not(high), carry)
    high = ops.select_n(small, negative, high)
    low = ops.select_n(small, ops.neg(low), low)
    # The first 24 bits from the first one that is set.
    zeros, more = ops.clz(high), ops.clz(low)
    empty = ops.eq(zeros, np.uint32(32))
    rest = ops.shift_right_logical(low, ops.sub(shape_ops.full_like(zeros, 32), zeros))
    rest = ops.select_n(empty, rest, ops.shift_left(low, more))
    words = ops.bitwise_or(ops.shift_left(high, zeros), rest)
    fraction = ops.bitwise_and(
        ops.shift_right_logical(words, np.uint32(8)), np.uint32(0x7FFFFF)
    )
    zeros = ops.select_n(empty, zeros, ops.add(more, np.uint32(32)))
    exponent = ops.shift_left(
        ops.sub(shape_ops.full_like(zeros, 126), zeros), np.uint32(23)
    )
    p = bitcast_convert_type(ops.bitwise_or(exponent, fraction), np.dtype(np.float32))
    left = ops.neg(ops.log(ops.neg(ops.log(p))))
    right = ops.neg(ops.log(ops.neg(ops.log1p(ops.neg(p)))))
    return ops.select_n(small, left, right)


@compiled
def _laplace(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """sign(U) log(1 - |U|) with U uniform in (-1, 1)."""
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype)
    u = _between(typed, shape, dtype, low)
    return ops.mul(ops.sign(u), ops.log1p(ops.neg(ops.abs(u))))


@compiled
def _logistic(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """log U - log(1 - U) with U uniform in (0, 1)."""
    u = _between(typed, shape, dtype, dtypes.finfo(dtype).tiny)
    return ops.sub(ops.log(u), ops.log1p(ops.neg(u)))


@compiled
def _cauchy(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """tan π(U - 1/2) with U uniform in (0, 1)."""
    u = _between(typed, shape, dtype, dtypes.finfo(dtype).eps)
    return ops.tan(ops.mul(ops.sub(u, dtype.type(0.5)), dtype.type(math.pi)))


@compiled
def _maxwell(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return lengths(typed, shape, dtype)


def lengths(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The lengths of normal vectors in space."""
    normal = standard_normal(typed, (*shape, 3), dtype)
    return ops.sqrt(reduce_sum(ops.mul(normal, normal), (len(shape),)))


def exponential(
    key: Key, shape: Shape = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Exponential numbers of rate 1: density e⁻ˣ for x >= 0.

    >>> import tetrad as jax
    >>> jax.random.exponential(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "exponential")
    dtype = float_dtype(dtype, "exponential")
    typed, _ = one_key(key, "exponential")
    return _exponential(typed, shape=shape_of(shape, "exponential"), dtype=dtype)


def laplace(
    key: Key, shape: Shape = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Laplace numbers: density e^(-|x|) / 2.

    >>> import tetrad as jax
    >>> jax.random.laplace(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "laplace")
    dtype = float_dtype(dtype, "laplace")
    typed, _ = one_key(key, "laplace")
    return _laplace(typed, shape=shape_of(shape, "laplace"), dtype=dtype)


def logistic(
    key: Key, shape: Shape = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Logistic numbers: density e⁻ˣ / (1 + e⁻ˣ)².

    >>> import tetrad as jax
    >>> jax.random.logistic(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "logistic")
    dtype = float_dtype(dtype, "logistic")
    typed, _ = one_key(key, "logistic")
    return _logistic(typed, shape=shape_of(shape, "logistic"), dtype=dtype)


def cauchy(
    key: Key, shape: Shape = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Cauchy numbers: density 1 / (π (1 + x²)).

    >>> import tetrad as jax
    >>> jax.random.cauchy(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "cauchy")
    dtype = float_dtype(dtype, "cauchy")
    typed, _ = one_key(key, "cauchy")
    return _cauchy(typed, shape=shape_of(shape, "cauchy"), dtype=dtype)


def maxwell(
    key: Key, shape: Shape = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Maxwell numbers, the lengths of normal vectors in space: density
    √(2/π) x² e^(-x²/2) for x >= 0.

    >>> import tetrad as jax
    >>> jax.random.maxwell(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "maxwell")
    dtype = float_dtype(dtype, "maxwell")
    typed, _ = one_key(key, "maxwell")
    return _maxwell(typed, shape=shape_of(shape, "maxwell"), dtype=dtype)


def gumbel(
    key: Key,
    shape: Shape = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard Gumbel numbers: density e^(-x - e⁻ˣ).

    The mode "low" (the default) makes each of one uniform number, so that in float32
    none is above 16; "high" takes the bits of two, and "highest" all 64 of them.

    >>> import tetrad as jax
    >>> jax.random.gumbel(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "gumbel")
    check_mode(mode, "gumbel", "highest")
    dtype = float_dtype(dtype, "gumbel")
    typed, _ = one_key(key, "gumbel")
    return _gumbel(
        typed, shape=shape_of(shape, "gumbel"), dtype=dtype, mode=mode or "low"
    )


# ---------------------------------------------------------------------- with parameters


@compiled
def _pareto(typed: Any, b: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return ops.exp(ops.div(exponentials(typed, shape, dtype), b))


@compiled
def _rayleigh(typed: Any, scale: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """σ √(-2 log U); a U of 0 counts as half of the next number."""
    least = dtype.type(dtypes.finfo(dtype).eps / 2)
    logarithm = ops.log(ops.max(unit(typed, shape, dtype), least))
    return ops.mul(ops.sqrt(ops.mul(logarithm, dtype.type(-2))), scale)


@compiled
def _lognormal(typed: Any, sigma: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return ops.exp(ops.mul(standard_normal(typed, shape, dtype), sigma))


@compiled
def _weibull(
    typed: Any, scale: Any, power: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    drawn = exponentials(typed, shape, dtype)
    return ops.mul(ops.pow(drawn, ops.div(dtype.type(1), power)), scale)


@compiled
def _triangular(
    typed: Any, left: Any, mode: Any, right: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    """The inverse of a distribution function that is two parabolas."""
    u = unit(typed, shape, dtype)
    width, below, above = (
        ops.sub(right, left),
        ops.sub(mode, left),
        ops.sub(right, mode),
    )
    rising = ops.add(ops.sqrt(ops.mul(ops.mul(u, width), below)), left)
    rest = ops.sub(dtype.type(1), u)
    falling = ops.sub(right, ops.sqrt(ops.mul(ops.mul(rest, width), above)))
    return ops.select_n(ops.lt(u, ops.div(below, width)), falling, rising)


@compiled
def _wald(typed: Any, mean: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The smaller root of a quadratic with probability μ/(μ + root), else the larger.

    Source: Michael, Schucany and Haas, "Generating random variates using
    transformations with multiple roots", 1976. The smaller root is computed as
    2μ / (2 + μy + √(μy(4 + μy))), which does not cancel.
    """
    keys = random.random_split(typed, (2,))
    normal = standard_normal(pick(keys, 0), shape, dtype)
    u = unit(pick(keys, 1), shape, dtype)
    scaled = ops.mul(ops.mul(normal, normal), mean)
    root = ops.sqrt(ops.mul(scaled, ops.add(scaled, 4.0)))
    bottom = ops.add(ops.add(scaled, root), 2.0)
    small = ops.div(ops.mul(mean, 2.0), bottom)
    large = ops.mul(ops.mul(bottom, 0.5), mean)
    chosen = ops.le(u, ops.div(mean, ops.add(small, mean)))
    return ops.select_n(chosen, large, small)


@compiled
def _double_sided_maxwell(
    typed: Any, loc: Any, scale: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    keys = random.random_split(typed, (2,))
    size = lengths(pick(keys, 0), shape, dtype)
    signed = ops.mul(signs(pick(keys, 1), shape, dtype), size)
    return ops.add(ops.mul(signed, scale), loc)


def pareto(
    key: Key,
    b: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Pareto numbers of shape b > 0: density b / xᵇ⁺¹ for x >= 1.

    `b` broadcasts to `shape`, whose default is its shape.

    >>> import tetrad as jax
    >>> jax.random.pareto(jax.random.key(0), 2.0, shape=(2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "pareto")
    dtype = float_dtype(dtype, "pareto")
    typed, _ = one_key(key, "pareto")
    shape, values = parameters("pareto", shape, dtype, b=b)
    return _pareto(typed, *values, shape=shape, dtype=dtype)


def rayleigh(
    key: Key,
    scale: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Rayleigh numbers: density x/σ² e^(-x²/2σ²) for x >= 0, with σ = scale.

    `scale` broadcasts to `shape`, whose default is its shape.

    >>> import tetrad as jax
    >>> jax.random.rayleigh(jax.random.key(0), 2.0, shape=(2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "rayleigh")
    dtype = float_dtype(dtype, "rayleigh")
    typed, _ = one_key(key, "rayleigh")
    shape, values = parameters("rayleigh", shape, dtype, scale=scale)
    return _rayleigh(typed, *values, shape=shape, dtype=dtype)


def lognormal(
    key: Key,
    sigma: Any = 1.0,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Exponentials of normal numbers of standard deviation `sigma`.

    `sigma` broadcasts to `shape`, whose default is its shape.

    >>> import tetrad as jax
    >>> jax.random.lognormal(jax.random.key(0), 0.5, shape=(2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "lognormal")
    dtype = float_dtype(dtype, "lognormal")
    typed, _ = one_key(key, "lognormal")
    shape, values = parameters("lognormal", shape, dtype, sigma=sigma)
    return _lognormal(typed, *values, shape=shape, dtype=dtype)


def wald(
    key: Key,
    mean: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Wald (inverse Gaussian) numbers of the given mean and of scale 1: density
    (2πx³)^(-1/2) exp(-(x - μ)² / (2μ²x)) for x > 0.

    `mean` broadcasts to `shape`, whose default is its shape.

    >>> import tetrad as jax
    >>> jax.random.wald(jax.random.key(0), 2.0, shape=(2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "wald")
    dtype = float_dtype(dtype, "wald")
    typed, _ = one_key(key, "wald")
    shape, values = parameters("wald", shape, dtype, mean=mean)
    return _wald(typed, *values, shape=shape, dtype=dtype)


def triangular(
    key: Key,
    left: Any,
    mode: Any,
    right: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Triangular numbers: a density that rises from `left` to `mode` and falls to `right`.

    left, mode and right broadcast to `shape`, whose default is their common
    shape.

    >>> import tetrad as jax
    >>> jax.random.triangular(jax.random.key(0), 0.0, 1.0, 3.0, shape=(2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "triangular")
    dtype = float_dtype(dtype, "triangular")
    typed, _ = one_key(key, "triangular")
    shape, values = parameters(
        "triangular", shape, dtype, left=left, mode=mode, right=right
    )
    return _triangular(typed, *values, shape=shape, dtype=dtype)


def weibull_min(
    key: Key,
    scale: Any,
    concentration: Any,
    shape: Shape = (),
    dtype: Any = None,
) -> Any:
    """Weibull numbers: distribution function 1 - exp(-(x/scale)^concentration).

    scale and concentration broadcast to `shape`.

    >>> import tetrad as jax
    >>> jax.random.weibull_min(jax.random.key(0), 1.0, 2.0, shape=(2, 3)).shape
    (2, 3)
    """
    dtype = float_dtype(dtype, "weibull_min")
    typed, _ = one_key(key, "weibull_min")
    shape, values = parameters(
        "weibull_min", shape, dtype, scale=scale, concentration=concentration
    )
    return _weibull(typed, *values, shape=shape, dtype=dtype)


def double_sided_maxwell(
    key: Key,
    loc: Any,
    scale: Any,
    shape: Shape = (),
    dtype: Any = None,
) -> Any:
    """loc + scale·x with x a Maxwell number of random sign.

    loc and scale broadcast to `shape`.

    >>> import tetrad as jax
    >>> jax.random.double_sided_maxwell(jax.random.key(0), 0.0, 2.0, shape=(2, 3)).shape
    (2, 3)
    """
    dtype = float_dtype(dtype, "double_sided_maxwell")
    typed, _ = one_key(key, "double_sided_maxwell")
    shape, values = parameters(
        "double_sided_maxwell", shape, dtype, loc=loc, scale=scale
    )
    return _double_sided_maxwell(typed, *values, shape=shape, dtype=dtype)
