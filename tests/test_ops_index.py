"""Dynamic slices, gathers and scatters: values, derivatives, batching, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy_machine_full import array_of, known, machine
from rules import check

from tetrad import lax
from tetrad._src.core.stage import stage
from tetrad._src.ops import scatter
from tetrad._src.util.config import enable_x64


@pytest.fixture(autouse=True, params=["numpy", "cpu"])
def current_machine(request: Any) -> Iterator[None]:
    with enable_x64(True), machine(request.param):
        yield


rng = np.random.default_rng(0)
X = rng.standard_normal((4, 5))
U = rng.standard_normal((2, 3))


def test_dynamic_slice_clamps_and_counts_from_the_end() -> None:
    def cut(i: int, j: int) -> Any:
        return array_of(lax.dynamic_slice(known(X), (np.int32(i), np.int32(j)), (2, 3)))

    np.testing.assert_array_equal(cut(1, 1), X[1:3, 1:4])
    np.testing.assert_array_equal(cut(9, 9), X[2:4, 2:5])
    np.testing.assert_array_equal(cut(-2, -9), X[2:4, 0:3])


def test_dynamic_slice_rules() -> None:
    check(lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), X, 1, 2)
    check(lambda x, i: lax.dynamic_slice(x, (i, 1), (3, 2)), X, np.int32(3))


def test_dynamic_update_slice_rules() -> None:
    def put(x: Any, u: Any, i: Any, j: Any) -> Any:
        return lax.dynamic_update_slice(x, u, (i, j))

    check(put, X, U, 1, 2)
    want = X.copy()
    want[2:4, 2:5] = U
    got = put(known(X), known(U), known(np.int64(7)), known(np.int64(3)))
    np.testing.assert_array_equal(array_of(got), want)


def test_slices_in_one_dimension() -> None:
    x = known(X)
    np.testing.assert_array_equal(
        array_of(lax.dynamic_slice_in_dim(x, 2, 2, axis=-1)), X[:, 2:4]
    )
    np.testing.assert_array_equal(
        array_of(lax.dynamic_index_in_dim(x, -1, axis=0, keepdims=False)), X[-1]
    )
    want = X.copy()
    want[:, 1] = 7
    got = lax.dynamic_update_index_in_dim(x, np.full(4, 7.0), 1, 1)
    np.testing.assert_array_equal(array_of(got), want)


ROWS = lax.GatherDimensionNumbers((1,), (0,), (0,))
POINTS = lax.GatherDimensionNumbers((), (0, 1), (0, 1))
WINDOWS = lax.GatherDimensionNumbers((0, 2), (), (0, 1))
BATCHED = lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
ROW_INDEX = np.array([[1], [3], [1]])
POINT_INDEX = np.array([[[0, 1], [3, 4]], [[2, 2], [0, 1]]])
WINDOW_INDEX = np.array([[1, 2], [0, 0], [1, 1]])
BATCH_INDEX = np.array([[[0], [4]], [[1], [1]], [[2], [3]], [[0], [0]]])
GATHERS = [
    (ROWS, ROW_INDEX, (1, 5)),
    (ROWS, np.array([[2], [0]], np.int32), (1, 3)),
    (POINTS, POINT_INDEX, (1, 1)),
    (WINDOWS, WINDOW_INDEX, (2, 3)),
    (BATCHED, BATCH_INDEX, (1, 1)),
]


def numpy_gather(x: Any, i: Any, numbers: Any, sizes: Any) -> Any:
    if numbers is ROWS:
        return x[i[:, 0]][:, : sizes[1]]
    if numbers is POINTS:
        return x[i[..., 0], i[..., 1]]
    if numbers is WINDOWS:
        parts = [x[a : a + sizes[0], b : b + sizes[1]] for a, b in i]
        return np.stack(parts, axis=1)
    return np.take_along_axis(x, i[..., 0], 1)


@pytest.mark.parametrize("numbers, indices, sizes", GATHERS)
@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
def test_gather(numbers: Any, indices: Any, sizes: Any, mode: str) -> None:
    def read(x: Any, i: Any) -> Any:
        return lax.gather(x, i, numbers, sizes, mode=mode)

    got = array_of(read(known(X), known(indices)))
    np.testing.assert_array_equal(got, numpy_gather(X, indices, numbers, sizes))
    if mode != "promise_in_bounds":
        check(read, X, indices)
    else:
        check(read, X, indices * 0 + 1)


def test_gather_modes_outside() -> None:
    indices = known(np.array([[-1], [4], [3]]))

    def read(x: Any, **kwargs: Any) -> Any:
        return array_of(lax.gather(known(x), indices, ROWS, (1, 5), **kwargs))

    np.testing.assert_array_equal(read(X, mode="clip"), X[[0, 3, 3]])
    filled = read(X)
    assert np.isnan(filled[:2]).all()
    np.testing.assert_array_equal(filled[2], X[3])
    assert (read(X, fill_value=7)[:2] == 7).all()
    ints = np.arange(20, dtype=np.int8).reshape(4, 5)
    assert (read(ints)[:2] == -128).all()
    assert (read(ints.astype(np.uint8))[:2] == 255).all()
    assert read(ints == 0)[:2].all()


def test_fill_has_no_tangent_of_nan() -> None:
    check(
        lambda x: lax.gather(
            x, known(np.array([[1], [9]])), ROWS, (1, 5), fill_value=3
        ),
        X,
    )


def scatter_numbers(n: Any) -> Any:
    return lax.ScatterDimensionNumbers(
        n.offset_dims,
        n.collapsed_slice_dims,
        n.start_index_map,
        n.operand_batching_dims,
        n.start_indices_batching_dims,
    )


SCATTERS = [
    lax.scatter, lax.scatter_add, lax.scatter_sub, lax.scatter_min, lax.scatter_max,
]  # fmt: skip


@pytest.mark.parametrize("function", SCATTERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("numbers, indices, sizes", GATHERS)
@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_scatter(
    function: Any, numbers: Any, indices: Any, sizes: Any, mode: str
) -> None:
    shape = numpy_gather(X, indices, numbers, sizes).shape
    updates = rng.standard_normal(shape)

    def write(x: Any, i: Any, u: Any) -> Any:
        return function(x, i, u, scatter_numbers(numbers), mode=mode)

    want = X.copy()
    outer = np.indices(shape).reshape(len(shape), -1).T
    along = [i for i in range(len(shape)) if i not in numbers.offset_dims]
    for at_update in map(tuple, outer):
        vector = indices[tuple(at_update[i] for i in along)]
        place = np.zeros(2, int)
        for axis, entry in zip(numbers.start_index_map, vector):
            place[axis] = entry
        for axis, beside in zip(
            numbers.operand_batching_dims, numbers.start_indices_batching_dims
        ):
            place[axis] = at_update[along[beside]]
        kept = [i for i in range(2) if i not in numbers.collapsed_slice_dims]
        kept = [i for i in kept if i not in numbers.operand_batching_dims]
        for axis, window in zip(kept, numbers.offset_dims):
            place[axis] += at_update[window]
        old, new = want[tuple(place)], updates[at_update]
        want[tuple(place)] = {
            "scatter": new,
            "scatter_add": old + new,
            "scatter_sub": old - new,
            "scatter_min": min(old, new),
            "scatter_max": max(old, new),
        }[function.__name__]
    got = array_of(write(known(X), known(indices), known(updates)))
    np.testing.assert_allclose(got, want, rtol=1e-14)
    check(write, X, indices, updates)


def test_scatter_mul() -> None:
    numbers = scatter_numbers(ROWS)
    updates = rng.standard_normal((2, 5))
    unique = np.array([[2], [0]])

    def write(x: Any, i: Any, u: Any) -> Any:
        return lax.scatter_mul(x, i, u, numbers, unique_indices=True)

    want = X.copy()
    want[[2, 0]] *= updates
    got = write(known(X), known(unique), known(updates))
    np.testing.assert_allclose(array_of(got), want)
    from rules import check_derivatives

    check_derivatives(write, [X, unique, updates])
    again = np.array([[2], [2]])
    check(lambda x: lax.scatter_mul(x, known(again), known(updates), numbers), X)
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        check(lambda u: lax.scatter_mul(known(X), known(again), u, numbers), updates)


def test_scatter_modes_outside() -> None:
    numbers = lax.ScatterDimensionNumbers((0,), (), (0,))
    zeros, window = known(np.zeros(6)), known(np.arange(1.0, 4.0))

    def write(start: int, mode: str) -> Any:
        indices = known(np.array([start]))
        return array_of(lax.scatter(zeros, indices, window, numbers, mode=mode))

    for mode in ("drop", "promise_in_bounds"):
        assert not write(4, mode).any() and not write(-1, mode).any()
    np.testing.assert_array_equal(write(4, "clip"), [0, 0, 0, 1, 2, 3])
    np.testing.assert_array_equal(write(-1, "clip"), [1, 2, 3, 0, 0, 0])


def test_scatter_set_keeps_the_last_and_its_gradient() -> None:
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    indices = known(np.array([[1], [1], [9], [0]]))

    def write(x: Any, u: Any) -> Any:
        return lax.scatter(x, indices, u, numbers)

    x, u = np.zeros(3), np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(array_of(write(known(x), known(u))), [4, 2, 0])
    check(write, x, u)


@pytest.mark.parametrize("numbers, indices, sizes", GATHERS)
def test_expansions_for_backends_with_one_mode(
    numbers: Any, indices: Any, sizes: Any
) -> None:
    outside = np.concatenate([indices, indices - 3, indices + 3]).astype(indices.dtype)
    if numbers is BATCHED:
        outside = np.stack([indices - 3, indices, indices + 3], 1)[..., 0, :]
    for fill in (None, 7):
        read = gather_op(numbers, sizes, fill)
        got = read.expand(known(X), known(outside))
        want = read(known(X), known(outside))
        np.testing.assert_array_equal(array_of(got), array_of(want))
    updates = rng.standard_normal(array_of(want).shape)
    for cls in (scatter.Scatter, scatter.ScatterMax):
        write = cls(scatter_numbers(numbers), mode=lax.GatherScatterMode.CLIP)
        operands = known(X), known(outside), known(updates)
        np.testing.assert_array_equal(
            array_of(write.expand(*operands)), array_of(write(*operands))
        )


def gather_op(numbers: Any, sizes: Any, fill: Any) -> Any:
    avals = [
        known(X).aval,
        known(np.zeros((4, 3, 1 if numbers is BATCHED else 2), int)).aval,
    ]
    if numbers is ROWS:
        avals[1] = known(np.zeros((3, 1), int)).aval
    jaxpr, _ = stage(
        lambda x, i: [lax.gather(x, i, numbers, sizes, fill_value=fill)], avals
    )
    return jaxpr.eqns[0].op


def test_index_take_and_scatter_apply() -> None:
    rows, columns = np.array([0, 3]), np.array([1, 2])
    got = lax.index_take(known(X), (known(rows), known(columns)), (0, 1))
    np.testing.assert_array_equal(array_of(got), X[rows, columns])
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    got = lax.scatter_apply(
        known(X), known(np.array([[1]])), lax.neg, numbers, update_shape=(1, 5)
    )
    want = X.copy()
    want[1] *= -1
    np.testing.assert_array_equal(array_of(got), want)


def test_messages() -> None:
    x = known(X)
    with pytest.raises(TypeError, match="a window of shape"):
        lax.dynamic_slice(x, (0, 0), (5, 1))
    with pytest.raises(ValueError, match="one index for each axis"):
        lax.dynamic_slice(x, (0,), (1, 1))
    with pytest.raises(TypeError, match="scalar integer"):
        lax.dynamic_slice(x, (0.5, 0), (1, 1))
    with pytest.raises(TypeError, match="indices must be integers"):
        lax.gather(x, known(np.zeros((1, 1))), ROWS, (1, 5))
    with pytest.raises(TypeError, match="the last axis of the indices"):
        lax.gather(x, known(np.zeros((1, 2), int)), ROWS, (1, 5))
    with pytest.raises(TypeError, match="does not fit"):
        lax.gather(x, known(np.zeros((1, 1), int)), ROWS, (1, 6))
    with pytest.raises(TypeError, match="one dtype"):
        numbers = scatter_numbers(ROWS)
        ones = known(np.ones((1, 5), np.int32))
        lax.scatter_add(x, known(np.zeros((1, 1), int)), ones, numbers)
    with pytest.raises(ValueError, match="mode must be one of"):
        lax.gather(x, known(np.zeros((1, 1), int)), ROWS, (1, 5), mode="wrap")
