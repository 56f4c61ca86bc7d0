"""What each generator makes of keys: seeds, children, folded keys and bits.

In: typed keys, whose dtype names the generator. Out: keys and bits as JAX makes them on
the CPU. Element i of an array of bits is a function of the counter i and the key alone,
so it does not depend on how the work is divided.

* `threefry2x32`: the cipher of the 64-bit counter i. Not `partitionable`, which was JAX's
  way once, i and i + n/2 are enciphered together.
* `rbg`: bits of Philox, whose key and counter are the words of the key; children and
  folded keys are those of Threefry for either half of the key.
* `unsafe_rbg`: all of it by Philox.

Read `bits`, `split`, `fold_in`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tetrad._src.core.bind import aval_of
from tetrad._src.ops.ciphers import (
    U32,
    U64,
    KeyOfWords,
    KeyWords,
    Threefry2x32,
    philox4x32,
)
from tetrad._src.ops.convert import ConvertElementType
from tetrad._src.ops.elementwise import (
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    eq,
    lt,
    mul,
    select_n,
    shift_left,
    shift_right_logical,
    sub,
)
from tetrad._src.ops.families import Shape
from tetrad._src.ops.shape import Iota, broadcast_in_dim, full_like, reshape
from tetrad._src.ops.slices import slice_in_dim

ZERO = np.uint32(0)


def counters(size: int) -> tuple[Any, Any]:
    """The high and the low words of the counters 0 … size - 1."""
    if size <= 1 << 32:
        return ZERO, Iota(U32, (size,), 0)()
    grid = (-(-size >> 32), 1 << 32)
    words = [reshape(Iota(U32, grid, i)(), (grid[0] << 32,)) for i in range(2)]
    high, low = [slice_in_dim(w, 0, size) for w in words]
    return high, low


def _aligned(key: Any, *lanes: Any) -> tuple[list[Any], list[Any]]:
    """The words of keys, and values along a new last axis, in one shape."""
    shape = aval_of(key).shape
    words = list(KeyWords()(key))
    if not shape:
        return words, list(lanes)
    (size,) = {aval_of(x).shape for x in lanes if aval_of(x).shape}.pop()
    flat = (*shape, size)
    return (
        [broadcast_in_dim(w, flat, range(len(shape))) for w in words],
        [
            broadcast_in_dim(x, flat, (len(shape),)) if aval_of(x).shape else x
            for x in lanes
        ],
    )


def _shaped(xs: list[Any], key: Any, shape: Shape) -> list[Any]:
    full = (*aval_of(key).shape, *shape)
    return [reshape(x, full) for x in xs]


# ---------------------------------------------------------------------------- Threefry


def threefry_pairs(key: Any, shape: Shape) -> list[Any]:
    """For each two words of each key, the two words of the cipher of 0, 1, …"""
    words, lanes = _aligned(key, *counters(math.prod(shape)))
    found: list[Any] = []
    for i in range(0, len(words), 2):
        found += Threefry2x32()(*words[i : i + 2], *lanes)
    return _shaped(found, key, shape)


def _old_words(key: Any, size: int, start: int, count: int) -> list[Any]:
    """Words `start` to `start + count` of `size`, of which i and i + size/2 are a pair.

    One array for each two words of the key.
    """
    half = np.uint32(-(-size // 2))
    number = add(Iota(U32, (count,), 0)(), np.uint32(start))
    first = lt(number, half)
    low = select_n(first, sub(number, half), number)
    high = add(low, half)
    high = select_n(lt(high, np.uint32(size)), full_like(high, 0), high)
    words, (first, low, high) = _aligned(key, first, low, high)
    found = []
    for i in range(0, len(words), 2):
        left, right = Threefry2x32()(*words[i : i + 2], low, high)
        found.append(select_n(first, right, left))
    return found


def _old_bits(key: Any, width: int, shape: Shape) -> Any:
    size = math.prod(shape)
    if width == 64:
        (high,) = _old_words(key, 2 * size, 0, size)
        (low,) = _old_words(key, 2 * size, size, size)
        return _shaped([_joined(high, low)], key, shape)[0]
    if width == 32:
        return _shaped(_old_words(key, size, 0, size), key, shape)[0]
    # Each word gives several numbers, lowest bits first.
    each = 32 // width
    count = -(-size // each)
    (words,) = _old_words(key, count, 0, count)
    keys = aval_of(key).shape
    wide = broadcast_in_dim(words, (*keys, count, each), range(len(keys) + 1))
    shift = mul(Iota(U32, (each,), 0)(), np.uint32(width))
    shift = broadcast_in_dim(shift, (*keys, count, each), (len(keys) + 1,))
    numbers = reshape(shift_right_logical(wide, shift), (*keys, count * each))
    numbers = slice_in_dim(numbers, 0, size, axis=len(keys))
    return _shaped([_cut(numbers, width)], key, shape)[0]


def _joined(high: Any, low: Any) -> Any:
    """The 64-bit numbers of two words."""
    width = ConvertElementType(U64)(np.uint32(32))
    return bitwise_or(
        shift_left(ConvertElementType(U64)(high), width), ConvertElementType(U64)(low)
    )


def _cut(words: Any, width: int) -> Any:
    """The lowest bits of words."""
    return ConvertElementType(np.dtype(f"uint{width}"))(words)


# ------------------------------------------------------------------------------ Philox


def _philox(words: list[Any], high: Any, low: Any) -> list[Any]:
    """The cipher of the key's own counter, its last two words, moved on by a number."""
    k0, k1, c0, c1 = words
    low = add(c0, low)
    carry = ConvertElementType(U32)(lt(low, c0))
    high = add(add(c1, high), carry)
    return philox4x32([k0, k1], [low, high, k0, k1])


def _philox_bits(key: Any, width: int, shape: Shape) -> Any:
    """Four words, or two numbers of 64 bits, for each counter, in order."""
    size = math.prod(shape)
    high, low = counters(size)
    each = 2 if width == 64 else 4
    shift = each.bit_length() - 1
    part = bitwise_and(low, np.uint32(each - 1))
    carried = shift_left(high, np.uint32(32 - shift))
    block = bitwise_or(shift_right_logical(low, np.uint32(shift)), carried)
    high = shift_right_logical(high, np.uint32(shift))
    words, (part, high, block) = _aligned(key, part, high, block)
    drawn = _philox(words, high, block)
    if width == 64:
        pairs = [_joined(drawn[i + 1], drawn[i]) for i in (0, 2)]
        found = select_n(eq(part, np.uint32(1)), *pairs)
    else:
        found = drawn[0]
        for i in range(1, 4):
            found = select_n(eq(part, np.uint32(i)), found, drawn[i])
        found = found if width == 32 else _cut(found, width)
    return _shaped([found], key, shape)[0]


# ----------------------------------------------------------------- what operations ask


def bits(key: Any, width: int, shape: Shape, partitionable: bool) -> Any:
    """Random bits: unsigned integers of `width` bits, `shape` for each key."""
    impl = aval_of(key).dtype.impl
    if impl != "threefry2x32":
        return _philox_bits(key, width, shape)
    if not partitionable:
        return _old_bits(key, width, shape)
    first, second = threefry_pairs(key, shape)
    if width == 64:
        return _joined(first, second)
    words = bitwise_xor(first, second)
    return words if width == 32 else _cut(words, width)


def split(key: Any, shape: Shape, partitionable: bool) -> Any:
    """New keys, `shape` for each key."""
    impl = aval_of(key).dtype.impl
    size = math.prod(shape)
    if impl == "unsafe_rbg":
        high, low = counters(size)
        words, lanes = _aligned(key, high, mul(low, np.uint32(10)))
        return _shaped([KeyOfWords(impl)(*_philox(words, *lanes))], key, shape)[0]
    if partitionable:
        return KeyOfWords(impl)(*threefry_pairs(key, shape))
    words = _old_words(key, 2 * size, 0, 2 * size)
    last = len(aval_of(key).shape)
    pairs = [reshape(w, (*aval_of(key).shape, size, 2)) for w in words]
    parts = [
        reshape(slice_in_dim(w, i, i + 1, axis=last + 1), (*aval_of(key).shape, *shape))
        for w in pairs
        for i in range(2)
    ]
    return KeyOfWords(impl)(*parts)


def fold_in(key: Any, data: Any) -> Any:
    """Keys that depend on a key and on a number, uint32."""
    impl = aval_of(key).dtype.impl
    words = KeyWords()(key)
    if impl == "unsafe_rbg":
        zero = bitwise_xor(data, data)
        mask = _philox([zero, data, zero, data], ZERO, np.uint32(9))
        mixed = [bitwise_xor(w, m) for w, m in zip(words, mask, strict=True)]
        return KeyOfWords(impl)(*mixed)
    found: list[Any] = []
    for i in range(0, len(words), 2):
        found += Threefry2x32()(*words[i : i + 2], ZERO, data)
    return KeyOfWords(impl)(*found)


def seed(high: Any, low: Any, impl: str) -> Any:
    """The keys whose words are those of seeds, repeated if there are more."""
    count = 1 if impl == "threefry2x32" else 2
    return KeyOfWords(impl)(*[high, low] * count)
