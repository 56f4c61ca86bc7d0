"""Random keys and bits: the Threefry-2x32 counter cipher and what is made of it.

What comes in: typed keys (dtype `KEY`, one 64-bit element each) and integers. What goes
out: keys and bits, the same as JAX's default generator gives: element i of an array of
random bits is the cipher of the 64-bit counter i under the key, so it does not depend on
the shape of the array or on how the work is divided.

A key holds two 32-bit words; word 0 is the low half of the element, so that a buffer of
keys read as uint32 is the array of their words. The operations on elements
(`KeyWords`, `KeyOfWords`, `Threefry2x32`, `RandomSeed`, `RandomFoldIn`) state scalar code
for the CPU; the others `expand` to these.

Read `Threefry2x32`, the keys and their words, then `RandomBits` and its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, Trace, aval_of
from tetrad._src.core.op import Axis, Op
from tetrad._src.ops.axes import check_shape
from tetrad._src.ops.convert import ConvertElementType
from tetrad._src.ops.elementwise import (
    add,
    bitwise_or,
    bitwise_xor,
    mul,
    shift_left,
    shift_right_logical,
)
from tetrad._src.ops import keys
from tetrad._src.ops.families import Elementwise, Operand, Shape, check_operand
from tetrad._src.ops.keys import KeyOp
from tetrad._src.ops.shape import Iota, broadcast_in_dim, ones_like, reshape, squeeze
from tetrad._src.ops.slices import concatenate, slice_in_dim
from tetrad._src.util import dtypes
from tetrad._src.util.config import config

U32 = np.dtype(np.uint32)
U64 = np.dtype(np.uint64)
_ZERO = np.uint32(0)
_PARITY = np.uint32(0x1BD11BDA)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


class Threefry2x32(Elementwise):
    """Two words of the Threefry-2x32 cipher with 20 rounds: (key, counter) to bits.

    The operands are the two words of the key and the two of the counter, all uint32.
    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011

    >>> from tetrad._src.ops.random import threefry2x32
    >>> threefry2x32(0, 0, 0, 0)
    [Array(1797259609, dtype=uint32), Array(2579123966, dtype=uint32)]
    """

    name = "threefry2x32"
    multiple = True
    accepts = "u"

    def type(self, *avals: Aval) -> tuple[Aval, Aval]:
        if len(avals) != 4 or self.common_dtype(avals) != U32:
            raise TypeError(
                "threefry2x32 takes four uint32 operands, got"
                f" {', '.join(aval.long_name() for aval in avals)}"
            )
        out = Aval(self.common_shape(avals), U32)
        return out, out

    def expand(self, key0: Any, key1: Any, x0: Any, x1: Any) -> list[Any]:
        parity = bitwise_xor(bitwise_xor(key0, key1), _PARITY)
        keys = (key0, key1, parity)
        x0, x1 = add(x0, key0), add(x1, key1)
        for group in range(5):
            for rotation in _ROTATIONS[group % 2]:
                x0 = add(x0, x1)
                left = shift_left(x1, np.uint32(rotation))
                right = shift_right_logical(x1, np.uint32(32 - rotation))
                x1 = bitwise_xor(bitwise_or(left, right), x0)
            x0 = add(x0, keys[(group + 1) % 3])
            x1 = add(add(x1, keys[(group + 2) % 3]), np.uint32(group + 1))
        return [x0, x1]

    def scalar(self, block: Any, key0: Any, key1: Any, x0: Any, x1: Any) -> Any:
        return block.threefry2x32(key0, key1, x0, x1)


# ---------------------------------------------------------------------- keys and words


class KeyWords(KeyOp, Elementwise):
    """The two 32-bit words of each key, as two arrays: what a sampler starts from."""

    name = "random_words"
    multiple = True
    accepts = "K"
    consumes = (0,)

    def type(self, key: Aval) -> tuple[Aval, Aval]:
        out = Aval(key.shape, U32)
        return out, out

    def expand(self, key: Any) -> list[Any]:
        words = RandomUnwrap()(key)
        last = aval_of(words).ndim - 1
        parts = [slice_in_dim(words, i, i + 1, axis=last) for i in range(2)]
        return [squeeze(part, (last,)) for part in parts]

    def scalar(self, block: Any, key: Any) -> tuple[Any, Any]:
        return block.convert(key, "u32"), block.convert(key >> 32, "u32")

    def tell(self, out: Any, key: Any) -> None:
        keys.drawn(key, out[0], self)


class KeyOfWords(Elementwise):
    """The key of two 32-bit words."""

    name = "random_key_of_words"
    accepts = "u"

    def type(self, word0: Aval, word1: Aval) -> Aval:
        return Aval(self.common_shape((word0, word1)), dtypes.KEY)

    def expand(self, word0: Any, word1: Any) -> Any:
        shape = self.common_shape((aval_of(word0), aval_of(word1)))
        parts = [
            broadcast_in_dim(word, (*shape, 1), range(aval_of(word).ndim))
            for word in (word0, word1)
        ]
        return RandomWrap()(concatenate(parts, len(shape)))

    def scalar(self, block: Any, word0: Any, word1: Any) -> Any:
        low, high = block.convert(word0, "u64"), block.convert(word1, "u64")
        return low | (high << 32)


class RandomWrap(KeyOp):
    """The typed keys whose words stand along the last axis, uint32 of extent 2.

    TypeError for other dtypes and extents.
    """

    accepts = "u"
    fixed = {"impl": "fry"}

    def type(self, words: Aval) -> Aval:
        if words.dtype != U32 or words.shape[-1:] != (2,):
            raise TypeError(
                "the data of random keys must be uint32 with a last axis of extent 2,"
                f" got {words.long_name()}"
            )
        return Aval(words.shape[:-1], dtypes.KEY)

    def batch(self, axis: Axis, words: Any) -> Any:
        return self(words)

    def expand(self, words: Any) -> Any:
        last = aval_of(words).ndim - 1
        parts = [slice_in_dim(words, i, i + 1, axis=last) for i in range(2)]
        return KeyOfWords()(*[squeeze(part, (last,)) for part in parts])

    hlo = "stablehlo.bitcast_convert"

    def __call__(self, words: Any) -> Any:
        trace = STATE.trace
        out = trace.process(self, (words,))
        if trace.eager:
            note = getattr(words, "note", None)
            if note is None:
                keys.same(words, out)
            else:
                out.note = note
        return out


class RandomUnwrap(KeyOp):
    """The words of typed keys along a new last axis: uint32 of extent 2."""

    accepts = "K"

    def type(self, key: Aval) -> Aval:
        return Aval((*key.shape, 2), U32)

    def batch(self, axis: Axis, key: Any) -> Any:
        return self(key)

    def expand(self, key: Any) -> Any:
        shape = aval_of(key).shape
        parts = [
            broadcast_in_dim(word, (*shape, 1), range(len(shape)))
            for word in KeyWords()(key)
        ]
        return concatenate(parts, len(shape))

    hlo = "stablehlo.bitcast_convert"

    def tell(self, out: Any, key: Any) -> None:
        keys.same(key, out)


class RandomSeed(KeyOp, Elementwise):
    """The keys of integer seeds: the seed's 64 bits, high word first.

    Seeds of 32 bits and fewer have a high word of zero. TypeError for other dtypes.
    """

    accepts = "iu"
    fixed = {"impl": "fry"}

    def type(self, seeds: Aval) -> Aval:
        return Aval(seeds.shape, dtypes.KEY)

    def expand(self, seeds: Any) -> Any:
        dtype = aval_of(seeds).dtype
        high: Any = _ZERO
        if dtype.itemsize == 8:
            width = ConvertElementType(dtype)(np.uint32(32))
            high = ConvertElementType(U32)(shift_right_logical(seeds, width))
        return KeyOfWords()(high, ConvertElementType(U32)(seeds))

    def scalar(self, block: Any, seeds: Any) -> Any:
        low = block.convert(block.convert(seeds, "u32"), "u64") << 32
        if seeds.type not in ("i64", "u64"):
            return low
        return low | block.shift_right_logical(block.convert(seeds, "u64"), 32)

    def tell(self, out: Any, seeds: Any) -> None:
        keys.made(out, "seed", seeds)

    def tell_lanes(self, trace: Trace, out: Any, seeds: Any) -> None:
        keys.enter_lanes(trace, out)


class RandomFoldIn(KeyOp, Elementwise):
    """Keys that depend on a key and on an integer: the cipher of the integer.

    TypeError unless `data` is uint32.
    """

    accepts = "Ku"

    def type(self, key: Aval, data: Aval) -> Aval:
        if key.dtype is not dtypes.KEY or data.dtype != U32:
            raise TypeError(
                "random_fold_in takes keys and uint32 data, got"
                f" {key.long_name()} and {data.long_name()}"
            )
        return Aval(self.common_shape((key, data)), dtypes.KEY)

    def expand(self, key: Any, data: Any) -> Any:
        return KeyOfWords()(*Threefry2x32()(*KeyWords()(key), _ZERO, data))

    def scalar(self, block: Any, key: Any, data: Any) -> Any:
        words = KeyWords().scalar(block, key)
        zero = block.constant(0, "u32")
        return KeyOfWords().scalar(block, *block.threefry2x32(*words, zero, data))

    def tell(self, out: Any, key: Any, data: Any) -> None:
        keys.folded(key, data, out)


class RandomClone(KeyOp, Elementwise):
    """The same keys, which may be used once more."""

    accepts = "K"

    def type(self, key: Aval) -> Aval:
        return key

    def expand(self, key: Any) -> Any:
        return key

    def scalar(self, block: Any, key: Any) -> Any:
        return key

    def tell(self, out: Any, key: Any) -> None:
        keys.made(out, "clone", None, keys.note_of(key))

    def tell_lanes(self, trace: Trace, out: Any, key: Any) -> None:
        keys.enter_lanes(trace, out)


# ------------------------------------------------------------------------ bits and keys


def cipher(key: Any, shape: Shape) -> list[Any]:
    """For each key, the two words of the cipher of 0, 1, … in the given shape."""
    size = math.prod(shape)
    keys = aval_of(key).shape
    words = KeyWords()(key)
    high, low = _counters(size)
    flat = (*keys, size)
    if keys:
        words = [broadcast_in_dim(w, flat, range(len(keys))) for w in words]
        low = broadcast_in_dim(low, flat, (len(keys),))
        if aval_of(high).shape:
            high = broadcast_in_dim(high, flat, (len(keys),))
    bits = Threefry2x32()(*words, high, low)
    return [reshape(b, (*keys, *shape)) for b in bits]


def _counters(size: int) -> tuple[Any, Any]:
    """The high and the low words of the counters 0 … size − 1."""
    if size <= 1 << 32:
        return _ZERO, Iota(U32, (size,), 0)()
    grid = (-(-size >> 32), 1 << 32)
    words = [reshape(Iota(U32, grid, i)(), (grid[0] << 32,)) for i in range(2)]
    high, low = [slice_in_dim(w, 0, size) for w in words]
    return high, low


class RandomBits(KeyOp):
    """Uniformly distributed random bits: unsigned integers of `bit_width` bits.

    `shape` elements for each key. ValueError unless the width is 8, 16, 32 or 64.
    """

    bit_width: int
    shape: Shape

    accepts = "K"
    consumes = (0,)

    def type(self, key: Aval) -> Aval:
        if self.bit_width not in (8, 16, 32, 64):
            raise ValueError(
                f"random bits come 8, 16, 32 or 64 at a time, got {self.bit_width}"
            )
        dtype = np.dtype(f"uint{self.bit_width}")
        return Aval((*key.shape, *self.shape), dtype)

    def batch(self, axis: Axis, key: Any) -> Any:
        return self(key)

    def expand(self, key: Any) -> Any:
        first, second = cipher(key, self.shape)
        if self.bit_width == 64:
            width = ConvertElementType(U64)(np.uint32(32))
            high = shift_left(ConvertElementType(U64)(first), width)
            return bitwise_or(high, ConvertElementType(U64)(second))
        bits = bitwise_xor(first, second)
        if self.bit_width == 32:
            return bits
        return ConvertElementType(np.dtype(f"uint{self.bit_width}"))(bits)

    def tell(self, out: Any, key: Any) -> None:
        if out.aval.size:
            keys.drawn(key, out, self)


class RandomSplit(KeyOp):
    """New keys of the given `shape` for each key, which is used up."""

    shape: Shape

    accepts = "K"
    consumes = (0,)

    def type(self, key: Aval) -> Aval:
        return Aval((*key.shape, *self.shape), dtypes.KEY)

    def batch(self, axis: Axis, key: Any) -> Any:
        return self(key)

    def expand(self, key: Any) -> Any:
        return KeyOfWords()(*cipher(key, self.shape))

    def tell(self, out: Any, key: Any) -> None:
        keys.divided(key, out, self, "inner")

    def tell_lanes(self, trace: Trace, out: Any, key: Any) -> None:
        """Lanes may share a key, as long as each draws from another child."""


# ------------------------------------------------------------ functions for the layers above


class Stretch(Elementwise):
    """unit · span + low, rounded once: what makes [0, 1) the range of a draw.

    JAX's compilers fuse the product and the sum; the same bits need the same rounding.
    """

    accepts = "f"

    def derivative(self, ans: Any, unit: Any, span: Any, low: Any) -> tuple[Any, ...]:
        return span, unit, ones_like(low)

    def expand(self, unit: Any, span: Any, low: Any) -> Any:
        return add(mul(unit, span), low)

    def scalar(self, block: Any, unit: Any, span: Any, low: Any) -> Any:
        if unit.type in ("f32", "f64"):
            return block.fma_accurate(unit, span, low)
        return block.add(block.mul(unit, span), low)


# ------------------------------------------------------------------ public functions


def stretch(unit: Any, span: Any, low: Any) -> Any:
    """Numbers of [0, 1) spread over [low, low + span)."""
    return Stretch()(unit, span, low)


def threefry2x32(key0: Operand, key1: Operand, x0: Operand, x1: Operand) -> list[Any]:
    words = [np.uint32(w) if isinstance(w, int) else w for w in (key0, key1, x0, x1)]
    return Threefry2x32()(*words)  # type: ignore[no-any-return]


threefry2x32.__doc__ = Threefry2x32.__doc__


def random_seed(seeds: Operand) -> Any:
    """The key of an integer seed, or the keys of an array of them.

    A Python integer may have 64 bits whether 64-bit types are on or not. OverflowError
    beyond that; TypeError for anything but integers.
    """
    if isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool):
        return _seed(seeds)
    seeds = check_operand(seeds, "random_seed")
    aval = aval_of(seeds)
    if aval.kind not in "iu":
        raise TypeError(f"a random seed must be an integer, got {aval.long_name()}")
    return RandomSeed()(seeds)


def _seed(seed: int | np.integer[Any]) -> Any:
    value = int(seed)
    if not -(1 << 63) <= value < 1 << 64:
        raise OverflowError(f"a random seed has at most 64 bits, got {value}")
    if isinstance(seed, np.integer) and seed.dtype.itemsize < 8:
        return RandomSeed()(seed)
    wide = config.x64
    if -(1 << 31) <= value < 1 << 31 and not wide:
        return RandomSeed()(np.int32(value))
    if wide and value < 1 << 63:
        return RandomSeed()(np.int64(value))
    words = [(value >> 32) & 0xFFFFFFFF, value & 0xFFFFFFFF]
    return RandomWrap()(np.array(words, np.uint32))


def random_wrap(words: Operand) -> Any:
    """The typed keys of words: uint32[…, 2]."""
    return RandomWrap()(check_operand(words, "random_wrap"))


def random_unwrap(key: Any) -> Any:
    """The words of typed keys: uint32[…, 2]."""
    return RandomUnwrap()(key)


def random_bits(key: Any, bit_width: int, shape: Sequence[int]) -> Any:
    """Random bits from a typed key: unsigned integers of 8, 16, 32 or 64 bits."""
    return RandomBits(int(bit_width), check_shape(shape, "random_bits"))(key)


def random_split(key: Any, shape: Sequence[int]) -> Any:
    """New typed keys of the given shape."""
    return RandomSplit(check_shape(shape, "random_split"))(key)


def random_fold_in(key: Any, data: Operand) -> Any:
    """A typed key that depends on `key` and on `data`, a uint32."""
    return RandomFoldIn()(key, data)


def random_clone(key: Any) -> Any:
    """The same key, to be used once more."""
    return RandomClone()(key)
