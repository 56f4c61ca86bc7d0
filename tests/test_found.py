"""Mistakes that random programs found, made small."""

import numpy as np
import pytest
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax


@pytest.mark.parametrize("decorate", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_traced_index_beside_an_empty_axis(decorate):
    i = jnp.int32(1)
    assert decorate(lambda x, i: x[i])(jnp.zeros((2, 0)), i).shape == (0,)
    assert decorate(lambda x, i: x[:, i])(jnp.zeros((0, 3)), i).shape == (0,)
    with pytest.raises(IndexError, match="no element to pick"):
        decorate(lambda x, i: x[i])(jnp.zeros((0, 2)), i)


def test_loop_whose_results_are_all_arguments():
    """Nothing is left to compute, and nothing is submitted."""

    def f(x, xs):
        state = lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1]), (0, x))
        return lax.scan(lambda c, x: (c, ()), state[1], xs)[0]

    assert jax.jit(f)(jnp.zeros(0), jnp.ones(5)).shape == (0,)
    assert jax.jit(f)(jnp.ones(3), jnp.ones(5)).tolist() == [1, 1, 1]


def test_integers_beside_an_empty_axis_a_second_time():
    """The second call finds the program of the first, whose integers are arguments."""
    x = jnp.zeros((3, 2, 0))
    assert [x[i, j].shape for i in range(3) for j in range(2)] == [(0,)] * 6


@needs_plugin
def test_comparison_of_negative_constants_on_the_plugin():
    """XLA folds comparisons of constants; it has to know that they are signed."""
    f = jax.jit(lambda k: jax.random.randint(k, (6,), -2, 5))
    here = f(jax.random.key(3)).tolist()
    with on_plugin():
        assert f(jax.random.key(3)).tolist() == here


def test_fold_of_complex_extrema():
    """The fold by a known function has no operation for complex numbers."""
    x = jnp.array([[1 + 2j, 3 - 1j], [1 + 5j, 2 + 9j]])
    start = np.complex64(complex(-np.inf, 0))
    assert lax.reduce(x, start, lax.max, (0,)).tolist() == [1 + 5j, 3 - 1j]


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
def test_convolution_of_no_lanes(axes):
    lhs = jnp.zeros((2, 3, 5, 5) if axes[0] is None else (0, 2, 3, 5, 5))
    rhs = jnp.zeros((4, 3, 2, 2) if axes[1] is None else (0, 4, 3, 2, 2))
    f = lambda a, b: lax.conv_general_dilated(a, b, (1, 1), "VALID")
    assert jax.vmap(f, axes)(lhs, rhs).shape == (0, 2, 4, 4, 4)


def test_transform_along_no_axes():
    x = jnp.array([[1 + 2j, 3 - 1j]])
    assert lax.fft(x, "FFT", ()).tolist() == x.tolist()
