"""Floats as integers: cut toward zero, and kept in the range of the type."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

NAMES = [
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "int4",
    "uint2",
]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_floats_become_the_nearest_integers_toward_zero(dtype, name):
    around = [
        sign * (2.0**bits + step)
        for bits in (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64)
        for step in (-1, -0.5, 0, 0.5, 1)
        for sign in (1, -1)
    ]
    with jax.enable_x64(True), np.errstate(over="ignore"):
        x = np.array([0.99, -0.5, np.inf, -np.inf, *around, np.nan]).astype(dtype)
        limits = jnp.iinfo(name)
        numbers = np.clip(x[:-1].astype(np.float64), -(2.0**70), 2.0**70)
        want = [max(limits.min, min(limits.max, int(v))) for v in numbers] + [0]
        got = np.asarray(jnp.asarray(x).astype(name))
        assert [int(v) for v in got] == want
        assert int(jnp.asarray(x)[2].astype(name)) == limits.max
