"""The counter ciphers behind random bits, and the words of keys.

In: words of keys and of counters, uint32. Out: words that look random. Threefry is the
cipher of the default generator, Philox that of `rbg`, which is XLA's on the CPU too.

A key is one opaque element of two or four 32-bit words, which lie in memory in order, so
that a buffer of keys read as uint32 is the array of their words. An element of four words
is moved as a complex number whose parts have the bits of two words each.

Read `Threefry2x32`, `philox4x32`, then `KeyWords` and its inverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import STATE, aval_of
from tetrad._src.core.op import Axis
from tetrad._src.ops import keys
from tetrad._src.ops.convert import ConvertElementType
from tetrad._src.ops.elementwise import (
    add,
    bitwise_or,
    bitwise_xor,
    mul,
    shift_left,
    shift_right_logical,
)
from tetrad._src.ops.families import Elementwise
from tetrad._src.ops.keys import KeyOp
from tetrad._src.ops.shape import broadcast_in_dim, squeeze
from tetrad._src.ops.slices import concatenate, slice_in_dim
from tetrad._src.util import dtypes

U32 = np.dtype(np.uint32)
U64 = np.dtype(np.uint64)
F64 = np.dtype(np.float64)
_PARITY = np.uint32(0x1BD11BDA)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_MULTIPLIERS = (np.uint32(0xD2511F53), np.uint32(0xCD9E8D57))
_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))


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


def _product(x: Any, y: np.uint32) -> tuple[Any, Any]:
    """The high and the low word of the product of two words."""
    wide = mul(ConvertElementType(U64)(x), ConvertElementType(U64)(y))
    high = shift_right_logical(wide, ConvertElementType(U64)(np.uint32(32)))
    return ConvertElementType(U32)(high), ConvertElementType(U32)(wide)


def philox4x32(key: list[Any], counter: list[Any]) -> list[Any]:
    """Four words of the Philox-4x32 cipher with 10 rounds.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011
    """
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        high0, low0 = _product(c0, _MULTIPLIERS[0])
        high1, low1 = _product(c2, _MULTIPLIERS[1])
        c0 = bitwise_xor(bitwise_xor(high1, c1), k0)
        c2 = bitwise_xor(bitwise_xor(high0, c3), k1)
        c1, c3 = low1, low0
        k0, k1 = add(k0, _WEYL[0]), add(k1, _WEYL[1])
    return [c0, c1, c2, c3]


# ---------------------------------------------------------------------- keys and words


class KeyWords(KeyOp, Elementwise):
    """The 32-bit words of each key, as arrays: what a sampler starts from."""

    name = "random_words"
    multiple = True
    accepts = "K"
    consumes = (0,)

    def type(self, key: Aval) -> tuple[Aval, ...]:
        count: int = key.dtype.words
        return (Aval(key.shape, U32),) * count

    def expand(self, key: Any) -> list[Any]:
        words = RandomUnwrap()(key)
        *_, count = aval_of(words).shape
        last = aval_of(words).ndim - 1
        parts = [slice_in_dim(words, i, i + 1, axis=last) for i in range(count)]
        return [squeeze(part, (last,)) for part in parts]

    def scalar(self, block: Any, key: Any) -> tuple[Any, ...]:
        halves = [key]
        if key.type == "c128":
            parts = block.real(key), block.imag(key)
            halves = [block.bitcast(part, "u64") for part in parts]
        found = []
        for half in halves:
            found += [block.convert(half, "u32"), block.convert(half >> 32, "u32")]
        return tuple(found)

    def tell(self, out: Any, key: Any) -> None:
        keys.drawn(key, out[0], self)


class KeyOfWords(Elementwise):
    """The key for a generator of 32-bit words."""

    impl: str = "threefry2x32"

    name = "random_key_of_words"
    accepts = "u"

    def type(self, *words: Aval) -> Aval:
        return Aval(self.common_shape(words), dtypes.key_dtype(self.impl))

    def expand(self, *words: Any) -> Any:
        shape = self.common_shape([aval_of(word) for word in words])
        parts = [
            broadcast_in_dim(word, (*shape, 1), range(aval_of(word).ndim))
            for word in words
        ]
        return RandomWrap(self.impl)(concatenate(parts, len(shape)))

    def scalar(self, block: Any, *words: Any) -> Any:
        wide = [block.convert(word, "u64") for word in words]
        halves = [wide[i] | (wide[i + 1] << 32) for i in range(0, len(wide), 2)]
        if len(halves) == 1:
            return halves[0]
        return block.complex(*[block.bitcast(half, "f64") for half in halves])


class RandomWrap(KeyOp):
    """The typed keys whose words stand along the last axis, uint32.

    TypeError for other dtypes and extents.
    """

    impl: str = "threefry2x32"

    accepts = "u"

    def type(self, words: Aval) -> Aval:
        dtype = dtypes.key_dtype(self.impl)
        if words.dtype != U32 or words.shape[-1:] != (dtype.words,):
            raise TypeError(
                f"the data of {self.impl} keys must be uint32 with a last axis of extent"
                f" {dtype.words}, got {words.long_name()}"
            )
        return Aval(words.shape[:-1], dtype)

    def batch(self, axis: Axis, words: Any) -> Any:
        return self(words)

    def expand(self, words: Any) -> Any:
        last = aval_of(words).ndim - 1
        count = dtypes.key_dtype(self.impl).words
        parts = [slice_in_dim(words, i, i + 1, axis=last) for i in range(count)]
        return KeyOfWords(self.impl)(*[squeeze(part, (last,)) for part in parts])

    def hlo(self, rule: Any, words: Any) -> Any:
        if dtypes.key_dtype(self.impl).words == 2:
            return rule("stablehlo.bitcast_convert", words)
        shape = rule.outs[0].shape
        pairs = Aval((*shape, 2, 2), U32)
        split = rule("stablehlo.reshape", words, result=pairs)
        halves = rule("stablehlo.bitcast_convert", split, result=Aval((*shape, 2), F64))
        return rule("stablehlo.complex", *[_half(rule, halves, i) for i in range(2)])

    @property
    def params(self) -> dict[str, Any]:
        return {"impl": dtypes.key_dtype(self.impl).tag}

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


def _half(rule: Any, halves: Any, number: int) -> Any:
    """One of the doubles along the last axis."""
    *shape, _ = halves.aval.shape
    start = [*[0] * len(shape), number]
    limit = [*shape, number + 1]
    taken = rule(
        "stablehlo.slice",
        halves,
        result=Aval((*shape, 1), F64),
        start_indices=start,
        limit_indices=limit,
        strides=[1] * len(start),
    )
    return rule("stablehlo.reshape", taken, result=Aval(tuple(shape), F64))


class RandomUnwrap(KeyOp):
    """The words of typed keys along a new last axis: uint32."""

    accepts = "K"

    def type(self, key: Aval) -> Aval:
        return Aval((*key.shape, key.dtype.words), U32)

    def batch(self, axis: Axis, key: Any) -> Any:
        return self(key)

    def expand(self, key: Any) -> Any:
        shape = aval_of(key).shape
        parts = [
            broadcast_in_dim(word, (*shape, 1), range(len(shape)))
            for word in KeyWords()(key)
        ]
        return concatenate(parts, len(shape))

    def hlo(self, rule: Any, key: Any) -> Any:
        if key.aval.dtype.words == 2:
            return rule("stablehlo.bitcast_convert", key)
        shape = key.aval.shape
        halves = []
        for part in ("real", "imag"):
            half = rule(f"stablehlo.{part}", key, result=Aval(shape, F64))
            words = Aval((*shape, 2), U32)
            halves.append(rule("stablehlo.bitcast_convert", half, result=words))
        return rule("stablehlo.concatenate", *halves, dimension=len(shape))

    def tell(self, out: Any, key: Any) -> None:
        keys.same(key, out)
