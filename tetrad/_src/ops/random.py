"""Random keys and bits as operations: seeds, splitting, folding, drawing bits.

What comes in: typed keys, of a dtype in `KEYS`, and integers. What goes out: keys and
bits, the same as JAX's generators give. All of it expands to the ciphers; `generators.py`
says which.

Read `RandomBits` and its neighbours, then the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Trace, aval_of
from tetrad._src.core.op import Axis
from tetrad._src.ops import generators, keys
from tetrad._src.ops.axes import check_shape
from tetrad._src.ops.ciphers import U32, RandomUnwrap, RandomWrap
from tetrad._src.ops.ciphers import Threefry2x32 as Threefry2x32
from tetrad._src.ops.convert import ConvertElementType
from tetrad._src.ops.elementwise import add, mul, shift_right_logical
from tetrad._src.ops.families import Elementwise, Operand, Shape, check_operand
from tetrad._src.ops.keys import KeyOp
from tetrad._src.ops.shape import ones_like
from tetrad._src.util import dtypes
from tetrad._src.util.config import config

_ZERO = np.uint32(0)


class RandomSeed(KeyOp, Elementwise):
    """The keys of integer seeds: the seed's 64 bits, high word first.

    Seeds of 32 bits and fewer have a high word of zero. TypeError for other dtypes.
    """

    impl: str = "threefry2x32"

    accepts = "iu"

    def type(self, seeds: Aval) -> Aval:
        return Aval(seeds.shape, dtypes.key_dtype(self.impl))

    def expand(self, seeds: Any) -> Any:
        dtype = aval_of(seeds).dtype
        high: Any = _ZERO
        if dtype.itemsize == 8:
            width = ConvertElementType(dtype)(np.uint32(32))
            high = ConvertElementType(U32)(shift_right_logical(seeds, width))
        return generators.seed(high, ConvertElementType(U32)(seeds), self.impl)

    @property
    def params(self) -> dict[str, Any]:
        return {"impl": dtypes.key_dtype(self.impl).tag}

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
        if key.kind != "K" or data.dtype != U32:
            raise TypeError(
                "random_fold_in takes keys and uint32 data, got"
                f" {key.long_name()} and {data.long_name()}"
            )
        return Aval(self.common_shape((key, data)), key.dtype)

    def expand(self, key: Any, data: Any) -> Any:
        return generators.fold_in(key, data)

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


class RandomBits(KeyOp):
    """Uniformly distributed random bits: unsigned integers of `bit_width` bits.

    `shape` elements for each key. ValueError unless the width is 8, 16, 32 or 64.
    """

    bit_width: int
    shape: Shape
    partitionable: bool = True

    accepts = "K"
    hidden = ("partitionable",)
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
        return generators.bits(key, self.bit_width, self.shape, self.partitionable)

    def tell(self, out: Any, key: Any) -> None:
        if out.aval.size:
            keys.drawn(key, out, self)


class RandomSplit(KeyOp):
    """New keys of the given `shape` for each key, which is used up."""

    shape: Shape
    partitionable: bool = True

    accepts = "K"
    hidden = ("partitionable",)
    consumes = (0,)

    def type(self, key: Aval) -> Aval:
        return Aval((*key.shape, *self.shape), key.dtype)

    def batch(self, axis: Axis, key: Any) -> Any:
        return self(key)

    def expand(self, key: Any) -> Any:
        return generators.split(key, self.shape, self.partitionable)

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


def random_seed(seeds: Operand, impl: str = "threefry2x32") -> Any:
    """The key of an integer seed, or the keys of an array of them.

    A Python integer may have 64 bits whether 64-bit types are on or not. OverflowError
    beyond that; TypeError for anything but integers.
    """
    if isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool):
        return _seed(seeds, impl)
    seeds = check_operand(seeds, "random_seed")
    aval = aval_of(seeds)
    if aval.kind not in "iu":
        raise TypeError(f"a random seed must be an integer, got {aval.long_name()}")
    return RandomSeed(impl)(seeds)


def _seed(seed: int | np.integer[Any], impl: str) -> Any:
    value = int(seed)
    if not -(1 << 63) <= value < 1 << 64:
        raise OverflowError(f"a random seed has at most 64 bits, got {value}")
    if isinstance(seed, np.integer) and seed.dtype.itemsize < 8:
        return RandomSeed(impl)(seed)
    wide = config.x64
    if -(1 << 31) <= value < 1 << 31 and not wide:
        return RandomSeed(impl)(np.int32(value))
    if wide and value < 1 << 63:
        return RandomSeed(impl)(np.int64(value))
    words = [(value >> 32) & 0xFFFFFFFF, value & 0xFFFFFFFF]
    words *= dtypes.key_dtype(impl).words // 2
    return RandomWrap(impl)(np.array(words, np.uint32))


def random_wrap(words: Operand, impl: str = "threefry2x32") -> Any:
    """The typed keys of words: uint32[…, 2], or four words for other generators."""
    return RandomWrap(impl)(check_operand(words, "random_wrap"))


def random_unwrap(key: Any) -> Any:
    """The words of typed keys, along a new last axis."""
    return RandomUnwrap()(key)


def random_bits(key: Any, bit_width: int, shape: Sequence[int]) -> Any:
    """Random bits from a typed key: unsigned integers of 8, 16, 32 or 64 bits."""
    shape = check_shape(shape, "random_bits")
    return RandomBits(int(bit_width), shape, config.jax_threefry_partitionable)(key)


def random_split(key: Any, shape: Sequence[int]) -> Any:
    """New typed keys of the given shape."""
    shape = check_shape(shape, "random_split")
    return RandomSplit(shape, config.jax_threefry_partitionable)(key)


def random_fold_in(key: Any, data: Operand) -> Any:
    """A typed key that depends on `key` and on `data`, a uint32."""
    return RandomFoldIn()(key, data)


def random_clone(key: Any) -> Any:
    """The same key, to be used once more."""
    return RandomClone()(key)
