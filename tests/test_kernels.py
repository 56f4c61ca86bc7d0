"""Kernels made by hand against NumPy: sorts and running folds.

`call` runs the launches that a builder returns on guarded memory: nothing but the
results, the scratch memory and the padding may change.
"""

import ctypes
import itertools
import math
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from tetrad._src.core.avals import Aval, dense_strides
from tetrad._src.cpu import engine, kernels
from tetrad._src.cpu.kernels import In, Operand, Out, Tmp, sort_radix, sort_vector
from tetrad._src.cpu.pool import Opcode, make_job, native

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.dtype(f"{k}{n}") for k in ("int", "uint") for n in (8, 16, 32, 64)]
FLOATS = [np.dtype("float16"), BFLOAT16, np.dtype("float32"), np.dtype("float64")]
COMPLEX = [np.dtype("complex64"), np.dtype("complex128")]
ORDERED = [np.dtype(bool), *INTEGERS, *FLOATS]
DTYPES = [*ORDERED, *COMPLEX]
EXTENTS = (0, 1, 2, 3, 8, 15, 16, 17, 31, 33, 64, 65, 127, 129, 257, 1000)
PADDING = 128
GUARD = 0xA5

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Memory:
    """Aligned bytes between guards."""

    def __init__(self, nbytes, padding=PADDING):
        self.raw = np.full(nbytes + padding + 192, GUARD, np.uint8)
        self.start = 64 + -self.raw.ctypes.data % 64
        self.end = self.start + nbytes
        self.limit = self.end + padding
        self.address = self.raw.ctypes.data + self.start

    def array(self, shape, dtype):
        return self.raw[self.start : self.end].view(dtype).reshape(shape)

    def check(self):
        outside = (self.raw[: self.start], self.raw[self.limit :])
        assert all((part == GUARD).all() for part in outside), "wrote out of bounds"


def call(name, parameters, arrays, results=None):
    """The results of a kernel; by default they have the types of the operands."""
    kernel = kernels.find(name)
    operands, memory = [], {In: [], Out: [], Tmp: []}
    avals = [Aval(x.shape, x.dtype) for x in arrays]
    for position, (x, aval) in enumerate(zip(arrays, avals)):
        order = kernel.order(parameters, position, aval)
        moved = x.transpose(order)
        dense = dense_strides(moved.shape)
        strides = tuple([dense[order.index(d)] for d in range(x.ndim)])
        assert kernel.takes(parameters, position, aval, strides)
        operands.append(Operand(aval, strides, 0))
        memory[In].append(Memory(x.nbytes))
        memory[In][-1].array(moved.shape, x.dtype)[...] = moved
    results = avals if results is None else results
    memory[Out] = [Memory(aval.nbytes) for aval in results]
    made = kernel.build(parameters, operands, results)
    memory[Tmp] = [Memory(nbytes) for nbytes in made.temporaries]
    code = engine.assemble(made.text, made.symbols)
    words, instructions = [], []
    for launch in made.launches:
        first = len(words)
        for word in launch.words:
            if isinstance(word, (In, Out, Tmp)):
                block = memory[type(word)][word.number]
                words.append(block.address + word.bytes)
            else:
                words.append(word)
        shape = (launch.total, launch.chunk)
        instructions.append((Opcode.LAUNCH, code[launch.symbol], first, *shape))
    job = make_job(instructions, words)
    native().run_blocking(job.address)
    for block in itertools.chain(*memory.values()):
        block.check()
    return [m.array(x.shape, x.dtype).copy() for m, x in zip(memory[Out], results)]


def draw(rng, dtype, *shape, few=False):
    """Random elements; `few` different ones. Floats with NaNs, infinities and zeros."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        low, high = (0, 4) if few else (least, most)
        return rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    if dtype.kind == "c":
        parts = [draw(rng, np.dtype("float64"), *shape, few=few) for _ in range(2)]
        made = np.empty(shape, np.complex128)
        made.real, made.imag = parts
        return made.astype(dtype)
    x = rng.integers(-2, 3, shape) * 1.0 if few else rng.standard_normal(shape) * 100
    odd = rng.choice([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
    return np.where(rng.random(shape) < 0.2, odd, x).astype(dtype)


# -------------------------------------------------------------------------- sorting


def sort(arrays, keys=1, axis=-1):
    axis %= arrays[0].ndim
    parameters = {"dimension": axis, "num_keys": keys, "is_stable": True}
    return call("sort", parameters, arrays)


def parts(x):
    """What NumPy sorts by, the most important first: NaN is last, −0 equals 0."""
    if x.dtype.kind == "c":
        return [*parts(x.real), *parts(x.imag)]
    if x.dtype.kind in "biu":
        return [x]
    wide = x.astype(np.float64)
    return [np.isnan(wide), np.where(np.isnan(wide), 0, wide) + 0.0]


def sorted_by_numpy(arrays, keys, axis):
    by = [np.moveaxis(part, axis, -1) for x in arrays[:keys] for part in parts(x)]
    order = np.moveaxis(np.lexsort(by[::-1], axis=-1), -1, axis)
    return [np.take_along_axis(x, order, axis) for x in arrays]


def check_sort(arrays, keys=1, axis=-1):
    wanted = sorted_by_numpy(arrays, keys, axis)
    for got, want in zip(sort(arrays, keys, axis), wanted, strict=True):
        # Bytes: zeros and NaNs of any sign keep their order, too.
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort_of_one_operand(dtype):
    rng = np.random.default_rng(0)
    for n, few in itertools.product(EXTENTS, (False, True)):
        check_sort([draw(rng, dtype, 3, n, few=few)])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort_is_stable(dtype):
    rng = np.random.default_rng(1)
    for n, few in itertools.product(EXTENTS, (False, True)):
        places = np.broadcast_to(np.arange(n, dtype=np.int32), (2, n))
        check_sort([draw(rng, dtype, 2, n, few=few), places])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort_of_long_rows(dtype):
    rng = np.random.default_rng(2)
    n = 100003
    places = np.arange(n, dtype=np.int32)
    check_sort([draw(rng, dtype, n)])
    check_sort([draw(rng, dtype, n), places])
    check_sort([draw(rng, dtype, 2, 40001, few=True)])
    check_sort([draw(rng, dtype, n, few=True), places])


def test_sort_by_several_keys():
    rng = np.random.default_rng(3)
    for dtype in DTYPES:
        others = [DTYPES[i] for i in rng.integers(len(DTYPES), size=3)]
        made = [draw(rng, d, 2, 300, few=True) for d in (dtype, *others)]
        check_sort(made, keys=3)
    check_sort(
        [draw(rng, np.dtype("int8"), 70001), draw(rng, FLOATS[3], 70001)], keys=2
    )


@pytest.mark.parametrize(
    "shape, axis",
    [((5, 7, 9), 0), ((5, 7, 9), 1), ((5, 7, 9), 2), ((3, 40, 33), 1), ((40, 3, 33), 0),
     ((2, 0, 3), 1), ((0, 2, 3), 1), ((4, 1, 3), 1), ((40001, 3), 0), ((1000, 20), 0)],
)  # fmt: skip
def test_sort_along_any_axis(shape, axis):
    rng = np.random.default_rng(4)
    for dtype in (np.dtype(bool), np.dtype("int16"), FLOATS[2], COMPLEX[1]):
        check_sort([draw(rng, dtype, *shape, few=True)], axis=axis)
        rest = [draw(rng, d, *shape) for d in (FLOATS[3], np.dtype("int8"))]
        check_sort([draw(rng, dtype, *shape, few=True), *rest], axis=axis)


def test_sort_of_many_short_rows():
    rng = np.random.default_rng(5)
    for n in (2, 5, 16, 30):
        check_sort([draw(rng, FLOATS[2], 5000, n)])
        check_sort([draw(rng, FLOATS[3], 3000, n), draw(rng, np.dtype("u8"), 3000, n)])


def test_sort_of_integers_that_agree_in_one_half():
    rng = np.random.default_rng(6)
    for shift in (0, 32):
        x = rng.integers(0, 1000, 50000) << shift
        check_sort([x, np.arange(50000)])


def test_sort_refuses_rows_that_records_cannot_number():
    aval = Aval((1 << 32,), np.float32)
    parameters = {"dimension": 0, "num_keys": 1, "is_stable": True}
    with pytest.raises(NotImplementedError, match="fewer than 2\\*\\*32 elements"):
        kernels.find("sort").build(parameters, [Operand(aval, (1,), 0)], [aval])


def check_top(x, k, axis=-1):
    axis %= x.ndim
    shape = [k if d == axis else n for d, n in enumerate(x.shape)]
    results = [Aval(shape, x.dtype), Aval(shape, np.dtype("int32"))]
    values, places = call("top_k", {"k": k, "axis": axis}, [x], results)
    backwards = -np.arange(x.shape[axis]).reshape(-1, *[1] * (x.ndim - 1 - axis))
    by = [np.broadcast_to(backwards, x.shape), *parts(x)[::-1]]
    order = np.flip(np.lexsort([np.moveaxis(b, axis, -1) for b in by], axis=-1), -1)
    want = np.moveaxis(order[..., :k], -1, axis)
    np.testing.assert_array_equal(places, want)
    assert values.tobytes() == np.take_along_axis(x, want, axis).tobytes()


@pytest.mark.parametrize("dtype", ORDERED, ids=str)
def test_top_k(dtype):
    rng = np.random.default_rng(9)
    for n, few in itertools.product((0, 1, 5, 33, 1000, 9000, 50021), (False, True)):
        for k in sorted({0, min(1, n), min(7, n), n // 2, n}):
            check_top(draw(rng, dtype, 2, n, few=few), k)


@pytest.mark.parametrize("shape, axis", [((5, 7, 9), 0), ((5, 7, 9), 1), ((0, 4), 1),
                                         ((6000, 3), 0), ((3, 1, 4), 1)])  # fmt: skip
def test_top_k_along_any_axis(shape, axis):
    for dtype in (FLOATS[1], FLOATS[3]):
        x = draw(np.random.default_rng(10), dtype, *shape)
        check_top(x, min(2, shape[axis]), axis)


def shapes_of_order(rng, n, most):
    """Arrays that are awkward for one sort or the other."""
    yield rng.integers(-most, most, n)
    yield rng.integers(0, 3, n)
    yield np.full(n, 7)
    yield np.arange(n)
    yield np.arange(n)[::-1]
    yield np.concatenate([np.arange(n // 2), np.arange(n - n // 2)[::-1]])
    yield np.arange(n) % 256
    yield np.where(np.arange(n) % (n // 256 + 1) == 0, 0, rng.integers(0, most, n))


@pytest.mark.parametrize("core", [sort_radix, sort_vector], ids=["radix", "vector"])
def test_sorts_of_integers(core):
    if core is sort_vector and engine.vector_bits() != 512:
        pytest.skip("this processor has no 512-bit vectors")
    rng = np.random.default_rng(7)
    for kind, dtype in (("i32", "i4"), ("i64", "i8"), ("records", "i8")):
        bits = 32 if kind == "i32" else 64
        code = engine.assemble(core.module_text(bits), sort_radix.names(bits))
        arguments = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
        symbol = f"tetrad_sort_{kind}"
        function = engine.function(code[symbol], None, *arguments, gil=False)
        most = 1 << (62 if kind == "i64" else 30)
        for n in (*EXTENTS[1:], 20011):
            for made in shapes_of_order(rng, n, most):
                x = made.astype(dtype)
                if kind == "records":
                    x = (x << 32) | np.arange(n)
                memory = Memory(x.nbytes, padding=0)
                memory.array(n, dtype)[...] = x
                scratch = Memory((n + sort_radix.SLACK) * x.itemsize, padding=0)
                function(memory.address, n, scratch.address)
                np.testing.assert_array_equal(memory.array(n, dtype), np.sort(x))
                memory.check()
                scratch.check()


# --------------------------------------------------------------------- running folds


def cumulative(x, fold, axis=0, reverse=False):
    parameters = {"fold": fold, "axis": axis, "reverse": reverse}
    return call("cumulative", parameters, [x])[0]


def folded_by_numpy(x, fold, axis, reverse):
    """In long double, or in the dtype of integers."""
    ufuncs = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
              "logaddexp": np.logaddexp}  # fmt: skip
    exact = x.dtype.kind in "biu"
    wide = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    y = x if exact else x.astype(wide)
    if reverse:
        y = np.flip(y, axis)
    dtype = x.dtype if exact else None
    y = ufuncs[fold].accumulate(y, axis=axis, dtype=dtype)
    return np.flip(y, axis) if reverse else y


def folds_of(dtype):
    folds = [] if dtype.kind == "b" else ["add", "mul"]
    folds += [] if dtype.kind == "c" else ["max", "min"]
    return folds + ["logaddexp"] * (dtype in FLOATS)


def epsilon(dtype):
    part = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype)
    return float(ml_dtypes.finfo(part).eps)


def check_fold(rng, dtype, fold, shape, axis, reverse, ulp=3.0):
    """`ulp`: of the largest result for sums; of each result, plus 1, for others."""
    if dtype.kind in "biu":
        x = draw(rng, dtype, *shape)
    elif fold == "mul":
        x = np.exp(rng.standard_normal(shape) * 0.01) * rng.choice([-1.0, 1.0], shape)
    else:
        x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x * np.exp(1j * rng.standard_normal(shape))
    x = x.astype(dtype)
    got = cumulative(x, fold, axis, reverse)
    want = folded_by_numpy(x, fold, axis, reverse)
    if dtype.kind in "biu" or fold in ("max", "min"):
        np.testing.assert_array_equal(got, want.astype(dtype))
    elif got.size:
        size = np.abs(want)
        scale = np.max(size) if fold == "add" else size + 1
        assert np.max(np.abs(got.astype(want.dtype) - want) / scale) < ulp * epsilon(
            dtype
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_running_folds_of_rows(dtype):
    rng = np.random.default_rng(0)
    for fold, reverse in itertools.product(folds_of(dtype), (False, True)):
        ulp = 30.0 if fold == "mul" else 3.0
        for n in EXTENTS:
            check_fold(rng, dtype, fold, (3, n), 1, reverse, ulp)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_running_folds_along_any_axis(dtype):
    rng = np.random.default_rng(1)
    shapes = [((5, 17, 70), 1), ((9, 4, 3), 0), ((9, 4, 3), 1), ((0, 9), 0), ((9, 0), 0),
              ((5, 600), 0), ((2, 5, 8), 1), ((30, 33), 0)]  # fmt: skip
    for position, fold in enumerate(folds_of(dtype)):
        reverse = (position + DTYPES.index(dtype)) % 2 == 0
        for shape, axis in shapes:
            check_fold(rng, dtype, fold, shape, axis, reverse, 10.0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_running_folds_of_long_rows(dtype):
    rng = np.random.default_rng(2)
    ulps = {"mul": 400.0, "logaddexp": 50.0}
    for fold, reverse in itertools.product(folds_of(dtype), (False, True)):
        check_fold(rng, dtype, fold, (100003,), 0, reverse, ulps.get(fold, 3.0))


def test_running_sums_of_columns_are_accurate():
    rng = np.random.default_rng(3)
    for dtype in (*FLOATS, *COMPLEX):
        check_fold(rng, dtype, "add", (20000, 9), 0, False, 1.0)


@pytest.mark.parametrize("dtype", FLOATS[2:], ids=str)
def test_running_folds_of_special_values(dtype):
    row = np.array([-0.0, 1, np.inf, 3, -0.0, -np.inf, 2, np.nan, 1] * 5, dtype)
    for fold, n in itertools.product(folds_of(dtype), (1, 2, 3, 5, 7, 8, 45)):
        x = row[:n]
        want = folded_by_numpy(x, fold, 0, False).astype(dtype)
        for got in (
            cumulative(x, fold),
            cumulative(np.tile(x[:, None], 9), fold)[:, 4],
        ):
            np.testing.assert_allclose(got, want, rtol=1e-6)
            np.testing.assert_array_equal(np.signbit(got)[:3], np.signbit(want)[:3])


def test_running_extremes_order_zeros():
    x = np.array([-0.0, 0.0, -0.0], np.float32)
    assert list(np.signbit(cumulative(x, "max"))) == [True, False, False]
    assert list(np.signbit(cumulative(x[1:], "min"))) == [False, True]


def test_blocks_do_not_depend_on_threads():
    x = np.random.default_rng(4).standard_normal(200001).astype(np.float32)
    threads = native().num_threads
    first = cumulative(x, "add")
    try:
        native().set_num_threads(3)
        assert first.tobytes() == cumulative(x, "add").tobytes()
    finally:
        native().set_num_threads(threads)


# ------------------------------------------------------------------- other processors


@pytest.mark.skipif(
    os.environ.get("TETRAD_CPU", "") != "" or not engine.OWN_LOADER,
    reason="compiles for another x86-64 processor",
)
def test_kernels_without_512_bit_vectors():
    few = (
        "test_sort_of_long_rows and (float32 or int64)"
        " or test_running_folds_along_any_axis and float32"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    command += ["-k", few]
    environment = os.environ | {"TETRAD_CPU": "x86-64-v3"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_draws_hold_what_is_hard():
    made = draw(np.random.default_rng(8), FLOATS[2], 500)
    assert np.isnan(made).any() and math.isinf(np.nanmax(made))
    assert {True, False} == set(np.signbit(made[made == 0]))
