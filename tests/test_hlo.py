"""The second backend: StableHLO text, and everything on the devices of a PJRT plugin."""

import gc
import os
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from plugin import PATH, PLATFORM, needs_plugin, on_plugin
from support import assert_close

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.core.avals import Aval
from tetrad._src.core.op import Kind, Op
from tetrad._src.core.stage import restage
from tetrad._src.hlo import types
from tetrad._src.hlo.donation import donations
from tetrad._src.hlo.emit import emit

pytestmark = needs_plugin


def jaxpr_of(fun, *shapes, dtype="float32"):
    avals = [Aval(shape, np.dtype(dtype)) for shape in shapes]
    return restage(lambda *xs: [fun(*xs)], avals)


@pytest.fixture
def device():
    """The first device of the plugin, checked to hold nothing more afterwards."""
    found = jax.devices(PLATFORM)[0]
    gc.collect()
    before = found.memory_stats()["bytes_in_use"]
    yield found
    gc.collect()
    assert found.memory_stats()["bytes_in_use"] == before


# -------------------------------------------------------------------------------- text


def test_text_of_a_module():
    text = emit(jaxpr_of(lambda x: lax.reduce_sum(lax.mul(x, 2.0), (0,)), (3,)))
    assert text == "\n".join(
        [
            "module @tetrad {",
            "  func.func public @main(%arg0: tensor<3xf32>) -> (tensor<f32>) {",
            '    %0 = "stablehlo.constant"() {value = dense<2.0> : tensor<f32>} : () ->'
            " tensor<f32>",
            '    %1 = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64>}'
            " : (tensor<f32>) -> tensor<3xf32>",
            '    %2 = "stablehlo.multiply"(%arg0, %1) : (tensor<3xf32>, tensor<3xf32>) ->'
            " tensor<3xf32>",
            '    %3 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () ->'
            " tensor<f32>",
            '    %4 = "stablehlo.reduce"(%2, %3) ({',
            "    ^bb0(%5: tensor<f32>, %6: tensor<f32>):",
            '      %7 = "stablehlo.add"(%5, %6) : (tensor<f32>, tensor<f32>) ->'
            " tensor<f32>",
            '      "stablehlo.return"(%7) : (tensor<f32>) -> ()',
            "    }) {dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) ->"
            " tensor<f32>",
            "    func.return %4 : tensor<f32>",
            "  }",
            "}",
            "",
        ]
    )


NUMBERS = {
    "bool": [True, False, True],
    "int8": [-128, 0, 127],
    "uint64": [0, 1, 2**64 - 1],
    "int64": [-(2**63), 5, 2**63 - 1],
    "float16": [0.1, -0.0, np.inf],
    "bfloat16": [0.1, -3e38, np.nan],
    "float32": [0.1, 1e-45, -np.inf],
    "float64": [0.1, 5e-324, 1.7e308],
    "complex64": [0.1 + 2j, complex(-0.0, np.nan), complex(np.inf, -1e-40)],
    "complex128": [0.1 + 2j, complex(-0.0, np.inf), 1e-310j],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_constants_keep_their_bits(name):
    dtype = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
    host = np.array(NUMBERS[name], dtype)
    backend = jax.devices(PLATFORM)[0].backend
    literals = [*host, host, host[:1], host[:0], host.reshape(1, 3), host.repeat(2)[:2]]

    def constants():
        return [
            lax.broadcast_in_dim(x, np.shape(x), range(np.ndim(x))) for x in literals
        ]

    with jax.enable_x64(True):
        program = backend.compile(restage(constants, []), ())
    device = jax.devices(PLATFORM)[0]
    places = [None] * len(literals)
    outs = backend.execute(program, [], [], places, device, places)
    for out, aval, literal in zip(outs, program.out_avals, literals):
        got = backend.get(out, aval)
        assert got.shape == np.shape(literal)
        assert got.tobytes() == np.asarray(literal).tobytes()


def test_every_operation_can_be_written():
    def classes(cls):
        for sub in cls.__subclasses__():
            yield sub
            yield from classes(sub)

    families = {"Unary", "Binary", "Compare", "Elementwise", "Rearrange", "Reduce"}
    # What the CPU makes of operations that StableHLO has; and LAPACK, which it has not.
    families |= {"FourierRows", "Roots", "Patches", "Lapack", "PivotsToPermutation"}
    missing = []
    for cls in classes(Op):
        known = cls.hlo is not None or cls.expand is not None
        known = known or (cls.kind is Kind.REDUCE and cls.merge is not None)
        ours = cls.__module__.startswith("tetrad._src.ops.")
        if ours and not known and not cls.__subclasses__():
            missing.append(cls.__name__)
    assert not set(missing) - families


def test_dtypes_that_have_no_name():
    with pytest.raises(NotImplementedError, match="int2 cannot go to a PJRT device"):
        types.tensor(Aval((2,), np.dtype(ml_dtypes.int2)))


# ------------------------------------------------------------------- elementwise, by dtype

FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
REAL = FLOATS + INTEGERS
ALL = [*REAL, *COMPLEX, "bool"]

# Name: dtypes, the ULP by which two good implementations may differ, and from where on.
SMOOTH = 8
ELEMENTWISE = {
    "neg": (FLOATS + COMPLEX + INTEGERS, 0),
    "abs": (REAL + COMPLEX, 2),
    "sign": (REAL + COMPLEX, 4),
    "floor": (FLOATS, 0),
    "ceil": (FLOATS, 0),
    "round": (FLOATS, 0),
    "is_finite": (FLOATS, 0),
    "square": (REAL + COMPLEX, 2),
    "sqrt": (FLOATS + COMPLEX, 4),
    "rsqrt": (FLOATS + COMPLEX, 8),
    "cbrt": (FLOATS, 4),
    "exp": (FLOATS + COMPLEX, SMOOTH),
    "exp2": (FLOATS, SMOOTH),
    "expm1": (FLOATS, SMOOTH),
    "log": (FLOATS + COMPLEX, SMOOTH),
    "log1p": (FLOATS, SMOOTH),
    "logistic": (FLOATS, SMOOTH),
    "sin": (FLOATS + COMPLEX, SMOOTH),
    "cos": (FLOATS + COMPLEX, SMOOTH),
    "tan": (FLOATS, SMOOTH),
    "sinh": (FLOATS, SMOOTH),
    "cosh": (FLOATS, SMOOTH),
    "tanh": (FLOATS + COMPLEX, SMOOTH),
    "asinh": (FLOATS, 16),
    "atan": (FLOATS, SMOOTH),
    "erf": (FLOATS, SMOOTH),
    "erfc": (FLOATS, 16),
    "lgamma": (FLOATS, 256),
    "digamma": (FLOATS, 64),
    "bitwise_not": ([*INTEGERS, "bool"], 0),
    "population_count": (INTEGERS, 0),
    "clz": (INTEGERS, 0),
    "real": (COMPLEX, 0),
    "imag": (COMPLEX, 0),
    "conj": (COMPLEX, 0),
    "copy": (ALL, 0),
    "stop_gradient": (ALL, 0),
    "add": (FLOATS + COMPLEX + INTEGERS, 0),
    "sub": (FLOATS + COMPLEX + INTEGERS, 0),
    "mul": (FLOATS + COMPLEX + INTEGERS, 2),
    "div": (FLOATS + COMPLEX + INTEGERS, 4),
    "rem": (FLOATS + INTEGERS, 0),
    "max": (REAL, 0),
    "min": (REAL, 0),
    "pow": (FLOATS, SMOOTH),
    "atan2": (FLOATS, SMOOTH),
    "nextafter": (["float32", "float64"], 0),
    "eq": (ALL, 0),
    "ne": (ALL, 0),
    "lt": ([*REAL, "bool"], 0),
    "le": ([*REAL, "bool"], 0),
    "gt": ([*REAL, "bool"], 0),
    "ge": ([*REAL, "bool"], 0),
    "bitwise_and": ([*INTEGERS, "bool"], 0),
    "bitwise_or": ([*INTEGERS, "bool"], 0),
    "bitwise_xor": ([*INTEGERS, "bool"], 0),
    "shift_left": (INTEGERS, 0),
    "shift_right_logical": (INTEGERS, 0),
    "shift_right_arithmetic": (INTEGERS, 0),
}
BINARY = set(list(ELEMENTWISE)[list(ELEMENTWISE).index("add") :])


def sample(dtype, seed, low=-3, high=4):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(12) < 0.5
    if dtype in INTEGERS:
        low = 0 if dtype in UNSIGNED else low
        return rng.integers(low, high + 4, 12).astype(dtype)
    x = rng.uniform(low, high, 12)
    if dtype in COMPLEX:
        x = x + 1j * rng.uniform(low, high, 12)
    return x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def on(device, fun, *hosts):
    """What `fun` gives on a device, as NumPy arrays."""
    outs = fun(*[jax.device_put(host, device) for host in hosts])
    leaves = jax.tree.leaves(outs)
    assert all(leaf.device == device for leaf in leaves)
    return [np.asarray(leaf) for leaf in leaves]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operations_agree_with_the_cpu(name, device):
    dtypes, ulp = ELEMENTWISE[name]
    function = getattr(lax, name)
    cpu = jax.devices("cpu")[0]
    positive = name in ("sqrt", "rsqrt", "log", "pow", "lgamma", "digamma", "log1p")
    low = 0.2 if positive else -3
    hosts = []
    for dtype in dtypes:
        x = sample(dtype, 0, low if dtype not in INTEGERS else -3)
        y = sample(dtype, 1, 1 if dtype in INTEGERS else -3)
        if name in ("div", "rem") and dtype in UNSIGNED:
            y = y + y.dtype.type(1)
        hosts.append((x, y) if name in BINARY else (x,))

    def everything(*xs):  # one program for all dtypes
        xs = iter(xs)
        return [function(*[next(xs) for _ in pair]) for pair in hosts]

    with jax.enable_x64(True):
        flat = [x for pair in hosts for x in pair]
        got, want = on(device, everything, *flat), on(cpu, everything, *flat)
    for dtype, one, other in zip(dtypes, got, want):
        try:
            assert_close(one, other, ulp)
        except AssertionError as error:
            raise AssertionError(f"{dtype}: {error}") from None


PAIRS = [(a, b) for a in ALL for b in ALL if not (a in COMPLEX and b not in COMPLEX)]


def test_conversions_agree_with_the_cpu(device):
    hosts = {dtype: sample(dtype, 3) for dtype in ALL}

    def everything(*xs):
        named = dict(zip(ALL, xs))
        return [lax.convert_element_type(named[a], b) for a, b in PAIRS]

    with jax.enable_x64(True):
        got = on(device, everything, *hosts.values())
        want = on(jax.devices("cpu")[0], everything, *hosts.values())
    for (a, b), one, other in zip(PAIRS, got, want):
        skip = a in FLOATS + COMPLEX and b in UNSIGNED  # of negative numbers: open
        if not skip:
            np.testing.assert_array_equal(one, other, err_msg=f"{a} to {b}")


UNIT = ["asin", "acos", "atanh", "erf_inv"]


def test_functions_on_the_unit_interval(device):
    x = np.linspace(-0.95, 0.95, 21).astype("f")

    def everything(x):
        return [*[getattr(lax, name)(x) for name in UNIT], lax.acosh(x + 2.5)]

    got = on(device, everything, x)
    want = on(jax.devices("cpu")[0], everything, x)
    for one, other in zip(got, want):
        assert_close(one, other, 16)


def test_other_elementwise_operations(device):
    x = np.linspace(0.5, 3, 7).astype("f")

    def everything(x):
        return [
            lax.select(x > 1, x, -x),
            lax.clamp(1.0, x, 2.0),
            lax.integer_pow(x, 3),
            lax.integer_pow(x, -2),
            lax.reduce_precision(x, 5, 7),
            lax.complex(x, -x),
            lax.bitcast_convert_type(x, "int32"),
            lax.bitcast_convert_type(x, "uint8"),
            lax.zeta(x + 1.5, x),
            lax.polygamma(1.0 + 0 * x, x),
            lax.round(x * 2 + 0.5, lax.RoundingMethod.TO_NEAREST_EVEN),
        ]

    got = on(device, everything, x)
    want = on(jax.devices("cpu")[0], everything, x)
    for one, other in zip(got, want):
        assert_close(one, other, 64)


# ---------------------------------------------------------------------------- structural


def test_products_and_folds_of_small_types(device):
    bits = np.random.default_rng(0).random((4, 5)) < 0.4
    half = np.linspace(0, 1, 4096).astype(ml_dtypes.bfloat16)

    def everything(x, h):
        matmul = (((1,), (1,)), ((), ()))
        return [
            lax.dot_general(x, x, matmul),
            lax.dot_general(x.astype("int8"), x.astype("int8"), matmul),
            lax.dot_general(x.astype("float16"), x.astype("float16"), matmul),
            lax.dot_general(
                h[:20].reshape(4, 5),
                h[:20].reshape(4, 5),
                matmul,
                preferred_element_type=np.float32,
            ),
            lax.reduce_sum(h, (0,)),
            lax.reduce_prod(h[-64:], (0,)),
            lax.reduce_max(h, (0,)),
            lax.argmin(h, 0, "int8"),
            lax.argmax(x, 1, "uint8"),
            lax.reduce_or(x, (0, 1)),
        ]

    got = on(device, everything, bits, half)
    want = on(jax.devices("cpu")[0], everything, bits, half)
    for one, other in zip(got, want):
        assert_close(one, other, 4)


def test_first_nan_and_lowest_index_win(device):
    x = np.array([[1, np.nan, 3, np.nan], [2, 5, 5, 1], [-np.inf] * 4], "f")
    with on_plugin():
        x = jnp.asarray(x)
        np.testing.assert_array_equal(lax.argmax(x, 1, "int32"), [1, 1, 0])
        np.testing.assert_array_equal(lax.argmin(x, 1, "int32"), [1, 3, 0])
    del x


def test_order_of_nan_zeros_and_complex_numbers(device):
    x = np.array([3, np.nan, -0.0, 0.0, -np.inf, np.inf], "f")
    z = np.array([2 + 1j, 1 + 5j, 2 - 1j, 1 + 4j], "complex64")
    bits = np.array([True, False, True])

    def everything(x, z, bits):
        return [
            lax.sort(x), lax.sort(z), lax.sort(bits), *lax.top_k(x, 3),
            *lax.sort((x > 0, x, lax.iota("int32", 6)), num_keys=2),
        ]  # fmt: skip

    got = on(device, everything, x, z, bits)
    want = on(jax.devices("cpu")[0], everything, x, z, bits)
    for one, other in zip(got, want):
        np.testing.assert_array_equal(one, other)
        if one.dtype == np.float32:
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def test_empty_arrays_and_many_axes(device):
    def everything(x, y):
        return [
            x + 1, x.sum(0), lax.concatenate([x, x], 0), jnp.sort(x), x.T @ x, x @ x.T,
            x.reshape(4, 0, 2), lax.reduce_max(x, (1,)), y.sum((1, 3, 5)),
            y.transpose(5, 4, 3, 2, 1, 0), y[::-1, ..., 1:], x.at[:].set(0),
        ]  # fmt: skip

    x, y = np.zeros((0, 3), "f"), np.arange(64.0, dtype="f").reshape((2,) * 6)
    want = [
        x, np.zeros(3), x, x, np.zeros((3, 3)), np.zeros((0, 0)),
        np.zeros((4, 0, 2)), np.zeros(0), y.sum((1, 3, 5)), y.T, y[::-1, ..., 1:], x,
    ]  # fmt: skip
    for one, other in zip(on(device, everything, x, y), want):
        np.testing.assert_array_equal(one, other)
        assert one.shape == other.shape


def test_random_numbers_are_those_of_the_cpu(device):
    def everything(seed):
        key = jax.random.key(seed)
        one, two = jax.random.split(key)
        return [
            jax.random.key_data(one),
            jax.random.key_data(jax.random.fold_in(two, 7)),
            jax.random.bits(one, (5,), "uint8"),
            jax.random.uniform(two, (4, 3)),
            jax.random.randint(jax.random.fold_in(one, 1), (6,), -10, 10),
            jax.random.permutation(jax.random.fold_in(one, 2), 9),
        ]

    seed = np.int32(42)
    got, want = (
        on(device, everything, seed),
        on(jax.devices("cpu")[0], everything, seed),
    )
    for one, other in zip(got, want):
        np.testing.assert_array_equal(one, other)


def test_keys_travel(device):
    key = jax.random.key(3)
    there = jax.device_put(key, device)
    assert there.device == device and there.dtype == key.dtype
    back = jax.device_put(jax.random.split(there), jax.devices("cpu")[0])
    np.testing.assert_array_equal(
        jax.random.key_data(back),
        jax.random.key_data(jax.random.split(jax.random.clone(key))),
    )
    del there


# ------------------------------------------------------------ arrays, programs, transforms


def test_devices_and_transfers(device):
    found = jax.devices(PLATFORM)
    assert found[0] is device and device.platform == PLATFORM and device.device_kind
    assert str(device) == "xla_cpu:0"
    host = np.arange(12.0, dtype="f").reshape(3, 4)[:, ::2]
    x = jax.device_put(host, device)
    host[:] = 0
    assert x.device == device and x.committed and x.is_ready() in (True, False)
    np.testing.assert_array_equal(x, [[0, 2], [4, 6], [8, 10]])
    view = np.asarray(x)
    assert not view.flags.writeable
    y = jax.device_put(x, jax.devices("cpu")[0])
    assert y.device.platform == "cpu" and x.device == device
    np.testing.assert_array_equal(y, x)
    assert x.unsafe_buffer_pointer() and x.T.block_until_ready().shape == (2, 3)
    for value in (
        np.float64(2.5),
        np.True_,
        np.uint8(200),
        1 + 2j,
        ml_dtypes.bfloat16(0.5),
    ):
        assert np.asarray(jax.device_put(value, device)) == value
    del x


def test_committed_arrays_of_two_devices_do_not_mix(device):
    x = jax.device_put(np.ones(2, "f"), device)
    y = jax.device_put(np.ones(2, "f"), jax.devices("cpu")[0])
    with pytest.raises(ValueError, match=r"xla_cpu:0 and cpu:0|cpu:0 and xla_cpu:0"):
        x + y
    z = x + jnp.ones(2)  # the uncommitted one follows
    assert z.device == device
    np.testing.assert_array_equal(z, [2, 2])


def test_each_device_runs_its_own(device):
    others = jax.devices(PLATFORM)[1:]
    if not others:
        pytest.skip("the plugin has one device")
    f = jax.jit(lambda x: jnp.cumsum(x * 2).sum())
    for other in [*others, device]:
        x = jax.device_put(np.arange(5.0, dtype="f"), other)
        assert f(x).device == other and float(f(x)) == 40
        assert other.memory_stats()["bytes_in_use"] >= 20


def test_recording_jit_grad_and_vmap(device):
    def loss(w, x, y):
        return jnp.mean((jnp.tanh(x @ w) - y) ** 2)

    rng = np.random.default_rng(0)
    w, x, y = rng.normal(size=(3, 2)), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    w, x, y = w.astype("f"), x.astype("f"), y.astype("f")

    def everything(w, x, y):
        lanes = jax.vmap(jax.grad(loss), (None, 0, 0))(w, x[:, None], y[:, None])
        return [
            loss(w, x, y), jax.jit(loss)(w, x, y), jax.grad(loss)(w, x, y), lanes,
            jax.jit(jax.value_and_grad(loss))(w, x, y),
            jax.hessian(lambda x: jnp.sum(x**3))(x[0]),
            jax.checkpoint(lambda w: loss(w, x, y))(w),
        ]  # fmt: skip

    got = on(device, everything, w, x, y)
    want = on(jax.devices("cpu")[0], everything, w, x, y)
    for one, other in zip(got, want):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_python_numbers_are_arguments_of_one_program(device):
    x = jax.device_put(np.ones(3, "f"), device)
    np.asarray(x * 0 + 1)
    before = len(device.backend._programs)
    for i in range(20):
        np.testing.assert_array_equal(x * i + 1.5, [i + 1.5] * 3)
    assert len(device.backend._programs) <= before + 1


def test_a_loop_without_reads_stays_small(device):
    x = jax.device_put(np.zeros(1000, "f"), device)
    for _ in range(500):
        x = x + 1
    assert float(x[0]) == 500
    assert device.memory_stats()["peak_bytes_in_use"] < 10**6
    del x


def test_stages_as_text(device):
    compiled = jax.jit(lambda x: jnp.sin(x) + 1).lower(
        jax.ShapeDtypeStruct((2,), "float32")
    )
    assert "sin" in compiled.as_text()
    program = device.backend.compile(jaxpr_of(lax.sin, (2,)), (False,))
    assert "sin" in program.text("jaxpr")
    assert "stablehlo.sine" in program.text("stablehlo")
    with pytest.raises(ValueError, match="the stages are jaxpr, stablehlo"):
        program.text("llvm")


def test_threads_share_the_backend(device):
    wrong = []

    def work(seed):
        x = jax.device_put(np.full(100, seed, "f"), device)
        for i in range(20):
            if float((x * i).sum()) != 100 * seed * i:
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# -------------------------------------------------------------------------------- memory


def test_ledger_counts_what_lives(device):
    before = device.memory_stats()["bytes_in_use"]
    x = jax.device_put(np.zeros((10, 100), "f"), device)
    assert device.memory_stats()["bytes_in_use"] == before + 4000
    y = (x + 1).block_until_ready()
    assert device.memory_stats()["bytes_in_use"] == before + 8000
    assert device.memory_stats()["peak_bytes_in_use"] >= before + 8000
    lines = [line for line, _, _ in device.ledger.by_line()]
    assert all("test_hlo.py" in line for line in lines), lines
    del x
    assert device.memory_stats()["bytes_in_use"] == before + 4000
    y.delete()
    assert device.memory_stats()["bytes_in_use"] == before
    with pytest.raises(RuntimeError, match="deleted"):
        y + 1


def test_a_limit_holds_and_names_what_fills_the_device(device):
    kept = jax.device_put(np.zeros(1000, "f"), device)
    device.ledger.limit = device.ledger.now + 3000
    try:
        with pytest.raises(MemoryError, match=r"test_hlo\.py"):
            jax.device_put(np.zeros(1000, "f"), device)
        with pytest.raises(MemoryError, match="held by `kept`"):
            np.asarray(kept + 1)
    finally:
        device.ledger.limit = 1 << 62
    np.testing.assert_array_equal(kept + 1, np.ones(1000))


def test_what_the_plugin_cannot_give_is_a_memory_error(device):
    with pytest.raises((MemoryError, RuntimeError), match=r"test_hlo\.py"):
        huge = jax.device_put(np.zeros((1,), "f"), device)
        jnp.broadcast_to(huge, (1 << 46,)).block_until_ready()


def test_updates_of_an_owned_array_are_in_place(device):
    x = jax.device_put(np.zeros(100_000, "f"), device)
    x = x.at[0].set(1)
    address = x.unsafe_buffer_pointer()
    for i in range(1, 5):
        x = x.at[i].set(i)
        assert x.unsafe_buffer_pointer() == address
    kept = x
    x = x.at[0].set(7)
    assert x.unsafe_buffer_pointer() != address
    np.testing.assert_array_equal(kept[:5], [1, 1, 2, 3, 4])
    np.testing.assert_array_equal(x[:5], [7, 1, 2, 3, 4])


def test_donation(device):
    step = jax.jit(lambda x, y: (x * 2 + y, y), donate_argnums=0)
    x = jax.device_put(np.ones(100_000, "f"), device)
    y = jax.device_put(np.ones(100_000, "f"), device)
    address = x.unsafe_buffer_pointer()
    new, _ = step(x, y)
    assert new.unsafe_buffer_pointer() == address
    assert x.is_deleted() and float(new[0]) == 3
    assert device.memory_stats()["bytes_in_use"] <= 3 * 400_000 + 4096
    with pytest.raises(RuntimeError, match="donated"):
        x + 1


def test_which_inputs_may_give_their_memory():
    def update(x, y, v):
        return lax.dynamic_update_slice(x, v, (0,))

    jaxpr = jaxpr_of(update, (4,), (4,), (2,))
    assert donations(jaxpr, (False, False, False)) == {0: 0}
    assert donations(jaxpr_of(lambda x: lax.neg(x), (4,)), (False,)) == {}
    assert donations(jaxpr_of(lambda x: x, (4,)), (False,)) == {}
    text = emit(jaxpr, {0: 0})
    assert "%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}" in text


def test_caches_can_be_cleared(device):
    x = jax.device_put(np.ones(3, "f"), device)
    np.testing.assert_array_equal(x * 5, [5, 5, 5])
    assert device.backend._scalars
    assert jax.clear_caches() > 0
    gc.collect()
    assert not device.backend._scalars and not device.backend._programs
    np.testing.assert_array_equal(x * 5, [5, 5, 5])


# ------------------------------------------------------------------------------- mishaps


def run(code, **env):
    head = (
        "import numpy as np, tetrad as jax, tetrad.numpy as jnp\n"
        f"jax.register_pjrt_plugin('xla_cpu', {PATH!r})\n"
        "device = jax.devices('xla_cpu')[0]\n"
        "jax.config.update('jax_default_device', device)\n"
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", head + code],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, **env},
    )


def test_a_program_that_fails_names_the_line(device):
    backend = device.backend
    text = "module @broken { func.func public @main() { nonsense } }"
    old = sys.modules["tetrad._src.hlo.client"].emit
    sys.modules["tetrad._src.hlo.client"].emit = lambda *args: text
    try:
        with pytest.raises(
            RuntimeError, match=r"xla_cpu could not compile what .*test_hlo"
        ):
            jax.device_put(np.float32(3), device).reshape(
                1, 1, 1, 1
            ).block_until_ready()
    finally:
        sys.modules["tetrad._src.hlo.client"].emit = old
    assert backend.devices()


def test_a_file_that_is_no_plugin(tmp_path):
    with pytest.raises(FileNotFoundError, match="no PJRT plugin at"):
        jax.register_pjrt_plugin("nothing", str(tmp_path / "missing.so"))
    fake = tmp_path / "fake.so"
    fake.write_bytes(b"no library")
    jax.register_pjrt_plugin("fake", str(fake))
    with pytest.raises(
        RuntimeError, match=r"platform 'fake': the PJRT plugin at .*fake.so"
    ):
        jax.devices("fake")


def test_platforms_by_environment_and_in_words():
    code = (
        "assert jax.devices('other')[0].platform == 'other'\n"
        "try:\n    jax.devices('gpu')\n"
        "except RuntimeError as e:\n    print(e)\n"
    )
    done = run(code, PJRT_NAMES_AND_LIBRARY_PATHS=f"other:{PATH}")
    for words in (
        "gpu",
        "cpu, xla_cpu, other",
        "jax_plugins.xla_cuda13",
        "pip install",
    ):
        assert words in done.stdout, (done.stdout, done.stderr)


def test_exit_with_work_pending_is_quiet():
    code = (
        "x = jnp.ones((500, 500))\nkeep = []\n"
        "for i in range(50):\n    x = x @ x / 500\n    keep.append(x.copy_to_host_async())\n"
        "f = jax.jit(lambda x: x + 1); y = f(x); z = x * 3\nprint('fine')\n"
    )
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_a_forked_child_says_what_to_do():
    code = (
        "import os, warnings\nwarnings.simplefilter('ignore')\n"
        "x = jnp.ones(3); x.block_until_ready()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n        np.asarray(x)\n"
        "    except RuntimeError as e:\n        print('spawn' in str(e), flush=True)\n"
        "    cpu = jax.device_put(np.ones(2), jax.devices('cpu')[0])\n"
        "    print(float((cpu + 1).sum()), flush=True)\n"
        "    del x\n    os._exit(0)\n"
        "os.waitpid(child, 0)\nprint(float(x.sum()))\n"
    )
    done = run(code)
    assert (done.stdout, done.stderr) == ("True\n4.0\n3.0\n", "")


def test_waiting_can_be_interrupted():
    code = (
        "import os, signal, threading, time\n"
        "x = jnp.ones((1500, 1500))\nx.block_until_ready()\n"
        "y = x\nfor i in range(12):\n    y = y @ x / 1500\n"
        "y.copy_to_host_async()\n"
        "started = time.perf_counter()\n"
        "def interrupt():\n    time.sleep(0.3); os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt).start()\n"
        "try:\n    y.block_until_ready()\n    print('done before')\n"
        "except KeyboardInterrupt:\n    print(time.perf_counter() - started < 0.6)\n"
        "print(float(x[0, 0]), float(y[0, 0]) > 0)\n"
    )
    done = run(code)
    lines = done.stdout.splitlines()
    assert lines[0] in ("True", "done before"), done.stderr
    assert lines[1] == "1.0 True"


def test_nothing_is_loaded_before_it_is_used():
    code = (
        "import sys, tetrad, tetrad.numpy as jnp\n"
        f"tetrad.register_pjrt_plugin('xla_cpu', {PATH!r})\n"
        "float(jnp.ones(3).sum())\n"
        "print([m for m in sys.modules if 'pypjrt' in m or '_src.hlo' in m])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_reports_of_memory_know_lines_types_and_changes(device):
    with jax.default_device(device), jax.see.memory() as m:
        kept = [jnp.ones(1000) * i for i in range(3)]
        gone = jnp.ones(5000).block_until_ready()
        del gone
    seen = next(d for d in m.devices if d.device is device)
    line = next(x for x in seen.by_line if "kept" in x.source)
    assert (line.nbytes, line.change, line.types) == (
        12_000,
        12_000,
        (("float32[1000]", 3),),
    )
    assert seen.peak - seen.begin >= 32_000
    assert "float32[1000]" in str(seen)
    jax.profiler.device_memory_profile(device.platform)
    del kept


def test_updates_that_copy_are_noticed(device):
    x = jax.device_put(jnp.zeros(1000), device).block_until_ready()
    b = x
    with pytest.raises(jax.errors.CopyError, match="held by `b` at"), jax.no_copies():
        x = x.at[0].set(1)
    assert float(b[0]) == 0
    del b
    with jax.no_copies():
        assert float(x[0]) == 1
    old = x
    with jax.see.copies() as seen:
        x = x.at[0].set(2)
    assert len(seen) == 1 and seen.bytes == 4000 and float(old[0]) == 1
    del x, old
