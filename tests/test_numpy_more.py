"""Functions of jax.numpy that came late: sets of a size, folds of any function, fits."""

import io

import ml_dtypes
import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

RNG = np.random.default_rng(0)


def test_sets_of_a_size():
    a, b = jnp.array([5, 3, 3, 9, 1]), jnp.array([3, 9, 7])
    size = {"size": 4}
    f = jax.jit(jnp.setdiff1d, static_argnames="size")
    assert f(a, b, **size).tolist() == [1, 5, 0, 0]
    assert jnp.setdiff1d(a, b, size=4, fill_value=-1).tolist() == [1, 5, -1, -1]
    assert jnp.setdiff1d(a, b, True, size=3).tolist() == [5, 1, 0]
    f = jax.jit(jnp.intersect1d, static_argnames=("size", "return_indices"))
    assert f(a, b, **size).tolist() == [3, 9, 3, 3]
    values, first, second = f(a, b, return_indices=True, **size)
    assert values.tolist() == [3, 9, 3, 3]
    assert first.tolist() == [1, 3, 5, 5]
    assert second.tolist() == [0, 1, 3, 3]
    f = jax.jit(jnp.setxor1d, static_argnames="size")
    assert f(a, b, size=6).tolist() == [1, 5, 7, 1, 1, 1]
    assert jnp.setxor1d(a, b, size=2).tolist() == [1, 5]
    assert jnp.intersect1d(a, jnp.array([100]), size=2).tolist() == [0, 0]


def test_folds_of_any_function():
    x = RNG.integers(1, 9, (3, 4)).astype("int32")
    for name in ("bitwise_or", "subtract", "floor_divide", "power"):
        ours, theirs = getattr(jnp, name), getattr(np, name)
        y = x[:, :2] if name == "power" else x
        np.testing.assert_array_equal(ours.reduce(y, 1), theirs.reduce(y, 1))
        np.testing.assert_array_equal(ours.accumulate(y), theirs.accumulate(y))
    or_ = jnp.bitwise_or.reduce(x, axis=None, keepdims=True)
    np.testing.assert_array_equal(
        or_, np.bitwise_or.reduce(x, axis=None, keepdims=True)
    )
    masked = jnp.subtract.reduce(x, 0, initial=3, where=x > 4)
    np.testing.assert_array_equal(
        masked, np.subtract.reduce(x, 0, initial=3, where=x > 4)
    )
    places = np.array([0, 2, 1, 3])
    for function in ("add", "multiply", "maximum", "subtract"):
        ours = getattr(jnp, function).reduceat(x, places, 1)
        np.testing.assert_array_equal(
            ours, getattr(np, function).reduceat(x, places, 1)
        )
    expected = np.arange(5.0)
    np.hypot.at(expected, [1, 1, 3], 2.0)
    ours = jnp.hypot.at(jnp.arange(5.0), jnp.array([1, 1, 3]), 2.0, inplace=False)
    np.testing.assert_allclose(ours, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="initial="):
        jnp.subtract.reduce(jnp.zeros(0))
    with pytest.raises(TypeError, match="vector of integers"):
        jnp.add.reduceat(x, np.ones(2))


def test_functions_of_python():
    both = jnp.frompyfunc(lambda x, y: (x + y, jnp.where(x > y, x, y)), 2, 2)
    total, largest = both(jnp.arange(3), jnp.array([[2], [0]]))
    assert total.tolist() == [[2, 3, 4], [0, 1, 2]]
    assert largest.tolist() == [[2, 2, 2], [0, 1, 2]]
    add = jnp.frompyfunc(lambda x, y: x + y, nin=2, nout=1, identity=0)
    x = jnp.arange(6).reshape(2, 3)
    assert add.reduce(x, axis=1).tolist() == [3, 12]
    assert add.accumulate(x, axis=1).tolist() == [[0, 1, 3], [3, 7, 12]]
    assert add.reduceat(jnp.arange(4), jnp.array([0, 2])).tolist() == [1, 5]
    assert add.at(jnp.zeros(3), jnp.array([1, 1]), 2.0, inplace=False).tolist() == [
        0,
        4,
        0,
    ]
    assert add.outer(jnp.arange(2), jnp.arange(2)).tolist() == [[0, 1], [1, 2]]
    assert add.reduce(jnp.zeros(0)) == 0
    with pytest.raises(TypeError, match="takes 2 arguments"):
        add(1)
    with pytest.raises(NotImplementedError, match="there is no out argument"):
        add.reduce(x, out=jnp.zeros(3))
    with pytest.raises(ValueError, match="two arguments"):
        both.reduce(x)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_polyfit(shape):
    x = np.linspace(-1, 1, 12).astype("float32")
    y = RNG.normal(size=(12, *shape)).astype("float32")
    w = RNG.uniform(0.5, 1, 12).astype("float32")
    same = {"rtol": 1e-3, "atol": 1e-4}
    np.testing.assert_allclose(jnp.polyfit(x, y, 3), np.polyfit(x, y, 3), **same)
    p, c = jnp.polyfit(x, y, 2, w=w, cov=True)
    q, d = np.polyfit(x, y, 2, w=w, cov=True)
    np.testing.assert_allclose(p, q, **same)
    np.testing.assert_allclose(c, d, **same)
    found = jnp.polyfit(x, y, 2, full=True)
    for ours, theirs in zip(found[:4], np.polyfit(x, y, 2, full=True)):
        np.testing.assert_allclose(ours, theirs, **same)
    slope = jax.grad(lambda y: jnp.polyfit(x, y, 1)[0].sum())(jnp.asarray(y))
    assert slope.shape == y.shape
    with pytest.raises(TypeError, match="as many rows"):
        jnp.polyfit(x, y[:3], 1)
    with pytest.raises(ValueError, match="deg >= 0"):
        jnp.polyfit(x, y, -1)


def test_polynomials_of_matrices():
    a = RNG.normal(size=(4, 4)).astype("float32")
    np.testing.assert_allclose(jnp.poly(a).real, np.poly(a).real, rtol=1e-3, atol=1e-3)
    two = RNG.normal(size=(3, 2)).astype("float32")
    one = np.ones((1, 2), "float32")
    np.testing.assert_allclose(jnp.polyadd(two, one)[-1], two[-1] + 1, rtol=1e-6)
    roots = jax.jit(lambda c: jnp.roots(c, strip_zeros=False))(
        jnp.array([1.0, -3.0, 2.0])
    )
    np.testing.assert_allclose(np.sort(roots.real), [1, 2], rtol=1e-5)
    assert np.isnan(jnp.roots(jnp.array([0.0, 1.0]), strip_zeros=False).real).all()


def test_grids_and_views():
    shapes = []

    def f(i, j):
        shapes.append(i.shape)
        return {"sum": i + j, "one": 1.0}

    out = jnp.fromfunction(f, (2, 3))
    assert shapes == [()]
    assert out["sum"].tolist() == [[0, 1, 2], [1, 2, 3]]
    assert out["one"].shape == (2, 3)
    x = jnp.arange(8, dtype="int8").reshape(1, 2, 4)
    assert x.view("int16").shape == (1, 2, 2)
    np.testing.assert_array_equal(x.view("int32"), np.asarray(x).view("int32"))
    np.testing.assert_array_equal(
        jnp.arange(3, dtype="int32").view("uint8"),
        np.arange(3, dtype="int32").view("uint8"),
    )
    with pytest.raises(ValueError, match="multiple of 2"):
        jnp.arange(3, dtype="int8").view("int16")
    assert np.asarray(jnp.linspace(0, 25, 6)).tolist() == [0, 5, 10, 15, 20, 25]
    assert jnp.linspace(-3e38, 3e38, 4).tolist()[0] == pytest.approx(-3e38)
    assert jnp.isfinite(jnp.linspace(-3e38, 3e38, 9)).all()
    powers = jnp.logspace(0, 2, 3, base=jnp.array([2, 3]))
    np.testing.assert_allclose(powers, np.logspace(0, 2, 3, base=[2, 3]), rtol=1e-6)
    assert jnp.extract(jnp.array([True] + [False] * 5), jnp.arange(3)).tolist() == [0]
    with pytest.raises(ValueError, match="true beyond"):
        jnp.extract(jnp.array([True] * 5), jnp.arange(3))
    chosen = jnp.piecewise(
        jnp.arange(3), jnp.array([False, True]), [lambda x: x, lambda x: 10 * x]
    )
    assert chosen.tolist() == [0, 10, 20]


def test_bfloat16_files():
    f = io.BytesIO()
    jnp.save(f, jnp.array([2, 4], dtype="bfloat16"))
    f.seek(0)
    assert jnp.load(f).dtype == ml_dtypes.bfloat16


def test_i0():
    x = np.linspace(-4, 4, 9).astype("float32")
    np.testing.assert_allclose(jnp.i0(x), np.i0(x), rtol=1e-5)
    assert jax.grad(jnp.i0)(0.0) == 0
    with pytest.raises(ValueError, match="must be real"):
        jnp.i0(1j)


def test_broadcast_in_any_order():
    x = jnp.arange(6).reshape(3, 2)
    out = jax.lax.broadcast_in_dim(x, (2, 3, 4), (1, 0))
    np.testing.assert_array_equal(out[..., 0], np.asarray(x).T)
    assert jax.lax.reduce_window(x, 0, jax.lax.add, (2, 2)).shape == (2, 1)


def test_padding_in_words_is_of_python_integers():
    sizes = [np.array(x) for x in ((5, 4), (3, 3), (2, 1))]
    pads = jax.lax.padtype_to_pads(*sizes, "SAME")
    assert pads == [(1, 1), (1, 1)]
    assert all(type(n) is int for pair in pads for n in pair)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("mode", [None, "drop", "clip", "fill"])
def test_negative_integers_that_do_not_count_from_the_end(mode, jit):
    x = jnp.arange(6.0).reshape(2, 3)
    ways = {"wrap_negative_indices": False, "mode": mode}
    transform = jax.jit if jit else lambda f: f
    with jax.bounds("off"):
        row = transform(lambda x: x.at[-1].set(9, **ways))(x)
        column = transform(lambda x: x.at[:, -1].add(1, **ways))(x)
        read = transform(lambda x: x.at[-1, 1].get(**ways))(x)
    clipped = mode == "clip"
    np.testing.assert_array_equal(row, x.at[0].set(9) if clipped else x)
    np.testing.assert_array_equal(column, x.at[:, 0].add(1) if clipped else x)
    np.testing.assert_array_equal(read, np.nan if mode in ("drop", "fill") else 1)
    assert x.at[-1].get()[0] == 3


def test_sums_of_several_polynomials():
    several = jnp.array([[1, 2, 3], [3, 4, 5]])
    np.testing.assert_array_equal(jnp.polyadd(several, [4]), [[1, 2, 3], [7, 8, 9]])
    np.testing.assert_array_equal(jnp.polysub([4], several), [[-1, -2, -3], [1, 0, -1]])
    with pytest.raises(ValueError, match="must broadcast"):
        jnp.polyadd(several, jnp.ones((2, 2)))


@pytest.mark.parametrize("zeros", [0, 1, 3])
def test_roots_below_leading_zeros(zeros):
    p = jnp.array([0.0] * zeros + [1.0, -3.0, 2.0, 0.0])
    found = jax.jit(lambda p: jnp.roots(p, strip_zeros=False))(p)
    assert np.isnan(found[3:]).all()
    np.testing.assert_allclose(np.sort(found[:3].real), [0, 1, 2], atol=1e-6)
    assert np.isnan(jnp.roots(jnp.zeros(3), strip_zeros=False)).all()


def test_python_bools_become_strong_numbers():
    for name in ("exp", "cbrt", "deg2rad", "reciprocal", "square"):
        assert not getattr(jnp, name)(True).weak_type
        assert getattr(jnp, name)(2).weak_type
    assert (jnp.exp(True) * jnp.ones(2, "bfloat16")).dtype == "float32"
    assert jnp.imag(4).weak_type
