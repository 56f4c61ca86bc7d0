"""Functions of lax about groups, places, bits and names that programs use now and then."""

from functools import partial

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax


def by_group(lhs, rhs, sizes):
    out = np.zeros((lhs.shape[0], rhs.shape[2]), lhs.dtype)
    start = 0
    for group, size in enumerate(sizes):
        out[start : start + size] = lhs[start : start + size] @ rhs[group]
        start += size
    return out


@pytest.mark.parametrize("sizes", [(2, 3, 1), (0, 6, 0), (1, 1, 1), (6, 0, 0)])
def test_ragged_dot(sizes):
    rng = np.random.default_rng(0)
    lhs = rng.normal(size=(6, 4)).astype("float32")
    rhs = rng.normal(size=(3, 4, 5)).astype("float32")
    sizes = np.array(sizes, "int32")
    out = lax.ragged_dot(lhs, rhs, sizes)
    np.testing.assert_allclose(out, by_group(lhs, rhs, sizes), rtol=1e-5, atol=1e-6)
    lanes = jax.vmap(lax.ragged_dot, (0, None, 0))(
        np.stack([lhs, 2 * lhs]), rhs, np.stack([sizes, sizes[::-1]])
    )
    expected = by_group(2 * lhs, rhs, sizes[::-1])
    np.testing.assert_allclose(lanes[1], expected, rtol=1e-5, atol=1e-6)
    slope = jax.grad(lambda r: lax.ragged_dot(lhs, r, sizes).sum())(jnp.asarray(rhs))
    first = lhs[: sizes[0]].sum(0)
    np.testing.assert_allclose(slope[0], np.tile(first[:, None], 5), atol=1e-5)


def test_ragged_dot_with_a_part_of_the_groups():
    rng = np.random.default_rng(0)
    lhs = rng.normal(size=(6, 4)).astype("float32")
    rhs = rng.normal(size=(3, 4, 5)).astype("float32")
    sizes = np.array([2, 3, 1], "int32")
    part = lax.ragged_dot(lhs, rhs[1:], sizes, group_offset=np.array([1]))
    np.testing.assert_allclose(part[2:], by_group(lhs, rhs, sizes)[2:], rtol=1e-5)
    np.testing.assert_array_equal(part[:2], 0)
    with pytest.raises(TypeError, match="size to be 3, got 2"):
        lax.ragged_dot(lhs, rhs[1:], sizes)
    sums = lax.RaggedDotDimensionNumbers((([0], [0]), ([], [])), [0], [])
    with pytest.raises(TypeError, match="group_offset is for an axis"):
        lax.ragged_dot_general(lhs, lhs, sizes, sums, group_offset=np.array([1]))


def test_ragged_dot_general():
    rng = np.random.default_rng(1)
    lhs = rng.normal(size=(2, 3, 5)).astype("float32")
    rhs = rng.normal(size=(2, 5, 4)).astype("float32")
    sizes = np.array([[2, 3], [4, 1]], "int32")
    sums = lax.RaggedDotDimensionNumbers((([2], [1]), ([0], [0])), [2], [])
    out = lax.ragged_dot_general(lhs, rhs, sizes, sums)
    assert out.shape == (2, 2, 3, 4)
    np.testing.assert_allclose(
        out[1, 0], lhs[0][:, 2:] @ rhs[0][2:], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        out[0, 1], lhs[1][:, :4] @ rhs[1][:4], rtol=1e-5, atol=1e-6
    )
    lots = lax.RaggedDotDimensionNumbers((([2], [1]), ([0], [0])), [0], [])
    whole = lax.ragged_dot_general(lhs, rhs, np.array([1, 1]), lots)
    np.testing.assert_allclose(whole, lhs @ rhs, rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="exactly one lhs ragged dimension"):
        wrong = lax.RaggedDotDimensionNumbers((([2], [1]), ([0], [0])), [0, 1], [])
        lax.ragged_dot_general(lhs, rhs, sizes, wrong)
    with pytest.raises(TypeError, match=r"expected group_sizes to have shape \(2, 2\)"):
        lax.ragged_dot_general(lhs, rhs, np.ones((3, 2), "int32"), sums)


def test_rng_bit_generator():
    key = np.array([1, 2, 0xFFFFFFFF, 4], np.uint32)
    after, bits = lax.rng_bit_generator(key, (5,))
    assert after.tolist() == [1, 2, 1, 5]  # the counter carries
    assert bits.dtype == np.uint32
    again, more = lax.rng_bit_generator(after, (5,))
    assert more.tolist() != bits.tolist()
    narrow = lax.rng_bit_generator(key, (5,), dtype="uint8")[1]
    assert narrow.tolist() == [b & 255 for b in bits.tolist()]
    lanes = jax.vmap(lambda k: lax.rng_bit_generator(k, (5,))[1])(np.stack([key, key]))
    assert lanes[1].tolist() == bits.tolist()
    three = lax.RandomAlgorithm.RNG_THREE_FRY
    after, bits = lax.rng_bit_generator(key, (2, 3), algorithm=three)
    assert after.tolist() == [1, 2, 2, 5]
    with pytest.raises(TypeError, match=r"uint32\[4\] or uint64\[2\]"):
        lax.rng_bit_generator(np.zeros(3, np.uint32), (2,))
    with pytest.raises(TypeError, match="unsupported dtype"):
        lax.rng_bit_generator(key, (2,), dtype="float32")


def test_composite():
    @partial(lax.composite, name="my.scaled", version=2)
    def scaled(x, *, by, table):
        return {"y": x * by + table}

    table = np.arange(2, dtype="float32")
    out = scaled(jnp.ones(2), by=3.0, table=table)
    assert out["y"].tolist() == [3.0, 4.0]
    jaxpr = jax.make_jaxpr(lambda x: scaled(x, by=3.0, table=table))(jnp.ones(2))
    assert jaxpr.eqns[-1].primitive.name == "composite"
    assert jaxpr.eqns[-1].params["name"] == "my.scaled"
    slope = jax.grad(lambda x: scaled(x, by=3.0, table=table)["y"].sum())(jnp.ones(2))
    assert slope.tolist() == [3.0, 3.0]
    lanes = jax.vmap(lambda x: scaled(x, by=2.0, table=table)["y"])(jnp.ones((3, 2)))
    assert lanes.shape == (3, 2)
    with pytest.raises(jax.errors.UnexpectedTracerError, match="use numpy arrays"):
        scaled(jnp.ones(2), by=jnp.array(2.0), table=table)

    @jax.jit
    def closing(x, y):
        return lax.composite(lambda z: z + y, name="my.sum")(x)

    with pytest.raises(jax.errors.UnexpectedTracerError, match="Found a JAX Tracer"):
        closing(1.0, 2.0)


def test_local_convolution():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 5, 6, 3)).astype("float32")
    kernel = rng.normal(size=(2, 3, 3, 4)).astype("float32")
    layout = ("NHWC", "HWIO", "NHWC")
    shared = lax.conv_general_dilated(
        x, kernel, (1, 2), "SAME", dimension_numbers=layout
    )
    places = shared.shape[1:3]
    own = np.moveaxis(kernel, 2, 0).reshape(-1, 4)  # features, then the kernel
    own = np.broadcast_to(own, (*places, *own.shape))
    local = lax.conv_general_dilated_local(
        x, own, (1, 2), "SAME", (2, 3), dimension_numbers=layout
    )
    np.testing.assert_allclose(local, shared, rtol=1e-4, atol=1e-5)


def test_selections():
    x = np.random.default_rng(3).normal(size=(4, 9)).astype("float32")
    values, places = lax.approx_max_k(x, 3)
    np.testing.assert_array_equal(values, -np.sort(-x)[:, :3])
    np.testing.assert_array_equal(np.take_along_axis(x, places, 1), values)
    values, places = lax.approx_min_k(x, 2, reduction_dimension=0)
    np.testing.assert_array_equal(values, np.sort(x, 0)[:2])
    with pytest.raises(NotImplementedError, match="aggregate_to_topk"):
        lax.approx_max_k(x, 3, aggregate_to_topk=False)
    with pytest.raises(ValueError, match="must be floats"):
        lax.approx_max_k(np.arange(3), 2)
    with pytest.raises(ValueError, match="cannot become"):
        lax.broadcast_like(x, np.zeros(9))


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"]
)
def test_mulhi(dtype):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(4)
    x, y = rng.integers(limits.min, limits.max, (2, 200), dtype, endpoint=True)
    exact = [int(a) * int(b) >> limits.bits for a, b in zip(x, y)]
    np.testing.assert_array_equal(lax.mulhi(x, y), np.array(exact).astype(dtype))


def test_accuracy():
    x = jnp.linspace(-2.0, 2.0, 9)
    best = lax.AccuracyMode.HIGHEST
    assert lax.exp(x, accuracy=best).tolist() == lax.exp(x).tolist()
    assert lax.tanh(x, accuracy=lax.Tolerance(rtol=1e-4)).shape == (9,)
    with pytest.raises(NotImplementedError, match="units in the last place"):
        lax.exp(x, accuracy=lax.Tolerance(ulps=1))
    with pytest.raises(TypeError, match="accuracy must be"):
        lax.exp(x, accuracy=3)
    with pytest.raises(ValueError, match="non-negative"):
        lax.Tolerance(atol=-1.0)
    assert lax.mul(np.int8(100), np.int8(100), out_dtype="int32") == 10000


def test_collectives_of_groups_are_refused():
    with pytest.raises(NotImplementedError, match="axis_index_groups"):
        jax.vmap(
            lambda x: lax.psum(x, "i", axis_index_groups=[[0], [1]]), axis_name="i"
        )(jnp.ones(2))
    with pytest.raises(ValueError, match="from 0 to 1"):
        jax.vmap(lambda x: lax.pbroadcast(x, "i", 5), axis_name="i")(jnp.ones(2))
