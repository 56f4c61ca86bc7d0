"""Arrays as users hold them: conversion, immutability, protocols, deletion."""

import copy
import gc
import pickle

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp


def test_type_and_isinstance():
    x = jnp.ones(3)
    assert type(x) is jax.Array and jax.DeviceArray is jax.Array
    assert isinstance(x, jax.Array) and isinstance(x, jnp.ndarray)
    seen = []
    jax.jit(lambda v: seen.append(isinstance(v, jax.Array)) or v)(x)
    assert seen == [True]
    assert not isinstance(np.ones(3), jax.Array)


@pytest.mark.parametrize(
    "source, dtype, shape, weak",
    [
        (3, "int32", (), True),
        (2.5, "float32", (), True),
        (True, "bool", (), False),
        (1 + 2j, "complex64", (), True),
        ([1, 2, 3], "int32", (3,), False),
        ([[1.0, 2.0], [3.0, 4.0]], "float32", (2, 2), False),
        ([], "float32", (0,), False),
        (np.arange(3), "int32", (3,), False),
        (np.float32(1), "float32", (), False),
        (np.ones((2, 2), np.float16), "float16", (2, 2), False),
        (range(4), "int32", (4,), False),
        ([True, False], "bool", (2,), False),
        (np.uint8([1, 2]), "uint8", (2,), False),
    ],
)
def test_array_from(source, dtype, shape, weak):
    x = jnp.array(source) if not weak else jnp.asarray(source)
    assert x.dtype == dtype and x.shape == shape
    np.testing.assert_array_equal(x, np.asarray(source))


def test_wide_values_never_narrow_silently():
    with pytest.raises(OverflowError):
        jnp.asarray(np.array([2**33 + 5]))
    with pytest.raises(OverflowError):
        jnp.array(2**40)
    with pytest.raises(OverflowError):
        jnp.ones(3, "int32") + 2**40


def test_x64_is_a_switch():
    with jax.enable_x64():
        assert jnp.array(1.5).dtype == "float64"
        assert jnp.asarray(np.array([2**33 + 5])).dtype == "int64"
        assert (jnp.ones(3) * 2).dtype == "float64"
        assert float(jnp.sum(jnp.full(3, 1 / 3))) == 1.0
    assert jnp.array(1.5).dtype == "float32"
    assert (jnp.ones(3) * 2).dtype == "float32"


def test_assignment_is_an_error_that_shows_what_to_write():
    x = jnp.zeros(3)
    with pytest.raises(TypeError) as e:
        x[0] = 1
    assert "x = x.at[0].set(1)" in str(e.value)
    y = jnp.zeros((2, 2))
    with pytest.raises(TypeError) as e:
        y[0, 1:] += 5
    assert "y = y.at[0, 1:].add(5)" in str(e.value)


def test_repr_and_str():
    x = jnp.array([1.0, 2.0])
    assert repr(x) == "Array([1., 2.], dtype=float32)"
    assert str(x) == "[1. 2.]"
    assert repr(jnp.asarray(3)) == "Array(3, dtype=int32, weak_type=True)"
    assert repr(jnp.zeros((0, 2))) == "Array([], shape=(0, 2), dtype=float32)"
    assert f"{jnp.array(3.14159):.2f}" == "3.14"


def test_python_scalars():
    assert float(jnp.array(2.5)) == 2.5
    assert int(jnp.array(7)) == 7
    assert bool(jnp.array(0.0)) is False
    assert complex(jnp.array(1j)) == 1j
    assert [10, 20, 30][jnp.array(1)] == 20
    assert jnp.array([[1.5]]).item() == 1.5
    assert jnp.arange(3).tolist() == [0, 1, 2]
    assert list(jnp.arange(3)) == [0, 1, 2]
    assert len(jnp.zeros((4, 2))) == 4
    with pytest.raises(ValueError, match="ambiguous"):
        bool(jnp.ones(2))
    with pytest.raises(TypeError):
        float(jnp.ones(2))
    with pytest.raises(TypeError):
        [1, 2][jnp.array(1.0)]
    with pytest.raises(TypeError):
        len(jnp.array(1))
    with pytest.raises(TypeError):
        hash(jnp.ones(2))


def test_numpy_protocol():
    x = jnp.arange(6.0).reshape(2, 3)
    assert np.asarray(x).dtype == np.float32
    assert np.array(x).flags.writeable
    assert np.asarray(x, dtype="float64").dtype == np.float64
    assert isinstance(np.ones((2, 3), "f") + x, jax.Array)
    assert isinstance(np.float32(2) * x, jax.Array)
    assert isinstance(np.ones((2, 2), "f") @ x, jax.Array)
    assert (np.array(x) == np.arange(6.0).reshape(2, 3)).all()
    bf = jnp.ones(3, jnp.bfloat16)
    assert np.asarray(bf).dtype == jnp.bfloat16


def test_dlpack_both_ways():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(np.from_dlpack(x), np.asarray(x))
    y = jnp.from_dlpack(np.arange(4, dtype="float32"))
    np.testing.assert_array_equal(y, [0, 1, 2, 3])
    assert type(y) is jax.Array
    host = np.zeros(16, "float32")
    z = jax.dlpack.from_dlpack(host)
    host[:] = 1
    np.testing.assert_array_equal(z, 0)


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies(clone):
    for x in (
        jnp.arange(3),
        jnp.asarray(2.5),
        jnp.ones(2, jnp.bfloat16),
        jnp.ones(2) + 1,
    ):
        y = clone(x)
        assert type(y) is jax.Array and y.dtype == x.dtype
        assert y.weak_type == x.weak_type
        np.testing.assert_array_equal(
            np.asarray(y, "float32"), np.asarray(x, "float32")
        )
    key = jax.random.key(3)
    again = clone(key)
    assert again.dtype == key.dtype
    np.testing.assert_array_equal(jax.random.key_data(again), jax.random.key_data(key))


def test_delete():
    x = jnp.ones(3)
    y = x + 1
    assert not x.is_deleted()
    x.block_until_ready()
    y.block_until_ready()
    x.delete()
    assert x.is_deleted() and x.shape == (3,)
    for use in (
        lambda: x + 1,
        lambda: np.asarray(x),
        lambda: x.block_until_ready(),
        lambda: jnp.sin(x),
        lambda: jax.jit(jnp.sin)(x),
    ):
        with pytest.raises(RuntimeError, match="deleted"):
            use()
    np.testing.assert_array_equal(y, 2)
    x.delete()


def test_deleting_a_pending_array_leaves_its_users_alone():
    x = jnp.ones(3) * 2
    y = x + 1
    x.delete()
    np.testing.assert_array_equal(y, 3)


def test_memory_is_freed_with_the_last_reference(ledger_balance):
    device = ledger_balance
    start = device.memory_stats()["bytes_in_use"]
    x = jnp.zeros(1 << 18).block_until_ready()
    assert device.memory_stats()["bytes_in_use"] == start + (1 << 20)
    y = x
    del x
    assert device.memory_stats()["bytes_in_use"] == start + (1 << 20)
    del y
    assert device.memory_stats()["bytes_in_use"] == start


def test_live_arrays():
    gc.collect()
    before = len(jax.live_arrays())
    x = jnp.ones(5)
    y = (x + 1).block_until_ready()
    assert len(jax.live_arrays()) == before + 2
    del x, y
    gc.collect()
    assert len(jax.live_arrays()) == before


def test_clear_caches_returns_bytes_and_changes_nothing():
    x = jnp.arange(7.0)
    f = jax.jit(lambda v: jnp.tanh(v) * 3)
    want = np.asarray(f(x))
    assert jax.clear_caches() >= 0
    np.testing.assert_array_equal(f(x), want)


def test_donation():
    f = jax.jit(lambda a, b: a + b, donate_argnums=0)
    x = jnp.ones(1000).block_until_ready()
    y = jnp.full(1000, 2.0)
    z = f(x, y)
    np.testing.assert_array_equal(z, 3)
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(RuntimeError, match="donated.*test_arrays.py"):
        x + 1
    w = jnp.ones(4)
    np.testing.assert_array_equal(f(w, w), 2)


def test_donation_leaves_other_holders_of_the_memory_alone():
    f = jax.jit(lambda a: a * 2, donate_argnums=0)
    x = jnp.arange(5000.0).block_until_ready()
    y = jax.device_put(x, x.device)
    view = np.asarray(x)
    with pytest.warns(UserWarning, match=r"is also that of `y` at .*, the NumPy view"):
        np.testing.assert_array_equal(f(x), np.arange(5000.0) * 2)
    np.testing.assert_array_equal(y, np.arange(5000.0))
    np.testing.assert_array_equal(view, np.arange(5000.0))


@pytest.mark.parametrize("axis", [0, 1])
def test_concatenating_nothing(axis):
    x = jnp.zeros((0, 0))
    assert jax.lax.concatenate([x, x], axis).shape == (0, 0)
    assert jnp.concatenate([jnp.zeros((0, 3)), jnp.ones((2, 3))]).shape == (2, 3)


def test_iterators_make_elements_when_asked():
    x = jnp.zeros(10**8)
    assert float(next(iter(x))) == 0
    assert [int(v) for v in jnp.arange(130)] == list(range(130))
    assert [int(v) for v in reversed(jnp.arange(3))] == [2, 1, 0]


def test_lists_of_arrays_among_indices():
    host = np.arange(42).reshape(2, 3, 7)
    x = jnp.asarray(host)
    one = jnp.array(1)
    np.testing.assert_array_equal(x[[one, 0], [0, one]], host[[1, 0], [0, 1]])
    read = jax.jit(lambda x, idx: x[idx])
    np.testing.assert_array_equal(read(x, ((0, 1), (1, 2))), host[[0, 1], [1, 2]])
    with pytest.raises(TypeError, match="a list is no index"):
        x[[one, 0.5], 0]
