"""Reads and writes at computed coordinates, in every way that they can be walked."""

import ml_dtypes
import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

DTYPES = [
    "bool",
    "int8",
    "float16",
    ml_dtypes.bfloat16,
    "int32",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
MODES = ["clip", "fill", "wrap"]


def numbers(dtype, *shape):
    found = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    if found.dtype.kind == "c":
        found += 1j * found[..., ::-1]
    return found


def picks(count, extent, dtype="int32"):
    return np.random.default_rng(1).integers(0, extent, count).astype(dtype)


def same(f, want, *args):
    args = [jnp.asarray(a) for a in args]
    np.testing.assert_array_equal(jax.jit(f)(*args), want)
    np.testing.assert_array_equal(f(*args), want)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("index", ["int8", "uint8", "uint32", "int32", "int64"])
def test_elements_and_rows(dtype, index):
    with jax.enable_x64(True):
        x, i = numbers(dtype, 90, 37), picks(65, 90, index)
        same(lambda a, i: a[i], x[i], x, i)
        same(lambda a, i: a[i, 3], x[i, 3], x, i)
        same(lambda a, i: a[:, i % 37], x[:, i % 37], x, i)
        same(lambda a, i: a[i, i % 37], x[i, i % 37], x, i)
        same(lambda a, i: a[i][:, ::-1], x[i][:, ::-1], x, i)
        same(lambda a, i: a[i].T, x[i].T, x, i)
        same(lambda a, i: a[i][:, ::2], x[i][:, ::2], x, i)
        same(lambda a, i: a[i.reshape(5, 13)], x[i.reshape(5, 13)], x, i)


@pytest.mark.parametrize("trailing", [(), (1,), (3,), (16,), (4, 8), (130,)])
@pytest.mark.parametrize("mode", MODES)
def test_rows_of_all_lengths_outside_too(trailing, mode):
    x = numbers("float32", 50, *trailing)
    i = np.arange(-70, 75, dtype="int32")
    got = jax.jit(lambda a, i: jnp.take(a, i, 0, mode=mode, fill_value=-7))
    place = np.clip(i, 0, 49) if mode == "clip" else i % 50
    want = x[place]
    if mode == "fill":
        outside = (i < -50) | (i >= 50)
        want[outside] = -7
    np.testing.assert_array_equal(got(jnp.asarray(x), jnp.asarray(i)), want)


@pytest.mark.parametrize("shape", [(20, 30), (3, 9, 11)])
def test_windows_that_move(shape):
    x = numbers("float32", *shape)
    starts = np.random.default_rng(2).integers(-3, 12, (14, 2)).astype("int32")
    last = (len(shape) - 2, len(shape) - 1)

    def windows(a, s):
        def window(at):
            start = [0] * (len(shape) - 2) + [at[0], at[1]]
            return lax.dynamic_slice(a, start, (*shape[:-2], 2, 5))

        return jax.vmap(window)(s)

    want = []
    for row, column in starts:
        high, wide = shape[last[0]], shape[last[1]]
        r = np.clip(row + high * (row < 0), 0, high - 2)
        c = np.clip(column + wide * (column < 0), 0, wide - 5)
        want.append(x[..., r : r + 2, c : c + 5])
    same(windows, np.stack(want), x, starts)


def test_batches_of_lookups():
    x, i = numbers("float32", 9, 40, 6), picks((9, 21), 40)
    want = np.stack([a[j] for a, j in zip(x, i)])
    same(jax.vmap(lambda a, j: a[j]), want, x, i)
    same(lambda a, j: jnp.take_along_axis(a[..., 0], j, 1), want[..., 0], x, i)


def test_lookups_fuse_with_what_is_around_them():
    x, i, y = numbers("float32", 40), picks(1000, 40), numbers("float32", 1000)
    same(lambda a, i, y: a[(i + 1) % 40] * 2 + y, x[(i + 1) % 40] * 2 + y, x, i, y)
    want = x[(i + 1) % 40].sum(dtype="float32")
    same(lambda a, i, y: a[(i + 1) % 40].sum(), want, x, i, y)
    text = jax.see.program(lambda a, i: a[i * 2 + 1] + 1)(
        jnp.asarray(x), jnp.asarray(i)
    ).plan
    assert text.count("kernel") == 1


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("trailing", [(), (3,), (20,), (70,), (2, 33)])
def test_sums_at_places_that_repeat(dtype, trailing):
    with jax.enable_x64(True):
        x = numbers(dtype, 12, *trailing)
        i = picks(100, 12)
        y = numbers(dtype, 100, *trailing)
        if np.dtype(dtype).kind not in "cb":
            y %= 3  # sums stay exact
        want = x.copy()
        np.add.at(want, i, y)
        same(lambda a, i, y: a.at[i].add(y), want, x, i, y)
        want = x.copy()
        want[i] = y
        same(lambda a, i, y: a.at[i].set(y), want, x, i, y)


def test_writes_outside_are_dropped():
    x, y = numbers("float32", 10, 40), numbers("float32", 6, 40)
    i = np.array([3, 11, -1, -12, 3, 9], "int32")
    want = x.copy()
    for at, row in zip(i, y):
        if -10 <= at < 10:
            want[at] += row
    same(lambda a, i, y: a.at[i].add(y), want, x, i, y)
    column = x.copy()
    column[:, 2] = want[:, 2]
    same(lambda a, i, y: a.at[i, 2].add(y[:, 2]), column, x, i, y)


def test_updates_that_read_their_own_target():
    x, i = numbers("float32", 50), picks(30, 50)
    want = x.copy()
    want[i] = x[49 - i] * 2
    same(lambda a, i: a.at[i].set(a[49 - i] * 2), want, x, i)
    want = x.copy()
    np.add.at(want, i, x[i])
    same(lambda a, i: a.at[i].add(a[i]), want, x, i)


def test_places_that_are_computed_from_the_target():
    x = (numbers("float32", 50) % 50).astype("int32")
    want = x.copy()
    want[x] = np.arange(50, dtype="int32")
    same(lambda a: a.at[a].set(jnp.arange(50, dtype="int32")), want, x)
