"""Keys and bits: the values of JAX 0.10.2, expansions, batching."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy_machine_full import array_of, known, machine
from rules import check_vmap

from tetrad._src.ops import ciphers, generators, random
from tetrad._src.util import dtypes
from tetrad._src.util.config import enable_x64


@pytest.fixture(autouse=True, params=["numpy", "cpu"])
def current_machine(request: Any) -> Iterator[None]:
    with machine(request.param):
        yield


def words(key: Any) -> list[Any]:
    return array_of(random.random_unwrap(key)).tolist()


def test_values_of_jax() -> None:
    key = random.random_seed(42)
    assert words(key) == [0, 42]
    bits = array_of(random.random_bits(key, 32, (3,)))
    assert bits.tolist() == [2098992034, 2919706841, 2646866425]
    assert words(random.random_split(key, (2,))) == [
        [1832780943, 270669613],
        [64467757, 2916123636],
    ]
    assert words(random.random_fold_in(key, np.uint32(7))) == [2547012911, 1371500959]


@pytest.mark.parametrize(
    "seed, narrow, wide",
    [
        (0, [0, 0], [0, 0]),
        (-1, [0, 2**32 - 1], [2**32 - 1, 2**32 - 1]),
        (2**31, [0, 2**31], [0, 2**31]),
        (2**32 - 1, [0, 2**32 - 1], [0, 2**32 - 1]),
        (2**40 + 7, [256, 7], [256, 7]),
        (2**63 + 5, [2**31, 5], [2**31, 5]),
        (-(2**40), [2**32 - 256, 0], [2**32 - 256, 0]),
        (np.int8(-3), [0, 2**32 - 3], [0, 2**32 - 3]),
        (np.uint32(7), [0, 7], [0, 7]),
        (np.int64(2**40), [256, 0], [256, 0]),
    ],
)
def test_seeds(seed: Any, narrow: Any, wide: Any) -> None:
    with enable_x64(False):
        assert words(random.random_seed(seed)) == narrow
    with enable_x64(True):
        assert words(random.random_seed(seed)) == wide


def test_seed_arrays() -> None:
    with enable_x64(True):
        seeds = known(np.array([0, -1, 2**40 + 7]))
        want = [[0, 0], [2**32 - 1, 2**32 - 1], [256, 7]]
        assert words(random.random_seed(seeds)) == want
        assert words(random.RandomSeed().expand(seeds)) == want
    with pytest.raises(TypeError, match="must be an integer"):
        random.random_seed(1.5)
    with pytest.raises(OverflowError, match="64 bits"):
        random.random_seed(2**64)


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_bits(width: int) -> None:
    with enable_x64(True):
        key = random.random_seed(3)
        first, second = [
            array_of(w).astype(np.uint64) for w in generators.threefry_pairs(key, (5,))
        ]
        bits = array_of(random.random_bits(key, width, (5,)))
        assert bits.dtype == np.dtype(f"uint{width}")
        both = first << np.uint64(32) | second if width == 64 else first ^ second
        np.testing.assert_array_equal(bits, both.astype(bits.dtype))
        square = array_of(random.random_bits(key, width, (5, 1)))
        np.testing.assert_array_equal(square[:, 0], bits)
    with pytest.raises(ValueError, match="8, 16, 32 or 64"):
        random.random_bits(key, 24, ())


def test_expansions_agree_with_scalar_rules() -> None:
    rng = np.random.default_rng(0)
    operands = [known(rng.integers(0, 2**32, 6).astype(np.uint32)) for _ in range(4)]
    op = random.Threefry2x32()
    for got, want in zip(op.expand(*operands), op(*operands)):
        np.testing.assert_array_equal(array_of(got), array_of(want))
    keys = random.random_wrap(known(rng.integers(0, 2**32, (3, 2)).astype(np.uint32)))
    data = known(np.arange(3, dtype=np.uint32))
    fold = random.RandomFoldIn()
    assert words(fold.expand(keys, data)) == words(fold(keys, data))
    both = ciphers.KeyWords()
    for got, want in zip(both.expand(keys), both(keys)):
        np.testing.assert_array_equal(array_of(got), array_of(want))
    made = ciphers.KeyOfWords()
    parts = both(keys)
    assert words(made.expand(*parts)) == words(made(*parts)) == words(keys)
    assert words(random.random_clone(keys)) == words(keys)


def test_batching() -> None:
    seeds = np.array(5, np.int32)

    def use(seed: Any) -> list[Any]:
        key = random.random_seed(seed)
        folded = random.random_fold_in(key, np.uint32(3))
        return [
            random.random_bits(key, 32, (2, 2)),
            random.random_unwrap(random.random_split(folded, (2,))),
            random.random_unwrap(random.random_clone(key)),
        ]

    check_vmap(use, [seeds])


def test_facts() -> None:
    assert random.RandomBits(32, ()).consumes == (0,)
    assert random.RandomSplit((2,)).consumes == (0,)
    assert random.RandomFoldIn().consumes == ()
    key = random.random_seed(0)
    assert key.dtype is dtypes.KEY
    with pytest.raises(TypeError, match="last axis of extent 2"):
        random.random_wrap(known(np.zeros(3, np.uint32)))
