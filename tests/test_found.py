"""Mistakes that random programs found, made small."""

import pytest

import tetrad as jax
import tetrad.numpy as jnp


@pytest.mark.parametrize("decorate", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_traced_index_beside_an_empty_axis(decorate):
    i = jnp.int32(1)
    assert decorate(lambda x, i: x[i])(jnp.zeros((2, 0)), i).shape == (0,)
    assert decorate(lambda x, i: x[:, i])(jnp.zeros((0, 3)), i).shape == (0,)
    with pytest.raises(IndexError, match="no element to pick"):
        decorate(lambda x, i: x[i])(jnp.zeros((0, 2)), i)
