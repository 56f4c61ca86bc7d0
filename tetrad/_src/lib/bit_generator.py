"""`lax.rng_bit_generator`: bits from a state, and the state after them.

In: the words of a state (a key and a counter of 64 bits each) as `uint32[4]` or
`uint64[2]`. Out: the state whose counter has moved on, and the bits that XLA's generators
give for it. Philox makes four words a step of the counter, Threefry two.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.numpy.elementwise import no_sharding
from tetrad._src.ops.axes import check_shape
from tetrad._src.ops.bitcast import bitcast_convert_type
from tetrad._src.ops.ciphers import Threefry2x32, philox4x32
from tetrad._src.ops.convert import convert_element_type
from tetrad._src.ops.elementwise import add, lt
from tetrad._src.ops.families import check_operand
from tetrad._src.ops.generators import counters
from tetrad._src.ops.slices import slice_in_dim, stack
from tetrad._src.ops.views import broadcast_in_dim, reshape
from tetrad._src.util import dtypes

U32 = np.dtype(np.uint32)
NAME = "rng_bit_generator"


class RandomAlgorithm(enum.IntEnum):
    """The generators: Threefry, Philox, and the one that is chosen (Philox).

    >>> from tetrad import lax
    >>> lax.RandomAlgorithm.RNG_PHILOX.value
    2
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


def rng_uniform(a: Any, b: Any, shape: Sequence[int]) -> Any:
    """Numbers from [a, b) without a key: not available.

    Where numbers come from a hidden state, a program that is run again is another one.
    NotImplementedError, whatever is given.

    >>> from tetrad import lax
    >>> lax.rng_uniform(0.0, 1.0, (2,))
    Traceback (most recent call last):
    NotImplementedError: lax.rng_uniform draws without a key, and is not available; \
write jax.random.uniform(key, (2,), minval=0.0, maxval=1.0)
    """
    raise NotImplementedError(
        "lax.rng_uniform draws without a key, and is not available; write"
        f" jax.random.uniform(key, {tuple(shape)}, minval={a}, maxval={b})"
    )


def rng_bit_generator(
    key: Any,
    shape: Sequence[int],
    dtype: Any = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> tuple[Any, Any]:
    """Random bits, and the key for the next ones.

    Args:
      key: `uint32[4]`, or `uint64[2]`: a key, and a counter.
      shape: the shape of the bits.
      dtype: an unsigned integer dtype.
      algorithm: a `lax.RandomAlgorithm`.
      out_sharding: how the bits are laid out, over one device.

    Raises TypeError for other keys and dtypes.
    Source: https://openxla.org/stablehlo/spec#rng_bit_generator

    >>> import numpy as np
    >>> from tetrad import lax
    >>> key, bits = lax.rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (2,))
    >>> key.tolist(), bits.tolist()
    ([1, 2, 4, 4], [512747620, 1298009047])
    """
    no_sharding(f"lax.{NAME}", out_sharding)
    key = check_operand(key, NAME)
    aval = aval_of(key)
    if (aval.shape, aval.dtype.name) not in (((4,), "uint32"), ((2,), "uint64")):
        raise TypeError(
            f"lax.{NAME}: key must be uint32[4] or uint64[2], got {aval.long_name()}"
        )
    extents = check_shape(shape, NAME)
    made = dtypes.canonicalize_dtype(dtypes.as_dtype(dtype))
    if made.kind != "u" or made.itemsize not in (1, 2, 4, 8):
        raise TypeError(
            f"lax.{NAME}: unsupported dtype {made.name}; bits are uint8, uint16, uint32 or"
            " uint64"
        )
    algorithm = RandomAlgorithm(algorithm)
    flat = key if aval.dtype == U32 else reshape(bitcast_convert_type(key, U32), (4,))
    words = [reshape(slice_in_dim(flat, i, i + 1), ()) for i in range(4)]
    if algorithm is RandomAlgorithm.RNG_THREE_FRY:
        blocks, bits = _threefry(words, extents, made)
    else:
        blocks, bits = _philox(words, extents, made)
    if made.itemsize < 4:
        bits = convert_element_type(bits, made)
    after = [*words[:2], *_moved(words[2:], *_halves(blocks))]
    state = stack(after)
    if aval.dtype != U32:
        state = bitcast_convert_type(reshape(state, (2, 2)), aval.dtype)
    return state, bits


def _halves(number: int) -> tuple[Any, Any]:
    return np.uint32(number >> 32), np.uint32(number & 0xFFFFFFFF)


def _moved(counter: Any, high: Any, low: Any) -> list[Any]:
    """A counter of two words, the low one first, moved on by a number."""
    total = add(counter[0], low)
    carry = convert_element_type(lt(total, low), U32)
    return [total, add(add(counter[1], high), carry)]


def _counted(words: list[Any], blocks: int) -> tuple[list[Any], list[Any]]:
    """The words of the key and of its counter, for each block."""
    lanes = (blocks,)
    high, low = [
        x if aval_of(x).shape == lanes else broadcast_in_dim(x, lanes, ())
        for x in counters(blocks)
    ]
    k0, k1, c0, c1 = [broadcast_in_dim(word, lanes, ()) for word in words]
    return [k0, k1], _moved([c0, c1], high, low)


def _philox(words: list[Any], shape: tuple[int, ...], dtype: Any) -> tuple[int, Any]:
    """How many blocks are used, and the numbers, four words a block in order."""
    size = math.prod(shape)
    blocks = -(-size // (2 if dtype.itemsize == 8 else 4))
    key, at = _counted(words, blocks)
    flat = reshape(stack(philox4x32(key, [*at, *key]), 1), (4 * blocks,))
    if dtype.itemsize == 8:
        flat = bitcast_convert_type(reshape(flat, (2 * blocks, 2)), dtype)
    return blocks, reshape(slice_in_dim(flat, 0, size), shape)


def _threefry(words: list[Any], shape: tuple[int, ...], dtype: Any) -> tuple[int, Any]:
    """The same with two words a block, which follow each other along one axis.

    It is the first one whose extent is even, or the longest, which is cut then.
    """
    size = math.prod(shape)
    if dtype.itemsize == 8:
        key, at = _counted(words, size)
        pairs = stack(list(Threefry2x32()(*key, *at)), 1)
        return size, reshape(bitcast_convert_type(pairs, dtype), shape)
    if not shape:
        blocks, numbers = _threefry(words, (1,), dtype)
        return blocks, reshape(numbers, ())
    even = [axis for axis, extent in enumerate(shape) if extent % 2 == 0]
    axis = even[0] if even else shape.index(max(shape))
    half = (*shape[:axis], -(-shape[axis] // 2), *shape[axis + 1 :])
    blocks = math.prod(half)
    key, at = _counted(words, blocks)
    pair = [reshape(word, half) for word in Threefry2x32()(*key, *at)]
    whole = (*shape[:axis], 2 * half[axis], *shape[axis + 1 :])
    joined = reshape(stack(pair, axis + 1), whole)
    return blocks, slice_in_dim(joined, 0, shape[axis], axis=axis)
