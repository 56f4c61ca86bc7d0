"""Maxima, minima, their places, and what is true of some or all elements."""

import ml_dtypes
import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

RNG = np.random.default_rng(0)
LENGTHS = [1, 15, 16, 17, 63, 64, 65, 128, 200, 1000, 8193, 16384, 16385, 100_000]
SHAPES = [(n,) for n in LENGTHS] + [(3, 200), (40, 129), (2, 20_000), (5, 300_000)]
DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
KINDS = ["normal", "zeros", "negative", "nan", "infinite", "ascending"]


def sample(kind, shape):
    x = RNG.standard_normal(shape)
    where = RNG.random(shape)
    zeros = np.where(RNG.random(shape) < 0.5, 0.0, -0.0)
    if kind == "zeros":
        return zeros
    if kind == "negative":
        return np.where(where < 0.1, zeros, -np.abs(x))
    if kind == "nan":
        return np.where(where < 3 / x.size, np.nan, x)
    if kind == "infinite":
        return np.full(shape, -np.inf)
    return np.sort(x, -1) if kind == "ascending" else x


def extreme(name, x):
    """Along the last axis: NaN if there is one, +0 above -0."""
    best = getattr(np, name)(x, -1)
    every = np.signbit(x).all(-1)
    some = (np.signbit(x) & (x == 0)).any(-1)
    negative = every if name == "max" else some
    best = np.where(best == 0, np.where(negative, -0.0, 0.0), best)
    return np.where(np.isnan(x).any(-1), np.nan, best)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_and_where_they_are(dtype, kind):
    with jax.enable_x64(True):
        for shape in SHAPES:
            x = sample(kind, shape).astype(dtype)
            given, wide = jnp.asarray(x), x.astype(np.float64)
            for name in ("max", "min"):
                got = np.asarray(getattr(jnp, name)(given, -1)).astype(np.float64)
                want = extreme(name, wide)
                np.testing.assert_array_equal(got, want, str(shape))
                known = ~np.isnan(want)
                np.testing.assert_array_equal(
                    np.signbit(got)[known], np.signbit(want)[known], str(shape)
                )
                got = getattr(jnp, f"arg{name}")(given, -1)
                want = getattr(np, f"arg{name}")(wide, -1)
                np.testing.assert_array_equal(got, want, f"{name} {shape}")


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", "bool", "complex64"])
def test_extremes_of_other_types(dtype):
    with jax.enable_x64(True):
        for shape in SHAPES:
            x = RNG.integers(0, 100, shape).astype(dtype)
            for name in ("max", "min", "argmax", "argmin"):
                got = getattr(jnp, name)(jnp.asarray(x), -1)
                np.testing.assert_array_equal(got, getattr(np, name)(x, -1), name)


@pytest.mark.parametrize("place", [0, 1, 16, 8191, 8192, 50_000, 99_999])
def test_nan_anywhere(place):
    x = RNG.standard_normal(100_000).astype(np.float32)
    x[place] = np.nan
    x[99_999] = np.nan
    assert np.isnan(jnp.max(jnp.asarray(x)))
    assert int(jnp.argmax(jnp.asarray(x))) == place
    assert int(jnp.argmin(jnp.asarray(x[::-1]))) == 0
    assert int(jnp.nanargmax(jnp.asarray(x))) == np.nanargmax(x)


def test_places_of_what_is_computed_or_moved():
    x = RNG.standard_normal((30, 1000)).astype(np.float32)
    v = jnp.asarray(x)
    np.testing.assert_array_equal(jnp.argmax(v * 2 - 1, 1), (x * 2 - 1).argmax(1))
    np.testing.assert_array_equal(jnp.argmin(v[:, ::-2], 1), x[:, ::-2].argmin(1))
    np.testing.assert_array_equal(jnp.argmin(v.T, 0), x.argmin(1))
    np.testing.assert_array_equal(jnp.argmax(v, 0), x.argmax(0))
    assert int(jnp.argmax(v)) == x.argmax()
    # What the kernel overwrites must not be looked through afterwards.
    both = jax.jit(lambda v: (v * 0.5, jnp.argmax(v * 0.5, 1)), donate_argnums=0)
    np.testing.assert_array_equal(both(jnp.asarray(x))[1], x.argmax(1))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 16_385, 100_000, 300_001])
def test_what_holds_of_some_or_all(n):
    x = RNG.standard_normal(n).astype(np.float32)
    x[-1] = 9
    v = jnp.asarray(x)
    for limit in (-10, 0, 8, 10):
        assert bool(jnp.any(v > limit)) == (x > limit).any()
        assert bool(jnp.all(v > limit)) == (x > limit).all()
        assert int(jnp.sum(v > limit)) == (x > limit).sum()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("n", [16_385, 24_577, 100_000, 131_072, 262_144])
def test_sums_in_one_task_or_several_are_the_same(n, dtype):
    with jax.enable_x64(True):
        v = jnp.asarray(RNG.standard_normal(n).astype(dtype))

        def dear(v):
            for _ in range(4):
                v = jnp.sin(v) + jnp.exp(v)
            return v

        split = jax.jit(lambda v: (v.sum(), dear(v).sum()))(v)[0]
        np.testing.assert_array_equal(split, v.sum())


EDGES = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3.5, 1e30]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("largest", [True, False])
def test_bounds_that_are_numbers_order_zeros_and_nan(dtype, largest):
    function = jnp.maximum if largest else jnp.minimum
    with jax.enable_x64(dtype == "float64"):
        x = jnp.asarray(np.resize(EDGES, 100), "float32").astype(dtype)
        for edge in EDGES:
            bound = jnp.asarray(edge, "float32").astype(dtype)
            want = function(x, jnp.full_like(x, bound))
            number = float(bound)
            for found in (
                function(x, number),
                function(number, x),
                function(x, bound),
                jax.jit(lambda x, number=number: function(x, number))(x),
                jax.jit(function)(x, bound),
            ):
                np.testing.assert_array_equal(jnp.isnan(found), jnp.isnan(want))
                known = ~np.isnan(np.asarray(want, "float64"))
                one, other = np.asarray(found)[known], np.asarray(want)[known]
                assert one.tobytes() == other.tobytes(), (edge, one, other)
