"""The second backend: StableHLO text, and everything on the devices of a PJRT plugin."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

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
        return [lax.broadcast_in_dim(x, np.shape(x), range(np.ndim(x))) for x in literals]

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
    missing = []
    for cls in classes(Op):
        known = cls.hlo is not None or cls.expand is not None
        known = known or (cls.kind is Kind.REDUCE and cls.merge is not None)
        ours = cls.__module__.startswith("tetrad._src.ops.")
        if ours and not known and not cls.__subclasses__():
            missing.append(cls.__name__)
    assert not set(missing) - families


def test_dtypes_that_have_no_name():
    with pytest.raises(NotImplementedError, match="int4 cannot go to a PJRT device"):
        types.tensor(Aval((2,), np.dtype(ml_dtypes.int4)))


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
