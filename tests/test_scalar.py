"""The expression builder: what every operation does to every dtype, against NumPy."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from scalar_kernels import (
    DTYPES,
    assert_same,
    call,
    elementwise,
    elementwise_text,
    loop_text,
    samples,
)

from tetrad._src.cpu import native_llvm
from tetrad._src.cpu.scalar import MEMORY_TYPE, SIZE, Block, type_of

SIGNED = ["i8", "i16", "i32", "i64"]
UNSIGNED = ["u8", "u16", "u32", "u64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["bf16", "f16", "f32", "f64"]
COMPLEX = ["c64", "c128"]
ALL = ["i1", *INTEGERS, *FLOATS, *COMPLEX]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def pair(type, seed=0, count=200):
    rng = np.random.default_rng(seed)
    return samples(type, rng, count), rng.permutation(samples(type, rng, count))


def test_dtypes_have_types():
    for type, dtype in DTYPES.items():
        assert type_of(np.dtype(dtype)) == type
        assert SIZE[type] == np.dtype(dtype).itemsize
    with pytest.raises(TypeError, match="dtype <U1 cannot|dtype str"):
        type_of(np.dtype("U1"))


# Arithmetic


@pytest.mark.parametrize("type", INTEGERS + FLOATS)
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_ring_operations(name, type):
    x, y = pair(type)
    ufunc = {"add": np.add, "sub": np.subtract, "mul": np.multiply}[name]
    got = elementwise(lambda b, x, y: getattr(b, name)(x, y), [type, type], x, y)
    assert_same(got, ufunc(x, y))


@pytest.mark.parametrize("type", FLOATS)
def test_division_of_floats(type):
    x, y = pair(type)
    got = elementwise(lambda b, x, y: b.div(x, y), [type, type], x, y)
    assert_same(got, np.divide(x, y))


def truncated(x, y):
    """Quotient and remainder of integers as XLA defines them."""
    info = np.iinfo(x.dtype)
    bits = (1 << 8 * x.dtype.itemsize) - 1
    quotients, rests = [], []
    for a, c in zip(x.tolist(), y.tolist(), strict=True):
        if c == 0:
            quotient, rest = -1, a
        else:
            quotient = abs(a) // abs(c) * (1 if (a < 0) == (c < 0) else -1)
            rest = a - quotient * c
        for found, into in ((quotient, quotients), (rest, rests)):
            found &= bits
            into.append(found - bits - 1 if found > info.max else found)
    return np.array(quotients, x.dtype), np.array(rests, x.dtype)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("type", INTEGERS)
def test_integer_division_never_traps(type, lanes):
    x, y = pair(type, count=2000)
    x[:3], y[:3] = np.iinfo(x.dtype).min, np.array([-1, 0, 1]).astype(x.dtype)
    quotient, rest = truncated(x, y)
    got = elementwise(
        lambda b, x, y: (b.div(x, y), b.rem(x, y)), [type, type], x, y, lanes=lanes
    )
    assert_same(got[0], quotient)
    assert_same(got[1], rest)


@pytest.mark.parametrize("type", ["i32", "u32", "i16", "u16"])
def test_division_is_exact_at_the_edges(type):
    info = np.iinfo(DTYPES[type])
    tops = np.array([info.max, info.max - 1, info.min, info.max // 2], DTYPES[type])
    bottoms = np.array([1, 2, 3, 5, 7, info.max, info.max - 1, 641], DTYPES[type])
    x, y = (a.ravel() for a in np.meshgrid(tops, bottoms))
    got = elementwise(lambda b, x, y: b.div(x, y), [type, type], x, y)
    assert_same(got, truncated(x, y)[0])


@pytest.mark.parametrize("type", SIGNED + FLOATS)
def test_signs(type):
    x, _ = pair(type)
    got = elementwise(lambda b, x: (b.neg(x), b.abs(x), b.sign(x)), [type], x)
    sign = np.sign(x)
    if type in FLOATS:
        sign = np.where(x == 0, x, sign)  # signed zeros stay
    for result, expected in zip(got, (np.negative(x), np.abs(x), sign), strict=True):
        assert_same(result, expected)


def test_unsigned_signs():
    x, _ = pair("u8")
    got = elementwise(lambda b, x: (b.neg(x), b.abs(x), b.sign(x)), ["u8"], x)
    for result, expected in zip(got, (np.negative(x), x, np.sign(x)), strict=True):
        assert_same(result, expected)


@pytest.mark.parametrize("type", ["i1", *INTEGERS, *FLOATS, *COMPLEX])
def test_extrema(type):
    x, y = pair(type)
    got = elementwise(lambda b, x, y: (b.max(x, y), b.min(x, y)), [type, type], x, y)
    larger, smaller = np.maximum(x, y), np.minimum(x, y)
    if type in COMPLEX:
        known = ~(np.isnan(x) | np.isnan(y))
        assert_same(got[0][known], larger[known])
        assert_same(got[1][known], smaller[known])
        assert np.isnan(got[0][~known]).all() and np.isnan(got[1][~known]).all()
        return
    if type in FLOATS:
        both = (x == 0) & (y == 0)
        larger = np.where(both, x + y, larger)
        smaller = np.where(both, -(-x - y), smaller)
    assert_same(got[0], larger)
    assert_same(got[1], smaller)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 7, -1, -2, -3])
def test_integer_pow(n):
    x = np.linspace(-3, 3, 50)
    got = elementwise(lambda b, x: b.integer_pow(x, n), ["f64"], x)
    np.testing.assert_allclose(got, x ** float(n), rtol=1e-15)
    z = x + 1j
    got = elementwise(lambda b, x: b.integer_pow(x, n), ["c128"], z)
    np.testing.assert_allclose(got, z**n, rtol=1e-14)


@pytest.mark.parametrize("type", INTEGERS)
def test_powers_of_integers(type):
    x, _ = pair(type)
    y = np.resize(np.arange(0, 70), x.size).astype(x.dtype)
    got = elementwise(lambda b, x, y: b.pow(x, y), [type, type], x, y)
    bits = 8 * x.dtype.itemsize
    exact = [pow(a, c, 1 << bits) for a, c in zip(x.tolist(), y.tolist(), strict=True)]
    assert_same(got, np.array(exact, np.uint64).astype(f"u{bits // 8}").view(x.dtype))


def test_negative_powers_of_integers():
    x = np.array([1, -1, -1, 0, 2, -3], np.int32)
    y = np.array([-5, -3, -2, -1, -1, -2], np.int32)
    got = elementwise(lambda b, x, y: b.pow(x, y), ["i32", "i32"], x, y)
    assert got.tolist() == [1, -1, 1, 0, 0, 0]


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("fma", [True, False])
def test_float_remainder_is_exact(type, fma):
    rng = np.random.default_rng(1)
    digits = 37 if type == "f32" else 300
    wild = 10 ** rng.uniform(-digits, digits, (2, 400))
    tame = rng.uniform(-100, 100, (2, 400))
    whole = rng.integers(-9, 9, (2, 400))
    special = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 5e-324, 1e-45])
    grid = np.array(np.meshgrid(special, special)).reshape(2, -1)
    x, y = np.concatenate([wild, tame, whole, grid], 1).astype(DTYPES[type])
    got = elementwise(lambda b, x, y: b.rem(x, y), [type, type], x, y, fma=fma)
    assert_same(got, np.fmod(x, y))


# Rounding, comparison, selection


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("type", FLOATS)
def test_rounding(type, fma):
    x, _ = pair(type, count=300)
    x[20:60] = (np.arange(40) / 4 - 5).astype(x.dtype)
    names = ["floor", "ceil", "trunc", "round", "round_away"]
    got = elementwise(
        lambda b, x: [getattr(b, name)(x) for name in names], [type], x, fma=fma
    )
    wide = x.astype(np.float64)
    away = np.copysign(np.floor(np.abs(wide) + 0.5), wide)
    away = np.where(np.abs(wide) < 2.0**50, away, wide)
    exact = [np.floor(wide), np.ceil(wide), np.trunc(wide), np.rint(wide), away]
    for result, expected in zip(got, exact, strict=True):
        assert_same(result, expected.astype(x.dtype))


@pytest.mark.parametrize("type", ALL)
def test_comparisons(type):
    x, y = pair(type)
    y[::3] = x[::3]
    names = ["eq", "ne"] if type in COMPLEX else ["eq", "ne", "lt", "le", "gt", "ge"]
    got = elementwise(
        lambda b, x, y: [getattr(b, name)(x, y) for name in names], [type, type], x, y
    )
    ufuncs = [np.equal, np.not_equal, np.less, np.less_equal, np.greater]
    ufuncs.append(np.greater_equal)
    for result, ufunc in zip(got, ufuncs, strict=False):
        assert_same(result, ufunc(x, y))


@pytest.mark.parametrize("type", ALL)
def test_select_and_finite(type):
    x, y = pair(type)
    where = np.resize([True, False, True], x.size)

    def build(b, where, x, y):
        return b.select(where, x, y), b.convert(b.is_finite(x), "i1")

    got, finite = elementwise(build, ["i1", type, type], where, x, y)
    assert_same(got, np.where(where, x, y))
    wide = x.astype(np.complex128) if type in COMPLEX else x.astype(np.float64)
    assert_same(finite, np.isfinite(wide))


# Bits


@pytest.mark.parametrize("type", ["i1", *INTEGERS])
def test_logic(type):
    x, y = pair(type)

    def build(b, x, y):
        return b.and_(x, y), b.or_(x, y), b.xor(x, y), b.not_(x)

    got = elementwise(build, [type, type], x, y)
    for result, expected in zip(got, (x & y, x | y, x ^ y, ~x), strict=True):
        assert_same(result, expected)


@pytest.mark.parametrize("type", INTEGERS)
def test_shifts(type):
    x, _ = pair(type)
    width = 8 * x.dtype.itemsize
    amounts = [0, 1, 3, width - 1, width, width + 1, 100]
    if type in SIGNED:
        amounts.append(-1)
    amount = np.resize(np.array(amounts), x.size).astype(x.dtype)

    def build(b, x, amount):
        return (
            b.shift_left(x, amount),
            b.shift_right_logical(x, amount),
            b.shift_right_arithmetic(x, amount),
            b.shift_left(x, 2),
            b.shift_right_logical(x, width),
        )

    got = elementwise(build, [type, type], x, amount)
    unsigned = x.view(f"u{width // 8}").tolist()
    signed = x.view(f"i{width // 8}").tolist()
    limit, mask = amount.tolist(), (1 << width) - 1
    within = [0 <= s < width for s in limit]
    left = [v << s & mask if w else 0 for v, s, w in zip(unsigned, limit, within)]
    right = [v >> s if w else 0 for v, s, w in zip(unsigned, limit, within)]
    sign = [v >> (s if w else 99) & mask for v, s, w in zip(signed, limit, within)]
    fixed = [v << 2 & mask for v in unsigned]
    for result, expected in zip(got, (left, right, sign, fixed), strict=False):
        exact = np.array(expected, f"u{width // 8}").view(x.dtype)
        assert_same(result, exact)
    assert not got[4].any()


@pytest.mark.parametrize("type", INTEGERS)
def test_counts_and_high_products(type):
    x, y = pair(type)
    width = 8 * x.dtype.itemsize

    def build(b, x, y):
        return b.population_count(x), b.clz(x), b.mul_hi(x, y), b.rotate_left(x, 3)

    got = elementwise(build, [type, type], x, y)
    words = x.view(f"u{width // 8}").tolist()
    mask = (1 << width) - 1
    products = [a * c >> width & mask for a, c in zip(x.tolist(), y.tolist())]
    turned = [(v << 3 | v >> (width - 3)) & mask for v in words]
    exact = [
        [v.bit_count() for v in words],
        [width - v.bit_length() for v in words],
        products,
        turned,
    ]
    for result, expected in zip(got, exact, strict=True):
        assert_same(result, np.array(expected, f"u{width // 8}").view(x.dtype))


@pytest.mark.parametrize("type", FLOATS)
def test_nextafter(type):
    x, y = pair(type)
    y[::5] = x[::5]
    got = elementwise(lambda b, x, y: b.nextafter(x, y), [type, type], x, y)
    assert_same(got, np.nextafter(x, y))


def test_threefry_of_the_paper():
    """Known answers of the reference implementation, Random123."""
    key0 = np.array([0, 0xFFFFFFFF, 0x13198A2E], np.uint32)
    key1 = np.array([0, 0xFFFFFFFF, 0x03707344], np.uint32)
    x0 = np.array([0, 0xFFFFFFFF, 0x243F6A88], np.uint32)
    x1 = np.array([0, 0xFFFFFFFF, 0x85A308D3], np.uint32)
    got = elementwise(
        lambda b, *words: b.threefry2x32(*words), ["u32"] * 4, key0, key1, x0, x1
    )
    assert [hex(v) for v in got[0]] == ["0x6b200159", "0x1cb996fc", "0xc4923a9c"]
    assert [hex(v) for v in got[1]] == ["0x99ba4efe", "0xbb002be7", "0x483df7a0"]


# Conversions


def converted(x, source, target):
    """NumPy's conversion, but floats to integers saturate and NaN becomes 0."""
    if source in COMPLEX and target not in [*COMPLEX, "i1"]:
        x = x.real
        source = "f32" if source == "c64" else "f64"
    if target not in INTEGERS or source not in FLOATS:
        return x.astype(DTYPES[target])
    info = np.iinfo(DTYPES[target])
    whole = []
    for value in x.astype(np.float64).tolist():
        if value != value:
            whole.append(0)
        elif np.isinf(value):
            whole.append(info.max if value > 0 else info.min)
        else:
            whole.append(min(max(int(value), info.min), info.max))
    return np.array(whole, DTYPES[target])


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("source", ALL)
def test_conversions_to_every_type(source, fma):
    x, _ = pair(source)
    got = elementwise(
        lambda b, x: [b.convert(x, target) for target in ALL], [source], x, fma=fma
    )
    for target, result in zip(ALL, got, strict=True):
        assert_same(result, converted(x, source, target))


def nearest_half(value, type):
    """The nearest 16-bit float to an exact number, ties to even."""
    dtype = DTYPES[type]
    with np.errstate(over="ignore"):
        guess = np.float64(value).astype(dtype)
    up, down = np.nextafter(guess, dtype(np.inf)), np.nextafter(guess, -dtype(np.inf))

    def rank(candidate):
        distance = abs(Fraction(float(candidate)) - Fraction(value))
        return distance, int(candidate.view(np.uint16)) & 1

    finite = [c for c in (guess, up, down) if np.isfinite(c.astype(np.float64))]
    return min(finite, key=rank)


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_wide_numbers_round_once_to_16_bits(type, fma):
    """Just beside the midpoints of 16-bit floats, where two roundings would err."""
    step = 2.0**-7 if type == "bf16" else 2.0**-10
    middles = 1 + step * (np.arange(40) + 0.5)
    x = np.concatenate([middles, middles * (1 + 2.0**-52), middles * (1 - 2.0**-52)])
    got = elementwise(lambda b, x: b.convert(x, type), ["f64"], x, fma=fma)
    exact = np.array([nearest_half(v, type) for v in x.tolist()])
    assert_same(got, exact)
    scale = 1 << (60 if type == "bf16" else 13)
    whole = (middles * scale).astype(np.int64)
    whole = np.concatenate([whole, whole + 1, whole - 1, -whole - 1])
    for source in ("i64", "u64"):
        part = whole if source == "i64" else np.abs(whole).astype(np.uint64)
        got = elementwise(lambda b, x: b.convert(x, type), [source], part, fma=fma)
        exact = np.array([nearest_half(v, type) for v in part.tolist()])
        assert_same(got, exact)


@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_every_16_bit_float_survives_a_load_and_a_store(type, fma):
    bits = np.arange(1 << 16, dtype=np.uint16)
    x = bits.view(DTYPES[type])
    wide, back, same = elementwise(
        lambda b, x: (b.convert(x, "f32"), b.bitcast(x, "u16"), x), [type], x, fma=fma
    )
    assert_same(wide, x.astype(np.float32))
    assert_same(same, x)
    known = x == x
    assert (back[known] == bits[known]).all()


@pytest.mark.parametrize(
    "source, target",
    [("f32", "i32"), ("f64", "u64"), ("f16", "i16"), ("bf16", "u16"), ("i8", "u8")],
)
def test_bitcasts(source, target):
    x, _ = pair(source)
    x = np.where(x == x, x, DTYPES[source](1))
    got = elementwise(lambda b, x: b.bitcast(x, target), [source], x)
    assert_same(got, x.view(DTYPES[target]))
    back = elementwise(lambda b, x: b.bitcast(x, source), [target], got)
    assert_same(back, x)


def test_bitcast_of_another_size_is_refused():
    block = Block(4, "v")
    with pytest.raises(TypeError, match="32-bit f32 as 64-bit i64: the sizes"):
        block.bitcast(block.constant(1.0, "f32"), "i64")


# Complex numbers


@pytest.mark.parametrize("type", COMPLEX)
def test_complex_arithmetic(type):
    rng = np.random.default_rng(2)
    parts = rng.standard_normal((4, 100)) * 10.0 ** rng.integers(-5, 6, (4, 100))
    x = (parts[0] + 1j * parts[1]).astype(DTYPES[type])
    y = (parts[2] + 1j * parts[3]).astype(DTYPES[type])

    def build(b, x, y):
        return (
            b.add(x, y),
            b.sub(x, y),
            b.mul(x, y),
            b.div(x, y),
            b.neg(x),
            b.conj(x),
            b.complex(b.imag(x), b.real(y)),
        )

    got = elementwise(build, [type, type], x, y)
    wide_x, wide_y = x.astype(np.complex128), y.astype(np.complex128)
    swapped = (x.imag + 1j * y.real).astype(x.dtype)
    exact = [x + y, x - y, wide_x * wide_y, wide_x / wide_y, -x, x.conj(), swapped]
    tolerance = 4 * np.finfo(x.dtype).eps
    for result, expected in zip(got, exact, strict=True):
        assert result.dtype == x.dtype
        error = np.abs(result.astype(np.complex128) - expected) / np.abs(expected)
        assert error.max() < tolerance


def test_complex_division_by_zero_and_infinity():
    x = np.array([1 + 1j, 1 + 1j, complex(np.inf, 1), 0j, 1e300 + 1e300j])
    y = np.array([0j, complex(np.inf, 0), 1 + 1j, 0j, 1e300 + 1e300j])
    got = elementwise(lambda b, x, y: b.div(x, y), ["c128", "c128"], x, y)
    assert got[0] == complex(np.inf, np.inf)
    assert got[1] == 0
    assert np.isinf(got[2].real) and np.isinf(got[2].imag)
    assert np.isnan(got[3].real) and np.isnan(got[3].imag)
    assert got[4] == 1


# Memory


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("type", ALL)
def test_masked_and_indexed_memory(type, lanes):
    """Elements are gathered backwards, scattered, and masked to the first `n`."""
    count, total = 11, 32
    rng = np.random.default_rng(3)
    source = samples(type, rng, total)
    source = np.where(source == source, source, DTYPES[type](1))
    block = Block(lanes, "v", label="loop")
    element = MEMORY_TYPE[type]
    here = block.add(block.lane_index(), block.broadcast("%i", "i64"))
    mask = block.lt(here, block.broadcast("%n", "i64"))
    back = block.sub(total - 1, here)
    address = block.raw(f"getelementptr {element}, ptr %a, i64 %i")
    loaded = block.load(address, type, mask)
    block.store(loaded, block.raw(f"getelementptr {element}, ptr %o0, i64 %i"), mask)
    gathered = block.gather("%a", back, type, mask)
    block.store(gathered, block.raw(f"getelementptr {element}, ptr %o1, i64 %i"), mask)
    block.scatter(loaded, "%o2", back, mask)
    one = block.load_scalar_broadcast("%a", type)
    block.store(one, block.raw(f"getelementptr {element}, ptr %o3, i64 %i"), mask)
    outputs = [np.zeros(total, source.dtype) for _ in range(4)]
    text = loop_text(block, "ptr %a, ptr %o0, ptr %o1, ptr %o2, ptr %o3")
    call(text, [source, *outputs], count)
    assert_same(outputs[0][:count], source[:count])
    assert_same(outputs[1][:count], source[::-1][:count].copy())
    assert_same(outputs[2][::-1][:count].copy(), source[:count])
    assert_same(outputs[3][:count], np.repeat(source[:1], count))
    empty = np.zeros(total - count, source.dtype)
    assert_same(outputs[0][count:], empty)
    assert_same(outputs[1][count:], empty)
    assert_same(outputs[2][: total - count], empty)


def test_scatter_of_equal_indices_keeps_the_last():
    block = Block(8, "v", label="loop")
    x = block.load("%a", "i32")
    block.scatter(x, "%o", block.constant(3, "i64"))
    source, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    call(loop_text(block, "ptr %a, ptr %o"), [source, out], 8)
    assert out.tolist() == [0, 0, 0, 7, 0, 0, 0, 0]


# Code generation


def everything(b, x, y):
    """Expressions that need branches, helpers, conversions and every float class."""
    wide = b.convert(x, "f64")
    half = b.mul(b.convert(x, "f16"), b.convert(y, "f16"))
    brain = b.exp(b.convert(x, "bf16"))
    z = b.exp(b.complex(wide, b.convert(y, "f64")))
    total = b.add(b.sin(x), b.rem(x, y))
    total = b.add(total, b.convert(b.lgamma(wide), "f32"))
    total = b.add(total, b.add(b.convert(half, "f32"), b.convert(brain, "f32")))
    total = b.add(total, b.convert(b.abs(z), "f32"))
    whole = b.convert(b.floor(x), "i32")
    return b.add(total, b.convert(b.div(whole, b.convert(y, "i32")), "f32"))


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_lanes_and_optimisation_do_not_change_bits(lanes):
    rng = np.random.default_rng(4)
    x = rng.uniform(-9, 9, 64).astype(np.float32)
    y = rng.uniform(-9, 9, 64).astype(np.float32)
    expected = elementwise(everything, ["f32", "f32"], x, y, lanes=8)
    for opt in (0, 2):
        got = elementwise(everything, ["f32", "f32"], x, y, lanes=lanes, opt=opt)
        assert_same(got, expected)


def test_two_blocks_share_a_function():
    """Prefixes keep registers and labels apart."""
    first = Block(8, "a", label="loop")
    x = first.load("%a", "f32")
    first.store(first.sin(x), "%o0")
    second = Block(8, "b", label=first.label)
    y = second.load("%a", "f32")
    second.store(second.sin(y), "%o1")
    second.lines[:0] = first.lines
    second.declarations |= first.declarations
    source = np.linspace(0, 1e9, 8).astype(np.float32)
    outs = [np.zeros(8, np.float32) for _ in range(2)]
    call(loop_text(second, "ptr %a, ptr %o0, ptr %o1"), [source, *outs], 8)
    assert_same(outs[0], outs[1])
    np.testing.assert_allclose(outs[0], np.sin(source.astype(np.float64)), rtol=1e-6)


def test_the_oldest_x86_64_needs_no_library():
    """No call but to our own helpers in code for the baseline processor."""
    llvm = native_llvm.binding()
    native_llvm.target()
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    machine = target.create_target_machine(cpu="x86-64", features="", opt=1)
    text, _ = elementwise_text(everything, ["f32", "f32"], 4, fma=False)
    module = llvm.parse_assembly(text)
    module.verify()
    assembly = machine.emit_assembly(module)
    calls = re.findall(r"(?:call|jmp)q?\s+([A-Za-z_]\w*)", assembly)
    assert all(name.startswith("tetrad_math_") for name in calls), calls
