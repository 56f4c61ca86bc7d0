"""Libraries written for JAX run on tetrad, unchanged, and give what JAX gives.

Each program of `tests/libraries` runs twice, in processes of its own: under
`python -m tetrad`, and under JAX. `make libraries` installs what they need.
"""

import functools
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.libraries

FOLDER = Path(__file__).parent / "libraries"

# What each program imports besides JAX, and how far results may differ.
NEEDS = {
    "array_api": (["array_api_compat", "sklearn", "scipy"], 1e-7),
    "blackjax": (["blackjax", "optax"], 1e-4),
    "chex": (["chex"], 1e-5),
    "diffrax": (["diffrax", "optimistix", "lineax"], 1e-4),
    "einops": (["einops"], 1e-5),
    "equinox": (["equinox", "optax"], 1e-4),
    "flax": (["flax", "optax"], 1e-4),
    "haiku": (["haiku"], 1e-4),
    "jaxopt": (["jaxopt"], 1e-4),
    "jaxtyping": (["jaxtyping", "beartype", "typeguard"], 1e-5),
    "jmp": (["jmp"], 1e-5),
    "numpyro": (["numpyro"], 1e-4),
    "optax": (["optax"], 1e-4),
    "rax": (["rax"], 1e-4),
    "tree_math": (["tree_math"], 1e-5),
}


def need(*packages):
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed (extra: libraries)")


def run(arguments, **more):
    """A process of this Python, whose own `jax` is JAX."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **more}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=env,
        cwd=FOLDER.parent.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@functools.cache
def results(name, folder):
    """What the cases of a program gave: {case: (kind, value)} of tetrad and of JAX."""
    found = []
    for prefix in (["-m", "tetrad"], []):
        out = folder / f"{name}{len(prefix)}.pkl"
        run([*prefix, FOLDER / "record.py", f"with_{name}", out])
        found.append(pickle.loads(out.read_bytes()))
    return found


def assert_like(got, want, limit, where):
    """Equal, but for numbers in floating point, which may differ by `limit`."""
    if isinstance(want, dict):
        assert got.keys() == want.keys(), where
        for key in want:
            assert_like(got[key], want[key], limit, f"{where}/{key}")
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), where
        for i, (one, other) in enumerate(zip(got, want)):
            assert_like(one, other, limit, f"{where}/{i}")
    elif isinstance(want, np.ndarray):
        assert (got.shape, got.dtype) == (want.shape, want.dtype), where
        if want.dtype.kind in "fc":
            np.testing.assert_allclose(got, want, limit, limit, err_msg=where)
        else:
            np.testing.assert_array_equal(got, want, err_msg=where)
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=limit, abs=limit), where
    else:
        assert got == want, where


@pytest.mark.parametrize("name", NEEDS)
def test_library(name, tmp_path):
    packages, limit = NEEDS[name]
    need("jax", *packages)
    ours, theirs = results(name, tmp_path)
    assert ours.keys() == theirs.keys()
    problems = []
    for case, (kind, want) in theirs.items():
        assert kind == "value", f"{case} does not run under JAX:\n{want}"
        kind, got = ours[case]
        if kind == "error":
            problems.append(f"{case}: {got}")
            continue
        try:
            assert_like(got, want, limit, case)
        except AssertionError as error:
            problems.append(f"{case}: {error}")
    assert not problems, "\n".join(problems)
    if name == "optax":
        assert ours["whole_list"][1] == {"missing": []}


def test_array_libraries_that_have_never_heard_of_tetrad(tmp_path):
    """What writes into its arrays refuses; all else is as with JAX's arrays."""
    packages, limit = NEEDS["array_api"]
    need("jax", *packages)
    _, theirs = results("array_api", tmp_path)
    out = tmp_path / "direct.pkl"
    run([FOLDER / "record.py", "with_array_api", out], ARRAYS="tetrad.numpy")
    refused = []
    for case, (kind, found) in pickle.loads(out.read_bytes()).items():
        assert kind == "value", found
        if case == "compat":
            assert found[:5] == [True, True, False, False, 200]
            continue
        for name, got in found.items():
            want = theirs[case][1][name]
            if isinstance(got, str) and not isinstance(want, str):
                refused.append(name)
            else:
                assert_like(got, want, limit, f"{case}/{name}")
    # Libraries take the way around writing for JAX by its name.
    assert len(refused) < 15, refused


def test_the_example_that_trains_with_optax():
    need("jax", "optax", "sklearn")
    example = FOLDER.parent.parent / "examples" / "digits_with_optax.py"
    ours = run(["-m", "tetrad", example])
    assert numbers(ours) == pytest.approx(numbers(run([example])), abs=0.02)


def numbers(text):
    """The numbers that a program printed."""
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", text)]
