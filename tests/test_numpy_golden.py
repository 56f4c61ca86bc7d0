"""NumPy's functions give what JAX gives: values, dtypes, weak types, kinds of errors."""

import builtins
import json
import pathlib
import warnings

import ml_dtypes  # noqa: F401  (names the dtypes that NumPy lacks)
import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

GOLDEN = pathlib.Path(__file__).parent / "golden"
LINES = [
    line
    for line in (GOLDEN / "numpy_expressions.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
WANTED = json.loads((GOLDEN / "numpy.json").read_text())
TOLERANCE = {"float32": 2e-5, "complex64": 2e-5, "float16": 2e-3, "bfloat16": 1e-2}


@pytest.fixture(scope="module")
def names():
    found = {"jax": jax, "jnp": jnp, "np": np}
    for line in LINES:
        if line.startswith("let "):
            exec(line[4:], found)
    return found


def host_values(want):
    dtype = np.dtype(want["dtype"])
    if dtype.kind == "c":
        values = [complex(float(re), float(im)) for re, im in want["values"]]
    elif dtype.kind in "iub":
        values = want["values"]
    else:
        values = [float(v) for v in want["values"]]
    return np.array(values, dtype).reshape(want["shape"])


def check(got, want):
    if "items" in want:
        assert len(got) == len(want["items"])
        for one, other in zip(got, want["items"]):
            check(one, other)
    elif "repr" in want:
        assert repr(got) == want["repr"]
    else:
        assert isinstance(got, jax.Array)
        assert (got.dtype.name, got.shape) == (want["dtype"], tuple(want["shape"]))
        assert got.weak_type == want["weak"]
        tolerance = TOLERANCE.get(want["dtype"], 0)
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            np.asarray(got).astype(wide),
            host_values(want).astype(wide),
            rtol=tolerance,
            atol=tolerance / 10,
        )


@pytest.mark.parametrize("expression", list(WANTED))
def test_expression(expression, names):
    want = WANTED[expression]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "error" in want:
            with pytest.raises(getattr(builtins, want["error"])):
                eval(expression, names)
            return
        # Three times: anew, when the call is planned, and by its plan.
        for _ in range(3):
            check(eval(expression, names), want)


def test_every_expression_has_a_value():
    assert [e for e in LINES if not e.startswith("let ")] == list(WANTED)
