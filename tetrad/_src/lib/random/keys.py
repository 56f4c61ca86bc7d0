"""Random keys: made from seeds, split, folded, and taken apart.

In: seeds, words, and keys as users give them. Out: typed key arrays (`jax.random.key`) or
raw arrays of 32-bit words (`jax.random.PRNGKey`); functions give back the kind that they
were given. `one_key` is what every sampler calls on its first argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.control.compiled import compiled
from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value, aval_of
from tetrad._src.lib.random.arguments import pick, shape_of
from tetrad._src.numpy import convert
from tetrad._src.ops import ciphers, random
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.util import dtypes, frames
from tetrad._src.util.config import config

_NAMES = {
    name: dtype.impl
    for dtype in dtypes.KEYS.values()
    for name in (dtype.impl, dtype.tag)
}
_RAW_KEY = Aval((2,), np.dtype(np.uint32))
Key = Any


def key(seed: int | Value, *, impl: Any = None, dtype: Any = None) -> Any:
    """A random key, made from an integer seed.

    Seeds that fit 32 bits give JAX's keys; larger ones use all their 64 bits. `impl`
    names the generator, "threefry2x32", "rbg" or "unsafe_rbg"; its default is the
    setting `jax_default_prng_impl`. `dtype`, a dtype of keys, says the same.

    >>> import tetrad as jax
    >>> jax.random.key(0).shape
    ()
    """
    impl = _generator(impl, dtype, "key")
    return random.random_seed(_check_seed(seed, "key"), impl)


def PRNGKey(seed: int | Value, *, impl: Any = None) -> Any:
    """A random key as a raw array of 32-bit words; see `key`."""
    impl = _generator(impl, None, "PRNGKey")
    typed = random.random_seed(_check_seed(seed, "PRNGKey"), impl)
    return like(typed, not config.jax_enable_custom_prng)


def key_dtype(impl_spec: Any = None) -> Any:
    """The dtype of the keys of a generator; see `key`.

    >>> import tetrad as jax
    >>> jax.random.key_dtype("rbg")
    key<rbg>
    """
    return dtypes.KEYS[_generator(impl_spec, None, "key_dtype")]


def _generator(impl: Any, dtype: Any, name: str) -> str:
    """The name of the generator that is meant."""
    if dtype is not None:
        if impl is not None:
            raise ValueError(
                f"jax.random.{name}: Cannot specify both `impl` and `dtype`; they say the"
                " same"
            )
        if not dtypes.is_key(dtype):
            raise TypeError(
                f"jax.random.{name}: dtype must be one of keys, as random.key_dtype gives,"
                f" got {dtype!r}"
            )
        impl = dtype
    if impl is None:
        return str(config.jax_default_prng_impl)
    if dtypes.is_key(impl):
        return str(impl.impl)
    found = _NAMES.get(impl) if isinstance(impl, str) else None
    if found is None:
        names = ", ".join(map(repr, dtypes.KEYS))
        kind = TypeError if not isinstance(impl, str) else ValueError
        raise kind(
            f"jax.random.{name}: unrecognized PRNG implementation {impl!r}; there are"
            f" {names}"
        )
    return found


def _check_seed(seed: Any, name: str) -> Any:
    aval = aval_of(seed)
    if aval.kind == "K":
        raise TypeError(
            f"jax.random.{name} accepts a scalar seed, got {aval.long_name()}; for a new"
            " key from a key use jax.random.split or fold_in"
        )
    if aval.ndim:
        raise TypeError(
            f"jax.random.{name} accepts a scalar seed, an integer, got"
            f" {aval.long_name()}; use jax.vmap(jax.random.{name}) for several keys"
        )
    if aval.kind not in "iu" or isinstance(seed, bool):
        raise TypeError(
            f"jax.random.{name}: the PRNG key seed must be an integer, got {seed!r}"
            f" ({aval.dtype.name})"
        )
    offset = config.jax_random_seed_offset
    if not offset:
        return seed
    return int(seed) + offset if isinstance(seed, (int, np.integer)) else seed + offset


def key_data(keys: Key) -> Any:
    """The 32-bit words of keys: shape `(*keys.shape, 2)`.

    Keys of the generators "rbg" and "unsafe_rbg" have four words.
    """
    typed, raw = any_keys(keys, "key_data")
    return keys if raw else random.random_unwrap(typed)


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys with the given words, an array of uint32 of shape `(…, 2)`.

    `impl` and `dtype` are those of `key`; "rbg" and "unsafe_rbg" take four words.
    TypeError for other shapes and dtypes.
    """
    impl = _generator(impl, dtype, "wrap_key_data")
    words = convert.operand(key_bits_array, "random.wrap_key_data")
    aval, count = aval_of(words), dtypes.KEYS[impl].words
    if aval.dtype != np.uint32 or aval.shape[-1:] != (count,):
        raise TypeError(
            f"jax.random.wrap_key_data: {impl} keys are made of uint32 words along a last"
            f" axis of extent {count}, got {aval.long_name()}"
        )
    return random.random_wrap(words, impl)


def key_impl(keys: Key) -> str:
    """The name of the generator of a key, for `impl` of `key`: "threefry2x32"."""
    typed, _ = any_keys(keys, "key_impl")
    return str(typed.aval.dtype.impl)


def clone(key: Key) -> Any:
    """The same keys, meant to be used again."""
    typed, raw = any_keys(key, "clone")
    return like(random.random_clone(typed), raw)


def any_keys(keys: Any, name: str) -> tuple[Any, bool]:
    """Typed keys, and whether they came as raw words and new ones go out as such."""
    if isinstance(keys, (np.ndarray, np.generic)):
        keys = convert.operand(keys, f"random.{name}")
    if isinstance(keys, Value):
        aval = keys.aval
        if dtypes.is_key(aval.dtype):
            return keys, False
        impl = config.jax_default_prng_impl
        if aval.dtype == np.uint32 and aval.shape[-1:] == (dtypes.KEYS[impl].words,):
            _notice_raw(name)
            return random.random_wrap(keys, impl), not config.jax_enable_custom_prng
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


def one_key(key: Any, name: str) -> tuple[Any, bool]:
    typed, raw = any_keys(key, name)
    if typed.aval.ndim:
        raise ValueError(
            f"jax.random.{name}: {name} accepts a single key, but was given a key array of"
            f" shape {typed.aval.shape}. Use jax.vmap(lambda k: jax.random.{name}(k, …))(keys)."
        )
    return typed, raw


def sampling_key(key: Any, name: str) -> Any:
    """A single key as `typed_inside` takes it: raw words stay as they are for now."""
    if (
        isinstance(key, Value)
        and key.aval is _RAW_KEY
        and config.jax_legacy_prng_key == "allow"
        and config.jax_default_prng_impl == "threefry2x32"
    ):
        return key
    return one_key(key, name)[0]


def typed_inside(key: Any) -> Any:
    """The typed key, inside of a compiled function: there it costs no operation."""
    return key if dtypes.is_key(key.aval.dtype) else random.random_wrap(key)


def children(key: Any, count: int) -> list[Any]:
    """The keys into which a single typed key is split, each as a scalar."""
    dtype = aval_of(key).dtype
    if dtype is not dtypes.KEY or not config.jax_threefry_partitionable:
        keys = random.random_split(key, (count,))
        return [pick(keys, i) for i in range(count)]
    words = ciphers.KeyWords()(key)
    pairs = [
        random.Threefry2x32()(*words, np.uint32(0), np.uint32(i)) for i in range(count)
    ]
    return [ciphers.KeyOfWords()(*pair) for pair in pairs]


def like(typed: Any, raw: bool) -> Any:
    return random.random_unwrap(typed) if raw else typed


def split(key: Key, num: int | tuple[int, ...] = 2) -> Any:
    """New keys from a key, which is then used up.

    Returns an array of `num` keys (or of shape `num`).

    >>> import tetrad as jax
    >>> key, sub = jax.random.split(jax.random.key(0))
    """
    shape = (num,) if type(num) is int and num >= 0 else shape_of(num, "split")
    if (
        isinstance(key, Value)
        and key.aval is _RAW_KEY
        and config.jax_legacy_prng_key == "allow"
        and not config.jax_enable_custom_prng
        and config.jax_default_prng_impl == "threefry2x32"
    ):
        return _split_raw(key, shape=shape)
    typed, raw = one_key(key, "split")
    return like(_split(typed, shape=shape), raw)


@compiled
def _split(typed: Any, shape: tuple[int, ...]) -> Any:
    return random.random_split(typed, shape)


@compiled
def _split_raw(words: Any, shape: tuple[int, ...]) -> Any:
    return random.random_unwrap(random.random_split(random.random_wrap(words), shape))


def fold_in(key: Key, data: int | Value) -> Any:
    """A new key from a key and an integer (as 32 bits)."""
    typed, raw = one_key(key, "fold_in")
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
    return like(random.random_fold_in(typed, word), raw)
