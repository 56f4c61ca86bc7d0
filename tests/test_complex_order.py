"""Complex numbers in order: by real part, then imaginary part; NaN is an extreme."""

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad.test_util import check_grads

RNG = np.random.default_rng(3)
NANS = np.array([1 + 2j, np.nan + 1j, 3 + 3j, complex(1, np.nan)], np.complex64)


def numbers(*shape, dtype=np.complex64):
    """Few real parts, so that imaginary ones decide."""
    parts = RNG.integers(-3, 4, (2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype)


@pytest.mark.parametrize("shape", [(7,), (5, 40), (40, 5), (3, 1000), (2, 3, 70000)])
@pytest.mark.parametrize("axis", [0, -1])
def test_reductions(shape, axis):
    x = numbers(*shape)
    for ours, theirs in [
        (lax.reduce_max, np.max),
        (lax.reduce_min, np.min),
    ]:
        found = ours(jnp.asarray(x), (axis % x.ndim,))
        np.testing.assert_array_equal(found, theirs(x, axis))
    for ours, theirs in [(jnp.argmax, np.argmax), (jnp.argmin, np.argmin)]:
        np.testing.assert_array_equal(ours(jnp.asarray(x), axis), theirs(x, axis))


@pytest.mark.parametrize("shape", [(7,), (5, 40), (40, 5), (2, 70000)])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_extremes(shape, axis, reverse):
    x = numbers(*shape)
    along = np.flip(x, axis) if reverse else x
    for ours, fold in [(lax.cummax, np.maximum), (lax.cummin, np.minimum)]:
        found = ours(jnp.asarray(x), axis, reverse=reverse)
        wanted = fold.accumulate(along, axis)
        np.testing.assert_array_equal(
            found, np.flip(wanted, axis) if reverse else wanted
        )


def test_both_widths():
    with jax.enable_x64(True):
        x = numbers(3, 40, dtype=np.complex128)
        np.testing.assert_array_equal(jnp.max(jnp.asarray(x), 1), x.max(1))
        np.testing.assert_array_equal(lax.cummin(jnp.asarray(x), 1),
                                      np.minimum.accumulate(x, 1))  # fmt: skip


def test_nan_is_an_extreme():
    x = jnp.asarray(NANS)
    for found in (jnp.max(x), jnp.min(x), lax.cummax(x)[-1], lax.cummin(x)[1]):
        assert np.isnan(np.asarray(found))
    assert jnp.argmax(x) == jnp.argmin(x) == 1
    assert jnp.nanargmax(x) == 2
    assert jnp.nanargmin(x) == 0
    assert jnp.nanmax(x) == 3 + 3j
    assert jnp.nanmin(x) == 1 + 2j


def test_over_no_elements():
    empty = jnp.zeros((0, 2), "complex64")
    top = complex(np.inf, np.inf)
    np.testing.assert_array_equal(lax.reduce_max(empty, (0,)), [-top, -top])
    np.testing.assert_array_equal(lax.reduce_min(empty, (0,)), [top, top])
    np.testing.assert_array_equal(jnp.max(empty, 0, initial=2j), [2j, 2j])
    with pytest.raises(ValueError, match="no element"):
        jnp.max(empty, 0)


def test_where_and_initial():
    x = numbers(4, 9)
    keep = RNG.random((4, 9)) < 0.5
    for name in ("max", "min"):
        found = getattr(jnp, name)(x, axis=1, where=keep, initial=1 - 2j)
        wanted = getattr(np, name)(x, axis=1, where=keep, initial=np.complex64(1 - 2j))
        np.testing.assert_array_equal(found, wanted)


def test_slopes_follow_the_element_that_is_taken():
    x = jnp.array([[1 + 2j, 1 - 3j, 5j], [2 + 1j, 2 + 1j, 1 + 7j]])
    pulled = jax.vjp(lambda v: jnp.max(v, axis=1), x)[1](jnp.ones(2, x.dtype))[0]
    np.testing.assert_array_equal(pulled, [[1, 0, 0], [0.5, 0.5, 0]])
    ct = jnp.array([1j, 2.0, 3.0])
    pulled = jax.vjp(lax.cummax, x[0])[1](ct)[0]
    np.testing.assert_array_equal(pulled, [5 + 1j, 0, 0])
    pulled = jax.vjp(lambda v: jnp.zeros(2, v.dtype).at[jnp.array([0, 1, 1])].max(v),
                     x[0])[1](jnp.array([1j, 2.0]))[0]  # fmt: skip
    np.testing.assert_array_equal(pulled, [1j, 2, 0])


def test_scatters_and_segments():
    x, y = numbers(4), numbers(30)
    places = RNG.integers(0, 4, 30)
    for name, fold in (("max", np.maximum), ("min", np.minimum)):
        wanted = x.copy()
        fold.at(wanted, places, y)
        at = jnp.asarray(x).at[places]
        np.testing.assert_array_equal(getattr(at, name)(y), wanted)
    found = jax.ops.segment_max(jnp.asarray(y), places, 4)
    wanted = [max(y[places == k], key=lambda z: (z.real, z.imag)) for k in range(4)]
    np.testing.assert_array_equal(found, wanted)


def test_windows():
    x = numbers(9)
    wanted = [max(x[i : i + 3], key=lambda z: (z.real, z.imag)) for i in range(7)]
    init = jnp.asarray(complex(-np.inf, -np.inf), "complex64")
    found = lax.reduce_window(jnp.asarray(x), init, lax.max, (3,), (1,), "VALID")
    np.testing.assert_array_equal(found, wanted)


def test_across_lanes():
    x = numbers(4, 3)
    for name, fold in (("pmax", np.max), ("pmin", np.min)):
        found = jax.vmap(lambda v: getattr(lax, name)(v, "i"), axis_name="i")(x)
        np.testing.assert_array_equal(found, np.broadcast_to(fold(x, 0), (4, 3)))


@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(method, side):
    table, x = np.sort(numbers(20)), numbers(5, 3)
    found = jnp.searchsorted(jnp.asarray(table), jnp.asarray(x), side, method=method)
    np.testing.assert_array_equal(found, np.searchsorted(table, x, side))


def test_searchsorted_finds_nan_where_sort_puts_it():
    table = jnp.sort(jnp.asarray(NANS))
    places = jnp.searchsorted(table, jnp.asarray(NANS))
    np.testing.assert_array_equal(table[places], NANS)


def test_histogram():
    x = numbers(50)
    edges = np.array([-3 - 3j, 0, 1j, 3 + 3j], np.complex64)
    counts, _ = jnp.histogram(jnp.asarray(x), bins=jnp.asarray(edges))
    places = np.clip(np.searchsorted(edges, x, "right") - 1, 0, 2)
    np.testing.assert_array_equal(counts, np.bincount(places, minlength=3))


@pytest.mark.parametrize("shape", [(7,), (3, 50), (50, 9), (1, 70000)])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_of_exponentials(shape, axis, reverse):
    with jax.enable_x64(True):
        x = (RNG.normal(size=shape) + 1j * RNG.uniform(-4, 4, shape)) * 0.7
        found = lax.cumlogsumexp(jnp.asarray(x), axis % x.ndim, reverse=reverse)
    along = np.flip(x, axis) if reverse else x
    wanted = np.log(np.cumsum(np.exp(along), axis))
    wanted = np.flip(wanted, axis) if reverse else wanted
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_running_sums_of_exponentials_far_from_zero():
    x = jnp.array([-jnp.inf, 1e4 + 1j, -1e4 + 2j, 1e4 + 1j, jnp.nan], "complex64")
    found = lax.cumlogsumexp(x)
    np.testing.assert_allclose(found[1:3], [1e4 + 1j, 1e4 + 1j])
    np.testing.assert_allclose(found[3], 1e4 + np.log(2) + 1j, rtol=1e-6)
    assert np.isnan(found[4])
    assert found[0].real == -np.inf


def test_slopes_of_running_sums_of_exponentials():
    with jax.enable_x64(True):
        x = jnp.asarray(RNG.normal(size=5) + 1j * RNG.normal(size=5))
        check_grads(lax.cumlogsumexp, (x,), 2)


@needs_plugin
@pytest.mark.parametrize(
    "call",
    [
        lambda x: lax.reduce_max(x, (0,)),
        lambda x: lax.reduce_min(x, (0,)),
        lambda x: lax.argmax(x, 0, "int32"),
        lambda x: lax.cummax(x),
        lambda x: lax.cummin(x),
        lambda x: lax.max(x, x[::-1]),
        lambda x: lax.clamp(x[0], x, x[2]),
        lambda x: x.at[jnp.array([0, 0, 2])].max(x[1:4]),
        lambda x: lax.reduce_window(x, 0j, lax.add, (2,), (1,), "SAME"),
        lambda x: lax.atan2(x, x[::-1]),
        lambda x: lax.cumlogsumexp(x),
    ],
)
@pytest.mark.parametrize("host", [NANS, numbers(9)])
def test_the_other_backend_agrees(call, host):
    here = call(jnp.asarray(host))
    with on_plugin():
        there = call(jnp.asarray(host))
    np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("right", [False, True])
def test_digitize(right):
    edges, x = np.sort(numbers(6)), numbers(40)
    for bins in (edges, edges[::-1]):
        found = jnp.digitize(jnp.asarray(x), jnp.asarray(bins), right)
        side = "left" if right else "right"
        wanted = np.searchsorted(edges, x, side)
        wanted = wanted if bins is edges else 6 - wanted
        np.testing.assert_array_equal(found, wanted)
