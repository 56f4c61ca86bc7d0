"""Reads and updates at every form of index, against NumPy: what stands beside what.

An index is a row of items: integers, slices, None, `...`, index arrays and masks. Their
order decides where the axes of the index arrays stand in the result, so all rows of a
few items are tried, and those of more items drawn.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

SHAPE = (2, 3, 4)
X = np.arange(24, dtype=np.float32).reshape(SHAPE)
ROW = np.array([0, 1, 1])
COLUMN = np.array([[1], [0]])
MASK = np.array([True, False, True, False])
ITEMS: dict[str, Any] = {
    "all": slice(None),
    "odd": slice(1, None),
    "back": slice(None, None, -1),
    "one": 1,
    "last": -1,
    "row": ROW,
    "column": COLUMN,
    "new": None,
    "dots": ...,
}
SHORT = ("all", "one", "row", "new", "dots")


def valid(names: tuple[str, ...]) -> bool:
    axes = len([name for name in names if name not in ("new", "dots")])
    return axes <= len(SHAPE) and names.count("dots") <= 1 and names.count("new") <= 2


def forms() -> list[tuple[str, ...]]:
    """Rows of up to three of the few items, and drawn rows of all of them."""
    few = [
        names
        for count in (1, 2, 3)
        for names in itertools.product(SHORT, repeat=count)
        if valid(names)
    ]
    chooser = random.Random(5)
    drawn: set[tuple[str, ...]] = set()
    while len(drawn) < 80:
        names = tuple(chooser.choices(list(ITEMS), k=chooser.choice((4, 5))))
        if valid(names):
            drawn.add(names)
    return few + sorted(drawn)


@pytest.mark.parametrize("names", forms(), ids="-".join)
def test_index(names: tuple[str, ...]) -> None:
    idx = tuple([ITEMS[name] for name in names])
    want = X[idx]
    found = jnp.array(X)[idx]
    assert found.shape == want.shape
    np.testing.assert_array_equal(found, want)
    values = np.arange(want.size, dtype=np.float32).reshape(want.shape)
    total = X.copy()
    np.add.at(total, idx, values)
    np.testing.assert_array_equal(jnp.array(X).at[idx].add(values), total)


@pytest.mark.parametrize(
    "names",
    [
        ("all", "row", "dots", "row"),
        ("all", "one", "dots", "row"),
        ("dots", "row", "one"),
    ],
    ids="-".join,
)
def test_index_of_operands(names: tuple[str, ...]) -> None:
    """The same where the arrays and integers are arguments of a program."""
    idx = tuple([ITEMS[name] for name in names])
    places = [i for i, item in enumerate(idx) if isinstance(item, (int, np.ndarray))]

    @jax.jit
    def read(x: Any, *given: Any) -> Any:
        items = list(idx)
        for place, item in zip(places, given):
            items[place] = item
        return x[tuple(items)]

    np.testing.assert_array_equal(read(X, *[idx[i] for i in places]), X[idx])


def test_an_empty_ellipsis_parts_a_mask_from_an_array() -> None:
    for idx in ((slice(None), ROW[:2], ..., MASK), (slice(None), 1, ..., MASK)):
        np.testing.assert_array_equal(jnp.array(X)[idx], X[idx])


@pytest.mark.parametrize("method", ["divide", "power", "multiply", "add", "set", "min"])
def test_values_of_fewer_axes_are_no_promotion_of_ranks(method: str) -> None:
    """Values are broadcast to the elements they meet, whatever is set for operators."""
    values = np.array([2.0, 4.0, 2.0, 4.0], np.float32)
    with jax.numpy_rank_promotion("allow"):
        for idx in ((slice(1, None),), (ROW,), (np.array([0, 1]),), (...,)):
            at = jnp.array(X).at[idx]
            want = np.asarray(getattr(at, method)(values))
            wide = np.broadcast_to(values, X[idx].shape)
            np.testing.assert_array_equal(want, getattr(at, method)(wide))
            with jax.numpy_rank_promotion("raise"):
                found = getattr(jnp.array(X).at[idx], method)(values)
            np.testing.assert_array_equal(want, found)
