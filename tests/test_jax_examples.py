"""The examples that import jax: each runs on tetrad, finds what it is known to find, and
prints the same numbers on JAX."""

import functools
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# How far numbers may differ, relatively and absolutely: what is trained hangs on rounding.
LIMITS = {
    "nile_kalman": (1e-4, 1e-3),
    "co2_gaussian_process": (2e-2, 2e-2),
    "photograph": (2e-3, 2e-2),
    "mixer_digits": (2e-2, 1e-2),
    "char_transformer": (2e-2, 2e-2),
}


@functools.cache
def printed(name, *prefix):
    """What the program prints, run by Python with the given arguments before its path."""
    for package, names in {
        "sklearn": ("photograph", "mixer_digits"),
        "PIL": ("photograph",),
    }.items():
        if name in names and importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed (extra: demo)")
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *prefix, ROOT / "examples" / f"{name}.py"],
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def ours(name):
    return printed(name, "-m", "tetrad")


def numbers(text):
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", text)]


def found(text, before):
    """The number that stands behind `before`."""
    return float(re.search(re.escape(before) + r"\s*(-?\d+(?:\.\d+)?)", text)[1])


def test_nile_kalman():
    text = ours("nile_kalman")
    # Durbin & Koopman (2001) find 15099 and 1469.1, with log likelihood -632.54.
    assert found(text, "variance of the noise") == pytest.approx(15099, rel=1e-3)
    assert found(text, "of the steps") == pytest.approx(1469, rel=2e-3)
    assert found(text, "log likelihood") == pytest.approx(-632.54, abs=0.01)
    assert "filters agree: True" in text
    assert "in 1899" in text


def test_co2_gaussian_process():
    text = ours("co2_gaussian_process")
    assert found(text, "error of the predictions") < 1.2
    assert found(text, "within two deviations:") > 0.8
    assert found(text, "predicted rise in 2000:") == pytest.approx(1.6, abs=0.3)


def test_photograph():
    text = ours("photograph")
    assert found(text, "brightness:") < found(text, "equalised")
    assert found(text, "Wiener's filter:") > found(text, "blurred:") + 1.5
    assert found(text, "weighted 0.0001:") > found(text, "Wiener's filter:")


def test_mixer_digits():
    assert numbers(ours("mixer_digits"))[-1] > 0.96


@pytest.mark.slow
def test_char_transformer():
    text = ours("char_transformer")
    # An untrained network is as surprised as a die with 94 sides: log 94 = 4.54.
    assert found(text, "before:") == pytest.approx(4.6, abs=0.3)
    assert found(text, "unseen text:") < 2.2


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
def test_the_same_numbers_on_jax(name):
    relative, absolute = LIMITS[name]
    got, want = numbers(ours(name)), numbers(printed(name))
    assert got == pytest.approx(want, rel=relative, abs=absolute)
