"""Bits, and the draws that are a few operations on bits: uniform, normal, integers.

In: keys and parameters. Out: arrays with the same bits as JAX's (`normal` within the
last place of `erf_inv`). Read `unit`, from which the others follow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.control.compiled import compiled
from tetrad._src.core.bind import aval_of
from tetrad._src.lib.random import tails
from tetrad._src.lib.random.arguments import (
    Shape,
    bound,
    float_dtype,
    increasing,
    no_sharding,
    parameters,
    pick,
    shape_of,
    spread_out,
)
from tetrad._src.lib.random.keys import Key, one_key, sampling_key, typed_inside
from tetrad._src.numpy import convert
from tetrad._src.numpy import shape as shape_functions
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import random, special
from tetrad._src.ops import shape as shape_ops
from tetrad._src.ops.bitcast import bitcast_convert_type
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.identity import stop_gradient
from tetrad._src.util import dtypes

F32 = np.dtype(np.float32)
NUMBERS = (int, float, np.integer, np.floating)
ZERO, ONE = 0.0, 1.0


def bits(
    key: Key,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform random bits as unsigned integers (uint32 by default)."""
    if out_sharding is not None:
        no_sharding(out_sharding, "bits")
    dtype = dtypes.canonicalize_dtype(np.uint32 if dtype is None else dtype)
    if dtypes.kind(dtype) != "u":
        raise ValueError(
            f"jax.random.bits draws unsigned integers, got dtype={dtype.name}"
        )
    typed, _ = one_key(key, "bits")
    words = random.random_bits(typed, dtype.itemsize * 8, shape_of(shape, "bits"))
    small = dtype in dtypes.SMALL_INTEGERS.values()
    return convert_element_type(words, dtype) if small else words


def uniform(
    key: Key,
    shape: Shape = (),
    dtype: Any = None,
    minval: Any = ZERO,
    maxval: Any = ONE,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform numbers in [minval, maxval).

    minval and maxval broadcast to `shape`.

    >>> import tetrad as jax
    >>> u = jax.random.uniform(jax.random.key(0), (3,))
    >>> bool((u >= 0).all() and (u < 1).all())
    True
    """
    if out_sharding is not None:
        no_sharding(out_sharding, "uniform")
    dtype = float_dtype(dtype, "uniform")
    shape = shape_of(shape, "uniform")
    typed = sampling_key(key, "uniform")
    if minval is not ZERO or maxval is not ONE:
        increasing("uniform", minval=minval, maxval=maxval)
    low = bound(minval, shape, dtype, "uniform", "minval")
    high = bound(maxval, shape, dtype, "uniform", "maxval")
    return _uniform(typed, low, high, shape=shape, dtype=dtype)


def unit(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers in [0, 1): random bits in the mantissa of a number in [1, 2), less 1."""
    info = dtypes.finfo(dtype)
    width = dtype.itemsize * 8
    mantissa = int(info.nmant)
    drawn = 8 if mantissa < 8 else width
    words = random.random_bits(typed, drawn, shape)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    if drawn != width:
        words = convert_element_type(words, unsigned)
    one = np.ones((), dtype).view(unsigned)[()]
    fraction = ops.shift_right_logical(words, unsigned.type(drawn - mantissa))
    return ops.sub(
        bitcast_convert_type(ops.bitwise_or(fraction, one), dtype), dtype.type(1)
    )


@compiled
def _uniform(
    typed: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    return spread(unit(typed_inside(typed), shape, dtype), low, high)


def spread(unit: Any, low: Any, high: Any) -> Any:
    return ops.max(low, random.stretch(unit, ops.sub(high, low), low))


def normal(
    key: Key,
    shape: Shape = (),
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard normal numbers; complex dtypes have unit variance in all.

    With U uniform in (-1, 1): sqrt(2) erf_inv(U).

    >>> import tetrad as jax
    >>> jax.random.normal(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    if out_sharding is not None:
        no_sharding(out_sharding, "normal")
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    shape = shape_of(shape, "normal")
    if dtypes.kind(dtype) == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        typed, _ = one_key(key, "normal")
        keys = random.random_split(typed, (2,))
        real = _normal(pick(keys, 0), shape=shape, dtype=part)
        imag = _normal(pick(keys, 1), shape=shape, dtype=part)
        return ops.div(ops.complex(real, imag), dtype.type(math.sqrt(2)))
    dtype = float_dtype(dtype, "normal")
    typed = sampling_key(key, "normal")
    return _normal(typed, shape=shape, dtype=dtype)


@compiled
def _normal(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return standard_normal(typed_inside(typed), shape, dtype)


def standard_normal(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    low = dtype.type(np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype))
    drawn = spread(unit(typed, shape, dtype), low, dtype.type(1))
    return ops.mul(dtype.type(math.sqrt(2)), special.erf_inv(drawn))


def truncated_normal(
    key: Key,
    lower: Any,
    upper: Any,
    shape: Shape | None = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard normal numbers between `lower` and `upper`, which are not drawn.

    The bounds broadcast to `shape`, whose default is their common shape. They may be
    far out: numbers between 6 and 7 have a mean of 6.157.

    >>> import tetrad as jax
    >>> x = jax.random.truncated_normal(jax.random.key(0), -1, 2, (1000,))
    >>> bool((x > -1).all() and (x < 2).all())
    True
    """
    no_sharding(out_sharding, "truncated_normal")
    dtype = float_dtype(dtype, "truncated_normal")
    typed, _ = one_key(key, "truncated_normal")
    increasing("truncated_normal", lower=lower, upper=upper)
    far = _far_out(lower, upper)
    shape, (low, high) = parameters(
        "truncated_normal", shape, dtype, lower=lower, upper=upper
    )
    return _truncated(typed, low, high, shape=shape, dtype=dtype, far=far)


def _far_out(lower: Any, upper: Any) -> bool | None:
    """Whether both bounds are far on one side; None if that is not known or differs."""
    if not isinstance(lower, NUMBERS) or not isinstance(upper, NUMBERS):
        return None
    return bool(lower >= tails.FROM or upper <= -tails.FROM)


def _between(u: Any, low: Any, high: Any, dtype: Any) -> Any:
    root = dtype.type(math.sqrt(2))
    a, b = [special.erf(ops.div(bound, root)) for bound in (low, high)]
    return ops.mul(root, special.erf_inv(spread(u, a, b)))


def _near_or_far(u: Any, low: Any, high: Any, dtype: Any) -> Any:
    """Each formula gets bounds that it is for, lest a gradient meet its infinities."""
    far = ops.bitwise_or(
        ops.ge(low, dtype.type(tails.FROM)), ops.le(high, dtype.type(-tails.FROM))
    )
    low_near, high_near, low_far, high_far = [
        ops.select_n(mask, bound, shape_ops.full_like(bound, other))
        for mask, bound, other in (
            (far, low, -1),
            (far, high, 1),
            (ops.bitwise_not(far), low, tails.FROM),
            (ops.bitwise_not(far), high, tails.FROM + 1),
        )
    ]
    near = _between(u, low_near, high_near, dtype)
    return ops.select_n(far, near, tails.NormalTail()(u, low_far, high_far))


@compiled
def _truncated(
    typed: Any,
    low: Any,
    high: Any,
    shape: tuple[int, ...],
    dtype: Any,
    far: bool | None,
) -> Any:
    """The inverse distribution function of uniform numbers between those of the bounds."""
    wide = F32 if dtype.itemsize <= 2 else dtype
    u, a, b = [
        convert_element_type(x, wide) for x in (unit(typed, shape, dtype), low, high)
    ]
    if far is False:
        drawn = _between(u, a, b, wide)
    else:
        a, b = [spread_out(bound, shape, wide) for bound in (a, b)]
        drawn = tails.NormalTail()(u, a, b) if far else _near_or_far(u, a, b, wide)
    drawn = convert_element_type(drawn, dtype)
    least, most = [dtype.type(end) for end in dtypes.extremes(dtype)]
    above = ops.nextafter(stop_gradient(low), most)
    below = ops.nextafter(stop_gradient(high), least)
    return ops.min(ops.max(drawn, above), below)


def randint(
    key: Key,
    shape: Shape,
    minval: Any,
    maxval: Any,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Uniform integers in [minval, maxval).

    minval and maxval broadcast to `shape`; where maxval <= minval the result is minval.

    >>> import tetrad as jax
    >>> d = jax.random.randint(jax.random.key(0), (100,), 1, 7)
    >>> int(d.min()), int(d.max())
    (1, 6)
    """
    if out_sharding is not None:
        no_sharding(out_sharding, "randint")
    dtype = dtypes.canonicalize_dtype(int if dtype is None else dtype)
    if dtypes.kind(dtype) not in "iu":
        raise TypeError(f"jax.random.randint draws integers, got dtype={dtype.name}")
    shape = shape_of(shape, "randint")
    typed = sampling_key(key, "randint")
    increasing("randint", minval=minval, maxval=maxval)
    info = dtypes.iinfo(dtype)
    if dtype.itemsize < 4:  # drawn as 32-bit numbers, within the range of the dtype
        for what, value in (("minval", minval), ("maxval", maxval)):
            if isinstance(value, (int, np.integer)) and not (
                info.min <= int(value) <= int(info.max) + 1
            ):
                dtypes.check_narrowing(int(value), dtype, f"jax.random.randint: {what}")
        wide = randint(key, shape, minval, maxval, np.int32)
        return convert_element_type(wide, dtype)
    beyond = isinstance(maxval, (int, np.integer)) and int(maxval) == int(info.max) + 1
    if beyond:
        maxval = int(info.max)
    for what, value in (("minval", minval), ("maxval", maxval)):
        if aval_of(value).kind not in "iu":
            raise TypeError(
                f"jax.random.randint: bounds must be integers, got {what}={value!r}"
            )
    low = _integer_bound(minval, shape, dtype, "minval")
    high = _integer_bound(maxval, shape, dtype, "maxval")
    return _randint(typed, low, high, shape=shape, dtype=dtype, beyond=beyond)


def _integer_bound(x: Any, shape: tuple[int, ...], dtype: Any, what: str) -> Any:
    if isinstance(x, (int, np.integer)):
        dtypes.check_narrowing(int(x), dtype, f"jax.random.randint: {what}")
        return dtype.type(x)
    x = convert.operand(x, "random.randint", what)
    info = dtypes.iinfo(dtype)
    if aval_of(x).dtype != dtype and dtypes.iinfo(aval_of(x).dtype).bits > info.bits:
        x = ops.clamp(
            aval_of(x).dtype.type(info.min), x, aval_of(x).dtype.type(info.max)
        )
    x = convert_element_type(x, dtype)
    return shape_functions.broadcast_to(x, shape) if aval_of(x).ndim else x


@compiled
def _randint(
    typed: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: Any, beyond: bool
) -> Any:
    """Two draws make a number of twice the width, whose remainder is nearly unbiased."""
    width = dtype.itemsize * 8
    unsigned = np.dtype(f"u{dtype.itemsize}")
    keys = random.random_split(typed_inside(typed), (2,))
    upper = random.random_bits(pick(keys, 0), width, shape)
    lower = random.random_bits(pick(keys, 1), width, shape)
    empty = ops.le(high, low)
    span = convert_element_type(ops.sub(high, low), unsigned)
    span = ops.select_n(empty, span, shape_ops.full_like(span, 1))
    if beyond:
        wider = ops.add(span, unsigned.type(1))
        span = ops.select_n(empty, wider, span)
    half = ops.rem(shape_ops.full_like(span, 1 << (width // 2)), span)
    multiplier = ops.rem(ops.mul(half, half), span)
    offset = ops.add(ops.mul(ops.rem(upper, span), multiplier), ops.rem(lower, span))
    offset = ops.rem(offset, span)
    return ops.add(low, convert_element_type(offset, dtype))


def bernoulli(
    key: Key,
    p: Any = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Any:
    """True with probability p, element by element.

    p broadcasts to `shape`, whose default is the shape of p. The mode "low" compares one
    uniform number with p, of which the smallest step is 2⁻²³ in float32; "high" takes
    the bits of two, so that the smallest p count.

    >>> import tetrad as jax
    >>> int(jax.random.bernoulli(jax.random.key(0), 0.25, (1000,)).sum())
    239
    """
    no_sharding(out_sharding, "bernoulli")
    check_mode(mode, "bernoulli")
    p = convert.operand(p, "random.bernoulli", "p")
    dtype = aval_of(p).dtype
    if dtypes.kind(dtype) != "f":
        dtype = dtypes.canonicalize_dtype(float)
    typed = sampling_key(key, "bernoulli")
    shape, (p,) = parameters("bernoulli", shape, dtype, p=p)
    return _bernoulli(typed, p, shape=shape, dtype=dtype, mode=mode)


@compiled
def _bernoulli(
    typed: Any, p: Any, shape: tuple[int, ...], dtype: Any, mode: str
) -> Any:
    typed = typed_inside(typed)
    if mode == "low":
        return ops.lt(unit(typed, shape, dtype), p)
    first, second = two_units(typed, shape, dtype)
    step = dtype.type(dtypes.finfo(dtype).eps)
    return ops.lt(ops.mul(second, step), ops.sub(p, first))


def two_units(typed: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Two numbers in [0, 1) for each element: the bits of a more precise one."""
    both = unit(typed, (2, *shape), dtype)
    return pick(both, 0), pick(both, 1)


def check_mode(mode: str | None, name: str, *more: str) -> None:
    """Raises unless `mode` is None or one of those that there are."""
    known = ("low", "high", *more)
    if mode is not None and mode not in known:
        raise ValueError(
            f"jax.random.{name}: mode must be {' or '.join(map(repr, known))}, got"
            f" {mode!r}"
        )


def signs(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """-1 or 1 with equal probability."""
    short = dtypes.kind(dtype) != "f" or dtype.itemsize < 4
    width = F32 if short else dtype
    up = ops.lt(unit(typed, shape, width), width.type(0.5))
    one = shape_ops.full(shape, 1, dtype)
    return ops.select_n(up, ops.neg(one), one)


def rademacher(
    key: Key, shape: Shape = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """-1 or 1 with equal probability, as integers unless `dtype` says otherwise.

    >>> import tetrad as jax
    >>> jax.random.rademacher(jax.random.key(0), (4,)).dtype
    dtype('int32')
    """
    no_sharding(out_sharding, "rademacher")
    dtype = dtypes.canonicalize_dtype(int if dtype is None else dtype)
    if dtypes.kind(dtype) not in "ifc":
        raise ValueError(
            f"jax.random.rademacher draws -1 and 1, which {dtype.name} cannot hold"
        )
    typed, _ = one_key(key, "rademacher")
    return _rademacher(typed, shape=shape_of(shape, "rademacher"), dtype=dtype)


@compiled
def _rademacher(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return signs(typed, shape, dtype)
