"""Folds whose states have several parts, merged across the lanes of a vector."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.ops.views import ReduceSum


class CompensatedSum(ReduceSum):
    """A sum that keeps what is lost by rounding; zeros are not added to the rest."""

    name = "compensated_sum"

    def initial(self, block, type):
        return block.constant(0, type), block.constant(0, type)

    def step(self, block, state, x, index):
        return self.merge(block, state, (x, block.constant(0, x.type)))

    def merge(self, block, state, other):
        (x, x_rest), (y, y_rest) = state, other
        total = x + y
        seen = total - x
        lost = (x - (total - seen)) + (y - seen)
        some = block.compare("one", lost, block.constant(0, lost.type))
        lost = block.select(some, lost, block.constant(-0.0, lost.type))
        return total, x_rest + y_rest + lost

    def finish(self, block, state):
        return state[0] + state[1] * 1024


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape", [(4,), (8,), (16,), (64,), (1000,), (3, 40), (100_000,)]
)
def test_compensated_sums_of_whole_numbers_lose_nothing(dtype, shape):
    with jax.enable_x64(True):
        x = np.random.default_rng(0).integers(-60, 60, shape).astype(dtype)
        axes = (len(shape) - 1,)
        got = jax.jit(lambda v: CompensatedSum(axes)(v))(jnp.asarray(x))
        np.testing.assert_array_equal(got, x.sum(-1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("length", [2, 7, 8, 16, 33, 500])
def test_plain_folds_across_lanes(dtype, length):
    with jax.enable_x64(True):
        x = np.random.default_rng(0).integers(1, 9, (5, length)).astype(dtype)
        if np.dtype(dtype).kind == "c":
            x = x + 1j * x[::-1]
        v = jnp.asarray(x)
        np.testing.assert_array_equal(jax.jit(lambda v: v.sum(1))(v), x.sum(1))
        small = np.where(x.real > 7, x / 4, 1).astype(dtype)
        got = jax.jit(lambda v: v.prod(1))(jnp.asarray(small))
        np.testing.assert_allclose(got, small.prod(1), rtol=1e-5)
        if np.dtype(dtype).kind == "f":
            np.testing.assert_array_equal(jax.jit(lambda v: v.max(1))(v), x.max(1))
            np.testing.assert_array_equal(
                jax.jit(lambda v: jnp.argmin(v, 1))(v), x.argmin(1)
            )


@pytest.mark.parametrize("shape", [(3, 50), (2, 64), (4, 300), (20_000,), (100, 7)])
def test_neighbours_of_other_widths_change_no_bit(shape):
    with jax.enable_x64(True):
        x = np.random.default_rng(0).standard_normal(shape).astype("float32")
        x = jnp.asarray(x)

        def several(v):
            wide = v.astype("float64")
            return v.sum(-1), jnp.argmax(v, -1), wide.sum(-1), (wide * 2).max(-1)

        for n, out in enumerate(jax.jit(several)(x)):
            alone = jax.jit(lambda v, n=n: several(v)[n])(x)
            np.testing.assert_array_equal(out, alone)
        halved = jax.jit(lambda v: (v.astype("float64") / 2).astype("float32").sum(-1))
        np.testing.assert_array_equal(halved(x), (x / 2).sum(-1))
