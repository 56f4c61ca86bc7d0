"""Reductions by segment; pytrees as vectors; scalar bools and lists in indices."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.flatten_util import ravel_pytree

IDS = np.array([0, 2, -1, 2, 0, 7, 1], np.int32)
FOLDS = {
    "segment_sum": (np.add, 0),
    "segment_prod": (np.multiply, 1),
    "segment_min": (np.minimum, None),
    "segment_max": (np.maximum, None),
}


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
@pytest.mark.parametrize("bucket", [None, 3])
def test_segments(name, dtype, bucket):
    if dtype == "bool" and name in ("segment_sum", "segment_prod"):
        pytest.skip("NumPy adds bools otherwise")
    function, (fold, start) = getattr(jax.ops, name), FOLDS[name]
    data = np.random.default_rng(0).integers(0, 4, (7, 2)).astype(dtype)
    if start is None:
        lowest, highest = {
            "float32": (-np.inf, np.inf), "int16": (-(2**15), 2**15 - 1), "bool": (0, 1)
        }[dtype]  # fmt: skip
        start = highest if name == "segment_min" else lowest
    want = np.full((4, 2), start).astype(dtype)
    for i, row in zip(IDS, data):
        if 0 <= i < 4:
            want[i] = fold(want[i], row)
    got = function(data, IDS, num_segments=4, bucket_size=bucket)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(
        jax.jit(function, static_argnums=2)(data, IDS, 4), want
    )


def test_the_number_of_segments():
    assert jax.ops.segment_sum(jnp.ones(3), jnp.array([0, 4, -2])).tolist() == [
        1,
        0,
        0,
        0,
        1,
    ]
    with pytest.raises(ValueError, match="num_segments decides the shape"):
        jax.jit(jax.ops.segment_max)(jnp.ones(3), jnp.array([0, 1, 2]))
    with pytest.raises(ValueError, match="one number for each row"):
        jax.ops.segment_sum(jnp.ones(3), jnp.array([0, 1]))
    with pytest.raises(TypeError, match="must be integers"):
        jax.ops.segment_sum(jnp.ones(2), jnp.ones(2))


def test_gradient_of_a_segment_sum():
    grad = jax.grad(lambda d: (jax.ops.segment_sum(d, IDS, 4) ** 2).sum())(jnp.ones(7))
    np.testing.assert_array_equal(grad, [4, 4, 0, 4, 4, 0, 2])


# ------------------------------------------------------------------------ pytrees, vectors


def test_a_pytree_becomes_a_vector_and_comes_back():
    given = {"a": jnp.ones((2, 2)), "b": [jnp.arange(3.0), jnp.array(5.0)]}
    vector, unravel = ravel_pytree(given)
    assert vector.tolist() == [1, 1, 1, 1, 0, 1, 2, 5]
    back = unravel(vector)
    assert jax.tree.structure(back) == jax.tree.structure(given)
    np.testing.assert_array_equal(back["a"], given["a"])
    assert unravel(vector > 2)["a"].dtype == bool
    with pytest.raises(ValueError, match=r"shape \(8,\)"):
        unravel(vector[1:])


def test_leaves_of_several_dtypes():
    vector, unravel = ravel_pytree((jnp.arange(2), jnp.ones(1), 2j))
    assert vector.dtype == jnp.complex64
    assert [x.dtype for x in unravel(vector)][:2] == [np.int32, np.float32]
    with pytest.raises(TypeError, match="expected dtype complex64"):
        unravel(vector.real)
    assert ravel_pytree([])[0].shape == (0,)


def test_unravel_is_a_static_argument():
    traces = []

    def run(vector, unravel):
        traces.append(1)
        return unravel(vector)

    run = jax.jit(run, static_argnums=1)
    for _ in range(2):
        run(*ravel_pytree((jnp.arange(2), jnp.arange(3))))
    assert len(traces) == 1


# --------------------------------------------------------------------------------- indices


@pytest.mark.parametrize(
    "idx",
    [
        True,
        False,
        (..., True),
        (..., False),
        (0, slice(2), False),
        (slice(2), [0, 2], True),
        (True, slice(None), True, slice(None), np.array(True)),
        ([0, 1], [2, 1]),
        (slice(None), [True, False, True]),
        (None, False, 0),
        np.zeros((2, 0), bool),
    ],
)
def test_scalar_bools_and_lists_in_indices(idx):
    given = np.arange(24.0).reshape(2, 3, 4).astype("float32")
    x, want = jnp.asarray(given), given[idx]
    got = x[idx]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    changed = given.copy()
    changed[idx] = 7
    np.testing.assert_array_equal(x.at[idx].set(7), changed)
    np.testing.assert_array_equal(jax.jit(lambda x: x.at[idx].get())(x), want)
