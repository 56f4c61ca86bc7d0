"""Integers that do not fit: an error that names value and dtype, never a silent cut."""

import operator

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax

BIG = 2**40
HOST = np.array([1, BIG])


def ints():
    return jnp.arange(3)


def bytes_():
    return jnp.arange(3, dtype="uint8")


REFUSED = {
    "array": lambda: jnp.array(BIG),
    "asarray": lambda: jnp.asarray(BIG),
    "list": lambda: jnp.array([[1, BIG]]),
    "host array": lambda: jnp.asarray(HOST),
    "unsigned host array": lambda: jnp.asarray(HOST.astype("uint64")),
    "host scalar": lambda: jnp.array(np.int64(BIG)),
    "dtype of a number": lambda: jnp.array(300, "uint8"),
    "negative": lambda: jnp.array([-1], "uint32"),
    "scalar type": lambda: jnp.int8(128),
    "add": lambda: ints() + BIG,
    "radd": lambda: BIG + ints(),
    "add host": lambda: ints()[:2] + HOST,
    "add to bytes": lambda: bytes_() + 300,
    "by plan": lambda: [ints() + i for i in (1, 2, 3, BIG)],
    "bits": lambda: ints() & 0xFFFFFFFF,
    "maximum": lambda: jnp.maximum(bytes_(), 300),
    "where": lambda: jnp.where(True, ints(), BIG),
    "clip": lambda: jnp.clip(ints(), 0, BIG),
    "full": lambda: jnp.full(3, BIG),
    "full dtype": lambda: jnp.full(3, 300, "uint8"),
    "full_like": lambda: jnp.full_like(bytes_(), 300),
    "lax.full": lambda: lax.full((3,), 300, "uint8"),
    "arange": lambda: jnp.arange(BIG, BIG + 3),
    "arange dtype": lambda: jnp.arange(300, dtype="uint8"),
    "set": lambda: ints().at[0].set(BIG),
    "set bytes": lambda: bytes_().at[0].add(300),
    "set host": lambda: ints().at[:2].set(HOST),
    "device_put": lambda: jax.device_put(BIG),
    "device_put host": lambda: jax.device_put({"a": HOST}),
    "jit": lambda: jax.jit(lambda x: x)(BIG),
    "jit host": lambda: jax.jit(lambda x: x)(HOST),
    "jit host scalar": lambda: jax.jit(lambda x: x)(np.int64(BIG)),
    "vmap host": lambda: jax.vmap(lambda x: x)(HOST),
    "inside jit": lambda: jax.jit(lambda x: x + BIG)(ints()),
    "scan": lambda: lax.scan(lambda c, x: (c, x), 0, HOST),
    "convert": lambda: lax.convert_element_type(BIG, "int32"),
    "pad": lambda: jnp.pad(bytes_(), 1, constant_values=300),
    "put": lambda: jnp.put(bytes_(), 0, 300, inplace=False),
    "fill_diagonal": lambda: jnp.fill_diagonal(
        jnp.zeros((2, 2), "uint8"), 300, inplace=False
    ),
    "concatenate": lambda: jnp.concatenate([ints(), HOST]),
    "isin": lambda: jnp.isin(ints(), HOST),
    "float": lambda: jnp.array(300.5, "uint8"),
    "float list": lambda: jnp.array([0.0, 1e10], "int32"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_an_error(name):
    with pytest.raises(OverflowError) as told:
        REFUSED[name]()
    text = str(told.value)
    assert "does not fit" in text
    values = (str(BIG), "300", "-1", "128", "299", "4294967295", "10000000000.0")
    assert any(value in text for value in values)
    assert any(name in text for name in ("int32", "uint32", "uint8", "int8"))
    assert any(way in text for way in ("jax_enable_x64", "astype", "dtype"))


def test_the_advice_fits():
    with pytest.raises(OverflowError, match="jax_enable_x64"):
        jnp.array(BIG)
    with pytest.raises(OverflowError) as told:
        jnp.array(300, "uint8")
    assert "x64" not in str(told.value)
    assert "int32" in str(told.value)
    with pytest.raises(OverflowError) as told:
        jnp.array(2**70)
    assert "x64" not in str(told.value)
    with pytest.raises(
        OverflowError, match=r"jax\.jit\(lambda x: x\)\(HOST\): the value"
    ):
        jax.jit(lambda x: x)(HOST)
    with jax.enable_x64():
        assert int(jnp.array(BIG)) == BIG
        assert jax.device_put(HOST).tolist() == HOST.tolist()
        assert jax.jit(lambda x: x)(HOST).tolist() == HOST.tolist()


def test_a_float_that_is_no_number_is_no_integer():
    with pytest.raises(ValueError, match="nan is no integer"):
        jnp.array(float("nan"), "int32")
    with pytest.raises(ValueError, match="inf is no integer"):
        jnp.array([1.0, float("inf")], "int32")
    assert int(jnp.array(255.9, "uint8")) == 255


def test_arrays_that_are_converted_by_name_are_cut_as_in_numpy():
    for got in (
        jnp.asarray(HOST, dtype="int32"),
        jnp.array(HOST, dtype=int),
        lax.convert_element_type(HOST, "int32"),
        jnp.int32(HOST),
    ):
        np.testing.assert_array_equal(got, HOST.astype("int32"))
    wide = np.array([300, -1])
    np.testing.assert_array_equal(jnp.array(wide).astype("uint8"), wide.astype("uint8"))
    np.testing.assert_array_equal(jnp.array(wide, "uint8"), wide.astype("uint8"))


COMPARISONS = [getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")]


@pytest.mark.parametrize("compare", COMPARISONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("number", [300, -1, BIG, -BIG, 2**70, -(2**70), 0])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint32", "bool"])
def test_comparisons_are_exact(compare, number, dtype):
    if dtype == "bool" and abs(number) > 2**63:
        return  # NumPy has no answer
    host = np.arange(2).astype(dtype)
    x = jnp.asarray(host)
    for _ in range(3):
        np.testing.assert_array_equal(compare(x, number), compare(host, number))
        np.testing.assert_array_equal(compare(number, x), compare(number, host))
    np.testing.assert_array_equal(
        jax.jit(lambda x: compare(x, number))(x), compare(host, number)
    )


def test_counting_past_the_end_of_a_dtype():
    assert lax.iota("uint8", 256)[-1] == 255
    assert lax.broadcasted_iota("int8", (300, 2), 1).shape == (300, 2)
    with pytest.raises(OverflowError, match="256 does not fit uint8"):
        lax.iota("uint8", 257)
    with pytest.raises(OverflowError, match="199 does not fit int8"):
        lax.broadcasted_iota("int8", (2, 200), 1)
