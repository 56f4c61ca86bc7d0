"""Functions of jax.numpy with every option they have, against NumPy."""

from __future__ import annotations

import io
import itertools
from typing import Any

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

RNG = np.random.default_rng(3)
BLOCK = RNG.integers(-9, 9, (2, 3, 4)).astype(np.float32)


def same(ours: Any, numpys: Any) -> None:
    """One structure, the same shapes and almost the same numbers."""
    one, other = jax.tree.leaves(ours), jax.tree.leaves(numpys)
    assert [np.shape(x) for x in one] == [np.shape(x) for x in other]
    for x, y in zip(one, other):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_diff(axis: int, n: int) -> None:
    for prepend, append in itertools.product((None, 1.0, BLOCK), repeat=2):
        options = {"prepend": prepend, "append": append}
        given = {k: v for k, v in options.items() if v is not None}
        want = np.diff(BLOCK, n, axis, **given)
        same(jnp.diff(jnp.array(BLOCK), n, axis, **given), want)


def test_rollaxis() -> None:
    for axis, start in itertools.product(range(-4, 4), range(-4, 5)):
        try:
            want = np.rollaxis(BLOCK, axis, start)
        except ValueError:
            with pytest.raises(ValueError):
                jnp.rollaxis(BLOCK, axis, start)
        else:
            same(jnp.rollaxis(BLOCK, axis, start), want)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_trapezoid(axis: int) -> None:
    n = BLOCK.shape[axis]
    for x in (None, np.arange(n) ** 2, BLOCK * 2, BLOCK[0]):
        if x is not None and x.ndim == 2 and not -2 <= axis < 0:
            continue
        points = None if x is None else np.float32(x)
        same(jnp.trapezoid(BLOCK, points, 0.5, axis), np.trapezoid(BLOCK, x, 0.5, axis))


def test_linspace() -> None:
    ends = (1.0, np.float32([1, 2]), np.float32([[0], [3]]))
    for start, stop, num, endpoint in itertools.product(
        ends, ends, (0, 1, 2, 5), (False, True)
    ):
        want = np.linspace(start, stop, num, endpoint, True)
        same(jnp.linspace(start, stop, num, endpoint, True), want)


def test_ramps_of_integers_are_rounded_down() -> None:
    x = np.array([[-3, 4, -1], [2, -7, 5]], np.int32)
    for ends in (0, 5, (-4, 3), ((1, -2), (0, -9))):
        want = np.pad(x, 3, "linear_ramp", end_values=ends)
        same(jnp.pad(x, 3, "linear_ramp", end_values=ends), want)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_conditions_longer_than_the_axis(axis: int | None) -> None:
    x = np.arange(6).reshape(2, 3)
    condition = [True, False, True, False, False, False, False, False]
    if axis == 0:
        condition[2] = False
    same(jnp.compress(jnp.array(condition), x, axis), np.compress(condition, x, axis))
    with pytest.raises(ValueError, match="true beyond"):
        jnp.compress(jnp.array([*condition, True]), x, axis)


def test_diagonals_beyond_the_matrix() -> None:
    for k in (-(2**100), -6, -5, -4, -3, 3, 4, 5, 6, 2**40, 2**100):
        near = max(-7, min(7, k))
        same(jnp.eye(4, 5, k), np.eye(4, 5, near))
        same(jnp.tri(4, 5, k), np.tri(4, 5, near))
        same(jnp.triu(BLOCK, k), np.triu(BLOCK, near))
        same(jnp.tril(BLOCK, k), np.tril(BLOCK, near))


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "bfloat16", "float32"])
def test_histograms_count_in_the_dtype_of_the_points(dtype: str) -> None:
    """Edges that are given are taken in it, too, so that nothing has to be promoted."""
    x = jnp.array([1, 3, -2, 4, 0, 3]).astype(dtype)
    floats = dtype if "float" in dtype else "float32"
    edges = np.array([-5, 0, 2, 5])
    plain = np.asarray(x).astype(np.float64)
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        for bins, density in itertools.product((edges, np.float32(edges), 3), (0, 1)):
            for w in (None, x * x):
                weights = None if w is None else plain * plain
                found = jnp.histogram(x, bins, weights=w, density=bool(density))
                want = np.histogram(plain, bins, weights=weights, density=bool(density))
                assert found[0].dtype == found[1].dtype == floats
                for one, other in zip(found, want):
                    tolerance = 0.02 if "16" in floats else 1e-6
                    np.testing.assert_allclose(
                        one.astype(np.float32), other, rtol=tolerance, atol=tolerance
                    )
                counts, _, _ = jnp.histogram2d(x, x, 3, weights=w, density=True)
                assert counts.dtype == floats


def test_a_traced_range_of_integers() -> None:
    x = np.array([1, 3, -2], np.int8)
    for ends in ((0, 0), (-2, 3)):
        found = jax.jit(lambda x, r: jnp.histogram_bin_edges(x, 10, r))(x, ends)
        same(found, np.histogram_bin_edges(x, 10, ends))


def test_choices_and_fits_do_not_rely_on_rank_promotion() -> None:
    choices = [BLOCK, BLOCK[0], BLOCK[0, 0]]
    index = RNG.integers(0, 3, (3, 1))
    x = np.arange(6, dtype=np.float32)
    one, several = np.sin(3 * x), np.sin(np.outer(x, [1, 2, 3, 4, 5])).astype("f")
    with jax.numpy_rank_promotion("raise"):
        same(jnp.choose(jnp.array(index), choices), np.choose(index, choices))
        for y in (one, several):
            for cov in (True, "unscaled"):
                found = jnp.polyfit(x, y, 2, cov=cov)
                want = np.polyfit(x, y, 2, cov=cov)
                for a, b in zip(found, want):
                    np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


def test_all_ways_to_take_along_no_axis() -> None:
    flat = np.array([5, 0, 23, -1], np.int32)
    for mode in (None, "fill", "clip", "one_hot"):
        found = jnp.take_along_axis(jnp.array(BLOCK), jnp.array(flat), None, mode=mode)
        same(found, BLOCK.reshape(-1)[flat])


def test_lists_of_traced_numbers_are_complex_if_one_is() -> None:
    seen = []

    @jax.jit
    def look(x: Any, y: Any) -> Any:
        seen.extend([jnp.iscomplexobj([x]), jnp.iscomplexobj([[x], [y]])])
        seen.append(jnp.isrealobj([x]))
        return x

    look(1.0, 1j)
    assert seen == [False, True, True]


def test_pickled_objects_stay_with_numpy() -> None:
    file = io.BytesIO()
    np.save(file, np.array([1.0, "two"], object), allow_pickle=True)
    file.seek(0)
    assert jnp.load(file, allow_pickle=True).tolist() == [1.0, "two"]


MASKS = {
    "numpy": np.array([True, False, True, True]),
    "wide": np.array([[True], [False], [True]]),
    "number": True,
    "list": [True, False, False, True],
}


@pytest.mark.filterwarnings(
    "ignore:Mean of empty|Degrees of freedom|invalid value|All-NaN"
)
@pytest.mark.parametrize("mask", MASKS)
def test_reductions_of_what_a_mask_picks(mask: str) -> None:
    where = MASKS[mask]
    x = BLOCK.copy()
    x[0, 0, 0] = x[1, 2, 3] = np.nan
    names = ["sum", "prod", "mean", "var", "std", "any", "all", "max", "min"]
    names += ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"]
    for name, axis, keep in itertools.product(names, (None, 1, (0, 2)), (False, True)):
        options = {"initial": 2} if name[-3:] in ("max", "min") else {}
        options |= {"axis": axis, "keepdims": keep}
        host = np.asarray(where) if mask == "list" else where
        want = getattr(np, name)(x, where=host, **options)
        if mask == "list":
            where = jnp.array(where)
        same(getattr(jnp, name)(x, where=where, **options), want)
    for name in ("nanmean", "nanvar", "nansum", "mean"):
        with pytest.raises(ValueError, match="where must be None or a boolean array"):
            getattr(jnp, name)(x, where=np.array([1, 0, 1, 1]))


def test_sums_and_products_as_bools() -> None:
    x = np.array([[0, 1, 2], [0, 0, 3]], np.int8)
    for name, axis, initial in itertools.product(
        ("sum", "prod"), (None, 0, 1, ()), (None, True, False)
    ):
        given = {} if initial is None else {"initial": initial}
        found = getattr(jnp, name)(x, axis, dtype=bool, **given)
        assert found.dtype == np.bool_
        same(found, getattr(np, name)(x, axis, dtype=bool, **given))


def test_multiples_that_do_not_fit_wrap() -> None:
    x = np.arange(-127, 128, dtype=np.int8)
    same(jnp.lcm(x[:, None], x[None, :]), np.lcm(x[:, None], x[None, :]))
    same(jnp.gcd(x[:, None], x[None, :]), np.gcd(x[:, None], x[None, :]))
