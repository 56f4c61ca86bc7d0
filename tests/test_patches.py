"""Arrays put together from parts that were put together themselves."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.core.avals import Aval
from tetrad._src.passes import patches


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    monkeypatch.setattr(patches, "LEAST", 0)


def numbers(*shape):
    return np.random.default_rng(0).random(shape, dtype="float32")


def test_parts_are_written_to_where_they_end_up():
    def f(x):
        joined = jnp.concatenate([x, x * 2], 1)
        return jnp.roll(jnp.pad(joined, 1, constant_values=7), 3, 0)

    x = numbers(20, 30)
    joined = np.concatenate([x, x * 2], 1)
    want = np.roll(np.pad(joined, 1, constant_values=7), 3, 0)
    np.testing.assert_array_equal(jax.jit(f)(jnp.asarray(x)), want)
    text = jax.see.program(f)(jnp.asarray(x)).plan
    values = {
        line.split(" at ")[0].strip() for line in text.split("\n") if " at " in line
    }
    assert {v for v in values if v.startswith("v")} == {"v1"}, text


def grown(a, value):
    """One row in front, and a row between any two; a column behind."""
    if not isinstance(a, np.ndarray):
        return lax.pad(a, a.dtype.type(value), [(1, 0, 1), (0, 1, 0)])
    out = np.full((2 * a.shape[0], a.shape[1] + 1), value, a.dtype)
    out[1::2, :-1] = a
    return out


def composed(np, rng, x, y):
    """Arrays made of arrays, at random."""
    pool = [x, y, x + y, x * 2]
    for step in range(6):
        kind = rng.integers(0, 6)
        a = pool[rng.integers(len(pool))]
        b = pool[rng.integers(len(pool))]
        if kind == 0 and a.shape[0] == b.shape[0]:
            pool.append(np.concatenate([a, b], 1))
        elif kind == 1 and a.shape[1] == b.shape[1]:
            pool.append(np.concatenate([a, b, a[:2]], 0))
        elif kind == 2:
            config = [tuple(int(v) for v in rng.integers(0, 3, 2)) for _ in "ab"]
            pool.append(np.pad(a, config, constant_values=step))
        elif kind == 3:
            pool.append(np.roll(a, int(rng.integers(-3, 4)), int(rng.integers(2))))
        elif kind == 4 and min(a.shape) > 3:
            low = rng.integers(0, 2, 2)
            pool.append(a[low[0] : a.shape[0] - 1, low[1] : a.shape[1] - 1])
        elif kind == 5:
            pool.append(grown(a, step))
        else:
            pool.append(a + step)
    return pool[-1], pool[-2], pool[len(pool) // 2]


@pytest.mark.parametrize("seed", range(60))
def test_random_compositions(seed):
    x, y = numbers(6, 5), numbers(6, 5) + 1
    wants = composed(np, np.random.default_rng(seed), x, y)

    def f(x, y):
        return composed(jnp, np.random.default_rng(seed), x, y)

    for out, want in zip(jax.jit(f)(jnp.asarray(x), jnp.asarray(y)), wants):
        np.testing.assert_array_equal(out, want)


def test_what_is_read_otherwise_is_written():
    x = numbers(40, 50)

    def summed(np, v):
        joined = np.concatenate([v, v + 1], 0)
        return np.pad(joined, 1), joined.sum()

    def twice(np, v):
        joined = np.concatenate([v, v + 1], 0)
        return (np.concatenate([joined, joined], 1),)

    def turned(np, v):
        return (np.pad(np.concatenate([v, v + 1], 0).T, 1),)

    for f in (summed, twice, turned):
        outs = jax.jit(lambda v, f=f: f(jnp, v))(jnp.asarray(x))
        for out, want in zip(outs, f(np, x)):
            np.testing.assert_allclose(out, want, rtol=1e-5)


def test_pieces_fill_the_array_once():
    rng = np.random.default_rng(1)
    for _ in range(50):
        shape = tuple(int(n) for n in rng.integers(1, 7, 3))
        aval = Aval(shape, np.dtype("float32"))
        regions = [patches.Region(0, aval.shape, 0, aval.strides)]
        want = np.zeros(aval.shape, int)
        for number in range(1, int(rng.integers(1, 4))):
            low = [int(rng.integers(0, n)) for n in aval.shape]
            shape = tuple(
                int(rng.integers(1, n - a + 1)) for n, a in zip(aval.shape, low)
            )
            offset = sum(a * s for a, s in zip(low, aval.strides))
            regions.append(patches.Region(number, shape, offset, aval.strides))
            want[tuple(slice(a, a + n) for a, n in zip(low, shape))] = number
        found = patches.pieces(regions, aval, [0] + [3] * 5)
        if not found:
            continue
        got = np.full(aval.shape, -1)
        for piece in found:
            box = tuple(slice(a, a + n) for a, n in zip(piece.low, piece.shape))
            assert (got[box] == -1).all()
            got[box] = piece.operand
            assert (piece.start is None) == (piece.operand == 0)
        np.testing.assert_array_equal(got, want)
