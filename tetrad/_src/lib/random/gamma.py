"""Gamma draws by rejection, and the distributions that are made of them.

In: keys and concentrations. Out: gamma, beta, Dirichlet, chi-square, F, t draws and
generalised normal ones. Each element has a key of its own and goes through its turns of
the sampler alone, so that all of it is one loop in registers, and an element does not
depend on how many turns its neighbours take.

16-bit floats are drawn as float32 and rounded once.

Read `_draw`, then `RandomGamma`, from which the others follow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.control.compiled import compiled
from tetrad._src.control.loop import while_loop
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import aval_of
from tetrad._src.core.op import Axis
from tetrad._src.lib.random.arguments import (
    Shape,
    float_dtype,
    no_sharding,
    parameters,
    pick,
    scalar,
    shape_of,
    spread_out,
)
from tetrad._src.lib.random.keys import Key, children, one_key
from tetrad._src.lib.random.uniform import signs, standard_normal, unit
from tetrad._src.lib.special import LogGammaGrad, RandomGammaGrad
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import random
from tetrad._src.ops import shape as shape_ops
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.identity import stop_gradient
from tetrad._src.ops.keys import KeyOp
from tetrad._src.ops.reduce import reduce_max, reduce_sum
from tetrad._src.ops.views import broadcast_in_dim, reshape
from tetrad._src.transforms.vmap import vmap_flat
from tetrad._src.util.config import config, threefry_partitionable

F32 = np.dtype(np.float32)


# ------------------------------------------------------------------------- the sampler


def _draw(key: Any, a: Any, log_space: bool) -> Any:
    """One gamma draw of concentration `a`, or its logarithm; both are scalars.

    For a >= 1: d·V with d = a - 1/3, V = (1 + X/√(9d))³ and X normal, accepted if
    log U < X²/2 + d(1 - V + log V). For a < 1 a draw of a + 1 is multiplied by U^(1/a).
    Source: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
    """
    dtype = aval_of(a).dtype
    small = ops.lt(a, 1.0)
    d = ops.sub(ops.select_n(small, a, ops.add(a, 1.0)), 1 / 3)
    c = ops.div(dtype.type(1 / 3), ops.sqrt(d))
    key, boost_key = children(key, 2)

    def turn(carry: Any) -> Any:
        _, key, x_key, u_key, _ = carry
        next_x, this_x = children(x_key, 2)
        x = standard_normal(this_x, (), dtype)
        v = ops.add(ops.mul(x, c), 1.0)
        square, cube = ops.mul(x, x), ops.mul(ops.mul(v, v), v)
        u = unit(u_key, (), dtype)
        rejected = ops.ge(
            u, ops.sub(dtype.type(1), ops.mul(ops.mul(square, square), 0.0331))
        )
        ratio = ops.mul(d, ops.add(ops.sub(dtype.type(1), cube), ops.log(cube)))
        rejected = ops.bitwise_and(
            rejected, ops.ge(ops.log(u), ops.add(ops.mul(square, 0.5), ratio))
        )
        # Only x is drawn again while V is not positive.
        outside = ops.le(v, 0.0)
        after = children(key, 3)
        key, next_x, u_key = [
            ops.select_n(outside, new, old)
            for new, old in zip(after, (key, next_x, u_key), strict=True)
        ]
        return ops.bitwise_or(outside, rejected), key, next_x, u_key, cube

    start = (np.True_, *children(key, 3), dtype.type(1))
    cube = while_loop(lambda carry: carry[0], turn, start)[4]
    u = unit(boost_key, (), dtype)
    if log_space:
        boost = ops.div(ops.log1p(ops.neg(u)), a)
        boost = ops.select_n(ops.eq(u, 0.0), boost, shape_ops.full_like(boost, 0))
        zero = shape_ops.full_like(boost, 0)
        drawn = ops.add(
            ops.add(ops.log(d), ops.log(cube)), ops.select_n(small, zero, boost)
        )
    else:
        boost = ops.pow(ops.sub(dtype.type(1), u), ops.div(dtype.type(1), a))
        one = shape_ops.full_like(boost, 1)
        drawn = ops.mul(ops.mul(d, cube), ops.select_n(small, one, boost))
    return ops.select_n(ops.lt(a, 0.0), drawn, shape_ops.full_like(drawn, math.nan))


class RandomGamma(KeyOp):
    """Gamma draws, one for each element of `a`, or their logarithms.

    The shape of the keys is the beginning of that of `a`.
    """

    log_space: bool
    partitionable: bool = True

    accepts = "Kf"
    hidden = ("partitionable",)
    consumes = (0,)

    def type(self, key: Aval, a: Aval) -> Aval:  # type: ignore[override]
        if key.kind != "K" or a.shape[: key.ndim] != key.shape:
            raise TypeError(
                "random_gamma takes keys and concentrations for each of them, got"
                f" {key.long_name()} and {a.long_name()}"
            )
        return a

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        """By implicit reparametrisation: the draw moves as its quantile does."""
        key, a = primals
        drawn = self(key, a)
        if tangents[1] is None:
            return drawn, None
        slope = LogGammaGrad() if self.log_space else RandomGammaGrad()
        return drawn, ops.mul(slope(a, drawn), tangents[1])

    def batch(self, axis: Axis, key: Any, a: Any) -> Any:
        return self(key, a)

    def expand(self, key: Any, a: Any) -> Any:
        aval = aval_of(a)
        wide = a if aval.dtype.itemsize > 2 else convert_element_type(a, F32)
        rest = aval.shape[aval_of(key).ndim :]
        flat = reshape(wide, (aval.size,))
        with threefry_partitionable(self.partitionable):
            keys = reshape(random.random_split(key, rest), (aval.size,))
            (drawn,), _ = vmap_flat(
                lambda key, a: [_draw(key, a, self.log_space)],
                Axis(aval.size),
                [keys, flat],
                [0, 0],
            )
        return convert_element_type(reshape(drawn, aval.shape), aval.dtype)


random_gamma_p = RandomGamma


def random_gamma(key: Any, a: Any, log_space: bool) -> Any:
    """Gamma draws, one for each element of `a`."""
    return RandomGamma(log_space, config.jax_threefry_partitionable)(key, a)


def gamma(
    key: Key,
    a: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Gamma numbers of concentration a > 0 and scale 1: density xᵃ⁻¹ e⁻ˣ / Γ(a).

    `a` broadcasts to `shape`, whose default is the shape of `a`. The gradient by `a` is
    that of implicit reparametrisation. NaN where a < 0. Draws of a ≪ 1 underflow to 0:
    `loggamma` gives their logarithms.

    >>> import tetrad as jax
    >>> jax.random.gamma(jax.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    no_sharding(out_sharding, "gamma")
    return _gamma_of("gamma", key, a, shape, dtype, log_space=False)


def loggamma(
    key: Key,
    a: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Logarithms of gamma numbers of concentration a > 0, finite for the smallest a.

    `a` broadcasts to `shape`, whose default is the shape of `a`.

    >>> import tetrad as jax
    >>> bool(jax.random.loggamma(jax.random.key(0), 1e-4) < 0)
    True
    """
    no_sharding(out_sharding, "loggamma")
    return _gamma_of("loggamma", key, a, shape, dtype, log_space=True)


def _gamma_of(
    name: str, key: Key, a: Any, shape: Shape | None, dtype: Any, log_space: bool
) -> Any:
    dtype = float_dtype(dtype, name)
    typed, _ = one_key(key, name)
    shape, (a,) = parameters(name, shape, dtype, a=a)
    return _gamma(typed, a, shape=shape, dtype=dtype, log_space=log_space)


@compiled
def _gamma(
    typed: Any, a: Any, shape: tuple[int, ...], dtype: Any, log_space: bool
) -> Any:
    return random_gamma(typed, spread_out(a, shape, dtype), log_space)


def _log_gamma(typed: Any, a: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return random_gamma(typed, spread_out(a, shape, dtype), True)


# ------------------------------------------------------------- what is made of gammas


def beta(
    key: Key,
    a: Any,
    b: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Beta numbers in [0, 1]: density xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b), for a, b > 0.

    a and b broadcast to `shape`, whose default is their common shape.

    >>> import tetrad as jax
    >>> x = jax.random.beta(jax.random.key(0), 2.0, 3.0, (100,))
    >>> bool((x > 0).all() and (x < 1).all())
    True
    """
    no_sharding(out_sharding, "beta")
    dtype = float_dtype(dtype, "beta")
    typed, _ = one_key(key, "beta")
    shape, (a, b) = parameters("beta", shape, dtype, a=a, b=b)
    return _beta(typed, a, b, shape=shape, dtype=dtype)


@compiled
def _beta(typed: Any, a: Any, b: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """X/(X + Y) of gamma numbers, from their logarithms."""
    keys = random.random_split(typed, (2,))
    x = _log_gamma(pick(keys, 0), a, shape, dtype)
    y = _log_gamma(pick(keys, 1), b, shape, dtype)
    largest = stop_gradient(ops.max(x, y))
    x, y = ops.exp(ops.sub(x, largest)), ops.exp(ops.sub(y, largest))
    return ops.div(x, ops.add(x, y))


def dirichlet(
    key: Key,
    alpha: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Dirichlet vectors: probabilities along the last axis, of concentrations `alpha`.

    `alpha` has shape (…, k), whose leading axes broadcast to `shape`; the result has
    shape (*shape, k). ValueError unless `alpha` has an axis.

    >>> import tetrad as jax
    >>> jax.random.dirichlet(jax.random.key(0), jax.numpy.ones(4), (2,)).shape
    (2, 4)
    """
    no_sharding(out_sharding, "dirichlet")
    dtype = float_dtype(dtype, "dirichlet")
    typed, _ = one_key(key, "dirichlet")
    count = aval_of(alpha).shape[-1:]
    if not count:
        raise ValueError(
            "jax.random.dirichlet: alpha must have at least one axis, along which the"
            f" draws sum to 1, got {alpha!r}"
        )
    if shape is not None:
        shape = (*shape_of(shape, "dirichlet"), *count)
    shape, (alpha,) = parameters("dirichlet", shape, dtype, alpha=alpha)
    return _dirichlet(typed, alpha, shape=shape, dtype=dtype)


@compiled
def _dirichlet(typed: Any, alpha: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Gamma numbers over their sum, from their logarithms."""
    drawn = _log_gamma(typed, alpha, shape, dtype)
    last = len(shape) - 1
    if shape[last] == 0:
        return drawn
    kept = range(last)
    largest = stop_gradient(reduce_max(drawn, (last,)))
    scaled = ops.exp(ops.sub(drawn, broadcast_in_dim(largest, shape, kept)))
    total = reduce_sum(scaled, (last,))
    return ops.div(scaled, broadcast_in_dim(total, shape, kept))


def chisquare(
    key: Key,
    df: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Chi-square numbers of `df` > 0 degrees of freedom: twice gamma numbers of df / 2.

    `df` broadcasts to `shape`, whose default is the shape of `df`.

    >>> import tetrad as jax
    >>> jax.random.chisquare(jax.random.key(0), 3.0, (2,)).shape
    (2,)
    """
    no_sharding(out_sharding, "chisquare")
    dtype = float_dtype(dtype, "chisquare")
    typed, _ = one_key(key, "chisquare")
    shape, (df,) = parameters("chisquare", shape, dtype, df=df)
    return _chisquare(typed, df, shape=shape, dtype=dtype)


@compiled
def _chisquare(typed: Any, df: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    half = ops.mul(spread_out(df, shape, dtype), 0.5)
    return ops.mul(ops.exp(_log_gamma(typed, half, shape, dtype)), 2.0)


def f(
    key: Key,
    dfnum: Any,
    dfden: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """F numbers: the ratio of two chi-square numbers, each over its degrees of freedom.

    dfnum and dfden broadcast to `shape`, whose default is their common shape.

    >>> import tetrad as jax
    >>> jax.random.f(jax.random.key(0), 3.0, 5.0, (2,)).shape
    (2,)
    """
    no_sharding(out_sharding, "f")
    dtype = float_dtype(dtype, "f")
    typed, _ = one_key(key, "f")
    shape, (num, den) = parameters("f", shape, dtype, dfnum=dfnum, dfden=dfden)
    return _f(typed, num, den, shape=shape, dtype=dtype)


@compiled
def _f(typed: Any, num: Any, den: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    keys = random.random_split(typed, (2,))
    num, den = spread_out(num, shape, dtype), spread_out(den, shape, dtype)
    below = _chisquare(pick(keys, 0), den, shape=shape, dtype=dtype)
    above = _chisquare(pick(keys, 1), num, shape=shape, dtype=dtype)
    return ops.div(ops.div(above, num), ops.div(below, den))


def t(
    key: Key,
    df: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Student's t numbers of `df` > 0 degrees of freedom.

    `df` broadcasts to `shape`, whose default is the shape of `df`.

    >>> import tetrad as jax
    >>> jax.random.t(jax.random.key(0), 3.0, (2,)).shape
    (2,)
    """
    no_sharding(out_sharding, "t")
    dtype = float_dtype(dtype, "t")
    typed, _ = one_key(key, "t")
    shape, (df,) = parameters("t", shape, dtype, df=df)
    return _t(typed, df, shape=shape, dtype=dtype)


@compiled
def _t(typed: Any, df: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Z √(ν/2 / G) with Z normal and G gamma of concentration ν/2."""
    keys = random.random_split(typed, (2,))
    normal = standard_normal(pick(keys, 0), shape, dtype)
    half = ops.mul(spread_out(df, shape, dtype), 0.5)
    drawn = random_gamma(pick(keys, 1), half, False)
    return ops.mul(normal, ops.sqrt(ops.div(half, drawn)))


def generalized_normal(
    key: Key,
    p: Any,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers of density exp(-|x|ᵖ) / (2 Γ(1 + 1/p)), for p > 0.

    >>> import tetrad as jax
    >>> jax.random.generalized_normal(jax.random.key(0), 1.5, (2,)).shape
    (2,)
    """
    no_sharding(out_sharding, "generalized_normal")
    dtype = float_dtype(dtype, "generalized_normal")
    typed, _ = one_key(key, "generalized_normal")
    shape = shape_of(shape, "generalized_normal")
    p = scalar(p, dtype, "generalized_normal", "p")
    return _generalized_normal(typed, p, shape=shape, dtype=dtype)


@compiled
def _generalized_normal(typed: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return spread_by_power(typed, p, shape, dtype)


def spread_by_power(typed: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """±G^(1/p) with G gamma of concentration 1/p."""
    keys = random.random_split(typed, (2,))
    inverse = ops.div(dtype.type(1), convert_element_type(p, dtype))
    drawn = random_gamma(pick(keys, 0), spread_out(inverse, shape, dtype), False)
    return ops.mul(signs(pick(keys, 1), shape, dtype), ops.pow(drawn, inverse))
