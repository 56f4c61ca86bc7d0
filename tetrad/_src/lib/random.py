"""Random numbers from explicit keys: the same key gives the same numbers.

A key is a typed key array (`jax.random.key`) or a raw array of two 32-bit words
(`jax.random.PRNGKey`); functions give back the kind that they were given. Bits come from
the counter cipher of `ops/random.py`; everything here turns bits into distributions,
with the same bits as JAX's default generator.

Read the keys, then `uniform`, from which the others follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value, aval_of
from tetrad._src.lib.compiled import compiled
from tetrad._src.numpy import convert, create, elementwise, index, reduce, search
from tetrad._src.numpy import shape as shape_functions
from tetrad._src.numpy.axes import shape_argument
from tetrad._src.numpy.promote import broadcast_shapes
from tetrad._src.ops import cumulative, random, special
from tetrad._src.ops import elementwise as ops
from tetrad._src.ops import shape as shape_ops
from tetrad._src.ops.bitcast import bitcast_convert_type
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.identity import stop_gradient
from tetrad._src.ops.sort import sort_key_val, top_k
from tetrad._src.util import dtypes, frames
from tetrad._src.util.config import config

IMPLEMENTATION = "threefry2x32"
Key = Any
Shape = Sequence[int]


# ------------------------------------------------------------------------------- keys


def key(seed: int | Value, *, impl: str | None = None) -> Any:
    """A random key, made from an integer seed.

    Seeds that fit 32 bits give JAX's keys; larger ones use all their 64 bits.

    >>> import tetrad as jax
    >>> jax.random.key(0).shape
    ()
    """
    _check_impl(impl)
    return random.random_seed(_check_seed(seed, "key"))


def PRNGKey(seed: int | Value, *, impl: str | None = None) -> Any:
    """A random key as a raw array of two 32-bit words; see `key`."""
    _check_impl(impl)
    typed = random.random_seed(_check_seed(seed, "PRNGKey"))
    return _like(typed, not config.jax_enable_custom_prng)


def _check_impl(impl: str | None) -> None:
    if impl not in (None, IMPLEMENTATION, "fry"):
        raise NotImplementedError(
            f"random keys of the kind {impl!r} do not exist here; the one generator is"
            f" {IMPLEMENTATION!r}, JAX's default"
        )


def _check_seed(seed: Any, name: str) -> Any:
    aval = aval_of(seed)
    if aval.ndim:
        raise TypeError(
            f"jax.random.{name} takes one integer seed, got {aval.long_name()}; use"
            f" jax.vmap(jax.random.{name}) for several keys"
        )
    if aval.kind not in "iu" or isinstance(seed, bool):
        raise TypeError(
            f"jax.random.{name}: the seed must be an integer, got {seed!r}"
            f" ({aval.dtype.name})"
        )
    return seed


def key_data(keys: Key) -> Any:
    """The 32-bit words of keys: shape `(*keys.shape, 2)`."""
    typed, raw = _any_keys(keys, "key_data")
    return keys if raw else random.random_unwrap(typed)


def wrap_key_data(words: Any, *, impl: str | None = None) -> Any:
    """Typed keys with the given words, an array of uint32 of shape `(…, 2)`."""
    _check_impl(impl)
    return random.random_wrap(convert.operand(words, "random.wrap_key_data"))


def key_impl(keys: Key) -> str:
    """The name of the generator of a key: 'fry' for Threefry."""
    _any_keys(keys, "key_impl")
    return "fry"


def clone(keys: Key) -> Any:
    """The same keys, meant to be used again."""
    typed, raw = _any_keys(keys, "clone")
    return _like(random.random_clone(typed), raw)


def _any_keys(keys: Any, name: str) -> tuple[Any, bool]:
    """Typed keys, and whether they came as raw words and new ones go out as such."""
    if isinstance(keys, (np.ndarray, np.generic)):
        keys = convert.operand(keys, f"random.{name}")
    if isinstance(keys, Value):
        aval = keys.aval
        if dtypes.is_key(aval.dtype):
            return keys, False
        if aval.dtype == np.uint32 and aval.ndim and aval.shape[-1] == 2:
            _notice_raw(name)
            return random.random_wrap(keys), not config.jax_enable_custom_prng
        got = aval.long_name()
    else:
        got = f"{keys!r} of type {type(keys).__name__}"
    seed = keys if type(keys) is int else "seed"
    raise TypeError(
        f"jax.random.{name}: the first argument must be a random key, got {got}. Make one"
        f" with jax.random.key({seed})."
    )


def _notice_raw(name: str) -> None:
    """Warns or raises, as `jax_legacy_prng_key` says, if a key is given as words."""
    setting = config.jax_legacy_prng_key
    if setting == "allow":
        return
    problem = (
        f"jax.random.{name} was given a raw key, and jax_legacy_prng_key is {setting!r};"
        " make keys with jax.random.key, or type them with jax.random.wrap_key_data"
    )
    if setting == "error":
        raise ValueError(problem)
    frames.warn(problem)


def _one_key(key: Any, name: str) -> tuple[Any, bool]:
    typed, raw = _any_keys(key, name)
    if typed.aval.ndim:
        raise ValueError(
            f"jax.random.{name}: the first argument must be a single key, got"
            f" {typed.aval.size} keys of shape {typed.aval.shape}. Use jax.vmap(lambda k: jax.random.{name}(k, …))(keys)."
        )
    return typed, raw


def _like(typed: Any, raw: bool) -> Any:
    return random.random_unwrap(typed) if raw else typed


def split(key: Key, num: int | tuple[int, ...] = 2) -> Any:
    """New keys from a key, which is then used up.

    Returns an array of `num` keys (or of shape `num`).

    >>> import tetrad as jax
    >>> key, sub = jax.random.split(jax.random.key(0))
    """
    typed, raw = _one_key(key, "split")
    shape = shape_argument(num, "jax.random.split")
    return _split(typed, shape=shape) if not raw else _split_raw(key, shape=shape)


def _pick(x: Any, i: int) -> Any:
    """x[i] along the first axis."""
    return shape_ops.squeeze(shape_ops.slice_in_dim(x, i, i + 1, axis=0), (0,))


def _take(x: Any, places: Any, axis: int) -> Any:
    return index.getitem(x, (*[slice(None)] * axis, places))


@compiled
def _split(typed: Any, shape: tuple[int, ...]) -> Any:
    return random.random_split(typed, shape)


@compiled
def _split_raw(words: Any, shape: tuple[int, ...]) -> Any:
    return random.random_unwrap(random.random_split(random.random_wrap(words), shape))


def fold_in(key: Key, data: int | Value) -> Any:
    """A new key from a key and an integer (as 32 bits)."""
    typed, raw = _one_key(key, "fold_in")
    if isinstance(data, (int, np.integer)) and not isinstance(data, bool):
        if not -(2**31) <= data < 2**32:
            raise OverflowError(
                f"jax.random.fold_in takes 32 bits of data, and {data} does not fit;"
                " fold its halves in one after the other"
            )
        word: Any = np.uint32(int(data) & 0xFFFFFFFF)
    elif aval_of(data).ndim:
        raise TypeError(
            f"jax.random.fold_in takes one integer, got {aval_of(data).long_name()}"
        )
    else:
        word = convert_element_type(convert.operand(data, "random.fold_in"), np.uint32)
    return _like(random.random_fold_in(typed, word), raw)


# -------------------------------------------------------------------------------- bits


def _shape(shape: Any, name: str) -> tuple[int, ...]:
    return shape_argument(shape, f"jax.random.{name}")


def _float_dtype(dtype: Any, name: str) -> Any:
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    if dtypes.kind(dtype) != "f":
        raise ValueError(
            f"jax.random.{name}: it draws floating-point numbers, but dtype is {dtype.name}"
        )
    return dtype


def bits(key: Key, shape: Shape = (), dtype: Any = None) -> Any:
    """Uniform random bits as unsigned integers (uint32 by default)."""
    dtype = dtypes.canonicalize_dtype(np.uint32 if dtype is None else dtype)
    if dtypes.kind(dtype) != "u":
        raise ValueError(
            f"jax.random.bits draws unsigned integers, got dtype={dtype.name}"
        )
    typed, _ = _one_key(key, "bits")
    return random.random_bits(typed, dtype.itemsize * 8, _shape(shape, "bits"))


# --------------------------------------------------------------------- distributions


def uniform(
    key: Key, shape: Shape = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0
) -> Any:
    """Uniform numbers in [minval, maxval).

    minval and maxval broadcast to `shape`.

    >>> import tetrad as jax
    >>> u = jax.random.uniform(jax.random.key(0), (3,))
    >>> bool((u >= 0).all() and (u < 1).all())
    True
    """
    dtype = _float_dtype(dtype, "uniform")
    shape = _shape(shape, "uniform")
    typed, _ = _one_key(key, "uniform")
    low = _bound(minval, shape, dtype, "uniform", "minval")
    high = _bound(maxval, shape, dtype, "uniform", "maxval")
    return _uniform(typed, low, high, shape=shape, dtype=dtype)


def _bound(x: Any, shape: tuple[int, ...], dtype: Any, name: str, what: str) -> Any:
    """A parameter in the dtype of the result, broadcast to its shape."""
    x = convert.operand(x, f"random.{name}", what)
    aval = aval_of(x)
    if not aval.ndim:
        if isinstance(x, (bool, int, float)):
            typed = dtype.type(x)
            return float(x) if aval_of(float(x)).dtype == dtype else typed
        return convert_element_type(x, dtype)
    try:
        fits = np.broadcast_shapes(aval.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"jax.random.{name}: {what} has shape {aval.shape}, which does not broadcast"
            f" to shape={shape}"
        )
    return shape_functions.broadcast_to(convert_element_type(x, dtype), shape)


def _unit(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
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
    return _spread(_unit(typed, shape, dtype), low, high)


def _spread(unit: Any, low: Any, high: Any) -> Any:
    return ops.max(low, random.stretch(unit, ops.sub(high, low), low))


def normal(key: Key, shape: Shape = (), dtype: Any = None) -> Any:
    """Standard normal numbers; complex dtypes have unit variance in all.

    With U uniform in (-1, 1): sqrt(2) erf_inv(U).

    >>> import tetrad as jax
    >>> jax.random.normal(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    dtype = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    shape = _shape(shape, "normal")
    if dtypes.kind(dtype) == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        typed, _ = _one_key(key, "normal")
        keys = random.random_split(typed, (2,))
        real = _normal(_pick(keys, 0), shape=shape, dtype=part)
        imag = _normal(_pick(keys, 1), shape=shape, dtype=part)
        return ops.div(ops.complex(real, imag), dtype.type(math.sqrt(2)))
    dtype = _float_dtype(dtype, "normal")
    typed, _ = _one_key(key, "normal")
    return _normal(typed, shape=shape, dtype=dtype)


@compiled
def _normal(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    low = dtype.type(np.nextafter(np.array(-1, dtype), np.array(0, dtype), dtype=dtype))
    unit = _spread(_unit(typed, shape, dtype), low, dtype.type(1))
    return ops.mul(dtype.type(math.sqrt(2)), special.erf_inv(unit))


def truncated_normal(
    key: Key, lower: Any, upper: Any, shape: Shape | None = None, dtype: Any = None
) -> Any:
    """Standard normal numbers between `lower` and `upper`, which are not drawn.

    The bounds broadcast to `shape`, whose default is their common shape.

    >>> import tetrad as jax
    >>> x = jax.random.truncated_normal(jax.random.key(0), -1, 2, (1000,))
    >>> bool((x > -1).all() and (x < 2).all())
    True
    """
    dtype = _float_dtype(dtype, "truncated_normal")
    typed, _ = _one_key(key, "truncated_normal")
    if shape is None:
        shape = broadcast_shapes(aval_of(lower).shape, aval_of(upper).shape)
    shape = _shape(shape, "truncated_normal")
    low = _bound(lower, shape, dtype, "truncated_normal", "lower")
    high = _bound(upper, shape, dtype, "truncated_normal", "upper")
    return _truncated(typed, low, high, shape=shape, dtype=dtype)


@compiled
def _truncated(
    typed: Any, low: Any, high: Any, shape: tuple[int, ...], dtype: Any
) -> Any:
    """The inverse distribution function of uniform numbers between those of the bounds."""
    root = dtype.type(math.sqrt(2))
    a, b = [special.erf(ops.div(bound, root)) for bound in (low, high)]
    drawn = ops.mul(root, special.erf_inv(_spread(_unit(typed, shape, dtype), a, b)))
    infinity = dtype.type(np.inf)
    above = ops.nextafter(stop_gradient(low), infinity)
    below = ops.nextafter(stop_gradient(high), ops.neg(infinity))
    return ops.min(ops.max(drawn, above), below)


def randint(key: Key, shape: Shape, minval: Any, maxval: Any, dtype: Any = None) -> Any:
    """Uniform integers in [minval, maxval).

    minval and maxval broadcast to `shape`; where maxval <= minval the result is minval.

    >>> import tetrad as jax
    >>> d = jax.random.randint(jax.random.key(0), (100,), 1, 7)
    >>> int(d.min()), int(d.max())
    (1, 6)
    """
    dtype = dtypes.canonicalize_dtype(int if dtype is None else dtype)
    if dtypes.kind(dtype) not in "iu":
        raise TypeError(f"jax.random.randint draws integers, got dtype={dtype.name}")
    shape = _shape(shape, "randint")
    typed, _ = _one_key(key, "randint")
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
    keys = random.random_split(typed, (2,))
    upper = random.random_bits(_pick(keys, 0), width, shape)
    lower = random.random_bits(_pick(keys, 1), width, shape)
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


def bernoulli(key: Key, p: Any = 0.5, shape: Shape | None = None) -> Any:
    """True with probability p, element by element.

    p broadcasts to `shape`, whose default is the shape of p.
    """
    p = convert.operand(p, "random.bernoulli", "p")
    dtype = aval_of(p).dtype
    if dtypes.kind(dtype) != "f":
        dtype = dtypes.canonicalize_dtype(float)
    shape = aval_of(p).shape if shape is None else _shape(shape, "bernoulli")
    p = _bound(p, shape, dtype, "bernoulli", "p")
    return ops.lt(uniform(key, shape, dtype), p)


def exponential(key: Key, shape: Shape = (), dtype: Any = None) -> Any:
    """Exponential numbers of rate 1: -log(1 - U) with U uniform in [0, 1)."""
    dtype = _float_dtype(dtype, "exponential")
    u = uniform(key, shape, dtype)
    return ops.neg(ops.log1p(ops.neg(u)))


def gumbel(key: Key, shape: Shape = (), dtype: Any = None) -> Any:
    """Standard Gumbel numbers: -log(-log(U)) with U uniform in (0, 1)."""
    dtype = _float_dtype(dtype, "gumbel")
    typed, _ = _one_key(key, "gumbel")
    return _gumbel(typed, shape=_shape(shape, "gumbel"), dtype=dtype)


@compiled
def _gumbel(typed: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    tiny = dtype.type(dtypes.finfo(dtype).tiny)
    u = _spread(_unit(typed, shape, dtype), tiny, dtype.type(1))
    return ops.neg(ops.log(ops.neg(ops.log(u))))


def categorical(
    key: Key, logits: Any, axis: int = -1, shape: Shape | None = None
) -> Any:
    """Indices along `axis`, drawn with probabilities softmax(logits).

    The result has the shape of logits without `axis`; a longer `shape` draws more.
    """
    logits = convert.operand(logits, "random.categorical", "logits")
    aval = aval_of(logits)
    if not aval.ndim:
        raise ValueError("jax.random.categorical needs logits of at least one axis")
    axis = axis % aval.ndim
    batch = aval.shape[:axis] + aval.shape[axis + 1 :]
    full = batch if shape is None else _shape(shape, "categorical")
    prefix = full[: len(full) - len(batch)]
    if full[len(prefix) :] != batch:
        raise ValueError(
            f"jax.random.categorical: shape={full} must end in {batch}, the shape of"
            " the logits without their category axis"
        )
    dtype = aval.dtype if aval.kind == "f" else dtypes.canonicalize_dtype(float)
    noise = gumbel(key, (*prefix, *aval.shape), dtype)
    scores = elementwise.add(noise, logits)
    return reduce.argmax(scores, axis=axis + len(prefix))


# ------------------------------------------------------------------- orders and choices


def permutation(key: Key, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """`x` in random order along `axis`, or the numbers 0 to x - 1 if x is an integer.

    With `independent=True` every slice is shuffled by itself.
    """
    typed, _ = _one_key(key, "permutation")
    if isinstance(x, (int, np.integer)):
        return _shuffle(typed, create.arange(int(x)), axis=0)
    x = convert.operand(x, "random.permutation", "x")
    aval = aval_of(x)
    if not aval.ndim:
        if aval.kind not in "iu" or not hasattr(x, "__index__"):
            raise TypeError(
                f"jax.random.permutation takes an array or an integer, got {x!r}"
            )
        return _shuffle(typed, create.arange(int(x)), axis=0)
    axis = axis % aval.ndim
    if independent or aval.ndim == 1:
        return _shuffle(typed, x, axis=axis)
    chosen = _shuffle(typed, create.arange(aval.shape[axis]), axis=0)
    return _take(x, chosen, axis)


@compiled
def _shuffle(typed: Any, x: Any, axis: int) -> Any:
    """Sorts by random keys, often enough that equal keys do not matter."""
    size = max(1, aval_of(x).size)
    rounds = math.ceil(3 * math.log(size) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = random.random_split(typed, (2,))
        typed, sub = _pick(keys, 0), _pick(keys, 1)
        words = random.random_bits(sub, 32, aval_of(x).shape)
        _, x = sort_key_val(words, x, dimension=axis)
    return x


def choice(
    key: Key,
    a: Any,
    shape: Shape = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
) -> Any:
    """Elements drawn from `a` (or from 0 to a - 1) along `axis`.

    With weights `p`, element i is drawn with probability p[i] / sum(p); without
    replacement the draws are distinct.
    """
    shape = _shape(shape, "choice")
    is_count = isinstance(a, (int, np.integer))
    if not is_count:
        a = convert.operand(a, "jax.random.choice", "a")
        if not aval_of(a).ndim:
            raise TypeError(
                f"jax.random.choice: a must be an integer or an array with axes, got {a!r}"
            )
        axis = axis % aval_of(a).ndim if aval_of(a).ndim else 0
    count = int(a) if is_count else aval_of(a).shape[axis]
    draws = math.prod(shape)
    if count <= 0 and draws:
        raise ValueError("jax.random.choice cannot draw from nothing")
    if not replace and draws > count:
        raise ValueError(
            f"jax.random.choice cannot draw {draws} distinct elements from {count};"
            " pass replace=True"
        )
    if p is None and not replace:
        order_of = permutation(key, count)
        picked = shape_ops.slice(order_of, (0,), (draws,))
    elif p is None:
        picked = randint(key, (draws,), 0, count)
    else:
        picked = _weighted(key, p, count, draws, replace)
    picked = shape_ops.reshape(picked, shape)
    return picked if is_count else _take(a, picked, axis)


def _weighted(key: Key, p: Any, count: int, draws: int, replace: bool) -> Any:
    p = convert.operand(p, "random.choice", "p")
    dtype = aval_of(p).dtype
    if dtypes.kind(dtype) != "f":
        p = convert_element_type(p, dtypes.canonicalize_dtype(float))
        dtype = aval_of(p).dtype
    if aval_of(p).shape != (count,):
        raise ValueError(
            f"jax.random.choice: p has shape {aval_of(p).shape}, but there are {count}"
            f" elements to draw from, so it must be ({count},)"
        )
    if replace:
        total = cumulative.cumsum(p, axis=0)
        u = uniform(key, (draws,), dtype)
        last = _pick(total, count - 1)
        level = ops.mul(last, ops.sub(dtype.type(1), u))
        return search.searchsorted(total, level)
    noise = ops.add(gumbel(key, (count,), dtype), ops.log(p))
    return top_k(noise, draws)[1]
