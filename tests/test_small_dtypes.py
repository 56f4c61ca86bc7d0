"""Integers of 2 and 4 bits, floats of 8 bits and fewer: all values, all conversions."""

import io
import pickle

import ml_dtypes
import numpy as np
import pytest
from numpy_machine import NumpyTrace, array_of, known
from plugin import PLATFORM, needs_plugin, on_plugin
from scalar_kernels import elementwise

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.core.bind import at
from tetrad._src.util import dtypes
from tetrad._src.util.config import config

FLOATS = list(dtypes.SMALL_FLOATS.values())
INTEGERS = [dtypes.SMALL_INTEGERS[n] for n in ("int2", "uint2", "int4", "uint4")]
POWERS = np.dtype(ml_dtypes.float8_e8m0fnu)
floats = pytest.mark.parametrize("dtype", FLOATS, ids=str)
integers = pytest.mark.parametrize("dtype", INTEGERS, ids=str)
small = pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=str)


@pytest.fixture
def x64():
    before = config.jax_enable_x64
    config.update("jax_enable_x64", True)
    yield
    config.update("jax_enable_x64", before)


def bits_of(dtype):
    return dtypes.itemsize_bits(dtype)


def all_of(dtype):
    """Every value, by its code."""
    return np.arange(1 << bits_of(dtype), dtype=np.uint8).view(dtype)


def ordered(dtype):
    """Every value in order, in float64, exactly; no infinities and NaN."""
    numbers = all_of(dtype).astype(np.float64)
    return np.unique(numbers[np.isfinite(numbers)])


def same(one, other):
    with np.errstate(all="ignore"):
        one, other = [np.asarray(x).astype(np.float64) for x in (one, other)]
    equal = (one == other) & (np.signbit(one) == np.signbit(other))
    return equal | (np.isnan(one) & np.isnan(other))


def assert_same(one, other):
    wrong = np.flatnonzero(~same(one, other))
    assert not wrong.size, (wrong[:8], np.asarray(one).ravel()[wrong[:8]])


def probes(dtype):
    """Singles where roundings to a format are decided, and all half floats."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    numbers = ordered(dtype)
    middle = ((numbers[1:] + numbers[:-1]) / 2).astype(np.float32)
    above = np.nextafter(middle, np.float32(np.inf))
    below = np.nextafter(middle, np.float32(-np.inf))
    odd = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38]
    return np.concatenate([halves, middle, above, below, np.float32(odd)])


@floats
def test_every_code_is_the_number_that_numpy_reads(dtype):
    codes = all_of(dtype)
    for wide in (np.float32, np.float16, dtypes.bfloat16):
        with np.errstate(all="ignore"):
            want = codes.astype(wide)
        assert_same(jnp.asarray(codes).astype(wide), want)


@floats
def test_rounding_to_nearest(dtype):
    x = probes(dtype)
    with np.errstate(all="ignore"):
        want = x.astype(dtype)
    if bits_of(dtype) < 8:  # NaN becomes -0, whatever its sign
        want = np.where(np.isnan(x), np.asarray(-0.0, dtype), want)
    got = np.asarray(jnp.asarray(x).astype(dtype))
    np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))


@floats
@pytest.mark.parametrize("wide", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
def test_rounding_of_half_floats(dtype, wide):
    x = np.arange(1 << 16, dtype=np.uint16).view(wide)
    with np.errstate(all="ignore"):
        want = x.astype(dtype).astype(np.float32)
    keep = ~np.isnan(x.astype(np.float32))
    got = np.asarray(jnp.asarray(x).astype(dtype))
    assert_same(got[keep], want[keep])


@floats
def test_doubles_are_rounded_once(dtype, x64):
    if dtype == POWERS:
        pytest.skip("the middle goes up there")
    numbers = ordered(dtype)
    middle = (numbers[1:] + numbers[:-1]) / 2
    above = jnp.asarray(np.nextafter(middle, np.inf)).astype(dtype)
    below = jnp.asarray(np.nextafter(middle, -np.inf)).astype(dtype)
    np.testing.assert_array_equal(np.asarray(above).astype(np.float64), numbers[1:])
    np.testing.assert_array_equal(np.asarray(below).astype(np.float64), numbers[:-1])


@floats
def test_integers_are_rounded_once(dtype):
    x = np.r_[np.arange(-4000, 4000), 2305, 61439, 61440, 61441, 57345, 2**31 - 1]
    x = x.astype(np.int32)
    with np.errstate(all="ignore"):
        assert_same(jnp.asarray(x).astype(dtype), x.astype(dtype))


@floats
@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "int4", "uint4", "int2"])
def test_floats_become_integers_that_saturate(dtype, name):
    codes = all_of(dtype)
    integer = dtypes.SMALL_INTEGERS.get(name) or np.dtype(name)
    limits = dtypes.iinfo(integer)
    numbers = np.nan_to_num(codes.astype(np.float64), nan=0.0)
    want = [
        min(max(int(v), limits.min), limits.max)
        for v in np.clip(numbers, -1e18, 1e18).tolist()
    ]
    got = np.asarray(jnp.asarray(codes).astype(integer)).astype(np.int64)
    np.testing.assert_array_equal(got, want)


@floats
def test_bool_and_complex(dtype):
    codes = all_of(dtype)
    x = jnp.asarray(codes)
    number = codes.astype(np.float32)
    np.testing.assert_array_equal(np.asarray(x.astype(bool)), number != 0)
    assert_same(np.asarray(lax.real(x.astype(np.complex64))), number)


@floats
def test_order_of_all_numbers(dtype):
    codes = all_of(dtype)
    x, number = jnp.asarray(codes), codes.astype(np.float32)
    assert_same(jnp.sort(x), np.sort(number, kind="stable"))
    want = np.argsort(number, kind="stable")
    np.testing.assert_array_equal(np.asarray(jnp.argsort(x)), want)
    rows = jnp.asarray(np.tile(codes, (3, 1)))
    assert_same(jnp.sort(rows, axis=0), np.tile(codes, (3, 1)))
    known = codes[~np.isnan(number)]
    y, number = jnp.asarray(known), known.astype(np.float32)
    np.testing.assert_array_equal(
        np.asarray(lax.cummax(y)).astype(np.float32), np.maximum.accumulate(number)
    )
    np.testing.assert_array_equal(
        np.asarray(lax.cummin(y)).astype(np.float32), np.minimum.accumulate(number)
    )
    if np.isnan(codes.astype(np.float32)).any():
        nan = codes[np.isnan(codes.astype(np.float32))][:1]
        for fold in (lax.cummax, lax.cummin):
            got = fold(jnp.asarray(np.concatenate([known[:5], nan, known[5:9]])))
            assert np.isnan(np.asarray(got).astype(np.float32)).tolist() == (
                [False] * 5 + [True] * 5
            )
    largest, place = lax.top_k(y, 3)
    np.testing.assert_array_equal(
        np.asarray(largest).astype(np.float32), np.sort(number)[::-1][:3]
    )
    assert_same(y[place], largest)
    for name in ("max", "min", "argmax", "argmin"):
        got = np.asarray(getattr(jnp, name)(y)).astype(np.float32)
        assert got == getattr(np, name)(number)


@floats
def test_comparison_and_choice(dtype):
    codes = all_of(dtype)
    x, number = jnp.asarray(codes), codes.astype(np.float32)
    for name in ("less", "less_equal", "greater", "equal", "not_equal"):
        got = getattr(jnp, name)(x[:, None], x[None, :])
        want = getattr(np, name)(number[:, None], number[None, :])
        np.testing.assert_array_equal(np.asarray(got), want)
    np.testing.assert_array_equal(np.asarray(jnp.isnan(x)), np.isnan(number))
    np.testing.assert_array_equal(np.asarray(jnp.isfinite(x)), np.isfinite(number))
    np.testing.assert_array_equal(np.asarray(jnp.isinf(x)), np.isinf(number))


@floats
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_arithmetic_is_rounded_once(dtype, name):
    codes = all_of(dtype)
    x, number = jnp.asarray(codes), codes.astype(np.float32)
    got = getattr(jnp, name)(x[:, None], x[None, :])
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(number[:, None], number[None, :])
        want = exact.astype(dtype)
    if bits_of(dtype) < 8:
        want = np.where(np.isnan(exact), np.asarray(-0.0, dtype), want)
    assert_same(got, want)


@floats
def test_functions_of_one_number(dtype):
    codes = all_of(dtype)
    x, number = jnp.asarray(codes), codes.astype(np.float32)
    for name in ("negative", "floor", "ceil", "trunc", "rint", "abs", "sqrt", "square"):
        with np.errstate(all="ignore"):
            exact = getattr(np, name)(number)
            want = exact.astype(dtype)
        if bits_of(dtype) < 8:
            want = np.where(np.isnan(exact), np.asarray(-0.0, dtype), want)
        assert_same(getattr(jnp, name)(x), want)


@floats
def test_next_number(dtype):
    numbers = ordered(dtype)
    x = jnp.asarray(numbers.astype(np.float32)).astype(dtype)
    up = np.asarray(jnp.nextafter(x, x[-1])).astype(np.float64)
    down = np.asarray(jnp.nextafter(x, x[0])).astype(np.float64)
    np.testing.assert_array_equal(up, [*numbers[1:], numbers[-1]])
    np.testing.assert_array_equal(down, [numbers[0], *numbers[:-1]])


@floats
def test_sums_are_rounded_once(dtype):
    if dtype == POWERS:
        pytest.skip("there is no zero to begin with")
    x = jnp.full((300,), 0.5, dtype)
    want = np.asarray(np.float32(150)).astype(dtype)
    for total in (jnp.sum(x), lax.reduce_sum(x, (0,)), jnp.dot(x, jnp.ones_like(x))):
        assert total.dtype == dtype
        assert_same(total, want)
    assert_same(jnp.cumsum(x)[-1], want)
    wide = lax.dot(x, x, preferred_element_type=np.float32)
    assert wide.dtype == np.float32
    assert wide == 75


@floats
@pytest.mark.parametrize("fma", [True, False])
def test_generated_code_on_old_and_new_processors(dtype, fma):
    name = dtypes.short_name(dtype)
    x = probes(dtype)
    with np.errstate(all="ignore"):
        want = x.astype(dtype)
    number = ~np.isnan(x)
    got = elementwise(lambda b, x: b.convert(x, name), ["f32"], x, fma=fma)
    np.testing.assert_array_equal(
        got[number].view(np.uint8), want[number].view(np.uint8)
    )
    codes = all_of(dtype)
    rules = ("floor", "ceil", "round", "round_away", "trunc", "neg", "abs", "sqrt")
    old = elementwise(
        lambda b, x: [getattr(b, rule)(x) for rule in rules], [name], codes, fma=fma
    )
    new = elementwise(
        lambda b, x: [getattr(b, rule)(x) for rule in rules], [name], codes, lanes=1
    )
    for one, other in zip(old, new, strict=True):
        assert_same(one, other)


@small
def test_rules_on_the_machine_of_the_tests(dtype):
    """Scalar rules give the same on arrays of ml_dtypes, by NumPy."""
    codes = all_of(dtype)
    if dtype in FLOATS:
        codes = codes[np.isfinite(codes.astype(np.float32))]
    one, other = codes, codes[::-1]
    rules = [lax.add, lax.mul, lax.max, lax.lt, lax.neg]
    for rule in rules:
        xs = [one] if rule is lax.neg else [one, other]
        with at(NumpyTrace()), np.errstate(all="ignore"):
            want = array_of(rule(*[known(x) for x in xs]))
        got = np.asarray(rule(*[jnp.asarray(x) for x in xs]))
        assert got.dtype == want.dtype
        assert_same(got, want)


# ------------------------------------------------------------------------------ integers


@integers
def test_integer_arithmetic_wraps(dtype):
    limits = dtypes.iinfo(dtype)
    values = np.arange(limits.min, limits.max + 1)
    x, y = np.meshgrid(values, values)
    one, other = [jnp.asarray(v.astype(dtype)) for v in (x, y)]
    for name in ("add", "subtract", "multiply", "maximum", "bitwise_xor", "bitwise_or"):
        got = np.asarray(getattr(jnp, name)(one, other))
        want = getattr(np, name)(x, y).astype(dtype)
        np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))
    for name in ("less", "greater_equal", "equal"):
        got = np.asarray(getattr(jnp, name)(one, other))
        np.testing.assert_array_equal(got, getattr(np, name)(x, y))
    divisor = np.where(y == 0, 1, y)
    got = lax.div(one, jnp.asarray(divisor.astype(dtype)))
    want = np.trunc(x / divisor).astype(int).astype(dtype)
    np.testing.assert_array_equal(np.asarray(got), want)
    zero = jnp.zeros_like(one)
    full = np.full(x.shape, -1).astype(dtype)
    np.testing.assert_array_equal(np.asarray(lax.div(one, zero)), full)
    np.testing.assert_array_equal(np.asarray(lax.rem(one, zero)), x.astype(dtype))


@integers
def test_bits_of_integers(dtype):
    width = bits_of(dtype)
    limits = dtypes.iinfo(dtype)
    values = np.arange(limits.min, limits.max + 1)
    x = jnp.asarray(values.astype(dtype))
    codes = values % (1 << width)
    np.testing.assert_array_equal(np.asarray(~x), (-1 - values).astype(dtype))
    for amount in range(width):
        n = jnp.full(x.shape, amount, dtype)
        logical = np.asarray(lax.shift_right_logical(x, n)).view(np.uint8)
        np.testing.assert_array_equal(logical, codes >> amount)
        signed = np.asarray(lax.shift_right_arithmetic(x, n)).astype(int)
        top = (
            values
            if limits.min
            else np.where(values >> (width - 1), values - (1 << width), values)
        )
        np.testing.assert_array_equal(signed, (top >> amount).astype(dtype).astype(int))
        left = np.asarray(x << n)
        np.testing.assert_array_equal(left, (values << amount).astype(dtype))
    count = np.asarray([bin(c).count("1") for c in codes]).astype(dtype)
    np.testing.assert_array_equal(np.asarray(lax.population_count(x)), count)
    zeros = np.asarray([width - int(c).bit_length() for c in codes]).astype(dtype)
    np.testing.assert_array_equal(np.asarray(lax.clz(x)), zeros)


@integers
def test_integers_to_and_from_others(dtype):
    limits = dtypes.iinfo(dtype)
    values = np.arange(limits.min, limits.max + 1)
    x = jnp.asarray(values.astype(dtype))
    for name in ("int8", "uint8", "int32", "float32", "bool", "complex64", "float16"):
        got = np.asarray(x.astype(name))
        np.testing.assert_array_equal(got, values.astype(name))
    wide = np.arange(-300, 300, dtype=np.int32)
    got = np.asarray(jnp.asarray(wide).astype(dtype))
    np.testing.assert_array_equal(got, wide.astype(dtype))
    got = jnp.asarray(np.float32([1e9, -1e9, np.nan, 0.9])).astype(dtype)
    assert np.asarray(got).astype(int).tolist() == [limits.max, limits.min, 0, 0]


@integers
def test_order_and_folds_of_integers(dtype):
    limits = dtypes.iinfo(dtype)
    values = np.random.default_rng(0).integers(limits.min, limits.max + 1, (3, 70))
    x = jnp.asarray(values.astype(dtype))
    for axis in (0, 1):
        got = np.asarray(jnp.sort(x, axis)).astype(int)
        np.testing.assert_array_equal(got, np.sort(values, axis))
        got = np.asarray(jnp.argsort(x, axis))
        np.testing.assert_array_equal(got, np.argsort(values, axis, kind="stable"))
        for name in ("max", "min", "argmax", "argmin", "sum", "prod", "all"):
            got = np.asarray(getattr(jnp, name)(x, axis)).astype(np.int64)
            want = getattr(np, name)(values.astype(np.int32), axis)
            if name in ("sum", "prod"):
                want = want.astype(np.int32 if limits.min else np.uint32)
            np.testing.assert_array_equal(got, want.astype(np.int64))
        got = np.asarray(lax.cumsum(x, axis))
        np.testing.assert_array_equal(got, np.cumsum(values, axis).astype(dtype))
        got = np.asarray(lax.cummax(x, axis)).astype(int)
        np.testing.assert_array_equal(got, np.maximum.accumulate(values, axis))
    got = np.asarray(jnp.matmul(x, x.T))
    np.testing.assert_array_equal(got, (values @ values.T).astype(dtype))
    got = lax.dot(x, x.T, preferred_element_type=np.int32)
    np.testing.assert_array_equal(np.asarray(got), values @ values.T)


# ------------------------------------------------------------------------- moving around


@small
def test_moving_elements(dtype):
    x = np.asarray([1, 0, 1, 1, 0, 1]).astype(dtype).reshape(2, 3)
    v = jnp.asarray(x)
    number = x.astype(np.float32)
    for got, want in (
        (v.T, number.T),
        (v[:, ::-1], number[:, ::-1]),
        (v[jnp.array([1, 0, 1])], number[[1, 0, 1]]),
        (jnp.concatenate([v, v], 1), np.concatenate([number, number], 1)),
        (
            jnp.where(v == v[0], v, v[1]),
            np.where(number == number[0], number, number[1]),
        ),
        (v.at[1, 2].set(v[0, 0]), [*number[:1], [*number[1, :2], number[0, 0]]]),
        (jnp.broadcast_to(v[0], (4, 3)), np.broadcast_to(number[0], (4, 3))),
        (jax.vmap(lambda r: r[1:])(v), number[:, 1:]),
        (jax.jit(lambda a: a.reshape(-1)[::2])(v), number.reshape(-1)[::2]),
        (lax.dynamic_slice(v, (0, 1), (2, 2)), number[:, 1:]),
        (lax.scan(lambda c, r: (c, r), 0, v)[1], number),
    ):
        assert got.dtype == dtype
        assert_same(got, want)


@small
def test_scatter_add_takes_every_update(dtype):
    x = jnp.ones(3, dtype).at[jnp.array([1, 1])].add(jnp.ones(2, dtype))
    want = np.asarray(np.float32([1, 3, 1])).astype(
        np.int32 if dtype in INTEGERS else dtype
    )
    if dtype == POWERS:  # 2 + 1 is halfway, and goes up
        want = np.float32([1, 4, 1])
    assert_same(x, np.asarray(want).astype(dtype))


@small
def test_loops_carry_them(dtype):
    x = jnp.asarray(np.asarray([1, 1, 1]).astype(dtype))
    total = lax.fori_loop(0, 3, lambda i, c: c * x, x)
    assert total.dtype == dtype
    assert_same(total, np.ones(3))
    assert_same(lax.cond(True, lambda: x, lambda: x + x), np.ones(3))


@small
def test_printing_and_numbers(dtype):
    x = jnp.asarray(np.asarray([1, 1]).astype(dtype))
    assert repr(x) == f"Array([1, 1], dtype={dtype.name})"
    assert float(x[0]) == 1.0
    assert (x * 1).dtype == dtype


@small
def test_bits_read_as_others(dtype):
    width = bits_of(dtype)
    if width == 6:
        pytest.skip("no integers of 6 bits")
    codes = all_of(dtype)
    x = jnp.asarray(codes)
    plain = dtypes.SMALL_INTEGERS.get(f"uint{width}") or np.dtype("uint8")
    bits = lax.bitcast_convert_type(x, plain)
    np.testing.assert_array_equal(
        np.asarray(bits).view(np.uint8), np.arange(codes.size)
    )
    assert_same(lax.bitcast_convert_type(bits, dtype), codes)
    wide = lax.bitcast_convert_type(bits.reshape(-1, 8 // width), np.uint8)
    parts = lax.bitcast_convert_type(wide.reshape(-1), dtype)
    assert_same(parts.reshape(-1), codes)


@floats
def test_gradient_through_conversion(dtype):
    x = jnp.array([1.0, 2.0, 4.0])

    def f(x):
        return (x.astype(dtype).astype(np.float32) * 2.0).sum()

    assert jax.grad(f)(x).tolist() == [2.0, 2.0, 2.0]
    y = x.astype(dtype)
    got = jax.grad(lambda y: (y * y)[1])(y)
    assert got.dtype == dtype
    assert float(got[1]) == 4.0


# ----------------------------------------------------------------------- what is refused


def test_promotion_is_refused_but_with_python_numbers():
    x = jnp.ones(2, jnp.float8_e5m2)
    assert (x + 1.5).dtype == x.dtype
    assert (x + jnp.ones(2, np.int32)).dtype == x.dtype
    with pytest.raises(dtypes.TypePromotionError, match="8-bit floats do not support"):
        x + jnp.ones(2)
    y = jnp.ones(2, jnp.int4)
    assert (y + 1).dtype == y.dtype
    with pytest.raises(dtypes.TypePromotionError, match="4-bit integers do not"):
        y + jnp.ones(2, np.int8)


def test_products_of_two_small_floats():
    a = jnp.full((2, 3), 1.5, jnp.float8_e4m3fn)
    b = jnp.full((3, 2), 2.0, jnp.float8_e5m2)
    assert lax.dot(a, b).dtype == b.dtype  # the one with the larger range
    for product in (lax.dot, jnp.dot, jnp.matmul):
        got = product(a, b, preferred_element_type=np.float32)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(np.asarray(got), np.full((2, 2), 9.0))
    got = jnp.einsum("ij,jk->ik", a, b, preferred_element_type=np.float32)
    np.testing.assert_array_equal(np.asarray(got), np.full((2, 2), 9.0))
    assert lax.dot(a, b.astype(np.float32)).dtype == np.float32


def test_files_and_other_libraries():
    for dtype, words in ((jnp.int4, "one byte"), (jnp.float8_e5m2, "no name")):
        x = jnp.ones(3, dtype)
        assert_same(pickle.loads(pickle.dumps(x)), np.ones(3))
        file = io.BytesIO()
        jnp.save(file, x)
        file.seek(0)
        with pytest.raises(TypeError, match=words):
            jnp.load(file)
        with pytest.raises(BufferError, match="DLPack"):
            np.from_dlpack(x)


def test_random_bits_and_integers_have_the_dtype_asked_for():
    keys = jax.random.split(jax.random.key(0), 3)
    assert jax.random.bits(keys[0], (50,), jnp.uint4).dtype == jnp.uint4
    drawn = jax.random.randint(keys[1], (100,), -8, 8, jnp.int4)
    assert drawn.dtype == jnp.int4
    assert set(np.asarray(drawn).astype(int).tolist()) == set(range(-8, 8))
    unit = jax.random.uniform(keys[2], (100,), jnp.float8_e4m3fn)
    assert bool(((unit >= 0) & (unit < 1)).all())


# -------------------------------------------------------------------------- the plugin

ON_PLUGIN = [
    d
    for d in INTEGERS + FLOATS
    if d.name not in ("int2", "uint2") and not d.name.startswith("float6")
]


def everything(x):
    """What both backends compute of a vector."""
    square = lax.dot(x[:, None], x[None, :])
    moved = jnp.concatenate([x[2:], x[:1]])
    results = [
        x + x, x - moved[0], x * moved[1], lax.max(x, x[::-1]), x < x[::-1], -x,
        jnp.where(x > x[1], x, x[0]), jnp.sort(x), x.at[1].set(x[2]), moved, square,
        x.astype(np.float32), x.astype(np.int32), x.astype(bool), lax.full_like(x, 1),
        lax.dot(x, x, preferred_element_type=np.float32), lax.reduce_max(x, (0,)),
        lax.scan(lambda c, r: (c * r, r), x[0], x),
    ]  # fmt: skip
    return jax.tree.leaves(results)


@needs_plugin
@pytest.mark.parametrize("dtype", ON_PLUGIN, ids=str)
def test_both_backends_agree(dtype):
    x = np.asarray([1, 4, 2, 1]).astype(dtype)
    wants = jax.jit(everything)(jnp.asarray(x))
    with on_plugin():
        outs = jax.jit(everything)(jnp.asarray(x))
        for number, (out, want) in enumerate(zip(outs, wants, strict=True)):
            assert out.device.platform == PLATFORM
            assert out.dtype == want.dtype
            assert same(out, want).all(), number


@needs_plugin
def test_dtypes_that_the_plugin_lacks():
    with on_plugin(), pytest.raises(NotImplementedError, match="int2 cannot go"):
        jnp.ones(2, jnp.int2) + 1
