"""The numbers that JAX draws from the same keys, which it has written down."""

from pathlib import Path

import numpy as np
import pytest
from random_cases import CASES

import tetrad as jax

VECTORS = np.load(Path(__file__).parent / "data" / "random_vectors.npz")
# The last places of functions, seen through their slopes.
CLOSE = {"float32": 4e-6, "float64": 1e-12, "float16": 6e-3, "complex64": 4e-6}
HALF = 2e-2


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_draws_of_jax(case):
    got, want = case.draw(jax), VECTORS[case.name]
    assert got.shape == want.shape and got.dtype == want.dtype
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    exact = case.function == "uniform" or "dtype" in case.kwargs
    close = HALF if "bfloat16" in case.args else CLOSE[want.dtype.name]
    if exact:
        np.testing.assert_array_equal(got, want)
    scale = np.finfo(want.dtype).eps * 8 if close < HALF else HALF
    np.testing.assert_allclose(got, want, rtol=close, atol=scale)


def test_every_case_has_its_draws():
    assert sorted(VECTORS.files) == sorted(case.name for case in CASES)
