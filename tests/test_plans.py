"""Functions that are planned: eager code decides once, and then tells arguments apart."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import nn
from tetrad._src.numpy import plan as plans
from tetrad._src.runtime import flush


def recorded(function):
    """How many nodes the third call of `function` records."""
    for _ in range(2):
        jax.block_until_ready(function())
    flush.flush()
    before = len(flush.threads.tape.nodes)
    kept = function()
    count = len(flush.threads.tape.nodes) - before
    jax.block_until_ready(kept)
    return count


X = np.array([1.5, -2.0, 0.25, 3.0], np.float32)
M = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)

ONE_CALL = {
    "gradient": lambda: jnp.gradient(jnp.asarray(X)),
    "nan_to_num": lambda: jnp.nan_to_num(jnp.asarray(X)),
    "corrcoef": lambda: jnp.corrcoef(jnp.asarray(M)),
    "percentile": lambda: jnp.percentile(jnp.asarray(X), 30.0),
    "log_softmax": lambda: nn.log_softmax(jnp.asarray(X)),
    "elu": lambda: nn.elu(jnp.asarray(X), 0.5),
    "cholesky": lambda: jnp.linalg.cholesky(jnp.asarray(M)),
    "interp": lambda: jnp.interp(0.5, jnp.asarray(X), jnp.asarray(X)),
    "linspace": lambda: jnp.linspace(0, 1, 7),
    "pad": lambda: jnp.pad(jnp.asarray(M), ((1, 0), (0, 2))),
    "fft": lambda: jnp.fft.fft(jnp.asarray(X)),
    "mod": lambda: jnp.asarray(X) % 2.0,
}


@pytest.mark.parametrize("name", ONE_CALL)
def test_a_composition_is_one_recorded_call(name):
    assert recorded(ONE_CALL[name]) == 1


def three_times(function, *args, **kwargs):
    return [np.asarray(function(*args, **kwargs)) for _ in range(3)]


def test_zeros_of_both_signs_are_apart():
    x = jnp.asarray(X)
    for zero in (0.0, -0.0, 0.0, -0.0):
        for out in three_times(jnp.nan_to_num, jnp.array([jnp.nan]), nan=zero):
            assert np.signbit(out[0]) == np.signbit(zero)
        for out in three_times(jnp.append, x, zero):
            assert np.signbit(out[-1]) == np.signbit(zero)


def test_numbers_of_different_types_are_apart():
    x = jnp.arange(3)
    for number, dtype in [(1, np.int32), (1.0, np.float32), (1, np.int32)]:
        for out in three_times(jnp.append, x, number):
            assert out.dtype == dtype
        for out in three_times(jnp.mod, x, number):
            assert out.dtype == dtype
    for _ in range(2):
        for out in three_times(jnp.pad, x, 1):
            assert out.shape == (5,)
        with pytest.raises(TypeError, match="must be an integer, got True"):
            jnp.pad(x, True)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.0, -1.0, float("inf")])
def test_floats_are_operands_where_they_are_computed_with(alpha):
    x = jnp.asarray(X)
    want = np.where(X > 0, X, np.float32(alpha) * np.expm1(X))
    for out in three_times(nn.elu, x, alpha):
        np.testing.assert_allclose(out, want, rtol=1e-6)
    for out in three_times(nn.leaky_relu, x, negative_slope=alpha):
        np.testing.assert_allclose(out, np.where(X >= 0, X, X * np.float32(alpha)))


def test_floats_as_operands_make_one_plan():
    made = []
    make = plans.make
    plans.make = lambda *args: made.append(1) or make(*args)
    try:
        x = jnp.arange(7.0)
        for i in range(20):
            nn.elu(x, 0.1 * i).block_until_ready()
            jnp.interp(0.3 * i, x, x).block_until_ready()
    finally:
        plans.make = make
    assert len(made) < 10  # with those of functions inside


def test_results_keep_their_containers():
    for _ in range(3):
        split = jnp.split(jnp.arange(6), 3)
        assert type(split) is list and [p.tolist() for p in split] == [
            [0, 1],
            [2, 3],
            [4, 5],
        ]
        found = jnp.linalg.slogdet(jnp.asarray(M))
        assert type(found).__name__ == "SlogdetResult" and float(found.sign) == 1
        rows, columns = jnp.meshgrid(jnp.arange(2), jnp.arange(3))
        assert rows.shape == columns.shape == (3, 2)
        assert len(jnp.linalg.lstsq(jnp.asarray(M), jnp.asarray(X[:2]))) == 4


def test_plans_follow_the_width_of_numbers():
    x = jnp.arange(4)
    for wide in (False, True, False, True):
        with jax.enable_x64(wide):
            for out in three_times(jnp.linspace, 0, 1, 5):
                assert out.dtype == (np.float64 if wide else np.float32)
            for out in three_times(jnp.sqrt, x):
                assert out.dtype == (np.float64 if wide else np.float32)
            for out in three_times(jnp.fft.fft, x):
                assert out.dtype == (np.complex128 if wide else np.complex64)


def test_arrays_in_lists_are_operands():
    x, y = jnp.arange(3.0), jnp.ones(3)
    for out in three_times(jnp.vstack, [x, y]):
        np.testing.assert_array_equal(out, [[0, 1, 2], [1, 1, 1]])
    for out in three_times(jnp.vstack, [y, x]):
        np.testing.assert_array_equal(out, [[1, 1, 1], [0, 1, 2]])
    for out in three_times(jnp.block, [[x, y], [y, x]]):
        np.testing.assert_array_equal(out, [[0, 1, 2, 1, 1, 1], [1, 1, 1, 0, 1, 2]])


def test_plans_have_derivatives_and_lanes():
    x = jnp.asarray(X)
    for _ in range(3):
        slope = jax.grad(lambda x: jnp.sum(nn.elu(x, 0.5) * jnp.gradient(x)))(x)
        lanes = jax.vmap(lambda row: jnp.nan_to_num(jnp.trapezoid(row)))(jnp.asarray(M))
        np.testing.assert_allclose(lanes, [2.5, 2.0])
        assert slope.shape == x.shape and bool(jnp.all(jnp.isfinite(slope)))


def test_errors_are_those_of_the_function():
    x = jnp.arange(3.0)
    for _ in range(3):
        with pytest.raises(ValueError, match="jnp.gradient"):
            jnp.gradient(x[:1])
        with pytest.raises(ValueError, match="method"):
            jnp.linalg.slogdet(jnp.asarray(M), method="none")


def test_plans_follow_settings_that_change_what_is_computed():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(32, 32)), "float32")
    exact = three_times(jnp.linalg.multi_dot, [x, x, x])[-1]
    with jax.default_matmul_precision("BF16_BF16_F32"):
        for out in three_times(jnp.linalg.multi_dot, [x, x, x]):
            assert np.abs(out - exact).max() > 1e-3
    for out in three_times(jnp.linalg.multi_dot, [x, x, x]):
        np.testing.assert_array_equal(out, exact)

    def rules():
        return str(jax.make_jaxpr(nn.softmax)(x[0])).count("custom_jvp_call")

    three_times(nn.softmax, x[0])
    assert rules() == 0
    with jax.softmax_custom_jvp(True):
        assert rules() == 1
    assert rules() == 0

    with pytest.warns(UserWarning, match="float64"):
        three_times(jnp.linspace, 0, 1, 5, dtype="float64")
    jax.config.update("jax_explicit_x64_dtypes", "error")
    try:
        with pytest.raises(ValueError, match="float64"):
            jnp.linspace(0, 1, 5, dtype="float64")
    finally:
        jax.config.update("jax_explicit_x64_dtypes", "warn")


NEED_VALUES = {
    "split": lambda x, i: jnp.split(x, jnp.array([1, 3])),
    "hsplit": lambda x, i: jnp.hsplit(x, jnp.array([2])),
    "matrix_power": lambda x, i: jnp.linalg.matrix_power(jnp.asarray(M), i),
    "one_hot": lambda x, i: nn.one_hot(jnp.arange(3), i),
    "round": lambda x, i: jnp.round(x, i),
    "unpackbits": lambda x, i: jnp.unpackbits(jnp.array([9], "uint8"), count=i),
    "fft": lambda x, i: jnp.fft.fft(x, i),
    "norm": lambda x, i: jnp.linalg.norm(x, i.astype("float32")),
    "trace": lambda x, i: jnp.trace(jnp.asarray(M), i - 3),
    "lstsq": lambda x, i: jnp.linalg.lstsq(jnp.asarray(M), x[:2], jnp.float32(0.1)),
}


@pytest.mark.parametrize("name", NEED_VALUES)
def test_arrays_whose_values_are_options_are_read_each_time(name):
    x = jnp.asarray(X)
    for number in (3, 2, 3):
        found = [NEED_VALUES[name](x, jnp.int32(number)) for _ in range(3)]
        for other in found[1:]:
            jax.tree.map(np.testing.assert_array_equal, found[0], other)
    assert NEED_VALUES["one_hot"](x, jnp.int32(5)).shape == (3, 5)
