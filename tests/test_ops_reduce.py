"""Folds, argument reductions, running folds and sorting: values, rules, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy_machine_full import Block, array_of, known, machine
from rules import check

from tetrad import lax
from tetrad._src.core.stage import stage
from tetrad._src.ops import cumulative, reduce
from tetrad._src.util.config import enable_x64


@pytest.fixture(autouse=True, params=["numpy", "cpu"])
def current_machine(request: Any) -> Iterator[None]:
    with enable_x64(True), machine(request.param):
        yield


rng = np.random.default_rng(1)
X = rng.standard_normal((3, 4, 2))
BITS = rng.integers(0, 255, (3, 4)).astype(np.uint8)
FOLDS: list[tuple[Any, Any]] = [
    (lax.reduce_max, np.max),
    (lax.reduce_min, np.min),
    (lax.reduce_prod, np.prod),
]
AXES = [(0,), (1,), (0, 2), (0, 1, 2), ()]


@pytest.mark.parametrize("function, reference", FOLDS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("axes", AXES)
def test_folds(function: Any, reference: Any, axes: Any) -> None:
    got = array_of(function(known(X), axes))
    np.testing.assert_allclose(got, reference(X, axis=axes), rtol=1e-14)
    check(lambda x: function(x, axes), X)


@pytest.mark.parametrize(
    "function, reference",
    [
        (lax.reduce_and, np.bitwise_and),
        (lax.reduce_or, np.bitwise_or),
        (lax.reduce_xor, np.bitwise_xor),
    ],
    ids=lambda f: f.__name__,
)
def test_bit_folds(function: Any, reference: Any) -> None:
    for x in (BITS, BITS.astype(np.int16), BITS > 100):
        got = array_of(function(known(x), (0,)))
        np.testing.assert_array_equal(got, reference.reduce(x, axis=0))
        check(lambda x: function(x, (1,)), x)
    with pytest.raises(TypeError, match="does not accept dtype float64"):
        function(known(X), (0,))


def test_product_with_zeros_is_differentiable() -> None:
    check(lambda x: lax.reduce_prod(x, (0,)), np.array([2.0, 0.0, 3.0, 1.5, -1.0]))
    check(lambda x: lax.reduce_prod(x, (0,)), np.array([2.0, 0.0, 0.0]))
    check(lambda x: lax.cumprod(x), np.array([2.0, 0.0, 3.0, 0.0, -1.0]))


def test_ties_share_the_tangent() -> None:
    from tetrad._src.transforms.jvp import jvp_flat

    x = known(np.array([1.0, 3.0, 3.0]))
    t = known(np.array([5.0, 1.0, 2.0]))
    _, (tangent,) = jvp_flat(lambda x: [lax.reduce_max(x, (0,))], [x], [t])
    assert array_of(tangent) == 1.5


@pytest.mark.parametrize(
    "dtype", [np.float32, np.int8, np.uint16, bool, ml_dtypes.bfloat16]
)
def test_empty_folds_give_the_identity(dtype: Any) -> None:
    empty = known(np.zeros((0, 2), dtype))
    low, high = (
        (False, True) if dtype is bool
        else (-np.inf, np.inf) if np.dtype(dtype).kind in "fV"
        else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    )  # fmt: skip
    assert (array_of(lax.reduce_max(empty, (0,))) == low).all()
    assert (array_of(lax.reduce_min(empty, (0,))) == high).all()


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint8, bool])
def test_argument_reductions(name: str, dtype: Any) -> None:
    x = rng.integers(0, 5, (6, 7)).astype(dtype)
    for axis in (0, 1, -1):
        got = array_of(getattr(lax, name)(known(x), axis, "int32"))
        want = getattr(np, name)(x, axis=axis)
        np.testing.assert_array_equal(got, want)
        assert got.dtype == np.int32
    check(lambda x: getattr(lax, name)(x, 1, "uint8"), x)


def test_nan_wins_and_the_lowest_index_wins() -> None:
    x = np.array([1.0, np.nan, 9.0, np.nan, -9.0])
    assert array_of(lax.argmax(known(x), 0, "int32")) == 1
    assert array_of(lax.argmin(known(x), 0, "int32")) == 1
    for value in (np.inf, -np.inf, 0.0):
        same = known(np.full(4, value))
        assert array_of(lax.argmax(same, 0, "int32")) == 0
        assert array_of(lax.argmin(same, 0, "int32")) == 0


@pytest.mark.parametrize("op", [reduce.Argmax((0,), np.dtype("i8")),
                                reduce.Argmin((0,), np.dtype("i8"))])  # fmt: skip
def test_argument_states_merge_in_any_order(op: Any) -> None:
    block = Block()
    values = np.array([2.0, np.nan, 5.0, 5.0, np.nan, -1.0, -1.0, np.inf, -np.inf])
    for case in (values, values[[0, 2, 3, 5, 6]], values[[7, 7]], values[[8, 8]]):
        states = []
        for index, value in enumerate(case):
            fresh = op.initial(block, "f64")
            x, i = block.constant(value, "f64"), block.constant(index, "i64")
            states.append(op.step(block, fresh, x, i))
        want = (np.argmax if isinstance(op, reduce.Argmax) else np.argmin)(case)
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(states))
            state = op.initial(block, "f64")
            for k in order:
                state = op.merge(block, state, states[k])
            assert int(op.finish(block, state)) == want


def test_reduce_recognises_the_combiner() -> None:
    x = np.array([[3, 1], [2, 5]], np.int32)
    got = lax.reduce(known(x), 0, lax.add, (0,))
    np.testing.assert_array_equal(array_of(got), [5, 6])
    got = lax.reduce(known(x), 10, lambda a, b: lax.max(b, a), (0, 1))
    assert array_of(got) == 10
    got = lax.reduce(known(x), 2, lax.mul, (1,))
    np.testing.assert_array_equal(array_of(got), [6, 20])


def test_messages() -> None:
    with pytest.raises(ValueError, match="axis 3 is out of range"):
        lax.reduce_max(known(X), (3,))
    with pytest.raises(ValueError, match="duplicate value in 'axes'"):
        lax.reduce_max(known(X), (0, 0))
    with pytest.raises(ValueError, match="non-empty reduced"):
        lax.argmax(known(np.zeros((0, 3))), 0, "int32")
    with pytest.raises(TypeError, match="integer type"):
        lax.argmax(known(X), 0, "float32")
    with pytest.raises(TypeError, match=r"jnp.array"):
        lax.reduce_max([1.0, 2.0], (0,))


# ------------------------------------------------------------------------ running folds

RUNNING: list[tuple[Any, Any]] = [
    (lax.cumsum, np.add),
    (lax.cumprod, np.multiply),
    (lax.cummax, np.maximum),
    (lax.cummin, np.minimum),
    (lax.cumlogsumexp, np.logaddexp),
]


@pytest.mark.parametrize("function, reference", RUNNING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_folds(function: Any, reference: Any, reverse: bool, axis: int) -> None:
    x = rng.standard_normal((5, 3))
    turn = (lambda a: np.flip(a, axis)) if reverse else (lambda a: a)
    want = turn(reference.accumulate(turn(x), axis=axis))
    got = array_of(function(known(x), axis, reverse))
    np.testing.assert_allclose(got, want, rtol=1e-14)
    check(lambda x: function(x, axis, reverse), x)
    cls = type(next(iter(_op_of(function, x))))
    expanded = array_of(cls(axis, reverse).expand(known(x)))
    np.testing.assert_allclose(expanded, want, rtol=1e-13)


def _op_of(function: Any, x: Any) -> list[Any]:
    jaxpr, _ = stage(lambda x: [function(x)], [known(x).aval])
    return [eqn.op for eqn in jaxpr.eqns]


def test_running_folds_of_special_values() -> None:
    x = np.array([-np.inf, -np.inf, 0.0, 710.0, 710.0, np.inf, 1.0])
    for op in (cumulative.Cumlogsumexp(0), cumulative.Cummax(0)):
        direct = array_of(op(known(x)))
        np.testing.assert_allclose(array_of(op.expand(known(x))), direct)
    ints = np.array([3, 1, 2], np.int8)
    np.testing.assert_array_equal(
        array_of(cumulative.Cummin(0).expand(known(ints))), [3, 1, 1]
    )
    for n in (0, 1):
        assert array_of(cumulative.Cumprod(0).expand(known(np.ones(n)))).shape == (n,)


# ------------------------------------------------------------------------------- sorting


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort(axis: int) -> None:
    x = rng.standard_normal((4, 5))
    x[1, 2] = np.nan
    np.testing.assert_array_equal(
        array_of(lax.sort(known(x), axis)), np.sort(x, axis=axis)
    )
    check(lambda x: lax.sort(x, axis), np.nan_to_num(x))


def test_sort_several() -> None:
    keys = rng.integers(0, 3, (2, 6)).astype(np.float64)
    more = rng.standard_normal((2, 6))
    values = rng.standard_normal((2, 6))
    outs = lax.sort((known(keys), known(more), known(values)), num_keys=2)
    for row in range(2):
        order = np.lexsort((more[row], keys[row]))
        for out, x in zip(outs, (keys, more, values)):
            np.testing.assert_array_equal(array_of(out)[row], x[row][order])
    check(lambda v: lax.sort((known(more), v)), values)
    sorted_keys, moved = lax.sort_key_val(known(more), known(values), 0)
    order = np.argsort(more, axis=0)
    np.testing.assert_array_equal(array_of(moved), np.take_along_axis(values, order, 0))
    check(lambda k, v: lax.sort_key_val(k, v), more, values)


@pytest.mark.parametrize("axis", [0, -1])
def test_top_k(axis: int) -> None:
    x = rng.integers(0, 4, (5, 6)).astype(np.float64)
    values, places = lax.top_k(known(x), 3, axis=axis)
    order = np.argsort(-x, axis=axis, kind="stable")
    order = np.take(order, range(3), axis=axis)
    np.testing.assert_array_equal(array_of(places), order)
    np.testing.assert_array_equal(array_of(values), np.take_along_axis(x, order, axis))
    check(lambda x: lax.top_k(x, 2, axis=axis), rng.standard_normal((3, 4)))


def test_order_messages() -> None:
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        lax.sort(known(np.zeros((2, 2))), 2)
    with pytest.raises(TypeError, match="one shape"):
        lax.sort((known(np.zeros(2)), known(np.zeros(3))))
    with pytest.raises(ValueError, match="num_keys"):
        lax.sort(known(np.zeros(2)), num_keys=2)
    with pytest.raises(ValueError, match="k must be at least 0"):
        lax.top_k(known(np.zeros(2)), 3)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_zeros_of_both_signs_are_ordered(dtype: str) -> None:
    for count, other in ((1, 0), (5, 4), (40, 0), (40, 33), (9000, 8500)):
        for first, second in ((0.0, -0.0), (-0.0, 0.0)):
            host = np.full(count, first, dtype)
            host[other] = second
            largest = array_of(lax.reduce_max(known(host), (0,)))
            smallest = array_of(lax.reduce_min(known(host), (0,)))
            assert np.signbit(largest) == np.signbit(host).all()
            assert np.signbit(smallest) == np.signbit(host).any()
            host[-1] = np.nan
            assert np.isnan(array_of(lax.reduce_max(known(host), (0,))))


@pytest.mark.parametrize(
    "dtype, type",
    [
        ("f4", "f32"),
        ("f8", "f64"),
        ("i1", "i8"),
        ("u1", "u8"),
        ("i8", "i64"),
        ("?", "bool"),
    ],
)
def test_the_first_of_least_extreme_elements_wins(dtype: str, type: str) -> None:
    low, high = reduce.limits(type)
    for shape in ((1,), (50,), (20_000,), (3, 700), (700, 3)):
        for axis in range(len(shape)):
            least = known(np.full(shape, low, dtype))
            most = known(np.full(shape, high, dtype))
            assert not array_of(lax.argmax(least, axis, "int32")).any()
            assert not array_of(lax.argmin(most, axis, "int32")).any()
