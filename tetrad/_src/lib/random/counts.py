"""Draws of counts: Poisson, binomial, geometric, multinomial.

In: keys and parameters. Out: whole numbers, the same as JAX's but for those whose
acceptance hangs on the last place of a logarithm. All elements share the uniform numbers
of a turn, and the rejection samplers keep the last number that was accepted before all
elements had one, as JAX does.

Read `poisson`, then `binomial`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad._src.control.compiled import compiled
from tetrad._src.control.loop import while_loop
from tetrad._src.control.scan import scan
from tetrad._src.core.bind import aval_of
from tetrad._src.lib.random.arguments import (
    Shape,
    float_dtype,
    no_sharding,
    parameters,
    pick,
    spread_out,
)
from tetrad._src.lib.random.keys import Key, one_key
from tetrad._src.lib.random.uniform import unit
from tetrad._src.lib.special import Wide
from tetrad._src.numpy import convert
from tetrad._src.ops import cumulative, random, special
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.reduce import reduce_or
from tetrad._src.ops.shape import full, full_like, transpose
from tetrad._src.util import dtypes

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
I32 = np.dtype(np.int32)


def _any(mask: Any) -> Any:
    return reduce_or(mask, range(aval_of(mask).ndim))


def _where(mask: Any, yes: Any, no: Any) -> Any:
    """`yes` where the mask holds, else `no`; either may be a number."""
    if aval_of(yes).ndim == 0 and aval_of(mask).ndim:
        yes = full_like(no, yes)
    if aval_of(no).ndim == 0 and aval_of(mask).ndim:
        no = full_like(yes, no)
    return ops.select_n(mask, no, yes)


def count_dtype(dtype: Any, name: str) -> Any:
    dtype = dtypes.canonicalize_dtype(int if dtype is None else dtype)
    if dtypes.kind(dtype) not in "iu":
        raise ValueError(
            f"jax.random.{name}: it draws integers, but dtype is {dtype.name}"
        )
    return dtype


def _accepted(
    key: Any, shape: tuple[int, ...], dtype: Any, attempt: Callable[..., Any]
) -> Any:
    """Whole numbers that `attempt` made and accepted from two uniform numbers."""

    def turn(carry: Any) -> Any:
        drawn, done, key = carry
        keys = random.random_split(key, (3,))
        uniform = [unit(pick(keys, i), shape, dtype) for i in (1, 2)]
        k, accept = attempt(*uniform)
        return _where(accept, k, drawn), ops.bitwise_or(done, accept), pick(keys, 0)

    start = (full(shape, -1, dtype), full(shape, False), key)
    drawn, _, _ = while_loop(lambda carry: _any(ops.bitwise_not(carry[1])), turn, start)
    return drawn


# ------------------------------------------------------------------------------ Poisson


def poisson(
    key: Key,
    lam: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Poisson counts of mean λ: probability λᵏ e^(-λ) / k!.

    λ broadcasts to `shape`, whose default is its shape. Counts that `dtype` (an integer
    type) cannot hold become its largest value; a λ that is negative or NaN gives -1.

    >>> import tetrad as jax
    >>> jax.random.poisson(jax.random.key(0), 4.0, (2, 3)).shape
    (2, 3)
    """
    no_sharding(out_sharding, "poisson")
    dtype = count_dtype(dtype, "poisson")
    typed, _ = one_key(key, "poisson")
    shape, (lam,) = parameters("poisson", shape, F32, lam=lam)
    return _poisson(typed, lam, shape=shape, dtype=dtype)


@compiled
def _poisson(typed: Any, lam: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    lam = spread_out(lam, shape, F32)
    few = ops.bitwise_or(ops.ne(lam, lam), ops.lt(lam, 10.0))
    small = _poisson_by_product(typed, _where(few, lam, 0.0), shape)
    large = _poisson_by_rejection(typed, _where(few, 1e5, lam), shape)
    large = _where(ops.eq(lam, math.inf), math.inf, large)
    small, large = [convert_element_type(x, dtype) for x in (small, large)]
    return _where(ops.eq(lam, 0.0), 0, _where(few, small, large))


def _poisson_by_product(key: Any, lam: Any, shape: tuple[int, ...]) -> Any:
    """How many uniform numbers have a product above e^(-λ).

    Source: Knuth, "The Art of Computer Programming", volume 2, 3.4.1.
    """
    limit = ops.neg(lam)

    def turn(carry: Any) -> Any:
        count, total, key = carry
        keys = random.random_split(key, (2,))
        drawn = ops.log(unit(pick(keys, 1), shape, F32))
        going = convert_element_type(ops.gt(total, limit), I32)
        return ops.add(count, going), ops.add(total, drawn), pick(keys, 0)

    start = (full(shape, 0, I32), full(shape, 0, F32), key)
    count, _, _ = while_loop(lambda carry: _any(ops.gt(carry[1], limit)), turn, start)
    return ops.sub(count, 1)


class _PoissonDensity(Wide):
    """k log λ - λ - log k!, whose terms are λ times larger than it."""

    name = "log_poisson_density"

    def core(self, k: Any, lam: Any) -> Any:
        terms = ops.sub(ops.mul(k, ops.log(lam)), lam)
        return ops.sub(terms, special.lgamma(ops.add(k, F64.type(1))))


def _poisson_by_rejection(key: Any, lam: Any, shape: tuple[int, ...]) -> Any:
    """For λ >= 10. Source: Hörmann, "The transformed rejection method for generating
    Poisson random variables", 1993, algorithm PTRS.
    """
    b = ops.add(ops.mul(ops.sqrt(lam), 2.53), 0.931)
    a = ops.add(ops.mul(b, 0.02483), -0.059)
    inverse_alpha = ops.add(ops.div(np.float32(1.1328), ops.sub(b, 3.4)), 1.1239)
    v_r = ops.sub(np.float32(0.9277), ops.div(np.float32(3.6224), ops.sub(b, 2.0)))

    def attempt(u: Any, v: Any) -> Any:
        u = ops.sub(u, 0.5)
        distance = ops.sub(np.float32(0.5), ops.abs(u))
        slope = ops.add(ops.div(ops.mul(a, 2.0), distance), b)
        k = ops.floor(ops.add(ops.add(ops.mul(slope, u), lam), 0.43))
        at_once = ops.bitwise_and(ops.ge(distance, 0.07), ops.le(v, v_r))
        never = ops.bitwise_and(ops.lt(distance, 0.013), ops.gt(v, distance))
        never = ops.bitwise_or(ops.lt(k, 0.0), never)
        bottom = ops.add(ops.div(a, ops.mul(distance, distance)), b)
        s = ops.log(ops.div(ops.mul(v, inverse_alpha), bottom))
        density = _PoissonDensity()(k, lam)
        accept = ops.bitwise_and(ops.bitwise_not(never), ops.le(s, density))
        return k, ops.bitwise_or(at_once, accept)

    return _accepted(key, shape, F32, attempt)


# ----------------------------------------------------------------------------- binomial


def binomial(
    key: Key, n: Any, p: Any, shape: Shape | None = None, dtype: Any = None
) -> Any:
    """Binomial counts, as floats: successes among n trials of probability p each.

    n and p broadcast to `shape`, whose default is their common shape. n is rounded down.
    NaN where n is negative or p is not in [0, 1].

    >>> import tetrad as jax
    >>> jax.random.binomial(jax.random.key(0), 10, 0.5, (2, 3)).shape
    (2, 3)
    """
    dtype = float_dtype(dtype, "binomial")
    typed, _ = one_key(key, "binomial")
    shape, (n, p) = parameters("binomial", shape, dtype, n=n, p=p)
    return _binomial(typed, n, p, shape=shape, dtype=dtype)


@compiled
def _binomial(typed: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    wide = F32 if dtype.itemsize <= 2 else dtype
    n, p = [convert_element_type(spread_out(x, shape, dtype), wide) for x in (n, p)]
    return convert_element_type(_binomials(typed, n, p, shape, wide), dtype)


def _binomials(key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Draws for min(p, 1 - p), turned around where that is 1 - p."""
    low = ops.lt(p, 0.5)
    q = _where(low, p, ops.sub(dtype.type(1), p))
    wrong_n = ops.bitwise_or(ops.ne(n, n), ops.lt(n, 0.0))
    wrong_p = ops.bitwise_or(ops.ne(q, q), ops.lt(q, 0.0))
    q = _where(wrong_p, 0.01, q)
    endless = ops.eq(n, math.inf)
    whole = ops.floor(_where(endless, 1e4, n))
    few = ops.bitwise_or(wrong_n, ops.le(ops.mul(n, q), 10.0))
    small = _binomial_by_gaps(key, _where(few, whole, 0.0), q, shape, dtype)
    large = _binomial_by_rejection(
        key, _where(few, 1e4, whole), _where(few, 0.5, q), shape, dtype
    )
    drawn = _where(few, small, large)
    wrong = ops.bitwise_or(wrong_n, wrong_p)
    drawn = _where(wrong, math.nan, _where(endless, math.inf, drawn))
    turned = ops.bitwise_not(ops.bitwise_or(ops.bitwise_or(low, wrong), endless))
    return _where(turned, ops.sub(whole, drawn), drawn)


def _binomial_by_gaps(
    key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    """How many gaps between successes, which are geometric, fit into n trials.

    Source: Devroye, "Non-uniform random variate generation", 1986, X.4.3.
    """
    rate = ops.log1p(ops.neg(p))

    def turn(carry: Any) -> Any:
        count, total, key = carry
        keys = random.random_split(key, (2,))
        going = convert_element_type(ops.le(total, n), dtype)
        gap = ops.ceil(ops.div(ops.log(unit(pick(keys, 0), shape, dtype)), rate))
        return ops.add(count, going), ops.add(total, gap), pick(keys, 1)

    start = (full(shape, 0, dtype), full(shape, 0, dtype), key)
    count, _, _ = while_loop(lambda carry: _any(ops.le(carry[1], n)), turn, start)
    return ops.sub(count, 1.0)


class _BinomialDensity(Wide):
    """The logarithm of the probability of k over that of the mode."""

    name = "log_binomial_density"

    def core(self, k: Any, n: Any, p: Any) -> Any:
        one = F64.type(1)
        odds = ops.div(p, ops.sub(one, p))
        mode = ops.floor(ops.mul(ops.add(n, one), p))
        above, left = [ops.add(ops.sub(n, m), one) for m in (mode, k)]
        at_mode = ops.log(ops.div(ops.add(mode, one), ops.mul(odds, above)))
        at_mode = ops.mul(ops.add(mode, F64.type(0.5)), at_mode)
        between = ops.mul(ops.add(n, one), ops.log(ops.div(above, left)))
        at_k = ops.log(ops.div(ops.mul(odds, left), ops.add(k, one)))
        at_k = ops.mul(ops.add(k, F64.type(0.5)), at_k)
        total = ops.add(at_mode, ops.add(between, at_k))
        for count in (mode, ops.sub(n, mode)):
            total = ops.add(total, log_factorial_rest(count))
        for count in (k, ops.sub(n, k)):
            total = ops.sub(total, log_factorial_rest(count))
        return total


# log k! less Stirling's approximation, for k = 0 … 9.
_STIRLING_REST = tuple(
    [
        math.lgamma(k + 1)
        - (0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - (k + 1))
        for k in range(10)
    ]
)


def log_factorial_rest(k: Any) -> Any:
    """log k! - (log √2π + (k + ½) log(k + 1) - (k + 1)), for float64 k >= 0."""
    next_one = ops.add(k, F64.type(1))
    square = ops.mul(next_one, next_one)
    series = ops.sub(F64.type(1 / 360), ops.div(F64.type(1 / 1260), square))
    series = ops.sub(F64.type(1 / 12), ops.div(series, square))
    rest = ops.div(series, next_one)
    for number, value in enumerate(_STIRLING_REST):
        rest = _where(ops.eq(k, F64.type(number)), F64.type(value), rest)
    return rest


def _binomial_by_rejection(
    key: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    """For n·p >= 10 and p <= ½. Source: Hörmann, "The generation of binomial random
    variates", 1993, algorithm BTRS.
    """
    one = dtype.type(1)
    spq = ops.sqrt(ops.mul(ops.mul(n, p), ops.sub(one, p)))
    b = ops.add(ops.mul(spq, 2.53), 1.15)
    a = ops.add(ops.add(ops.mul(b, 0.0248), -0.0873), ops.mul(p, 0.01))
    c = ops.add(ops.mul(n, p), 0.5)
    v_r = ops.sub(dtype.type(0.92), ops.div(dtype.type(4.2), b))
    alpha = ops.mul(ops.add(ops.div(dtype.type(5.1), b), 2.83), spq)

    def attempt(u: Any, v: Any) -> Any:
        u = ops.sub(u, 0.5)
        distance = ops.sub(dtype.type(0.5), ops.abs(u))
        slope = ops.add(ops.div(ops.mul(a, 2.0), distance), b)
        k = ops.floor(ops.add(ops.mul(slope, u), c))
        at_once = ops.bitwise_and(ops.ge(distance, 0.07), ops.le(v, v_r))
        outside = ops.bitwise_or(ops.lt(k, 0.0), ops.gt(k, n))
        bottom = ops.add(ops.div(a, ops.mul(distance, distance)), b)
        size = ops.log(ops.div(ops.mul(v, alpha), bottom))
        inside = ops.clamp(dtype.type(0), k, n)
        bound = _BinomialDensity()(inside, n, p)
        accept = ops.bitwise_and(ops.bitwise_not(outside), ops.le(size, bound))
        return k, ops.bitwise_or(at_once, accept)

    return _accepted(key, shape, dtype, attempt)


def multinomial(
    key: Key,
    n: Any,
    p: Any,
    *,
    shape: Shape | None = None,
    dtype: Any = None,
    unroll: int | bool = 1,
) -> Any:
    """How n trials fall into k categories of probabilities `p`, as floats.

    `p` has shape (…, k). n and the leading axes of `p` broadcast to `shape` without its
    last axis, which is k; the default is their common shape. Each category is binomial
    among the trials that the categories before it left. `unroll` is that of `lax.scan`.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> float(jax.random.multinomial(jax.random.key(0), 7, jnp.ones(3) / 3).sum())
    7.0
    """
    dtype = float_dtype(dtype, "multinomial")
    typed, _ = one_key(key, "multinomial")
    p = convert.operand(p, "random.multinomial", "p")
    n = convert.operand(n, "random.multinomial", "n")
    if not aval_of(p).ndim:
        raise ValueError(
            "jax.random.multinomial: p must have an axis of categories, got the number"
            f" {p!r}"
        )
    *lead, count = aval_of(p).shape
    if shape is None:
        try:
            common = np.broadcast_shapes(aval_of(n).shape, tuple(lead))
        except ValueError:
            raise ValueError(
                f"jax.random.multinomial: n of shape {aval_of(n).shape} and p of shape"
                f" {aval_of(p).shape} do not fit together: n must broadcast with"
                f" {tuple(lead)}, the shape of p without its last axis"
            ) from None
        shape = (*common, count)
    shape, (p,) = parameters("multinomial", shape, dtype, p=p)
    batch, (n,) = parameters("multinomial", shape[:-1], dtype, n=n)
    if shape[-1:] != (count,):
        raise ValueError(
            f"jax.random.multinomial: shape={shape} must end in {count}, the number of"
            " categories of p"
        )
    return _multinomial(typed, n, p, shape=shape, dtype=dtype, unroll=unroll)


@compiled
def _multinomial(
    typed: Any, n: Any, p: Any, shape: tuple[int, ...], dtype: Any, unroll: Any
) -> Any:
    batch, count = shape[:-1], shape[-1]
    p = spread_out(p, shape, dtype)
    rest = cumulative.cumsum(p, axis=len(batch), reverse=True)
    share = ops.div(p, _where(ops.eq(rest, 0.0), 1.0, rest))
    last = len(batch)
    order = (last, *range(last))
    share = transpose(share, order)
    keys = random.random_split(typed, (count,))

    def turn(left: Any, xs: Any) -> Any:
        share, key = xs
        share = ops.clamp(dtype.type(0), share, dtype.type(1))
        drawn = _binomials(key, left, share, batch, dtype)
        return ops.sub(left, drawn), drawn

    _, drawn = scan(turn, spread_out(n, batch, dtype), (share, keys), unroll=unroll)
    return transpose(drawn, (*range(1, last + 1), 0))


# ---------------------------------------------------------------------------- geometric


def geometric(
    key: Key,
    p: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Geometric counts: trials up to the first success, probability (1 - p)ᵏ⁻¹ p.

    p broadcasts to `shape`, whose default is its shape.

    >>> import tetrad as jax
    >>> int(jax.random.geometric(jax.random.key(0), 0.25, (100,)).min())
    1
    """
    no_sharding(out_sharding, "geometric")
    dtype = count_dtype(dtype, "geometric")
    typed, _ = one_key(key, "geometric")
    real = aval_of(convert.operand(p, "random.geometric", "p")).dtype
    if real not in (F32, F64):
        real = dtypes.canonicalize_dtype(float)
    shape, (p,) = parameters("geometric", shape, real, p=p)
    return _geometric(typed, p, shape=shape, dtype=dtype, real=real)


@compiled
def _geometric(
    typed: Any, p: Any, shape: tuple[int, ...], dtype: Any, real: Any
) -> Any:
    """⌊log U / log(1 - p)⌋ + 1; where U is 0 it counts as 1."""
    u = unit(typed, shape, real)
    u = _where(ops.eq(u, 0.0), 1.0, u)
    rate = ops.log1p(ops.neg(spread_out(p, shape, real)))
    return convert_element_type(
        ops.add(ops.floor(ops.div(ops.log(u), rate)), 1.0), dtype
    )
